"""What a refinement's terms mean, held against the protocols themselves: the state is mapped, and the core is run.

The core's step is looked for by running its actions in the mapped state, with nothing in common with the terms but the
mapping.  Protocols and mappings are random ones, the small ones of these tests, and protocols that refine themselves.
"""

import functools
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fencepost.model.language.derived.refinements import Refinement, refine
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tracing.mappings import Mapped, apart
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import constant, local, state, term
from fencepost.model.language.tree.types import MapType, OptionType, SeqType
from fencepost.proofs.engines.explore import coverage, explore, reachable_sample
from fencepost.proofs.engines.refinements import MappedState
from fencepost.proofs.readings.ground import evaluate, ground
from fencepost.proofs.readings.plain import Plain, freeze, zero_value
from fencepost.proofs.results import State
from random_protocols import BOUNDS, HERE, VARIABLES, Maker, random_protocol
from z3_concrete import Concrete

# Of protocols with some states, and not many.
SEEDS = [
    0, 2, 4, 6, 10, 13, 14, 15, 16, 18, 19, 20, 23, 26, 32, 33, 39, 42, 43, 46, 47, 48, 53, 54,
    57, 58, 66, 69, 72,
]  # fmt: skip


EACH = [seed if n % 3 == 0 else pytest.param(seed, marks=pytest.mark.nightly(nights=8)) for n, seed in enumerate(SEEDS)]
"""A third of them in every run."""


class Core(Plain):
    """The core without bounds on what its variables hold: these are bounds of exploration."""

    def within(self, state: State) -> bool:
        return True


class Oracle:
    """Runs the core next to the protocol."""

    def __init__(self, item: Refinement, spec: Spec) -> None:
        constants = {n: BOUNDS[n] for n in spec.constants}
        self.mapping = MappedState(item, Plain(spec, constants, BOUNDS))
        self.core = Core(item.core, constants, BOUNDS)

    def start(self, initial: State) -> bool:
        return freeze(self.mapping.of(initial)) == freeze(self.core.initial())

    def actions(self, before: State, after: State) -> set[str]:
        """The actions of the core that lead from the one mapped state to the other."""
        old, new = self.mapping.of(before), freeze(self.mapping.of(after))
        return {event.action for event, made in self.core.successors(old) if made is not None and freeze(made) == new}

    def moves(self, before: State, after: State) -> bool:
        return freeze(self.mapping.of(before)) != freeze(self.mapping.of(after))

    def holds(self, before: State, after: State) -> bool:
        return not self.moves(before, after) or bool(self.actions(before, after))


def itself(name: str) -> Mapped:
    kind = VARIABLES[name]
    if not isinstance(kind, MapType):
        return Mapped((), state(name, kind))
    bound = tuple((f"k{i}.m1", k) for i, k in enumerate(kind.keys))
    keys = tuple(local(n, k) for n, k in bound)
    return Mapped(bound, term("select", (state(name, kind), *keys), None, kind.value))


def drawn(maker: Maker, name: str) -> Mapped:
    """Any expression, with a quantifier of its own perhaps."""
    kind = VARIABLES[name]
    if isinstance(kind, SeqType):
        return itself(name)
    if not isinstance(kind, MapType):
        return apart(Mapped((), maker.make(kind, 2)))
    bound = tuple(maker.bind("k", k) for k in kind.keys)
    value = maker.make(kind.value, 2)
    for pair in bound:
        maker.names.remove(pair)
    return apart(Mapped(bound, value))


@functools.cache
def random_refinement(seed: int) -> tuple[Spec, Refinement]:
    """A protocol, and itself as a core with perhaps an action less and some variables mapped to something else, which
    mostly starts where it is mapped to."""
    spec, _ = random_protocol(seed)
    rng, maker = random.Random(seed), Maker(seed)
    core = replace(spec, name="Core")
    if rng.random() < 0.5:
        gone = rng.choice(list(spec.actions))
        core = replace(core, actions={n: a for n, a in spec.actions.items() if n != gone})
    mapped = {name: itself(name) for name in VARIABLES}
    for name in rng.sample(list(VARIABLES), rng.choice((0, 1, 1, 2))):
        mapped[name] = drawn(maker, name)
    item = refine("core", core, mapped, None, "It may.", {})
    if rng.random() < 0.6:
        start = Oracle(item, spec).mapping.of(zeros := {n: zero_value(k) for n, k in VARIABLES.items()})
        first = tuple(u for name in VARIABLES if start[name] != zeros[name] for u in assigned(name, start[name]))
        item = refine("core", replace(core, initial=first), mapped, None, "It may.", {})
    return spec, item


