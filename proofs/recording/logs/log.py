"""Reads one controller's copy of the metadata log from disk: which batches it holds, and which snapshots.

`read_node(directory)` returns a `NodeLog`. Every batch is framed and its CRC-32C checked here; what its records say is
`id_blocks/records.py`. A file that ends inside a batch is what a crash leaves behind: it is reported as a `Tear`, and
`id_blocks/quorum.py` decides whether it matters. Anything else that is wrong is refused with a `RecordingError`.

Sources: Kafka's record batch format v2, raft's SnapshotPath (`<end offset>-<epoch>.checkpoint`), `quorum-state`.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from crc32c import crc32c
from fencepost.proofs.recording.errors import RecordingError

TOPIC = "__cluster_metadata-0"
FRAME_VERSION = 1  # of its records: AbstractApiMessageSerde
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"  # Uuid.METADATA_TOPIC_ID, the same in every cluster
HEADER = struct.Struct(">qiibIhi")  # base offset, length, epoch, magic, CRC, attributes, last offset delta
BEFORE_LENGTH_COUNTS = 12  # base offset and length themselves
CRC_FROM = 21  # the CRC covers attributes and all that follows
SHORTEST = 49  # the least that `length` can be: the rest of the header and no record
SEGMENT = re.compile(r"(\d{20})\.log")
SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class Identity(NamedTuple):
    """What two copies of one batch have in common, and no two different batches do."""

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

    @property
    def control(self) -> bool:
        """Whether it is raft's own (attribute bit 5) rather than the controller's."""
        return bool(self.content[CRC_FROM + 1] & 0x20)


@dataclass(frozen=True, slots=True)
class Tear:
    """The last segment ends inside a batch, which would have begun at log offset `offset`."""

    file: Path
    position: int
    offset: int
    bytes_left: int


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
    identity = _read_identity(directory)
    epoch, voters = _read_quorum_state(directory / "quorum-state")
    batches, tear, start = _read_segments(directory)
    if batches and batches[-1].identity.epoch > epoch:
        what = f"says leader epoch {epoch}, but the log beside it has records of epoch {batches[-1].identity.epoch}"
        raise RecordingError(what, directory / "quorum-state", "copy both at one time, with the node stopped")
    snapshots = _read_snapshots(directory)
    return NodeLog(int(identity["node.id"]), identity["cluster.id"], directory, batches, snapshots, voters, start, tear)


def _read_identity(directory: Path) -> dict[str, str]:
    partition = directory / "partition.metadata"
    if partition.exists() and f"topic_id: {TOPIC_ID}" not in _text(partition):
        raise RecordingError(f"is another topic's, not {TOPIC}'s", partition, "name the metadata log's directory")
    file = directory.parent / "meta.properties"
    properties = dict(line.split("=", 1) for line in _text(file).splitlines() if "=" in line)
    if not properties.get("node.id", "").isdigit() or not properties.get("cluster.id"):
        raise RecordingError("lacks node.id or cluster.id", file, "copy the whole log directory with it")
    return properties


def _read_quorum_state(file: Path) -> tuple[int, frozenset[int]]:
    try:
        state: dict[str, Any] = json.loads(_text(file))
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
    """The batches of a segment or snapshot that begins at offset `expected`, and the tear at its end, if any."""
    content = memoryview(_bytes(file))
    batches: list[Batch] = []
    position, epoch = 0, -1
    while position < len(content):
        rest = content[position:]
        if _is_torn(rest, expected, file, position):
            return tuple(batches), Tear(file, position, expected, len(rest))
        base, length, batch_epoch, _, crc, attributes, delta = HEADER.unpack_from(rest)
        body = rest[: BEFORE_LENGTH_COUNTS + length]
        if crc32c(body[CRC_FROM:]) != crc:
            what = f"the batch at offset {base} fails its checksum (CRC-32C {crc:#010x})"
            raise RecordingError(what, file, "the file is damaged: copy it again from the node", position)
        if attributes & 0x07:
            what = f"the batch at offset {base} is compressed, which the metadata log never is"
            raise RecordingError(what, file, "name the metadata log's directory", position)
        if batch_epoch < epoch or delta < 0:
            what = f"the batch at offset {base} has epoch {batch_epoch} after epoch {epoch}"
            raise RecordingError(what, file, "epochs never go back: copy the file again from the node", position)
        batches.append(Batch(Identity(base, base + delta, batch_epoch, crc), file, position, body))
        position, expected, epoch = position + len(body), base + delta + 1, batch_epoch
    return tuple(batches), None


def _is_torn(rest: memoryview, expected: int, file: Path, position: int) -> bool:
    """Whether the file ends inside the batch that `rest` begins with; raises if that is no batch at all."""
    if len(rest) < HEADER.size:
        whole = struct.pack(">q", expected)
        if bytes(rest[:8]) == whole[: len(rest)]:
            return True
    else:
        base, length, _, magic, *_ = HEADER.unpack_from(rest)
        if magic == 2 and length >= SHORTEST and base == expected:
            return len(rest) < BEFORE_LENGTH_COUNTS + int(length)
        if magic == 2 and length >= SHORTEST:
            what = f"a batch with offset {base} stands where offset {expected} must follow"
            raise RecordingError(what, file, "records are missing or doubled: copy the file again", position)
    if not any(rest):
        return True  # a power failure can leave a tail that was allocated and never written
    what = "no Kafka record batch (format version 2) begins here"
    raise RecordingError(what, file, "this is not a Kafka log, or it is damaged: copy it again from the node", position)


def _text(file: Path) -> str:
    return _bytes(file).decode(errors="replace")


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise RecordingError(f"cannot be read: {error.strerror}", file, "copy the whole log directory") from None
