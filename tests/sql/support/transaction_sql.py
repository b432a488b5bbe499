"""The history properties of transactions in SQL: what is written here is of those with kernels of their own, and shares
nothing with these but the table; of the declared ones it is generated. One text for DuckDB and Spark. Columns whose
names are reserved words somewhere are renamed. `PARTS` are the tables that the properties speak of: what owners sent,
asked and were told, and the logs of partitions and of the coordinator.
"""

from collections.abc import Mapping

import duckdb
import pyarrow as pa
from fencepost.properties.transactions.histories.properties import PROPERTIES
from in_duckdb import Verdict, by_text
from related_sql import generated

RENAMED = {"offset": "spot", "partition": "part", "record": "rec"}

PARTS = {
    "own": """
      SELECT e.history, e.rec, e.step, CASE WHEN e.txn >= 0 THEN e.txn END AS txn, e.txn_id, e.producer_id, e.epoch
      FROM events e JOIN (SELECT history, rec, min(step) AS step FROM events WHERE kind = 8 AND rec >= 0
                          GROUP BY history, rec) f
        ON f.history = e.history AND f.step = e.step""",
    "asked": """
      SELECT history, txn, outcome, min(step) AS step FROM events WHERE kind = 11 AND txn >= 0
      GROUP BY history, txn, outcome""",
    "told": """
      SELECT history, txn, outcome, min(step) AS step FROM events WHERE kind = 12 AND txn >= 0 AND error = 0
      GROUP BY history, txn, outcome""",
    "turns": """
      SELECT b.history, b.client, b.step, f.step AS failed, f.error, f.part, t.step AS committed,
        row_number() OVER (PARTITION BY b.history, b.client ORDER BY b.step DESC) AS back
      FROM (SELECT e.history, e.client, e.step, e.txn FROM events e
              JOIN (SELECT history, txn, min(step) AS step FROM events WHERE kind = 5 AND txn >= 0
                    GROUP BY history, txn) n ON n.history = e.history AND n.step = e.step) b
        LEFT JOIN (SELECT e.history, e.txn, e.step, e.error, e.part FROM events e
              JOIN (SELECT history, txn, min(step) AS step FROM events
                    WHERE kind IN (10, 12) AND txn >= 0 AND error NOT IN (0, 7) GROUP BY history, txn) n
                ON n.history = e.history AND n.step = e.step) f ON f.history = b.history AND f.txn = b.txn
        LEFT JOIN told t ON t.history = b.history AND t.txn = b.txn AND t.outcome = 1""",
    "begun": "SELECT history, txn, min(step) AS step FROM events WHERE kind = 8 AND txn >= 0 GROUP BY history, txn",
    "reads": """
      SELECT e.history, e.step, e.kind, e.client, e.part, e.spot, e.rec, o.txn, o.step AS sent,
        c.step AS asked_commit, a.step AS asked_abort, t.step AS told_abort
      FROM events e LEFT JOIN own o ON o.history = e.history AND o.rec = e.rec
        LEFT JOIN asked c ON c.history = o.history AND c.txn = o.txn AND c.outcome = 1
        LEFT JOIN (SELECT history, txn, min(step) AS step FROM asked GROUP BY history, txn) a
          ON a.history = o.history AND a.txn = o.txn
        LEFT JOIN told t ON t.history = o.history AND t.txn = o.txn AND t.outcome = 0
      WHERE e.kind IN (51, 53) AND (e.kind = 51 OR e.error = 0)""",
    "data_reads": "SELECT * FROM reads WHERE kind = 51",
    "offset_reads": "SELECT * FROM reads WHERE kind = 53",
    "whole_fetches": """
      SELECT f.history, f.step, f.client, f.part, f.spot, f.upto FROM events f
        JOIN (SELECT history, max(step) AS final FROM events WHERE kind <> 51 GROUP BY history) e
          ON e.history = f.history
      WHERE f.kind = 50 AND ({quiet_end} OR f.step < e.final)""",
    "left_out": """
      SELECT f.history, f.step, a.txn FROM whole_fetches f
        JOIN (SELECT e.history, e.part, e.spot, e.rec, o.txn FROM events e
                JOIN own o ON o.history = e.history AND o.rec = e.rec WHERE e.kind = 9 AND e.spot >= 0) a
          ON a.history = f.history AND a.part = f.part AND a.spot >= f.spot AND a.spot < f.upto
        LEFT JOIN (SELECT DISTINCT history, client, rec FROM events WHERE kind = 51) r
          ON r.history = f.history AND r.client = f.client AND r.rec = a.rec
      WHERE r.rec IS NULL""",
    "given": """
      SELECT history, step, kind, client, producer_id, epoch FROM events
      WHERE kind IN (4, 12, 14) AND error = 0 AND producer_id >= 0""",
    "fences": """
      SELECT e.history, e.step, e.producer_id, e.epoch, coalesce(s.step, -1) AS asked,
        coalesce(s.txn_id, e.txn_id) AS txn_id
      FROM events e LEFT JOIN (
          SELECT i.history, i.request, i.step, i.txn_id FROM events i
            JOIN (SELECT history, min(step) AS step FROM events WHERE kind = 3 AND request >= 0
                  GROUP BY history, request) f ON f.history = i.history AND f.step = i.step) s
        ON s.history = e.history AND s.request = e.request
      WHERE e.kind IN (4, 14) AND e.error = 0 AND e.producer_id >= 0""",
    "writes": """
      SELECT 'sent' AS what, r.history, r.step, o.step AS done, o.producer_id, o.epoch, o.txn_id
      FROM data_reads r JOIN own o ON o.history = r.history AND o.rec = r.rec
      UNION ALL
      SELECT 'appended', r.history, r.step, b.step, o.producer_id, o.epoch, o.txn_id
      FROM data_reads r JOIN own o ON o.history = r.history AND o.rec = r.rec
        JOIN (SELECT history, rec, min(step) AS step FROM events WHERE kind = 40 AND rec >= 0 GROUP BY history, rec) b
          ON b.history = r.history AND b.rec = r.rec
      UNION ALL
      SELECT 'committed', t.history, t.step, a.step, s.producer_id, s.epoch, s.txn_id
      FROM events t JOIN asked a ON a.history = t.history AND a.txn = t.txn AND a.outcome = 1
        JOIN events s ON s.history = a.history AND s.step = a.step
      WHERE t.kind = 12 AND t.error = 0 AND t.outcome = 1""",
    "latest_fences": """
      SELECT * FROM (
        SELECT w.what, w.history, w.step, w.done, w.producer_id AS own_id, f.producer_id, f.asked,
          row_number() OVER (PARTITION BY w.what, w.history, w.step ORDER BY f.asked DESC, f.step) AS nth
        FROM writes w JOIN fences f
          ON f.history = w.history AND f.txn_id = w.txn_id AND f.txn_id >= 0 AND f.step < w.done) n
      WHERE nth = 1""",
    "fenced": """
      SELECT DISTINCT w.what, w.history, w.step FROM writes w JOIN fences f
        ON f.history = w.history AND f.producer_id = w.producer_id AND f.step < w.done AND f.epoch > w.epoch
      UNION
      SELECT l.what, l.history, l.step FROM latest_fences l
        JOIN (SELECT history, producer_id, min(step) AS step FROM given GROUP BY history, producer_id) g
          ON g.history = l.history AND g.producer_id = l.own_id
      WHERE l.producer_id <> l.own_id AND l.asked > g.step""",
    "later_offsets": """
      SELECT 'kept' AS what, a.history, a.part, a.step, o.txn_id, b.step AS begun FROM events a
        JOIN own o ON o.history = a.history AND o.rec = a.rec
        JOIN told t ON t.history = o.history AND t.txn = o.txn AND t.outcome = 1
        JOIN begun b ON b.history = o.history AND b.txn = o.txn
      WHERE a.kind = 9
      UNION ALL
      SELECT 'forward', r.history, r.part, r.step, o.txn_id, b.step FROM offset_reads r
        JOIN own o ON o.history = r.history AND o.rec = r.rec
        JOIN begun b ON b.history = o.history AND b.txn = o.txn""",
    "older_offsets": """
      SELECT DISTINCT l.what, r.history, r.step FROM offset_reads r
        LEFT JOIN own o ON o.history = r.history AND o.rec = r.rec
        LEFT JOIN told t ON t.history = o.history AND t.txn = o.txn AND t.outcome = 1
        JOIN later_offsets l ON l.history = r.history AND l.part = r.part AND l.step < r.step
      WHERE r.rec < 0 OR (t.step < l.begun AND l.txn_id = o.txn_id)""",
    "first_inits": """
      SELECT e.history, e.client, e.txn_id FROM events e
        JOIN (SELECT history, min(step) AS step FROM events WHERE kind = 3 AND client >= 0 GROUP BY history, client) f
          ON f.history = e.history AND f.step = e.step
      WHERE e.txn_id >= 0""",
    "rivals": """
      SELECT history, txn_id FROM events WHERE kind IN (14, 25, 29)
      UNION
      SELECT history, txn_id FROM events WHERE kind = 3 GROUP BY history, txn_id HAVING count(DISTINCT client) > 1
      UNION
      SELECT h.history, h.txn_id FROM events h
        JOIN (SELECT history, txn_id, min(step) AS step FROM events WHERE kind = 20 AND error = 0
              GROUP BY history, txn_id) o ON o.history = h.history AND o.txn_id = h.txn_id AND h.step > o.step
        LEFT JOIN (SELECT e.history, e.request, e.producer_id FROM events e
                     JOIN (SELECT history, min(step) AS step FROM events WHERE kind = 3 AND request >= 0
                           GROUP BY history, request) f ON f.history = e.history AND f.step = e.step) s
          ON s.history = h.history AND s.request = h.request
      WHERE h.kind = 20 AND (s.producer_id IS NULL OR s.producer_id < 0)
      UNION
      SELECT h.history, h.txn_id FROM events h
        JOIN (SELECT history, request, min(step) AS step FROM events WHERE kind = 4 AND request >= 0
              GROUP BY history, request) t ON t.history = h.history AND t.request = h.request AND h.step > t.step
      WHERE h.kind = 20
      UNION
      SELECT h.history, h.txn_id FROM events h
        JOIN (SELECT history, request, min(step) AS step FROM events WHERE kind = 3 AND request >= 0
              GROUP BY history, request) f ON f.history = h.history AND f.request = h.request
        JOIN events s ON s.history = f.history AND s.step = f.step AND s.client >= 0 AND s.producer_id >= 0
        JOIN events t ON t.history = s.history AND t.client = s.client AND t.kind = 4 AND t.error = 0
          AND t.step > s.step AND t.step < h.step
      WHERE h.kind = 20""",
    "log": """
      SELECT history, step, kind, part, producer_id, spot, epoch, sequence, rec, outcome, coordinator_epoch,
        row_number() OVER (PARTITION BY history, part, producer_id ORDER BY spot, step) AS nth
      FROM events WHERE kind IN (40, 43)""",
    "marked": """
      SELECT l.*, lag(l.step) OVER w AS before, lag(l.kind) OVER w AS kind_before, lag(l.epoch) OVER w AS epoch_before,
        max(CASE WHEN l.kind = 43 THEN l.nth END) OVER (PARTITION BY l.history, l.part, l.producer_id ORDER BY l.nth
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_marker,
        max(CASE WHEN l.kind = 40 THEN l.nth END) OVER (PARTITION BY l.history, l.part, l.producer_id ORDER BY l.nth
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_batch,
        min(CASE WHEN l.kind = 43 THEN l.nth END) OVER (PARTITION BY l.history, l.part, l.producer_id ORDER BY l.nth
          ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_marker,
        max(l.nth) OVER (PARTITION BY l.history, l.part, l.producer_id) AS length
      FROM log l WINDOW w AS (PARTITION BY l.history, l.part, l.producer_id ORDER BY l.nth)""",
    "batches": """
      SELECT b.history, b.step, b.part, b.producer_id, b.epoch, b.spot, b.rec, m.step AS marker, m.outcome AS fate
      FROM marked b LEFT JOIN log m ON m.history = b.history AND m.part = b.part AND m.producer_id = b.producer_id
        AND m.nth = b.next_marker
      WHERE b.kind = 40""",
    "decisions": """
      SELECT b.history, b.marker, b.fate, o.txn FROM batches b
        LEFT JOIN own o ON o.history = b.history AND o.rec = b.rec
      WHERE b.marker IS NOT NULL""",
    "logged": """
      SELECT history, step, txn_id, state, producer_id, epoch, lag(step) OVER w AS before,
        lag(producer_id) OVER w AS id_before, lag(epoch) OVER w AS epoch_before,
        lead(step) OVER w AS next_step, lead(state) OVER w AS next_state
      FROM events WHERE kind = 23 WINDOW w AS (PARTITION BY history, txn_id ORDER BY step)""",
    "prepared": """
      SELECT history, producer_id, epoch, CASE WHEN state = 2 THEN 1 ELSE 0 END AS outcome, min(step) AS step
      FROM logged WHERE state IN (2, 3) GROUP BY history, producer_id, epoch, CASE WHEN state = 2 THEN 1 ELSE 0 END""",
    "states": """
      SELECT history, step, kind, CASE WHEN kind = 23 THEN state ELSE 6 END AS state,
        lag(CASE WHEN kind = 23 THEN state ELSE 6 END) OVER (PARTITION BY history, txn_id ORDER BY step) AS came_from
      FROM events WHERE kind IN (23, 29)""",
}


