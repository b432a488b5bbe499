"""Records that are tracked, as Kafka's SubmittedRecordsTest says."""

import pytest
from fencepost.reference_impl.connect.commits.records import SubmittedRecords


@pytest.fixture
def records():
    return SubmittedRecords()


def test_no_records(records):
    """However often it is asked."""
    assert records.committable_offsets() == records.committable_offsets() == {}
    assert records.queues == {}


def test_no_committed_records(records):
    """Nothing is acknowledged, so that nothing is committable; all of it is pending."""
    for offset in range(1, 4):
        for partition in range(3):
            records.submit(partition, offset)
    for _ in range(2):
        assert records.committable_offsets() == {}
        assert [len(queue) for queue in records.queues.values()] == [3, 3, 3]


def test_single_acknowledgement(records):
    """It is committable when it is acknowledged, and said once."""
    record = records.submit(0, 1)
    assert records.committable_offsets() == {} and records.queues.keys() == {0}
    record.ack()
    assert records.committable_offsets() == {0: 1}
    assert records.queues == {} and records.committable_offsets() == {}


def test_acknowledgements_across_source_partitions(records):
    """One that is acknowledged before an earlier one of its source partition waits for that, and for no other."""
    first, second, third, fourth = (records.submit(*each) for each in ((0, 1), (0, 2), (1, 3), (1, 4)))
    second.ack()
    assert records.committable_offsets() == {}
    third.ack()
    assert records.committable_offsets() == {1: 3}
    assert {partition: len(queue) for partition, queue in records.queues.items()} == {0: 2, 1: 1}
    assert records.committable_offsets() == {}
    first.ack()
    fourth.ack()
    assert records.committable_offsets() == {0: 2, 1: 4}
    assert records.queues == {}


def test_remove_last_submitted_record(records):
    """It is removed once, and an acknowledgement that comes later means nothing."""
    record = records.submit(0, 1)
    assert record.drop()
    assert not record.drop()
    assert records.committable_offsets() == {}
    record.ack()
    assert records.committable_offsets() == {}


def test_remove_not_last_submitted_record(records):
    """The source partition of one that is removed is tracked no more; the others are."""
    removed, kept = records.submit(0, 1), records.submit(1, 2)
    assert removed.drop()
    assert records.queues.keys() == {1}
    kept.ack()
    assert records.committable_offsets() == {1: 2}


def test_removed_by_identity(records):
    """Of two records with the same offset the one that is meant."""
    first, second = records.submit(0, 1), records.submit(0, 1)
    assert first.drop()
    assert list(records.queues[0]) == [second]


def test_null_offset(records):
    """A null offset is committable as any other (H7d)."""
    records.submit(0, 0).ack()
    assert records.committable_offsets() == {0: 0}


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
