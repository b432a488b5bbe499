"""This module stores the visited states of the compiled search in tables, and states not yet looked up in buffers.

Tables and buffers are divided by the hash of a state. Each thread has its own buffer, and each segment of the table
belongs to one thread while the buffers are emptied.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from fencepost.proofs.engines.explore.compiled_search.hashed import LARGEST_LOAD, PARTS, RECENT_BITS, SEGMENTS
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.engines.explore.search import SMALL, OutOfMemory
from numpy.typing import NDArray

ROOM, MOST_ROOM = 1 << 14, 1 << 16
"""A part of a buffer has room for this many states where memory allows, and for the second number with the largest
tables, which makes fetching a stretch of the table worthwhile."""
SAMPLE = 1 << 12
"""A level is divided among sorting threads by a sample of this many of its states."""
LARGE = 1 << 20
"""A segment with at least this many slots grows by half, and a smaller one quadruples."""
Numbers = NDArray[np.int64]
Column = NDArray[np.uint64]
Each = Callable[[Callable[[int], Any], Sequence[int]], list[Any]]
"""An `Each` calls a function with each of some numbers, in threads."""


class Seen:
    """A `Seen` stores states of ``initial.size`` columns, and counts the initial state as visited. ``code`` is compiled
    from `emit_table`, and ``least_room`` is the number of states that a part of a buffer must hold."""

    def __init__(self, code: Any, initial: Numbers, threads: int, least_room: int, memory_limit: int) -> None:
        self.code, self.initial, self.threads = code, initial, threads
        self.words, self.least_room, self.memory_limit = initial.size, least_room, memory_limit
        self.tables = [np.zeros(self.words << 10, np.int64) for _ in range(SEGMENTS)]
        self.counts = [0] * SEGMENTS
        self.recent = [np.tile(initial, 1 << RECENT_BITS) for _ in range(threads)]
        # These are reused from level to level, since new memory would be cleared first.
        self.fresh, self.filled = [np.empty(0, np.int64) for _ in range(threads)], [0] * threads
        self.spare = [(np.empty(0, np.uint64), np.empty(0, np.uint64)) for _ in range(threads)]
        self._make_room(ROOM)
        # These calls without work compile the functions before the search, which is timed by itself.
        self.empty(1, lambda task, items: [task(item) for item in items])
        code.enlarge(np.zeros(2 * self.words, np.int64), np.zeros(4 * self.words, np.int64), initial)
        nothing = np.zeros(0, np.uint64)
        code.select(nothing, np.uint64(0), np.uint64(0), nothing, 0)
        code.sort(nothing, nothing)

    @property
    def nbytes(self) -> int:
        spare = [array for arrays in self.spare for array in arrays]
        return sum(array.nbytes for array in (*self.tables, *self.fresh, *spare, self.buffers))

    def growth(self, new: int) -> int:
        """Return by how many bytes the tables grow with ``new`` more states, evenly spread."""
        more = 0
        for table, count in zip(self.tables, self.counts, strict=True):
            slots = before = table.size // self.words
            while slots * LARGEST_LOAD < count + new / SEGMENTS:
                slots = _larger(slots)
            more += 8 * self.words * (slots - before)
        return more

    def _make_room(self, room: int) -> None:
        """Allocate buffers for ``room`` states in each part, or fewer, as memory allows."""
        allowed = self.memory_limit // 8 // (self.threads * PARTS * self.words * 8)
        self.room = max(self.least_room, min(room, allowed))
        self.buffers = np.empty((self.threads, PARTS * self.room * self.words), np.int64)
        self.sizes = np.zeros((self.threads, PARTS), np.uint64)

    def prepare(self) -> None:
        slots = sum(t.size for t in self.tables) // self.words
        if (room := min(MOST_ROOM, slots // (4 * self.threads * PARTS))) > self.room:
            self._make_room(room)

    def empty(self, workers: int, each: Each) -> int:
        """Move buffered states into the tables, collect the new ones, and return how many states were buffered."""
        count = int(self.sizes.sum())
        each(partial(self._insert, workers), range(workers))
        self.sizes[:] = 0
        return count

    def _insert(self, workers: int, worker: int) -> None:
        parts = PARTS // SEGMENTS
        for segment in range(worker, SEGMENTS, workers):
            first, last = segment * parts, (segment + 1) * parts
            self._extend(worker, int(self.sizes[:, first:last].sum()))
            at = np.array([first, 0, 0, self.filled[worker], self.counts[segment], 0])
            while True:
                table = self.tables[segment]
                load = int(table.size // self.words * LARGEST_LOAD)
                if self.code.insert(table, self.initial, self.buffers, self.sizes, last, at, self.fresh[worker], load):
                    break
                self._enlarge(segment)
            self.filled[worker], self.counts[segment] = int(at[3]), int(at[4])

    def _extend(self, worker: int, count: int) -> None:
        old, used = self.fresh[worker], self.filled[worker] * self.words
        if old.size < used + count * self.words:
            self.fresh[worker] = np.empty(max(used * 2, used + count * self.words), np.int64)
            self.fresh[worker][:used] = old[:used]

    def _enlarge(self, segment: int) -> None:
        old = self.tables[segment]
        size = self.words * _larger(old.size // self.words)
        if self.nbytes + 8 * size > self.memory_limit:
            raise OutOfMemory
        table = np.zeros(size, np.int64)
        self.code.enlarge(old, table, self.initial)
        self.tables[segment] = table

    def take(self, each: Each) -> Words:
        """Return the states that were new since the last call, in order."""
        found = [f[: n * self.words].view(np.uint64) for f, n in zip(self.fresh, self.filled, strict=True)]
        total, self.filled = sum(self.filled), [0] * self.threads
        workers = self.threads if total >= SMALL else 1
        keys = np.concatenate([f[:: self.words * (1 + total // SAMPLE)] for f in found])
        keys.sort()
        cuts = [int(keys[keys.size * n // workers]) for n in range(1, workers)]
        ends = [0, *cuts, 2**64]

        def one(number: int) -> Column:
            if self.spare[number][0].size < (total + 1) * self.words:
                room = (total + 1) * self.words * 5 // 4
                self.spare[number] = np.empty(room, np.uint64), np.empty(room, np.uint64)
            mine, other = self.spare[number]
            count, low, high = 0, np.uint64(ends[number]), np.uint64(ends[number + 1] - 1)
            if ends[number] < ends[number + 1]:
                for part in found:
                    count = self.code.select(part, low, high, mine, count)
            made: Column = self.code.sort(mine[: count * self.words], other[: count * self.words])
            return made.reshape(-1, self.words)

        parts = each(one, range(workers))
        return tuple(np.concatenate([part[:, n] for part in parts]) for n in range(self.words))


def _larger(slots: int) -> int:
    return 4 * slots if slots < LARGE else slots + slots // 2
