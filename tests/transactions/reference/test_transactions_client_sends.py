"""A producer's records have sequence numbers, a limit in flight, and retries (txn.13, txn.14)."""

import pytest
from fencepost.reference_impl.kafka.clients.producer import State
from fencepost.reference_impl.kafka.messages import ProduceResponse
from txn_client_bench import Bench, answer_to


@pytest.fixture
def bench():
    return Bench


def test_offsets_go_to_the_group_without_a_sequence_number(bench):
    """txn.21: AddOffsetsToTxn names the group, and TxnOffsetCommit has the record and no sequence number."""
    bench = bench(mode="v1")
    producer = bench.in_transaction()
    producer.send(2)
    assert bench.answer("add", 0) == (0, 7, 3, 0)
    (message,) = bench.sent("produce")
    assert (type(message.body.data).__name__, message.target) == ("TxnOffsetCommitRequest", "partition-2")
    assert [event.sequence for event in bench.events("record_sent")] == [-1]


@pytest.mark.parametrize(("mode", "second"), [("v1", 1), ("v2", 0)])
def test_sequence_numbers_over_transactions(bench, mode, second):
    """txn.13: The numbers continue over transactions in v1, and start at 0 with the new epoch in v2."""
    bench = bench(mode=mode)
    producer = bench.in_transaction(0)
    bench.answer("produce", 0, 0)
    producer.commit()
    bench.answer("end", *((0, 7, 4) if mode == "v2" else (0,)))
    assert producer.state is State.READY
    producer.begin()
    producer.send(0)
    (message,) = bench.sent("produce") if mode == "v2" else [bench.answer("add", 0), *bench.sent("produce")][1:]
    assert message.body.data.base_sequence == second
    assert message.body.data.producer_epoch == (4 if mode == "v2" else 3)


def test_five_batches_in_flight_and_no_more(bench):
    """txn.14: The leader remembers five batches, so at most five are unanswered."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(*[0] * 7)
    assert len(bench.sent("produce")) == 5
    bench.answer("produce", 0, 0)
    assert [message.body.data.base_sequence for message in bench.sent("produce")] == [1, 2, 3, 4, 5]
    assert producer.state is State.IN_TRANSACTION


def test_gap_is_waited_out_unless_the_batch_is_the_next_one(bench):
    """txn.13: Error 45 for a later batch means that an earlier one is missing, after whose answer it is sent again."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0, 0)
    first, second = bench.sent("produce")
    producer.arrive(answer_to(second, ProduceResponse(45)))
    bench.advance(100)
    assert producer.state is State.IN_TRANSACTION
    assert len(bench.sent("produce")) == 2
    producer.arrive(answer_to(first, ProduceResponse(0, 0)))
    assert [message.body.data.base_sequence for message in bench.sent("produce")] == [0, 1, 1]


def test_gap_from_before_the_missing_batch_came_is_waited_out(bench):
    """txn.13: Error 45 after the missing batch's answer is out of date, and the batch is sent again."""
    bench = bench(mode="v1")
    producer = bench.in_transaction(0)
    producer.send(0)
    producer.commit()
    first, second = bench.sent("produce")
    producer.arrive(answer_to(first, ProduceResponse(0, 0)))
    producer.arrive(answer_to(second, ProduceResponse(45)))
    assert producer.state is State.COMMITTING_TRANSACTION
    bench.advance(100)
    again = bench.sent("produce")[-1]
    assert again.body.data.base_sequence == 1
    producer.arrive(answer_to(again, ProduceResponse(45)))
    assert producer.state is State.ABORTABLE_ERROR


def test_retry_keeps_its_sequence_number_and_holds_up_the_rest(bench):
    """txn.14: A retry has the same sequence number under a new request number, and new batches follow it."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0)
    bench.answer("produce", 51)
    producer.send(0)
    assert not bench.sent("produce")
    bench.advance(100)
    assert [message.body.data.base_sequence for message in bench.sent("produce")] == [0, 1]


def test_batch_sent_again_is_sent_once(bench):
    """txn.14: A retry in flight is not repeated when the next record is sent."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0)
    bench.answer("produce", 51)
    bench.advance(100)
    producer.send(0)
    assert [message.body.data.base_sequence for message in bench.sent("produce")] == [0, 1]


def test_sequence_number_of_a_refused_batch_is_used_again(bench):
    """txn.13: If a batch is refused while v1 commits, the epoch stays and the partition still expects the number."""
    bench = bench(mode="v1")
    producer = bench.in_transaction(0)
    bench.answer("produce", 0, 0)
    producer.send(0)
    producer.commit()
    bench.answer("produce", 120)
    producer.abort()
    bench.answer("end", 0)
    assert (producer.state, producer.epoch) == (State.READY, 3)
    producer.begin()
    producer.send(0)
    bench.answer("add", 0)
    assert bench.sent("produce")[0].body.data.base_sequence == 1


def test_abort_forgets_what_has_not_left(bench):
    """txn.6: A record that still waits for its partition is never sent, though AddPartitions is answered later."""
    bench = bench(mode="v1")
    producer = bench.in_transaction()
    producer.send(0)
    producer.send(1)
    producer.abort()
    bench.answer("add", 0)
    assert [message.kind for message in bench.sent()] == ["end"]
    bench.answer("end", 0)
    assert producer.state is State.READY


def test_fatal_error_leaves_nothing_to_be_sent_again(bench):
    """txn.1: A fenced producer takes no further answer, and repeats nothing."""
    bench = bench(mode="v2")
    bench.in_transaction(*[0] * 7)
    bench.answer("produce", 90)
    bench.events()
    bench.answer("produce", 0, 0)
    sent = len(bench.sent("produce"))
    bench.advance(60_000)
    assert len(bench.sent("produce")) == sent
    assert bench.events() == []


def test_abortable_error_lets_nothing_new_leave(bench):
    """txn.8: The transaction is lost, records in flight are still awaited, and unsent ones are never sent."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(*[0] * 6)
    bench.answer("produce", 120)
    for _ in range(4):
        bench.answer("produce", 0, 0)
    assert producer.state is State.ABORTABLE_ERROR
    assert not bench.sent()
