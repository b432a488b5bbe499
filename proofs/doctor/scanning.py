"""This module reads partitions on workers, as `fencepost doctor --master` does, and gives what `Checks` would have.

    with Tasks(SparkSettings("local[2]"), len(places)) as tasks:
        found = scanned(tasks, source, places)

What a batch breaks depends on the batches before it, so one task at a time reads a partition: a cut of some segments,
beginning with the ledger that the task before it left. Different partitions are read at the same time. A task opens the
segments where they lie, reads `PIECE` bytes at a time, and answers with ledger, markers and findings, without records.
The transaction log is not read here, since its ledger is of all its partitions.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.doctor.partition_checks import MARK, PartitionLedger
from fencepost.proofs.doctor.source import DiskSource, Producers, Stored, first_since
from fencepost.proofs.doctor.traces import Broken
from fencepost.proofs.recording.logs.log_dirs import Place, segment_files
from fencepost.proofs.recording.transactions.group_offsets import TOPIC as OFFSETS

CUT = 1 << 30
"""A task reads about this many bytes; a segment is as large by default (log.segment.bytes)."""
MOST = 1_000
"""At most this many of the rules' violations are stored; all are counted."""


class Cut(NamedTuple):
    """A `Cut` is what one task reads of a partition: the segments that begin at offsets from `first` to `until`
    (exclusive). Of batches before offset `judged`, only producers are read."""

    place: Place
    stored: Stored
    first: int
    until: int
    judged: int


@dataclass
class Scan:
    """A `Scan` is what is known of a partition, up to and of its latest cut. `broken` and `marks` are of that cut
    alone, in order of offset; times are in ms since 1970, -1 where nothing was judged."""

    ledger: PartitionLedger
    producers: Producers
    broken: list[Broken] = field(default_factory=list)
    count: int = 0
    marks: np.ndarray = field(default_factory=lambda: np.zeros(0, MARK))
    batches: int = 0
    first_ms: int = -1
    last_ms: int = -1
    size: int = 0


def cuts(source: DiskSource, place: Place, since_ms: int = -1, size: int = CUT) -> list[Cut]:
    """Return the cuts of a partition, at least one, in order of offset."""
    stored = source.stored(place)
    judged = first_since(stored, since_ms)
    begins, filled = [stored.first], 0
    for file in segment_files(stored.folder, stored.first):
        if filled >= size and stored.first < int(file.stem) < stored.end:
            begins.append(int(file.stem))
            filled = 0
        filled += file.stat().st_size
    return [
        Cut(place, stored, begin, until, judged) for begin, until in pairwise([*begins, max(stored.end, stored.first)])
    ]


def scan(cut: Cut, ledger: PartitionLedger, producers: Producers) -> Scan:
    """Read a cut; `ledger` and `producers` are of what is before it. Raise RecordingError for a log that is damaged,
    and InputError where the directory is not on this machine."""
    stored, judged = cut.stored, cut.judged
    if not stored.folder.is_dir():
        todo = "mount the directories there under the same path, or use a master on this machine, as local[2]"
        raise InputError(f"{stored.folder}: not on the worker {socket.gethostname()}: {todo}")
    made = Scan(ledger, producers)
    marks = [made.marks]
    for piece in stored.segments(cut.first, after=max(0, producers.next_offset), until=cut.until):
        made.producers.add(piece)
        if piece.last_offsets[-1] < judged:
            continue
        broken, its_marks = made.ledger.feed(piece, 0)
        made.broken += broken[: MOST - len(made.broken)]
        made.count += len(broken)
        marks.append(its_marks)
        times = piece.headers["max_time"]
        made.batches += len(times)
        made.first_ms = min(int(times.min()), made.first_ms if made.first_ms >= 0 else int(times.min()))
        made.last_ms = max(made.last_ms, int(times.max()))
        made.size += int(piece.headers["length"].sum())
    made.marks = np.concatenate(marks)
    return made


def scanned(
    workers: Executor, source: DiskSource, places: Sequence[Place], since_ms: int = -1, size: int = CUT,
    reading: Callable[[Place, int], None] = lambda place, size: None,
) -> dict[Place, list[Scan]]:  # fmt: skip
    """Return for each partition its scans in order. Only the last one has ledger and producers that count."""
    left = {place: cuts(source, place, since_ms, size) for place in places}
    found: dict[Place, list[Scan]] = {place: [] for place in places}
    under_way: dict[Future[Scan], Place] = {}

    def submit(place: Place, ledger: PartitionLedger, producers: Producers) -> None:
        under_way[workers.submit(scan, left[place].pop(0), ledger, producers)] = place

    for place in places:
        submit(place, PartitionLedger(place, 0, place.topic != OFFSETS), Producers(place))
    while under_way:
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            place = under_way.pop(future)
            made = future.result()
            found[place].append(made)
            reading(place, made.size)
            if left[place]:
                submit(place, made.ledger, made.producers)
    return found
