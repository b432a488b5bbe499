"""Reads one controller's copy of the metadata log from disk: which batches it holds, and which snapshots.

`read_node(directory)` returns a `NodeLog`. Its segments and records are read as any partition's are; but no
record of it is ever missing or compressed. What its records say is `id_blocks/records.py`. A file that ends inside
a batch is what a crash leaves behind: it is reported as a `Tear`, and `id_blocks/quorum.py` decides whether it matters.
Anything else that is wrong is refused with a `RecordingError`.

Sources: Kafka's record batch format v2, raft's SnapshotPath (`<end offset>-<epoch>.checkpoint`), `quorum-state`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fencepost.proofs.recording.errors import RecordingError, require_no_pipe
from fencepost.proofs.recording.logs.log_dirs import SEGMENT, node_of, text_of
from fencepost.proofs.recording.logs.record_columns import records_one_by_one, varint
from fencepost.proofs.recording.logs.segments import BEFORE_LENGTH_COUNTS, CODEC, CONTROL, HEADER, Tear, segment_of

TOPIC = "__cluster_metadata-0"
FRAME_VERSION = 1  # of its records: AbstractApiMessageSerde
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"  # Uuid.METADATA_TOPIC_ID, the same in every cluster
SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class Identity(NamedTuple):
    """The fields that are equal in two copies of one batch, and differ in different batches."""

    base_offset: int
    last_offset: int
    epoch: int
    crc: int


@dataclass(frozen=True, slots=True)
class Batch:
    """One record batch: its identity and where its bytes lie."""

    identity: Identity
    file: Path
    position: int  # byte in the file
    content: memoryview
    control: bool  # raft's own rather than the controller's
    time_ms: int  # when its leader appended it: all its records at once
    count: int

    def records(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Offset, key and value of each record, empty bytes for null. ValueError if the batch is malformed."""
        content, place = np.frombuffer(self.content, np.uint8), HEADER.itemsize
        begin, end, count, row = np.array([[place], [len(content)], [self.count], [0]])
        found, wrong = records_one_by_one(content, begin, end, count, row)
        if wrong is not None:
            raise ValueError("its records do not end where it does")
        for _, delta, key, key_length, value, value_length in zip(*(column.tolist() for column in found), strict=True):
            length, body = varint(self.content, place)
            place, after = body + length, value + max(value_length, 0)
            if after + 1 != place or self.content[after]:  # what follows the value is the number of headers
                raise ValueError(
                    "a record has headers, which the metadata log's never have, or does not end where it says"
                )
            key_bytes = bytes(self.content[key : key + max(key_length, 0)])
            yield self.identity.base_offset + delta, key_bytes, bytes(self.content[value:after])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot file: it stands for every record below `end_offset`, the last of which has `epoch`."""

    file: Path
    end_offset: int
    epoch: int
    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class NodeLog:
    """One controller's copy of the metadata log. `start` is its first offset, `end` the one after its last."""

    node: int
    cluster: str
    directory: Path
    batches: tuple[Batch, ...]
    snapshots: tuple[Snapshot, ...]
    voters: frozenset[int]  # as its quorum-state says; empty where that format does not
    start: int
    tear: Tear | None

    @property
    def end(self) -> int:
        return self.batches[-1].identity.last_offset + 1 if self.batches else self.start

    @property
    def last(self) -> tuple[int, int]:
        """(epoch, end): of two logs, the greater one is the more up to date and wins the election."""
        return (self.batches[-1].identity.epoch if self.batches else -1, self.end)


def read_node(given: Path) -> NodeLog:
    """Read a node's log directory (which holds `__cluster_metadata-0`), or that partition's directory itself."""
    directory = given if given.name == TOPIC else given / TOPIC
    if not given.is_dir():
        raise RecordingError("no such directory", given, "name a controller's metadata.log.dir (or log.dirs)")
    if not directory.is_dir():
        what = f"holds no {TOPIC}, so it is not the log directory of a KRaft node"
        raise RecordingError(what, given, "name a controller's metadata.log.dir (or log.dirs), not a topic's folder")
    _check_topic(directory / "partition.metadata")
    node, cluster = node_of(directory.parent)
    epoch, voters = _read_quorum_state(directory / "quorum-state")
    batches, tear, start = _read_segments(directory)
    if batches and batches[-1].identity.epoch > epoch:
        what = f"says leader epoch {epoch}, but the log beside it has records of epoch {batches[-1].identity.epoch}"
        raise RecordingError(what, directory / "quorum-state", "copy both at one time, with the node stopped")
    snapshots = _read_snapshots(directory)
    return NodeLog(node, cluster, directory, batches, snapshots, voters, start, tear)


