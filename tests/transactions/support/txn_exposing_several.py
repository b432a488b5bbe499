"""What takes several transactional ids, records in a batch, keys of a group, or pieces of a log to be exposed;
restarts, and partitions that are away.  With `ids` = 2 the slots 0 and 2 have one id, slot 1 has another.
"""

import txn_symptoms as symptom
from fencepost.reference_impl.transactions.scenarios.script import (
    CLIENT_TIMEOUT_MS,
    TXN_TIMEOUT_MS,
)
from txn_exposing import exposes

OFFSETS = 2

# Ids at the coordinator


@exposes(symptom.lone_of_its_id_fails, "reload_knows_the_latest_id")
def fail_over_with_two_ids(script):
    script.start(0, 1)
    script.begin(0, 0)
    script.system.fail_over()
    script.begin(1, 1)


@exposes(symptom.pair_handed_twice, "producer_ids_counted_anew")
def second_id_after_a_fail_over(script):
    script.start(0)
    script.system.fail_over()
    script.start(1)


@exposes(symptom.lone_of_its_id_fails, "time_out_takes_all")
def young_transaction_beside_an_old_one(script):
    script.start(0, 1)
    script.begin(0, 0)
    script.settle(40_000)
    script.begin(1, 1)
    script.settle(32_000)
    script.commit(1)


@exposes(symptom.unresolved, "time_outs_stop_at_the_first_idle")
def old_transaction_beside_an_idle_id(script):
    script.start(0, 1)
    script.begin(1, 0)
    script.settle(TXN_TIMEOUT_MS)


@exposes(symptom.committed_lost, "markers_by_partition_only")
def marker_of_one_id_lost(script):
    script.start(0, 1)
    script.begin(0, 0)
    script.begin(1, 0)
    script.system.commit(0)
    script.hold_next("marker")
    script.lose("marker")
    script.commit(1)
    script.settle(CLIENT_TIMEOUT_MS)
    script.read()


# Producers at a partition


@exposes(symptom.uncommitted_read, "marker_ends_every_transaction")
def commit_beside_an_open_transaction(script):
    script.start(0, 1)
    script.begin(0, 0)
    script.begin(1, 0)
    script.commit(1)
    script.read()


@exposes(symptom.committed_lost, "refused_batch_holds_readers_up")
def commit_behind_a_refused_batch(script):
    script.start(0, 1)
    script.begin(0, 0)
    script.start(2)
    script.send(0, 0)
    script.begin(1, 0)
    script.commit(1)
    script.read()


@exposes(symptom.uncommitted_read, "list_as_it_comes")
def the_later_of_two_is_aborted_first(script):
    script.start(0, 1)
    script.begin(1, 0)
    script.begin(0, 0)
    script.abort(0)
    script.abort(1)
    script.read()


@exposes(symptom.committed_offset_lost, "one_pending_commit_per_group")
def two_transactions_with_offsets_of_a_group(script):
    script.start(0, 1)
    script.begin(0, OFFSETS)
    script.begin(1, OFFSETS)
    script.commit(0)
    script.abort(1)
    script.system.fetch_offset(0, OFFSETS)


@exposes(symptom.uncommitted_offset_visible, "refused_offset_stays_pending")
def refused_offset_in_the_transaction_of_the_successor(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, OFFSETS)
    late = script.hold_next("produce")
    script.start(1)
    script.begin(1, OFFSETS)
    script.release(late)
    script.commit(1)
    script.system.fetch_offset(0, OFFSETS)


@exposes(symptom.uncommitted_read, "restart_forgets_idle_producers")
def zombie_after_a_restart(script):
    script.start(0)
    script.begin(0, 0)
    script.start(1)
    script.system.change_leader(0)
    script.send(0, 0)
    script.begin(1, 0)
    script.commit(1)
    script.read()


# Records of a batch, keys, pieces


@exposes(symptom.uncommitted_read, "aborted_from_the_last_record")
def two_records_in_one_batch_aborted(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0, 2)
    script.settle()
    script.abort(0)
    script.read()


@exposes(symptom.committed_offset_lost, "first_key_committed")
def two_offsets_in_one_request(script):
    script.start(0)
    script.begin(0, OFFSETS)
    script.commit(0)
    script.system.fetch_offset(0, OFFSETS, 1)


@exposes(symptom.uncommitted_read, "list_of_what_ends_in_the_piece")
def piece_that_ends_before_the_marker(script):
    script.start(0)
    script.begin(0, 0)
    script.abort(0)
    script.system.read(0, 0, most=1)


@exposes(symptom.uncommitted_read, "list_cut_with_the_piece")
def piece_in_which_two_transactions_are_aborted(script):
    script.start(0, 1)
    script.begin(1, 0)
    script.begin(0, 0)
    script.abort(1)
    script.abort(0)
    script.system.read(0, 0, most=1)
    script.system.read(0, 0, most=1)


# A partition away


@exposes(symptom.committed_lost, "leaderless_taken_for_deleted")
def partition_away_at_the_commit(script):
    script.start(0)
    script.begin(0, 0)
    script.system.leave(0)
    script.commit(0)
    script.system.come_back(0)
    script.settle(CLIENT_TIMEOUT_MS)
    script.read()
