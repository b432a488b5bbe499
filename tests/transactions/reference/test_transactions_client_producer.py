"""The producer's states decide which calls are allowed, which requests follow, and what errors do."""

import pytest
from fencepost.reference_impl.kafka.clients.producer import State
from fencepost.reference_impl.kafka.errors import RETRIABLE
from txn_client_bench import Bench


@pytest.fixture
def bench():
    return Bench


@pytest.mark.parametrize("mode", ["v1", "v1-verified"])
def test_partition_is_added_before_the_first_record_leaves(bench, mode):
    """txn.6: Nothing is produced before AddPartitionsToTxn is answered, and further records just follow."""
    bench = bench(mode=mode)
    producer = bench.in_transaction()
    assert producer.send(1) and producer.send(1)
    assert [message.kind for message in bench.sent()] == ["add"]
    bench.answer("add", 0)
    assert [(m.kind, m.body.data.base_sequence) for m in bench.sent()] == [("produce", 0), ("produce", 1)]


def test_v2_producer_adds_nothing(bench):
    """txn.15: In v2 the leader adds the partition, so that records and offsets leave at once."""
    bench = bench(mode="v2")
    producer = bench.in_transaction()
    assert producer.send(0) and producer.send(2)
    assert [(m.kind, m.target) for m in bench.sent()] == [("produce", "partition-0"), ("produce", "partition-2")]


def test_commit_waits_for_every_record(bench):
    """txn.P4: EndTxn is sent only when each record has its answer."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0, 1)
    assert producer.commit()
    assert not producer.send(0)
    bench.answer("produce", 0, 0)
    assert not bench.sent("end")
    bench.answer("produce", 0, 0)
    assert bench.sent("end")[0].body.data.committed


def test_abort_gives_up_what_is_in_flight(bench):
    """txn.15: An abort is sent at once, the batch stays on the network, and its answer is ignored."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0)
    bench.events()
    assert producer.abort()
    assert [(e.kind, e.error) for e in bench.events()] == [("record_failed", 7), ("end_sent", 0)]
    bench.answer("produce", 0, 5)
    assert bench.events() == []


def test_v1_abort_with_an_open_question_bumps_the_epoch(bench):
    """txn.2 (KIP-360): The batch's number may have been used, so the producer requests the next epoch."""
    bench = bench(mode="v1")
    producer = bench.in_transaction(0)
    producer.abort()
    bench.answer("end", 0)
    assert producer.state is State.INITIALIZING
    assert not producer.begin()
    assert bench.sent("init")[0].body.data[2:] == (7, 3)
    bench.answer("init", 0, 7, 4)
    assert (producer.state, producer.epoch) == (State.READY, 4)
    producer.begin()
    producer.send(0)
    bench.answer("add", 0)
    assert bench.sent("produce")[1].body.data.base_sequence == 0


def test_v1_abort_with_all_answered_keeps_the_epoch(bench):
    """txn.2: Nothing is in doubt, so the epoch stays and the sequence numbers continue."""
    bench = bench(mode="v1")
    producer = bench.in_transaction(0)
    bench.answer("produce", 0, 0)
    producer.abort()
    bench.answer("end", 0)
    assert (producer.state, producer.epoch) == (State.READY, 3)


@pytest.mark.parametrize("mode", ["v1", "v2"])
def test_transaction_that_nobody_knows_ends_without_a_request(bench, mode):
    """txn.7: EndTxn of a transaction that never reached the coordinator would be refused, so it is not sent."""
    bench = bench(mode=mode)
    producer = bench.in_transaction()
    assert producer.commit()
    assert not bench.sent()
    assert [(e.request, e.outcome, e.epoch) for e in bench.events("end_told")] == [(-1, 1, 3)]
    assert producer.state is State.READY


@pytest.mark.parametrize("error", sorted(RETRIABLE - {88}))
@pytest.mark.parametrize("kind", ["init", "add", "end"])
def test_retriable_errors_are_asked_again_under_a_new_number(bench, kind, error):
    """txn.5: After the back-off the same request is sent again, and the answer to the first decides nothing."""
    bench = bench(mode="v1")
    producer = bench.in_transaction(0) if kind == "end" else bench.producer
    if kind == "init":
        producer.init()
    elif kind == "add":
        bench.in_transaction()
        producer.send(0)
    else:
        bench.answer("produce", 0, 0)
        producer.commit()
    first = bench.sent(kind)[0]
    data = bench.answer(kind, error)
    assert not bench.sent(kind)
    bench.advance(100)
    (again,) = bench.sent(kind)
    assert again.body.data == data
    assert again.body.number > first.body.number
    assert producer.state is not State.FATAL_ERROR


