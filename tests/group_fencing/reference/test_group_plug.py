"""A driver uses the reference through its example, its operations, and random walks."""

import random
from collections import Counter

import pytest
from fencepost.reference_impl.systems.group_fencing import reference

SMALL = {"members": 2, "inputs": 1, "records": 2, "initial_delay_ms": 0, "heartbeat_ms": 10_000}
STEPS = 200
WALKS = 40
TRIES = 200


def test_events_are_drained_once():
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
    with pytest.raises(ValueError, match=words):
        reference(config)


def test_nothing_happens_to_who_is_gone_or_stands_still():
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


def test_the_loop_line_by_line():
    system = reference({**SMALL, "members": 1, "records": 1, "max_poll_records": 1})
    lines = []
    for _ in range(40):
        line = system.doing(0)
        moved = system.step(0)
        assert line != "wait" or not moved
        if moved and (not lines or lines[-1] != line):
            lines.append(line)
        if lines and lines[-1] == "ended":
            break
        if line in ("wait", "poll"):
            system.settle(100, steps=False)
    assert lines == ["init", "poll", "begin", "copy", "offsets", "commit", "ended"]
    assert system.doing(0) == "poll"
    system.pause(0)
    assert system.doing(0) == "paused"
    system.restart(0)
    assert system.doing(0) == "init"
    system.close(0)
    assert system.doing(0) == "over"


def walk(seed, **config):
    """Return a cluster after a random walk of deliveries, copies, steps, pauses, expiries and time. At the end
    everything arrives, and an auditor reads."""
    choose = random.Random(seed)
    system = reference({**SMALL, **config, "seed": seed})
    for _ in range(STEPS):
        slot = choose.randrange(2)
        luck = choose.random()
        flying = [message[0] for message in system.messages()]
        if luck < 0.34 and flying:
            system.deliver(choose.choice(flying), keep=choose.random() < 0.05)
        elif luck < 0.35 and flying:
            system.drop(choose.choice(flying))
        elif luck < 0.65:
            system.step(slot)
        elif luck < 0.78:
            system.log_append(choose.random() < 0.95)
        elif luck < 0.80:
            choose.choice((system.pause, system.resume))(slot)
        elif luck < 0.84:
            system.expire(slot)
        elif luck < 0.85:
            choose.choice((system.move_group, system.fail_over))()
        elif luck < 0.855:
            choose.choice((system.restart, system.close, system.abort))(slot)
        elif luck < 0.92:
            system.settle(steps=False)
        else:
            system.advance(choose.choice((100, 100, 3_000, 10_000)))
    for slot in range(2):
        system.resume(slot)
        if system.is_over(slot):
            system.restart(slot)
    system.settle(200_000)
    return system


def twice(seed, **config):
    copies, _ = walk(seed, **config).audit()
    return max(Counter(copies).values(), default=0) > 1


@pytest.mark.parametrize(
    "config",
    [{"mode": "shipped"}, {"mode": "draft-repaired"}, {"mode": "new-protocol"}, {"mode": "new-protocol-relaxed"}],
    ids=str,
)
def test_random_walks_copy_nothing_twice(config):
    assert not [seed for seed in range(WALKS) if twice(seed, **config)]


@pytest.mark.parametrize(
    "config",
    [{"mode": "draft"}, {"mode": "shipped", "metadata": False}, {"mode": "new-protocol", "listener": False}],
    ids=str,
)
def test_random_walks_come_upon_the_holes(config):
    """Random walks find H1, B38, and the member that returns with a new epoch."""
    assert any(twice(seed, **config) for seed in range(TRIES))
