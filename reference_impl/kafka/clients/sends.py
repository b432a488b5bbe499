"""This module has a producer's outstanding requests to the coordinator and to the partitions, with their retries."""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from fencepost.reference_impl.kafka.environment import COORDINATOR, Environment, Kind, partition_name
from fencepost.reference_impl.kafka.errors import ErrorCode, Verdict, from_coordinator, from_partition
from fencepost.reference_impl.kafka.messages import (
    NO_SEQUENCE,
    ProduceRequest,
    ProduceResponse,
    RequestBody,
    ResponseBody,
    TxnOffsetCommitRequest,
)
from fencepost.reference_impl.simulation import Node

# The one request that a client has outstanding with a coordinator, and how it is repeated.
#
# A producer asks its coordinator one thing at a time. A time-out or a retriable error asks the same thing again under a
# new request number; from then on the answer to the older request no longer counts.

NONE = -1
RETRY_BACKOFF_US = 100_000  # retry.backoff.ms
# The first AddPartitionsToTxn usually waits only for the end of the transaction before, which comes soon.
FIRST_ADD_BACKOFF_US = 20_000


class Question(NamedTuple):
    """A `Question` is a request to the coordinator. ``ask`` reports the request under its number and returns its data,
    and ``answered`` handles the answer."""

    kind: str
    ask: Callable[[int], Any]
    answered: Callable[[int, Any], None]


class CoordinatorCall:
    """A `CoordinatorCall` has the outstanding ``question``, or None. ``number`` is that of the request whose answer
    counts, -1 during a back-off."""

    __slots__ = ("_attempt", "_env", "_node", "_target", "number", "question")

    def __init__(self, env: Environment, node: Node, target: str = COORDINATOR) -> None:
        self._env = env
        self._node = node
        self._target = target
        self.question: Question | None = None
        self._attempt = 0
        self.number = NONE

    @property
    def outstanding(self) -> bool:
        """Return whether a question waits for its final answer, back-offs included."""
        return self.question is not None

    def start(self, question: Question) -> None:
        """Send a question. The caller has checked that none is outstanding."""
        self.question = question
        self._send()

    def finish(self) -> None:
        self.question = None
        self._attempt += 1
        self.number = NONE

    def retry(self, backoff_us: int) -> None:
        self._attempt += 1
        self.number = NONE
        self._node.after(backoff_us, self._send_if, self._attempt)

    def answer(self, body: ResponseBody) -> None:
        """Pass the answer to its question, unless it belongs to an older request or is a second copy."""
        if self.question is not None and self.counts(body.number):
            self.question.answered(body.number, body.data)

    def counts(self, number: int) -> bool:
        return number == self.number

    def _send(self) -> None:
        question = self.question
        assert question is not None, "sent only while there is a question"
        self._attempt += 1
        self.number = number = self._env.next_request()
        data = question.ask(number)
        self._env.network.send(question.kind, self._node.name, self._target, RequestBody(number, data))
        self._node.after(self._env.config.request_timeout_ms * 1000, self._send_if, self._attempt)

    def _send_if(self, attempt: int) -> None:
        if attempt == self._attempt:
            self._send()


# A producer's records on their way to the partitions: sequence numbers, what is in flight, and what is sent again.
#
# Per partition there is a lane. Records wait in it until the partition is in the transaction, get their sequence
# number when they first leave, and none leaves that is five behind an unanswered one (txn.13, txn.14). After a failure
# the first unanswered batch is sent again first, and nothing new leaves as long as any waits for that, which preserves
# the order. (Sender.java, RecordAccumulator.java, TransactionManager.java)

# max.in.flight.requests.per.connection of an idempotent producer: the leader remembers as many batches. On Kafka's
# connections answers come in order, so that this many unanswered means this many sent since the oldest of them.
MAX_IN_FLIGHT = 5
MAX_SEQUENCE = 2**31 - 1


class Sender(Protocol):
    """A `Sender` is a producer as far as its lanes use it."""

    client: int
    txn_id: int
    txn: int
    producer_id: int
    epoch: int

    def may_send_to(self, partition: int) -> bool: ...
    def record_failed(self, verdict: Verdict, error: int) -> None: ...
    def go_on(self) -> None: ...


