"""Compiled: the search with numba, a hash table instead of sorted runs.  It compiles for seconds, and pays above some
10 million states.

Each thread expands a part of the frontier into one buffer per owner of states (a hash of the state says which owner);
then each owner puts what is new into its own table.  The new states are sorted into a level, so that counts and traces
are those of the NumPy engine.
"""

from functools import partial
from typing import Any

import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs import kept_code
from fencepost.proofs.engines.explore import sets
from fencepost.proofs.engines.explore.checkpoint import Checkpoint
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.engines.explore.scalar import emit_scalar
from fencepost.proofs.engines.explore.search import Found, OutOfMemory, Search
from fencepost.proofs.extras import how_to_install
from fencepost.proofs.readings.ground import BoundsError
from numpy.typing import NDArray

ROOM = 1 << 17
# From this size on a table doubles when it grows, before it quadruples.
LARGE = 1 << 22
# As many states as half a core's cache holds.
RECENT = 1 << 15

MIX = -7046029254386353131
_HEAD = f'''"""Made by fencepost for one protocol and its bounds; safe to delete."""
import numba
import numpy as np

MIX = np.int64({MIX})


@numba.njit(cache=True, nogil=True)
'''
_INSERT = '''

@numba.njit(cache=True, nogil=True)
def insert(table, special, states, fresh):
    """Puts states into the table (size a power of two; kept as state + 1, 0 is empty); how many were new."""
    mask, new = table.size - 1, 0
    shift = 64 - int(np.log2(table.size))
    slots = np.empty(256, np.int64)
    touched = np.int64(0)
    for start in range(0, states.size, 256):
        stop = min(start + 256, states.size)
        # All of a batch is read without a branch first, so that its cache misses overlap.
        for n in range(start, stop):
            x = states[n]
            slots[n - start] = (((x ^ (x >> 32)) * MIX) >> shift) & mask
            touched ^= table[slots[n - start]]
        for n in range(start, stop):
            x, slot = states[n], slots[n - start]
            if x == -1:
                if not special[0]:
                    special[0] = True
                    fresh[new] = x
                    new += 1
                continue
            while table[slot] != 0 and table[slot] != x + 1:
                slot = (slot + 1) & mask
            if table[slot] == 0:
                table[slot] = x + 1
                fresh[new] = x
                new += 1
    return new, touched


@numba.njit(cache=True, nogil=True)
def rehash(old, table):
    """The high bits of the hash choose the slot, so both tables are gone through in order."""
    mask = table.size - 1
    shift = 64 - int(np.log2(table.size))
    for n in range(old.size):
        key = old[n]
        if key != 0:
            x = key - 1
            slot = (((x ^ (x >> 32)) * MIX) >> shift) & mask
            while table[slot] != 0:
                slot = (slot + 1) & mask
            table[slot] = key
'''


class NotInstalled(InputError):
    """numba is asked for and not there."""


