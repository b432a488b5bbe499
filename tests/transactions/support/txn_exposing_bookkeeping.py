"""What exposes partitions and readers that keep too little or too much: refused or late batches, reads, offsets."""

import txn_symptoms as symptom
from txn_exposing import exposes

OFFSETS = 2


@exposes(symptom.committed_lost, "refused_batch_answers_duplicates")
def batch_refused_for_the_one_before(script):
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 0)
    first = script.hold_next("produce")
    script.send(0, 0)
    script.release(first)
    script.commit(0)
    script.read()


@exposes(symptom.uncommitted_read, "marker_of_nothing_skipped", "markers_teach_no_epoch")
def late_first_batch_after_the_successor(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.start(1)
    script.release(late)
    script.begin(1, 0)
    script.commit(1)
    script.read()


@exposes(symptom.uncommitted_read, "open_at_the_latest_record")
def read_between_two_records(script):
    script.start(0)
    script.begin(0, 0, 0)
    script.read()


@exposes(symptom.uncommitted_read, "one_aborted_entry_per_producer")
def two_aborts_in_one_fetch(script):
    script.start(0)
    for _ in range(2):
        script.begin(0, 0)
        script.abort(0)
    script.read()


@exposes(symptom.uncommitted_read, "verified_once_for_all")
def late_batch_where_one_was_verified_before(script):
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
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


@exposes(symptom.committed_offset_lost, "abort_forgets_the_offset")
def offset_committed_then_offset_aborted(script):
    script.start(0)
    script.begin(0, OFFSETS)
    script.commit(0)
    script.begin(0, OFFSETS)
    script.abort(0)
    script.system.fetch_offset(0, OFFSETS)


@exposes(symptom.committed_offset_lost, "first_offset_kept")
def two_offsets_in_one_transaction(script):
    script.start(0)
    script.begin(0, OFFSETS, OFFSETS)
    script.commit(0)
    script.system.fetch_offset(0, OFFSETS)


@exposes(symptom.uncommitted_offset_visible, "fenced_offsets_accepted")
def late_offset_in_the_transaction_of_the_successor(script):
    script.start(0)
    script.system.begin(0)
    script.system.send(0, OFFSETS)
    late = script.hold_next("produce")
    script.start(1)
    script.begin(1, OFFSETS)
    script.release(late)
    script.commit(1)
    script.system.fetch_offset(0, OFFSETS)


@exposes(symptom.read_twice, "reader_position_by_count")
def read_after_each_of_three_commits(script):
    script.start(0)
    for _ in range(3):
        script.begin(0, 0)
        script.commit(0)
        script.read()
