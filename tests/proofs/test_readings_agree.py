"""All readings of every protocol in the catalogue say the same: guards, successors, cut steps and properties.

Three are held against one another here: the plain one (straight from the terms, on dicts), the ground one (scalar
fields, what the explorer runs) and Z3 (terms evaluated in one state).  The columns of replay are held against the plain
one in test_columns_against_plain.  States: reachable ones, their one-field neighbours, and the edges of every range.
"""

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from fencepost.model.language.types import MapType, SeqType
from fencepost.proofs.explore import explore, reachable_sample
from fencepost.proofs.ground import Ground, evaluate, ground
from fencepost.proofs.plain import Plain, freeze, zero_value
from fencepost.proofs.results import State
from fencepost.proofs.solver.concrete import Concrete, Step
from fencepost.properties.catalogue import Variant, bounds_of, protocols

UNREAD = [(entry, v) for entry in protocols().values() for v in entry.variants if v.reading is None]
EVERY = list({pair[1].properties.protocol: pair for pair in reversed(UNREAD)}.values())[::-1]
"""Each protocol once, by the first of its variants."""
NAMES = [f"{entry.name}/{v.name}" for entry, v in EVERY]
TRIED = [
    name if v.main else pytest.param(name, marks=pytest.mark.nightly) for name, (_, v) in zip(NAMES, EVERY, strict=True)
]
"""Those that are as they should be in every run; mistakes and rejected alternatives, a few lines each, at night."""
ALWAYS = {
    # The idempotent RPC does not ask whether it is the same request, which is its mistake.
    "id-blocks/kraft-idempotent": {"answer_again 4"},
    # A range may lie anywhere, which is the mistake; and a past of more ids than there are is no value of a parameter.
    "id-blocks/by-broker-id": {"configure 3", "zookeeper_gave 1"},
    "id-blocks/by-broker-id-durable": {"configure 3", "zookeeper_gave 1"},
    "id-blocks/by-broker-id-repaired": {"zookeeper_gave 1"},
    # One transaction, so that no other is older; two are in the core.
    "transactions/v2": {"append 0"},
    "transactions/v2-expiring": {"append 0"},
    "transactions/v2-expiring-recovered": {"append 0"},
}
NEAR = 5_000  # states explored for the sample of those near the start; random walks see the others
WALKS, STEPS = 8, 60
FAR = 100_000  # states explored where many steps lead to the first record, or poll, for the runs to witnesses


@cache
def setting(name: str) -> tuple[Variant, dict[str, int], Plain, Ground, tuple[State, ...]]:
    _entry, variant = next(pair for pair, n in zip(EVERY, NAMES, strict=True) if n == name)
    bounds = small_bounds(variant)
    constants = {n: bounds[n] for n in variant.spec.constants}
    witnesses = {n: p for n, p in variant.properties.properties.items() if p.kind == "sometimes"}
    far = "stragglers" in bounds or "left_running" in bounds
    made = explore(variant.spec, witnesses if far else {}, bounds, max_states=FAR if far else NEAR)
    plain, rng = Plain(variant.spec, constants, bounds), random.Random(3)
    reachable = [*reachable_sample(made, 40, seed=3), *(s for _ in range(WALKS) for s in walk(plain, rng))]
    reachable += [state for trace in made.traces.values() for state in trace.states]
    near = [n for state in reachable for n in neighbours(plain, state, rng)]
    states = {freeze(s): s for s in (*reachable, *rng.sample(near, min(len(near), 500)))}
    return variant, bounds, plain, ground(variant.spec, variant.asked, bounds), tuple(states.values())


def small_bounds(variant: Variant) -> dict[str, int]:
    """The smoke bounds, but every fault allowed once: one that may not happen has no step in the ground reading."""
    budgets = {a.budget for a in variant.spec.actions.values() if a.budget is not None}
    small = {name: 1 if name in budgets else size for name, size in bounds_of(variant, "smoke").items()}
    if "stragglers" in budgets:  # with every fault at once a second transaction takes more bits than are packed
        return small | {"clients": 2, "transactions": 1, "epochs": 4, "last": 1}
    return small | ({"tasks": 2} if "tasks" in small else {})  # with one task every task belongs to every set


def walk(plain: Plain, rng: random.Random) -> Iterator[State]:
    """Every third state of a random walk from the start."""
    state = plain.initial()
    for step in range(STEPS):
        if step % 3 == 0:
            yield state
        following = [after for _, after in plain.successors(state) if after is not None]
        if not following:
            return
        state = rng.choice(following)


