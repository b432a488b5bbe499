"""What exposes broken partitions: zombies, late batches and answers, copies, reads in between."""

import txn_symptoms as symptom
from fencepost.reference_impl.transactions.scenarios.markers import committed_by_a_late_copy
from fencepost.reference_impl.transactions.scenarios.script import CLIENT_TIMEOUT_MS
from txn_exposing import exposes


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


@exposes(symptom.uncommitted_read, "version_unchecked")
def marker_that_comes_twice(script):
    committed_by_a_late_copy(script)