def assigned(name: str, value: Any) -> Iterator[Update]:
    """What init() would say for a variable to start with this."""
    kind = VARIABLES[name]
    if isinstance(kind, MapType):
        for key, entry in value.items():
            keys = tuple(constant(k, sort) for k, sort in zip(key, kind.keys, strict=True))
            yield Update(name, constant(entry, kind.value), None, HERE, keys=keys)
    elif not isinstance(kind, SeqType):
        of = kind.of if isinstance(kind, OptionType) else kind
        plain = constant(value, of)
        yield Update(name, plain if of is kind else term("some", (plain,), None, kind), None, HERE)


def steps(spec: Spec, seed: int) -> Iterator[tuple[State, State]]:
    """Steps from reachable states, and pairs of states that no step joins."""
    plain, rng = Plain(spec, {n: BOUNDS[n] for n in spec.constants}, BOUNDS), random.Random(seed)
    states = reachable_sample(explore(spec, {}, BOUNDS), 25, seed)
    for before in states:
        yield from ((before, after) for _, after in plain.successors(before) if after is not None)
        yield before, rng.choice(states)


def test_the_draws_are_of_all_kinds() -> None:
    """Refinements that hold and that do not, from the first state or from a later one, that move, and that stutter."""
    drawn = [random_refinement(seed) for seed in SEEDS]
    traces = [explore(spec, {"core": item}, BOUNDS).traces.get("core") for spec, item in drawn]
    lengths = [None if t is None else len(t) for t in traces]
    assert lengths.count(None) >= 5 and lengths.count(0) >= 2 and sum(n is not None and n > 0 for n in lengths) >= 5


@pytest.mark.parametrize("seed", EACH)
def test_terms_say_what_running_the_core_says(seed: int) -> None:
    """The plain and the ground reading of the terms, on steps and on pairs of states that are none; Z3's on a few."""
    spec, item = random_refinement(seed)
    oracle, made, concrete = Oracle(item, spec), ground(spec, {"core": item}, BOUNDS), Concrete(spec, BOUNDS)
    plain = oracle.mapping.full
    assert item.initially is not None
    assert plain.holds(item.initially, plain.initial()) == oracle.start(plain.initial())
    assert bool(evaluate([made.initially["core"]], made.initial)[0]) == oracle.start(plain.initial())
    for number, (before, after) in enumerate(steps(spec, seed)):
        expected = oracle.holds(before, after)
        assert plain.holds(item, before, after) == expected, (before, after)
        values = [*made.layout.encode(before), *made.layout.encode(after)]
        assert bool(evaluate([made.steps["core"]], values)[0]) == expected, (before, after)
        if number % 40 == 0:
            assert concrete.evaluate([item.term], before, after) == [expected], (before, after)


@pytest.mark.parametrize("seed", EACH)
def test_the_explorer_judges_every_step_alike(seed: int) -> None:
    """Its verdict, the depth of its trace, and which actions of the core were taken are those of a plain search."""
    spec, item = random_refinement(seed)
    first, taken = search(Oracle(item, spec))
    found = explore(spec, {"core": item}, BOUNDS)
    assert found.verdicts["core"] == ("holds" if first is None else "violated")
    assert (len(found.traces["core"]) if "core" in found.traces else None) == first
    covered = coverage(found, "core")
    assert {action for action, by in covered.items() if by} == set(taken)
    assert all(set(by) <= taken.get(action, set()) for action, by in covered.items())


def search(oracle: Oracle) -> tuple[int | None, dict[str, set[str]]]:
    """How many steps the shortest run has that ends in a step that is none of the core's, and by action of the core the
    actions that were it."""
    plain, taken, depth = oracle.mapping.full, dict[str, set[str]](), 1
    first = None if oracle.start(plain.initial()) else 0
    frontier, seen = [plain.initial()], {freeze(plain.initial())}
    while frontier:
        following = []
        for before in frontier:
            for event, after in plain.successors(before):
                if after is None:
                    continue
                actions = oracle.actions(before, after) if oracle.moves(before, after) else None
                if actions == set() and first is None:
                    first = depth
                for action in actions or ():
                    taken.setdefault(action, set()).add(event.action)
                if freeze(after) not in seen:
                    seen.add(freeze(after))
                    following.append(after)
        frontier, depth = following, depth + 1
    return first, taken
