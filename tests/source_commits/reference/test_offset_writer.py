"""The buffer of offsets and its flush, as Kafka's OffsetStorageWriterTest says."""

import pytest
from fencepost.reference_impl.connect.commits.records import OffsetStorageWriter


@pytest.fixture
def writer():
    return OffsetStorageWriter()


def begun(writer, number=0):
    """A flush that has begun, and what it has sent."""
    sent = []
    flush = writer.begin_flush(number)
    writer.do_flush(lambda flush, partition, offset: sent.append((partition, offset)))
    return flush, sent


def test_nothing_to_flush(writer):
    """There is no flush, and none is in progress."""
    assert writer.begin_flush(0) is None
    assert not writer.in_progress and not writer.will_flush()


def test_a_flush_writes_what_was_there_when_it_began(writer):
    """What comes later waits for the next one."""
    writer.offset(0, 1)
    flush, sent = begun(writer)
    writer.offset(0, 2)
    assert sent == [(0, 1)] and writer.in_progress and flush.failed is None
    flush.written(True)
    assert flush.failed is False and not writer.in_progress
    assert begun(writer, 1)[1] == [(0, 2)]


def test_a_flush_is_over_when_all_is_written(writer):
    """Not before."""
    writer.offset(0, 1)
    writer.offset(1, 1)
    flush, _ = begun(writer)
    flush.written(True)
    assert flush.failed is None and writer.in_progress
    flush.written(True)
    assert flush.failed is False and not writer.will_flush()


def test_what_a_failed_flush_was_to_write_comes_back(writer):
    """All of it, unless there is something newer by then (src.10)."""
    for partition in range(3):
        writer.offset(partition, 1)
    flush, _ = begun(writer)
    writer.offset(1, 2)
    flush.written(True)
    flush.written(False)
    assert flush.failed and not writer.in_progress
    assert writer.data == {0: 1, 1: 2, 2: 1}
    flush.written(True)  # the third comes late, and changes nothing
    assert writer.data == {0: 1, 1: 2, 2: 1}


def test_a_cancelled_flush_may_end_later(writer):
    """Its callback is ignored, as it is of another flush than the one in progress."""
    writer.offset(0, 1)
    late, _ = begun(writer)
    writer.cancel_flush()
    flush, sent = begun(writer, 1)
    assert sent == [(0, 1)]
    late.written(True)
    assert writer.in_progress and flush.failed is None
    flush.written(False)
    assert writer.data == {0: 1}


def test_cancelled_when_nothing_is_in_progress(writer):
    """Nothing comes of it: the flush had ended before the time-out was noticed."""
    writer.offset(0, 1)
    flush, _ = begun(writer)
    flush.written(True)
    writer.cancel_flush()
    assert writer.data == {} and not writer.in_progress
