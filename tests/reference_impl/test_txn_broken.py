"""Broken implementations break what the registry says, each in a script that leaves the correct one unharmed."""

from dataclasses import replace

import pytest
import txn_symptoms as symptom
from fencepost.reference_impl.transactions import broken
from fencepost.reference_impl.transactions.broken import REGISTRY, Breaks
from fencepost.reference_impl.transactions.generator import simulate
from fencepost.reference_impl.transactions.producer import Producer
from fencepost.reference_impl.transactions.scenarios import (
    CLIENT_TIMEOUT_MS,
    TXN_TIMEOUT_MS,
    at_the_last_epoch,
    scenario,
)
from fencepost.reference_impl.transactions.script import Script
from fencepost.reference_impl.transactions.system import Parts

EXPOSED = {}  # name -> (symptom, script)


def exposes(symptom_of_it, *names):
    """The decorated script makes the symptom show in these implementations."""

    def register(play):
        for name in names:
            EXPOSED[name] = (symptom_of_it, play)
        return play

    return register


# Who may write


@exposes(symptom.pair_handed_twice, "init_keeps_epoch")
def two_instances(script):
    script.start(0, 1)


@exposes(symptom.uncommitted_read, "init_leaves_transaction_open")
def taken_over_in_a_transaction(script):
    script.start(0)
    script.begin(0, 0)
    script.start(1)
    script.begin(1, 0)
    script.commit(1)
    script.read()


@exposes(symptom.init_succeeds_while_ending, "init_answers_before_completion")
def taken_over_with_slow_markers(script):
    script.start(0)
    script.begin(0, 0)
    script.system.init(1)
    script.hold_next("marker")
    script.settle()


@exposes(symptom.lone_client_fails, "init_retry_is_fenced")
def bump_whose_answer_is_lost(script):
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.system.abort(0)
    bump = script.hold_next("init")
    script.settle()
    arrive(script, bump)
    script.system.log_append()
    script.lose("init_answer")
    script.settle(CLIENT_TIMEOUT_MS)


@exposes(symptom.epoch_out_of_range, "exhausted_one_late")
def to_the_last_epoch_and_on(script):
    at_the_last_epoch(script)
    script.commit(0)


@exposes(symptom.unresolved, "open_ids_expire")
def transaction_older_than_the_expiry(script):
    script.start(0)
    script.begin(0, 0)
    script.settle(TXN_TIMEOUT_MS)


# Partitions of a transaction


@exposes(symptom.committed_lost, "add_overwrites", "last_partition_forgotten")
def commit_on_two_then_abort_on_each(script):
    script.start(0)
    script.begin(0, 0, 1)
    script.commit(0)
    script.begin(0, 0)
    script.send(0, 1)
    script.abort(0)
    script.read()


@exposes(symptom.uncommitted_read, "add_takes_older_epoch")
def zombie_on_a_partition_that_is_new_to_both(script):
    script.start(0, 1)
    script.begin(1, 1)
    script.begin(0, 0)
    script.commit(1)
    script.read()


@exposes(symptom.uncommitted_read, "verifies_any_partition")
def late_batch_before_the_bump(script):
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.system.abort(0)
    bump = script.hold_next("init")
    script.settle()
    script.release(late)
    script.release(bump)
    script.begin(0, 0)
    script.commit(0)
    script.read()


# The end of a transaction


