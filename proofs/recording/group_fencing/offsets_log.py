"""This module reads one group's generations, transactional offsets and their outcomes from `__consumer_offsets`.

Sources of the values: GroupMetadataValue.json, ConsumerGroupMetadataValue.json and OffsetCommitValue.json of Kafka 4.3
(group-coordinator). A commit does not name its sender, except in its metadata, which the sender chooses: `tag`.

A classic group's generation begins when its members' joining ends, and is in the log only after their leader has sent
the assignment (GroupMetadataManager). A commit of a transaction is accepted between the two. So a commit of a later
generation than the log has revealed is itself the first sign that this generation has begun."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.group_fencing.member_events import Header, Row
from fencepost.proofs.recording.logs.record_columns import records_of
from fencepost.proofs.recording.logs.replicas import Committed
from fencepost.proofs.recording.logs.segments import CONTROL, TRANSACTIONAL, Segment
from fencepost.proofs.recording.logs.wire_types import compact_string, string
from fencepost.proofs.recording.transactions.group_offsets import committed_offset_of, offset_key_of
from fencepost.proofs.recording.transactions.partition_events import committed_batches, marker_events
from fencepost.properties.group_fencing.events import Kind

CLASSIC_GROUP, CONSUMER_GROUP = 2, 3  # kinds of key: the group itself, in either protocol
FLEXIBLE = {"group": 4, "offset": 4}  # the version of the value from which on strings are compact
WITH_LEADER_EPOCH = 3


@dataclass(frozen=True)
class Logged:
    """A `Logged` is one event of the log. ``tag`` is the metadata of an accepted offset."""

    row: Row
    tag: str = ""


@dataclass(frozen=True)
class OffsetsLog:
    """An `OffsetsLog` has the events of one group, in the order of its log. `outside_transactions` counts offsets that
    were committed in no transaction, `before` those that are not behind the first offset of the input, and `pending`
    those in a transaction that has not ended. `whole` means that nothing is missing."""

    events: list[Logged]
    outside_transactions: int = 0
    before: int = 0
    pending: int = 0
    whole: bool = False


def offsets_log(parts: Sequence[Committed], header: Header) -> OffsetsLog:
    """Read the log of the group that the header names. Raise `RecordingError` where a record is not as Kafka writes it,
    or where several partitions have offsets of the group."""
    found = [(part, log) for part in parts if (log := _Log(header).read(part)).events]
    if len(found) > 1:
        first, second = (part.replica.folder for part, _ in found[:2])
        todo = "the number of offsets partitions was changed; which commit was first cannot be told"
        raise RecordingError(f"has offsets of group {header.group!r}, and so has {first.name}", second, todo)
    return found[0][1] if found else OffsetsLog([])


class _Log:
    def __init__(self, header: Header) -> None:
        self.group = header.group
        self.places = {place: number for number, place in enumerate(header.places)}
        self.first = [first for _, _, first, _ in header.inputs]
        self.events: list[Logged] = []
        self.pending: defaultdict[int, dict[int, Row]] = defaultdict(dict)
        self.generation = -1
        self.leader_epoch = -1
        self.outside_transactions = self.before = 0

    def read(self, part: Committed) -> OffsetsLog:
        for segment, batches in committed_batches(part):
            control = segment.headers["attributes"][batches] & CONTROL != 0
            markers = self._markers(segment, batches[control])
            for batch in batches.tolist():
                self._leader(segment, batch)
                if batch in markers:
                    self._settle(markers[batch])
                elif not segment.headers["attributes"][batch] & CONTROL:
                    self._records(segment, batch)
        pending = sum(map(len, self.pending.values()))
        return OffsetsLog(self.events, self.outside_transactions, self.before, pending, part.whole)

    @staticmethod
    def _markers(segment: Segment, batches: np.ndarray) -> dict[int, Row]:
        found = {}
        for batch in batches.tolist():
            table = marker_events(segment, np.array([batch]), 0)
            if len(table["kind"]):
                found[batch] = {name: int(values[0]) for name, values in table.items()}
        return found

    def _leader(self, segment: Segment, batch: int) -> None:
        epoch = int(segment.headers["leader_epoch"][batch])
        if epoch != self.leader_epoch and self.generation >= 0:
            self._add(Kind.coordinator_loaded, segment, batch, generation=self.generation)
        self.leader_epoch = epoch

    def _add(self, kind: Kind, segment: Segment, batch: int, tag: str = "", **columns: int) -> Row:
        row = {"kind": int(kind), "time_us": int(segment.headers["max_time"][batch]) * 1000, **columns}
        self.events.append(Logged(row, tag))
        return row

    def _records(self, segment: Segment, batch: int) -> None:
        records = records_of(segment, np.array([batch]))
        for row in range(len(records.batch)):
            key, value = records.key_of(row), records.value_of(row)
            try:
                self._record(segment, batch, key, value)
            except (ValueError, IndexError, struct.error) as error:
                offset = int(segment.headers["base_offset"][batch])
                what = f"the batch at offset {offset} is not the log of groups' offsets': {error}"
                todo = "the file is another topic's, or of a Kafka that is newer than 4.3"
                raise RecordingError(what, segment.file, todo, int(segment.positions[batch])) from None

    def _record(self, segment: Segment, batch: int, key: bytes, value: bytes | None) -> None:
        (kind,) = struct.unpack_from(">h", key)
        if kind in (CLASSIC_GROUP, CONSUMER_GROUP):
            if string(key, 2)[0] == self.group and value is not None:
                self._generation(segment, batch, kind, value)
            return
        offset = offset_key_of(key)
        if offset is None or offset.group != self.group or value is None:
            return
        number = self.places.get((offset.topic, offset.partition))  # type: ignore[call-overload]
        if number is None:
            return
        if not segment.headers["attributes"][batch] & TRANSACTIONAL:
            self.outside_transactions += 1
            return
        fields = committed_offset_of(value) - self.first[number]
        if fields <= 0:
            self.before += 1
            return
        producer_id, epoch = int(segment.headers["producer_id"][batch]), int(segment.headers["epoch"][batch])
        columns = {"partition": number, "offset": fields, "producer_id": producer_id, "epoch": epoch}
        tag = metadata_of(value)
        self.pending[producer_id][number] = self._add(Kind.offset_taken, segment, batch, tag, **columns)

    def _generation(self, segment: Segment, batch: int, kind: int, value: bytes) -> None:
        """Add an event if the generation is a new one; Kafka rewrites the record whenever anything about the group
        changes."""
        generation = generation_of(kind, value)
        if generation != self.generation:
            self.generation = generation
            self._add(Kind.generation_begun, segment, batch, generation=generation)

    def _settle(self, marker: Row) -> None:
        for number, taken in sorted(self.pending.pop(marker["producer_id"], {}).items()):
            row = {"kind": int(Kind.offset_settled), "time_us": marker["time_us"], "outcome": marker["outcome"]}
            same = ("offset", "producer_id", "epoch")
            self.events.append(Logged(row | {"partition": number} | {name: taken[name] for name in same}))


def generation_of(kind: int, value: bytes) -> int:
    """Return the generation of a classic group, or the epoch of a group of the new protocol."""
    (version,) = struct.unpack_from(">h", value)
    at = 2
    if kind == CLASSIC_GROUP:
        _, at = (string if version < FLEXIBLE["group"] else compact_string)(value, at)
    return int(struct.unpack_from(">i", value, at)[0])


def metadata_of(value: bytes) -> str:
    """Return the metadata that the sender chose for an offset, without the terminating zero that confluent-kafka sends
    along."""
    (version,) = struct.unpack_from(">h", value)
    at = 2 + 8 + (4 if version >= WITH_LEADER_EPOCH else 0)
    metadata, _ = (string if version < FLEXIBLE["offset"] else compact_string)(value, at)
    return (metadata or "").rstrip("\0")
