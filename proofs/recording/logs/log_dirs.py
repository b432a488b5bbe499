"""This module finds the partitions in a node's log directory, and reads all segments of one replica of a partition.

`read_log_dir(path)` returns a `LogDir` with its owner (meta.properties), its partitions, and the node's checkpoint
files. `read_replica` reads the segments. Directories that a broker has set aside (`…-delete`, `…-future`, `…-stray`)
belong to no partition.

Sources: Kafka's LogManager and UnifiedLog (names of files and folders), CheckpointFile, MetaProperties,
PartitionMetadataFile."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fencepost.proofs.recording.errors import RecordingError, require_no_pipe
from fencepost.proofs.recording.logs.segments import HEADER, METADATA_LOG, Segment, Tear, read_portions

PARTITION = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<number>\d+)")
SET_ASIDE = re.compile(r".+\.[0-9a-f]{32}-(delete|future|stray)")
SEGMENT = re.compile(r"(\d{20})\.log")
TOPIC_ID = re.compile(r"topic_id: *(\S+)")
INDEX = np.dtype([("offset", ">i4"), ("position", ">i4")])
COMPACTED = ("__transaction_state", "__consumer_offsets")  # the topics of the coordinators, everywhere
Progress = Callable[[Path, int], None]  # a segment was read, of so many bytes


class Place(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True)
class LogDir:
    """A `LogDir` is one log directory. `high_watermarks`, `starts` and `cleaned` are the directory's checkpoint files,
    by partition."""

    path: Path
    node: int
    cluster: str
    partitions: dict[Place, Path]
    high_watermarks: dict[Place, int]
    starts: dict[Place, int]
    cleaned: dict[Place, int]

    def topic_id(self, place: Place) -> str:
        """Return the topic id in the partition's folder, or an empty string if there is none."""
        file = self.partitions[place] / "partition.metadata"
        found = TOPIC_ID.search(text_of(file)) if file.exists() else None
        return found[1] if found else ""


class Gap(NamedTuple):
    """A `Gap` is a range of offsets, from `first` to `end` (exclusive), that a replica lacks although it holds older
    ones."""

    first: int
    end: int


@dataclass(frozen=True)
class Replica:
    """A `Replica` is one node's copy of a partition. `start` is the first offset of the replica, `high_watermark` the
    checkpointed one, or 0."""

    node: int
    place: Place
    folder: Path
    segments: tuple[Segment, ...]
    start: int
    high_watermark: int

    @cached_property
    def headers(self) -> np.ndarray:
        return np.concatenate([segment.headers for segment in self.segments])

    @cached_property
    def last_offsets(self) -> np.ndarray:
        return np.concatenate([segment.last_offsets for segment in self.segments])

    @property
    def end(self) -> int:
        """Return the offset after the last record."""
        return int(self.last_offsets[-1]) + 1 if len(self.last_offsets) else self.start

    @property
    def last(self) -> tuple[int, int]:
        """Return (leader epoch, end). If one of two copies continues the other, the longer copy has the greater
        value."""
        return (int(self.headers["leader_epoch"][-1]) if len(self.headers) else -1, self.end)

    @property
    def tear(self) -> Tear | None:
        return self.segments[-1].tear

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """Return the ranges of records that a cleaner removed, between batches and within them."""
        base = self.headers["base_offset"].astype(np.int64)
        due = np.append(self.start, self.last_offsets[:-1] + 1)[: len(base)]
        between = [Gap(int(due[row]), int(base[row])) for row in np.flatnonzero(base > due)]
        thin = np.flatnonzero(self.headers["count"] <= self.headers["last_delta"])
        return tuple(sorted(between + [Gap(int(base[row]), int(self.last_offsets[row]) + 1) for row in thin]))

    def check_gaps(self, cleaned: int = 0) -> None:
        """Raise RecordingError for gaps that the cleaner, which has worked below offset `cleaned`, does not explain."""
        for gap in self.gaps:
            if gap.end > max(cleaned, self.start):
                what = f"offsets {gap.first} to {gap.end - 1} are missing"
                todo = "a segment is missing or cut, or the node's cleaner-offset-checkpoint is: copy all again"
                raise RecordingError(what, self.folder, todo)


def read_log_dir(path: Path) -> LogDir:
    """Return a log directory's owner and content. Raise `RecordingError` for a folder that is no broker's log
    directory."""
    if not path.is_dir():
        raise RecordingError("no such directory", path, "name a broker's log directory (log.dirs)")
    file = path / "meta.properties"
    if not file.exists():
        if PARTITION.fullmatch(path.name) and (path.parent / "meta.properties").exists():
            raise RecordingError(
                "is one partition's folder", path, f"name the log directory that it is in, {path.parent}"
            )
        what = "holds no meta.properties, so it is not the log directory of a Kafka node"
        raise RecordingError(what, path, "name a broker's log directory (log.dirs), or copy it whole")
    node, cluster = node_of(path)
    partitions = {}
    for folder in sorted(path.iterdir()):
        match = PARTITION.fullmatch(folder.name)
        if match and folder.is_dir() and not SET_ASIDE.fullmatch(folder.name) and match["topic"] != METADATA_LOG:
            partitions[Place(match["topic"], int(match["number"]))] = folder
    names = ("replication-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint")
    checkpoints = [_checkpoint(path / name) for name in names]
    return LogDir(path, node, cluster, partitions, *checkpoints)


