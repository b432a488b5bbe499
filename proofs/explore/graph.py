"""Graph: the reachable states with the steps between them, as arrays, and samples of the states.

States are numbered level by level in the order of each level, the initial state first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fencepost.proofs.explore import sets
from fencepost.proofs.explore.exploration import Exploration
from fencepost.proofs.explore.traces import Expansion, state_at
from fencepost.proofs.results import State

BLOCK = 1 << 14


@dataclass(frozen=True)
class Graph:
    """``source[i] -> target[i]`` by ``instance[i]``, sorted by source.  ``leaves``: states that a fair action would leave if a bound did not
    stop it.  ``truths``: columns of the conditions asked for.  States whose successors were not searched have no steps and are in ``leaves``."""

    states: int
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    instance: NDArray[np.int32]
    leaves: NDArray[np.bool_]


class TooManySteps(Exception):
    """The graph would not fit in the number of steps allowed."""


def graph(exploration: Exploration, max_steps: int = 20_000_000) -> Graph:
    """The explored graph.  TooManySteps beyond ``max_steps`` (24 bytes each): choose smaller bounds for progress."""
    if exploration.generated - 1 > max_steps:
        raise TooManySteps(f"{exploration.generated - 1} steps, more than {max_steps}; choose smaller bounds for progress properties")
    kernels, levels = exploration.kernels, exploration.states
    leaves_of = kernels.leaves()
    firsts = np.concatenate(([0], np.cumsum(exploration.levels)))
    order = _Order(levels, firsts)
    parts: list[tuple[NDArray[np.int64], ...]] = []
    leaves = np.zeros(exploration.distinct, np.bool_)
    for depth, level in enumerate(levels):
        for start in range(0, sets.size(level), BLOCK):
            block = sets.part(level, start, start + BLOCK)
            first = int(firsts[depth]) + start
            leaves[first : first + sets.size(block)] = leaves_of(sets.to_words(block))[0]
            made = Expansion(kernels, block)
            target = order.numbers(sets.to_set_order(made.words))
            rows = made.rows + first
            # Steps out of the explored part, of a search that was stopped.
            unknown = target < 0
            leaves[rows[unknown]] = True
            by_source = rows[~unknown].argsort(kind="stable")
            parts.append(tuple(a[~unknown][by_source] for a in (rows, target, made.instances)))
    source, target, instance = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Graph(exploration.distinct, source, target, instance.astype(np.int32), leaves)


class _Order:
    """From a state to its number: all levels in one sorted set, each with its number."""

    def __init__(self, levels: list[sets.Words], firsts: NDArray[np.int64]) -> None:
        joined = sets.join(levels)
        rows = np.lexsort(tuple(reversed(joined))) if len(joined) == 2 else joined[0].argsort()
        self.states, self.rows = sets.pick(joined, rows), rows

    def numbers(self, states: sets.Words) -> NDArray[np.int64]:
        """The number of each state; -1 where it is not known."""
        at = self.states[0].searchsorted(states[0])
        at = np.minimum(at, self.states[0].size - 1)
        if len(states) == 2:
            while True:
                wrong = (self.states[0][at] == states[0]) & (self.states[1][at] != states[1]) & (at + 1 < self.states[0].size)
                if not wrong.any():
                    break
                at = at + wrong
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
        state_at(exploration.kernels, exploration.states[int(d)], int(row - firsts[d])) for row, d in zip(rows, depths, strict=True)
    ]
