"""This module reads the records of Kafka's metadata log that are about producer id blocks.

`read_facts` yields the facts of batches, in order: a `Block` (ProducerIdsRecord), a `Registration`
(RegisterBrokerRecord), an `Election` (LeaderChangeMessage), a `MetadataVersion` (FeatureLevelRecord). All other records
are recognised by their frame and left out. Records of a metadata transaction (KIP-868) count once it ends, if it does.

Sources: metadata/src/main/resources/common/metadata/*.json and clients/.../LeaderChangeMessage.json of Kafka 4.3."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log import FRAME_VERSION, Batch
from fencepost.proofs.recording.logs.wire_types import unsigned
from kio.schema.leader_change_message.v0.data import LeaderChangeMessage as LeaderChangeV0
from kio.schema.leader_change_message.v1.data import LeaderChangeMessage as LeaderChangeV1
from kio.serial import entity_reader
from kio.serial.errors import SerialError

LEADER_CHANGE = 2  # ControlRecordType
REGISTER_BROKER, FEATURE_LEVEL, PRODUCER_IDS = 0, 12, 15
BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION = 23, 24, 25
NEWEST = {REGISTER_BROKER: 4, FEATURE_LEVEL: 0, PRODUCER_IDS: 0}  # later versions may have other fields


class Block(NamedTuple):
    """A `Block` was granted to a broker and ends before `next_id`. Both fields of the owner are -1 in a snapshot."""

    broker: int
    broker_epoch: int
    next_id: int


class Registration(NamedTuple):
    """A `Registration` is of one broker process: each start has an incarnation of its own."""

    broker: int
    broker_epoch: int
    incarnation: bytes


class Election(NamedTuple):
    leader: int
    epoch: int
    voters: frozenset[int]


class MetadataVersion(NamedTuple):
    """A `MetadataVersion` is the cluster's metadata.version, as its feature level."""

    level: int


class _Transaction(NamedTuple):
    marker: int


Fact = Block | Registration | Election | MetadataVersion


class Dated(NamedTuple):
    """A `Dated` is a fact, the offset of its record, and when its leader appended it (ms since 1970, that node's
    clock)."""

    offset: int
    time_ms: int
    fact: Fact


def read_facts(batches: Iterable[Batch]) -> Iterator[Dated]:
    """Yield the facts of consecutive batches, in log order. Raise `RecordingError` for records foreign to the metadata
    log."""
    waiting: list[Dated] | None = None  # since the begin of a metadata transaction
    for batch in batches:
        for offset, time_ms, found in _read(batch):
            if not isinstance(found, _Transaction):
                dated = Dated(offset, time_ms, found)
                if waiting is None or isinstance(found, Election):
                    yield dated
                else:
                    waiting.append(dated)
            elif found.marker == BEGIN_TRANSACTION:
                waiting = []
            else:
                yield from (waiting or ()) if found.marker == END_TRANSACTION else ()
                waiting = None


def _read(batch: Batch) -> Iterator[tuple[int, int, Fact | _Transaction]]:
    try:
        for offset, key, value in batch.records():
            found = _control(key, value, batch.epoch) if batch.control else _metadata(value)
            if found is not None:
                yield offset, batch.time_ms, found
    except (ValueError, LookupError, TypeError, struct.error, SerialError) as error:
        what = f"the batch at offset {batch.base_offset} is not the metadata log's: {error}"
        raise RecordingError(what, batch.file, "name the directory of __cluster_metadata-0", batch.position) from None


def _control(key: bytes, value: bytes, epoch: int) -> Election | None:
    _, kind = struct.unpack(">hh", key)
    if kind != LEADER_CHANGE:
        return None
    (version,) = struct.unpack_from(">h", value)
    # The message repeats its version as its first field, so that a reader can choose the schema by it.
    if version == 0:
        old, _ = entity_reader(LeaderChangeV0)(value, 0)
        return Election(int(old.leader_id), epoch, frozenset(int(voter.voter_id) for voter in old.voters))
    new, _ = entity_reader(LeaderChangeV1)(value, 0)
    return Election(int(new.leader_id), epoch, frozenset(int(voter.voter_id) for voter in new.voters))


def _metadata(value: bytes) -> Fact | _Transaction | None:
    frame, at = unsigned(value, 0)
    if frame != FRAME_VERSION:
        raise ValueError(f"record frame version {frame}, not {FRAME_VERSION}")
    kind, at = unsigned(value, at)
    version, at = unsigned(value, at)
    if version > NEWEST.get(kind, version):
        raise ValueError(f"record type {kind} has version {version}, newer than the last one known, {NEWEST[kind]}")
    if kind == PRODUCER_IDS:
        return Block(*struct.unpack_from(">iqq", value, at))
    if kind == REGISTER_BROKER:
        migrating = "?" if version >= 2 else ""  # IsMigratingZkBroker
        broker, *_, incarnation, epoch = struct.unpack_from(f">i{migrating}16sq", value, at)
        return Registration(broker, epoch, incarnation)
    if kind == FEATURE_LEVEL:
        size, at = unsigned(value, at)  # a compact string: its length plus one
        if value[at : at + size - 1] == b"metadata.version":
            return MetadataVersion(*struct.unpack_from(">h", value, at + size - 1))
    if kind in (BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION):
        return _Transaction(kind)
    return None