class CompiledSearch(Search):
    """The compiled search, with the interface of `Search`; ``runs`` stays empty, ``tables`` holds what has been seen,
    one per owner."""

    @classmethod
    def taking_over(cls, search: Search) -> "CompiledSearch":
        """Goes on where another search is, with its levels, which that one must not go on with."""
        made = cls(search.kernels, search.threads, search.memory_limit, search.disk)
        made.take_over(search)
        return made

    def _append(self, level: Words) -> None:
        """Puts what was found before into the tables."""
        super()._append(level)
        self.runs.clear()
        if len(self.levels) > 1 and sets.size(level):
            states = level[0].view(np.int64)
            owners = _owners(states, self.threads)
            self._each(partial(self._take, states, owners), range(self.threads))

    def __init__(self, kernels: Kernels, threads: int, memory_limit: int, disk: Checkpoint | None = None) -> None:
        if kernels.packing.words > 1:
            raise BoundsError("engine='numba' packs a state into 64 bits, and this one takes more; use engine='numpy'")
        if kernels.symmetry is not None:
            raise BoundsError("engine='numba' does not search up to names; use engine='numpy'")
        self.module = load_compiled(kernels)
        super().__init__(kernels, threads, memory_limit, disk)
        self.tables = [np.zeros(1 << 16, np.int64) for _ in range(threads)]
        self.special = [np.zeros(1, np.bool_) for _ in range(threads)]
        self.counts = [0] * threads
        # The owner of the initial state is told by the same hash as all others', by letting it through every table.
        first = self.levels[0][0].view(np.int64)
        for owner in range(threads):
            self.module.insert(self.tables[owner], self.special[owner], first, np.empty(1, np.int64))
        self.recent = [np.full(RECENT, first[0]) for _ in range(threads)]
        self.buffers = [np.empty((threads, ROOM + len(kernels.instances)), np.int64) for _ in range(threads)]
        # Called with nothing to do, so that they are compiled before the search begins, which is timed by itself.
        sizes = np.zeros(threads, np.int64)
        self.module.expand(first, 0, 0, self.buffers[0], sizes, self.recent[0], *self._counters())
        self.module.rehash(np.zeros(2, np.int64), np.zeros(4, np.int64))

    @property
    def held(self) -> int:
        return self._levels_held * 8 + sum(t.nbytes for t in self.tables) + sum(b.nbytes for b in self.buffers)

    def step(self) -> Found:
        frontier, found = self.levels[-1][0].view(np.int64), Found()
        ends = np.linspace(0, frontier.size, self.threads + 1).astype(np.int64).tolist()
        starts, fresh = ends[:-1], list[NDArray[np.int64]]()
        counts = [self._counters() for _ in range(self.threads)]
        self.candidates = 0
        while any(start < end for start, end in zip(starts, ends[1:], strict=True)):
            sizes = [np.zeros(self.threads, np.int64) for _ in range(self.threads)]

            def expand(t: int, starts: list[int] = starts, sizes: list[NDArray[np.int64]] = sizes) -> int:
                made: int = self.module.expand(
                    frontier, starts[t], ends[t + 1], self.buffers[t], sizes[t], self.recent[t], *counts[t]
                )
                return made

            starts = self._each(expand, range(self.threads))
            self.candidates += sum(int(s.sum()) for s in sizes)
            fresh += self._each(partial(self._insert, sizes), range(self.threads))
            if self.held > self.memory_limit:
                raise OutOfMemory
        self._settle(counts, found)
        level: Words = (np.concatenate(fresh).view(np.uint64),) if fresh else (np.zeros(0, np.uint64),)
        level[0].sort()
        self.levels.append(self._kept(level))
        return found

    def _counters(self) -> tuple[NDArray[np.int64], ...]:
        """taken, cut, broken, stuck of one thread."""
        count = len(self.kernels.instances)
        broken = np.full((max(1, len(self.kernels.steps)), 2), -1, np.int64)
        return np.zeros(count, np.int64), np.zeros(count, np.int64), broken, np.zeros(1, np.int64)

    def _insert(self, sizes: list[NDArray[np.int64]], owner: int) -> NDArray[np.int64]:
        """Puts the states that this owner was given into its table, and keeps those that were not there."""
        parts = [b[owner, : int(s[owner])] for b, s in zip(self.buffers, sizes, strict=True)]
        return self._put(owner, np.concatenate(parts)).copy()

    def _take(self, states: NDArray[np.int64], owners: NDArray[np.int64], owner: int) -> None:
        self._put(owner, states[owners == owner])

    def _put(self, owner: int, states: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those that the table of the owner did not have."""
        while self.counts[owner] + states.size > self.tables[owner].size // 2:
            old = self.tables[owner]
            larger = np.zeros(old.size * (4 if old.size < LARGE else 2), np.int64)
            self.module.rehash(old, larger)
            self.tables[owner] = larger
        fresh = np.empty(states.size, np.int64)
        new, _ = self.module.insert(self.tables[owner], self.special[owner], states, fresh)
        self.counts[owner] += new
        return fresh[:new]

    def _settle(self, counts: list[tuple[NDArray[np.int64], ...]], found: Found) -> None:
        for taken, cut, broken, stuck in counts:
            tally = self.kernels.tally()
            tally.taken, tally.cut, tally.stuck = taken.tolist(), cut.tolist(), int(stuck[0])
            self._count(tally)
            for prop, (row, instance) in enumerate(broken.tolist()):
                if row >= 0:
                    found.step[prop] = min((row, instance), found.step.get(prop, (row, instance)))


def _owners(states: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Whose each state is, as ``expand`` has it."""
    hashed = (states ^ (states >> 32)) * np.int64(MIX)
    return ((hashed >> 16) & 0xFFFF) % count


def is_possible(kernels: Kernels) -> bool:
    """Whether numba is there, and searches so, with states of one word and each by itself."""
    return kernels.packing.words == 1 and kernels.symmetry is None and kept_code.is_possible()


def was_compiled(kernels: Kernels) -> bool:
    """Whether the code for this protocol and its bounds is in the cache."""
    return kept_code.is_kept(_source_of(kernels), "expand")


def _source_of(kernels: Kernels) -> str:
    return _HEAD + emit_scalar(kernels.ground, kernels.packing) + _INSERT


def load_compiled(kernels: Kernels) -> Any:
    """The compiled module."""
    if not kept_code.is_possible():
        raise NotInstalled(
            f"engine='numba' needs numba, which is not installed: {how_to_install('fast')}, or use engine='numpy'"
        )
    return kept_code.load(_source_of(kernels))