def neighbours(plain: Plain, state: State, rng: random.Random) -> Iterator[State]:
    """Three states that differ in one field: a value beside its own, or an edge of its range."""
    for _ in range(3):
        name = rng.choice(list(plain.spec.types))
        kind = plain.spec.types[name]
        if isinstance(kind, SeqType):
            continue
        value = kind.value if isinstance(kind, MapType) else kind
        domain = list(plain.domain(value))
        key = tuple(rng.choice(list(plain.domain(k))) for k in kind.keys) if isinstance(kind, MapType) else ()
        old = state[name].get(key, zero_value(value)) if key else state[name]
        at = domain.index(old)
        new = rng.choice([domain[0], domain[-1], domain[max(0, at - 1)], domain[min(len(domain) - 1, at + 1)]])
        if key:
            kept = {k: v for k, v in {**state[name], key: new}.items() if v != zero_value(value)}
            yield {**state, name: kept}
        else:
            yield {**state, name: new}


def values_of(made: Ground, state: State) -> tuple[int, ...]:
    return tuple(made.layout.encode(state))


@pytest.mark.parametrize("name", TRIED)
def test_plain_and_ground(name: str) -> None:
    """Every instance is enabled in the same states, leads to the same state, and is cut at the same bounds."""
    _variant, _bounds, plain, made, states = setting(name)
    for state in states:
        values = values_of(made, state)
        assert made.decode(values) == state
        told = stepped(made, values)
        successors = {str(event): after for event, after in plain.successors(state)}
        assert sorted(told) == sorted(successors), state
        for event, after in told.items():
            assert after == "spent" or after == successors[event], (event, state)


def stepped(made: Ground, values: tuple[int, ...]) -> dict[str, Any]:
    """What the ground reading says of one state: each event that is enabled, and the state after it, None if it is cut,
    or "spent" if its fault's budget is, which only the explorer counts."""
    roots = [[i.guard, i.limit, i.enabled, i.fits, *(node for _, node in i.updates)] for i in made.instances]
    results = iter(evaluate([node for nodes in roots for node in nodes], values))
    found: dict[str, Any] = {}
    for instance in made.instances:
        guard, limit, enabled, fits = (next(results) for _ in range(4))
        changed = {index: next(results) for index, _ in instance.updates}
        if guard and limit:
            after = made.decode(tuple(changed.get(i, v) for i, v in enumerate(values))) if fits else None
            found[str(instance.event)] = after if enabled or instance.budget is None or not fits else "spent"
    return found


@pytest.mark.parametrize("name", TRIED)
def test_properties_of_states_and_steps(name: str) -> None:
    """Every property has the same value in the plain and the ground reading, step properties on every step."""
    variant, _bounds, plain, made, states = setting(name)
    for state in states:
        values = values_of(made, state)
        for prop, node in (made.always | made.sometimes).items():
            assert plain.holds(variant.asked[prop], state) == bool(evaluate([node], values)[0]), (prop, state)
        for prop in made.steps:
            for event, after in plain.successors(state):
                instance = next(i for i in made.instances if str(i.event) == str(event))
                if after is not None and evaluate([instance.enabled], values)[0]:
                    told = bool(evaluate([made.after(prop, instance)], values)[0])
                    assert plain.holds(variant.asked[prop], state, after) == told, (prop, event, state)


@pytest.mark.parametrize("name", TRIED)
def test_plain_and_z3(name: str) -> None:
    """Z3 evaluates guards, successors and properties of single states as the plain reading does."""
    variant, bounds, plain, _made, states = setting(name)
    concrete = Concrete(variant.spec, bounds)
    terms = [p.term for p in variant.asked.values() if p.kind in ("always", "sometimes")]
    for state in random.Random(5).sample(states, 12):
        assert concrete.evaluate(terms, state) == [plain.holds(term, state) for term in terms], state
        successors = {str(event): after for event, after in plain.successors(state)}
        for action in plain.spec.actions:
            for event in plain.events(action):
                expected = Step(str(event) in successors, successors.get(str(event)))
                assert concrete.step(state, event) == expected, (event, state)


@pytest.mark.parametrize("name", TRIED)
def test_every_conjunct_is_seen_both_ways(name: str) -> None:
    """No guard conjunct was true, or false, in all states that the readings were compared on."""
    _variant, _bounds, plain, _made, states = setting(name)
    one_sided = []
    for action in plain.spec.actions.values():
        for number, guard in enumerate(action.guards):
            seen = {
                plain.holds(guard.condition, state, None, **event.parameters)
                for state in states
                for event in plain.events(action.name)
            }
            if len(seen) < 2:
                one_sided.append(f"{action.name} {number}")
    assert set(one_sided) == ALWAYS.get(name, set())
