"""Walks: a model run step by step in the plain reading, with its promises watched."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import bound_of
from fencepost.proofs.readings.plain import Plain, freeze
from fencepost.proofs.results import Event, State, Trace

REMEMBERED = 50_000
"""States whose steps are kept, since random walks come by the same ones again and again."""

Step = tuple[Event, State]


@dataclass
class Walk:
    """One run from the initial state; ``spent``: how often a budget has been drawn on; ``start``: how many of its
    events led to where it set out."""

    states: list[State]
    events: list[Event] = field(default_factory=list)
    spent: Counter[str] = field(default_factory=Counter)
    start: int = 0

    @property
    def state(self) -> State:
        return self.states[-1]

    @property
    def trace(self) -> Trace:
        return Trace(tuple(self.states), tuple(self.events))


class Walker:
    """The steps that a settled protocol allows within bounds, and which of ``promises`` (of states and of steps) they
    break."""

    def __init__(self, spec: Spec, promises: Mapping[str, Property], bounds: Mapping[str, int]) -> None:
        self.spec, self.promises, self.bounds = spec, dict(promises), dict(bounds)
        self.plain = Plain(spec, {name: bound_of(bounds, name) for name in spec.constants}, dict(bounds))
        self._steps: dict[tuple[object, ...], list[Step]] = {}
        self._instances = {name: list(self.plain.events(name)) for name in spec.actions}

    def walk(self) -> Walk:
        """One that has not set out yet."""
        return Walk([self.plain.initial()])

    def steps(self, walk: Walk) -> list[Step]:
        """The steps that are possible next, in the order of the protocol."""
        key = (*freeze(walk.state), *sorted(walk.spent.items()))
        found = self._steps.get(key)
        if found is None:
            if len(self._steps) >= REMEMBERED:
                self._steps.clear()
            found = self._steps[key] = list(self._allowed(walk))
        return found

    def _allowed(self, walk: Walk) -> Iterator[Step]:
        plain, state = self.plain, walk.state
        for name, action in self.spec.actions.items():
            if action.budget is not None and walk.spent[action.budget] >= bound_of(self.bounds, action.budget):
                continue
            for event in self._instances[name]:
                if plain.enabled(state, event) and (after := plain.step(state, event)) is not None:
                    yield event, after

    def take(self, walk: Walk, step: Step) -> str | None:
        """Goes on by one step; the promise that it breaks, if it breaks one."""
        event, after = step
        before, budget = walk.state, self.spec.actions[event.action].budget
        walk.events.append(event)
        walk.states.append(after)
        if budget is not None:
            walk.spent[budget] += 1
        return self.broken(before, after)

    def broken(self, before: State, after: State) -> str | None:
        """The first promise that a step breaks, or the state after it."""
        for name, item in self.promises.items():
            held = self.plain.holds(item, before, after) if item.kind == "step" else self.plain.holds(item, after)
            if not held:
                return name
        return None

    def follow(self, events: Sequence[Event], *, helping: bool = False) -> tuple[Walk, str | None]:
        """The run of these events up to the first broken promise, without those that cannot happen where they are due;
        ``helping``: or with one more step before, if then they can."""
        walk = self.walk()
        for event in events:
            for step in self._leading_to(walk, event, helping):
                if broken := self.take(walk, step):
                    return walk, broken
        return walk, None

    def _leading_to(self, walk: Walk, event: Event, helping: bool) -> list[Step]:
        """The event as a step, perhaps after another one."""
        steps = self.steps(walk)
        for step in steps:
            if step[0] == event:
                return [step]
        for first in steps if helping else ():
            if self.plain.enabled(first[1], event) and (after := self.plain.step(first[1], event)) is not None:
                return [first, (event, after)]
        return []
