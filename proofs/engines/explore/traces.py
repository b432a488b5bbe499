"""This module finds the run from the initial state to a state of some level, by expanding the level before it again.

No predecessors are stored. In each level on the way back, blocks are expanded until the state appears. The first
predecessor in the order of the level is taken, and its first instance, so that the same search gives the same trace.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_

import numpy as np
from fencepost.proofs.engines.explore import sets
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.readings.ground import Instance
from fencepost.proofs.results import Event, State, Trace
from numpy.typing import NDArray

# Small enough that a predecessor near the start of a level costs little.
BLOCK = 1 << 13
EXPANDED_ONCE = 1 << 11
"""A level of at most this many states is expanded once for all runs through it."""


class Expansion:
    """An `Expansion` has all successors of a block as ``words``, with each one's predecessor row and instance."""

    def __init__(self, kernels: Kernels, states: Words) -> None:
        count = sets.size(states)
        room = count * len(kernels.instances)
        out = tuple(np.empty(room, np.uint64) for _ in range(kernels.packing.words))
        rows = np.empty(room, np.int64)
        tally = kernels.tally()
        size = kernels.expand(sets.to_words(states), out, rows, tally)
        self.words = tuple(o[:size] for o in out)
        self.rows = rows[:size]
        self.instances = np.repeat(np.arange(len(tally.taken)), tally.taken)


class Traces(Mapping[str, Trace]):
    """A `Traces` has shortest traces by property, each computed on demand, because few of them are ever used."""

    def __init__(self) -> None:
        self._steps: dict[str, int] = {}
        self._find: dict[str, Callable[[], Trace]] = {}
        self._found: dict[str, Trace] = {}

    def add(self, name: str, steps: int, find: Callable[[], Trace]) -> None:
        self._steps[name], self._find[name] = steps, find

    def steps(self, name: str) -> int:
        return self._steps[name]

    def __getitem__(self, name: str) -> Trace:
        if name not in self._found:
            self._found[name] = self._find[name]()
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)


def state_at(kernels: Kernels, states: Words, row: int) -> State:
    return _decoded(kernels, sets.to_words(sets.part(states, row, row + 1)))


def predecessor(kernels: Kernels, level: Words, state: Words) -> tuple[int, int]:
    """Return the row and the instance number of a step from ``level`` to ``state`` (set columns of length 1), or to a
    state for which that one is stored."""
    target, symmetry = sets.to_words(state), kernels.symmetry
    for start in range(0, sets.size(level), BLOCK):
        made = _expanded(kernels, level, start)
        hit = _are(made.words if symmetry is None else symmetry.least(made.words), target)
        found = hit.nonzero()[0]
        if found.size:
            # Successors are ordered by instance. Only the smallest row does not depend on the block.
            best = found[made.rows[found].argmin()]
            return start + int(made.rows[best]), int(made.instances[best])
    raise AssertionError(
        "a state of a level has no predecessor in the level before: the search and the expansion disagree"
    )


def _expanded(kernels: Kernels, level: Words, start: int) -> Expansion:
    if sets.size(level) > EXPANDED_ONCE:
        return Expansion(kernels, sets.part(level, start, start + BLOCK))
    known = kernels.expanded.get(id(level))
    if known is None or known[0] is not level:
        made = Expansion(kernels, level)
        made.words, made.rows = tuple(word.copy() for word in made.words), made.rows.copy()  # without the room for more
        known = kernels.expanded[id(level)] = level, made
    return known[1]


def _are(words: Words, one: Words) -> NDArray[np.bool_]:
    return reduce(and_, (word == wanted for word, wanted in zip(words, one, strict=True)))


def trace_to(kernels: Kernels, levels: list[Words], depth: int, row: int) -> Trace:
    """Return a shortest trace to a row of a level, or to a state that the row is stored for."""
    way = _way(kernels, levels, depth, row)
    return _run(kernels, levels, way, way[0][0] if way else row)


