"""This module has random walks, with the runs of the model from which they set out, and the choice among possible
steps."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import bound_of
from fencepost.proofs.engines.explore import Exploration, explore, sets
from fencepost.proofs.engines.explore.emit import columns
from fencepost.proofs.engines.explore.traces import runs_to, state_at
from fencepost.proofs.engines.simulate.distance import lower
from fencepost.proofs.readings.plain import Plain, freeze
from fencepost.proofs.results import Event, State, Trace

# Walks run a model step by step in the plain reading, and check its promises.

FINE = 1 << 16
"""A choice is a number below this."""
REMEMBERED = 50_000
"""The possible steps of this many states are cached, since random walks meet the same states again and again."""


@dataclass(eq=False, slots=True)
class Step:
    """A `Step` is possible in some state, with some budgets spent. What walks have found out of it is cached: the
    promise that it ``breaks``, if any, once it is ``judged``, and the steps that are possible ``then``."""

    event: Event
    after: State
    judged: bool = False
    breaks: str | None = None
    then: "Sequence[Step] | None" = None


@dataclass
class Walk:
    """A `Walk` is one run of the model from the initial state. ``spent`` counts how often each budget has been used.
    ``start`` is the number of events that led to where it set out, and ``last`` the latest step since then."""

    states: list[State]
    events: list[Event] = field(default_factory=list)
    spent: Counter[str] = field(default_factory=Counter)
    start: int = 0
    last: Step | None = None

    @property
    def state(self) -> State:
        return self.states[-1]

    @property
    def trace(self) -> Trace:
        return Trace(tuple(self.states), tuple(self.events))


class Walker:
    """A `Walker` takes steps that a settled protocol allows within bounds, and checks ``promises`` on them."""

    def __init__(self, spec: Spec, promises: Mapping[str, Property], bounds: Mapping[str, int]) -> None:
        self.spec, self.promises, self.bounds = spec, dict(promises), dict(bounds)
        self.plain = Plain(spec, {name: bound_of(bounds, name) for name in spec.constants}, dict(bounds))
        self._steps: dict[tuple[object, ...], Sequence[Step]] = {}
        self._instances = {name: list(self.plain.events(name)) for name in spec.actions}

    def walk(self) -> Walk:
        return Walk([self.plain.initial()])

    def steps(self, walk: Walk) -> Sequence[Step]:
        """Return the steps that are possible next, in the order of the protocol."""
        if walk.last is not None and walk.last.then is not None:
            return walk.last.then
        key = (*freeze(walk.state), *sorted(walk.spent.items()))
        found = self._steps.get(key)
        if found is None:
            if len(self._steps) >= REMEMBERED:
                self._steps.clear()
            found = self._steps[key] = tuple(self._allowed(walk))
        if walk.last is not None:
            walk.last.then = found
        return found

    def _allowed(self, walk: Walk) -> Iterator[Step]:
        plain, state = self.plain, walk.state
        for name, action in self.spec.actions.items():
            if action.budget is not None and walk.spent[action.budget] >= bound_of(self.bounds, action.budget):
                continue
            for event in self._instances[name]:
                if plain.enabled(state, event) and (after := plain.step(state, event)) is not None:
                    yield Step(event, after)

    def take(self, walk: Walk, step: Step) -> str | None:
        """Take one step, and return the promise that it breaks, if any."""
        budget = self.spec.actions[step.event.action].budget
        if not step.judged:
            step.breaks, step.judged = self.broken(walk.state, step.after), True
        walk.events.append(step.event)
        walk.states.append(step.after)
        walk.last = step
        if budget is not None:
            walk.spent[budget] += 1
        return step.breaks

    def broken(self, before: State, after: State) -> str | None:
        """Return the first promise that a step or the state after it breaks."""
        for name, item in self.promises.items():
            held = self.plain.holds(item, before, after) if item.kind == "step" else self.plain.holds(item, after)
            if not held:
                return name
        return None

    def follow(self, events: Sequence[Event], *, helping: bool = False) -> tuple[Walk, str | None]:
        """Return the run of some events up to the first broken promise, without events that are impossible when they
        are due. With ``helping``, one more step may be inserted before an event that it makes possible."""
        walk = self.walk()
        for event in events:
            for step in self._leading_to(walk, event, helping):
                if broken := self.take(walk, step):
                    return walk, broken
        return walk, None

    def _leading_to(self, walk: Walk, event: Event, helping: bool) -> list[Step]:
        steps = self.steps(walk)
        for step in steps:
            if step.event == event:
                return [step]
        for first in steps if helping else ():
            if self.plain.enabled(first.after, event) and (after := self.plain.step(first.after, event)) is not None:
                return [first, Step(event, after)]
        return []


def evenly(steps: Sequence[Step], number: int) -> Step:
    """Return the step that a number from 0 below ``FINE`` selects. All actions that are possible have the same chance,
    and so have the instances of an action."""
    of_actions: dict[str, list[Step]] = {}
    for step in steps:
        of_actions.setdefault(step.event.action, []).append(step)
    number *= len(of_actions)
    mine = list(of_actions.values())[number // FINE]
    return mine[number % FINE * len(mine) // FINE]


# Weights choose among the possible steps, as learned from earlier walks. An action that is seldom possible is
# preferred. Weights change between rounds only, since Hypothesis expects the same choices to lead to the same run.


class Weights:
    """A `Weights` prefers actions that are seldom possible. ``possible`` counts the states in which each action was
    possible, and ``states`` counts all states."""

    def __init__(self, actions: Sequence[str]) -> None:
        self.possible: Counter[str] = Counter()
        self.states = 0
        self.of = dict.fromkeys(actions, 1.0)

    def saw(self, steps: Sequence[Step]) -> None:
        self.states += 1
        self.possible.update({step.event.action for step in steps})

    def learn(self) -> None:
        """Set weights by how seldom each action is possible. Actions never possible count as possible once."""
        for action in self.of:
            self.of[action] = (self.states / (1 + self.possible[action])) ** 0.5 if self.states else 1.0

    def pick(self, steps: Sequence[Step], number: int) -> Step:
        """Return the step that a number from 0 below ``FINE`` selects. The instances of an action share its weight."""
        actions = [step.event.action for step in steps]
        many = Counter(actions)
        ends = list(accumulate(self.of[action] / many[action] for action in actions))
        at = number / FINE * ends[-1]
        return next(step for step, end in zip(steps, ends, strict=True) if at < end)


# Starts are runs of the correct model, from which a random search may set out. The explorer visits millions of states
# in seconds, of which random steps reach few, and hardly any deep ones. So some of its states are taken, each with a
# run that leads there. They come from all depths, as different from one another as possible, or are those nearest to
# breaking a promise or reaching a witness, since a mistake needs a run that comes close already.

CANDIDATES = 8
"""This many states are considered for each one that is taken."""
BLOCK = 1 << 15

Run = tuple[Event, ...]
Place = tuple[int, int]
"""A place is a level and a row."""


@dataclass(frozen=True)
class Starts:
    """A `Starts` has ``runs`` from the initial state, the first one empty, taken from ``explored`` states."""

    runs: tuple[Run, ...]
    explored: int


def starts(
    spec: Spec, near: Mapping[str, Property], bounds: Mapping[str, int], number: int, seed: int,
    max_states: int = 5_000_000,
) -> Starts:  # fmt: skip
    """Return the empty run, and runs to states among the first ``max_states``. One in eight comes from all depths, and
    the others, evenly for all properties, lead to states ``near`` to breaking or reaching a property."""
    made, random = explore(spec, {}, bounds, max_states=max_states), np.random.default_rng(seed)
    taken = set[object]()
    of_states = {n: p for n, p in near.items() if p.kind != "step"}
    share = number // 8 if of_states else number
    depths = np.linspace(1, made.depth - 1, share).round().astype(int).tolist() if made.depth > 1 else []
    places = [_newest(made, _some(made, depth, random), taken) for depth in depths]
    for item in of_states.values():
        pool = list(_nearest(made, item, random, CANDIDATES * number))
        for _ in range(min(len(pool), (number - share) // len(of_states))):
            places.append(_newest(made, pool[:CANDIDATES], taken))
            pool.remove(places[-1])
    return Starts(((), *runs_to(made.kernels, made.states, places)), made.distinct)


def _some(made: Exploration, depth: int, random: np.random.Generator) -> list[Place]:
    return [(depth, int(row)) for row in random.integers(made.levels[depth], size=CANDIDATES)]


def _nearest(made: Exploration, item: Property, random: np.random.Generator, number: int) -> Iterator[Place]:
    assert made.kernels.ground.lowering is not None
    measure = columns(made.kernels.packing, [lower(made.kernels.ground.lowering, item)])
    depths = np.repeat(np.arange(made.depth), made.levels)
    far = [
        measure(sets.to_words(sets.part(level, start, start + BLOCK)))[0]
        for level in made.states for start in range(0, sets.size(level), BLOCK)
    ]  # fmt: skip
    distances = np.concatenate(far)
    order = np.lexsort((random.random(distances.size), distances))[:number]
    firsts = np.concatenate(([0], np.cumsum(made.levels)))
    for place in order.tolist():
        depth = int(depths[place])
        yield depth, place - int(firsts[depth])


def _newest(made: Exploration, places: list[Place], taken: set[object]) -> Place:
    parts = [_parts(state_at(made.kernels, made.states[depth], row)) for depth, row in places]
    best = max(range(len(places)), key=lambda n: len(parts[n] - taken))
    taken |= parts[best]
    return places[best]


def _parts(state: State) -> set[object]:
    values = [(n, tuple(sorted(v.items())) if isinstance(v, dict) else v) for n, v in state.items()]
    return {*values, *((a, b) for i, a in enumerate(values) for b in values[:i])}