VIOLATIONS = {
    "commits_kept": """
      SELECT l.history, l.step FROM left_out l JOIN told t ON t.history = l.history AND t.txn = l.txn AND t.outcome = 1
    """,
    "transactions_whole": """
      SELECT l.history, l.step FROM left_out l
        JOIN (SELECT DISTINCT history, txn FROM data_reads) r ON r.history = l.history AND r.txn = l.txn""",
    "fenced_unread": "SELECT history, step FROM fenced WHERE what = 'sent'",
    "fenced_appends_unread": "SELECT history, step FROM fenced WHERE what = 'appended'",
    "fenced_never_commit": "SELECT history, step FROM fenced WHERE what = 'committed'",
    "init_bumps_epoch": """
      SELECT f.history, f.step FROM fences f WHERE f.asked >= 0 AND EXISTS (
        SELECT 1 FROM given g WHERE g.history = f.history AND g.producer_id = f.producer_id
          AND g.step < f.asked AND g.epoch >= f.epoch)""",
    "lone_client_never_fenced": """
      SELECT f.history, f.step FROM events f JOIN first_inits i ON i.history = f.history AND i.client = f.client
        LEFT JOIN rivals r ON r.history = i.history AND r.txn_id = i.txn_id
        LEFT JOIN (SELECT DISTINCT history FROM events WHERE kind = 26) m ON m.history = f.history
      WHERE f.kind = 13 AND f.error IN (47, 90) AND r.history IS NULL AND m.history IS NULL""",
    "calls_come_to_an_end": """
      SELECT history, waiting AS step FROM (
        SELECT history, client, over_at, greatest(CASE WHEN init > inited THEN init ELSE -1 END,
          CASE WHEN added > told_added THEN added ELSE -1 END, CASE WHEN ended > on_end THEN ended ELSE -1 END)
            AS waiting
        FROM (SELECT history, client,
            coalesce(max(CASE WHEN kind IN (2, 13) THEN step END), -1) AS over_at,
            coalesce(max(CASE WHEN kind = 3 THEN step END), -1) AS init,
            coalesce(max(CASE WHEN kind IN (4, 14) THEN step END), -1) AS inited,
            coalesce(max(CASE WHEN kind = 6 THEN step END), -1) AS added,
            coalesce(max(CASE WHEN kind = 7 THEN step END), -1) AS told_added,
            coalesce(max(CASE WHEN kind = 11 THEN step END), -1) AS ended,
            coalesce(max(CASE WHEN kind = 12 THEN step END), -1) AS on_end
          FROM events WHERE client >= 0 GROUP BY history, client) c) w
      WHERE waiting >= 0 AND over_at < waiting AND {quiet_end} AND EXISTS (
        SELECT 1 FROM events a JOIN (
            SELECT history, txn_id, max(step) AS step FROM events WHERE kind = 3 AND txn_id >= 0
            GROUP BY history, txn_id) m ON m.history = a.history AND m.step = a.step
        WHERE a.history = w.history AND a.client = w.client)""",
    "clients_get_on": """
      SELECT l.history, l.failed AS step FROM (
        SELECT history, client, min(step) AS since, max(CASE WHEN back = 1 THEN failed END) AS failed
        FROM turns WHERE back <= 3 GROUP BY history, client
        HAVING count(*) = 3 AND count(failed) = 3 AND count(committed) = 0 AND min(error) = max(error)
          AND min(part) = max(part)) l
      WHERE EXISTS (SELECT 1 FROM events o WHERE o.history = l.history AND o.step > l.since AND o.client <> l.client
        AND o.kind = 12 AND o.error = 0 AND o.outcome = 1)""",
    "group_offsets_kept": "SELECT history, step FROM older_offsets WHERE what = 'kept'",
    "group_offsets_forward": "SELECT history, step FROM older_offsets WHERE what = 'forward'",
    "markers_as_told": """
      SELECT d.history, d.marker AS step FROM decisions d
        JOIN told t ON t.history = d.history AND t.txn = d.txn
          AND t.outcome = CASE WHEN d.fate = 1 THEN 0 ELSE 1 END""",
    "markers_as_decided": """
      SELECT d.history, d.marker AS step FROM decisions d
        LEFT JOIN asked a ON a.history = d.history AND a.txn = d.txn AND a.outcome = 1
      WHERE d.txn IS NOT NULL AND d.fate = 1 AND (a.step IS NULL OR a.step > d.marker)""",
    "transactions_share_fate": """
      SELECT history, marker AS step FROM (
        SELECT history, marker, fate, first_value(fate) OVER (PARTITION BY history, txn ORDER BY marker
          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS earliest FROM decisions WHERE txn IS NOT NULL) n
      WHERE fate <> earliest""",
    "markers_as_prepared": """
      SELECT m.history, m.step FROM events m LEFT JOIN prepared p ON p.history = m.history
        AND p.producer_id = m.producer_id AND p.epoch = m.epoch AND p.outcome = m.outcome
      WHERE m.kind = 43 AND p.step IS NULL""",
    "markers_after_prepare": """
      SELECT m.history, m.step FROM events m JOIN prepared p ON p.history = m.history
        AND p.producer_id = m.producer_id AND p.epoch = m.epoch AND p.outcome = m.outcome
      WHERE m.kind = 43 AND p.step > m.step""",
    "stable_below_open": """
      SELECT s.history, s.step FROM events s WHERE s.kind = 47 AND EXISTS (
        SELECT 1 FROM batches b WHERE b.history = s.history AND b.part = s.part AND b.spot < s.upto
          AND (b.marker IS NULL OR b.marker > s.step))""",
    "none_hanging": """
      SELECT m.history, m.step FROM marked m LEFT JOIN (
          SELECT l.history, l.producer_id, l.state FROM logged l
            JOIN (SELECT history, max(step) AS step FROM logged WHERE producer_id >= 0 GROUP BY history, producer_id) f
              ON f.history = l.history AND f.step = l.step) c
        ON c.history = m.history AND c.producer_id = m.producer_id
      WHERE {quiet_end} AND m.nth = m.length AND m.kind = 40 AND (c.state IS NULL OR c.state <> 1)""",
    "states_follow_on": """
      SELECT history, step FROM states WHERE kind = 23 AND came_from IS NOT NULL AND NOT (
        (state = 0 AND came_from IN (0, 4, 5, 6)) OR (state = 1 AND came_from IN (0, 1, 4, 5))
        OR (state IN (2, 3) AND came_from = 1) OR (state = 3 AND came_from IN (0, 4, 5) AND {is_v2})
        OR (state = 4 AND came_from = 2) OR (state = 5 AND came_from = 3))""",
    "prepared_as_asked": """
      SELECT p.history, p.step FROM logged p WHERE p.state IN (2, 3) AND p.before IS NOT NULL
        AND NOT (p.state = 3 AND (p.producer_id <> p.id_before OR p.epoch >= p.epoch_before + {fence_bump}
          OR p.epoch >= {max_epoch}))
        AND NOT EXISTS (SELECT 1 FROM events s WHERE s.kind = 11 AND s.history = p.history AND s.step < p.step
          AND s.producer_id = p.producer_id AND s.epoch = p.epoch - {bump}
          AND s.outcome = CASE WHEN p.state = 2 THEN 1 ELSE 0 END)""",
    "ends_answered_as_logged": """
      SELECT h.history, h.step FROM events h JOIN (
          SELECT e.history, e.request, e.producer_id, e.epoch, e.outcome FROM events e
            JOIN (SELECT history, min(step) AS step FROM events WHERE kind = 11 AND request >= 0
                  GROUP BY history, request) f ON f.history = e.history AND f.step = e.step) s
          ON s.history = h.history AND s.request = h.request
        LEFT JOIN prepared p ON p.history = s.history AND p.producer_id = s.producer_id
          AND p.epoch = s.epoch + {bump} AND p.outcome = s.outcome
      WHERE h.kind = 22 AND h.error = 0 AND (p.step IS NULL OR p.step > h.step)""",
    "completed_after_markers": """
      SELECT p.history, p.next_step AS step FROM (
        SELECT b.history, b.step, b.marker, min(p.step) AS prepare FROM batches b
          JOIN logged p ON p.history = b.history AND p.producer_id = b.producer_id AND p.state IN (2, 3)
            AND p.step > b.step
        WHERE b.producer_id >= 0 GROUP BY b.history, b.step, b.marker) b
        JOIN logged p ON p.history = b.history AND p.step = b.prepare
      WHERE p.next_state >= 4 AND (b.marker IS NULL OR b.marker > p.next_step)""",
}
DECLARED = generated(PROPERTIES.values(), RENAMED | {"max_epoch": "{max_epoch}", "is_v2": "{is_v2}"})


