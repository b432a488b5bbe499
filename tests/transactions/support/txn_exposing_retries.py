"""What exposes coordinators that mix up whose request it is: zombies, retries, ends of nothing, the last epoch."""

import txn_symptoms as symptom
from fencepost.reference_impl.transactions.scenarios.script import CLIENT_TIMEOUT_MS, EXPIRY_MS
from txn_exposing import exposes
from txn_exposing_coordinator import late_batch_before_the_bump

OFFSETS_OF_SECOND_GROUP = 3

# InitProducerId


@exposes(symptom.superseded_commits, "zombie_init_renewed")
@exposes(symptom.pair_handed_twice, "init_retry_by_arithmetic")
def bump_that_comes_after_the_successor(script):
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.system.abort(0)
    bump = script.hold_next("init")
    script.settle()
    script.start(1)
    script.release(bump)
    script.begin(0, 0)
    script.commit(0)


@exposes(symptom.pair_handed_twice, "expired_id_gets_its_old_pair")
def new_instance_after_the_expiry(script):
    script.start(0)
    script.system.advance(EXPIRY_MS)
    script.settle()
    script.start(1)


@exposes(symptom.committed_lost, "last_epoch_not_fenced")
def zombie_of_the_last_epoch(script):
    for _ in range(3):
        script.system.restart_client(0)
        script.start(0)
    script.begin(0, 0)
    script.start(1)
    script.send(0, 0)
    script.begin(1, 0)
    script.commit(1)
    script.read()


# Partitions


@exposes(symptom.uncommitted_read, "added_to_what_is_ending")
def next_transaction_while_the_marker_is_on_its_way(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    marker = script.hold_next("marker")
    script.settle()
    script.begin(0, 0)
    script.release(marker)
    script.abort(0)
    script.read()


@exposes(symptom.offsets_stay_pending, "offsets_of_the_first_group")
def offset_of_the_second_group(script):
    script.start(0)
    script.begin(0, OFFSETS_OF_SECOND_GROUP)
    script.commit(0)
    script.system.fetch_offset(0, OFFSETS_OF_SECOND_GROUP)


exposes(symptom.uncommitted_read, "completion_keeps_partitions")(late_batch_before_the_bump)


@exposes(symptom.committed_lost, "unknown_id_verified")
def late_batch_after_the_expiry(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.system.abort(0)
    script.hold_next("init")
    script.system.restart_client(0)
    script.settle()
    script.system.advance(EXPIRY_MS)
    script.settle()
    script.release(late)
    script.start(1)
    script.begin(1, 0)
    script.commit(1)
    script.read()


# EndTxn


@exposes(symptom.uncommitted_read, "abort_of_nothing_keeps_epoch")
def late_batch_after_the_abort_of_nothing(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.release(late)
    script.begin(0, 0)
    script.commit(0)
    script.read()


@exposes(symptom.superseded_commits, "abort_of_the_fenced_is_a_retry")
def abort_of_nothing_after_the_successor(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.start(1)
    script.abort(0)
    script.begin(0, 1)
    script.commit(0)


@exposes(symptom.committed_lost, "any_older_end_is_a_retry")
def commit_after_the_commit_of_the_successor(script):
    script.start(0)
    script.begin(0, 0)
    script.start(1)
    script.begin(1, 0)
    script.commit(1)
    script.commit(0)
    script.read()


@exposes(symptom.lone_client_fails, "end_retry_forgets_rotation")
@exposes(symptom.lone_client_fails, "end_takes_larger_epoch")
def answer_to_the_end_of_the_last_epoch_lost(script):
    script.at_the_last_epoch()
    script.system.commit(0)
    script.hold_next("end_answer")
    script.lose("end_answer")
    script.settle(CLIENT_TIMEOUT_MS)


@exposes(symptom.lone_client_fails, "end_retry_told_the_old_pair")
def answer_to_the_end_lost(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("end_answer")
    script.lose("end_answer")
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.abort(0)


@exposes(symptom.committed_lost, "rotation_markers_name_the_next_id")
def commit_of_the_last_epoch(script):
    script.at_the_last_epoch()
    script.commit(0)
    script.read()
