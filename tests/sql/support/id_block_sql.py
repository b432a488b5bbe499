"""The history properties of id blocks in SQL: of those with kernels of their own, an implementation that shares nothing
with these but the table; of the declared ones it is written from what they say.

One text for DuckDB and Spark. Sums are DECIMAL(38, 0), so nothing here can wrap at 2^63. Columns whose names are
reserved words somewhere are renamed: first -> start, length -> size, grant -> ordinal.
"""

import duckdb
import pyarrow as pa
from fencepost.properties.id_blocks.histories import HISTORY
from in_duckdb import Verdict, by_text
from related_sql import generated

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
    "handed_out_after_grant": f"SELECT history, step FROM {SINCE} s WHERE since > step",
    "ids_within_blocks": f"SELECT history, step FROM {SINCE} s WHERE since IS NULL",
    **generated(HISTORY.properties.values(), RENAMED),
}


def statements(**_: str) -> tuple[dict[str, str], dict[str, str]]:
    """No tables, and a statement for each property."""
    return {}, {
        name: f"SELECT '{name}' AS property, history, step FROM ({text}) v" for name, text in VIOLATIONS.items()
    }


def in_duckdb(events: pa.Table | str, connection: duckdb.DuckDBPyConnection | None = None) -> Verdict:
    """The verdict of DuckDB on an Arrow table, or on the Parquet files that a glob names."""
    return by_text(events, " UNION ALL ".join(statements()[1].values()), RENAMED, connection)
