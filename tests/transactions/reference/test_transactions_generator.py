"""Free-running histories of transactions have every kind of event, and the configured faults."""

from collections import Counter

import pytest
from fencepost.reference_impl.kafka.environment import KIND_NAMES, readable
from fencepost.reference_impl.systems.transactions import simulate, simulate_with_stats

MODES = ("v1", "v1-verified", "v2")
FAULTS = (
    "drop", "duplicate", "delay", "append_failure", "restart", "pause", "fail_over", "new_leader", "fence",
)  # fmt: skip
CALM = dict.fromkeys(FAULTS, 0.0)
ROUGH = {"delay": 0.1, "duplicate": 0.08, "drop": 0.03, "append_failure": 0.05, "fail_over": 0.03, "pause": 0.04}


def history(seed, **config):
    return [readable(row) for row in simulate(seed, config)]


def test_every_kind_of_event_is_generated():
    kinds = Counter(
        KIND_NAMES[row[2]] for seed in range(60) for mode in MODES for row in simulate(seed, {"mode": mode, **ROUGH})
    )
    assert set(KIND_NAMES.values()) - set(kinds) == set()


@pytest.mark.parametrize("mode", MODES)
def test_transactions_commit_abort_and_time_out(mode):
    """By default a history of 300 events has several acknowledged commits, and faults of most kinds."""
    reported, faults = Counter(), Counter()
    for seed in range(40):
        rows, injected = simulate_with_stats(seed, {"mode": mode})
        faults.update(injected)
        reported.update((e.kind, e.outcome) for e in map(readable, rows) if e.kind in ("end_told", "timed_out"))
    assert reported["end_told", 1] > 80
    assert reported["end_told", 0] > 20
    assert reported["timed_out", -1] > 0
    assert set(faults) == set(FAULTS)


def test_faults_are_counted():
    rows, faults = simulate_with_stats(5, {"events": 3000, "pause": 0})
    kinds = Counter(KIND_NAMES[row[2]] for row in rows)
    assert faults["new_leader"] == kinds["leader_changed"]
    assert faults["append_failure"] >= kinds["append_failed"] > 0
    assert kinds["coordinator_loaded"] <= faults["fail_over"]
    assert "pause" not in faults


def test_no_faults_means_none():
    """Without faults and rivals no client fails, and nothing times out or is repeated."""
    rows, faults = simulate_with_stats(1, {**CALM, "events": 2000, "clients": 2, "txn_ids": 2})
    kinds = {KIND_NAMES[row[2]] for row in rows}
    assert faults == {}
    assert not kinds & {"client_failed", "timed_out", "append_failed", "marker_refused", "batch_duplicate"}


def test_rivals_fence_each_other():
    """txn.1: With two slots for each transactional id, and no faults, producers are fenced and take the id back."""
    events = history(3, **CALM, events=2000)
    assert any(event.kind == "client_failed" and event.error in (47, 90) for event in events)
    assert len({event.client for event in events if event.kind == "init_taken"}) > 4


def test_schedule_injects_faults_for_certain():
    schedule = [(40_000, "restart", 2), (60_000, "fail_over", 1), (70_000, "new_leader", 1)]
    rows, faults = simulate_with_stats(1, {**CALM, "schedule": schedule})
    found = {(event.time_us, event.kind) for event in map(readable, rows)}
    assert {(40_000, "client_stopped"), (70_000, "leader_changed")} <= found
    assert faults == {"restart": 1, "fail_over": 1, "new_leader": 1}


def test_an_id_without_a_slot_is_refused():
    with pytest.raises(ValueError, match="from 1 to clients=4"):
        simulate(0, {"txn_ids": 5})
