"""What exposes coordinators that take an append for done: failed appends, and fail-overs before they are durable."""

import txn_symptoms as symptom
from fencepost.reference_impl.transactions.scenarios.script import (
    CLIENT_TIMEOUT_MS,
    TXN_TIMEOUT_MS,
)
from txn_exposing import exposes


@exposes(symptom.pair_handed_twice, "init_answers_before_durable")
def fail_over_before_the_bump_is_durable(script):
    script.start(0)
    script.system.init(1)
    script.let_in(script.flying("init"))
    script.let_in(script.flying("init_answer"))
    script.system.fail_over(durable=False)
    script.system.restart_client(0)
    script.start(0)


@exposes(symptom.pair_handed_twice, "init_answered_unrecorded")
def bump_that_is_not_recorded(script):
    script.start(0)
    script.system.init(1)
    script.let_in(script.flying("init"))
    script.system.log_append(ok=False)
    script.let_in(script.flying("init_answer"))
    script.system.restart_client(0)
    script.start(0)


@exposes(symptom.committed_lost, "failed_add_remembered")
def fail_over_after_a_partition_was_not_recorded(script):
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 1)
    script.let_in(script.flying("add"))
    script.system.log_append(ok=False)
    script.settle()
    script.system.fail_over()
    script.commit(0)
    script.read()


@exposes(symptom.committed_lost, "end_answered_unrecorded")
@exposes(symptom.lone_client_fails, "failed_end_bumps")
@exposes(symptom.unresolved, "failed_append_stays_pending")
def end_that_is_not_recorded_at_first(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.let_in(script.flying("end"))
    script.system.log_append(ok=False)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


@exposes(symptom.uncommitted_read, "failed_fence_never_forgotten")
def time_out_after_an_older_fence_that_failed(script):
    script.start(0)
    script.begin(0, 0)
    script.system.advance(70_000)
    script.system.log_append(ok=False)
    script.settle(TXN_TIMEOUT_MS)
    script.system.restart_client(0)
    script.start(0)
    script.begin(0, 0)
    script.settle(TXN_TIMEOUT_MS)
    script.send(0, 0)
    script.start(1)
    script.begin(1, 0)
    script.commit(1)
    script.read()


@exposes(symptom.unresolved, "failed_completion_not_repeated")
def completion_that_is_not_recorded_at_first(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.let_in(script.hold_next("marker_answer"))
    script.system.log_append(ok=False)
    script.settle(CLIENT_TIMEOUT_MS)


@exposes(symptom.lone_client_fails, "completed_again")
def second_answer_to_a_marker_in_the_next_transaction(script):
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("marker_answer")
    late = script.copy("marker_answer")
    script.settle()
    script.begin(0, 0)
    script.release(late)
    script.commit(0)