class SentBatch:
    """A `SentBatch` is a batch that was sent at least once, with ``record`` and those in ``more``. ``request`` is its
    latest request, -1 once that has failed or timed out. ``was_first`` is whether none before it was unanswered when
    that request left. ``number`` is how many batches left before it in its lane."""

    __slots__ = ("more", "number", "partition", "ready", "record", "request", "sequence", "was_first")

    def __init__(self, records: tuple[int, ...], partition: int, sequence: int, number: int) -> None:
        self.record, *more = records
        self.more = tuple(more)
        self.partition = partition
        self.sequence = sequence
        self.number = number
        self.request = NONE
        self.ready = False  # to be sent again as soon as it is the first of its lane
        self.was_first = False


class Lane:
    """A `Lane` has one partition's unsent batches, and its unanswered batches in order of sequence."""

    __slots__ = ("in_flight", "next_sequence", "partition", "sent", "unsent")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.unsent: deque[tuple[int, ...]] = deque()
        self.in_flight: list[SentBatch] = []
        self.next_sequence = 0
        self.sent = 0


def following(sequence: int, count: int) -> int:
    """Return the sequence number ``count`` records later. 0 follows the largest, and NO_SEQUENCE stays."""
    return sequence if sequence == NO_SEQUENCE else (sequence + count) % (MAX_SEQUENCE + 1)


