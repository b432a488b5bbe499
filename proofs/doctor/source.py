"""This module defines what `fencepost doctor` reads of a cluster: its partitions' batches, open transactions, and ids.

`DiskSource` reads brokers' log directories, of brokers that run or do not; `network.NetworkSource` a running cluster.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import (
    LogDir,
    Place,
    Progress,
    each_segment,
    read_log_dir,
    read_replica,
    segment_files,
)
from fencepost.proofs.recording.logs.placement import Placement
from fencepost.proofs.recording.logs.record_columns import records_of
from fencepost.proofs.recording.logs.replicas import Committed, committed_part
from fencepost.proofs.recording.logs.segments import CONTROL, TRANSACTIONAL, Segment
from fencepost.proofs.recording.transactions.cluster_logs import check_one_cluster, in_sync_there, latest_placement
from fencepost.proofs.recording.transactions.partition_events import marker_events
from fencepost.proofs.recording.transactions.transaction_log import (
    FIXED,
    ID,
    STATE,
    TransactionState,
    transaction_state_of,
    transactional_id_of,
)
from fencepost.proofs.recording.transactions.transaction_log import TOPIC as TRANSACTION_LOG
from fencepost.properties.transactions.events.kinds import State

PIECE = 16 << 20
"""A piece of a log has at most about this many bytes."""
NEVER_MS = 2**31 - 1
"""By this time-out a coordinator knows a transaction of two-phase commit (939.1), and it ends none that has it
(TransactionMetadata.isDistributedTwoPhaseCommitTxn)."""
INTERNAL = "__"
OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
"""In these states a transactional id has a transaction that is not over."""
WRITTEN_S = 6.0
"""A node writes down every five seconds what is committed. Unless all replicas in sync are known to be among the
directories, no more is known."""
CHECKPOINT = "replication-offset-checkpoint"
RELEASES = {
    12: "3.6", 15: "3.7", 20: "3.8", 21: "3.9", 22: "4.0", 26: "4.1", 28: "4.2", 30: "4.3", 31: "4.4", 34: "trunk",
}  # fmt: skip
"""These are the first metadata.version of each release (MetadataVersion.java)."""


class Listed(NamedTuple):
    """A `Listed` is a transactional id at its coordinator: of ListTransactions and DescribeTransactions, or the newest
    record of the transaction log. `state` is Kafka's name, `start_ms` of the open transaction or -1, and `places` those
    that the coordinator has added. `coordinator` is a node, or -1 if it is unknown."""

    transactional_id: str
    state: str
    producer_id: int
    epoch: int
    timeout_ms: int
    start_ms: int
    places: tuple[Place, ...]
    coordinator: int


class Active(NamedTuple):
    """An `Active` is a producer in a partition: of DescribeProducers, or read from the log. `first_offset` is where its
    open transaction begins, or -1."""

    place: Place
    producer_id: int
    epoch: int
    last_sequence: int
    last_ms: int
    coordinator_epoch: int
    first_offset: int


class Source(Protocol):
    """A `Source` is a cluster that is read. Nothing is ever written to it. `gaps` has a line for each thing that could
    not be read so far."""

    name: str
    gaps: list[str]

    @property
    def away(self) -> Mapping[Place, str]:
        """Return the partitions that the latest `poll` could not read, with the reason."""
        ...

    @property
    def high(self) -> Mapping[Place, int]:
        """Return the high watermarks that the answers to the latest `poll` had."""
        ...

    @property
    def lag_s(self) -> float:
        """Return by how many seconds one partition may be known to be committed later than another."""
        ...

    def releases(self) -> Mapping[str, str]:
        """Return by broker (``node 1``) the release as far as it is known, else an empty string; and by the names of
        finalized features their levels (``transaction.version``: ``2``)."""
        ...

    def now_ms(self) -> int:
        """Return the time, in ms since 1970, of which the other answers are true."""
        ...

    def places(self, topics: Collection[str]) -> Sequence[Place]:
        """Return the partitions of these topics, or of all topics of users."""
        ...

    def segments(self, place: Place, since_ms: int = -1, start: int = -1) -> Iterator[Segment]:
        """Yield what is committed, in order of offset, in pieces of some 16 MB at most. `start` is the first offset
        that is wanted, and of batches older than `since_ms` only some at the beginning are yielded, if any."""
        ...

    def poll(self, starts: Mapping[Place, int], wait_ms: int) -> Iterator[tuple[Place, Segment]]:
        """Yield what there is of many partitions, each from its offset on, and wait for news for at most `wait_ms`."""
        ...

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        """Return the ids of these topics, as far as they are known; a topic that is made anew has another one."""
        ...

    def ends(self, place: Place) -> tuple[int, int, int]:
        """Return the first offset, the last stable offset, and the high watermark."""
        ...

    def listed(self, transactional_ids: Collection[str]) -> Sequence[Listed]:
        """Return these transactional ids, or all."""
        ...

    def active(self, place: Place) -> Sequence[Active]: ...

    def close(self) -> None: ...


def release_of(metadata_version: int) -> str:
    """Return the release that a level of metadata.version belongs to, which is the broker's where the level is the
    highest that it supports."""
    return RELEASES.get(max((first for first in RELEASES if first <= metadata_version), default=0), "")


class DiskSource:
    """A `DiskSource` reads nodes' log directories. What is committed is what every replica in sync has; where not all
    of these are among the directories, it is what a node wrote down as committed (its high watermark)."""

    def __init__(self, paths: Sequence[Path], progress: Progress | None = None) -> None:
        self.name = ", ".join(map(str, paths))
        self.gaps: list[str] = []
        self._paths, self._progress = tuple(map(Path, paths)), progress
        self._placement: Placement | None = None
        self._dirs: list[LogDir] = []
        self._open()
        self._parts: dict[Place, tuple[object, Committed]] = {}
        self.producers: dict[Place, Producers] = {}
        self.away: dict[Place, str] = {}
        self.high: dict[Place, int] = {}
        self._behind: set[Place] = set()

    def _open(self) -> None:
        self._dirs = [read_log_dir(path) for path in self._paths]
        check_one_cluster(self._dirs)
        try:
            self._placement = latest_placement(self._paths)
        except RecordingError:
            if self._placement is None:  # else it is from before an election that is under way
                raise
        self._stamp = self.now_ms()

    def releases(self) -> Mapping[str, str]:
        features = {} if self._placement is None else self._placement.features
        release = release_of(features.get("metadata.version", 0))
        return {f"node {each.node}": release for each in self._dirs} | {n: str(level) for n, level in features.items()}

    def now_ms(self) -> int:
        """Return when a node last wrote down its high watermarks, which a running one does every five seconds."""
        files = [path / CHECKPOINT for path in self._paths]
        return int(max((file.stat().st_mtime for file in files if file.exists()), default=0) * 1000)

    def places(self, topics: Collection[str]) -> Sequence[Place]:
        every = sorted({place for each in self._dirs for place in each.partitions})
        found = [
            place for place in every if (place.topic in topics if topics else not place.topic.startswith(INTERNAL))
        ]
        for topic in topics:
            if topic not in {place.topic for place in found}:
                there = ", ".join(sorted({p.topic for p in every if not p.topic.startswith(INTERNAL)})) or "none"
                raise InputError(f"{self.name}: no topic {topic!r} here; there are {there}")
        return found

    def segments(self, place: Place, since_ms: int = -1, start: int = -1) -> Iterator[Segment]:
        stored = self.stored(place)
        yield from stored.segments(max(start, first_since(stored, since_ms)), self._progress)

    @property
    def lag_s(self) -> float:
        return WRITTEN_S if self._behind else 0.0

    def poll(self, starts: Mapping[Place, int], wait_ms: int) -> Iterator[tuple[Place, Segment]]:
        self.away, self.high = {}, {}
        end, news = time.monotonic() + wait_ms / 1000, False
        for place, start in starts.items():
            try:
                stored = self.stored(place)
                self.high[place] = stored.end
                for piece in stored.segments(max(start, stored.first), self._progress):
                    news = True
                    yield place, piece
            except (RecordingError, InputError, OSError) as error:
                if any(place in each.partitions and each.partitions[place].is_dir() for each in self._dirs):
                    raise
                self.away[place] = str(error)  # its topic was deleted
        if not news:
            time.sleep(max(0.0, end - time.monotonic()))

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        """The id is in each partition's folder, of which the newest is asked while a deleted one is still there."""
        return {
            place.topic: each.topic_id(place)
            for each in self._dirs for place in each.partitions
            if place.topic in topics and each.partitions[place].is_dir() and each.topic_id(place)
        }  # fmt: skip

    def stored(self, place: Place) -> Stored:
        part = self._part(place)
        return Stored(part.replica.folder, max(part.replica.start, 0), part.end)

    def ends(self, place: Place) -> tuple[int, int, int]:
        part = self._part(place)
        opened = [each.first_offset for each in self.active(place) if each.first_offset >= 0]
        return part.replica.start, min(opened, default=part.end), part.end

    def listed(self, transactional_ids: Collection[str]) -> Sequence[Listed]:
        newest: dict[str, Listed] = {}
        for place in sorted({p for each in self._dirs for p in each.partitions if p.topic == TRANSACTION_LOG}):
            for segment in self.segments(place):
                for _, _, name, state in logged(segment, newest=True):
                    if state is None:
                        newest.pop(name, None)
                        continue
                    kafka = State(state.state).name
                    newest[name] = Listed(
                        name, kafka, state.producer_id, state.epoch, state.timeout_ms,
                        state.started_ms if kafka in OPEN else -1, places_of(state), -1,
                    )  # fmt: skip
        return [listed for name, listed in newest.items() if not transactional_ids or name in transactional_ids]

    def active(self, place: Place) -> Sequence[Active]:
        known = self.producers.setdefault(place, Producers(place))
        for piece in self.segments(place, start=known.next_offset):
            known.add(piece)
        return list(known.found.values())

    def close(self) -> None:
        self._parts.clear()
        self.producers.clear()

    def _part(self, place: Place) -> Committed:
        """Return the committed part of a partition, of which only the newest segments of each replica are read."""
        if self.now_ms() != self._stamp:
            self._open()
        holders = [each for each in self._dirs if place in each.partitions]
        if not holders:
            raise InputError(f"{self.name}: no replica of {place} here; name the directory of a node that has one")
        files = [segment_files(each.partitions[place])[-1] for each in holders]
        stamp = self._stamp, [(file, file.stat().st_size) for file in files]
        if place not in self._parts or self._parts[place][0] != stamp:
            self._parts[place] = stamp, self._committed(place, holders)
        return self._parts[place][1]

    def _committed(self, place: Place, holders: Sequence[LogDir]) -> Committed:
        high = max(each.high_watermarks.get(place, 0) for each in holders)
        copies = [read_replica(each, place, since=high, progress=self._progress) for each in holders]
        in_sync = None
        if self._placement is not None:
            topic_id = max(each.topic_id(place) for each in holders)
            in_sync = self._placement.in_sync(place.topic, topic_id, place.partition)
        part = committed_part(copies, [in_sync] if in_sync else ())
        complete = in_sync_there(place, holders, self._placement)
        if complete and self._placement is not None:
            self._behind.discard(place)
        else:
            self._behind.add(place)
        if not complete:
            part = replace(part, end=high)
            self._gap(f"{place}: not all replicas in sync are here; read below offset {high}, a node's high watermark")
        (mine,) = (each for each in holders if each.partitions[place] == part.replica.folder)
        start = max(int(segment_files(part.replica.folder)[0].stem), mine.starts.get(place, 0))
        return replace(part, replica=replace(part.replica, start=start))

    def _gap(self, line: str) -> None:
        if line not in self.gaps:
            self.gaps.append(line)


