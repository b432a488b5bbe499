"""This module searches breadth first over sorted sets of packed states, block by block, on several threads.

In each level, the successors of the frontier are made in blocks, and those of each thread are sorted and made unique in
chunks. Then, for each range of keys, the chunks are merged and visited states are removed. The joined ranges are the
next frontier, in order. The visited states are a list of sorted runs, which are merged when the last but one is no more
than twice the last. Counts and sets do not depend on the number of threads.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from fencepost.proofs.engines.explore import memory, sets
from fencepost.proofs.engines.explore.checkpoint import Checkpoint, Record
from fencepost.proofs.engines.explore.kernels import Kernels, Tally
from fencepost.proofs.engines.explore.packing import Words

BLOCK = 1 << 15
CHUNK = 1 << 19
SMALL = 1 << 14
ON_DISK = 1 << 20
"""A run with at least this many states is a file, where the search has files."""
T = TypeVar("T")
R = TypeVar("R")


class OutOfMemory(Exception):
    """This error means that the next level would not fit into memory. What was found so far stands."""


@dataclass
class Found:
    """A `Found` records where properties were decided. ``state`` has the smallest index in the level for each property,
    and ``step`` has the row in the level before and the instance."""

    state: dict[int, int] = field(default_factory=dict)
    step: dict[int, tuple[int, int]] = field(default_factory=dict)


class Search(AbstractContextManager["Search"]):
    """A `Search` proceeds level by level, and ``levels[d]`` has the states first reached in d steps. ``held`` counts
    the bytes of levels, runs and chunks that are in memory. With ``disk``, levels and large runs are files."""

    def __init__(self, kernels: Kernels, threads: int, memory_limit: int, disk: Checkpoint | None = None) -> None:
        self.kernels, self.threads, self.memory_limit, self.disk = kernels, threads, memory_limit, disk
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.tally = kernels.tally()
        self.levels: list[Words] = []
        self.runs: list[Words] = []
        self.generated = 1
        self.candidates = 0
        start = kernels.packing.pack(kernels.starts)
        self._append(self._chunk(tuple(np.broadcast_to(w, kernels.starts.shape[1]).astype(np.uint64) for w in start)))
        self._local = threading.local()

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    @property
    def distinct(self) -> int:
        return sum(map(sets.size, self.levels))

    @property
    def word_bytes(self) -> int:
        return 8 * self.kernels.packing.words

    @property
    def held(self) -> int:
        in_memory = self.runs if self.disk is None else [run for run in self.runs if sets.size(run) < ON_DISK]
        return (self._levels_held + sum(map(sets.size, in_memory))) * self.word_bytes

    @property
    def _levels_held(self) -> int:
        return self.distinct if self.disk is None else 0

    @property
    def merging(self) -> int:
        return self.distinct if self.disk is None else 0

    def predict(self, sizes: list[int]) -> int:
        return memory.predict(self.held, sizes, self.candidates, self.word_bytes, self.merging)

    def restore(self, level: Words, record: Record) -> Found:
        """Go on after a level that an earlier search has stored, and return what was found with it."""
        self._append(level)
        self._recorded(record)
        return Found(step=dict(record.step))

    def take_over(self, other: "Search") -> None:
        """Go on from the levels of another search, which must not be used any more."""
        self.tally, self.pool = other.tally, other.pool
        self.generated, self.candidates = other.generated, other.candidates
        for level in other.levels[1:]:
            self._append(level)
        self.levels = other.levels

    def record(self, found: Found) -> Record:
        mine = self.tally
        return Record(found.step, mine.taken, mine.cut, mine.stuck, self.generated, self.candidates)

    def _recorded(self, record: Record) -> None:
        self.tally.taken, self.tally.cut, self.tally.stuck = list(record.taken), list(record.cut), record.stuck
        self.generated, self.candidates = record.generated, record.candidates

    def step(self) -> Found:
        """Add one more level, and return which step properties its steps break. Errors: OutOfMemory."""
        frontier, found = self.levels[-1], Found()
        chunks = self._expand(frontier, found)
        self.candidates = sum(map(sets.size, chunks))
        fresh = self._fresh(chunks)
        self._append(self._remaining(fresh))
        return found

    def check(self) -> Found:
        """Return which properties of states the newest level decides."""
        level, found, lock = self.levels[-1], Found(), threading.Lock()

        def block(start: int) -> None:
            def note(prop: int, row: int) -> None:
                with lock:
                    found.state[prop] = min(start + row, found.state.get(prop, start + row))

            self.kernels.check(sets.to_words(sets.part(level, start, start + BLOCK)), note)

        self._each(block, list(range(0, sets.size(level), BLOCK)))
        return found

    def _remaining(self, level: Words) -> Words:
        return level if self.disk is None else self.disk.level(len(self.levels), level)

    def _append(self, level: Words) -> None:
        self.levels.append(level)
        if sets.size(level):
            self.runs.append(level)
            self._merge_runs()

    def _each(self, task: Callable[[T], R], items: Sequence[T]) -> list[R]:
        if self.pool is None or len(items) < 2:
            return [task(item) for item in items]
        return list(self.pool.map(task, items))

    def _expand(self, frontier: Words, found: Found) -> list[Words]:
        count = sets.size(frontier)
        workers = self.threads if self.pool is not None and count > SMALL else 1
        length = max(BLOCK // 4, min(BLOCK, -(-count // (2 * workers))))
        blocks, lock = iter(range(0, count, length)), threading.Lock()
        chunks: list[Words] = []

        def put(chunk: Words) -> None:
            with lock:
                chunks.append(chunk)
                if self.held + sum(map(sets.size, chunks)) * self.word_bytes > self.memory_limit:
                    raise OutOfMemory

        def work(_: int) -> tuple[Tally, list[tuple[int, int, int]]]:
            tally, broken = self.kernels.tally(self.kernels.judge), []
            buffer, filled = self._buffer(length), 0
            while True:
                with lock:
                    start = next(blocks, None)
                if start is None:
                    break
                words = sets.to_words(sets.part(frontier, start, start + length))
                filled += self.kernels.follow(words, tuple(b[filled:] for b in buffer), None, tally)
                broken += [(prop, start + row, instance) for prop, instance, row in tally.broken]
                tally.broken.clear()
                if filled >= CHUNK:
                    put(self._chunk(tuple(b[:filled] for b in buffer)))
                    filled = 0
            if filled:
                put(self._chunk(tuple(b[:filled] for b in buffer)))
            return tally, broken

        for tally, broken in self._each(work, range(workers)):
            self._count(tally)
            for prop, row, instance in broken:
                found.step[prop] = min((row, instance), found.step.get(prop, (row, instance)))
        return chunks

    def _chunk(self, words: Words) -> Words:
        made = sets.sort_unique(sets.to_set_order(words))
        symmetry = self.kernels.symmetry
        return made if symmetry is None else sets.sort_unique(sets.to_set_order(symmetry.least(sets.to_words(made))))

    def _buffer(self, length: int) -> Words:
        """Return this thread's room for a chunk and one more block's successors. Untouched pages cost nothing."""
        room = CHUNK + length * len(self.kernels.instances)
        have: Words | None = getattr(self._local, "buffer", None)
        if have is None or have[0].size < room:
            have = self._local.buffer = tuple(np.empty(room, np.uint64) for _ in range(self.kernels.packing.words))
        return have

    def _count(self, tally: Tally) -> None:
        mine = self.tally
        mine.taken = [a + b for a, b in zip(mine.taken, tally.taken, strict=True)]
        mine.cut = [a + b for a, b in zip(mine.cut, tally.cut, strict=True)]
        mine.stuck += tally.stuck
        self.generated += sum(tally.taken)

    def _fresh(self, chunks: list[Words]) -> Words:
        if not chunks:
            return sets.part(self.levels[0], 0, 0)
        keys = sets.pivots(max(chunks, key=sets.size), _ranges(self.candidates))
        chunk_cuts = [sets.cuts(c, keys) for c in chunks]
        run_cuts = [sets.cuts(r, keys) for r in self.runs]

        def one(number: int) -> Words:
            pieces = [sets.part(c, ends[number], ends[number + 1]) for c, ends in zip(chunks, chunk_cuts, strict=True)]
            pieces = [p for p in pieces if sets.size(p)] or pieces[:1]
            states = pieces[0] if len(pieces) == 1 else sets.sort_unique(sets.join(pieces), len(pieces))
            for run, ends in zip(reversed(self.runs), reversed(run_cuts), strict=True):
                states = sets.subtract(states, sets.part(run, ends[number], ends[number + 1]))
            return states

        return sets.join(self._each(one, range(keys.size + 1)))

    def _merge_runs(self) -> None:
        while len(self.runs) > 1 and sets.size(self.runs[-2]) <= 2 * sets.size(self.runs[-1]):
            larger, newer = self.runs[-2], self.runs[-1]
            keys = sets.pivots(larger, _ranges(sets.size(larger) + sets.size(newer)))
            ends, new_ends = sets.cuts(larger, keys), sets.cuts(newer, keys)

            def one(n: int, a: Words = larger, b: Words = newer, i: list[int] = ends, j: list[int] = new_ends) -> Words:
                return sets.merge(sets.part(a, i[n], i[n + 1]), sets.part(b, j[n], j[n + 1]))

            states = sets.size(larger) + sets.size(newer)
            if self.disk is None or states < ON_DISK:
                self.runs[-2:] = [sets.join(self._each(one, range(keys.size + 1)))]
                continue
            room = self.disk.room(states)

            def place(n: int, i: list[int] = ends, j: list[int] = new_ends, room: Words = room) -> None:
                for column, made in zip(room, one(n), strict=True):
                    column[i[n] + j[n] : i[n + 1] + j[n + 1]] = made

            self._each(place, range(keys.size + 1))
            self.runs[-2:] = [room]


def _ranges(states: int) -> int:
    return max(1, min(128, states >> 15))