def _check_topic(partition: Path) -> None:
    if partition.exists() and f"topic_id: {TOPIC_ID}" not in text_of(partition):
        raise RecordingError(f"is another topic's, not {TOPIC}'s", partition, "name the metadata log's directory")


def _read_quorum_state(file: Path) -> tuple[int, frozenset[int]]:
    try:
        state: dict[str, Any] = json.loads(text_of(file))
        voters = frozenset(int(voter["voterId"]) for voter in state.get("currentVoters") or ())
        return int(state["leaderEpoch"]), voters
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, RecordingError):
            raise
        raise RecordingError(f"is not Kafka's quorum state: {error!r}", file, "copy it again from the node") from None


def _read_segments(directory: Path) -> tuple[tuple[Batch, ...], Tear | None, int]:
    files = sorted(file for file in directory.iterdir() if SEGMENT.fullmatch(file.name))
    if not files:
        raise RecordingError("holds no segment (*.log)", directory, "copy the whole directory from the node")
    start = expected = int(files[0].stem)
    batches: list[Batch] = []
    for file in files:
        if int(file.stem) != expected:
            what = f"begins at offset {int(file.stem)}, but the segment before it ends before offset {expected}"
            raise RecordingError(what, file, "a segment is missing or cut: copy the whole directory again")
        found, tear = read_batches(file, expected)
        batches += found
        if tear and file != files[-1]:
            what = f"a record batch is cut in half ({tear.bytes_left} bytes left) although a later segment follows"
            raise RecordingError(what, file, "a crash cuts only the last segment: copy this one again", tear.position)
        expected = batches[-1].identity.last_offset + 1 if batches else expected
    return tuple(batches), tear, start


def _read_snapshots(directory: Path) -> tuple[Snapshot, ...]:
    snapshots = []
    for file in sorted(directory.iterdir()):
        match = SNAPSHOT.fullmatch(file.name)
        if not match or not int(match[1]):  # the one at offset 0 is the storage tool's, which no controller took
            continue
        batches, tear = read_batches(file, 0)
        if tear or not batches:
            what = f"the snapshot is cut in half ({tear.bytes_left if tear else 0} bytes left)"
            todo = "Kafka renames a snapshot only when it is whole: copy it again, or leave it out"
            raise RecordingError(what, file, todo, tear.position if tear else 0)
        snapshots.append(Snapshot(file, int(match[1]), int(match[2]), batches))
    return tuple(snapshots)


def read_batches(file: Path, expected: int) -> tuple[tuple[Batch, ...], Tear | None]:
    """The batches of a segment or snapshot that begins at offset `expected`, and the tear at its end, if any.

    The file is read into memory, since a controller at work may still cut it short.
    """
    segment = segment_of(file, np.frombuffer(_bytes(file), np.uint8), expected)
    view, headers = segment.content.data.toreadonly(), segment.headers
    batches: list[Batch] = []
    for position, header in zip(segment.positions.tolist(), headers, strict=True):
        base, epoch = int(header["base_offset"]), int(header["leader_epoch"])
        if base != expected:
            what = f"a batch with offset {base} stands where offset {expected} must follow"
            raise RecordingError(what, file, "records are missing or doubled: copy the file again", position)
        if header["attributes"] & CODEC:
            what = f"the batch at offset {base} is compressed, which the metadata log never is"
            raise RecordingError(what, file, "name the metadata log's directory", position)
        last = base + int(header["last_delta"])
        content = view[position : position + BEFORE_LENGTH_COUNTS + int(header["length"])]
        identity, control = Identity(base, last, epoch, int(header["crc"])), bool(header["attributes"] & CONTROL)
        time_ms, count = int(header["base_time"]), int(header["count"])
        batches.append(Batch(identity, file, position, content, control, time_ms, count))
        expected = last + 1
    return tuple(batches), segment.tear


def _bytes(file: Path) -> bytes:
    require_no_pipe(file)
    try:
        return file.read_bytes()
    except OSError as error:
        raise RecordingError(f"cannot be read: {error.strerror}", file, "copy the whole log directory") from None
