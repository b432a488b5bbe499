"""What exposes implementations whose mistake shows where there are several of something: transactional ids (slot s has
the id s % 2 here), records in a batch, pieces, offsets in a commit; or where a partition forgets, or is away."""

import txn_symptoms as symptom
from txn_exposing import exposes

OFFSETS = 2
FORGOTTEN_MS = 26 * 3600 * 1000


@exposes(symptom.uncommitted_read, "youngest_open_counts")
def read_while_two_are_open(script):
    script.start(0, 1)
    script.begin(0, 0)
    script.begin(1, 0)
    script.read()


@exposes(symptom.uncommitted_read, "aborted_of_the_piece_only")
def pieces_of_an_aborted_transaction(script):
    script.start(0)
    script.begin(0, 0, 0)
    script.abort(0)
    for _ in range(3):
        script.system.read(0, 0, True, 0, 1)


@exposes(symptom.committed_lost, "reader_skips_all_producers")
def committed_within_an_aborted_range(script):
    script.start(0, 1)
    script.begin(0, 0)
    script.begin(1, 0)
    script.commit(1)
    script.abort(0)
    script.read()


@exposes(symptom.unresolved, "partitions_of_any_id")
def partition_of_two_ids(script):
    script.start(0, 1)
    script.begin(0, 0)
    script.begin(1, 0)
    script.commit(1)
    script.commit(0)


@exposes(symptom.other_producer_id, "idle_ids_are_compacted")
def idle_id_after_a_fail_over(script):
    script.start(0, 1)
    script.begin(1, 0)
    script.system.fail_over()
    script.system.restart_client(0)
    script.start(0)


@exposes(symptom.gap_without_a_gap, "batches_numbered_by_the_first", "producer_counts_batches")
def batch_behind_a_larger_one(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0, 2)
    script.settle()
    script.send(0, 0)


@exposes(symptom.offset_never_there, "one_offset_of_a_commit")
def two_offsets_in_one_commit(script):
    script.start(0)
    script.begin(0, OFFSETS)
    script.commit(0)
    for key in range(2):
        script.system.fetch_offset(0, OFFSETS, key)


@exposes(symptom.uncommitted_read, "aborted_are_forgotten")
def read_after_the_producer_is_forgotten(script):
    script.start(0)
    script.begin(0, 0)
    script.abort(0)
    script.settle(FORGOTTEN_MS)
    script.read()


@exposes(symptom.gap_without_a_gap, "forgotten_start_anew")
def on_after_the_producer_is_forgotten(script):
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
    script.settle(FORGOTTEN_MS)
    script.begin(0, 0)
