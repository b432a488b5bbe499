"""All readings of every protocol in the catalogue say the same: guards, successors, cut steps and properties.

Three are held against one another here: the plain one (straight from the terms, on dicts), the ground one (scalar
fields, what the explorer runs) and Z3 (terms evaluated in one state).  The columns of replay are held against the plain
one in test_columns_against_plain.  States: reachable ones, their one-field neighbours, and the edges of every range.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from fencepost.model.language.tree.terms import Term, variables
from fencepost.model.language.tree.types import MapType, ScalarType, SeqType, bound_of
from fencepost.proofs.engines.explore import explore, reachable_sample
from fencepost.proofs.readings import sparse
from fencepost.proofs.readings.ground import Ground, Node, evaluate, ground
from fencepost.proofs.readings.plain import Plain, freeze, zero_value
from fencepost.proofs.readings.sparse import Sparse
from fencepost.proofs.results import State
from fencepost.properties.catalogue import Variant, bounds_of, protocols
from z3_concrete import Concrete, Step

UNREAD = [(entry, v) for entry in protocols().values() for v in entry.variants if v.reading is None]
EVERY = list({pair[1].properties.protocol: pair for pair in reversed(UNREAD)}.values())[::-1]
"""Each protocol once, by the first of its variants."""
NAMES = [f"{entry.name}/{v.name}" for entry, v in EVERY]
EVERY_RUN = {
    "id-blocks/kraft", "transactions/v2", "task-counts/shipped", "group-fencing/shipped",
    "idempotence/idempotent", "read-committed/read-committed", "config-topic-writes/record-by-record",
}  # fmt: skip
TRIED = [name if name in EVERY_RUN else pytest.param(name, marks=pytest.mark.nightly(nights=8)) for name in NAMES]
"""What was shipped, and three small ones with logs, in every run; the others at night."""
ALWAYS = {
    # The idempotent RPC does not ask whether it is the same request, which is its mistake.
    "id-blocks/kraft-idempotent": {"answer_again 4"},
    # A range may lie anywhere, which is the mistake; and a past of more ids than there are is no value of a parameter.
    "id-blocks/by-broker-id": {"configure 3", "zookeeper_gave 1"},
    "id-blocks/by-broker-id-durable": {"configure 3", "zookeeper_gave 1"},
    "id-blocks/by-broker-id-repaired": {"zookeeper_gave 1"},
    # Another producer that has committed in a later generation has fenced this one before: 447.8 is redundant there.
    "group-fencing/draft-repaired-by-assignment": {"accept 3", "refuse 3"},
    # No instance waits there, writes of two producers come in any order, and null offsets are of any instance: what
    # should be asked is a condition that always holds.
    "group-fencing/upgrade-without-waiting": {"fetch 6"},
    "source-commits/late-write": {"arrive 1"},
    "source-offsets/null-before-any": {"submit_the_last 1"},
    "source-offsets/shipped-own-topic-from-the-start": {"submit_the_last 1"},
    # The record that the whole appends is the next one, as the joint action names it.
    "end-to-end/abstract-over-core-v2": {"append 11"},
    # One member has no other to take its place, and one request no place for a copy: its parts are compared with more.
    "end-to-end/detailed": {"group.replace 0", "ids.repeat 2", "ids.forget 3"},
}
NEAR = 5_000  # states explored for the sample of those near the start; random walks see the others
WALKS, STEPS = 8, 60
SPENT = "spent"
"""Instead of the state after a fault whose budget is used up, which only the explorer counts."""
ENDS = 20_000  # where an instance comes to its end only behind much else
FAR = 100_000  # states explored where many steps lead to the first record, or poll, for the runs to witnesses

TRIES, HALF = 3_000, 0.5
FARTHEST = 300_000  # where another protocol is a part, whose steps are apart from its own


@dataclass(frozen=True)
class Setting:
    """A variant in small bounds, and the states that its readings are compared in, with what follows them."""

    name: str
    variant: Variant
    bounds: dict[str, int]
    plain: Plain
    ground: Ground
    states: tuple[State, ...]
    successors: tuple[dict[str, State | None], ...]
    """By state: each event that is enabled, and the state after it, None if it is cut; as the plain reading has it."""
    columns: list[np.ndarray[Any, Any]]
    """By field of the ground reading: its value in every state."""

    @classmethod
    def of(cls, name: str) -> "Setting":
        _entry, variant = next(pair for pair, n in zip(EVERY, NAMES, strict=True) if n == name)
        bounds = small_bounds(variant)
        plain = Plain(variant.spec, {n: bound_of(bounds, n) for n in variant.spec.constants}, bounds)
        made, states = ground(variant.spec, variant.asked, bounds), samples(variant, bounds, plain)
        encoded = [made.layout.encode(state) for state in states]
        assert [made.decode(values) for values in encoded] == list(states)
        successors = tuple({str(event): after for event, after in plain.successors(state)} for state in states)
        return cls(name, variant, bounds, plain, made, states, successors, list(np.array(encoded).T))

    def columns_of(self, nodes: list[Node]) -> list[list[int]]:
        """The values of nodes of the ground reading in every state."""
        return [np.broadcast_to(value, len(self.states)).tolist() for value in evaluate(nodes, self.columns)]


@pytest.fixture(scope="module", params=TRIED)
def setting(request: pytest.FixtureRequest) -> Setting:
    """One protocol after the other, so that what is large is there once."""
    return Setting.of(request.param)


def samples(variant: Variant, bounds: dict[str, int], plain: Plain) -> tuple[State, ...]:
    """States near the start and on random walks, and their neighbours, reachable or not."""
    rng = random.Random(3)
    witnesses = {n: p for n, p in variant.properties.properties.items() if p.kind == "sometimes"}
    far = any(name in bounds for name in ("stragglers", "left_running", "elections", "members"))
    most = FARTHEST if "logs" in bounds else FAR if far else ENDS if "threads" in bounds else NEAR
    if "watched" in bounds and "logs" not in bounds:  # of the whole: with every fault at once the sink is too far away
        far, most, within = True, FARTHEST, bounds_of(variant, "smoke")
    else:
        within = bounds
    # A late copy takes the place of what else a walk could come to.
    walks = 2 * WALKS if "copies" in bounds and "threads" in bounds else WALKS
    made = explore(variant.spec, witnesses if far else {}, within, max_states=most)
    reachable = [*reachable_sample(made, 40, seed=3), *(s for _ in range(walks) for s in walk(plain, rng))]
    reachable += [state for trace in made.traces.values() for state in trace.states]
    near = [n for state in reachable for n in neighbours(plain, state, rng)]
    near = rng.sample(near, min(len(near), 500))
    found = [*reachable, *near, *others(plain, [*reachable, *near], rng)]
    return tuple({freeze(s): s for s in found}.values())


def others(plain: Plain, states: Sequence[State], rng: random.Random) -> Iterator[State]:
    """For each conjunct of a guard that has one value in all of these states, one in which it has the other, if it is
    found by drawing the variables that it reads: what is seldom true together need not be in a sample."""
    for action in plain.spec.actions.values():
        events = [event.parameters for event in plain.events(action.name)]
        for guard in action.guards:
            seen = {plain.holds(guard.condition, s, None, **e) for s in states for e in events}
            for _ in range(TRIES if len(seen) == 1 else 0):
                state = {**rng.choice(states), **dict(drawn(plain, sorted(variables(guard.condition)), rng))}
                if any(plain.holds(guard.condition, state, None, **e) not in seen for e in events):
                    yield state
                    break


def drawn(plain: Plain, names: Sequence[str], rng: random.Random) -> Iterator[tuple[str, Any]]:
    """Values for these variables, of which maps are changed in about half of their places."""
    for name in names:
        match plain.spec.types[name]:
            case SeqType(entry, bound):
                length = rng.randrange(bound_of(plain.bounds, bound) + 1)
                yield name, tuple(rng.choice(list(plain.domain(entry))) for _ in range(length))
            case MapType(keys, value):
                every = product(*(list(plain.domain(key)) for key in keys))
                made = {key: rng.choice(list(plain.domain(value))) for key in every if rng.random() < HALF}
                yield name, {key: one for key, one in made.items() if one != zero_value(value)}
            case kind:
                yield name, rng.choice(list(plain.domain(kind)))


def small_bounds(variant: Variant) -> dict[str, int]:
    """The smoke bounds, but every fault allowed once: one that may not happen has no step in the ground reading."""
    budgets = {a.budget for a in variant.spec.actions.values() if a.budget is not None}
    budgets |= {name.rpartition(".")[2] for name in budgets}  # what counts a fault of a part goes as far as it does
    small = {name: 1 if name in budgets else size for name, size in bounds_of(variant, "smoke").items()}
    if "stragglers" in budgets:  # with every fault at once a second transaction takes more bits than are packed
        return small | {"clients": 2, "transactions": 1, "epochs": 4, "last": 1}
    # With one task every task belongs to every set, with one producer every record to every transaction's, and with one
    # epoch every record is under the one that a partition knows.
    # With one log nothing but offsets is written, and with one client none takes its place.
    second = ("tasks", "producers", "logs", *(("clients",) if "logs" in small else ()))
    if "left_running" in small:  # one worker leads, and is every member of the group
        second += ("workers",)
    return small | {name: 2 for name in second if name in small} | _two_epochs(small)


def _two_epochs(small: Mapping[str, int]) -> dict[str, int]:
    """Where the smoke bounds have one epoch only: a second one, and the client that it is for."""
    return {"clients": 2, "epochs": 2} if "clients" in small and small["epochs"] == 1 else {}


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


def test_plain_and_ground(setting: Setting) -> None:
    """Every instance is enabled in the same states, leads to the same state, and is cut at the same bounds."""
    made, states, columns = setting.ground, setting.states, setting.columns
    reported: list[dict[str, Any]] = [{} for _ in states]
    for instance in made.instances:
        updates = [node for _, node in instance.updates]
        guard, limit, enabled, fits, *changed = setting.columns_of(
            [instance.guard, instance.limit, instance.enabled, instance.fits, *updates]
        )
        for number in range(len(states)):
            if not (guard[number] and limit[number]):
                continue
            after: Any = None
            if fits[number] and not enabled[number] and instance.budget is not None:
                after = SPENT
            elif fits[number]:
                fields = [int(column[number]) for column in columns]
                for (index, _), values in zip(instance.updates, changed, strict=True):
                    fields[index] = values[number]
                after = made.decode(tuple(fields))
            reported[number][str(instance.event)] = after
    for state, found, successors in zip(states, reported, setting.successors, strict=True):
        assert sorted(found) == sorted(successors), state
        for event, after in found.items():
            assert after == SPENT or after == successors[event], (event, state)


def test_properties_of_states_and_steps(setting: Setting) -> None:
    """Every property has the same value in the plain and the ground reading, step properties on every step."""
    made, plain, asked = setting.ground, setting.plain, setting.variant.asked
    for prop, node in (made.always | made.sometimes).items():
        [reported] = setting.columns_of([node])
        for state, value in zip(setting.states, reported, strict=True):
            assert plain.holds(asked[prop], state) == bool(value), (prop, state)
    for instance in made.instances:
        event = str(instance.event)
        enabled, *values = setting.columns_of([instance.enabled, *(made.after(prop, instance) for prop in made.steps)])
        for number, (state, successors) in enumerate(zip(setting.states, setting.successors, strict=True)):
            after = successors.get(event)
            if after is not None and enabled[number]:
                for prop, reported in zip(made.steps, values, strict=True):
                    assert plain.holds(asked[prop], state, after) == bool(reported[number]), (prop, event, state)


class OfEntries(Plain):
    """The plain reading, with loops through the entries of maps wherever a term tells that these will do."""

    def places(self, variables: Sequence[tuple[str, ScalarType]], term: Term) -> str:
        return Sparse(dict(variables), self.text, self.domain).loops(term)


def test_loops_through_entries_alone(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards, successors and properties of states are the same as in loops through whole ranges."""
    monkeypatch.setattr(sparse, "FEW", 0)
    monkeypatch.setattr(sparse, "ENTRIES", 0)  # else ranges as short as these would be gone through
    looped = OfEntries(setting.variant.spec, setting.plain.constants, setting.bounds)
    properties = [p for p in setting.variant.asked.values() if p.kind in ("always", "sometimes")]
    for state, successors in zip(setting.states, setting.successors, strict=True):
        assert {str(event): after for event, after in looped.successors(state)} == successors, state
        for prop in properties:
            assert looped.holds(prop, state) == setting.plain.holds(prop, state), (prop, state)