class Sends:
    """The `Sends` are all lanes of one producer."""

    max_in_flight = MAX_IN_FLIGHT

    def __init__(self, env: Environment, node: Node, sender: Sender) -> None:
        self.env = env
        self.node = node
        self.sender = sender
        self.lanes: dict[int, Lane] = {}
        self.waiting: dict[int, SentBatch] = {}  # by the number of the request whose answer counts

    @property
    def outstanding(self) -> bool:
        """Return whether some record has no final answer or is unsent."""
        return any(lane.in_flight or lane.unsent for lane in self.lanes.values())

    def add(self, partition: int, *records: int) -> None:
        lane = self.lanes.get(partition)
        if lane is None:
            lane = self.lanes[partition] = Lane(partition)
        lane.unsent.append(records)
        self.move(partition)

    def move(self, partition: int) -> None:
        lane = self.lanes[partition]
        in_flight = lane.in_flight
        if in_flight and in_flight[0].ready:
            self.transmit(in_flight[0])
        if not lane.unsent or not self.sender.may_send_to(partition):
            return
        while lane.unsent and self.has_room(lane) and NONE not in [batch.request for batch in in_flight]:
            records = lane.unsent.popleft()
            batch = SentBatch(records, partition, self.next_sequence(lane), lane.sent)
            lane.sent += 1
            self.number_records(lane, batch)
            in_flight.append(batch)
            self.transmit(batch)

    def has_room(self, lane: Lane) -> bool:
        """Return whether one more batch may leave, with the oldest still in the leader's window."""
        if not lane.in_flight:
            return True
        behind_oldest = lane.sent - lane.in_flight[0].number
        # Offsets have no sequence numbers, so they are sent one after the other.
        return lane.partition < self.env.config.partitions and behind_oldest < self.max_in_flight

    def next_sequence(self, lane: Lane) -> int:
        if lane.partition >= self.env.config.partitions:
            return NO_SEQUENCE
        sequence = lane.next_sequence
        lane.next_sequence = 0 if sequence == MAX_SEQUENCE else sequence + 1
        return sequence

    def number_records(self, lane: Lane, batch: SentBatch) -> None:
        """Use up the sequence numbers of the records after the first of a batch."""
        if batch.sequence != NO_SEQUENCE:
            lane.next_sequence = following(lane.next_sequence, len(batch.more))

    def transmit(self, batch: SentBatch) -> None:
        """Send a new request for the batch. The answers to its older requests no longer count."""
        env, sender = self.env, self.sender
        batch.ready = False
        batch.was_first = self.lanes[batch.partition].in_flight[0] is batch
        batch.request = number = env.next_request()
        self.waiting[number] = batch
        for at, record in enumerate((batch.record, *batch.more)):
            env.emit(
                Kind.RECORD_SENT, client=sender.client, txn_id=sender.txn_id, txn=sender.txn, partition=batch.partition,
                record=record, sequence=following(batch.sequence, at), request=number, producer_id=sender.producer_id,
                epoch=sender.epoch,
            )  # fmt: skip
        body = RequestBody(number, self.request(batch))
        env.network.send("produce", self.node.name, partition_name(batch.partition), body)
        self.node.after(env.config.request_timeout_ms * 1000, self.time_out, number)

    def request(self, batch: SentBatch) -> ProduceRequest | TxnOffsetCommitRequest:
        """Return Produce for a data partition, or TxnOffsetCommit for a group's offsets (txn.21)."""
        sender, group = self.sender, batch.partition - self.env.config.partitions
        if group >= 0:
            offsets = batch.record, batch.more
            return TxnOffsetCommitRequest(sender.txn_id, group, sender.producer_id, sender.epoch, *offsets)
        return ProduceRequest(
            sender.txn_id, batch.partition, sender.producer_id, sender.epoch, batch.sequence, batch.record,
            more=batch.more,
        )  # fmt: skip

    def answer(self, body: ResponseBody) -> None:
        """Handle the answer to the latest request of a batch. Any other answer is ignored."""
        batch = self.waiting.pop(body.number, None)
        if batch is None:
            return
        answer: ProduceResponse = body.data
        verdict = self.verdict(batch, answer.error_code)
        if verdict is Verdict.FINE:
            self.acked(batch, answer.base_offset)
        elif verdict is Verdict.RETRY:
            batch.request = NONE
            self.node.after(RETRY_BACKOFF_US, self.backoff_over, batch)
        else:
            self.failed(batch, verdict, answer.error_code)

    def verdict(self, batch: SentBatch, error: int) -> Verdict:
        if batch.sequence == NO_SEQUENCE:
            return from_coordinator(error)
        return from_partition(error, next_expected=batch.was_first)

    def acked(self, batch: SentBatch, offset: int) -> None:
        lane, sender = self.lanes[batch.partition], self.sender
        lane.in_flight.remove(batch)
        for at, record in enumerate((batch.record, *batch.more)):
            self.env.emit(
                Kind.RECORD_ACKED, client=sender.client, txn=sender.txn, partition=batch.partition, record=record,
                request=batch.request, offset=offset + at if offset >= 0 else offset,
            )  # fmt: skip
        self.move(batch.partition)
        sender.go_on()

    def failed(self, batch: SentBatch, verdict: Verdict, error: int) -> None:
        lane = self.lanes[batch.partition]
        lane.in_flight.remove(batch)
        if not lane.in_flight:  # it was refused for certain, and nothing behind it has used a sequence number
            lane.next_sequence = max(batch.sequence, 0)
        self.report_failed(batch, error)
        self.sender.record_failed(verdict, error)

    def report_failed(self, batch: SentBatch, error: int) -> None:
        for record in (batch.record, *batch.more):
            self.env.emit(
                Kind.RECORD_FAILED, client=self.sender.client, txn=self.sender.txn, partition=batch.partition,
                record=record, request=batch.request, error=error,
            )  # fmt: skip

    def time_out(self, number: int) -> None:
        """Send a batch without an answer again unchanged, since it may have been appended."""
        batch = self.waiting.pop(number, None)
        if batch is not None:
            batch.request = NONE
            self.backoff_over(batch)

    def backoff_over(self, batch: SentBatch) -> None:
        if batch in self.lanes[batch.partition].in_flight:  # not given up meanwhile
            batch.ready = True
            self.move(batch.partition)

    def drop_unsent(self) -> None:
        for lane in self.lanes.values():
            lane.unsent.clear()

    def give_up(self) -> bool:
        """Stop waiting for answers because the transaction is aborted. Return whether some sequence number's fate is
        left open by that.

        What was sent is still in flight and may be appended later. Kafka's client first waits for the answers, up to
        delivery.timeout.ms. An application that aborts here has waited that long.
        """
        self.drop_unsent()
        unresolved = False
        for lane in self.lanes.values():
            for batch in lane.in_flight:
                unresolved |= batch.sequence != NO_SEQUENCE
                self.report_failed(batch, ErrorCode.REQUEST_TIMED_OUT)
        self.forget_in_flight()
        return unresolved

    def forget_in_flight(self) -> None:
        self.waiting.clear()
        for lane in self.lanes.values():
            lane.in_flight = []

    def reset_sequences(self) -> None:
        """Restart at 0 on every partition for a new epoch (txn.13)."""
        for lane in self.lanes.values():
            lane.next_sequence = 0
