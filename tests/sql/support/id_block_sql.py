"""The history properties of id blocks in SQL: an implementation that shares nothing with the kernels but the table.

One text for DuckDB and Spark. Sums are DECIMAL(38, 0), so nothing here can wrap at 2^63. Columns whose names are
reserved words somewhere are renamed: first -> start, length -> size, grant -> ordinal.
"""

import duckdb
import pyarrow as pa

MAX = 9223372036854775807
RENAMED = {"first": "start", "length": "size", "grant": "ordinal"}

WELL_FORMED = f"(start >= 0 AND size >= 1 AND CAST(start AS DECIMAL(38,0)) + size <= {MAX})"
BLOCKS = f"""
  (SELECT history, step, start, CAST(start AS DECIMAL(38,0)) + size - 1 AS finish
   FROM events WHERE {{which}} AND {WELL_FORMED})
"""
GRANTED = BLOCKS.format(which="kind IN (5, 19)")
ANSWERED = BLOCKS.format(which="kind = 6 AND error = 0")
OVERLAPS = """
  SELECT history, step FROM (
    SELECT history, step, start, max(finish) OVER (
      PARTITION BY history ORDER BY start, step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach
    FROM {blocks} b) o
  WHERE start <= reach
"""
SINCE = f"""
  (SELECT i.history, i.step, min(b.step) AS since
   FROM (SELECT history, step, producer_id FROM events WHERE kind = 13) i LEFT JOIN {GRANTED} b
     ON b.history = i.history AND i.producer_id >= b.start AND i.producer_id <= b.finish
   GROUP BY i.history, i.step)
"""

VIOLATIONS = {
    "ids_unique": """
      SELECT history, step FROM (
        SELECT history, step, row_number() OVER (PARTITION BY history, producer_id ORDER BY step) AS nth
        FROM events WHERE kind = 13) n
      WHERE nth > 1""",
    "blocks_disjoint": OVERLAPS.format(blocks=GRANTED),
    "answers_disjoint": OVERLAPS.format(blocks=ANSWERED),
    "answered_after_commit": """
      SELECT a.history, a.step FROM events a
      WHERE a.kind = 6 AND a.error = 0 AND a.ordinal >= 0 AND NOT EXISTS (
        SELECT 1 FROM events c
        WHERE c.kind = 5 AND c.history = a.history AND c.ordinal = a.ordinal AND c.step < a.step)""",
    "handed_out_after_grant": f"SELECT history, step FROM {SINCE} s WHERE since > step",
    "ids_within_blocks": f"SELECT history, step FROM {SINCE} s WHERE since IS NULL",
    "ids_increase": """
      SELECT history, step FROM (
        SELECT history, step, producer_id,
          lag(producer_id) OVER (PARTITION BY history, broker, life ORDER BY step) AS before
        FROM (
          SELECT history, step, kind, broker, producer_id,
            sum(CASE WHEN kind = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY history, broker ORDER BY step) AS life
          FROM events WHERE kind IN (1, 13)) l
        WHERE kind = 13) b
      WHERE before >= producer_id""",
    "blocks_contiguous": f"""
      SELECT history, step FROM (
        SELECT history, step, kind, start,
          lag(CAST(start AS DECIMAL(38,0)) + CASE WHEN kind = 21 THEN 0 ELSE size END)
            OVER (PARTITION BY history ORDER BY step) AS due
        FROM events WHERE kind = 21 OR (kind IN (5, 19) AND {WELL_FORMED})) c
      WHERE kind <> 21 AND due <> start""",
    "blocks_well_formed": f"SELECT history, step FROM events WHERE kind IN (5, 19) AND NOT {WELL_FORMED}",
}

QUERY = " UNION ALL ".join(
    f"SELECT '{name}' AS property, history, step FROM ({text}) v" for name, text in VIOLATIONS.items()
)


def told(rows: list[tuple[str, int, int]]) -> dict[str, tuple[int, tuple[int, int]]]:
    """(property, history, step) rows -> {property: (count, least (history, step))}."""
    found: dict[str, list[tuple[int, int]]] = {}
    for name, history, step in rows:
        found.setdefault(name, []).append((int(history), int(step)))
    return {name: (len(places), min(places)) for name, places in found.items()}


def in_duckdb(
    events: pa.Table | str, connection: duckdb.DuckDBPyConnection | None = None
) -> dict[str, tuple[int, tuple[int, int]]]:
    """The verdict of DuckDB on an Arrow table, or on the Parquet files that a glob names."""
    duck = connection or duckdb.connect()
    source = f"read_parquet('{events}')" if isinstance(events, str) else "events_table"
    if not isinstance(events, str):
        duck.register("events_table", events)
    renamed = ", ".join(f'"{old}" AS {new}' for old, new in RENAMED.items())
    dropped = ", ".join(f'"{old}"' for old in RENAMED)
    duck.execute(f"CREATE OR REPLACE TEMP VIEW events AS SELECT * EXCLUDE ({dropped}), {renamed} FROM {source}")
    return told(duck.execute(QUERY).fetchall())