@exposes(symptom.uncommitted_read, "end_takes_older_epoch")
def late_end_of_an_older_instance(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    late = script.hold_next("end")
    script.start(1)
    script.begin(1, 0)
    script.release(late)
    script.read()


@exposes(symptom.uncommitted_read, "end_keeps_epoch")
def late_end_of_the_transaction_before(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    late = script.hold_next("end")
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.release(late)
    script.read()


@exposes(symptom.committed_lost, "lost_commit_told_ok")
def commit_after_the_time_out(script):
    script.start(0)
    script.begin(0, 0)
    script.settle(TXN_TIMEOUT_MS)
    script.commit(0)
    script.read()


@exposes(symptom.committed_lost, "end_answers_before_durable")
def fail_over_before_the_end_is_durable(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    arrive(script, script.flying("end"))
    arrive(script, script.flying("end_answer"))
    script.system.fail_over(durable=False)
    script.settle(CLIENT_TIMEOUT_MS)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


@exposes(symptom.epoch_skipped, "failed_fence_bumps_again")
def fence_that_fails_first(script):
    script.start(0)
    script.begin(0, 0)
    script.system.advance(70_000)
    script.system.log_append(ok=False)
    script.settle(TXN_TIMEOUT_MS)


# Markers and fail-over


@exposes(symptom.committed_lost, "markers_by_key_only")
def late_answer_of_an_older_marker(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("marker_answer")
    late = script.copy("marker_answer")
    script.settle()
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("marker")
    script.release(late)
    script.lose("marker")
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.abort(0)
    script.read()


@exposes(symptom.committed_lost, "completes_at_first_marker")
def one_of_two_markers_lost_then_abort(script):
    one_of_two_markers_lost(script)
    script.begin(0, 1)
    script.abort(0)
    script.read()


@exposes(symptom.unresolved, "markers_not_repeated")
def one_of_two_markers_lost(script):
    script.start(0)
    script.begin(0, 0, 1)
    script.system.commit(0)
    script.hold_next("marker", "partition-1")
    script.lose("marker", "partition-1")
    script.settle(CLIENT_TIMEOUT_MS)


@exposes(symptom.unresolved, "reload_forgets_prepare")
@exposes(symptom.committed_lost, "reload_reopens_prepared")
def fail_over_with_markers_on_their_way(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("marker")
    script.lose("marker")
    script.system.fail_over()
    script.settle(TXN_TIMEOUT_MS)
    script.read()


@exposes(symptom.lone_client_fails, "reload_forgets_rotation")
def fail_over_with_the_next_producer_id_under_way(script):
    at_the_last_epoch(script)
    script.system.commit(0)
    script.hold_next("marker")
    script.lose("marker")
    script.system.fail_over()
    script.settle()
    script.begin(0, 0)


# Partitions


@exposes(symptom.uncommitted_read, "older_epoch_accepted")
def zombie_on_a_partition_that_knows_better(script):
    script.start(0)
    script.begin(0, 0)
    script.start(1)
    script.begin(1, 0)
    script.send(0, 0)
    script.commit(1)
    script.read()


@exposes(symptom.uncommitted_read, "unverified")
def late_batch_after_the_abort(script):
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.release(late)
    script.begin(0, 0)
    script.commit(0)
    script.read()


@exposes(symptom.uncommitted_read, "not_rechecked")
def late_answer_after_the_abort(script):
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    yes = script.hold_next("check_answer")
    script.abort(0)
    script.release(yes)
    script.begin(0, 0)
    script.commit(0)
    script.read()


@exposes(symptom.lone_client_fails, "rechecked_by_state")
def late_answer_meets_another_question(script):
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    yes = script.hold_next("check_answer")
    script.abort(0)
    script.system.begin(0)
    script.system.send(0, 0)
    question = script.hold_next("check")
    script.release(yes)
    script.release(question)


@exposes(symptom.uncommitted_read, "equal_epoch_marker_accepted")
def late_copy_of_a_marker(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("marker")
    late = script.copy("marker")
    script.settle()
    script.begin(0, 0)
    script.release(late)
    script.read()


@exposes(symptom.uncommitted_read, "older_coordinator_accepted")
def late_marker_of_the_coordinator_before(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    late = script.hold_next("marker")
    script.system.fail_over()
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.release(late)
    script.read()


@exposes(symptom.read_twice, "sequence_unchecked")
def copy_older_than_the_window(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce")
    late = script.copy("produce")
    script.settle()
    script.send(0, 0, 0, 0, 0, 0)
    script.release(late)
    script.commit(0)
    script.read()


@exposes(symptom.never_commits_again, "new_epoch_continues")
def five_transactions(script):
    script.start(0)
    for _ in range(5):
        script.begin(0, 0)
        script.commit(0)
        script.abort(0)


@exposes(symptom.epoch_begins_late, "new_epoch_takes_any_sequence")
def second_batch_arrives_first(script):
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
    script.system.begin(0)
    script.system.send(0, 0)
    first = script.hold("produce")
    script.send(0, 0)
    script.release(first)


@exposes(symptom.gap_without_a_gap, "window_of_four")
def oldest_of_five_is_sent_again(script, batches=5):
    script.start(0)
    script.begin(0, 0)
    for _ in range(batches):
        script.system.send(0, 0)
    script.hold_next("produce_answer")
    script.lose("produce_answer")
    script.settle(CLIENT_TIMEOUT_MS)


@exposes(symptom.gap_without_a_gap, "six_in_flight")
def oldest_of_six_is_sent_again(script):
    oldest_of_five_is_sent_again(script, batches=6)


@exposes(symptom.asks_before_the_marker, "not_waiting_for_marker")
def next_transaction_before_the_marker(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("marker")
    script.settle()
    script.begin(0, 0)


@exposes(symptom.uncommitted_read, "reads_to_the_end")
def read_before_the_end(script):
    script.start(0)
    script.begin(0, 0)
    script.read()


@exposes(symptom.uncommitted_read, "aborted_list_cut_short")
def two_aborts_in_one_fetch(script):
    script.start(0)
    for _ in range(2):
        script.begin(0, 0)
        script.abort(0)
    script.read()


@exposes(symptom.uncommitted_read, "aborted_index_misses_fences")
def aborted_by_a_successor(script):
    script.start(0)
    script.begin(0, 0)
    script.start(1)
    script.read()


@exposes(symptom.uncommitted_offset_visible, "offsets_applied_at_once")
def offset_of_an_open_transaction(script):
    script.start(0)
    script.begin(0, 2)
    script.system.fetch_offset(0, 2)


@exposes(symptom.uncommitted_offset_visible, "abort_commits_offset")
@exposes(symptom.offsets_stay_pending, "abort_keeps_pending_offset")
def offset_of_an_aborted_transaction(script):
    script.start(0)
    script.begin(0, 2)
    script.abort(0)
    script.system.fetch_offset(0, 2)


@exposes(symptom.pending_offset_passed_over, "pending_offsets_visible")
def offset_behind_a_committed_one(script):
    script.start(0)
    script.begin(0, 2)
    script.commit(0)
    script.begin(0, 2)
    script.system.fetch_offset(0, 2)


# Clients


@exposes(symptom.superseded_commits, "fenced_continues")
def fenced_instance_goes_on(script):
    script.start(0, 1)
    for _ in range(2):
        script.begin(0, 0)
        script.commit(0)
        script.abort(0)


@exposes(symptom.committed_lost, "sequence_reused")
def two_records_and_commit(script):
    script.start(0)
    script.begin(0, 0, 0)
    script.commit(0)
    script.read()


@exposes(symptom.read_twice, "retry_numbered_anew")
def answer_to_a_batch_lost(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce_answer")
    script.lose("produce_answer")
    script.settle(CLIENT_TIMEOUT_MS)
    script.commit(0)
    script.read()


@exposes(symptom.committed_lost, "commits_early")
def commit_with_a_record_held_up(script):
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.commit(0)
    script.release(late)
    script.read()


@exposes(symptom.uncommitted_read, "produces_before_add")
def crash_before_the_partition_is_added(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    script.lose("add")
    script.settle()
    script.system.restart_client(0)
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
    script.read()


@exposes(symptom.uncommitted_read, "abort_keeps_epoch")
def late_batch_in_the_next_transaction(script):
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.system.begin(0)
    script.system.send(0, 0)
    second = script.hold_next("produce")
    script.release(late)
    script.release(second)
    script.commit(0)
    script.read()


@exposes(symptom.committed_lost, "older_answers_taken")
def late_copy_of_an_end_answer(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("end_answer")
    late = script.copy("end_answer")
    script.settle()
    script.begin(0, 0)
    script.system.commit(0)
    script.lose("end")
    script.release(late)
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.abort(0)
    script.read()


@exposes(symptom.uncommitted_read, "reader_pops_wrong_entry")
def abort_without_records_before_another_abort(script):
    script.start(0, 1)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.abort(0)
    script.begin(1, 0)
    script.abort(1)
    script.read()


@exposes(symptom.committed_lost, "reader_skips_for_ever")
def abort_then_commit_in_one_fetch(script):
    script.start(0)
    script.begin(0, 0)
    script.abort(0)
    script.begin(0, 0)
    script.commit(0)
    script.read()


@exposes(symptom.fenced_commits, "fence_takes_any_answer")
def fence_that_fails_and_is_forgotten(script):
    script.start(0)
    script.begin(0, 0)
    script.system.fence()
    arrive(script, script.flying("init"))
    script.system.log_append(ok=False)
    arrive(script, script.flying("init_answer"))
    script.system.fail_over()
    script.commit(0)


@exposes(symptom.fencing_gives_up, "fence_gives_up")
def fence_of_an_open_transaction(script):
    script.start(0)
    script.begin(0, 0)
    script.system.fence()
    script.settle()


def arrive(script, numbers):
    """Deliver these messages, and nothing that follows from them."""
    for number in numbers:
        script.system.deliver(number)


# The tests

BY_SCENARIO = {
    "time_out_keeps_epoch": ("KAFKA-6119", symptom.uncommitted_read),
    "fence_markers_keep_epoch": ("KAFKA-5231", symptom.uncommitted_read),
    "open_in_any_epoch": ("KAFKA-18575", symptom.unresolved),
    "epoch_before_pending": ("KAFKA-18464", symptom.lone_client_fails),
    "double_bump": ("KAFKA-19367", symptom.unresolved),
    "no_rotation_after_time_out": ("KAFKA-20090", symptom.epoch_out_of_range),
    "marker_retry_refused": ("KAFKA-19999", symptom.unresolved),
    "invalid_mapping_recoverable": ("KAFKA-18019", symptom.superseded_commits),
    "stable_offset_inclusive": ("Redpanda-3036", symptom.uncommitted_read),
    "window_outlives_epoch": ("Redpanda-5026", symptom.committed_lost),
}
PROGRESS_SYMPTOMS = {symptom.unresolved, symptom.never_commits_again, symptom.offsets_stay_pending}
CONFORMANCE_SYMPTOMS = {
    symptom.init_succeeds_while_ending, symptom.epoch_skipped, symptom.epoch_begins_late, symptom.gap_without_a_gap,
    symptom.asks_before_the_marker, symptom.pending_offset_passed_over, symptom.fencing_gives_up,
}  # fmt: skip
# In these scripts the slots have transactional ids of their own, or the log's epochs are those of v1.
SETTINGS = {"reader_pops_wrong_entry": {"mode": "v1"}, "failed_fence_bumps_again": {"mode": "v1"}}


def with_own_ids(parts):
    """The same cluster with a transactional id, and so a producer id, per slot."""
    return replace(parts, producer=lambda env, slot: Producer(env, slot, slot))


def played(name, parts):
    """The events of the script that exposes an implementation, played with these parts."""
    config = {**dict(REGISTRY[name].needs), **SETTINGS.get(name, {})}
    script = Script(with_own_ids(parts) if name == "reader_pops_wrong_entry" else parts, **config)
    EXPOSED[name][1](script)
    return script.told()


def kind_of(symptom_of_it):
    """What a symptom is a symptom of."""
    if symptom_of_it in PROGRESS_SYMPTOMS:
        return Breaks.PROGRESS
    return Breaks.CONFORMANCE if symptom_of_it in CONFORMANCE_SYMPTOMS else Breaks.PROMISE


def test_every_broken_implementation_is_exposed():
    """Every entry but the controls has a script or a scenario, with a symptom of what it is said to break."""
    shown = {name: kind_of(found) for name, (found, _) in EXPOSED.items()}
    shown |= {name: kind_of(found) for name, (_, found) in BY_SCENARIO.items()}
    assert shown == {name: entry.breaks for name, entry in REGISTRY.items() if entry.breaks is not Breaks.NOTHING}


@pytest.mark.parametrize("name", sorted(EXPOSED))
def test_defect_shows_and_only_the_defect(name):
    """The script of each implementation shows the symptom with the defect, and not without (txn.*, 618.12)."""
    found, _ = EXPOSED[name]
    assert found(played(name, REGISTRY[name].parts))
    assert not found(played(name, Parts()))


@pytest.mark.parametrize("name", sorted(BY_SCENARIO))
def test_defect_shows_in_its_scenario(name):
    """Implementations that are known bugs are exposed by the bug's own scenario."""
    bug, found = BY_SCENARIO[name]
    assert found(scenario(bug, True))
    assert not found(scenario(bug, False))


@pytest.mark.parametrize("name", sorted(name for name, entry in REGISTRY.items() if entry.breaks is Breaks.NOTHING))
def test_control_changes_nothing(name):
    """A control's histories are those of the correct implementation, row by row."""
    for seed in range(30):
        assert simulate(seed, {"broken": name}) == simulate(seed, {})


def test_broken_implementations_are_factories():
    """Each is reached by name and called with a config, as any implementation is; its own needs are the defaults."""
    system = broken.marker_retry_refused({"partitions": 3})
    assert (system.env.config.mode, system.env.config.partitions) == ("v2", 3)
    assert broken.unverified({}).env.config.mode == "v1-verified"


def test_unknown_names_are_refused_with_the_known_ones():
    """A misspelt name is answered with the names that exist."""
    with pytest.raises(KeyError, match="epoch_before_pending"):
        broken.find("nonsense")
    with pytest.raises(AttributeError, match="epoch_before_pending"):
        broken.nonsense  # noqa: B018
