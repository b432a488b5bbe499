"""Compiled: the search with numba, a hash table instead of sorted runs.  It compiles for seconds, and pays above some
million states.

Each thread expands rows of the frontier into a buffer in parts, by a hash of the states; when the buffers are full,
each thread puts its share of the parts, of all buffers, into its share of the table.  The new states are sorted into a
level, so that counts and traces are those of the NumPy engine.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from fencepost.proofs.engines.explore import loaded, sets
from fencepost.proofs.engines.explore.checkpoint import Checkpoint
from fencepost.proofs.engines.explore.hashed import (
    LARGEST_LOAD, PARTS, RECENT_BITS, SEGMENTS, emit_put, emit_table,
)  # fmt: skip
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.engines.explore.scalar import emit_scalar, most_made
from fencepost.proofs.engines.explore.search import SMALL, Found, OutOfMemory, Search
from fencepost.proofs.readings.ground import BoundsError
from numpy.typing import NDArray

ROOM = 1 << 14
"""States of a part of a buffer, where memory allows: so many that a stretch of the table is worth fetching for them."""
ROWS = 1 << 13
"""Rows of the frontier that a thread takes at a time."""
SAMPLE = 1 << 12
"""States of a level by which it is divided among threads to be sorted."""
# From this size on a table doubles when it grows, before it quadruples.
LARGE = 1 << 18
Numbers = NDArray[np.int64]


class CompiledSearch(Search):
    """The compiled search, with the interface of `Search`; ``runs`` stays empty, ``tables`` holds what has been seen,
    segment by segment."""

    @classmethod
    def taking_over(cls, search: Search) -> "CompiledSearch":
        """Goes on where another search is, with its levels, which that one must not go on with."""
        made = cls(search.kernels, search.threads, search.memory_limit, search.disk)
        made.take_over(search)
        return made

    def __init__(self, kernels: Kernels, threads: int, memory_limit: int, disk: Checkpoint | None = None) -> None:
        if kernels.symmetry is not None:
            raise BoundsError("engine='numba' does not search up to names; use engine='numpy'")
        own, shared = _sources(kernels)
        self.own, self.shared = loaded.load(own), loaded.load(shared)
        super().__init__(kernels, threads, memory_limit, disk)
        words, least = kernels.packing.words, 2 * most_made(kernels.ground)
        self.initial = np.array([c[0] for c in self.levels[0]], np.uint64).view(np.int64)
        self.tables = [np.zeros(words << 10, np.int64) for _ in range(SEGMENTS)]
        self.counts = [0] * SEGMENTS
        self.room = max(least, min(ROOM, memory_limit // 8 // (threads * PARTS * self.word_bytes)))
        self.buffers = np.empty((threads, PARTS * self.room * words), np.int64)
        self.sizes = np.zeros((threads, PARTS), np.uint64)
        # All states of the parts of a segment may be new.
        self.fresh = np.empty((threads, self.buffers.size // SEGMENTS), np.int64)
        self.recent = [np.tile(self.initial, 1 << RECENT_BITS) for _ in range(threads)]
        # Called with nothing to do, so that they are compiled before the search begins, which is timed by itself.
        self._expand_rows(_columns(self.levels[0]), [self._counters()], 0, 0, 0)
        self._fill(_columns(self.levels[0]), 0, 0, 0)
        self.shared.enlarge(np.zeros(2 * words, np.int64), np.zeros(4 * words, np.int64), self.initial)
        self._insert(1, 0)
        self.shared.sort(np.zeros(0, np.uint64), np.zeros(0, np.uint64))

    @property
    def held(self) -> int:
        # While a level is joined its pieces are there as well.
        return self._levels_held * self.word_bytes + sum(t.nbytes for t in self.tables) + self.buffers.nbytes

    def step(self) -> Found:
        columns, found = _columns(self.levels[-1]), Found()
        counts = [self._counters() for _ in range(self.threads)]
        pieces = self._through(columns[0].size, partial(self._expand_rows, columns, counts))
        self._settle(counts, found)
        self.levels.append(self._kept(self._sorted(pieces)))
        return found

    def _append(self, level: Words) -> None:
        """Puts what was found before into the tables."""
        self.levels.append(level)
        if len(self.levels) > 1:
            self._through(sets.size(level), partial(self._fill, _columns(level)))

    def _through(self, count: int, make: Callable[[int, int, int], int]) -> list[Numbers]:
        """Has rows made into states until there are no more; those of them that are new."""
        rows, pieces = _Rows(count, self.threads), list[Numbers]()
        workers = self.threads if count > SMALL // 4 else 1
        self.candidates = 0
        while rows.left:
            self._each(lambda t: rows.work(partial(make, t)), range(workers))
            self.candidates += int(self.sizes.sum())
            for more in self._each(partial(self._insert, workers), range(workers)):
                pieces += more
            self.sizes[:] = 0
            if self.held + sum(p.nbytes for p in pieces) > self.memory_limit:
                raise OutOfMemory
        return pieces

    def _expand_rows(
        self, columns: tuple[Numbers, ...], counts: list[tuple[Numbers, ...]], t: int, start: int, stop: int
    ) -> int:
        made: int = self.own.expand(*columns, start, stop, self.buffers[t], self.sizes[t], self.recent[t], *counts[t])
        return made

    def _fill(self, columns: tuple[Numbers, ...], t: int, start: int, stop: int) -> int:
        """As expanding does, with the states themselves."""
        length = self.room // 4
        for at in range(start, max(stop, start + 1), length):
            if int(self.sizes[t].max()) + length > self.room:
                return at
            made = np.stack([c[at : min(at + length, stop)] for c in columns], axis=1).ravel()
            self.own.put(made, np.uint64(made.size // len(columns)), self.buffers[t], self.sizes[t], self.recent[t])
        return stop

    def _insert(self, workers: int, worker: int) -> list[Numbers]:
        """Puts this thread's share of all buffers into its segments; the states, row by row, that were new."""
        words, pieces, each = self.kernels.packing.words, list[Numbers](), PARTS // SEGMENTS
        fresh = self.fresh[worker]
        for segment in range(worker, SEGMENTS, workers):
            first, last = segment * each, (segment + 1) * each
            at = np.array([first, 0, 0, 0, self.counts[segment], 0])
            while True:
                table = self.tables[segment]
                load = int(table.size // words * LARGEST_LOAD)
                if self.shared.insert(table, self.initial, self.buffers, self.sizes, last, at, fresh, load):
                    break
                self._enlarge(segment)
            self.counts[segment] = int(at[4])
            if at[3]:
                pieces.append(fresh[: int(at[3]) * words].copy())
        return pieces

    def _enlarge(self, segment: int) -> None:
        old = self.tables[segment]
        size = old.size * (4 if old.size < LARGE else 2)
        if self.held + 8 * size > self.memory_limit:
            raise OutOfMemory
        table = np.zeros(size, np.int64)
        self.shared.enlarge(old, table, self.initial)
        self.tables[segment] = table

    def _sorted(self, pieces: list[Numbers]) -> Words:
        """The level of these states."""
        words = self.kernels.packing.words
        if not pieces:
            return tuple(np.zeros(0, np.uint64) for _ in range(words))
        states = np.concatenate(pieces).view(np.uint64).reshape(-1, words)
        workers = self.threads if len(states) >= SMALL else 1
        sample = np.sort(states[:: 1 + len(states) // SAMPLE, 0])
        ends = [sample[sample.size * n // workers] for n in range(1, workers)]

        def one(number: int) -> NDArray[np.uint64]:
            mine = np.ones(len(states), np.bool_)
            if number:
                mine &= states[:, 0] >= ends[number - 1]
            if number < len(ends):
                mine &= states[:, 0] < ends[number]
            part = states.take(mine.nonzero()[0], axis=0).ravel()
            made: NDArray[np.uint64] = self.shared.sort(part, np.empty_like(part))
            return made.reshape(-1, words)

        parts = self._each(one, range(workers))
        return tuple(np.concatenate([part[:, n] for part in parts]) for n in range(words))

    def _counters(self) -> tuple[Numbers, ...]:
        """taken, cut, broken, stuck of one thread."""
        count = len(self.kernels.instances)
        broken = np.full((max(1, len(self.kernels.steps)), 2), -1, np.int64)
        return np.zeros(count, np.int64), np.zeros(count, np.int64), broken, np.zeros(1, np.int64)

    def _settle(self, counts: list[tuple[Numbers, ...]], found: Found) -> None:
        for taken, cut, broken, stuck in counts:
            tally = self.kernels.tally()
            tally.taken, tally.cut, tally.stuck = taken.tolist(), cut.tolist(), int(stuck[0])
            self._count(tally)
            for prop, (row, instance) in enumerate(broken.tolist()):
                if row >= 0:
                    found.step[prop] = min((row, instance), found.step.get(prop, (row, instance)))


@dataclass
class _Rows:
    """What of a level is still to be gone through, by several threads: ``work`` takes a stretch after the other, until
    one is not gone through to its end."""

    count: int
    threads: int
    back: list[tuple[int, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.at, self.length = 0, max(1024, min(ROWS, -(-self.count // (8 * self.threads))))

    @property
    def left(self) -> bool:
        return self.at < self.count or bool(self.back)

    def work(self, make: Callable[[int, int], int]) -> None:
        while taken := self._next():
            start, stop = taken
            if (end := make(start, stop)) < stop:
                with self.lock:
                    self.back.append((end, stop))
                return

    def _next(self) -> tuple[int, int] | None:
        with self.lock:
            if self.back:
                return self.back.pop()
            start = self.at
            self.at = min(self.count, start + self.length)
            return (start, self.at) if start < self.at else None


def _columns(level: Words) -> tuple[Numbers, ...]:
    return tuple(c.view(np.int64) for c in level)


def is_possible(kernels: Kernels) -> bool:
    """Whether numba is there, and searches so, each state by itself."""
    return kernels.symmetry is None and loaded.is_there()


def was_compiled(kernels: Kernels) -> bool:
    """Whether the code for this protocol and its bounds is in the cache."""
    own, shared = _sources(kernels)
    return loaded.was_compiled(own, "expand") and loaded.was_compiled(shared, "insert")


def _sources(kernels: Kernels) -> tuple[str, str]:
    """Of this protocol within its bounds, and of the tables for states of as many words."""
    words = kernels.packing.words
    own = emit_scalar(kernels.ground, kernels.packing)
    return emit_put(words) + f"@numba.njit(cache=True, nogil=True)\n{own}", emit_table(words)
