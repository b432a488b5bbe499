"""This module reads and writes what clients of transactions saw, as JSON lines: the file that `record --clients`
takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from fencepost.proofs.recording.errors import RecordingError, lines_of
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.properties.history.lines import Lines
from fencepost.properties.transactions.events.kinds import CLIENTS, TRANSACTIONS
from fencepost.reference_impl.live.transactions.over_tcp import WireSystem

# Calls, answers and reads of clients of transactions, as JSON lines: the clients' half of a recording.
#
# The first line may be a header; every other one is an event of `properties/transactions/events/kinds.py`, with the
# columns that its kind uses (`node` is left out, and so may be what does not apply):
#
#     {"mode": "v2", "ordered": true, "partitions": [["orders", 0, 0], ["orders", 1, 0]], "groups": ["billing"], …}
#     {"time_us": 1795288487503000, "kind": "init_sent", "client": 0, "txn_id": 0, "request": 0}
#     {"time_us": 1795288487512000, "kind": "init_taken", "client": 0, "request": 0, "producer_id": 4000, "epoch": 0}
#     {"time_us": 1795288487530000, "kind": "record_sent", "client": 0, "txn_id": 0, "txn": 0, "partition": 1, …}
#
# Lines are in the order of one clock, or each client's in its own. The header has the names of the numbers in the
# events in the cluster; without one nothing can be matched with logs. Its names are `Header`'s fields.
# A record's value is its number in ASCII digits, and an offset that is committed is its own number.

MODES = ("v1", "v1-verified", "v2", "mixed")
KINDS = TRANSACTIONS.observed_by(CLIENTS)
LINES = Lines(TRANSACTIONS, KINDS, unseen=("node",))


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `Header` explains the numbers in the events, and has facts about all of them. `partitions` has (topic,
    partition, first offset) of the data partitions numbered 0, 1, …; offsets in the events are relative to the first
    offset. `groups` are numbered after the partitions, and `transactional_ids` from 0. `producer_ids`, if any, has the
    real ids of those numbered 0, 1, … in the events. `observable` has the kinds of which every event is recorded.
    `ordered` means that the lines are in the order in which things happened. `mode` and `quiet_end` are as in a
    manifest's config. `record_key` is the key of all records of these clients, if they have one; a record with another
    key is another client's, and its value is not its number. `faults` counts, by name, what was done to the cluster
    meanwhile."""

    mode: str = ""
    ordered: bool = False
    quiet_end: bool = False
    observable: tuple[str, ...] = KINDS
    partitions: tuple[tuple[str, int, int], ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    producer_ids: tuple[int, ...] = ()
    record_key: str = ""
    faults: Mapping[str, int] = {}

    def __post_init__(self) -> None:
        if len(set(self.places)) != len(self.places):
            raise ValueError("a partition is named twice")
        if self.mode and self.mode not in MODES:
            raise ValueError(f"mode {self.mode!r} is none of {', '.join(MODES)}")
        if unknown := sorted(set(self.observable) - set(KINDS)):
            raise ValueError(f"{unknown[0]!r} is nothing that a client sees")

    @property
    def places(self) -> tuple[Place, ...]:
        """Return the data partitions, in order of their numbers."""
        return tuple(Place(topic, partition) for topic, partition, _ in self.partitions)


@dataclass(frozen=True)
class ClientEvents:
    """A `ClientEvents` has the events of a file as columns (`time_us`, `kind` and the vocabulary's), in its order and
    numbers."""

    header: Header | None
    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.columns["kind"])


def write_events(file: Path, events: Iterable[Mapping[str, Any]], header: Header | None = None) -> None:
    """Write one JSON object a line. Events have `time_us`, `kind` (its name) and columns. Columns without meaning for
    the kind are left out, so that events of any writer may have all of them."""
    lines = [] if header is None else [msgspec.json.encode(header)]
    lines += map(LINES.text, events)
    file.write_bytes(b"".join(line + b"\n" for line in lines))


def read_events(file: Path) -> ClientEvents:
    """Read what `write_events` wrote. Raise `RecordingError` with the first line that is not an event."""
    lines = lines_of(file, "the clients' events")
    header, rows = None, []
    for number, line in enumerate(lines, 1):
        try:
            if number == 1 and _is_header(line):
                header = msgspec.json.decode(line, type=Header)
            else:
                rows.append(LINES.row(line))
        except (ValueError, RecursionError, OverflowError) as error:
            todo = "each line is a JSON object with time_us, kind and the kind's columns; the first may be a header"
            raise RecordingError(f"line {number} is not an event of a client: {error}", file, todo) from None
    if not lines:
        raise RecordingError(
            "holds neither a header nor an event of a client", file, "give what clients saw, or leave out the file"
        )
    values = _whole_numbers(rows, file)
    return ClientEvents(header, {name: values[:, place].copy() for place, name in enumerate(LINES.names)})


def _whole_numbers(rows: Sequence[Sequence[int]], file: Path) -> np.ndarray:
    try:
        return np.array(rows, np.int64).reshape(-1, len(LINES.names))
    except OverflowError as error:
        raise RecordingError(f"a number has more than 64 bits: {error}", file, "correct that line") from None


def _is_header(line: str) -> bool:
    fields = msgspec.json.decode(line)
    return isinstance(fields, dict) and "kind" not in fields


# Keeps what the clients of a system over TCP saw, as the file of events that `record --clients` takes.
#
#     system = over_tcp({"bootstrap": "127.0.0.1:9092", …})     # and driven
#     write_seen(file, system)
#     record_transactions(log_dirs, file, out)
#
# One thread drives all clients, so that their events are in the order in which they happened.


def write_seen(file: Path, system: WireSystem, **fields: Any) -> int:
    """Write every event so far, with wall-clock times, and return how many. Each event is written only once, since this
    drains the system's timed events. `fields` are further fields of the header: quiet_end, observable, faults."""
    timed = system.drain_timed_events()
    events = [{**event._asdict(), "time_us": time_us} for time_us, event in timed]
    write_events(file, events, header_of(system, [event["producer_id"] for event in events], **fields))
    return len(events)


def header_of(system: WireSystem, producer_ids: Sequence[int], **fields: Any) -> Header:
    """Return the header with the names on the brokers for the numbers in a system's events."""
    names, config = system.names, system.env.config
    return Header(
        mode=config.mode,
        ordered=True,
        partitions=tuple((place.topic, place.partition, place.start) for place in names.places),
        groups=tuple(names.group_id(group) for group in range(config.groups)),
        transactional_ids=(names.transactional_id(0),),
        producer_ids=tuple(names.real_producer_id(number) for number in range(max(producer_ids, default=-1) + 1)),
        record_key=names.record_key.decode(),
        **fields,
    )
