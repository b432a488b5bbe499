"""This module is the search with numba, which uses a hash table instead of sorted runs. The compilation takes seconds,
and pays above some million states.

Each thread expands rows of the frontier into a buffer, whose parts are chosen by a hash of the states. When the buffers
are full, each thread puts its share of the parts, from all buffers, into its share of the table. The new states are
sorted into a level, so that counts and traces equal those of the NumPy engine.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from fencepost.proofs import jit_cache
from fencepost.proofs.engines.explore import sets
from fencepost.proofs.engines.explore.checkpoint import Checkpoint
from fencepost.proofs.engines.explore.compiled_search import loaded
from fencepost.proofs.engines.explore.compiled_search.hashed import emit_put, emit_table
from fencepost.proofs.engines.explore.compiled_search.scalar import emit_scalar, most_made
from fencepost.proofs.engines.explore.compiled_search.seen import Seen
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.engines.explore.search import SMALL, Found, OutOfMemory, Search
from fencepost.proofs.readings.ground import BoundsError
from numpy.typing import NDArray

ROWS = 1 << 13
"""A thread takes this many rows of the frontier at a time."""
FEWEST_ROWS = 1 << 10
"""A thread takes at least this many rows at a time, since fewer are not worth a turn."""
CHECKED = 1 << 16
"""A thread checks this many rows at a time for whether they decide a property."""
LINES = 1000
"""This many lines of source are compiled in five seconds."""
Numbers = NDArray[np.int64]


class CompiledSearch(Search):
    """A `CompiledSearch` has the interface of `Search`, with empty ``runs``, and visited states in ``seen``."""

    @classmethod
    def taking_over(cls, search: Search) -> "CompiledSearch":
        """Return a search that goes on from the levels of another one, which must not be used any more."""
        made = cls(search.kernels, search.threads, search.memory_limit, search.disk)
        made.take_over(search)
        return made

    def __init__(self, kernels: Kernels, threads: int, memory_limit: int, disk: Checkpoint | None = None) -> None:
        if kernels.partial_order is not None:
            raise BoundsError("engine='numba' takes all steps, without partial order; use engine='numpy'")
        own, shared = _sources(kernels)
        self.code, tables = loaded.load(own), loaded.load(shared)
        super().__init__(kernels, threads, memory_limit, disk)
        first = _columns(self.levels[0])
        self.seen = Seen(tables, np.concatenate(first), threads, 2 * most_made(kernels.ground), memory_limit)
        # These calls without work compile the functions before the search, which is timed by itself.
        self._expand_rows(first, [self._counters()], 0, 0, 0)
        self._fill(first, 0, 0, 0)
        self._check(first, 0)

    @property
    def held(self) -> int:
        return self._levels_held * self.word_bytes + self.seen.nbytes

    def predict(self, sizes: list[int]) -> int:
        if len(sizes) < 2 or not sizes[-1]:
            return self.held
        new = int(sizes[-1] * sizes[-1] / sizes[-2])
        # This counts the level, each thread's new states, and two sorted copies. Tables are enlarged one by one.
        return self.held + 4 * new * self.word_bytes + self.seen.growth(new)

    def step(self) -> Found:
        columns, found = _columns(self.levels[-1]), Found()
        counts = [self._counters() for _ in range(self.threads)]
        self._through(columns[0].size, partial(self._expand_rows, columns, counts))
        self._settle(counts, found)
        self.levels.append(self._remaining(self.seen.take(self._each)))
        return found

    def check(self) -> Found:
        columns, found = _columns(self.levels[-1]), Found()
        blocks = self._each(partial(self._check, columns), range(0, columns[0].size, CHECKED))
        for prop, rows in enumerate(zip(*blocks, strict=True)):
            if (row := next((row for row in rows if row >= 0), None)) is not None:
                found.state[prop] = row
        return found

    def _check(self, columns: tuple[Numbers, ...], start: int) -> list[int]:
        """Return, by property of states, the first row of a block that decides it, or -1."""
        found = np.full(max(1, len(self.kernels.states)), -1, np.int64)
        self.code.check(*columns, start, min(start + CHECKED, columns[0].size), found)
        return found.tolist()

    def _append(self, level: Words) -> None:
        self.levels.append(level)
        if len(self.levels) > 1:
            self._through(sets.size(level), partial(self._fill, _columns(level)))
            self.seen.filled = [0] * self.threads

    def _through(self, count: int, make: Callable[[int, int, int], int]) -> None:
        """Process rows until there are no more. New states are in ``seen`` afterwards."""
        rows, workers = _Rows(count, self.threads), self.threads if count > SMALL // 4 else 1
        self.candidates = 0
        self.seen.prepare()
        while rows.left:
            self._each(lambda t: rows.work(partial(make, t)), range(workers))
            self.candidates += self.seen.empty(workers, self._each)
            if self.held > self.memory_limit:
                raise OutOfMemory

    def _expand_rows(
        self, columns: tuple[Numbers, ...], counts: list[tuple[Numbers, ...]], t: int, start: int, stop: int
    ) -> int:
        seen = self.seen
        made: int = self.code.expand(*columns, start, stop, seen.buffers[t], seen.sizes[t], seen.recent[t], *counts[t])
        return made

    def _fill(self, columns: tuple[Numbers, ...], t: int, start: int, stop: int) -> int:
        """Put the states themselves into the buffers, as `_expand_rows` does with their successors."""
        seen = self.seen
        length = seen.room // 4
        for at in range(start, max(stop, start + 1), length):
            if int(seen.sizes[t].max()) + length > seen.room:
                return at
            made = np.stack([c[at : min(at + length, stop)] for c in columns], axis=1).ravel()
            self.code.put(made, np.uint64(made.size // len(columns)), seen.buffers[t], seen.sizes[t], seen.recent[t])
        return stop

    def _counters(self) -> tuple[Numbers, ...]:
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
    """A `_Rows` distributes the rows of a level to threads, which take one stretch after another."""

    count: int
    threads: int
    back: list[tuple[int, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.at, self.length = 0, max(FEWEST_ROWS, min(ROWS, -(-self.count // (8 * self.threads))))

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
    """Return whether numba is installed and can run this search, which it cannot with partial order."""
    return kernels.partial_order is None and jit_cache.is_possible()


def effort(kernels: Kernels) -> float:
    """Return how many times as long as `LINES` the source takes to compile, and at least 1. In measurements 2,600 lines
    took 21 s, 4,000 took 37 s, and 5,500, most of them a refinement's conditions, 124 s."""
    lines = _sources(kernels)[0].count("\n")
    return max(1.0, float((lines / LINES) ** 1.8))


def was_compiled(kernels: Kernels) -> bool:
    own, shared = _sources(kernels)
    return loaded.was_compiled(own, "expand") and loaded.was_compiled(shared, "insert")


def _sources(kernels: Kernels) -> tuple[str, str]:
    words = kernels.packing.words
    own = emit_scalar(kernels.ground, kernels.packing, kernels.symmetry)
    return emit_put(words) + "".join(f"@numba.njit(cache=True, nogil=True)\n{text}\n\n" for text in own), emit_table(
        words
    )
