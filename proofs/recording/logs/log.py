"""This module reads one controller's copy of the metadata log from disk: its batches and its snapshots.

`read_node(directory)` returns a `NodeLog`. The segments of the metadata log are read like those of any partition
(`log_dirs.read_segments`), but none of its records is ever missing or compressed. `id_blocks/records.py` decodes the
records of the metadata log. A crash may leave a file that ends inside a batch: it is reported as a `Tear`, and
`id_blocks/quorum.py` decides whether it matters. Any other damage is refused with a `RecordingError`.

Sources: Kafka's record batch format v2, raft's SnapshotPath (`<end offset>-<epoch>.checkpoint`), `quorum-state`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place, Replica, node_of, read_segments, text_of
from fencepost.proofs.recording.logs.record_columns import records_one_by_one, varint
from fencepost.proofs.recording.logs.segments import (
    BEFORE_LENGTH_COUNTS,
    CODEC,
    CONTROL,
    HEADER,
    METADATA_LOG,
    Segment,
    Tear,
    read_segment,
)

TOPIC = f"{METADATA_LOG}-0"
FRAME_VERSION = 1  # of its records: AbstractApiMessageSerde
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"  # Uuid.METADATA_TOPIC_ID, the same in every cluster
SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


@dataclass(frozen=True, slots=True)
class Batch:
    """A `Batch` is one record batch: its offsets, its leader's epoch, and the place of its bytes."""

    base_offset: int
    last_offset: int
    epoch: int
    file: Path
    position: int  # byte in the file
    content: memoryview
    control: bool  # raft's own rather than the controller's
    time_ms: int  # when its leader appended it: all its records at once
    count: int

    def records(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield offset, key and value of each record, empty bytes for null. Raise ValueError if the batch is
        malformed."""
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
            yield self.base_offset + delta, key_bytes, bytes(self.content[value:after])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A `Snapshot` is a file that stands for every record below `end_offset`, the last of which has `epoch`."""

    file: Path
    end_offset: int
    epoch: int
    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class NodeLog:
    """A `NodeLog` is one controller's copy of the metadata log. `start` is the first offset of the copy, `end` the one
    after its last."""

    node: int
    cluster: str
    replica: Replica = field(compare=False)
    batches: tuple[Batch, ...]
    snapshots: tuple[Snapshot, ...]
    voters: frozenset[int]  # as its quorum-state says; empty where that format does not

    @property
    def directory(self) -> Path:
        return self.replica.folder

    @property
    def start(self) -> int:
        return self.replica.start

    @property
    def end(self) -> int:
        return self.replica.end

    @property
    def tear(self) -> Tear | None:
        return self.replica.tear

    @property
    def last(self) -> tuple[int, int]:
        """Return (epoch, end). Of two logs, the one with the greater value is more up to date and wins the election."""
        return self.replica.last


def read_node(given: Path) -> NodeLog:
    """Read a node's log directory (which holds `__cluster_metadata-0`), or that partition's directory itself. Files are
    read into memory, since a running controller may still truncate them."""
    directory = given if given.name == TOPIC else given / TOPIC
    if not given.is_dir():
        raise RecordingError("no such directory", given, "name a controller's metadata.log.dir (or log.dirs)")
    if not directory.is_dir():
        what = f"holds no {TOPIC}, so it is not the log directory of a KRaft node"
        raise RecordingError(what, given, "name a controller's metadata.log.dir (or log.dirs), not a topic's folder")
    _check_topic(directory / "partition.metadata")
    node, cluster = node_of(directory.parent)
    epoch, voters = _read_quorum_state(directory / "quorum-state")
    segments = read_segments(directory, mapped=False)
    replica = Replica(node, Place(METADATA_LOG, 0), directory, segments, int(segments[0].file.stem), 0)
    replica.check_gaps()
    if replica.last[0] > epoch:
        what = f"says leader epoch {epoch}, but the log beside it has records of epoch {replica.last[0]}"
        raise RecordingError(what, directory / "quorum-state", "copy both at one time, with the node stopped")
    batches = tuple(batch for segment in segments for batch in _batches(segment))
    return NodeLog(node, cluster, replica, batches, _read_snapshots(node, directory), voters)


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


def _read_snapshots(node: int, directory: Path) -> tuple[Snapshot, ...]:
    snapshots = []
    for file in sorted(directory.iterdir()):
        match = SNAPSHOT.fullmatch(file.name)
        if not match or not int(match[1]):  # the one at offset 0 is the storage tool's, which no controller took
            continue
        segment = read_segment(file, 0, mapped=False)
        if (tear := segment.tear) or not len(segment.headers):
            what = f"the snapshot is cut in half ({tear.bytes_left if tear else 0} bytes left)"
            todo = "Kafka renames a snapshot only when it is whole: copy it again, or leave it out"
            raise RecordingError(what, file, todo, tear.position if tear else 0)
        Replica(node, Place(METADATA_LOG, 0), directory, (segment,), 0, 0).check_gaps()
        snapshots.append(Snapshot(file, int(match[1]), int(match[2]), tuple(_batches(segment))))
    return tuple(snapshots)


def _batches(segment: Segment) -> Iterator[Batch]:
    view = segment.content.data.toreadonly()
    for position, header in zip(segment.positions.tolist(), segment.headers, strict=True):
        base, control = int(header["base_offset"]), bool(header["attributes"] & CONTROL)
        if header["attributes"] & CODEC:
            what = f"the batch at offset {base} is compressed, which the metadata log never is"
            raise RecordingError(what, segment.file, "name the metadata log's directory", position)
        content = view[position : position + BEFORE_LENGTH_COUNTS + int(header["length"])]
        last, epoch = base + int(header["last_delta"]), int(header["leader_epoch"])
        time_ms, count = int(header["base_time"]), int(header["count"])
        yield Batch(base, last, epoch, segment.file, position, content, control, time_ms, count)
