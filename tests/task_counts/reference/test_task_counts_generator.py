"""Free-running histories of Connect workers have every kind of event, the configured faults, and an end."""

from collections import Counter
from functools import cache

import pytest
from fencepost.reference_impl.connect.config import KIND_NAMES, readable
from fencepost.reference_impl.systems.task_counts import Faults, simulate, simulate_with_stats

MODES = ("A", "M", "B", "shipped")
CALM = dict.fromkeys((*Faults.names, "failed", "lost", "round_failed", "slow_share"), 0.0)
SEEDS = 40
NEVER = {"count_tombstoned"}  # 618.38: such records are never written
ONLY_IN = {
    "A": {"round_asked", "round_answered", "round_checked"},  # kinds that the revision does not have
    "M": set(),
    "B": set(),
    "shipped": {"task_abandoned", "task_checked"},
}


@cache
def histories(mode):
    """Return histories under the default faults, with both protocols in turn, as events and counts of faults."""
    found = []
    for seed in range(SEEDS):
        protocol = ("cooperative", "eager")[seed % 2]
        rows, faults = simulate_with_stats(seed, {"mode": mode, "protocol": protocol, "connectors": 1 + seed // 2 % 2})
        found.append(([readable(row) for row in rows], faults))
    return found


@pytest.mark.parametrize("mode", MODES)
def test_every_kind_of_event_is_generated(mode):
    kinds = {event.kind for events, _ in histories(mode) for event in events}
    assert set(KIND_NAMES.values()) - kinds - NEVER - {"claim_failed"} == ONLY_IN[mode]
    assert any(event.kind == "claim_failed" for m in MODES for events, _ in histories(m) for event in events)


@pytest.mark.parametrize("mode", MODES)
def test_interesting_things_happen(mode):
    seen = Counter()
    for events, _ in histories(mode):
        for event in events:
            seen[event.kind, event.status if event.kind != "task_checked" else -1] += 1
    assert seen["transaction_refused", -1] > 0
    assert seen["task_checked_again", 409] > 0
    assert seen["write_refused", -1] > 5
    assert seen["round_failed", 500] > 0
    assert seen["task_left_running", -1] > 5
    if mode != "A":
        assert seen["round_answered", 409] + seen["round_checked", 409] > 0


def test_connector_created_anew_before_its_owner_let_go_gets_a_set():
    """In seed 10 a connector is deleted and created again while its owner is away and still owns it."""
    config = {"mode": "A", "quiet_end": True, "connectors": 2}
    assert len(simulate(10, config)) < 300 + 6000


def test_faults_are_counted():
    for events, faults in histories("shipped"):
        kinds = Counter(event.kind for event in events)
        assert kinds["worker_stalled"] <= faults.get("stall", 0) <= kinds["worker_stalled"] + 1
        assert kinds["compacted"] <= faults.get("compact", 0) <= kinds["compacted"] + 1
        assert set(faults) <= {*Faults.names, "failed", "lost"}


@pytest.mark.parametrize("mode", MODES)
def test_no_faults_means_none(mode):
    """Without faults nothing fails or is refused, except what a new set, a deletion or a stop makes obsolete."""
    rows, faults = simulate_with_stats(1, {**CALM, "mode": mode, "events": 1200})
    events = [readable(row) for row in rows]
    assert faults == {}
    kinds = {event.kind for event in events}
    assert not kinds & {"write_refused", "claim_failed", "round_failed", "member_expired", "worker_stopped"}
    assert "transaction_committed" in kinds


def test_schedule_injects_faults_for_certain():
    schedule = [(40_000, "stall", 2), (60_000, "crash", 1)]
    rows, faults = simulate_with_stats(1, {**CALM, "schedule": schedule, "events": 400})
    found = {(event.time_us, event.kind, event.node) for event in map(readable, rows)}
    assert {(40_000, "worker_stalled", 2), (60_000, "worker_stopped", 1)} <= found
    assert faults == {"stall": 1, "crash": 1}


def test_operations_that_always_go_wrong_are_refused():
    with pytest.raises(ValueError, match="together at most 1"):
        simulate(0, {"failed": 0.6, "lost": 0.6})
