"""Graph: the reachable states with the steps between them, as arrays, and samples of the states.

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
    """``source[i] -> target[i]`` by ``instance[i]``, sorted by source; ``depth`` of each state.

    ``stopped_state[i]``: there the protocol allows ``stopped_instance[i]``, of a fair action, and only the bounds do
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
    """The graph has more steps than allowed."""


def blocks(exploration: Exploration) -> Iterator[tuple[int, Words]]:
    """All states in blocks of set columns, each with the number of its first state."""
    first = 0
    for level in exploration.states:
        for start in range(0, sets.size(level), BLOCK):
            yield first + start, sets.part(level, start, start + BLOCK)
        first += sets.size(level)


def graph(exploration: Exploration, max_steps: int = 40_000_000) -> Graph:
    """The explored graph, 24 bytes a step.  TooManySteps beyond ``max_steps``; ValueError of a search that has not all
    states."""
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
    """From a state to its number: all levels in one sorted set, each with its number."""

    def __init__(self, levels: list[Words]) -> None:
        joined = sets.join(levels)
        rows = sets.order_of(joined)
        self.states, self.rows = sets.pick(joined, rows), rows

    def numbers(self, states: Words) -> NDArray[np.int64]:
        """The number of each state; -1 where it is not known."""
        # Looked up in order: at random each look-up would miss the cache some twenty times.
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
    """``n`` distinct reachable states (all, if there are fewer), drawn evenly; the same seed draws the same states."""
    count = exploration.distinct
    firsts = np.concatenate(([0], np.cumsum(exploration.levels)))
    rows = np.sort(np.random.default_rng(seed).choice(count, size=min(n, count), replace=False))
    depths = np.searchsorted(firsts, rows, side="right") - 1
    return [
        state_at(exploration.kernels, exploration.states[int(d)], int(row - firsts[d]))
        for row, d in zip(rows, depths, strict=True)
    ]