class Stored(NamedTuple):
    """A `Stored` says where the committed part of a partition is: in `folder`, from offset `first` to before `end`."""

    folder: Path
    first: int
    end: int

    def segments(
        self, start: int, progress: Progress | None = None, after: int = 0, until: int | None = None
    ) -> Iterator[Segment]:
        """Yield it from offset `start` on, in pieces, without segments that begin at offset `until` or later; `after`
        is as in `each_segment`."""
        if start >= self.end:
            return
        for segment in each_segment(self.folder, since=start, progress=progress, size=PIECE, after=after):
            if until is not None and int(segment.file.stem) >= until:
                return
            chosen = (segment.last_offsets >= start) & (segment.last_offsets < self.end)
            if chosen.any():
                yield part_of(segment, np.flatnonzero(chosen))
            if len(segment.headers) and segment.last_offsets[-1] >= self.end:
                return


def first_since(stored: Stored, since_ms: int) -> int:
    """Return the offset from which on segments are not older than `since_ms`, by the time of their files."""
    files = segment_files(stored.folder, stored.first)
    old = [file for file in files[:-1] if file.stat().st_mtime * 1000 < since_ms]
    return max(stored.first, int(files[len(old)].stem)) if old else stored.first


def part_of(segment: Segment, rows: np.ndarray) -> Segment:
    """Return a segment with these of its batches, and no tear."""
    return replace(segment, positions=segment.positions[rows], headers=segment.headers[rows], tear=None)


