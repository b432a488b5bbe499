"""Seen: what the compiled search has seen, in tables, and what it has made and not yet looked up, in buffers.

Both are in parts by the hash of a state.  Each thread has a buffer of its own, and each segment of the table is one
thread's while the buffers are emptied.
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
"""States of a part of a buffer, where memory allows, and of one for the largest tables: so many that a stretch of the
table is worth fetching for them."""
SAMPLE = 1 << 12
"""States of a level by which it is divided among threads to be sorted."""
LARGE = 1 << 20
"""Slots of a segment from which on it grows by half, where it quadruples before."""
Numbers = NDArray[np.int64]
Column = NDArray[np.uint64]
Each = Callable[[Callable[[int], Any], Sequence[int]], list[Any]]
"""Calls a function with each of these numbers, in threads."""


class Seen:
    """States of ``initial.size`` columns; the initial one has been seen.  ``code``: compiled from `emit_table`;
    ``least_room``: states that a part of a buffer must hold."""

    def __init__(self, code: Any, initial: Numbers, threads: int, least_room: int, memory_limit: int) -> None:
        self.code, self.initial, self.threads = code, initial, threads
        self.words, self.least_room, self.memory_limit = initial.size, least_room, memory_limit
        self.tables = [np.zeros(self.words << 10, np.int64) for _ in range(SEGMENTS)]
        self.counts = [0] * SEGMENTS
        self.recent = [np.tile(initial, 1 << RECENT_BITS) for _ in range(threads)]
        # Kept from level to level, since memory that is asked for anew is cleared first.
        self.fresh, self.filled = [np.empty(0, np.int64) for _ in range(threads)], [0] * threads
        self.spare = [(np.empty(0, np.uint64), np.empty(0, np.uint64)) for _ in range(threads)]
        self._make_room(ROOM)
        # Called with nothing to do, so that they are compiled before the search begins, which is timed by itself.
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
        """Bytes that the tables will grow by with so many more states, evenly spread."""
        more = 0
        for table, count in zip(self.tables, self.counts, strict=True):
            slots = before = table.size // self.words
            while slots * LARGEST_LOAD < count + new / SEGMENTS:
                slots = _larger(slots)
            more += 8 * self.words * (slots - before)
        return more

    def _make_room(self, room: int) -> None:
        """For so many states in each part of the buffers, or fewer, as memory allows."""
        allowed = self.memory_limit // 8 // (self.threads * PARTS * self.words * 8)
        self.room = max(self.least_room, min(room, allowed))
        self.buffers = np.empty((self.threads, PARTS * self.room * self.words), np.int64)
        self.sizes = np.zeros((self.threads, PARTS), np.uint64)

    def prepare(self) -> None:
        """Before a level: larger buffers for larger tables."""
        slots = sum(t.size for t in self.tables) // self.words
        if (room := min(MOST_ROOM, slots // (4 * self.threads * PARTS))) > self.room:
            self._make_room(room)

    def empty(self, workers: int, each: Each) -> int:
        """Puts what is in the buffers into the tables, and keeps what was new; how many states were in them."""
        count = int(self.sizes.sum())
        each(partial(self._insert, workers), range(workers))
        self.sizes[:] = 0
        return count

    def _insert(self, workers: int, worker: int) -> None:
        """One thread's share of all buffers."""
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
        """Room for so many new states more."""
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
        """The states that were new since this was called last, in order."""
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
