"""Events as columns, and the merging of several logs' events into one history.

Every log's order is known, and stays; between logs there are only clocks. So within a log time never goes back, and
logs are merged by time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.history.transaction_events import TRANSACTIONS, Kind

LATEST_MS = 2**63 // 1000 - 1  # of a time in ms; records may carry any number
Events = dict[str, np.ndarray]  # `kind`, `time_us`, and the columns that apply; all equally long


def events(kind: Kind, time_ms: np.ndarray, **columns: np.ndarray | int) -> Events:
    """Events of one kind; a column may be given as one number for all."""
    size = len(time_ms)
    table = {"kind": np.full(size, int(kind)), "time_us": np.clip(time_ms.astype(np.int64), -1, LATEST_MS) * 1000}
    return table | {name: np.broadcast_to(np.asarray(values, np.int64), size) for name, values in columns.items()}


def table_of(rows: Sequence[Mapping[str, int]]) -> Events:
    """Events from rows, each a dict with `kind`, `time_us` and the columns that apply."""
    table = {"kind": np.array([row["kind"] for row in rows], np.int64)}
    table["time_us"] = np.array([row["time_us"] for row in rows], np.int64)
    for column in TRANSACTIONS.columns:
        table[column.name] = np.array([row.get(column.name, column.absent) for row in rows], np.int64)
    return table


def in_order(tables: Sequence[Events], by: str) -> Events:
    """The events of one log together, in order of a column that they all have."""
    whole = _joined(tables)
    order = np.argsort(whole[by], kind="stable")
    return {name: values[order] for name, values in whole.items()}


def merged(logs: Sequence[Events]) -> dict[str, np.ndarray]:
    """One history (number 0) of several logs, each in its own order."""
    timed = [{**log, "time_us": np.maximum.accumulate(log["time_us"])} for log in logs if len(log["kind"])]
    whole = _joined(timed)
    order = np.argsort(whole["time_us"], kind="stable")
    columns = absent_columns(TRANSACTIONS, len(order))
    columns["history"][:] = 0
    columns["step"] = np.arange(len(order), dtype=columns["step"].dtype)
    for name, values in whole.items():
        columns[name] = values[order].astype(columns[name].dtype)
    return columns


def _joined(tables: Sequence[Events]) -> Events:
    names = {name for table in tables for name in table}
    absent = {column.name: column.absent for column in TRANSACTIONS.columns}
    return (
        {
            name: np.concatenate(
                [table[name] if name in table else np.full(len(table["kind"]), absent[name]) for table in tables]
            )
            for name in sorted(names | {"kind", "time_us"})
        }
        if tables
        else {"kind": np.zeros(0, np.int64), "time_us": np.zeros(0, np.int64)}
    )
