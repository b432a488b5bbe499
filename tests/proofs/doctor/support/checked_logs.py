"""Small logs, batch by batch, as `Checks` is given them: partitions, then the transaction log, then twice to rest."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from fencepost.proofs.doctor.checks import Checks
from fencepost.proofs.doctor.source import part_of
from fencepost.proofs.doctor.traces import Broken
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import Segment, read_segment
from fencepost.proofs.recording.transactions.transaction_log import TOPIC
from transaction_logs import CONTROL, TRANSACTIONAL, batch, id_key

P, Q, LOG = Place("t", 0), Place("t", 1), Place(TOPIC, 0)
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
COMMIT, ABORT = 1, 0
START_MS = 1_795_000_000_000


def data(offset: int, pair: tuple[int, int], sequence: int, count: int = 1, **further: int) -> bytes:
    """A batch of a transaction; with attributes=0, of none."""
    return batch(offset, [(None, b"x")] * count, producer=pair, sequence=sequence,
                 **({"attributes": TRANSACTIONAL} | further))  # fmt: skip


def mark(offset: int, pair: tuple[int, int], outcome: int, coordinator: int = 0, empty: bool = False) -> bytes:
    entry = (struct.pack(">hh", 0, outcome), struct.pack(">hi", 0, coordinator))
    return batch(offset, [] if empty else [entry], producer=pair, attributes=TRANSACTIONAL | CONTROL, last=0)


def logged(offset: int, pair: tuple[int, int], state: int, name: str = "a", version: int = 2, topics: int = 2) -> bytes:
    """A record of the transaction log as brokers of that transaction.version write it; state -1 removes the id."""
    value: bytes | None = None
    if state >= 0:
        fixed = struct.pack(">hqhib", int(version > 0), *pair, 60_000, state)
        times = struct.pack(">qq", START_MS, START_MS)
        names = [b"topic-%d" % number for number in range(topics)]
        if version:
            parts = b"".join(bytes([len(n) + 1]) + n + b"\x03" + struct.pack(">ii", 0, 1) + b"\x00" for n in names)
            before = b"\x02\x00\x08" + struct.pack(">q", 7)  # two fields, the previous producer id first
            value = fixed + bytes([topics + 1]) + parts + times + before + b"\x02\x02" + struct.pack(">h", version)
        else:
            parts = b"".join(struct.pack(">h", len(n)) + n + struct.pack(">iii", 2, 0, 1) for n in names)
            value = fixed + struct.pack(">i", topics) + parts + times
    return batch(offset, [(id_key(name), value)])


def life(*steps: tuple[tuple[int, int], int], first: int = 0, **further: int) -> list[bytes]:
    """Records of one transactional id: pair and state of each."""
    return [logged(first + number, pair, state, **further) for number, (pair, state) in enumerate(steps)]


def committed(pair: tuple[int, int], first: int = 0, version: int = 2, outcome: int = COMMIT) -> list[bytes]:
    """The records of an id that is initialised and has one transaction under the pair."""
    after = (pair[0], pair[1] + (version == 2))
    states = (PREPARE_COMMIT, COMPLETE_COMMIT) if outcome == COMMIT else (PREPARE_ABORT, COMPLETE_ABORT)
    return life((pair, EMPTY), (pair, ONGOING), *((after, state) for state in states), first=first, version=version)


def segment_of(batches: Sequence[bytes], folder: Path) -> Segment:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{len(list(folder.iterdir())):020}.log"
    file.write_bytes(b"".join(batches))
    return read_segment(file, 0)


def found(folder: Path, logs: Iterable[tuple[Place, Sequence[bytes]]], checks: Checks | None = None) -> list[Broken]:
    """What these logs, in this order, break when nothing more comes."""
    checks = Checks() if checks is None else checks
    broken = [each for place, batches in logs for each in checks.feed(place, segment_of(batches, folder))]
    return [*broken, *checks.settle(), *checks.settle(last=True)]


def split(segment: Segment, cuts: Iterable[int]) -> list[Segment]:
    """The segment in parts that begin at these batches."""
    ends = [0, *sorted(cuts), len(segment.headers)]
    return [part_of(segment, np.arange(begin, end)) for begin, end in pairwise(ends)]


def by_kind(broken: Iterable[Broken]) -> list[tuple[str, int | None, int]]:
    """Kind, and the offsets of both."""
    return [(each.kind, each.first.offset if each.first else None, each.second.offset) for each in broken]
