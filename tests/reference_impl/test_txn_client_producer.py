"""The producer on its own: a test plays coordinator and partitions, and answers each request by hand."""

import pytest
from fencepost.reference_impl.simulation import Kernel, Network
from fencepost.reference_impl.transactions.config import parse
from fencepost.reference_impl.transactions.environment import DrivenPace, Environment
from fencepost.reference_impl.transactions.errors import RETRIABLE
from fencepost.reference_impl.transactions.events import readable
from fencepost.reference_impl.transactions.messages import (
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    ProduceResponse,
    ResponseBody,
)
from fencepost.reference_impl.transactions.producer import Producer, State

ANSWERS = {
    "init": InitProducerIdResponse,
    "add": AddPartitionsToTxnResponse,
    "end": EndTxnResponse,
    "produce": ProduceResponse,
}


class Bench:
    """One producer, and everything it has sent that has no answer yet."""

    def __init__(self, **config):
        kernel = Kernel(0)
        self.env = Environment(parse({"partitions": 2, "groups": 1, **config}), kernel, Network(kernel), DrivenPace())
        self.producer = Producer(self.env, 0)
        self.env.network.nodes["client-0"] = self.producer

    def sent(self, kind=""):
        """The messages on their way, oldest first."""
        return [message for message in self.env.network.in_flight.values() if message.kind.startswith(kind)]

    def answer(self, kind, *fields, keep=False):
        """Answer the oldest request of this kind; `keep` leaves the request, to be answered once more."""
        message = self.sent(kind)[0]
        if not keep:
            self.env.network.drop(message.number)
        self.producer.arrive(answer_to(message, ANSWERS[kind](*fields)))
        return message.body.data

    def events(self, *kinds):
        """The events since the last call, of some kinds if given."""
        events = [readable(row) for row in self.env.log.drain_rows()]
        return [event for event in events if not kinds or event.kind in kinds]

    def in_transaction(self, *partitions):
        """Bring the producer into a transaction, under the pair (7, 3), with a record under way to each partition."""
        self.producer.init()
        self.answer("init", 0, 7, 3)
        self.producer.begin()
        for partition in partitions:
            self.producer.send(partition)
            if not self.env.config.is_v2:
                self.answer("add", 0)
        return self.producer

    def advance(self, ms):
        """Let time pass."""
        self.env.kernel.advance(ms * 1000)


def answer_to(message, data):
    """The message that answers another one."""
    answer = type(message)(-1, f"{message.kind}_answer", message.target, message.source, None)
    answer.body = ResponseBody(message.body.number, data)
    return answer


@pytest.fixture
def bench():
    """Makes a bench; keywords override the config."""
    return Bench


@pytest.mark.parametrize("mode", ["v1", "v1-verified"])
def test_partition_is_added_before_the_first_record_leaves(bench, mode):
    """txn.6: until AddPartitionsToTxn is answered nothing is produced; further records of the partition just follow."""
    bench = bench(mode=mode)
    producer = bench.in_transaction()
    assert producer.send(1) and producer.send(1)
    assert [message.kind for message in bench.sent()] == ["add"]
    bench.answer("add", 0)
    assert [(m.kind, m.body.data.base_sequence) for m in bench.sent()] == [("produce", 0), ("produce", 1)]


def test_v2_producer_adds_nothing(bench):
    """txn.15: in v2 the leader adds the partition, so the record leaves at once, and so do offsets."""
    bench = bench(mode="v2")
    producer = bench.in_transaction()
    assert producer.send(0) and producer.send(2)
    assert [(m.kind, m.target) for m in bench.sent()] == [("produce", "partition-0"), ("produce", "partition-2")]


def test_offsets_go_to_the_group_without_a_sequence_number(bench):
    """txn.21: AddOffsetsToTxn names the group, TxnOffsetCommit carries the record and no sequence number."""
    bench = bench(mode="v1")
    producer = bench.in_transaction()
    producer.send(2)
    assert bench.answer("add", 0) == (0, 7, 3, 0)
    (message,) = bench.sent("produce")
    assert (type(message.body.data).__name__, message.target) == ("TxnOffsetCommitRequest", "partition-2")
    assert [event.sequence for event in bench.events("record_sent")] == [-1]


@pytest.mark.parametrize(("mode", "second"), [("v1", 1), ("v2", 0)])
def test_sequence_numbers_over_transactions(bench, mode, second):
    """txn.13: they continue over transactions in v1; in v2 the new epoch starts at 0."""
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


