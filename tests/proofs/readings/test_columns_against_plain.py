"""The NumPy reading against the plain one: the same guards, conjunct by conjunct, and the same successors."""

import random
from typing import Any

import numpy as np
import pytest
from fencepost.model.id_blocks.bridge import Bridge
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.tree.types import MapType
from fencepost.proofs.readings.columns import Columns, ColumnsError
from fencepost.proofs.readings.plain import Plain, freeze, zero_value
from fencepost.proofs.results import State

BOUNDS = {"brokers": 2, "requests": 2, "controllers": 2, "ids": 6, "restarts": 2}
CONSTANTS = {"size": 2, "ids": 6}


def states_of(plain: Plain, walks: int, seed: int) -> list[State]:
    """Reachable states, and for each a few with one field changed, at the edges of its range among them."""
    rng = random.Random(seed)
    found: dict[Any, State] = {}
    for _ in range(walks):
        state: State | None = plain.initial()
        while state is not None and rng.random() < 0.97:
            for near in (state, *(neighbour(plain, state, rng) for _ in range(3))):
                found[freeze(near)] = near
            choices = [after for _, after in plain.successors(state) if after is not None]
            state = rng.choice(choices) if choices else None
    return list(found.values())


def neighbour(plain: Plain, state: State, rng: random.Random) -> State:
    """The state with one field changed to any value of its range, to one beside its own, or to an edge."""
    name = rng.choice([n for n in plain.spec.types if n not in plain.spec.ghosts])
    kind = plain.spec.types[name]
    value = kind.value if isinstance(kind, MapType) else kind
    domain = list(plain.domain(value))
    new = rng.choice([rng.choice(domain), domain[0], domain[-1]])
    if not isinstance(kind, MapType):
        return {**state, name: new}
    key = tuple(rng.choice(list(plain.domain(k))) for k in kind.keys)
    entries = {k: v for k, v in {**state[name], key: new}.items() if v != zero_value(value)}
    return {**state, name: entries}


def loaded(columns: Columns, states: list[State]) -> Any:
    rows = columns.initial(len(states), BOUNDS)
    for row, state in enumerate(states):
        rows.encode(row, state)
    return rows


def visible(columns: Columns, state: State) -> State:
    return {name: state[name] for name in columns.types}


@pytest.mark.parametrize("protocol", [Kraft, Zookeeper, Bridge])
def test_same_guards_and_successors(protocol: Any) -> None:
    """On reachable states and their neighbours, every conjunct has the same truth in both readings and is seen both
    ways."""
    spec = settle(protocol.spec)
    plain, columns = Plain(spec, CONSTANTS, BOUNDS, ghosts=False), Columns(spec, CONSTANTS)
    states = states_of(plain, walks=12, seed=11)
    rows = loaded(columns, states)
    every = np.arange(len(states))
    one_sided = []
    for name, action in spec.actions.items():
        seen: dict[int, set[bool]] = {i: set() for i in range(len(action.guards))}
        for event in plain.events(name):
            given = [np.full(len(states), value) for value in event.parameters.values()]
            enabled = np.ones(len(states), bool)
            for i, guard in enumerate(action.guards):
                names = tuple(event.parameters)
                masks = rows.bind(columns.program((guard.condition,), (), names))(every, *given)
                expected = [plain.holds(guard.condition, state, None, **event.parameters) for state in states]
                assert np.array_equal(np.ones(len(states), bool) if masks is None else masks[0], expected), (event, i)
                seen[i].update(expected)
                enabled &= expected
            chosen = np.flatnonzero(enabled)
            after = rows.select(every)
            assert after.bind(columns.action(name))(chosen, *(column[chosen] for column in given)) is None
            for row in chosen:
                expected_state = plain._steps[name](states[row], *event.parameters.values())
                assert after.decode(row) == visible(columns, expected_state), (event, states[row])
        one_sided += [(name, i) for i, sides in seen.items() if sides != {True, False}]
    assert one_sided == []


def test_a_step_is_refused_where_one_row_does_not_allow_it() -> None:
    """A run over rows of which one fails a guard changes none of them and says which conjunct fails where."""
    spec = settle(Kraft.spec)
    columns = Columns(spec, CONSTANTS)
    rows = columns.initial(3, BOUNDS)
    rows.arrays["end"].reshape(3, -1)[[0, 2], 1] = 2
    before = {name: array.copy() for name, array in rows.arrays.items()}
    masks = rows.bind(columns.action("hand_out"))(np.arange(3), np.full(3, 1))
    assert masks is not None
    assert masks[0].tolist() == [True, False, True]
    assert all(np.array_equal(rows.arrays[name], before[name]) for name in before)


@pytest.mark.parametrize("broker", [-1, 2, 2**62])
def test_reading_outside_a_map_gives_zero_and_writing_there_is_beyond_the_bound(broker: int) -> None:
    """A member that the sort does not have reads as zero, and a step that would assign there is not made."""
    spec = settle(Kraft.spec)
    columns = Columns(spec, CONSTANTS)
    rows = columns.initial(1, BOUNDS)
    rows.arrays["end"][:2] = 5
    guard = spec.actions["hand_out"].guards[0].condition
    masks = rows.bind(columns.program((guard,), (), ("b",)))(np.arange(1), np.array([broker]))
    assert masks is not None and not masks[0][0]
    masks = rows.bind(columns.action("restart"))(np.arange(1), np.array([broker]))
    assert masks is not None and not masks[-1][0]


def test_the_last_int64_is_reached_and_not_passed() -> None:
    """A cursor may come to 2^63 - 1; a sum beyond is an OverflowError and no negative number, and nothing is
    changed."""
    last = 2**63 - 1
    columns = Columns(settle(Kraft.spec), {"size": 2, "ids": last})
    rows, zero = columns.initial(1, BOUNDS), (np.arange(1), np.zeros(1, int))
    rows.encode(0, {**rows.decode(0), "cursor": {(0,): last - 1}, "end": {(0,): last}})
    assert rows.bind(columns.action("hand_out"))(*zero) is None
    assert rows.decode(0)["cursor"] == {(0,): last}
    rows.encode(0, {**rows.decode(0), "ready": {(0,): True}, "ready_first": {(0,): last - 1}})
    before = rows.decode(0)
    with pytest.raises(OverflowError, match="beyond int64"):
        rows.bind(columns.action("install"))(*zero)
    assert rows.decode(0) == before


def test_what_columns_cannot_hold_is_refused() -> None:
    """A constant without a value, a sort without a size and an unsettled rule are errors that say what to do."""
    with pytest.raises(ColumnsError, match="no value for ids"):
        Columns(Kraft.spec, {"size": 2})
    with pytest.raises(ColumnsError, match="no size is given for the sort Request"):
        Columns(settle(Kraft.spec), CONSTANTS).initial(1, {"brokers": 1})
    with pytest.raises(ColumnsError, match=r"rule 730\.3 is not decided"):
        Columns(Kraft.spec, CONSTANTS).action("restart")
