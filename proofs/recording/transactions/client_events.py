"""What clients of transactions did, were told and read, as JSON lines: the clients' half of a recording.

The first line may be a header; every other one is an event of `properties/transactions/history/events.py`, with the
columns that its kind uses (`node` is left out, and so may be what does not apply):

    {"mode": "v2", "ordered": true, "partitions": [["orders", 0, 0], ["orders", 1, 0]], "groups": ["billing"], …}
    {"time_us": 1795288487503000, "kind": "init_sent", "client": 0, "txn_id": 0, "request": 0}
    {"time_us": 1795288487512000, "kind": "init_taken", "client": 0, "request": 0, "producer_id": 4000, "epoch": 0}
    {"time_us": 1795288487530000, "kind": "record_sent", "client": 0, "txn_id": 0, "txn": 0, "partition": 1, …}

Lines stand in the order of what one clock saw, or each client's in its own. The header says what the numbers in the
events are called in the cluster; without one nothing can be matched with logs. Its names are `Header`'s fields.
A record's value is its number in ASCII digits, and an offset that is committed is its own number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.properties.transactions.history import properties as transactions
from fencepost.properties.transactions.history.events import TRANSACTIONS, USED_BY

MODES = ("v1", "v1-verified", "v2", "mixed")
KINDS = transactions.RECORDINGS["clients"]
COLUMNS = {column.name: column for column in TRANSACTIONS.columns}
_PAIR = frozenset({"producer_id", "epoch"})
_ALWAYS_OPTIONAL = frozenset({"node", "error"})
OPTIONAL: Mapping[str, frozenset[str]] = {
    "init_sent": _PAIR,  # only where the pair is expected (KIP-360)
    "init_taken": _PAIR,  # errors give none
    "fence_told": _PAIR,
    "end_told": _PAIR,  # before v2
    "record_sent": frozenset({"sequence"}),  # offsets carry none
    "record_acked": frozenset({"offset"}),
    "offset_fetched": frozenset({"record"}),  # nothing is committed yet
}


@dataclass(frozen=True)
class Header:
    """What the numbers in the events stand for, and what can be said of them as a whole.

    `partitions`: (topic, partition, first offset) of the data partitions numbered 0, 1, …; offsets in the events count
    from the first offset. `groups` are numbered after them. `transactional_ids` are numbered from 0. `producer_ids`, if
    any: the real ids of those numbered 0, 1, … in the events. `observable`: the kinds of which every event is there.
    `ordered`: the lines are in the order in which things happened. `mode`, `quiet_end`: as in a manifest's config.
    `record_key`: the key of all records of these clients, if they have one; a record with another is somebody else's,
    and its value not its number. `faults`: what was done to the cluster meanwhile, by name, and how often.
    """

    mode: str = ""
    ordered: bool = False
    quiet_end: bool = False
    observable: tuple[str, ...] = KINDS
    partitions: tuple[tuple[str, int, int], ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    producer_ids: tuple[int, ...] = ()
    record_key: str = ""
    faults: Mapping[str, int] = field(default_factory=dict)

    @property
    def places(self) -> tuple[Place, ...]:
        """The data partitions, in order of their numbers."""
        return tuple(Place(topic, partition) for topic, partition, _ in self.partitions)


@dataclass(frozen=True)
class ClientEvents:
    """The events of a file as columns (`time_us`, `kind` and the vocabulary's), in the file's order and own numbers."""

    header: Header | None
    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.columns["kind"])


def write_events(file: Path, events: Iterable[Mapping[str, Any]], header: Header | None = None) -> None:
    """Write one JSON object a line. Events have `time_us`, `kind` (its name) and columns; those without meaning are
    left out, so that an event of any writer may have all of them."""
    with file.open("w", encoding="utf-8") as out:
        if header is not None:
            out.write(json.dumps(asdict(header)) + "\n")
        for event in events:
            kept = {"time_us": event["time_us"], "kind": event["kind"]}
            for name in USED_BY[event["kind"]]:
                if name != "node" and event.get(name, COLUMNS[name].absent) != COLUMNS[name].absent:
                    kept[name] = event[name]
            out.write(json.dumps(kept) + "\n")


def read_events(file: Path) -> ClientEvents:
    """Read what `write_events` wrote. Raises `RecordingError` with the first line that is not an event."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"cannot be read: {error}", file, "name the file of the clients' events") from None
    header, rows = None, []
    for number, line in enumerate(lines, 1):
        try:
            said = json.loads(line)
            if not isinstance(said, dict):
                raise ValueError("it is no JSON object")
            if number == 1 and "kind" not in said:
                header = _header(said)
            else:
                rows.append(_row(said))
        except (ValueError, TypeError) as error:
            todo = "each line is a JSON object with time_us, kind and the kind's columns; the first may be a header"
            raise RecordingError(f"line {number} is not an event of a client: {error}", file, todo) from None
    return ClientEvents(header, _columns(rows, file))


def _row(said: dict[str, Any]) -> tuple[int, ...]:
    kind = said.get("kind")
    if kind not in USED_BY:
        raise ValueError(f"unknown kind {kind!r}")
    if kind not in KINDS:
        raise ValueError(f"{kind} is nothing that a client sees")
    used = USED_BY[kind]
    strange = sorted(said.keys() - {"time_us", "kind", *used})
    if strange:
        raise ValueError(f"{kind} has no column {strange[0]!r} (it has: {', '.join(used)})")
    needed = {"time_us", *used} - _ALWAYS_OPTIONAL - OPTIONAL.get(kind, frozenset())
    if "error" in used and said.get("error"):
        needed -= {"offset", "record"}
    missing = sorted(needed - said.keys())
    if missing:
        raise ValueError(f"{kind} lacks {missing[0]!r}")
    for name, value in said.items():
        if name != "kind" and type(value) is not int:
            raise ValueError(f"{name} is {value!r}, not a whole number")
    values = (said.get(name, column.absent) for name, column in COLUMNS.items())
    return (said["time_us"], int(TRANSACTIONS.codes[kind]), *values)


def _columns(rows: list[tuple[int, ...]], file: Path) -> dict[str, np.ndarray]:
    names = ("time_us", "kind", *COLUMNS)
    try:
        values = np.array(rows, np.int64).reshape(-1, len(names))
    except OverflowError:
        raise RecordingError("has a number beyond 64 bits", file, "numbers are those of Kafka's own types") from None
    for name, column in zip(names, values.T, strict=True):
        if name in COLUMNS and len(column):
            bound = np.iinfo(COLUMNS[name].type.to_pandas_dtype())
            if column.min() < bound.min or column.max() > bound.max:
                what = f"has the value {column.max() if column.max() > bound.max else column.min()} for {name}"
                raise RecordingError(what, file, f"{name} lies between {bound.min} and {bound.max}")
    return {name: values[:, place].copy() for place, name in enumerate(names)}


def _header(said: dict[str, Any]) -> Header:
    known = {each.name for each in fields(Header)}
    if strange := sorted(said.keys() - known):
        raise ValueError(f"a header has no {strange[0]!r} (it has: {', '.join(sorted(known))})")
    fitting: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
    header = Header(**fitting | {"partitions": tuple(tuple(each) for each in fitting.get("partitions", ()))})
    for each in header.partitions:
        if [type(part) for part in each] != [str, int, int]:
            raise ValueError(f"partition {list(each)} is not [topic, partition, first offset]")
    if len(set(header.places)) != len(header.places):
        raise ValueError("a partition is named twice")
    if header.mode and header.mode not in MODES:
        raise ValueError(f"mode {header.mode!r} is none of {', '.join(MODES)}")
    if unknown := sorted(set(header.observable) - set(KINDS)):
        raise ValueError(f"{unknown[0]!r} is nothing that a client sees")
    texts = [header.record_key, *header.groups, *header.transactional_ids]
    if any(type(value) is not str for value in texts) or any(type(value) is not int for value in header.producer_ids):
        raise ValueError("groups, transactional_ids and record_key are strings, producer_ids whole numbers")
    faults = header.faults
    if not isinstance(faults, dict) or any(type(value) is not int for value in faults.values()):
        raise ValueError("faults is an object of whole numbers")
    if any(type(value) is not bool for value in (header.ordered, header.quiet_end)):
        raise ValueError("ordered and quiet_end are true or false")
    return header