class Logged(NamedTuple):
    """A `Logged` is a record of the transaction log; the `state` of one that removes the id is None."""

    offset: int
    time_ms: int
    transactional_id: str
    state: TransactionState | None


def logged(segment: Segment, producer_ids: Collection[int] = (), *, newest: bool = False) -> Iterator[Logged]:
    """Yield the records of a piece of the transaction log, or only those with one of these producer ids, or only the
    `newest` of each transactional id."""
    records = records_of(segment, np.flatnonzero(segment.headers["attributes"] & CONTROL == 0))
    wanted = np.ones(len(records.batch), bool)
    if newest:
        last = {records.key_of(row): row for row in range(len(records.batch))}
        wanted = np.isin(np.arange(len(records.batch)), list(last.values()))
    if producer_ids:
        at, size = ID
        wanted = records.value_length >= at + size
        wanted[wanted] = np.isin(records.signed(records.value[wanted] + at, size), list(producer_ids))
    for row in np.flatnonzero(wanted).tolist():
        header = segment.headers[records.batch[row]]
        offset = int(header["base_offset"]) + int(records.delta[row])
        try:
            name, value = transactional_id_of(records.key_of(row)), records.value_of(row)
            state = transaction_state_of(value) if value is not None else None
        except (ValueError, IndexError, struct.error) as error:
            what = f"the record at offset {offset} is not the transaction log's: {error}"
            raise RecordingError(what, segment.file, "is it of a Kafka that is newer than 4.4?") from None
        if name is not None:
            yield Logged(offset, int(header["max_time"]), name, state)


