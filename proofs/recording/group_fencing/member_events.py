"""This module reads and writes what the members of a group and an auditor saw, as JSON lines.

The first line is a header. Every other line is an event of `properties/group_fencing/events.py`, by a client that is
named, or by the auditor, who has no name:

    {"group": "billing", "inputs": [["orders", 0, 0, 20], ["orders", 1, 0, 20]], "mode": "shipped", "quiet_end": true}
    {"time_us": 1795288487503000, "client": "a-1", "kind": "instance_started", "slot": "a"}
    {"time_us": 1795288487512000, "client": "a-1", "kind": "init_told", "txn": "billing-a"}
    {"time_us": 1795288487530000, "client": "a-1", "kind": "consumed", "partition": 0, "offset": 7, "generation": 3}
    {"time_us": 1795288487531000, "client": "a-1", "kind": "txn_begun"}
    {"time_us": 1795288487541000, "client": "a-1", "kind": "offset_sent", "partition": 0, "offset": 8, "generation": 3}
    {"time_us": 1795288497541000, "kind": "output_read", "output": 0, "position": 12, "partition": 0, "offset": 7}
    {"time_us": 1795288497549000, "kind": "audited", "partition": 0, "offset": 20}

Lines of one client are in the order in which it saw them; lines of several clients may be mixed in any way. A client
writes each action down before doing it, and each answer after receiving it, so that a killed client's file lacks
nothing that a broker has of it. `client`, `slot`, `member`, `instance` and `txn` are names, the brokers' own where they
exist. A client need not repeat what it has stated once (`slot` when it starts, `txn` when it initialises). No client
knows `producer_id` and `epoch`: they are found in the log.

The offsets that a member sends carry, as their metadata, its name and how many transactions it has begun: `a-1/17`.
This tag (`tag_of`) links a commit in the log to one of these lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from fencepost.proofs.recording.errors import RecordingError, lines_of
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.properties.group_fencing.events import APPLICATION, AUDITOR, GROUP_FENCING, Kind
from fencepost.properties.group_fencing.histories import DRAFTS, SINCE
from fencepost.properties.history.lines import Lines
from fencepost.properties.history.vocabulary import EventKind

Row = dict[str, int]
KINDS = GROUP_FENCING.observed_by(APPLICATION, AUDITOR)
UNKNOWN_TO_CLIENTS = ("producer_id", "epoch")
LINES = Lines(GROUP_FENCING, KINDS, unseen=(*UNKNOWN_TO_CLIENTS, "generation"))
NAMED = ("client", "slot", "member", "instance", "txn")
OF_AUDITOR = (Kind.output_read, Kind.audited)
BY_NAME = GROUP_FENCING.codes
WANTED = "each line is a JSON object with time_us, kind, its client, and the kind's columns; the first is a header"


def tag_of(client: str, transactions: int) -> str:
    """Return the metadata of the offsets that a client sends in its transaction of that number, counted from 1."""
    return f"{client}/{transactions}"


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `Header` has facts about all lines. `inputs` has (topic, partition, first offset, end) of the input's
    partitions, which lines number 0, 1, …. Each offset from the first up to the end (exclusive) has to be a record,
    without compaction or transaction markers in between; the given logs are checked for that. `observable` has the
    kinds of which every event is recorded (for a killed instance, until it was killed). `mode` and `quiet_end` are as
    in a manifest's config. `clock_error_us` limits how much the clocks of members and brokers differ; without it their
    times are no evidence of order. `faults` counts, by name, what was done to the members and the cluster meanwhile."""

    group: str
    inputs: tuple[tuple[str, int, int, int], ...]
    mode: str = "shipped"
    quiet_end: bool = False
    observable: tuple[str, ...] = KINDS
    clock_error_us: int | None = None
    faults: Mapping[str, int] = {}

    def __post_init__(self) -> None:
        if len(set(self.places)) != len(self.places):
            raise ValueError("a partition of the input is named twice")
        if any(not 0 <= first <= end for _, _, first, end in self.inputs):
            raise ValueError("a partition of the input ends before it begins")
        if self.mode not in (*SINCE, *DRAFTS):
            raise ValueError(f"mode {self.mode!r} is none of {', '.join((*SINCE, *DRAFTS))}")
        if unknown := sorted(set(self.observable) - set(KINDS)):
            raise ValueError(f"{unknown[0]!r} is nothing that a member or an auditor sees")
        if self.clock_error_us is not None and self.clock_error_us < 0:
            raise ValueError("clock_error_us is negative")

    @property
    def places(self) -> tuple[Place, ...]:
        """Return the partitions of the input, in order of their numbers."""
        return tuple(Place(topic, partition) for topic, partition, _, _ in self.inputs)


