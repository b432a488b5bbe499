"""Verdicts of the kernels and of SQL on the same histories, and what keys have to do with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb
import id_block_sql
import numpy as np
import pyarrow as pa
import task_count_sql
import transaction_sql
from fencepost.properties.history.checking import Finding
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.source_commits.events import Kind
from fencepost.properties.source_commits.histories import ACKNOWLEDGED, DONE
from in_duckdb import Verdict, by_text
from related_sql import generated

Columns = Mapping[str, np.ndarray]
RENAMED = {"offset": "spot", "position": "place", "partition": "part"}
"""Columns whose names mean something in SQL."""


def covers(covering: Kind, done: tuple[Kind, ...], *by: str) -> str:
    """Rows whose offset stands for a record that was polled, and that is not done with before."""
    same = " AND ".join(f"p.{each} = c.{each}" for each in ("history", *by))
    there = " AND ".join(f"d.{each} = p.{each}" for each in ("history", *by, "record"))
    applies = " AND ".join(f"d.{each} >= 0" for each in by)
    kinds = ", ".join(str(int(kind)) for kind in done)
    return (
        f"SELECT c.history, c.step FROM events c WHERE c.kind = {int(covering)} AND EXISTS (SELECT 1 FROM events p "
        f"WHERE p.kind = {int(Kind.polled)} AND {same} AND p.record <= c.spot AND NOT EXISTS (SELECT 1 FROM "
        f"events d WHERE d.kind IN ({kinds}) AND {there} AND d.step < c.step AND {applies}))"
    )


@dataclass(frozen=True)
class Declared:
    """A protocol whose SQL is generated, but for what is ``written``; ``settings``: values of its configuration."""

    renamed: Mapping[str, str] = field(default_factory=lambda: RENAMED)
    settings: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)


DECLARED = {
    "source-offsets": Declared(
        {**RENAMED, "round": "pass", "count": "tasks"}, {"records": "12", "last_round": "0", "boundary": "0"}
    ),
    "source-commits": Declared(
        written={
            "stored_is_done": covers(Kind.offset_written, DONE, "part"),
            "committable_is_acknowledged": covers(Kind.committable, ACKNOWLEDGED, "instance", "part"),
        }
    ),
    "group-fencing": Declared({"offset": "spot", "position": "place"}, {"records": "10", "old": "0"}),
    "end-to-end": Declared(),
    "two-phase": Declared({"offset": "spot"}),
}
OF = {"id-blocks": id_block_sql, "task-counts": task_count_sql, "transactions": transaction_sql}
EVERY = (*OF, *DECLARED)


def statements(protocol: str, **config: Any) -> tuple[Mapping[str, str], dict[str, str]]:
    """The tables in the order in which they build on one another, and a statement for each property, which gives the
    name, history and step of each violation."""
    if protocol in DECLARED:
        of, held = DECLARED[protocol], properties_of(protocol)
        texts = {**generated(held.properties.values(), {**of.renamed, **of.settings}), **of.written}
        return {}, {name: f"SELECT '{name}' AS property, history, step FROM ({text}) v" for name, text in texts.items()}
    asked = {key: config[key] for key in ("mode", "max_epoch", "quiet_end", "release") if key in config}
    found: tuple[Mapping[str, str], dict[str, str]] = OF[protocol].statements(**asked)
    return found


def in_sql(
    protocol: str, events: pa.Table | str, connection: duckdb.DuckDBPyConnection | None = None, **config: Any
) -> Verdict:
    """The verdict of DuckDB on an Arrow table, or on the Parquet files that a glob names."""
    parts, violations = statements(protocol, **config)
    tables = ", ".join(f"{name} AS MATERIALIZED ({text})" for name, text in parts.items())
    text = (f"WITH {tables} " if tables else "") + " UNION ALL ".join(violations.values())
    renamed = DECLARED[protocol].renamed if protocol in DECLARED else OF[protocol].RENAMED
    made = task_count_sql.effective("raw") if protocol == "task-counts" else "SELECT * FROM raw"
    return by_text(events, text, renamed, connection, made=made)


def by_kernel(protocol: str, columns: Columns, **config: Any) -> Verdict:
    held = properties_of(protocol)
    findings, _ = held.check(dict(columns), config=config)
    return {
        name: (found.violations, (found.first.history, found.first.step))
        for name, found in findings.items()
        if found.first is not None
        and (protocol != "transactions" or config.get("quiet_end") or not held.properties[name].needs_quiet_end)
    }


def table(protocol: str, columns: Columns) -> pa.Table:
    schema = properties_of(protocol).vocabulary.schema
    return pa.table({field.name: pa.array(columns[field.name], field.type) for field in schema}, schema=schema)


def keys_apart(protocol: str, name: str, columns: Columns, **config: Any) -> tuple[Finding, Finding]:
    """What a property finds in the events that it needs, and where each key's events are a history of their own."""
    held = properties_of(protocol)
    judged = np.isin(columns["kind"], [int(kind) for kind in held.properties[name].needs])
    keys = np.stack([columns[column][judged] for column in held.properties[name].key])
    number = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    order = np.argsort(number, kind="stable")
    together = {column: values[judged] for column, values in columns.items()}
    apart = {column: values[order] for column, values in together.items()} | {"history": number[order]}
    whole, parts = (held.check(each, [name], config)[0][name] for each in (together, apart))
    return whole, parts