def aborting(segment: Segment) -> set[int]:
    """Return the producer ids of which a piece of the transaction log has a decision to abort."""
    records = records_of(segment, np.flatnonzero(segment.headers["attributes"] & CONTROL == 0))
    values = records.value[records.value_length >= FIXED.size]
    aborts = records.signed(values + STATE[0], STATE[1]) == State.PrepareAbort
    return set(records.signed(values[aborts] + ID[0], ID[1]).tolist())


def places_of(state: TransactionState) -> tuple[Place, ...]:
    return tuple(Place(topic, number) for topic, numbers in state.partitions for number in numbers)


class Producers:
    """A `Producers` has the producers of a partition as its log has them up to `next_offset`, each with where its open
    transaction begins. Pieces are added in order of offset; what was added already is passed over."""

    def __init__(self, place: Place) -> None:
        self.place, self.next_offset = place, -1
        self.found: dict[int, Active] = {}

    def add(self, segment: Segment) -> None:
        fresh = np.flatnonzero(segment.headers["base_offset"] >= self.next_offset)
        if not len(fresh):
            return
        self.next_offset = int(segment.last_offsets[-1]) + 1
        headers = segment.headers
        ids, attributes = headers["producer_id"], headers["attributes"]
        in_transaction = attributes & TRANSACTIONAL != 0
        markers = marker_events(segment, fresh[((attributes & CONTROL != 0) & in_transaction)[fresh]], 0)
        terms = dict(zip(markers["offset"].tolist(), markers["coordinator_epoch"].tolist(), strict=True))
        order = fresh[np.argsort(ids[fresh], kind="stable")]
        order = order[ids[order] >= 0]
        for rows in np.split(order, np.flatnonzero(np.diff(ids[order])) + 1) if len(order) else ():
            producer_id = int(ids[rows[0]])
            control = attributes[rows] & CONTROL != 0
            open_from = int(control.nonzero()[0][-1]) + 1 if control.any() else 0
            old = self.found.get(producer_id, Active(self.place, producer_id, -1, -1, -1, -1, -1))
            first = -1 if control.any() else old.first_offset
            after = rows[open_from:][in_transaction[rows[open_from:]]]
            if first < 0 and len(after):
                first = int(headers["base_offset"][after[0]])
            last, data = headers[rows[-1]], headers[rows[~control]]
            sequence = int(data["base_sequence"][-1]) + int(data["last_delta"][-1]) if len(data) else old.last_sequence
            term = terms.get(int(headers["base_offset"][rows[open_from - 1]]), -1) if control.any() else -1
            self.found[producer_id] = Active(
                self.place, producer_id, int(last["epoch"]), sequence, int(last["max_time"]),
                old.coordinator_epoch if term < 0 else term, first,
            )  # fmt: skip
