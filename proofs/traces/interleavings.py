"""This module searches for an order of a recording's rows, with hidden steps between them, that is a run of the model.

The rows of each source stay in order. The search tries, depth first, which source is next and the values that no row
contains. The search does not continue from a state that was met before at the same place. If some order leads to the
end, the recording is a run of the model. If none was found, nothing is decided, because another order, or a hidden step
that is not considered here, may explain it. So a recording that cannot be followed is never a violation; it is reported
with the row, what is false there, and the step that came nearest."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from fencepost.proofs.results import Event, State
from fencepost.proofs.testing.readings import Reading, read_followed
from fencepost.proofs.testing.stepping import Candidate, Stepper
from fencepost.properties.conformance_spec import FalseConjunct
from fencepost.properties.trace_spec import Recorded, Source, Sources

TRIED = 3
"""The search ends after this many states per row."""
AT_LEAST = 3_000
SOUGHT = 200_000
"""The search for an enabled step tries at most this many choices of an action's parameters."""

Places = tuple[int, ...]


@dataclass(frozen=True)
class Blocked:
    """A `Blocked` is a row that could not come next where the search got furthest, with what was false there."""

    source: str
    row: Recorded
    false: tuple[FalseConjunct, ...]


@dataclass(frozen=True)
class Merged:
    """A `Merged` is the result of a search: ``followed`` of ``rows`` rows were followed in the best order, up to the
    model's ``state``. ``whole`` means to the end of every source. If the search got stuck, ``blocked`` has the next row
    of each source, in order of rows. ``exhausted`` means that no other order is left to try; ``states`` is the number
    of states tried."""

    followed: int
    rows: int
    whole: bool
    states: int
    state: State
    blocked: tuple[Blocked, ...] = ()
    exhausted: bool = False


@dataclass(frozen=True)
class _Node:
    places: Places
    candidate: Candidate


class Merging:
    """A `Merging` is one search for an order."""

    def __init__(self, sources: Sources) -> None:
        self.sources = [source for source in sources.sources if source.rows]
        self.reading: Reading = read_followed(sources.followed)
        self.interpreter = sources.followed.interpreter()
        self.stepper = Stepper(self.reading, self.interpreter)
        number = {source.name: i for i, source in enumerate(self.sources)}
        self.after = [
            [tuple((number[name], rows) for name, rows in row.after if name in number) for row in source.rows]
            for source in self.sources
        ]
        self.ends = tuple(len(source.rows) for source in self.sources)

    def follow(self) -> Merged:
        """Return the first order that leads to the end, or how far the best one got."""
        most = max(AT_LEAST, TRIED * sum(self.ends))
        first = _Node((0,) * len(self.ends), Candidate(self.reading.plain.initial(), (), False))
        best, met, stack = first, {self._key(first)}, [self._next(first)]
        while stack and len(met) < most:
            node = next(stack[-1], None)
            if node is None:
                stack.pop()
                continue
            if (key := self._key(node)) in met:
                continue
            met.add(key)
            if sum(node.places) > sum(best.places):
                best = node
            if node.places == self.ends:
                return self._merged(node, len(met))
            stack.append(self._next(node))
        return self._merged(best, len(met), exhausted=not stack)

    def _next(self, node: _Node) -> Iterator[_Node]:
        later = []
        for which, source in enumerate(self.sources):
            row = self._row(node.places, which, source)
            if row is None:
                continue
            places = (*node.places[:which], node.places[which] + 1, *node.places[which + 1 :])
            for full in self.interpreter.choices(
                node.candidate.state, self.reading.observations[row.kind], row.columns
            ):
                if full.get("unlikely"):
                    later.append((places, row.kind, full))
                    continue
                yield from self._applied(node, places, row.kind, full)
        for places, kind, full in later:
            yield from self._applied(node, places, kind, full)

    def _applied(self, node: _Node, places: Places, kind: str, full: Any) -> Iterator[_Node]:
        after = self.stepper.apply_chosen(node.candidate, kind, full)
        if after is not None:
            yield _Node(places, after.candidate)

    def _row(self, places: Places, which: int, source: Source) -> Recorded | None:
        place = places[which]
        if place == self.ends[which] or any(places[other] < rows for other, rows in self.after[which][place]):
            return None
        return source.rows[place]

    def _merged(self, node: _Node, states: int, exhausted: bool = False) -> Merged:
        followed = sum(place for place, source in zip(node.places, self.sources, strict=True) if not _hidden(source))
        rows = sum(len(source.rows) for source in self.sources if not _hidden(source))
        blocked = [
            Blocked(source.name, row, self.stepper.why_not([node.candidate], [(row.kind, row.columns)]))
            for which, source in enumerate(self.sources)
            if (row := self._row(node.places, which, source)) is not None
        ]
        blocked.sort(key=lambda b: b.row.row)
        return Merged(
            followed, rows, node.places == self.ends, states, node.candidate.state, tuple(blocked), exhausted
        )  # fmt: skip

    def changed(self, state: State) -> State:
        """Return the part of a state that differs from the initial state."""
        initial, found = self.reading.plain.initial(), dict(state)
        for name, value in state.items():
            was = initial[name]
            if isinstance(value, dict):
                found[name] = {key: entry for key, entry in value.items() if was.get(key) != entry}
            else:
                found[name] = type(value)() if value == was else value
        return found

    def nearest_step(self, merged: Merged) -> Event | None:
        """Return a step that the model could take where a row could not come next. One of the row's own actions is
        preferred, with as many of the row's numbers as possible."""
        if not merged.blocked:
            return None
        row = merged.blocked[0].row
        plain, named = self.reading.plain, {v for v in row.columns.values() if type(v) is int}
        own = [false.action for false in merged.blocked[0].false]
        own += [step.action for step in self.reading.observations[row.kind].steps]
        for action in dict.fromkeys(a for a in [*own, *plain.spec.actions] if a in plain.spec.actions):
            if prod(len(plain.domain(kind)) for _, kind in plain.spec.actions[action].parameters) > SOUGHT:
                continue
            if steps := [event for event in plain.events(action) if plain.enabled(merged.state, event)]:
                return min(steps, key=lambda event: sum(v not in named for v in event.parameters.values()))
        return None

    def _key(self, node: _Node) -> Any:
        values = node.candidate.state.values()
        return node.places, tuple(frozenset(v.items()) if isinstance(v, dict) else v for v in values)


def _hidden(source: Source) -> bool:
    return all(row.hidden for row in source.rows)
