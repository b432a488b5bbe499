"""Records that are tracked, as Kafka's SubmittedRecordsTest says."""

import pytest
from fencepost.reference_impl.connect.commits.records import EMPTY, CommittableOffsets, SubmittedRecords


@pytest.fixture
def records():
    return SubmittedRecords()


def test_no_records(records):
    """However often it is asked."""
    assert records.committable_offsets().is_empty
    assert records.committable_offsets().is_empty
    assert records.queues == {}


def test_no_committed_records(records):
    """Nothing is acknowledged, so that nothing is committable; all of it is pending."""
    for offset in range(1, 4):
        for partition in range(3):
            records.submit(partition, offset)
    for _ in range(2):
        found = records.committable_offsets()
        assert found[:5] == ({}, 0, 9, 3, 3) and found.has_pending


def test_single_acknowledgement(records):
    """It is committable when it is acknowledged, and said once."""
    record = records.submit(0, 1)
    found = records.committable_offsets()
    assert found.offsets == {} and not found.is_empty and found.largest_partition == 0
    record.ack()
    found = records.committable_offsets()
    assert found.offsets == {0: 1} and found.committable == 1 and not found.has_pending
    assert records.queues == {} and records.committable_offsets().is_empty


def test_acknowledgements_across_source_partitions(records):
    """One that is acknowledged before an earlier one of its source partition waits for that, and for no other."""
    first, second, third, fourth = (records.submit(*each) for each in ((0, 1), (0, 2), (1, 3), (1, 4)))
    second.ack()
    assert records.committable_offsets()[:5] == ({}, 0, 4, 2, 2)
    third.ack()
    found = records.committable_offsets()
    assert found[:4] == ({1: 3}, 1, 3, 2) and found.largest_partition == 0
    assert records.committable_offsets().offsets == {}
    first.ack()
    fourth.ack()
    assert records.committable_offsets().offsets == {0: 2, 1: 4}
    assert records.queues == {}


def test_remove_last_submitted_record(records):
    """It is removed once, and an acknowledgement that comes later means nothing."""
    record = records.submit(0, 1)
    assert record.drop()
    assert not record.drop()
    assert records.committable_offsets().is_empty
    record.ack()
    assert records.committable_offsets().is_empty


def test_remove_not_last_submitted_record(records):
    """The source partition of one that is removed is tracked no more; the others are."""
    removed, kept = records.submit(0, 1), records.submit(1, 2)
    assert removed.drop()
    assert records.queues.keys() == {1}
    kept.ack()
    assert records.committable_offsets().offsets == {1: 2}


def test_removed_by_identity(records):
    """Of two records with the same offset the one that is meant."""
    first, second = records.submit(0, 1), records.submit(0, 1)
    assert first.drop()
    assert list(records.queues[0]) == [second]


def test_null_offset(records):
    """A null offset is committable as any other (H7d)."""
    records.submit(0, 0).ack()
    assert records.committable_offsets().offsets == {0: 0}


def test_waiting_for_all(records):
    """Not over before each is acknowledged or removed; acknowledged or removed twice counts once."""
    assert records.all_acked()
    first, second, third = (records.submit(0, offset) for offset in range(1, 4))
    first.ack()
    first.ack()
    assert not records.all_acked()
    second.drop()
    second.drop()
    assert not records.all_acked()
    third.ack()
    assert records.all_acked()


def test_snapshots_add_up():
    """Newer offsets win, committable records add up, and what is pending is as the newer says."""
    older, newer = CommittableOffsets({0: 1, 1: 5}, 3, 2, 1, 2, 0), CommittableOffsets({0: 4}, 2, 7, 2, 5, 1)
    assert older.updated_with(newer) == CommittableOffsets({0: 4, 1: 5}, 5, 7, 2, 5, 1)
    assert EMPTY.updated_with(newer) == newer
