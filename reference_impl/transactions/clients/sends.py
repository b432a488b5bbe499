"""A producer's records on their way to the partitions: sequence numbers, what is in flight, and what is sent again.

Per partition there is a lane. Records wait in it until the partition is in the transaction, get their sequence number
when they first leave, and none leaves that is five behind an unanswered one (txn.13, txn.14). After a failure the first
unanswered batch is sent again first, and nothing new leaves as long as any waits for that: so the order is kept.
(Sender.java, RecordAccumulator.java, TransactionManager.java)
"""

from collections import deque
from typing import Protocol

from fencepost.reference_impl.simulation import Node
from fencepost.reference_impl.transactions.clients.client_errors import (
    Verdict,
    from_coordinator,
    from_partition,
)
from fencepost.reference_impl.transactions.clients.coordinator_call import NONE, RETRY_BACKOFF_US
from fencepost.reference_impl.transactions.environment import Environment, partition_name
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.events import Kind
from fencepost.reference_impl.transactions.messages import (
    NO_SEQUENCE,
    ProduceRequest,
    ProduceResponse,
    RequestBody,
    ResponseBody,
    TxnOffsetCommitRequest,
)

# max.in.flight.requests.per.connection of an idempotent producer: the leader remembers as many batches. On Kafka's
# connections answers come in order, so that this many unanswered means this many sent since the oldest of them.
MAX_IN_FLIGHT = 5
MAX_SEQUENCE = 2**31 - 1


class Sender(Protocol):
    """A producer, as far as its lanes use it."""

    client: int
    txn_id: int
    txn: int
    producer_id: int
    epoch: int

    def may_send_to(self, partition: int) -> bool: ...
    def record_failed(self, verdict: Verdict, error: int) -> None: ...
    def go_on(self) -> None: ...


class SentBatch:
    """One record that has left at least once. `request` is its latest request, -1 once that has come to nothing."""

    __slots__ = ("partition", "ready", "record", "request", "sequence")

    def __init__(self, record: int, partition: int, sequence: int) -> None:
        self.record = record
        self.partition = partition
        self.sequence = sequence
        self.request = NONE
        self.ready = False  # to be sent again as soon as it is the first of its lane


class Lane:
    """One partition: records that have not left yet, and batches without a final answer, in order of sequence."""

    __slots__ = ("in_flight", "next_sequence", "partition", "unsent")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.unsent: deque[int] = deque()
        self.in_flight: list[SentBatch] = []
        self.next_sequence = 0