@dataclass(frozen=True)
class Member:
    """A `Member` has one client's events in its order, as rows, and at the same index the tag of the transaction of
    each."""

    name: str
    rows: list[Row]
    tags: list[str]


@dataclass(frozen=True)
class Seen:
    """A `Seen` has the content of a file. `names` has, by column, the names that the numbers in rows stand for. Offsets
    of the input are relative to the first offset of each partition."""

    header: Header
    members: tuple[Member, ...]
    audit: list[Row]
    names: dict[str, list[str]]


def read_members(file: Path) -> Seen:
    """Read a file of members' events. Raise `RecordingError` with the first line that is no event, or that cannot be
    one of this group."""
    lines = lines_of(file, "the members' events")
    number = 1
    try:
        if not lines:
            raise ValueError("there is none")
        reading = _Reading(msgspec.json.decode(lines[0], type=Header))
        for number, line in enumerate(lines[1:], 2):  # noqa: B007 (named where a line is refused)
            reading.add(line)
    except (ValueError, RecursionError, OverflowError) as error:
        what = "is no header" if number == 1 else "is no event of a group"
        raise RecordingError(f"line {number} {what}: {error}", file, WANTED) from None
    return reading.seen()


def write_members(file: Path, header: Header, lines: Iterable[Mapping[str, Any]]) -> None:
    encoded = [msgspec.json.encode(header), *map(msgspec.json.encode, lines)]
    file.write_bytes(b"".join(line + b"\n" for line in encoded))


class _Reading:
    def __init__(self, header: Header) -> None:
        self.header = header
        self.numbers: dict[str, dict[str, int]] = {column: {} for column in NAMED}
        self.members: dict[str, Member] = {}
        self.carried: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self.begun: Counter[str] = Counter()
        self.audit: list[Row] = []
        self.read: dict[int, int] = {}

    def seen(self) -> Seen:
        names = {column: list(numbers) for column, numbers in self.numbers.items()}
        return Seen(self.header, tuple(self.members.values()), self.audit, names)

    def add(self, line: str) -> None:
        fields = msgspec.json.decode(line, type=dict[str, Any])
        kind = BY_NAME.get(str(fields.get("kind", "")))
        client = fields.get("client", "")
        if kind is not None and (kind in OF_AUDITOR) == bool(client):
            whose = "the auditor, who has no name" if kind in OF_AUDITOR else "a client, and has to name it"
            raise ValueError(f"{kind.name} is of {whose}")
        for column in NAMED:
            if column in fields:
                fields[column] = self._number(column, fields[column])
        if client:
            self._carry(client, kind, fields)
        row = dict(zip(LINES.names, LINES.row(msgspec.json.encode(fields).decode()), strict=True))
        self._relative(row)
        if kind in OF_AUDITOR:
            self._in_order(row)
            self.audit.append(row)
            return
        self.begun[client] += kind == Kind.txn_begun
        member = self.members.setdefault(client, Member(client, [], []))
        member.rows.append(row)
        member.tags.append(tag_of(client, self.begun[client]))

    def _number(self, column: str, name: Any) -> int:
        if not isinstance(name, str):
            raise ValueError(f"{column} is {name!r}, which is no name")
        return self.numbers[column].setdefault(name, len(self.numbers[column])) if name else -1

    def _carry(self, client: str, kind: EventKind | None, fields: dict[str, Any]) -> None:
        carried = self.carried[client]
        if "slot" not in fields and "slot" not in carried:
            carried["slot"] = self._number("slot", client)
        carried |= {column: fields[column] for column in ("slot", "txn") if column in fields}
        fields |= {column: carried[column] for column in carried if kind is not None and column in kind.columns}

    def _relative(self, row: Row) -> None:
        if row["partition"] < 0:
            return
        if row["partition"] >= len(self.header.inputs):
            raise ValueError(f"partition {row['partition']} is none of the {len(self.header.inputs)} of the input")
        _, _, first, end = self.header.inputs[row["partition"]]
        if row["offset"] < 0:
            return
        if not first <= row["offset"] <= end:
            raise ValueError(f"offset {row['offset']} is none of partition {row['partition']}: {first} up to {end}")
        row["offset"] -= first

    def _in_order(self, row: Row) -> None:
        if row["kind"] == Kind.output_read:
            output, position = row["output"], row["position"]
            if position <= self.read.get(output, -1):
                raise ValueError(f"position {position} of output {output} is read after {self.read[output]}")
            self.read[output] = position


def every_row(members: Sequence[Member]) -> Iterable[Row]:
    return (row for member in members for row in member.rows)