def node_of(path: Path) -> tuple[int, str]:
    """Return the ids of the node and of the cluster that own a log directory."""
    file = path / "meta.properties"
    properties = dict(line.split("=", 1) for line in text_of(file).splitlines() if "=" in line)
    node = properties.get("node.id", properties.get("broker.id", ""))
    if not node.isdigit() or not properties.get("cluster.id"):
        raise RecordingError("lacks node.id or cluster.id", file, "copy the whole log directory with it")
    return int(node), properties["cluster.id"]


def _checkpoint(file: Path) -> dict[Place, int]:
    if not file.exists():
        return {}
    lines = text_of(file).splitlines()
    try:
        entries = [line.split() for line in lines[2:]]
        found = {Place(topic, int(partition)): int(offset) for topic, partition, offset in entries}
        if lines and (int(lines[0]) != 0 or int(lines[1]) != len(found)):
            raise ValueError(f"{lines[1]} entries promised, {len(found)} there")
        return found
    except (ValueError, IndexError) as error:
        raise RecordingError(f"is not a checkpoint of offsets: {error}", file, "copy it again from the node") from None


def read_replica(log_dir: LogDir, place: Place, *, since: int = 0, progress: Progress | None = None) -> Replica:
    """Return one node's copy of a partition, from somewhere before offset `since` on. Raise `RecordingError` where
    the replica has no segments, or its segments are not one log."""
    segments = read_segments(log_dir.partitions[place], since=since, progress=progress)
    headers = segments[0].headers
    skipped = since and len(headers) and position_before(segments[0].file, since)
    first = int(headers["base_offset"][0]) if skipped else int(segments[0].file.stem)
    start = max(first, log_dir.starts.get(place, 0))
    high_watermark = log_dir.high_watermarks.get(place, 0)
    replica = Replica(log_dir.node, place, log_dir.partitions[place], segments, start, high_watermark)
    if place.topic not in COMPACTED:
        replica.check_gaps(log_dir.cleaned.get(place, 0))
    return replica


def segment_files(folder: Path, since: int = 0) -> list[Path]:
    """Return the segments in a partition's folder, in order, from the one on that has offset `since`."""
    files = sorted(file for file in folder.iterdir() if SEGMENT.fullmatch(file.name))
    if not files:
        raise RecordingError("holds no segment (*.log)", folder, "copy the whole directory from the node")
    return files[max(0, sum(int(file.stem) <= since for file in files) - 1) :]


def position_before(file: Path, offset: int) -> int:
    """Return where a batch of a segment begins, so that all with this offset or a greater one are from there on, by
    Kafka's index next to the segment (OffsetIndex: the last offset of a batch, from the segment's first one, and its
    place); 0 where there is no index, or none that fits. An index is read where it is looked at alone, as that of the
    last segment has 10 MB, of which all but the beginning are zeros."""
    index, first = file.with_suffix(".index"), int(file.stem)
    if offset <= first or not index.exists():
        return 0
    with file.open("rb") as opened, index.open("rb", buffering=0) as entries:

        def entry(number: int) -> Any:
            entries.seek(number * INDEX.itemsize)
            return np.frombuffer(entries.read(INDEX.itemsize).ljust(INDEX.itemsize, b"\0"), INDEX)[0]

        whole = index.stat().st_size // INDEX.itemsize
        after = bisect_left(range(whole), True, key=lambda number: not 0 < entry(number)["offset"] <= offset - first)
        begin = int(entry(after - 1)["position"]) if after else 0
        opened.seek(begin)
        found = np.frombuffer(opened.read(HEADER.itemsize).ljust(HEADER.itemsize, b"\0"), HEADER)[0]
    return begin if found["magic"] == 2 and first <= found["base_offset"] <= offset else 0


def read_segments(
    folder: Path, *, since: int = 0, mapped: bool = True, progress: Progress | None = None
) -> tuple[Segment, ...]:
    """Return the segments in a partition's folder, from somewhere before offset `since` on; `mapped` is as in
    `read_segment`."""
    return tuple(each_segment(folder, since=since, mapped=mapped, progress=progress))


def each_segment(
    folder: Path, *, since: int = 0, mapped: bool = True, progress: Progress | None = None, size: int | None = None,
    after: int = 0,
) -> Iterator[Segment]:  # fmt: skip
    """Yield what `read_segments` returns, one by one, in portions of some `size` bytes if that is given. The segment
    before these ended before offset `after`."""
    files = segment_files(folder, since)
    expected, begin = after, position_before(files[0], since)
    for file in files:
        if int(file.stem) < expected:
            what = f"is named after offset {int(file.stem)}, but the segment before it goes on to offset {expected - 1}"
            raise RecordingError(what, file, "two copies are mixed: copy the whole directory again")
        for segment in read_portions(file, int(file.stem), size, begin, mapped=mapped):
            if segment.tear and file != files[-1]:
                left = segment.tear.bytes_left
                what = f"a record batch is cut in half ({left} bytes left) although a later segment follows"
                todo = "a crash cuts only the last segment: copy this one again"
                raise RecordingError(what, file, todo, segment.tear.position)
            yield segment
            if len(segment.headers):
                expected = int(segment.last_offsets[-1]) + 1
        if progress is not None:
            progress(file, len(segment.content) - begin)
        begin = 0


def text_of(file: Path) -> str:
    require_no_pipe(file)
    try:
        return file.read_bytes().decode(errors="replace")
    except OSError as error:
        raise RecordingError(f"cannot be read: {error.strerror}", file, "copy the whole log directory") from None
