"""The plug as a driver sees it: its example, its operations, and random walks that a driver could take."""

import doctest
import random
from collections import Counter

import pytest
from fencepost.reference_impl.group_fencing import system as system_module
from fencepost.reference_impl.group_fencing.system import reference

SMALL = {"members": 2, "inputs": 1, "records": 2, "initial_delay_ms": 0, "transaction_timeout_ms": 120_000}
STEPS = 250
WALKS = 25


def test_the_example_in_the_documentation_runs():
    """The example at the top of the plug's file is what the plug does."""
    results = doctest.testmod(system_module)
    assert (results.failed, results.attempted) == (0, 6)


def test_events_are_drained_once():
    """Draining gives the events since the last call."""
    system = reference({"members": 2})
    assert [event.kind for event in system.drain_events()] == ["instance_started"] * 2
    assert system.drain_events() == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"mode": "later"}, "must be one of draft, draft-repaired, shipped, new-protocol, new-protocol-relaxed"),
        ({"old": 3}, "there are only members=2 instances"),
        ({"commit_version": 7}, "TxnOffsetCommit has versions to 6"),
        ({"brokers": 3}, r"config has unknown keys \['brokers'\]"),
    ],
)
def test_a_wrong_configuration_is_refused(config, words):
    """With the key, and what it must be."""
    with pytest.raises(ValueError, match=words):
        reference(config)


def test_nothing_happens_to_who_is_gone_or_stands_still():
    """Operations say so, and change nothing."""
    system = reference(SMALL)
    assert system.pause(0)
    assert not system.pause(0)
    assert not system.step(0)
    assert system.resume(0)
    assert not system.resume(0)
    assert not system.abort(0)
    system.close(0)
    assert system.is_over(0)
    assert not system.step(0)
    assert not system.pause(0)
    system.restart(0)
    assert not system.is_over(0)
    with pytest.raises(KeyError, match="no message 99 in flight"):
        system.deliver(99)


def walk(seed, **config):
    """A cluster in which everything is chosen at random: what arrives, twice or never, who goes on, stands still or is
    killed, and when time passes. At the end everything arrives, and an auditor looks."""
    choose = random.Random(seed)
    system = reference({**SMALL, **config, "seed": seed})
    for _ in range(STEPS):
        slot = choose.randrange(2)
        luck = choose.random()
        flying = [message[0] for message in system.messages()]
        if luck < 0.40 and flying:
            system.deliver(choose.choice(flying), keep=choose.random() < 0.1)
        elif luck < 0.70:
            system.step(slot)
        elif luck < 0.80:
            system.log_append(choose.random() < 0.9)
        elif luck < 0.84:
            choose.choice((system.pause, system.resume))(slot)
        elif luck < 0.86 and flying:
            system.drop(choose.choice(flying))
        elif luck < 0.87:
            choose.choice((system.move_group, system.fail_over))()
        elif luck < 0.875:
            system.restart(slot)
        elif luck < 0.88:
            system.abort(slot)
        else:
            system.advance(choose.choice((100, 3_000, 3_000, 10_000, 50_000)))
    for slot in range(2):
        system.resume(slot)
    system.settle(200_000)
    return system


@pytest.mark.parametrize(
    "config",
    [{"mode": "shipped"}, {"mode": "draft-repaired"}, {"mode": "new-protocol"}, {"mode": "new-protocol-relaxed"}],
    ids=str,
)
def test_random_walks_copy_nothing_twice(config):
    """Whatever a driver does."""
    twice = Counter()
    for seed in range(WALKS):
        copies, _ = walk(seed, **config).audit()
        twice.update(place for place, times in Counter(copies).items() if times > 1)
    assert not twice
