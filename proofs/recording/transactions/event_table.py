"""This module stores events as columns, and merges several logs' events into one history.

The order of each log is known, and is preserved; between logs there are only clocks. So within a log time never goes
back, and logs are merged by time. Columns are as narrow as the history's own: a segment may hold millions of
records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.history.vocabulary import COMMON_COLUMNS
from fencepost.properties.transactions.events.kinds import TRANSACTIONS, Kind

LATEST_MS = 2**63 // 1000 - 1  # of a time in ms; records may carry any number
Events = dict[str, np.ndarray]  # `kind`, `time_us`, and the columns that apply; all equally long
COLUMNS = {column.name: column for column in (*COMMON_COLUMNS, *TRANSACTIONS.columns)}
DTYPES = {name: column.dtype for name, column in COLUMNS.items()}


def events(kind: Kind, time_ms: np.ndarray, **columns: np.ndarray | int) -> Events:
    """Return events of one kind. A column may be given as one number for all."""
    size = len(time_ms)
    times = np.clip(time_ms.astype(np.int64), -1, LATEST_MS) * 1000
    table = {"kind": np.full(size, int(kind), DTYPES["kind"]), "time_us": times}
    for name, values in columns.items():
        table[name] = np.broadcast_to(np.asarray(values).astype(DTYPES[name]), size)
    return table


def table_of(rows: Sequence[Mapping[str, int]], names: Sequence[str]) -> Events:
    """Return events from rows, each a dict with those of the columns `names` that apply."""
    return {name: np.array([row.get(name, COLUMNS[name].absent) for row in rows], DTYPES[name]) for name in names}


def in_order(tables: Sequence[Events], by: str) -> Events:
    """Join tables of one log, in order of a column that they all have."""
    whole = joined(tables)
    order = _order(whole[by])
    return whole if order is None else {name: values[order] for name, values in whole.items()}


def merged(logs: Sequence[Events]) -> dict[str, np.ndarray]:
    """Return one history (number 0) of several logs, each in its own order."""
    timed = [{**log, "time_us": np.maximum.accumulate(log["time_us"])} for log in logs if len(log["kind"])]
    whole = joined(timed)
    order = _order(whole["time_us"])
    columns = absent_columns(TRANSACTIONS, len(whole["kind"]))
    columns["history"][:] = 0
    columns["step"] = np.arange(len(whole["kind"]), dtype=DTYPES["step"])
    for name, values in whole.items():
        columns[name] = (values if order is None else values[order]).astype(DTYPES[name], copy=False)
    return columns


def _order(values: np.ndarray) -> np.ndarray | None:
    return None if (values[1:] >= values[:-1]).all() else np.argsort(values, kind="stable")


def joined(tables: Sequence[Events]) -> Events:
    if len(tables) == 1:
        return dict(tables[0])
    whole = {}
    for name in sorted({"kind", "time_us"}.union(*tables)):
        absent = COLUMNS[name].absent
        parts = [
            table[name] if name in table else np.full(len(table["kind"]), absent, DTYPES[name]) for table in tables
        ]
        whole[name] = np.concatenate(parts) if parts else np.zeros(0, DTYPES[name])
    return whole
