"""This module converts clients' events to the cluster's real offsets and producer ids, and drops reads of records
outside of transactions.

The history properties compare the results: a record that was acknowledged at an offset must be there. This module only
notes acknowledgements that the given logs cannot hold, at or above their committed end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from fencepost.proofs.recording.transactions.client_events import ClientEvents
from fencepost.proofs.recording.transactions.event_table import Events
from fencepost.proofs.recording.transactions.names import Names
from fencepost.properties.transactions.events.kinds import Kind


@dataclass(frozen=True)
class Matched:
    """A `Matched` has clients' events in the logs' numbers, and notes on those that have no place there."""

    events: Events
    notes: tuple[str, ...]


def matched(seen: ClientEvents, names: Names, outside: Mapping[int, np.ndarray], ends: Mapping[int, int]) -> Matched:
    """Convert the events. `outside` has, by partition, the offsets of records outside of transactions; `ends` has the
    end of each committed log."""
    columns = {name: values.copy() for name, values in seen.columns.items()}
    columns["producer_id"] = _real_ids(columns["producer_id"], names.producer_ids)
    for place, number in names.partitions.items():
        first = names.first_offsets[place]
        for name in ("offset", "upto"):
            there = (columns["partition"] == number) & (columns[name] >= 0)
            columns[name][there] += first
    kind, partition, offset = columns["kind"], columns["partition"], columns["offset"]
    plain, beyond = np.zeros(len(kind), bool), np.zeros(len(kind), bool)
    reads = np.isin(kind, (Kind.record_read, Kind.record_seen))
    for number, offsets in outside.items():
        plain |= reads & (partition == number) & np.isin(offset, offsets)
    for number, end in ends.items():
        beyond |= (kind == Kind.record_acked) & (partition == number) & (offset >= end)
    notes = []
    if plain.any():
        notes.append(f"{int(plain.sum())} reads of records outside of transactions are left out")
    if beyond.any():
        row = int(np.flatnonzero(beyond)[0])
        what = f"{int(beyond.sum())} acknowledged records lie beyond the committed logs"
        first_one = (
            f"the first is record {columns['record'][row]} of partition {partition[row]} at offset {offset[row]}"
        )
        notes.append(f"{what}; {first_one}: the logs were copied before the clients ended, or the cluster lost them")
    return Matched({name: values[~plain] for name, values in columns.items()}, tuple(notes))


def _real_ids(observed: np.ndarray, real: np.ndarray) -> np.ndarray:
    numbered = (observed >= 0) & (observed < len(real))
    return np.where(numbered, real[np.where(numbered, observed, 0)] if len(real) else observed, observed)
