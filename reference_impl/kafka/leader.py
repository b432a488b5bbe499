"""This module has a partition's leader, which takes batches and markers and verifies the first batch of a transaction
with the coordinator (txn.15).

The log decides what may be written (`log.py`). The leader sends the verification, waits for its answer, and answers the
clients. (ReplicaManager.scala, AddPartitionsToTxnManager.java)
"""

from typing import NamedTuple

from fencepost.reference_impl.kafka.environment import BROKERS, COORDINATOR, Environment, Kind, partition_name
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.log import NO_GUARD, Appended, OffsetsLog, PartitionLog
from fencepost.reference_impl.kafka.messages import (
    AddPartitionsToTxnRequest,
    ProduceRequest,
    ProduceResponse,
    RequestBody,
    ResponseBody,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from fencepost.reference_impl.simulation import Message, Node

EXPIRATION_CHECK_MS = 600_000  # producer.id.expiration.check.interval.ms

# The errors of the coordinator, translated to those of a partition.
_RELAYED = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: ErrorCode.INVALID_TXN_STATE,
}
_COORDINATOR_AWAY = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Waiting(NamedTuple):
    """A `Waiting` is a batch that waits for its verification, with its guard."""

    source: str
    number: int
    request: ProduceRequest
    guard: int


class PartitionLeader(Node):
    """A `PartitionLeader` leads one partition. A leader change leaves it no state but the log's."""

    __slots__ = ("_checks", "_idle_watched", "env", "log", "stable_offset", "waiting")

    def __init__(self, env: Environment, log: PartitionLog) -> None:
        super().__init__(partition_name(log.partition), env.kernel)
        self.env = env
        self.log = log
        self.stable_offset = 0
        self.waiting: dict[int, Waiting] = {}  # by the number of the verification, which is unique
        self._checks = 0
        self._idle_watched = False

    @property
    def node_id(self) -> int:
        return (self.log.partition + self.log.leader_epoch) % BROKERS

    def receive(self, message: Message) -> None:
        kind = message.kind
        if kind == "produce":
            self.receive_produce(message)
        elif kind == "marker":
            self.receive_marker(message)
        elif kind == "check_answer":
            self.receive_check_answer(message)
        else:
            raise ValueError(f"{self.name} got {message}: it handles produce, marker and check_answer")

    def change(self, restart: bool = False) -> None:
        """Make another broker the leader, or the same one after a ``restart``. Waiting batches and verifications are
        dropped without an answer."""
        self.waiting.clear()
        self.log = self.log.rebuilt(self.log.leader_epoch + 1, restart)
        self.env.emit(Kind.LEADER_CHANGED, node=self.node_id, partition=self.log.partition)

    def cut_off(self, end: int) -> None:
        """Make a broker the leader whose log ends at this offset, without the batches after it."""
        del self.log.batches[end:]
        self.change()
        self.note_stable_offset()

    def receive_produce(self, message: Message) -> None:
        """Append a batch at once inside a transaction, or else verify it first.

        In 4.3 a batch of an epoch known to be over is not verified (KAFKA-19690). The verification of a late copy would
        stay open for the producer and have the next batch of its open transaction refused.
        """
        number, request = message.body.number, self.batch_of(message.body.data)
        if not self.log.needs_guard(request):
            self.append(Waiting(message.source, number, request, NO_GUARD))
        elif self.env.config.is_recent and self.log.is_older(request):
            self.refuse(Waiting(message.source, number, request, NO_GUARD), ErrorCode.INVALID_PRODUCER_EPOCH)
        elif self.must_wait_for_marker(request):
            self.refuse(Waiting(message.source, number, request, NO_GUARD), ErrorCode.CONCURRENT_TRANSACTIONS)
        else:
            self.ask(Waiting(message.source, number, request, self.log.start_verification(request)))

    def batch_of(self, data: ProduceRequest) -> ProduceRequest:
        return data

    def must_wait_for_marker(self, request: ProduceRequest) -> bool:
        """Return whether the last transaction must be ended here first, as in v2 (txn.16)."""
        return self.env.config.is_v2 and self.log.has_older_open_transaction(
            request.producer_id, request.producer_epoch
        )

    def ask(self, waiting: Waiting) -> None:
        request, partition = waiting.request, self.log.partition
        check = self._checks
        self._checks += 1
        self.waiting[check] = waiting
        question = AddPartitionsToTxnRequest(
            request.transactional_id, request.producer_id, request.producer_epoch, partition, not self.env.config.is_v2
        )
        self.env.emit(
            Kind.CHECK_ASKED, node=self.node_id, partition=partition, producer_id=request.producer_id,
            epoch=request.producer_epoch, request=waiting.number,
        )  # fmt: skip
        self.env.network.send("check", self.name, COORDINATOR, RequestBody(waiting.number, question, check))
        self.after(self.env.config.request_timeout_ms * 1000, self.give_up, check)

    def give_up(self, check: int) -> None:
        """Conclude a verification without an answer in time as if the coordinator were unavailable."""
        self.conclude(check, ErrorCode.NETWORK_EXCEPTION)

    def receive_check_answer(self, message: Message) -> None:
        self.conclude(message.body.check, message.body.data.error_code)

    def conclude(self, check: int, error: int) -> None:
        """Append the waiting batch or refuse it. A second answer, or one to the leader before, has no effect."""
        waiting = self.waiting.pop(check, None)
        if waiting is None:
            return
        if error:
            self.refuse(waiting, self.relayed(error))
        else:
            self.append(waiting)

    def relayed(self, error: int) -> int:
        """Return the error that a producer gets for a coordinator's error."""
        return ErrorCode.NOT_ENOUGH_REPLICAS if error in _COORDINATOR_AWAY else _RELAYED.get(error, error)

    def append(self, waiting: Waiting) -> None:
        request = waiting.request
        result = self.log.append(request, waiting.guard)
        if result.error:
            self.refuse(waiting, result.error)
            return
        for place, record in enumerate(request.records):
            self.env.emit(
                Kind.BATCH_DUPLICATE if result.duplicate else Kind.BATCH_APPENDED, node=self.node_id,
                partition=self.log.partition, offset=result.offset + place, producer_id=request.producer_id,
                epoch=request.producer_epoch, sequence=self.log.sequence_at(request.base_sequence, place),
                record=record, request=waiting.number,
            )  # fmt: skip
        self.note_stable_offset()
        self.watch_idle()
        self.respond(waiting, ProduceResponse(ErrorCode.NONE, result.offset))

    def refuse(self, waiting: Waiting, error: int) -> None:
        request = waiting.request
        for place, record in enumerate(request.records):
            self.env.emit(
                Kind.BATCH_REFUSED, node=self.node_id, partition=self.log.partition, producer_id=request.producer_id,
                epoch=request.producer_epoch, sequence=self.log.sequence_at(request.base_sequence, place),
                record=record, request=waiting.number, error=error,
            )  # fmt: skip
        self.respond(waiting, ProduceResponse(error))

    def respond(self, waiting: Waiting, response: ProduceResponse) -> None:
        self.env.network.send("produce_answer", self.name, waiting.source, ResponseBody(waiting.number, response))

    def receive_marker(self, message: Message) -> None:
        """End a transaction here on a coordinator's request."""
        request: WriteTxnMarkersRequest = message.body.data
        result = self.log.append_marker(request)
        self.emit_marker(request, result)
        self.note_stable_offset()
        self.watch_idle()
        answer = ResponseBody(message.body.number, WriteTxnMarkersResponse(result.error))
        self.env.network.send("marker_answer", self.name, message.source, answer)

    def emit_marker(self, request: WriteTxnMarkersRequest, result: Appended) -> None:
        self.env.emit(
            Kind.MARKER_REFUSED if result.error else Kind.MARKER_APPENDED, node=self.node_id,
            partition=self.log.partition, offset=result.offset, producer_id=request.producer_id,
            epoch=request.producer_epoch, outcome=int(request.transaction_result),
            coordinator_epoch=request.coordinator_epoch, error=result.error,
        )  # fmt: skip

    def note_stable_offset(self) -> None:
        stable = self.log.last_stable_offset()
        if stable != self.stable_offset:
            self.stable_offset = stable
            self.env.emit(Kind.STABLE_MOVED, partition=self.log.partition, upto=stable)

    def watch_idle(self) -> None:
        """Look for idle producers at the first full interval at which there may be one."""
        due = None if self._idle_watched else self.log.next_expiry_ms()
        if due is not None:
            self._idle_watched = True
            self.kernel.at(-(-due // EXPIRATION_CHECK_MS) * EXPIRATION_CHECK_MS * 1000, self.forget_idle)

    def forget_idle(self, _: object) -> None:
        self._idle_watched = False
        self.log.forget_idle()
        self.watch_idle()


class OffsetsLeader(PartitionLeader):
    """An `OffsetsLeader` leads a group's offsets partition, which takes TxnOffsetCommit instead of Produce."""

    __slots__ = ()

    log: OffsetsLog

    def batch_of(self, data: TxnOffsetCommitRequest | ProduceRequest) -> ProduceRequest:
        if isinstance(data, ProduceRequest):
            raise TypeError(
                f"{self.name} got {data}: a group's offsets partition takes TxnOffsetCommitRequest, not ProduceRequest"
            )
        return ProduceRequest(
            data.transactional_id, self.log.partition, data.producer_id, data.producer_epoch, -1, data.record,
            more=data.more,
        )  # fmt: skip

    def relayed(self, error: int) -> int:
        """Return the coordinator's error as a group relays it, with "still loading" for no answer."""
        if error == ErrorCode.NETWORK_EXCEPTION:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return error if error in _COORDINATOR_AWAY else super().relayed(error)