def test_timed_out_request_is_repeated_and_the_older_answer_ignored(bench):
    """txn.8: After 30 s EndTxn is sent again, and only the answer to the second copy ends the transaction."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0)
    bench.answer("produce", 0, 0)
    producer.commit()
    bench.advance(29_999)
    assert len(bench.sent("end")) == 1
    bench.advance(1)
    assert len(bench.sent("end")) == 2
    bench.answer("end", 0, 7, 4)
    assert producer.state is State.COMMITTING_TRANSACTION
    bench.answer("end", 0, 7, 4, keep=True)
    assert (producer.state, producer.epoch) == (State.READY, 4)
    bench.events()
    bench.answer("end", 0, 7, 4)
    assert bench.events() == []


@pytest.mark.parametrize("error", [-1, 42, 47, 48, 49, 50, 53, 90])
@pytest.mark.parametrize("kind", ["init", "add", "end"])
def test_fatal_errors_end_the_instance(bench, kind, error):
    """txn.1: A fenced producer cannot recover, nor one whose id is unknown by now (KAFKA-18019)."""
    bench = bench(mode="v1")
    producer = bench.producer
    if kind == "init":
        producer.init()
    else:
        bench.in_transaction()
        producer.send(0)
        if kind == "end":
            bench.answer("add", 0)
            bench.answer("produce", 0, 0)
            producer.commit()
    bench.answer(kind, error)
    assert [event.error for event in bench.events("client_failed")] == [error]
    calls = (producer.init, producer.begin, producer.commit, producer.abort)
    assert not any(call() for call in calls) and not producer.send(0)
    bench.advance(60_000)
    assert not bench.sent("init") and not bench.sent("end")


@pytest.mark.parametrize("error", [45, 47, 120])
@pytest.mark.parametrize("mode", ["v1", "v2"])
def test_abortable_errors_of_a_record(bench, mode, error):
    """txn.12: Only an abort is possible, followed by a bump of the epoch in v1, and with the bump of EndTxn in v2."""
    bench = bench(mode=mode)
    producer = bench.in_transaction(0)
    bench.answer("produce", error)
    assert producer.state is State.ABORTABLE_ERROR
    assert not producer.commit() and not producer.send(0)
    assert producer.abort()
    bench.answer("end", *((0, 7, 4) if mode == "v2" else (0,)))
    assert producer.state is (State.READY if mode == "v2" else State.INITIALIZING)


def test_refused_end_is_told_before_the_instance_fails(bench):
    """txn.18: A commit that lost to a time-out is reported as failed, and never as successful."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0)
    bench.answer("produce", 0, 0)
    producer.commit()
    bench.events()
    bench.answer("end", 90)
    assert [(e.kind, e.error) for e in bench.events()] == [("end_told", 90), ("client_failed", 90)]


@pytest.mark.parametrize(("error", "state"), [(47, State.FATAL_ERROR), (120, State.ABORTABLE_ERROR)])
def test_errors_of_an_offset_commit(bench, error, state):
    """txn.21: TxnOffsetCommit is a coordinator's request, in which an old epoch is fatal and not abortable."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(2)
    bench.answer("produce", error)
    assert producer.state is state


def test_crash_silences_timers_and_answers(bench):
    """txn.1: The requests of a crashed instance stay in flight, and it takes no answer and repeats nothing."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0)
    bench.events()
    producer.crash()
    bench.answer("produce", 0, 0)
    bench.advance(60_000)
    assert [event.kind for event in bench.events()] == ["client_stopped"]


def test_init_is_called_once_and_begin_needs_it(bench):
    """txn.1: An instance calls initTransactions once, and nothing before it."""
    producer = bench().producer
    assert not (producer.begin() or producer.send(0) or producer.commit() or producer.abort())
    assert producer.init() and not producer.init()


@pytest.mark.parametrize("mode", ["v1", "v2"])
def test_empty_transaction_after_another_ends_without_a_request(bench, mode):
    """txn.7: The coordinator knows only the previous transaction."""
    bench = bench(mode=mode)
    producer = bench.in_transaction(0)
    bench.answer("produce", 0, 0)
    producer.commit()
    bench.answer("end", *((0, 7, 4) if mode == "v2" else (0,)))
    producer.begin()
    producer.abort()
    assert not bench.sent()
    assert producer.state is State.READY


def test_epoch_is_bumped_once_for_one_doubt(bench):
    """txn.2: After the bump nothing is in doubt any more, and the next transaction has the same epoch."""
    bench = bench(mode="v1")
    producer = bench.in_transaction(0)
    producer.abort()
    bench.answer("end", 0)
    bench.answer("init", 0, 7, 4)
    producer.begin()
    producer.commit()
    assert producer.state is State.READY
    assert not bench.sent("init")


def test_abortable_error_adds_no_further_partition(bench):
    """txn.6: After an abortable answer to AddPartitions the transaction can only be aborted, here without a request."""
    bench = bench(mode="v1")
    producer = bench.in_transaction()
    producer.send(0)
    producer.send(1)
    bench.answer("add", 120)
    assert producer.state is State.ABORTABLE_ERROR
    assert not bench.sent()
    assert producer.abort()
    assert producer.state is State.READY


def test_second_copy_of_an_answer_is_ignored(bench):
    """txn.5: A second copy is ignored also during the back-off that the first has started."""
    bench = bench(mode="v2")
    bench.producer.init()
    bench.answer("init", 51, keep=True)
    bench.events()
    bench.answer("init", 0, 7, 3)
    assert bench.events() == []
    bench.advance(100)
    bench.answer("init", 0, 7, 3)
    assert bench.producer.begin()
    assert not bench.producer.begin()
