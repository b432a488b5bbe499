"""What exposes broken coordinators: take-overs, late requests, lost markers, fail-overs."""

import txn_symptoms as symptom
from fencepost.reference_impl.transactions.scenarios.script import (
    CLIENT_TIMEOUT_MS,
    TXN_TIMEOUT_MS,
)
from txn_exposing import exposes

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


@exposes(symptom.lone_client_fails, "init_retry_is_fenced", "init_takes_new_id")
def bump_whose_answer_is_lost(script):
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.system.abort(0)
    bump = script.hold_next("init")
    script.settle()
    script.let_in(bump)
    script.system.log_append()
    script.lose("init_answer")
    script.settle(CLIENT_TIMEOUT_MS)


@exposes(symptom.epoch_out_of_range, "exhausted_one_late")
def to_the_last_epoch_and_on(script):
    script.at_the_last_epoch()
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
    script.let_in(script.flying("end"))
    script.let_in(script.flying("end_answer"))
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
