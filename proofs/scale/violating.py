"""This module writes the rows that violate something as one table, to be examined with other tools.

The table needs a second pass over the histories, by only those properties of which the report has violations. The table
is the same on any number of cores and on Spark."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fencepost.proofs.scale.estimates import events_held
from fencepost.proofs.scale.rekey import FIGURES, rekey, units_of
from fencepost.proofs.scale.replay import Excuses, Kernel, Undecided
from fencepost.proofs.scale.units import SparkSettings, run_units
from fencepost.properties.history import HistoryDirectory, Piece
from fencepost.properties.history.grouping import NONE
from fencepost.properties.history.location import Location
from fencepost.properties.history.naming import clock_time
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.history.reader import read_unit

ABOUT = pa.schema([
    pa.field("vocabulary", pa.string(), metadata={"meaning": "the protocol in whose words the event is told"}),
    pa.field("property", pa.string(), metadata={"meaning": "what the row violates"}),
    pa.field("rule", pa.string(), metadata={"meaning": "the rule that the property states; empty: the whole model"}),
    pa.field("told", pa.string(), metadata={"meaning": "the violation in words"}),
    pa.field("explained_by", pa.int32(), metadata={"meaning": "the step of the other event concerned; -1: none"}),
    pa.field("event", pa.string(), metadata={"meaning": "the name of the kind"}),
])  # fmt: skip
"""These columns precede those of the event itself, and `AT` stands between them."""
AT = pa.field("at", pa.timestamp("us", "UTC"), metadata={"meaning": "by the recorded clock; null if it was simulated"})


def violating_rows(
    directory: str | Path | Location,
    names: Sequence[str],
    *,
    further: Mapping[str, Kernel | Undecided] | None = None,
    excuses: Excuses | None = None,
    spark: SparkSettings | None = None,
    cores: int | None = None,
    limit: int | None = None,
) -> pa.Table:
    """Return a row for each violation of the properties `names`, and for each finding of the kernels `further`: the
    columns of `ABOUT` and `AT`, and those of the event. Rows are in the order of histories, then steps, then names.
    Violations that `excuses` has a reason for are left out. Histories of more than `limit` events are re-keyed, as by
    `replay`, and `HistoryError` is raised in the same cases."""
    opened = HistoryDirectory.open(Location.of(directory))
    protocol, config = opened.manifest.protocol, dict(opened.manifest.config)
    kernels = tuple((name, kernel) for name, kernel in (further or {}).items() if not isinstance(kernel, Undecided))
    of_piece = partial(
        _of_piece, protocol=protocol, names=tuple(names), further=kernels, config=config, excuses=excuses
    )  # fmt: skip
    limit = limit or events_held(properties_of(protocol), spark, cores)
    fits, large = units_of(opened, limit)
    found = run_units(fits, of_piece, spark=spark, cores=cores, label="violations")
    if large:
        of_columns = partial(_of_columns, **of_piece.keywords)
        outcome = rekey(opened, large, names, limit, spark, of_columns, partial(_of_group, protocol=protocol))
        found += [*outcome.small, *outcome.groups]
    table = pa.concat_tables([_schema(protocol).empty_table(), *found])
    times = [clock_time(opened.manifest, time_us) for time_us in table["time_us"].to_pylist()]
    table = table.add_column(len(ABOUT), AT, pa.array(times, AT.type))
    if not large:
        return table
    order = np.lexsort([np.array(table[name].to_pylist()) for name in ("property", "step", "history")])
    return table.take(pa.array(order, pa.int64()))


def write_rows(file: Path, tables: Sequence[pa.Table]) -> None:
    """Write tables as one Parquet file, completely or not at all. Columns that only some of the tables have are null in
    the rows of the others."""
    place = file.resolve()
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        pq.write_table(pa.concat_tables(tables, promote_options="default"), draft)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)


def _schema(protocol: str) -> pa.Schema:
    return pa.schema([*ABOUT, *(field.with_nullable(True) for field in properties_of(protocol).vocabulary.schema)])


def _of_piece(
    unit: tuple[Piece, ...], protocol: str, names: tuple[str, ...], further: tuple[tuple[str, Kernel], ...],
    config: Mapping[str, Any], excuses: Excuses | None,
) -> pa.Table:  # fmt: skip
    vocabulary = properties_of(protocol).vocabulary
    return _of_columns(*read_unit(unit, vocabulary, vocabulary.schema.names), protocol, names, further, config, excuses)


def _of_columns(
    columns: dict[str, np.ndarray], _: int, protocol: str, names: tuple[str, ...],
    further: tuple[tuple[str, Kernel], ...], config: Mapping[str, Any], excuses: Excuses | None,
) -> pa.Table:  # fmt: skip
    properties = properties_of(protocol)
    view = properties.view_of(columns, config)
    found = {name: properties.properties[name].kernel(view) for name in names}
    excusable = {name: rows for name, rows in found.items() if excuses is not None and name in excuses.names}
    excused = excuses(columns, excusable) if excuses is not None and excusable else {}
    at, about = list[int](), list[tuple[str, str, str, int]]()
    for name, rows in found.items():
        item = properties.properties[name]
        why = excused.get(name, [None] * len(rows.at))
        for row, other, excuse in zip(rows.at.tolist(), rows.other.tolist(), why, strict=True):
            if excuse is None:
                at.append(row)
                explained_by = int(columns["step"][other]) if other != NONE else NONE
                about.append((name, item.rule, item.describe(view, row, other), explained_by))
    for name, kernel in further:
        for violation in kernel(columns).violations:
            at.append(int(np.searchsorted(columns["history"], violation.history)) + violation.step)
            about.append((name, "", violation.told, NONE))
    return _table(protocol, columns, at, about)


def _of_group(
    columns: dict[str, np.ndarray], names: Sequence[str], config: Mapping[str, Any], protocol: str
) -> pa.Table:
    asked = tuple(name for name in names if name != FIGURES)
    return _of_columns(columns, 0, protocol, asked, (), config, None)


def _table(
    protocol: str, columns: Mapping[str, np.ndarray], at: Sequence[int], about: Sequence[tuple[str, str, str, int]]
) -> pa.Table:
    vocabulary = properties_of(protocol).vocabulary
    order = sorted(range(len(at)), key=lambda n: (at[n], about[n][0]))
    rows_at = np.array([at[n] for n in order], np.intp)
    kinds = {int(kind): kind.name for kind in vocabulary.kinds}
    parts = [[about[n][part] for n in order] for part in range(4)]
    events = [kinds[code] for code in columns["kind"][rows_at].tolist()]
    values = [[protocol] * len(order), *parts, events]
    arrays = [pa.array(value, field.type) for value, field in zip(values, ABOUT, strict=True)]
    arrays += [pa.array(columns[field.name][rows_at], field.type) for field in vocabulary.schema]
    return pa.Table.from_arrays(arrays, schema=_schema(protocol))
