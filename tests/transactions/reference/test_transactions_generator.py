"""Free-running histories of transactions: deterministic in any process, every kind of event, promises kept in v2."""

import hashlib
import itertools
import os
import subprocess
import sys
from collections import Counter

import pytest
from fencepost.reference_impl.kafka.environment import COLUMNS, KIND_NAMES, readable
from fencepost.reference_impl.systems.transactions import simulate, simulate_with_stats

MODES = ("v1", "v1-verified", "v2")
FAULTS = (
    "drop", "duplicate", "delay", "append_failure", "restart", "pause", "fail_over", "new_leader", "fence",
)  # fmt: skip
CALM = dict.fromkeys(FAULTS, 0.0)
ROUGH = {"delay": 0.1, "duplicate": 0.08, "drop": 0.03, "append_failure": 0.05, "fail_over": 0.03, "pause": 0.04}
DIGEST = """
import hashlib
from fencepost.reference_impl.systems.transactions import simulate
rows = [simulate(seed, {"mode": mode}) for seed in range(4) for mode in ("v1", "v1-verified", "v2")]
print(hashlib.sha256(repr(rows).encode()).hexdigest())
"""


def history(seed, **config):
    """The events of one history."""
    return [readable(row) for row in simulate(seed, config)]


def test_same_seed_gives_same_rows_in_any_process():
    """The rows do not depend on the process or on its hash seed."""
    rows = [simulate(seed, {"mode": mode}) for seed in range(4) for mode in MODES]
    here = hashlib.sha256(repr(rows).encode()).hexdigest()
    for hash_seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", DIGEST]
        there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert there.stdout.strip() == here


def test_different_seeds_give_different_rows():
    """A seed decides the history."""
    assert len({tuple(simulate(seed, {})) for seed in range(40)}) == 40


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("events", [1, 300, 1500])
def test_rows_have_the_documented_shape(mode, events):
    """As many rows as asked for, plain integers in column order, steps from 0, time never backwards."""
    rows = simulate(11, {"mode": mode, "events": events})
    assert len(rows) == events
    assert all(len(row) == len(COLUMNS) and all(type(value) is int for value in row) for row in rows)
    assert min(min(row) for row in rows) == -1
    assert [row[0] for row in rows] == list(range(events))
    assert all(earlier[1] <= later[1] for earlier, later in itertools.pairwise(rows))


def test_every_kind_of_event_is_generated():
    """Together the modes produce every kind of event, under the default faults and a few more."""
    kinds = Counter(
        KIND_NAMES[row[2]] for seed in range(60) for mode in MODES for row in simulate(seed, {"mode": mode, **ROUGH})
    )
    assert set(KIND_NAMES.values()) - set(kinds) == set()


@pytest.mark.parametrize("mode", MODES)
def test_transactions_commit_abort_and_time_out(mode):
    """By default a history of 300 events has several transactions told committed, and faults of most kinds."""
    told, faults = Counter(), Counter()
    for seed in range(40):
        rows, injected = simulate_with_stats(seed, {"mode": mode})
        faults.update(injected)
        told.update((e.kind, e.outcome) for e in map(readable, rows) if e.kind in ("end_told", "timed_out"))
    assert told["end_told", 1] > 80
    assert told["end_told", 0] > 20
    assert told["timed_out", -1] > 0
    assert set(faults) == set(FAULTS)


def test_faults_are_counted():
    """The counts agree with the events that faults leave behind."""
    rows, faults = simulate_with_stats(5, {"events": 3000, "pause": 0})
    kinds = Counter(KIND_NAMES[row[2]] for row in rows)
    assert faults["new_leader"] == kinds["leader_changed"]
    assert faults["append_failure"] >= kinds["append_failed"] > 0
    assert kinds["coordinator_loaded"] <= faults["fail_over"]
    assert "pause" not in faults


def test_no_faults_means_none():
    """Without faults and rivals nothing is refused for good: no client fails, nothing times out or is repeated."""
    rows, faults = simulate_with_stats(1, {**CALM, "events": 2000, "clients": 2, "txn_ids": 2})
    kinds = {KIND_NAMES[row[2]] for row in rows}
    assert faults == {}
    assert not kinds & {"client_failed", "timed_out", "append_failed", "marker_refused", "batch_duplicate"}


def test_rivals_fence_each_other():
    """txn.1: with two slots per transactional id, and nothing else, producers are fenced and take the id back."""
    events = history(3, **CALM, events=2000)
    assert any(event.kind == "client_failed" and event.error in (47, 90) for event in events)
    assert len({event.client for event in events if event.kind == "init_taken"}) > 4


def test_schedule_injects_faults_for_certain():
    """Scheduled faults strike at their virtual time, at the number named."""
    schedule = [(40_000, "restart", 2), (60_000, "fail_over", 1), (70_000, "new_leader", 1)]
    rows, faults = simulate_with_stats(1, {**CALM, "schedule": schedule})
    found = {(event.time_us, event.kind) for event in map(readable, rows)}
    assert {(40_000, "client_stopped"), (70_000, "leader_changed")} <= found
    assert faults == {"restart": 1, "fail_over": 1, "new_leader": 1}


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"dorp": 0.1}, "unknown keys .'dorp'"), ({"restart": 0.6, "fail_over": 0.6}, "add up"),
        ({"schedule": [(0, "flood", 0)]}, "no node fault is called 'flood'"), ({"txn_ids": 5}, "from 1 to clients=4"),
        ({"broken": "nonsense"}, "no broken implementation"),
    ],
)  # fmt: skip
def test_bad_config_is_refused(config, complaint):
    """Unknown keys, rates above one, unknown faults and defects are refused with the reason."""
    with pytest.raises((ValueError, KeyError), match=complaint):
        simulate(0, config)
