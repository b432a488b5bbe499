"""What exposes broken clients: producers, readers, admins."""

import txn_symptoms as symptom
from fencepost.reference_impl.transactions.scenarios.script import CLIENT_TIMEOUT_MS
from txn_exposing import exposes
from txn_exposing_partition import oldest_of_five_is_sent_again


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


@exposes(symptom.gap_without_a_gap, "six_in_flight")
def oldest_of_six_is_sent_again(script):
    oldest_of_five_is_sent_again(script, batches=6)


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
    script.let_in(script.flying("init"))
    script.system.log_append(ok=False)
    script.let_in(script.flying("init_answer"))
    script.system.fail_over()
    script.commit(0)


@exposes(symptom.fenced_commits, "idle_ids_not_fenced")
def fence_of_an_idle_id(script):
    script.start(0)
    script.system.fence()
    script.settle()
    script.begin(0, 0)
    script.commit(0)


@exposes(symptom.fencing_gives_up, "fence_gives_up")
def fence_of_an_open_transaction(script):
    script.start(0)
    script.begin(0, 0)
    script.system.fence()
    script.settle()