class Sends:
    """All lanes of one producer."""

    max_in_flight = MAX_IN_FLIGHT

    def __init__(self, env: Environment, node: Node, sender: Sender) -> None:
        self.env = env
        self.node = node
        self.sender = sender
        self.lanes: dict[int, Lane] = {}
        self.waiting: dict[int, SentBatch] = {}  # by the number of the request whose answer counts

    @property
    def outstanding(self) -> bool:
        """Whether some record has no final answer, or has not even left."""
        return any(lane.in_flight or lane.unsent for lane in self.lanes.values())

    def add(self, partition: int, record: int) -> None:
        """Send a record as soon as that is possible."""
        lane = self.lanes.get(partition)
        if lane is None:
            lane = self.lanes[partition] = Lane(partition)
        lane.unsent.append(record)
        self.move(partition)

    def move(self, partition: int) -> None:
        """Send what the lane may send now."""
        lane = self.lanes[partition]
        in_flight = lane.in_flight
        if in_flight and in_flight[0].ready:
            self.transmit(in_flight[0])
        if not lane.unsent or not self.sender.may_send_to(partition):
            return
        while lane.unsent and self.has_room(lane) and all(batch.request != NONE for batch in in_flight):
            batch = SentBatch(lane.unsent.popleft(), partition, self.next_sequence(lane))
            in_flight.append(batch)
            self.transmit(batch)

    def has_room(self, lane: Lane) -> bool:
        """Whether one more batch may leave: the leader must still remember the oldest one when it is sent again."""
        if not lane.in_flight:
            return True
        behind_oldest = (lane.next_sequence - lane.in_flight[0].sequence) % (MAX_SEQUENCE + 1)
        # Offsets have no order of their own: one after the other.
        return lane.partition < self.env.config.partitions and behind_oldest < self.max_in_flight

    def next_sequence(self, lane: Lane) -> int:
        """The sequence number of a batch that leaves for the first time."""
        if lane.partition >= self.env.config.partitions:
            return NO_SEQUENCE
        sequence = lane.next_sequence
        lane.next_sequence = 0 if sequence == MAX_SEQUENCE else sequence + 1
        return sequence

    def transmit(self, batch: SentBatch) -> None:
        """A new request for the batch; the answers to its older ones no longer count."""
        env, sender = self.env, self.sender
        batch.ready = False
        batch.request = number = env.next_request()
        self.waiting[number] = batch
        env.emit(
            Kind.RECORD_SENT, client=sender.client, txn_id=sender.txn_id, txn=sender.txn, partition=batch.partition,
            record=batch.record, sequence=batch.sequence, request=number, producer_id=sender.producer_id,
            epoch=sender.epoch,
        )  # fmt: skip
        body = RequestBody(number, self.request(batch))
        env.network.send("produce", self.node.name, partition_name(batch.partition), body)
        self.node.after(env.config.request_timeout_ms * 1000, self.time_out, number)

    def request(self, batch: SentBatch) -> ProduceRequest | TxnOffsetCommitRequest:
        """Produce to a data partition; TxnOffsetCommit, without a sequence number, to a group's (txn.21)."""
        sender, group = self.sender, batch.partition - self.env.config.partitions
        if group >= 0:
            return TxnOffsetCommitRequest(sender.txn_id, group, sender.producer_id, sender.epoch, batch.record)
        return ProduceRequest(
            sender.txn_id, batch.partition, sender.producer_id, sender.epoch, batch.sequence, batch.record
        )

    def answer(self, body: ResponseBody) -> None:
        """Take the answer to the latest request of a batch; any other is ignored."""
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
        return from_partition(error, next_expected=self.lanes[batch.partition].in_flight[0] is batch)

    def acked(self, batch: SentBatch, offset: int) -> None:
        lane, sender = self.lanes[batch.partition], self.sender
        lane.in_flight.remove(batch)
        self.env.emit(
            Kind.RECORD_ACKED, client=sender.client, txn=sender.txn, partition=batch.partition, record=batch.record,
            request=batch.request, offset=offset,
        )  # fmt: skip
        self.move(batch.partition)
        sender.go_on()

    def failed(self, batch: SentBatch, verdict: Verdict, error: int) -> None:
        lane = self.lanes[batch.partition]
        lane.in_flight.remove(batch)
        if not lane.in_flight:  # it was refused for certain, and nothing behind it has used a sequence number
            lane.next_sequence = max(batch.sequence, 0)
        self.tell_failed(batch, error)
        self.sender.record_failed(verdict, error)

    def tell_failed(self, batch: SentBatch, error: int) -> None:
        self.env.emit(
            Kind.RECORD_FAILED, client=self.sender.client, txn=self.sender.txn, partition=batch.partition,
            record=batch.record, request=batch.request, error=error,
        )  # fmt: skip

    def time_out(self, number: int) -> None:
        """No answer: whether the batch was appended is not known, so it must be sent again as it was."""
        batch = self.waiting.pop(number, None)
        if batch is not None:
            batch.request = NONE
            self.backoff_over(batch)

    def backoff_over(self, batch: SentBatch) -> None:
        if batch in self.lanes[batch.partition].in_flight:  # not given up meanwhile
            batch.ready = True
            self.move(batch.partition)

    def drop_unsent(self) -> None:
        """The transaction cannot be committed any more: what has not left never will."""
        for lane in self.lanes.values():
            lane.unsent.clear()

    def give_up(self) -> bool:
        """The transaction is aborted: wait for no answer. Whether a sequence number's fate is left open by that.

        What was sent is still in flight, and may be appended later. Kafka's client first waits for the answers, up
        to delivery.timeout.ms; an application that aborts here has waited that long.
        """
        self.drop_unsent()
        unresolved = False
        for lane in self.lanes.values():
            for batch in lane.in_flight:
                unresolved |= batch.sequence != NO_SEQUENCE
                self.tell_failed(batch, ErrorCode.REQUEST_TIMED_OUT)
        self.forget_in_flight()
        return unresolved

    def forget_in_flight(self) -> None:
        """No answer counts any more."""
        self.waiting.clear()
        for lane in self.lanes.values():
            lane.in_flight = []

    def reset_sequences(self) -> None:
        """A new epoch starts at 0 on every partition (txn.13)."""
        for lane in self.lanes.values():
            lane.next_sequence = 0
