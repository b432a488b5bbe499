"""The history properties of task counts in SQL: what is written here is of those with kernels of their own, and shares
nothing with these but the table; of the declared ones it is generated. One text for DuckDB and Spark. Columns whose
names are reserved words are renamed. `seen` has every event with the steps at which things last happened before it:
`set_at` the latest set of its connector, `round_at` its writer's round, and so on; the properties look up what stands
there.
"""

from collections.abc import Mapping

import duckdb
import pyarrow as pa
from fencepost.properties.task_counts.events import TASK_COUNTS
from fencepost.properties.task_counts.histories.properties import PROPERTIES
from in_duckdb import Verdict, by_text
from related_sql import generated

RENAMED = {"set": "gen", "count": "n", "offset": "spot"}
NEEDED = {"A": 3, "M": 1, "B": 1, "shipped": 2}


def last(column: str, by: str, kinds: str, value: str = "step", also: str = "") -> str:
    """The latest step (or greatest value) of these kinds before each event, among those with the same `by`."""
    keys = [key for key in by.split(", ") if key]
    chosen = f"kind IN ({kinds})" + (f" AND {also}" if also else "")
    over = (
        f"PARTITION BY {', '.join(['history', *keys])} ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    )
    found = f"max(CASE WHEN {chosen} THEN {value} END) OVER ({over})"
    applies = " AND ".join(f"{key} >= 0" for key in keys) or "TRUE"
    return f"CASE WHEN {applies} THEN {found} END AS {column}"


SEEN = ", ".join((
    last("set_at", "connector", "26"),
    last("count_at", "connector", "27, 28"),
    last("round_at", "node, connector", "41"),
    last("known_at", "node", "1, 2, 13, 20, 22"),
    last("worker_at", "node", "1"),
    last("read_at", "node", "30"),
    last("any_claim_at", "", "20"),
))  # fmt: skip


def effective(source: str) -> str:
    """All events, with kind 0 for sets that are written when their connector is deleted: they are not noted."""
    names = [RENAMED.get(name, name) for name in TASK_COUNTS.schema.names if name != "kind"]
    return f"""
      SELECT {", ".join(names)}, CASE WHEN kind = 26 AND there = 1 THEN 0 ELSE kind END AS kind, kind AS was FROM (
        SELECT *, mod({
        last("there", "connector", "23, 24", value="2 * step + CASE WHEN kind = 24 THEN 1 ELSE 0 END").removesuffix(
            " AS there"
        )
    }, 2) AS there FROM {source}) s"""


def at(alias: str, column: str, of: str = "x") -> str:
    """Joins what happened at the step that a column of `seen` names."""
    return f"LEFT JOIN events {alias} ON {alias}.history = {of}.history AND {alias}.step = {of}.{column}"


PARTS = {
    "seen": f"SELECT *, {SEEN} FROM events",
    "counted": f"""
      SELECT x.*, CASE WHEN c.kind = 27 THEN c.step END AS latest_at, CASE WHEN c.kind = 27 THEN c.n END AS latest,
        s.spot AS set_spot, s.n AS set_size
      FROM seen x {at("c", "count_at")} {at("s", "set_at")}""",
    "whole": """
      SELECT s.history, s.connector, s.step, s.spot, s.n, count(DISTINCT c.task) AS configured
      FROM seen s LEFT JOIN events c ON c.history = s.history AND c.connector = s.connector AND c.kind = 25
        AND c.task >= 0 AND c.task < s.n AND c.step < s.step AND c.step > coalesce(s.set_at, -1)
      WHERE s.kind = 26 AND s.connector >= 0
      GROUP BY s.history, s.connector, s.step, s.spot, s.n""",
    "writes": """
      SELECT x.* FROM seen x LEFT JOIN events w ON w.history = x.history AND w.step = x.worker_at
      WHERE x.was BETWEEN 23 AND 28 AND (w.support IS NULL OR w.support < 0 OR w.support >= {needed})""",
    "newer": """
      SELECT c.history, c.step, c.connector, c.task, min(s.step) AS newer FROM events c
        JOIN events s ON s.history = c.history AND s.connector = c.connector AND s.kind = 26 AND s.spot > c.gen
      WHERE c.kind = 61 AND c.connector >= 0 AND c.task >= 0
      GROUP BY c.history, c.step, c.connector, c.task""",
    "covering": """
      SELECT n.history, n.step, n.connector, n.task, max(k.step) AS first_at FROM newer n
        LEFT JOIN events k ON k.history = n.history AND k.connector = n.connector AND k.kind IN (27, 28)
          AND k.step < n.newer
      WHERE n.newer < n.step
      GROUP BY n.history, n.step, n.connector, n.task""",
    "polling": """
      SELECT r.history, r.connector, r.task, r.gen FROM events r
        LEFT JOIN events o ON o.history = r.history AND o.step > r.step
          AND (o.kind IN (56, 57) AND o.instance = r.instance AND r.instance >= 0
               OR o.kind = 2 AND o.node = r.node AND r.node >= 0)
      WHERE r.kind = 54 AND r.connector >= 0 AND r.task >= 0 AND o.step IS NULL""",
    "ends": """
      SELECT history, connector, task, max(CASE WHEN kind = 56 THEN step END) AS failed_at,
        max(CASE WHEN kind = 54 THEN step END) AS ran_at, max(CASE WHEN kind = 50 THEN step END) AS started_at
      FROM events WHERE kind IN (50, 54, 56) AND connector >= 0 AND task >= 0 GROUP BY history, connector, task""",
    "unnoticed": """
      SELECT e.history, e.connector, e.task FROM ends e
        JOIN events f ON f.history = e.history AND f.step = e.failed_at
        JOIN events r ON r.history = e.history AND r.step = e.ran_at AND r.node <> f.node
        JOIN events b ON b.history = e.history AND b.kind = 50 AND b.instance = f.instance AND b.connector = e.connector
          AND b.task = e.task AND b.step < e.ran_at
        JOIN events g ON g.history = e.history AND (g.kind = 2 AND g.node = r.node AND g.step > e.ran_at
          OR g.kind = 57 AND g.instance = r.instance AND g.connector = e.connector AND g.task = e.task)
        LEFT JOIN events o ON o.history = e.history AND (o.kind = 56 AND o.instance = r.instance
            AND o.connector = e.connector AND o.task = e.task
          OR o.kind = 2 AND o.node = f.node AND o.step > f.step)
      WHERE o.step IS NULL
      GROUP BY e.history, e.connector, e.task, e.started_at
      HAVING min(g.step) > e.started_at""",
    "newest": """
      SELECT s.history, s.connector, s.step, s.spot, s.n FROM events s
        JOIN (SELECT history, connector, max(CASE WHEN kind = 26 THEN step END) AS set_at,
                max(CASE WHEN kind = 23 THEN step END) AS there,
                max(CASE WHEN kind = 24 THEN step END) AS gone
              FROM events WHERE connector >= 0 GROUP BY history, connector) e
          ON e.history = s.history AND e.set_at = s.step
      WHERE e.there IS NOT NULL AND s.step > coalesce(e.gone, -1) AND NOT EXISTS (
        SELECT 1 FROM events h
          JOIN events c ON c.history = h.history AND c.kind = 31 AND c.step > h.step
          JOIN events w ON w.history = h.history AND w.kind = 1 AND w.step > c.step
        WHERE h.history = s.history AND h.connector = s.connector AND h.kind = 25 AND h.step > s.step)""",
}

VIOLATIONS = {
    "producers_covered": """
      SELECT c.history, c.step FROM covering c
        LEFT JOIN events k ON k.history = c.history AND k.connector = c.connector AND k.kind IN (27, 28)
          AND k.step >= c.first_at AND k.step < c.step
      GROUP BY c.history, c.step, c.task, c.first_at
      HAVING c.first_at IS NULL OR min(CASE WHEN k.kind = 27 THEN k.n ELSE 0 END) <= c.task""",
    "newest_set_polls": """
      SELECT n.history, n.step FROM newest n
        LEFT JOIN (SELECT history, connector, gen, task FROM polling
                   UNION ALL SELECT u.history, u.connector, m.spot, u.task FROM unnoticed u
                     JOIN newest m ON m.history = u.history AND m.connector = u.connector) p
          ON p.history = n.history AND p.connector = n.connector AND p.gen = n.spot AND p.task < n.n
      GROUP BY n.history, n.step, n.n HAVING count(DISTINCT p.task) < n.n""",
    "running_with_count": """
      SELECT r.history, r.step FROM events r
        LEFT JOIN counted k ON k.history = r.history AND k.connector = r.connector AND k.kind = 27 AND k.step < r.step
          AND k.set_spot = r.gen
      WHERE r.kind = 54 AND r.connector >= 0 AND k.step IS NULL""",
    "sets_whole": """
      SELECT b.history, b.step FROM (
          SELECT x.history, x.step, x.connector, x.task, min(s.step) AS own
          FROM events x LEFT JOIN events s ON s.history = x.history AND s.connector = x.connector AND s.kind = 26
            AND s.spot = x.gen
          WHERE x.kind = 50 AND x.connector >= 0 AND x.task >= 0
          GROUP BY x.history, x.step, x.connector, x.task) b
        LEFT JOIN whole w ON w.history = b.history AND w.step = b.own AND b.own < b.step
      WHERE w.step IS NULL OR w.configured < w.n OR b.task >= w.n""",
    "fenced_before_count": """
      SELECT c.history, c.step FROM counted c
        LEFT JOIN events f ON f.history = c.history AND f.node = c.node AND f.connector = c.connector AND f.kind = 42
          AND f.error = 0 AND f.task >= 0 AND f.task < c.latest AND f.step < c.step AND f.step > coalesce(c.set_at, -1)
      WHERE c.kind = 27 AND c.connector >= 0 AND c.latest IS NOT NULL AND NOT (c.latest = 1 AND c.n = 1)
        AND NOT (c.latest_at > coalesce(c.set_at, -1) AND c.latest = c.n)
      GROUP BY c.history, c.step, c.latest HAVING count(DISTINCT f.task) < c.latest""",
    "checked_after_fencing": f"""
      SELECT b.history, b.step FROM (
          SELECT x.history, x.step, max(CASE WHEN e.kind = 42 THEN e.step END) AS fence_at,
            max(CASE WHEN e.kind = 43 THEN e.step END) AS check_at
          FROM seen x {at("r", "round_at")}
            JOIN events e ON e.history = r.history AND e.request = r.request AND r.request >= 0 AND e.step < x.step
          WHERE x.kind = 27 GROUP BY x.history, x.step) b
        LEFT JOIN events c ON c.history = b.history AND c.step = b.check_at
      WHERE b.fence_at IS NOT NULL AND (coalesce(b.check_at, -1) < b.fence_at OR c.status = 409)""",
    "writes_by_latest_claimant": f"""
      SELECT x.history, x.step FROM writes x {at("c", "any_claim_at")}
      WHERE c.step IS NULL OR c.node <> x.node OR c.producer_id <> x.producer_id OR c.epoch <> x.epoch""",
    "writes_while_leading": f"""
      SELECT x.history, x.step FROM writes x {at("k", "known_at")}
      WHERE x.node >= 0 AND x.was < 27 AND (k.step IS NULL OR NOT (k.kind = 20 OR k.kind = 13 AND k.n = 1))""",
    "checked_with_count": """
      SELECT history, step FROM counted
      WHERE kind = 51 AND node >= 0 AND connector >= 0 AND status = 200 AND set_at > coalesce(latest_at, -1)""",
}  # fmt: skip

AS_READ = f"""
  SELECT b.history, b.step FROM (
      SELECT x.history, x.step, x.connector, coalesce(r.spot, 0) AS upto FROM seen x {at("r", "read_at")}
      WHERE x.kind = 51 AND x.node >= 0 AND x.connector >= 0 AND x.status = 200) b
    JOIN events t ON t.history = b.history AND t.connector = b.connector AND t.kind IN (26, 27) AND t.spot < b.upto
    LEFT JOIN (SELECT c.history, c.step, s.connector, max(s.spot) AS spot FROM events c
        JOIN events s ON s.history = c.history AND s.kind = 26 AND s.step < c.step
      WHERE c.kind = 31 GROUP BY c.history, c.step, s.connector) k
      ON k.history = b.history AND k.connector = b.connector AND k.step < b.step
  GROUP BY b.history, b.step
  HAVING max(CASE WHEN t.kind = 26 THEN t.spot END) > coalesce(max(CASE WHEN t.kind = 27 THEN t.spot END), -1)
    AND max(CASE WHEN t.kind = 26 THEN t.spot END) >= coalesce(max(k.spot), -1)"""
"""What stands for `checked_with_count` in A and M, where workers look at what they have read, which is
nothing of a set that was compacted away before."""


DECLARED = generated(PROPERTIES.values(), RENAMED)


def statements(
    mode: str = "B", quiet_end: bool = True, texts: Mapping[str, str] = VIOLATIONS | DECLARED
) -> tuple[dict[str, str], dict[str, str]]:
    """(tables, violations): each property's text yields its name, history and step."""
    texts = {**texts, "checked_with_count": AS_READ} if mode in ("A", "M") else texts
    parts = {name: text.replace("{needed}", str(NEEDED[mode])) for name, text in PARTS.items()}
    return parts, {name: f"SELECT '{name}' AS property, history, step FROM ({text}) v" for name, text in texts.items()}


def query(mode: str = "B", texts: Mapping[str, str] = VIOLATIONS | DECLARED) -> str:
    """One statement for all of them."""
    parts, violations = statements(mode, texts=texts)
    tables = ", ".join(f"{name} AS MATERIALIZED ({text})" for name, text in parts.items())
    return f"WITH {tables} " + " UNION ALL ".join(violations.values())


def in_duckdb(
    events: pa.Table | str, connection: duckdb.DuckDBPyConnection | None = None, text: str | None = None
) -> Verdict:
    """The verdict of DuckDB on an Arrow table, or on the Parquet files that a glob names."""
    return by_text(events, text or query(), RENAMED, connection, made=effective("raw"))
