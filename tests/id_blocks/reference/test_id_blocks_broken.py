"""Broken implementations of id blocks break no more in histories than the registry declares."""

import pytest
from fencepost.reference_impl.defects.id_blocks import REGISTRY
from fencepost.reference_impl.kafka.producer_ids.environment import Kind
from fencepost.reference_impl.simulation.defects import Breaks
from fencepost.reference_impl.systems.id_blocks import simulate

KIND, ID = 2, 10
# Rough weather: faults frequent enough, and late copies early enough, that each defect shows within some seeds.
WEATHER = {
    "events": 300, "duplicate": 0.3, "drop": 0.05, "restart": 0.05, "fail_over": 0.05, "snapshot": 0.05,
    "delay_us": 60_000, "down_us": 5_000,
}  # fmt: skip
SEEDS = range(120)


def named(breaks):
    return sorted(name for name, entry in REGISTRY.items() if entry.breaks is breaks)


def histories(name):
    """Yield the histories of one implementation, which is the correct one for the empty name."""
    needs = dict(REGISTRY[name].needs) if name else {}
    return (simulate(seed, {**WEATHER, **needs, "broken": name}) for seed in SEEDS)


def repeats_an_id(rows):
    ids = [row[ID] for row in rows if row[KIND] == Kind.ID_HANDED_OUT]
    return len(ids) != len(set(ids))


@pytest.mark.parametrize("name", ["", *named(Breaks.CONFORMANCE), *named(Breaks.PROGRESS), *named(Breaks.NOTHING)])
def test_promise_holds(name):
    """730.P1: No history of the correct implementation, or of a mutant that breaks less, hands out an id twice."""
    assert not any(repeats_an_id(rows) for rows in histories(name))


def test_broken_promise_is_seen():
    """730.P1: Ids are handed out twice when a controller loses a block that it has answered with."""
    assert any(repeats_an_id(rows) for rows in histories("answers_before_commit"))


@pytest.mark.parametrize("needs", [(("mode", "bridge"),), (("mode", "zookeeper"),), (("max_id", 100),)])
def test_promise_holds_in_every_mode(needs):
    """730.P1: The correct implementation passes under the configs in which the mutants violate the promise."""
    assert not any(repeats_an_id(simulate(seed, {**WEATHER, **dict(needs)})) for seed in SEEDS)


@pytest.mark.parametrize("name", named(Breaks.NOTHING))
def test_control_changes_nothing(name):
    assert list(histories(name)) == list(histories(""))
