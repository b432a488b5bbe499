"""What exposes coordinators and leaders that take over: fail-overs and leader changes in the middle."""

import txn_symptoms as symptom
from fencepost.reference_impl.transactions.scenarios.script import (
    CLIENT_TIMEOUT_MS,
    TXN_TIMEOUT_MS,
)
from txn_exposing import exposes
from txn_exposing_partition import late_marker_of_the_coordinator_before

OFFSETS = 2


@exposes(symptom.committed_lost, "reload_forgets_partitions")
def fail_over_in_a_transaction(script):
    script.start(0)
    script.begin(0, 0)
    script.system.fail_over()
    script.commit(0)
    script.read()


@exposes(symptom.unresolved, "reload_forgets_the_clock")
def fail_over_before_the_time_out(script):
    script.start(0)
    script.begin(0, 0)
    script.system.fail_over()
    script.settle(TXN_TIMEOUT_MS)


@exposes(symptom.unresolved, "time_outs_looked_for_once")
def time_out(script):
    script.start(0)
    script.begin(0, 0)
    script.settle(TXN_TIMEOUT_MS)


@exposes(symptom.unresolved, "reload_resends_commits_only")
def fail_over_with_an_abort_on_its_way(script):
    script.start(0)
    script.begin(0, 0)
    script.system.abort(0)
    script.hold_next("marker")
    script.lose("marker")
    script.system.fail_over()
    script.settle(TXN_TIMEOUT_MS)


exposes(symptom.uncommitted_read, "markers_without_coordinator_epoch")(late_marker_of_the_coordinator_before)


@exposes(symptom.uncommitted_read, "rebuilt_without_coordinator_epochs")
def late_marker_at_a_new_leader(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    late = script.hold_next("marker")
    script.system.fail_over()
    script.settle(CLIENT_TIMEOUT_MS)
    script.system.change_leader(0)
    script.begin(0, 0)
    script.release(late)
    script.read()


@exposes(symptom.uncommitted_read, "rebuilt_without_marker_epochs")
def zombie_at_a_new_leader(script):
    script.start(0)
    script.begin(0, 0)
    script.start(1)
    script.system.change_leader(0)
    script.send(0, 0)
    script.begin(1, 0)
    script.commit(1)
    script.read()


@exposes(symptom.uncommitted_read, "rebuilt_without_open")
def read_of_an_open_transaction_at_a_new_leader(script):
    script.start(0)
    script.begin(0, 0)
    script.system.change_leader(0)
    script.read()


@exposes(symptom.uncommitted_read, "rebuilt_without_aborted_index")
def read_of_an_aborted_transaction_at_a_new_leader(script):
    script.start(0)
    script.begin(0, 0)
    script.abort(0)
    script.system.change_leader(0)
    script.read()


@exposes(symptom.read_twice, "snapshot_keeps_the_oldest_batch")
def second_batch_sent_again_after_a_restart(script):
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 0)
    script.hold_next("produce_answer")
    script.lose("produce_answer")
    script.system.change_leader(0)
    script.settle(CLIENT_TIMEOUT_MS)
    script.commit(0)
    script.read()


@exposes(symptom.lone_client_fails, "waiting_survive_the_change")
def leader_change_while_a_batch_waits(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    question = script.hold_next("check")
    script.system.change_leader(0)
    script.release(question)


@exposes(symptom.committed_offset_lost, "pending_offsets_in_memory_only")
def leader_change_with_an_offset_pending(script):
    script.start(0)
    script.begin(0, OFFSETS)
    script.system.change_leader(OFFSETS)
    script.commit(0)
    script.system.fetch_offset(0, OFFSETS)
