"""Traces: the way from the initial state to a state of some level, found again by expanding the level before it.

No predecessors are kept: of each level on the way back, blocks are expanded until the state appears.  The first
predecessor in the order of the level is taken, and its first instance, so that the same search gives the same trace.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from fencepost.proofs.engines.explore import sets
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.readings.ground import Instance
from fencepost.proofs.results import Event, State, Trace

# Small enough that a predecessor near the start of a level costs little.
BLOCK = 1 << 13


class Expansion:
    """All successors of a block: ``words``, with the row of each one's predecessor and the number of its instance."""

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
    """Shortest traces by property.  Each is found again only when it is asked for: few traces of a search are ever
    asked for."""

    def __init__(self) -> None:
        self._steps: dict[str, int] = {}
        self._find: dict[str, Callable[[], Trace]] = {}
        self._found: dict[str, Trace] = {}

    def add(self, name: str, steps: int, find: Callable[[], Trace]) -> None:
        self._steps[name], self._find[name] = steps, find

    def steps(self, name: str) -> int:
        """How long the trace is."""
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
    words = [int(w[0]) for w in sets.to_words(sets.part(states, row, row + 1))]
    return kernels.ground.decode(kernels.packing.unpack(words))


def predecessor(kernels: Kernels, level: Words, state: Words) -> tuple[int, Instance]:
    """Row and instance of a step from ``level`` to ``state`` (set columns of length 1)."""
    target = sets.to_words(state)
    for start in range(0, sets.size(level), BLOCK):
        made = Expansion(kernels, sets.part(level, start, start + BLOCK))
        hit = made.words[0] == target[0]
        for word, wanted in zip(made.words[1:], target[1:], strict=True):
            hit &= word == wanted
        found = hit.nonzero()[0]
        if found.size:
            # Successors stand instance by instance; the smallest row is what does not depend on the block.
            best = found[made.rows[found].argmin()]
            return start + int(made.rows[best]), kernels.instances[int(made.instances[best])]
    raise AssertionError(
        "a state of a level has no predecessor in the level before: the search and the expansion disagree"
    )


def trace_to(kernels: Kernels, levels: list[Words], depth: int, row: int) -> Trace:
    """A shortest trace to that state."""
    states = [state_at(kernels, levels[depth], row)]
    events = []
    for level in range(depth - 1, -1, -1):
        row, instance = predecessor(kernels, levels[level], sets.part(levels[level + 1], row, row + 1))
        states.append(state_at(kernels, levels[level], row))
        events.append(instance.event)
    return Trace(tuple(reversed(states)), tuple(reversed(events)))


def runs_to(kernels: Kernels, levels: list[Words], places: Sequence[tuple[int, int]]) -> list[tuple[Event, ...]]:
    """A shortest run to each of these states, given as (depth, row): levels are expanded once for all of them."""
    runs: list[list[Event]] = [[] for _ in places]
    at: dict[int, int] = {}  # the row that each run has come to, on its way back
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
    """A shortest trace to that state, and one step further."""
    before = trace_to(kernels, levels, depth, row)
    made = Expansion(kernels, sets.part(levels[depth], row, row + 1))
    at = int((made.instances == instance).argmax())
    words = [int(w[at]) for w in made.words]
    last = kernels.ground.decode(kernels.packing.unpack(words))
    return Trace((*before.states, last), (*before.events, kernels.instances[instance].event))
