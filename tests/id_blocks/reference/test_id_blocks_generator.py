"""Free-running histories contain every kind of event, and the faults that their config asks for."""

from collections import Counter

import pytest
from fencepost.reference_impl.kafka.producer_ids.environment import KIND_NAMES
from fencepost.reference_impl.systems.id_blocks import simulate, simulate_with_stats

MODES = ("kraft", "zookeeper", "bridge")


def test_every_kind_and_every_error_code_is_generated():
    """The modes together produce every kind of event but a refused block, and every error that a history can meet."""
    kinds, errors = Counter(), set()
    for seed in range(150):
        for mode in MODES:
            rough = {"mode": mode, "events": 600, "max_id": 400, "duplicate": 0.1, "restart": 0.03, "delay_us": 50_000}
            for row in simulate(seed, rough):
                kinds[KIND_NAMES[row[2]]] += 1
                errors.add((KIND_NAMES[row[2]], row[11]))
    assert set(KIND_NAMES.values()) - set(kinds) <= {"answer_refused"}
    assert {error for kind, error in errors if kind == "request_refused"} == {-1, 41, 77}
    assert {error for kind, error in errors if kind == "id_refused"} == {14}


def test_faulty_controller_makes_brokers_refuse_blocks():
    rows = simulate(0, {"broken": "next_id_not_advanced"})
    assert "answer_refused" in {KIND_NAMES[row[2]] for row in rows}


def test_faults_are_counted():
    rows, faults = simulate_with_stats(5, {"events": 3000, "mode": "bridge", "pause": 0})
    kinds = Counter(KIND_NAMES[row[2]] for row in rows)
    assert faults["fail_over"] == kinds["controller_elected"]
    assert faults["upgrade"] == kinds["broker_upgraded"] == 3
    assert faults["migrate"] == kinds["migrated"] == 1
    assert faults["snapshot"] == kinds["snapshot_taken"]
    assert min(faults["drop"], faults["duplicate"], faults["delay"], faults["restart"]) > 0
    assert "pause" not in faults


def test_no_faults_means_none():
    """With all rates at 0 nothing is injected, and no request is lost, refused or repeated."""
    rates = dict.fromkeys(("drop", "duplicate", "delay", "restart", "pause", "fail_over", "snapshot"), 0.0)
    rows, faults = simulate_with_stats(1, {**rates, "events": 2000})
    assert faults == {}
    assert {KIND_NAMES[row[2]] for row in rows} == {
        "broker_started", "request_sent", "block_recorded", "block_committed", "answer_sent", "answer_taken",
        "block_installed", "id_handed_out", "id_refused",
    }  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", ["2.8-IV1", "3.0-IV0"])
def test_most_rows_are_ids_in_every_mode(mode, version):
    rows = simulate(3, {"mode": mode, "inter_broker_protocol": version, "events": 2000, "upgrade": 0, "migrate": 0})
    assert sum(KIND_NAMES[row[2]] == "id_handed_out" for row in rows) > 700


def test_schedule_injects_faults_for_certain():
    calm = dict.fromkeys(("drop", "duplicate", "delay", "restart", "pause", "fail_over", "snapshot"), 0.0)
    schedule = [(40_000, "restart", 2), (60_000, "fail_over", -1)]
    rows, faults = simulate_with_stats(1, {**calm, "schedule": schedule})
    found = {(row[1], KIND_NAMES[row[2]], row[4]) for row in rows}
    assert {(40_000, "broker_stopped", 2), (60_000, "controller_elected", -1)} <= found
    assert faults == {"restart": 1, "fail_over": 1}
