"""Free-running histories of a consumer group are exactly-once in the correct cluster."""

from collections import Counter

import pytest
from fencepost.properties.group_fencing.variants import SIMULATORS
from fencepost.reference_impl.kafka.clients.modern_consumer import ModernConsumer
from fencepost.reference_impl.kafka.group_environment import KIND_NAMES, Event, Kind
from fencepost.reference_impl.systems.group_fencing import FreeRun, System, simulate
from group_audit import played, wrong

SEEDS = 40
# Before KIP-890's second part a late copy of a commit joins the next transaction, whatever the group says.
NO_COPIES = {"delay": 0.0, "duplicate": 0.0}
CORRECT = [
    {"mode": "shipped"},
    {"mode": "shipped", "transactions": "v1", **NO_COPIES},
    {"mode": "shipped", "transactions": "v1-verified", **NO_COPIES},
    {"mode": "shipped", "static": True},
    {"mode": "shipped", "stable_ids": False},
    {"mode": "shipped", "metadata_at": "poll"},
    {"mode": "shipped", "outputs": 2, "inputs": 4},
    {"mode": "draft-repaired"},
    {"mode": "draft-repaired", "repair": "generation"},
    {"mode": "new-protocol"},
    {"mode": "new-protocol", "commit_version": 5},
    {"mode": "new-protocol", "listener": False, "metadata_at": "poll"},
    {"mode": "new-protocol-relaxed"},
    {"mode": "new-protocol-relaxed", "static": True},
    {"mode": "new-protocol-relaxed", "listener": False, "metadata_at": "poll"},
]


def test_a_member_that_never_heard_of_its_partition_is_restarted_in_the_end(monkeypatch):
    """A late copy of a heartbeat assigns a partition in an answer that is never taken, so only a restart helps."""
    usual = next(config for name, _, config in SIMULATORS if name == "new-protocol")
    config = {**usual, "duplicate": 0.1, "delay": 0.1}

    def copied() -> bool:
        audited = [Event(*row) for row in simulate(109, config) if Event(*row).kind == Kind.AUDITED]
        return {event.offset for event in audited[-FreeRun.cluster_defaults["inputs"] :]} == {config["records"]}

    assert copied()
    monkeypatch.setattr(ModernConsumer, "is_unaware", lambda self: False)
    assert not copied()


def test_the_last_audit_waits_for_the_transaction_of_an_instance_that_has_ended(monkeypatch):
    """Until that has timed out, no reader gets at what others have copied behind it."""
    usual = next(config for name, _, config in SIMULATORS if name == "draft-repaired-by-generation")
    few = {"members": 2, "outputs": 3, "max_poll_ms": 209, "max_poll_records": 1, "static": True}

    def copies() -> int:
        rows = simulate(61, {**usual, **few, "transaction_timeout_ms": 3_000})
        return sum(Event(*row).kind == Kind.OUTPUT_READ for row in rows)

    assert copies() == FreeRun.cluster_defaults["inputs"] * usual["records"]
    monkeypatch.setattr(System, "is_transaction_open", lambda self: False)
    assert copies() < FreeRun.cluster_defaults["inputs"] * usual["records"]


def test_every_kind_of_event_is_generated():
    configs = [{}, {"mode": "draft-repaired"}, {"mode": "new-protocol-relaxed"}, {"offsets_inside": False}]
    kinds = {KIND_NAMES[row[2]] for seed in range(10) for config in configs for row in simulate(seed, config)}
    assert kinds == set(KIND_NAMES.values())


@pytest.mark.parametrize("config", CORRECT, ids=str)
def test_every_input_is_once_in_the_output(config):
    found = Counter()
    faults = Counter()
    for seed in range(SEEDS):
        history = played(seed, **config)
        faults.update(history.faults.counts)
        found.update((seed, what) for what in wrong(history))
    assert not found
    assert min(faults[fault] for fault in ("drop", "restart", "pause", "fail_over", "move_group")) > 0


# What breaks the promise although every part does as Kafka does, or the draft says.
HOLES = [
    {"mode": "draft", "pause": 0.06, "think_us": 50_000},
    {"mode": "shipped", "metadata": False},
    {"mode": "shipped", "offsets_inside": False},
    {"mode": "new-protocol", "listener": False},
    {"mode": "new-protocol-relaxed", "listener": False},
]


@pytest.mark.parametrize("config", HOLES, ids=str)
def test_what_an_application_leaves_out_is_noticed(config):
    """Some record is copied twice by an application without metadata, transactional offsets or a listener, and by the
    draft's fencing of ongoing transactions only."""
    assert any("twice" in wrong(played(seed, **config)) for seed in range(200))
