"""Known bugs and holes as scenarios: each shows its symptom with the defect, and not without."""

import connect_symptoms as symptom
import pytest
from fencepost.reference_impl.task_counts.scenarios import SCENARIOS, scenario

SYMPTOMS = {
    "618.40-A": symptom.older_set_commits,
    "618.40-M": symptom.older_set_commits,
    "618.40-B": symptom.older_set_commits,
    "618.40-shipped": symptom.older_set_commits,
    "H4": symptom.older_set_commits,
    "H5": symptom.tasks_not_running,
    "paused-leader": symptom.tasks_not_running,
    "late-fence": symptom.tasks_not_running,
    "H12-check": symptom.older_set_commits,
    "lingering-round": symptom.older_set_commits,
    "H12-leader": symptom.older_set_commits,
    "zombie-leader": symptom.counts_by_former_leaders,
    "removed-task": symptom.older_set_commits,
    "B34": symptom.older_set_commits,
    "B36": symptom.replaced_instance_commits,
    "618.33": symptom.older_set_commits,
    "618.34": symptom.older_set_commits,
    "618.35": symptom.older_set_commits,
    "follower-writes-a-set": symptom.older_set_commits,
    "compaction-order": symptom.older_set_commits,
    "618.49": symptom.fenced_by_strangers,
}
RACES = sorted(name for name in SCENARIOS if name.startswith("618.40"))
FOUR_SETS = ("H12-check", "H12-leader")


def test_every_scenario_has_its_symptom():
    """The table of symptoms covers the scenarios."""
    assert sorted(SYMPTOMS) == sorted(SCENARIOS)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_scenario_shows_its_symptom_only_when_broken(name):
    """Each known bug breaks what it is known for, and its fix does not."""
    assert SYMPTOMS[name](scenario(name, True))
    assert not SYMPTOMS[name](scenario(name, False))


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_mended_scenario_breaks_no_promise(name):
    """618.P1, 618.26: without the defect no task of an older set commits, and no former leader counts."""
    events = scenario(name, False)
    assert not symptom.older_set_commits(events)
    assert not symptom.counts_by_former_leaders(events)


@pytest.mark.parametrize("name", RACES)
def test_race_is_run_to_its_end(name):
    """618.40: in the safe form F did open its producer after O ran, looked, and found the newer set."""
    events = scenario(name, False)
    kinds = [(e.kind, e.status) for e in events if e.instance == 0]
    ran = [e.step for e in events if e.kind == "task_running" and e.instance > 0]
    opened = [e.step for e in events if e.kind == "producer_opened" and e.instance == 0]
    assert min(ran) < opened[0]
    assert ("task_checked_again", 409) in kinds


@pytest.mark.parametrize(("name", "ends"), [("618.40-B", "task_abandoned"), ("618.40-shipped", "task_failed")])
def test_mismatch_abandons_or_fails(name, ends):
    """618.20: the documents abandon the start; as shipped the task fails (or stops, as its worker knows by then)."""
    ended = [e.kind for e in scenario(name, False) if e.instance == 0][-1]
    assert ended == ends


def test_h5_needs_a_user():
    """618.P4: the healthy task that was fenced is FAILED for good, until somebody restarts it."""
    events = scenario("H5", True)
    assert symptom.tasks_not_running(events) == [(0, 0)]
    assert not symptom.older_set_commits(events)
    refused = [event for event in events if event.kind == "transaction_refused"]
    assert [event.error in (47, 90) for event in refused] == [True]


@pytest.mark.parametrize("name", FOUR_SETS)
def test_stale_counts_need_four_sets(name):
    """H12: the violation is one generation later: four sets, and the count 1 stands behind the set of two tasks."""
    events = scenario(name, True)
    sets = [event.count for event in events if event.kind == "set_written"]
    assert sets == [2, 1, 2, 1]
    third = [event.step for event in events if event.kind == "set_written"][2]
    counts = [event.count for event in events if event.kind == "count_written" and event.step > third]
    assert 1 in counts[:2]


def test_zombie_leader_is_refused():
    """618.26: its write fails with one of Kafka's codes for a fenced producer."""
    events = scenario("zombie-leader", False)
    assert any(event.kind == "write_refused" and event.error in (47, 90) for event in events)


def test_unknown_name_is_refused_with_the_known_ones():
    """A misspelt name is answered with the names that exist."""
    with pytest.raises(KeyError, match=r"618\.40-A"):
        scenario("H1", True)