def _way(kernels: Kernels, levels: list[Words], depth: int, row: int) -> list[tuple[int, int]]:
    """Return, from the first level on, the row at which each step begins, and the number of its instance."""
    found = []
    for level in range(depth - 1, -1, -1):
        row, number = predecessor(kernels, levels[level], sets.part(levels[level + 1], row, row + 1))
        found.append((row, number))
    return found[::-1]


def _run(kernels: Kernels, levels: list[Words], way: Sequence[tuple[int, int]], first: int) -> Trace:
    """Return the run of some steps from row ``first`` of the first level, with real names, since a level stores one of
    the states that differ in names."""
    symmetry = kernels.symmetry
    at = sets.to_words(sets.part(levels[0], first, first + 1))
    states, events = [_decoded(kernels, at)], []
    for place, (row, number) in enumerate(way):
        words = sets.to_words(sets.part(levels[place], row, row + 1))
        if symmetry is None and place + 1 < len(way):  # the next step begins in the very state to which this one leads
            next_row = way[place + 1][0]
            after = sets.to_words(sets.part(levels[place + 1], next_row, next_row + 1))
        else:
            after = _after(kernels, words, number)
        event = kernels.instances[number].event
        if symmetry is not None:
            after = symmetry.renamed(words, at)(after)
            event = _event(kernels, at, after, event.action)
        at = after
        states.append(_decoded(kernels, at))
        events.append(event)
    return Trace(tuple(states), tuple(events))


def _after(kernels: Kernels, words: Words, instance: int) -> Words:
    made = Expansion(kernels, sets.to_set_order(words))
    at = int((made.instances == instance).argmax())
    return tuple(w[at : at + 1] for w in made.words)


def _event(kernels: Kernels, before: Words, after: Words, action: str) -> Event:
    made = Expansion(kernels, sets.to_set_order(before))
    for at in _are(made.words, after).nonzero()[0]:
        event = kernels.instances[int(made.instances[at])].event
        if event.action == action:
            return event
    raise AssertionError(f"a step of {action} is not possible under other names, under which it should be")


def _decoded(kernels: Kernels, words: Words) -> State:
    return kernels.ground.decode(kernels.packing.unpack([int(w[0]) for w in words]))


def runs_to(kernels: Kernels, levels: list[Words], places: Sequence[tuple[int, int]]) -> list[tuple[Event, ...]]:
    """Return a shortest run to each of these states, given as (depth, row). Levels are expanded once for all."""
    runs: list[list[Event]] = [[] for _ in places]
    at: dict[int, int] = {}  # the row of each run on the way back
    for depth in range(max((d for d, _ in places), default=0), 0, -1):
        at |= {n: row for n, (d, row) in enumerate(places) if d == depth}
        for n, (row, instance) in _predecessors(kernels, levels[depth - 1], levels[depth], at).items():
            at[n] = row
            runs[n].append(instance.event)
    return [tuple(reversed(run)) for run in runs]


def _predecessors(
    kernels: Kernels, before: Words, level: Words, at: Mapping[int, int]
) -> dict[int, tuple[int, Instance]]:
    rows = sorted(set(at.values()))
    wanted = sets.to_words(sets.pick(level, np.array(rows)))
    of_row: dict[int, tuple[int, Instance]] = {}
    for start in range(0, sets.size(before), BLOCK):
        if len(of_row) == len(rows):
            break
        made = Expansion(kernels, sets.part(before, start, start + BLOCK))
        near = np.isin(made.words[0], wanted[0]).nonzero()[0]
        for number, row in enumerate(rows):
            if row in of_row:
                continue
            hit = near
            for word, column in zip(made.words, wanted, strict=True):
                hit = hit[word[hit] == column[number]]
            if hit.size:
                best = hit[made.rows[hit].argmin()]
                of_row[row] = start + int(made.rows[best]), kernels.instances[int(made.instances[best])]
    return {n: of_row[row] for n, row in at.items()}


def trace_step(kernels: Kernels, levels: list[Words], depth: int, row: int, instance: int) -> Trace:
    way = [*_way(kernels, levels, depth, row), (row, instance)]
    return _run(kernels, levels, way, way[0][0])