def test_commit_waits_for_every_record(bench):
    """txn.P4: EndTxn leaves only when each record has its answer."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0, 1)
    assert producer.commit()
    assert not producer.send(0)
    bench.answer("produce", 0, 0)
    assert not bench.sent("end")
    bench.answer("produce", 0, 0)
    assert bench.sent("end")[0].body.data.committed


def test_abort_gives_up_what_is_in_flight(bench):
    """txn.15: an abort leaves at once; the batch stays on the network, and its answer counts no more."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0)
    bench.events()
    assert producer.abort()
    assert [(e.kind, e.error) for e in bench.events()] == [("record_failed", 7), ("end_sent", 0)]
    bench.answer("produce", 0, 5)
    assert bench.events() == []


def test_v1_abort_with_an_open_question_bumps_the_epoch(bench):
    """txn.2 (KIP-360): whether the batch's sequence number was used is unknown, so the next epoch is asked for."""
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
    """txn.2: nothing is in doubt, so the epoch stays and the sequence numbers go on."""
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
    """txn.5: after the back-off the same request leaves anew, and nothing is decided by the answer before."""
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
    """txn.8: after 30 s EndTxn leaves again; only the answer to the second copy ends the transaction."""
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
    """txn.1: a fenced producer, also one whose id is unknown by now (KAFKA-18019), has no way out."""
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
    """txn.12: only abort is left; in v1 it is followed by a bump of the epoch, in v2 EndTxn brings one."""
    bench = bench(mode=mode)
    producer = bench.in_transaction(0)
    bench.answer("produce", error)
    assert producer.state is State.ABORTABLE_ERROR
    assert not producer.commit() and not producer.send(0)
    assert producer.abort()
    bench.answer("end", *((0, 7, 4) if mode == "v2" else (0,)))
    assert producer.state is (State.READY if mode == "v2" else State.INITIALIZING)


def test_refused_end_is_told_before_the_instance_fails(bench):
    """txn.18: a commit that lost to a time-out is told to have failed, and never to have succeeded."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0)
    bench.answer("produce", 0, 0)
    producer.commit()
    bench.events()
    bench.answer("end", 90)
    assert [(e.kind, e.error) for e in bench.events()] == [("end_told", 90), ("client_failed", 90)]


@pytest.mark.parametrize(("error", "state"), [(47, State.FATAL_ERROR), (120, State.ABORTABLE_ERROR)])
def test_errors_of_an_offset_commit(bench, error, state):
    """txn.21: TxnOffsetCommit is a coordinator's call: an old epoch is fatal there, not abortable."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(2)
    bench.answer("produce", error)
    assert producer.state is state


def test_five_batches_in_flight_and_no_more(bench):
    """txn.14: the leader remembers five batches, so at most five are without an answer."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(*[0] * 7)
    assert len(bench.sent("produce")) == 5
    bench.answer("produce", 0, 0)
    assert [message.body.data.base_sequence for message in bench.sent("produce")] == [1, 2, 3, 4, 5]
    assert producer.state is State.IN_TRANSACTION


def test_gap_is_waited_out_unless_the_batch_is_the_next_one(bench):
    """txn.13: 45 for a later batch means that an earlier one is missing; it follows when that has been answered."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0, 0)
    first, second = bench.sent("produce")
    producer.arrive(answer_to(second, ProduceResponse(45)))
    bench.advance(100)
    assert producer.state is State.IN_TRANSACTION
    assert len(bench.sent("produce")) == 2
    producer.arrive(answer_to(first, ProduceResponse(0, 0)))
    assert [message.body.data.base_sequence for message in bench.sent("produce")] == [0, 1, 1]


def test_retry_keeps_its_sequence_number_and_holds_up_the_rest(bench):
    """txn.14: the same sequence number under a new request number; what is new comes behind it."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0)
    bench.answer("produce", 51)
    producer.send(0)
    assert not bench.sent("produce")
    bench.advance(100)
    assert [message.body.data.base_sequence for message in bench.sent("produce")] == [0, 1]


def test_crash_silences_timers_and_answers(bench):
    """txn.1: what a crashed instance had sent stays in flight; it takes no answer and repeats nothing."""
    bench = bench(mode="v2")
    producer = bench.in_transaction(0)
    bench.events()
    producer.crash()
    bench.answer("produce", 0, 0)
    bench.advance(60_000)
    assert [event.kind for event in bench.events()] == ["client_stopped"]


def test_init_is_called_once_and_begin_needs_it(bench):
    """txn.1: initTransactions once per instance, and nothing before it."""
    producer = bench().producer
    assert not (producer.begin() or producer.send(0) or producer.commit() or producer.abort())
    assert producer.init() and not producer.init()