def test_plain_and_z3(setting: Setting) -> None:
    """Z3 evaluates guards, successors and properties of single states as the plain reading does."""
    plain = setting.plain
    concrete = Concrete(setting.variant.spec, setting.bounds)
    terms = [p.term for p in setting.variant.asked.values() if p.kind in ("always", "sometimes")]
    for number in random.Random(5).sample(range(len(setting.states)), 12):
        state, successors = setting.states[number], setting.successors[number]
        assert concrete.evaluate(terms, state) == [plain.holds(term, state) for term in terms], state
        for action in plain.spec.actions:
            for event in plain.events(action):
                expected = Step(str(event) in successors, successors.get(str(event)))
                assert concrete.step(state, event) == expected, (event, state)


def test_every_conjunct_is_seen_both_ways(setting: Setting) -> None:
    """No guard conjunct was true, or false, in all states that the readings were compared on."""
    plain, one_sided = setting.plain, []
    for action in plain.spec.actions.values():
        events = list(plain.events(action.name))
        for number, guard in enumerate(action.guards):
            values = (
                plain.holds(guard.condition, state, None, **event.parameters)
                for state in setting.states
                for event in events
            )
            first = next(values)
            if all(value == first for value in values):
                one_sided.append(f"{action.name} {number}")
    assert set(one_sided) == ALWAYS.get(setting.name, set())