def query(
    mode: str = "v2",
    max_epoch: int = 32767,
    quiet_end: bool = False,
    texts: Mapping[str, str] = VIOLATIONS | DECLARED,
    release: str = "4.0",
) -> str:
    """One statement that returns (property, history, step) of every violation."""
    parts, violations = statements(mode, max_epoch, quiet_end, texts, release)
    tables = ", ".join(f"{name} AS ({text})" for name, text in parts.items())
    return f"WITH {tables} " + " UNION ALL ".join(violations.values())


def statements(
    mode: str = "v2",
    max_epoch: int = 32767,
    quiet_end: bool = False,
    texts: Mapping[str, str] = VIOLATIONS | DECLARED,
    release: str = "4.0",
) -> tuple[dict[str, str], dict[str, str]]:
    """The tables in the order in which they build on one another, and a statement for each property."""
    values = {"max_epoch": str(max_epoch), "quiet_end": "1 = 1" if quiet_end else "1 = 0"}
    values["fence_bump"] = "2" if mode == "v2" and release == "4.0" else "1"
    values |= {"bump": "1" if mode == "v2" else "0", "is_v2": "1 = 1" if mode == "v2" else "1 = 0"}

    def filled(text: str) -> str:
        for name, value in values.items():
            text = text.replace("{" + name + "}", value)
        return text

    parts = {name: filled(text) for name, text in PARTS.items()}
    return parts, {
        name: f"SELECT '{name}' AS property, history, step FROM ({filled(text)}) v" for name, text in texts.items()
    }


def in_duckdb(
    events: pa.Table | str, connection: duckdb.DuckDBPyConnection | None = None, text: str | None = None
) -> Verdict:
    """The verdict of DuckDB on an Arrow table, or on the Parquet files that a glob names."""
    return by_text(events, text or query(), RENAMED, connection)
