"""What all comparisons of kernels with SQL have in common: verdicts of both, and what keys have to do with them."""

from collections.abc import Mapping
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from fencepost.properties.history.checking import Finding
from fencepost.properties.history.properties_of import HistoryProperties
from id_block_sql import told

Columns = Mapping[str, np.ndarray]
Verdict = dict[str, tuple[int, tuple[int, int]]]
"""By property the number of violations, and the history and step of the first."""


def by_kernel(held: HistoryProperties, columns: Columns, **config: Any) -> Verdict:
    findings, _ = held.check(dict(columns), config=config)
    return {
        name: (found.violations, (found.first.history, found.first.step))
        for name, found in findings.items()
        if found.first is not None
    }


def table(held: HistoryProperties, columns: Columns) -> pa.Table:
    schema = held.vocabulary.schema
    return pa.table({field.name: pa.array(columns[field.name], field.type) for field in schema}, schema=schema)


def by_text(
    events: pa.Table | str,
    text: str,
    renamed: Mapping[str, str],
    connection: duckdb.DuckDBPyConnection | None = None,
    made: str = "",
) -> Verdict:
    """The verdict of DuckDB on an Arrow table, or on the Parquet files that a glob names.  ``renamed``: columns whose
    names mean something in SQL; ``made``: events are made of ``raw`` ones by this."""
    duck = connection or duckdb.connect()
    source = f"read_parquet('{events}')" if isinstance(events, str) else "events_table"
    if not isinstance(events, str):
        duck.register("events_table", events)
    others = "".join(f', "{old}" AS {new}' for old, new in renamed.items())
    dropped = ", ".join(f'"{old}"' for old in renamed)
    view = "raw" if made else "events"
    duck.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT * EXCLUDE ({dropped}){others} FROM {source}")
    if made:
        duck.execute(f"CREATE OR REPLACE TEMP TABLE events AS {made}")
    return told(duck.execute(text).fetchall())


def keys_apart(held: HistoryProperties, name: str, columns: Columns, **config: Any) -> tuple[Finding, Finding]:
    """What a property finds in the events that it needs, and where each key's events are a history of their own."""
    judged = np.isin(columns["kind"], [int(kind) for kind in held.properties[name].needs])
    keys = np.stack([columns[column][judged] for column in held.properties[name].key])
    number = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    order = np.argsort(number, kind="stable")
    together = {column: values[judged] for column, values in columns.items()}
    apart = {column: values[order] for column, values in together.items()} | {"history": number[order]}
    whole, parts = (held.check(each, [name], config)[0][name] for each in (together, apart))
    return whole, parts
