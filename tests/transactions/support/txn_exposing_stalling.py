"""What exposes clients that never get on again, and brokers that have them wait for ever (txn.P11)."""

import txn_symptoms as symptom
from fencepost.reference_impl.transactions.scenarios.script import CLIENT_TIMEOUT_MS
from txn_exposing import exposes


@exposes(symptom.never_commits_again, "renumbers_the_latest_partition", "numbers_go_on")
def commits_on_two_partitions(script):
    script.start(0)
    for _ in range(5):
        script.system.begin(0)
        script.system.send(0, 0)
        script.system.send(0, 1)
        script.settle()
        script.commit(0)
        script.abort(0)


@exposes(symptom.begins_once, "latch_opens_once")
def commit_after_a_commit(script):
    script.start(0)
    for _ in range(2):
        script.begin(0, 0)
        script.commit(0)


@exposes(symptom.begins_once, "waits_after_an_abort")
def commit_after_an_abort(script):
    script.start(0)
    script.begin(0, 0)
    script.abort(0)
    script.begin(0, 0)
    script.commit(0)


@exposes(symptom.unanswered, "lost_batches_stay_lost")
def batch_lost(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    script.lose("produce")
    script.settle(CLIENT_TIMEOUT_MS)
    script.commit(0)


@exposes(symptom.unanswered, "sleeps_while_others_are_added")
def two_partitions_at_once(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    script.system.send(0, 1)
    script.settle()
    script.commit(0)


@exposes(symptom.unanswered, "coordinator_asked_once")
def init_lost(script):
    script.system.init(0)
    script.lose("init")
    script.settle(CLIENT_TIMEOUT_MS)


@exposes(symptom.unanswered, "back_off_not_set")
def init_not_recorded(script):
    script.system.init(0)
    script.let_in(script.flying("init"))
    script.system.log_append(ok=False)
    script.settle()


@exposes(symptom.lone_client_fails, "second_offsets_conflict")
def offsets_twice_in_a_transaction(script):
    script.start(0)
    script.begin(0, 2, 2)
    script.commit(0)


@exposes(symptom.unresolved, "snapshot_loses_the_name")
def restart_with_a_transaction_open(script):
    script.start(0)
    script.begin(0, 0)
    script.system.change_leader(0, restart=True)
    script.commit(0)
    script.settle(CLIENT_TIMEOUT_MS)
