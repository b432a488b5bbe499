"""Statements in DuckDB, on histories in memory or in Parquet files, and the verdict that their rows are."""

from collections.abc import Iterable, Mapping

import duckdb
import pyarrow as pa

Verdict = dict[str, tuple[int, tuple[int, int]]]
"""By property the number of violations, and the history and step of the first."""


def verdict_of(rows: Iterable[tuple[str, int, int]]) -> Verdict:
    """Of rows of a property, a history and a step."""
    found: dict[str, list[tuple[int, int]]] = {}
    for name, history, step in rows:
        found.setdefault(name, []).append((int(history), int(step)))
    return {name: (len(places), min(places)) for name, places in found.items()}


def by_text(
    events: pa.Table | str,
    text: str,
    renamed: Mapping[str, str],
    connection: duckdb.DuckDBPyConnection | None = None,
    made: str = "SELECT * FROM raw",
) -> Verdict:
    """The verdict of DuckDB on an Arrow table, or on the Parquet files that a glob names.  ``renamed``: columns whose
    names mean something in SQL; ``made``: events are made of ``raw`` ones by this."""
    duck = connection or duckdb.connect()
    source = f"read_parquet('{events}')" if isinstance(events, str) else "events_table"
    if not isinstance(events, str):
        duck.register("events_table", events)
    others = "".join(f', "{old}" AS {new}' for old, new in renamed.items())
    dropped = ", ".join(f'"{old}"' for old in renamed)
    duck.execute(f"CREATE OR REPLACE TEMP VIEW raw AS SELECT * EXCLUDE ({dropped}){others} FROM {source}")
    duck.execute(f"CREATE OR REPLACE TEMP TABLE events AS {made}")
    return verdict_of(duck.execute(text).fetchall())
