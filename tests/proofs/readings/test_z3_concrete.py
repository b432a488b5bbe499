"""The Z3 reading of single states agrees with the plain reading on walks through every construct of the language."""

import random

import pytest
from fencepost.model.language import ModelError
from fencepost.model.language.derived.mutations import settle
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import Event
from z3_concrete import Concrete, Step
from z3_protocols import (
    ALLOCATION_BOUNDS,
    JOURNAL_BOUNDS,
    LOCK_BOUNDS,
    Allocation,
    AllocationProperties,
    Journal,
    JournalProperties,
    TicketLock,
    TicketLockProperties,
)

PROTOCOLS = [
    (Allocation, AllocationProperties, ALLOCATION_BOUNDS),
    (TicketLock, TicketLockProperties, LOCK_BOUNDS),
    (Journal, JournalProperties, JOURNAL_BOUNDS),
]


def readings(protocol, bounds):
    spec = settle(protocol.spec)
    return Plain(spec, {name: bounds[name] for name in spec.constants}, bounds), Concrete(spec, bounds)


@pytest.mark.parametrize(("protocol", "properties", "bounds"), PROTOCOLS)
def test_both_readings_agree_along_random_walks(protocol, properties, bounds):
    """Initial state, enabledness, successors, cut steps and the values of all properties are the same in both."""
    plain, concrete = readings(protocol, bounds)
    choose, state, cut = random.Random(7), plain.initial(), 0
    assert concrete.initial() == state
    one = [p.term for p in properties.properties.values() if p.kind in ("always", "sometimes")]
    two = [p.term for p in properties.properties.values() if p.kind == "step"]
    for _ in range(60):
        assert concrete.evaluate(one, state) == [plain.holds(term, state) for term in one]
        successors = {str(event): after for event, after in plain.successors(state)}
        cut += list(successors.values()).count(None)
        for action in plain.spec.actions:
            for event in plain.events(action):
                enabled = str(event) in successors
                assert concrete.step(state, event) == Step(enabled, successors.get(str(event))), (state, event)
        reached = [after for after in successors.values() if after is not None]
        after = choose.choice(reached) if reached else plain.initial()
        assert concrete.evaluate(two, state, after) == [plain.holds(term, state, after) for term in two]
        state = after
    assert cut > 0, "the walk never met a bound, so it says nothing about cut steps"


def test_a_step_beyond_the_bound_is_enabled_and_has_no_state():
    """The third block would end at 6 of 5: the grant is enabled, and cut."""
    _, concrete = readings(Allocation, ALLOCATION_BOUNDS | {"ids": 5})
    state = concrete.initial() | {"next": 4}
    assert concrete.step(state, Event("grant", {"b": 0})) == Step(True, None)
    assert concrete.step(state, Event("hand_out", {"b": 0})) == Step(False, None)


def test_a_constant_without_a_value_is_refused():
    """The error names the constant."""
    with pytest.raises(ModelError, match="size"):
        Concrete(settle(Allocation.spec), {"brokers": 2, "ids": 6})
