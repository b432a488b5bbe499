"""Mistakes in two-phase commit that simulated histories do not show (test_histories_of_defects.py has the others) are
found by what must hold of histories, or by what an instance and a reader see."""

import pytest
import two_phase_scenarios as runs
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.two_phase.events import TWO_PHASE
from fencepost.properties.two_phase.histories import HISTORY
from fencepost.reference_impl.defects.two_phase import REGISTRY
from fencepost.reference_impl.kafka.clients.producer import State
from fencepost.reference_impl.systems.two_phase import reference, simulate, simulate_with_stats
from two_phase_scenarios import violated

KILLERS = {
    "sends_after_prepared": (runs.sends_on, "nothing_after_it_is_prepared"),
    "empty_has_a_state": (runs.empty_before, "committed_as_decided"),
    "claims_late": (runs.paused_before_reading, "not_decided_when_over"),
    "reads_early": (runs.late_init, "decided_is_not_aborted"),
}
SCENARIOS = {each.__name__: each for each, _ in KILLERS.values()}
UNREAD = {"markers_of_the_client": runs.ONE_EPOCH, "markers_without_bump": runs.TWO}
FENCED = {"rotation_forgets_the_client": runs.ONE_EPOCH, "repeated_end_is_fenced": runs.TWO}


def after(made, scenario, config=runs.TWO):
    """Return a system after a scenario, with what its events violate."""
    system = made(config)
    scenario(system)
    return system, violated([system.env.log.rows])


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_nothing_is_violated_by_the_reference(scenario):
    """939.P1 to 939.P6: what is decided in the end of a scenario is not completed everywhere, and nothing else."""
    assert after(reference, scenario)[1].keys() <= {"decided_is_ended"}


@pytest.mark.parametrize("name", KILLERS)
def test_defect_is_found(name):
    scenario, broken = KILLERS[name]
    assert broken in after(REGISTRY[name], scenario)[1]
    assert broken not in after(reference, scenario)[1]


@pytest.mark.parametrize(("name", "config"), UNREAD.items())
def test_wrong_markers_leave_the_record_unread(name, config):
    """939.4: The markers of a retained transaction have its own producer id, and its own epoch and one."""
    assert after(reference, runs.recovered, config)[0].read(0, 0) == [(0, 0)]
    assert after(REGISTRY[name], runs.recovered, config)[0].read(0, 0) == []


@pytest.mark.parametrize(("name", "config"), FENCED.items())
def test_repeated_end_is_a_success(name, config):
    """939.18: An EndTxn whose answer was lost is repeated with success, also where its end was a rotation."""
    assert after(reference, runs.answer_lost, config)[0].producers[0].state is State.READY
    assert after(REGISTRY[name], runs.answer_lost, config)[0].producers[0].state is State.FATAL_ERROR


def test_control_changes_nothing():
    """939.15: Where a decision to abort is not written, the next owner aborts as well."""
    config = {"quiet_end": True, "decided_abort_share": 0.5}
    made = [simulate(seed, {**config, "broken": "aborts_are_not_written"}) for seed in range(4)]
    assert made != [simulate(seed, config) for seed in range(4)]
    assert violated(made) == {}


CLUSTERS = {
    "usual": {}, "epochs end": {"max_epoch": 3, "restart": 0.03}, "one id": {"ids": 1, "partitions": 1},
    "losses": {"drop": 0.05, "duplicate": 0.1, "delay": 0.1}, "coordinators change": {"fail_over": 0.05},
    "three ids": {"clients": 6, "ids": 3, "partitions": 3}, "operators": {"fence": 0.03, "ordinary_share": 0.4},
}  # fmt: skip


@pytest.mark.parametrize("changes", CLUSTERS.values(), ids=CLUSTERS)
def test_simulated_histories_of_the_reference(changes):
    """939.P1 to 939.P6: they fit the model, and violate nothing, whatever happens to applications that use two-phase
    commit as they should, and to their cluster. Of what is undecided, a coordinator had resigned without an answer."""
    config = {"mode": "retained", "events": 200, "quiet_end": True, **changes}
    columns = columns_of(TWO_PHASE, [(seed, simulate(seed, config)) for seed in range(30)])
    assert not any(found.violations for found in HISTORY.check(columns, config=config)[0].values())
    fitting = conformance_kernel("retained", config, "two-phase")(columns)
    assert not fitting.violations and sum(fitting.undecided.values()) <= 3
    assert all("a coordinator resigned" in reason for reason in fitting.undecided)


def test_every_fault_is_simulated():
    counted = [simulate_with_stats(seed, {"events": 600, "fence": 0.02})[1] for seed in range(8)]
    assert {name for each in counted for name, count in each.items() if count} == {*counted[0]}
