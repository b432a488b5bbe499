"""This module has the reachable states and the steps between them as arrays, and samples of the states.

States are numbered level by level in the order of each level, the initial state first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.engines.explore import sets
from fencepost.proofs.engines.explore.exploration import Exploration
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.engines.explore.traces import Expansion, state_at
from fencepost.proofs.results import State
from numpy.typing import NDArray

BLOCK = 1 << 14


@dataclass(frozen=True)
class Graph:
    """A `Graph` has the steps ``source[i] -> target[i]`` by ``instance[i]``, sorted by source, and the ``depth`` of
    each state.

    In state ``stopped_state[i]`` the protocol allows ``stopped_instance[i]``, of a fair action, and only the bounds do
    not. ``unsearched`` marks states with successors that were not searched.
    """

    depth: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    instance: NDArray[np.int64]
    stopped_state: NDArray[np.int64]
    stopped_instance: NDArray[np.int64]
    unsearched: NDArray[np.bool_]

    @property
    def states(self) -> int:
        return int(self.depth.size)


class TooManySteps(InputError):
    """This error means that the graph has more steps than allowed."""


def blocks(exploration: Exploration) -> Iterator[tuple[int, Words]]:
    """Yield all states in blocks of set columns, each with the number of its first state."""
    first = 0
    for level in exploration.states:
        for start in range(0, sets.size(level), BLOCK):
            yield first + start, sets.part(level, start, start + BLOCK)
        first += sets.size(level)


def graph(exploration: Exploration, max_steps: int = 40_000_000) -> Graph:
    """Return the explored graph, which takes 24 bytes for each step. Errors: TooManySteps beyond ``max_steps``, and
    ValueError for a search that did not store all states."""
    if exploration.kernels.symmetry is not None:
        raise ValueError("a search up to names has not all states, between which steps would lead")
    if exploration.kernels.partial_order is not None:
        raise ValueError("a search with partial order has not all states, between which steps would lead")
    if exploration.generated - 1 > max_steps:
        taken = exploration.generated - 1
        raise TooManySteps(
            f"the graph has {taken} steps, more than {max_steps}: choose smaller bounds, or allow more steps"
        )
    kernels, order = exploration.kernels, _Order(exploration.states)
    may_stop, stopped = kernels.stopped()
    unsearched = np.zeros(exploration.distinct, np.bool_)
    steps: list[tuple[NDArray[np.int64], ...]] = []
    stops: list[tuple[NDArray[np.int64], ...]] = []
    for first, block in blocks(exploration):
        for number, column in zip(may_stop, stopped(sets.to_words(block)), strict=True):
            rows = column.nonzero()[0] + first
            stops.append((rows, np.full(rows.size, number)))
        made = Expansion(kernels, block)
        target = order.numbers(sets.to_set_order(made.words))
        source = made.rows + first
        unsearched[source[target < 0]] = True
        remaining = (target >= 0).nonzero()[0]
        by_source = remaining[source[remaining].argsort(kind="stable")]
        steps.append((source[by_source], target[by_source], made.instances[by_source]))
    depth = np.repeat(np.arange(exploration.depth), exploration.levels)
    nothing = (np.zeros(0, np.int64),) * 2
    source, target, instance = (np.concatenate(columns) for columns in zip(*steps, strict=True))
    return Graph(depth, source, target, instance, *_columns(stops or [nothing]), unsearched)


def _columns(parts: list[tuple[NDArray[np.int64], ...]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first, second = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return first, second


class _Order:
    """An `_Order` maps each state to its number, by one sorted set of all levels."""

    def __init__(self, levels: list[Words]) -> None:
        joined = sets.join(levels)
        rows = sets.order_of(joined)
        self.states, self.rows = sets.pick(joined, rows), rows

    def numbers(self, states: Words) -> NDArray[np.int64]:
        """Return the number of each state, or -1 where it is unknown."""
        # The look-ups are in order, because each random one would miss the cache some twenty times.
        ordered = states[0].argsort()
        at = np.empty(states[0].size, np.int64)
        at[ordered] = self.states[0].searchsorted(states[0].take(ordered))
        at = np.minimum(at, self.states[0].size - 1)
        while len(states) > 1:
            # The first of several equal keys may be another state.
            same_key = (self.states[0][at] == states[0]) & (at + 1 < self.states[0].size)
            other = reduce(or_, (mine[at] != asked for mine, asked in zip(self.states[1:], states[1:], strict=True)))
            if not np.any(same_key & other):
                break
            at = at + (same_key & other)
        known = np.ones(at.size, np.bool_)
        for mine, asked in zip(self.states, states, strict=True):
            known &= mine[at] == asked
        return np.where(known, self.rows[at], -1)


def reachable_sample(exploration: Exploration, n: int, seed: int) -> list[State]:
    """Return ``n`` distinct reachable states, or all if there are fewer, drawn evenly by the seed."""
    count = exploration.distinct
    firsts = np.concatenate(([0], np.cumsum(exploration.levels)))
    rows = np.sort(np.random.default_rng(seed).choice(count, size=min(n, count), replace=False))
    depths = np.searchsorted(firsts, rows, side="right") - 1
    return [
        state_at(exploration.kernels, exploration.states[int(d)], int(row - firsts[d]))
        for row, d in zip(rows, depths, strict=True)
    ]
