"""Broken implementations: each shows what it is said to break, and the correct one under the same script does not."""

import connect_exposing_more
import connect_symptoms as symptom
import pytest
from fencepost.reference_impl.simulation.defects import Breaks
from fencepost.reference_impl.task_counts.defects import broken
from fencepost.reference_impl.task_counts.defects.broken import REGISTRY, find
from fencepost.reference_impl.task_counts.events import readable
from fencepost.reference_impl.task_counts.generator import simulate

EXPOSED = connect_exposing_more.EXPOSED
BROKEN = sorted(REGISTRY)
OF_PROMISE = [name for name in BROKEN if REGISTRY[name].breaks is Breaks.PROMISE]
HARMLESS = [name for name in BROKEN if REGISTRY[name].breaks is Breaks.NOTHING]
_SHAKEN = {"stall": 0.03, "heartbeat_ms": 60, "settle_events": 2_000}
FAILING: dict[str, dict[str, float]] = {
    "fenced_leader_never_claims": {"failed": 0.06}, "starts_for_its_connectors": _SHAKEN,
    "takes_former_assignment": _SHAKEN,
}  # fmt: skip
"""What a defect of progress needs so that it shows within as many histories."""
OF_PROGRESS = [name for name in BROKEN if REGISTRY[name].breaks is Breaks.PROGRESS]
MENDED = ["catches_up_or_not", "gives_up_on_51", "key_of_the_start", "refused_at_first"]
"""What fails runs where somebody starts it again, or fails when the session key is an hour old."""
WITHOUT_FAULTS = {
    "failed": 0.0, "lost": 0.0, "round_failed": 0.0, "stall": 0.0, "crash": 0.0, "expire": 0.0, "compact": 0.0,
    "burst_share": 0.0, "change_us": 2_000_000, "slow_share": 0.0,
}  # fmt: skip
NAMED_BY_MUTANTS = (  # area 2, those that concern who may run
    "no_fencing", "no_check_before", "any_record_counts", "order_inverted", "no_check_after",
    "check_after_before_producer", "check_after_stale_view", "record_before_fencing", "shortcut_new_is_one",
    "shortcut_old_is_one", "shortcut_equal", "record_old_count", "plain_leader_producer", "followers_write",
    "deletion_clears_count", "partial_failure_ignored", "compaction_keeps_first", "no_preemptive_stop",
)  # fmt: skip


def test_every_promise_breaker_is_exposed():
    """Each has a script."""
    assert sorted(EXPOSED) == OF_PROMISE


def test_mutants_have_their_implementation():
    """Area 2 of the mutants, by name."""
    assert set(NAMED_BY_MUTANTS) <= set(BROKEN)


@pytest.mark.parametrize("name", sorted(EXPOSED))
def test_defect_breaks_the_promise(name):
    """618.P1: a task of an older set commits after one of a newer set ran."""
    assert symptom.older_set_commits(EXPOSED[name](True))


@pytest.mark.parametrize("name", sorted(EXPOSED))
def test_same_script_without_the_defect_keeps_it(name):
    """618.P1: the script is not to blame."""
    events = EXPOSED[name](False)
    assert not symptom.older_set_commits(events)
    assert any(event.kind == "transaction_committed" for event in events)


@pytest.mark.parametrize("name", HARMLESS)
def test_controls_keep_the_promise(name):
    """618.P1, 618.P4: what is harmless by itself does not show, and everything runs in the end."""
    for seed in range(5):
        events = [readable(row) for row in simulate(seed, {"broken": name, "quiet_end": True})]
        assert symptom.older_set_commits(events) == []
        assert symptom.tasks_not_running(events) == []


@pytest.mark.parametrize("name", sorted(set(OF_PROGRESS) - set(MENDED)))
def test_defect_leaves_something_standing(name):
    """618.P4: some history ends with a task that does not run, though faults are over and users restart what failed."""
    config = {"broken": name, "quiet_end": True, "settle_events": 600, **FAILING.get(name, {})}
    found = (simulate(seed, config) for seed in range(30))
    assert any(symptom.tasks_not_running([readable(row) for row in rows]) for rows in found)


def failures(broken, config):
    """The task failures, and the ids that were not fenced, of ten histories: kind and error."""
    config = {**config, "broken": broken, "events": 300}
    events = [readable(row) for seed in range(10) for row in simulate(seed, config)]
    return {(e.kind, e.error) for e in events if e.kind in ("task_failed", "id_fenced") and e.error}


def test_defect_fails_what_nothing_went_wrong_for():
    """618.P4: without any fault, and without haste, some task fails unless it is started again."""
    assert not failures("", WITHOUT_FAULTS)
    assert failures("refused_at_first", WITHOUT_FAULTS) == {("task_failed", -1)}


def test_defect_takes_an_answer_of_now_for_a_failure():
    """618.P4: CONCURRENT_TRANSACTIONS is never what comes of fencing an id; the admin client asks again."""
    assert ("id_fenced", 51) in failures("gives_up_on_51", {})
    assert ("id_fenced", 51) not in failures("", {})


@pytest.mark.parametrize("name", BROKEN)
def test_entry_is_complete(name):
    """Reachable as `broken:<name>`, documented, with its rule, and a reason where the verdict may surprise."""
    entry = getattr(broken, name)
    assert entry is REGISTRY[name] is find(name)
    assert entry.rule.startswith("618.")
    assert entry.breaks is Breaks.PROMISE or entry.why
    changed = [
        part for part in map(entry.parts.__getattribute__, entry.parts.__slots__) if ".defects." in part.__module__
    ]
    assert changed
    assert all(part.__doc__ for part in changed)


def test_unknown_name_is_refused_with_the_known_ones():
    """A misspelt name is answered with the names that exist."""
    with pytest.raises(KeyError, match="no_fencing"):
        find("no_fence")
    with pytest.raises(AttributeError, match="no_fencing"):
        _ = broken.no_fence
