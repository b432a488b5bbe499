"""This module has the transitions of a coordinator's states and the rounds of markers that end a transaction."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from fencepost.reference_impl.kafka.environment import Kind, partition_name
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import InitProducerIdRequest, RequestBody, WriteTxnMarkersRequest
from fencepost.reference_impl.kafka.transaction_states import (
    COMPLETION,
    Append,
    LogRecord,
    TransactionMetadata,
    TransactionState,
    Transit,
    value_of,
    violation,
)
from fencepost.reference_impl.simulation import Message

if TYPE_CHECKING:
    from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator


# How a transition of a transactional id is recorded: appended to the transaction log, then made the present or undone.
#
# (TransactionStateManager.appendTransactionToLog)


def half_a_pair(request: InitProducerIdRequest) -> int:
    half = (request.producer_id == -1) != (request.producer_epoch == -1)
    return ErrorCode.INVALID_REQUEST if half else ErrorCode.NONE


class Transitions:
    """The `Transitions` append the records of one coordinator."""

    __slots__ = ("coordinator", "env")

    def __init__(self, coordinator: "Coordinator") -> None:
        self.coordinator = coordinator
        self.env = coordinator.env

    def lacks_producer_id(self, metadata: TransactionMetadata | None, fences: bool = True) -> int:
        """Return error 14 (COORDINATOR_LOAD_IN_PROGRESS) if the next step needs a producer id and the broker has none
        (KIP-730). ``metadata`` is None if the transactional id is unknown or missing. ``fences`` means that an open
        transaction is fenced first, which takes an epoch of its own."""
        fence = fences and metadata is not None and metadata.now.state == TransactionState.ONGOING
        needed = metadata is None or self.coordinator.is_exhausted(metadata.now.producer_epoch + fence)
        return ErrorCode.NONE if not needed or self.env.has_producer_id() else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def write(
        self, metadata: TransactionMetadata, target: Transit, done: Callable[[bool], object], keep_pending: bool = False
    ) -> None:
        """Append the record of a prepared transition, complete the transition or take it back, and call ``done``."""
        record = LogRecord(metadata.transactional_id, value_of(target, self.env.config.records_last_epoch))
        self._append(record, partial(self._written, metadata, target, done, keep_pending))

    def write_tombstone(self, metadata: TransactionMetadata, done: Callable[[bool], object]) -> None:
        self._append(LogRecord(metadata.transactional_id, None), done)

    def finish_append(self, ok: bool) -> bool:
        append = self.coordinator.transaction_log.finish(ok)
        if append is None:
            return False
        if ok:
            self.emit_durable(append)
        append.done(ok)
        return True

    def verify_completion(self, metadata: TransactionMetadata, target: Transit) -> None:
        """Check with Kafka's own sanity checks that ``target`` may become the current state. Raise RuntimeError if the
        coordinator has a defect."""
        wrong = violation(metadata, target)
        if wrong:
            epoch = self.coordinator.coordinator_epoch
            raise RuntimeError(
                f"coordinator epoch {epoch}: transactional id {metadata.transactional_id} cannot go "
                f"from {metadata.now} to {target}: {wrong}; the transition was prepared wrongly"
            )

    def _append(self, record: LogRecord, done: Callable[[bool], object]) -> None:
        self.coordinator.transaction_log.append(record, done)
        self.env.pace.append_later(self.coordinator, self.coordinator.finish_append)

    def _written(
        self,
        metadata: TransactionMetadata,
        target: Transit,
        done: Callable[[bool], object],
        keep_pending: bool,
        ok: bool,
    ) -> None:
        if ok:
            self.verify_completion(metadata, target)
            metadata.complete(target)
        else:
            self.emit_append_failed(metadata, target.state, target)
            if not keep_pending:
                metadata.pending_state = None
                if metadata.now.state == TransactionState.ONGOING:
                    self.coordinator.watch_open(again=True)
        done(ok)

    def emit_append_failed(self, metadata: TransactionMetadata, state: int, target: Transit) -> None:
        self.env.emit(
            Kind.APPEND_FAILED, node=self.coordinator.node_id, txn_id=metadata.transactional_id, state=state,
            producer_id=target.producer_id, epoch=target.producer_epoch,
        )  # fmt: skip

    def emit_durable(self, append: Append) -> None:
        transactional_id, value = append.record
        if value is None:
            self.env.emit(Kind.ID_EXPIRED, node=self.coordinator.node_id, txn_id=transactional_id)
            return
        reign = self.coordinator
        self.env.emit(
            Kind.TXN_LOGGED, node=reign.node_id, txn_id=transactional_id, state=value.transaction_status,
            producer_id=value.producer_id, epoch=value.producer_epoch, coordinator_epoch=reign.coordinator_epoch,
        )  # fmt: skip


# How a transaction is completed: its markers go to every partition, again and again, then Complete is recorded once.
#
# From a durable Prepare record on the outcome is final (txn.8); this coordinator, or the next one after a fail-over,
# only carries it out (txn.10). (TransactionMarkerChannelManager.scala)

# Another coordinator, or a newer epoch, has written to the partition, so this one leaves the transaction alone.
OVERTAKEN = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
RETRY_BACKOFF_US = 20_000  # of the channel between brokers, which asks again at once or after this


class MarkerRound:
    """A `MarkerRound` is one transaction's markers: the unanswered partitions, and the state that follows."""

    __slots__ = ("committed", "metadata", "producer_epoch", "producer_id", "target", "unwritten")

    def __init__(self, metadata: TransactionMetadata, producer_epoch: int, target: Transit) -> None:
        now = metadata.now
        self.metadata = metadata
        self.producer_id = now.producer_id
        self.producer_epoch = producer_epoch
        self.committed = now.state == TransactionState.PREPARE_COMMIT
        self.unwritten = set(now.topic_partitions)
        self.target = target


class Markers:
    """The `Markers` of a coordinator carry out what Prepare records have decided."""

    __slots__ = ("coordinator", "env", "marker_requests", "rounds")

    def __init__(self, coordinator: "Coordinator") -> None:
        self.coordinator = coordinator
        self.env = coordinator.env
        self.rounds: dict[int, MarkerRound] = {}  # by transactional id: at most one transaction of it is ending
        self.marker_requests: dict[int, tuple[MarkerRound, int]] = {}  # by request number: the partition asked

    def begin_completion(self, metadata: TransactionMetadata) -> MarkerRound:
        """Begin the completion of a transaction, which alone can follow its durable Prepare."""
        target = self.completed(metadata)
        metadata.prepare(target.state)
        metadata.has_failed_epoch_fence = False
        this_round = MarkerRound(metadata, self.marker_epoch(metadata), target)
        self.rounds[metadata.transactional_id] = this_round
        return this_round

    def send_markers(self, this_round: MarkerRound) -> None:
        """Send a marker to every partition. A transaction without partitions is complete at once."""
        for partition in self.marker_partitions(this_round):
            self.send_marker(this_round, partition)
        if not this_round.unwritten:
            self.write_completion(this_round)

    def completed(self, metadata: TransactionMetadata) -> Transit:
        """Return the Complete state, with the next id at epoch 0 if the epochs are used up (txn.4)."""
        now = metadata.now
        target = now.entering(COMPLETION[now.state], frozenset(), now.txn_start_timestamp, self.env.now_ms)
        if now.next_producer_id < 0:
            return target
        return target._replace(
            producer_id=now.next_producer_id,
            producer_epoch=0,
            previous_producer_id=now.producer_id,
            next_producer_id=-1,
        )

    def marker_epoch(self, metadata: TransactionMetadata) -> int:
        """Return the epoch of the Prepare record, with its bump, which fences partitions too."""
        return metadata.now.producer_epoch

    def marker_partitions(self, this_round: MarkerRound) -> list[int]:
        """Return every partition of the transaction (txn.10)."""
        return sorted(this_round.unwritten)

    def send_marker(self, this_round: MarkerRound, partition: int) -> None:
        """Send a marker to one partition, and send it again if no answer arrives."""
        number = self.env.next_request()
        self.marker_requests[number] = (this_round, partition)
        request = WriteTxnMarkersRequest(
            this_round.producer_id,
            this_round.producer_epoch,
            this_round.committed,
            partition,
            self.coordinator.coordinator_epoch,
            this_round.target.client_transaction_version,
        )
        self.env.network.send("marker", self.coordinator.name, partition_name(partition), RequestBody(number, request))
        self.coordinator.after(self.env.config.request_timeout_ms * 1000, self.resend_unanswered, number)

    def resend_unanswered(self, number: int) -> None:
        if number in self.marker_requests:
            self.resend(self.marker_requests[number])

    def resend(self, marker: tuple[MarkerRound, int]) -> None:
        """Send the marker again, without end, until the partition has it (txn.10)."""
        this_round, partition = marker
        if self.is_current(this_round) and partition in this_round.unwritten:
            self.send_marker(this_round, partition)

    def receive_marker_answer(self, message: Message) -> None:
        """Note a marker, send it again, or leave the transaction to the next coordinator."""
        this_round, partition = self.marker_requests.pop(message.body.number, (None, -1))
        if this_round is None or not self.is_current(this_round) or partition not in this_round.unwritten:
            return
        error = message.body.data.error_code
        if error in OVERTAKEN:
            self.forget_round(this_round)
        elif error:  # its leader does not lead any more, or is still loading
            self.coordinator.after(RETRY_BACKOFF_US, self.resend, (this_round, partition))
        else:
            self.note_written(this_round, partition)

    def note_written(self, this_round: MarkerRound, partition: int) -> None:
        metadata = this_round.metadata
        this_round.unwritten.discard(partition)
        self.env.emit(
            Kind.MARKER_ACKED, node=self.coordinator.node_id, txn_id=metadata.transactional_id, partition=partition,
            producer_id=this_round.producer_id, epoch=this_round.producer_epoch,
        )  # fmt: skip
        if not this_round.unwritten:
            self.write_completion(this_round)

    def write_completion(self, this_round: MarkerRound) -> None:
        """Append the record that the transaction is complete. Nothing new can begin until that is durable."""
        done = this_round.target
        target = done.entering(done.state, done.topic_partitions, done.txn_start_timestamp, self.env.now_ms)
        self.coordinator.transitions.write(
            this_round.metadata, target, partial(self.completion_written, this_round), keep_pending=True
        )

    def completion_written(self, this_round: MarkerRound, ok: bool) -> None:
        """End the round, or repeat a failed append of the completion, because the markers cannot be taken back."""
        if ok:
            self.forget_round(this_round)
        else:
            self.write_completion(this_round)

    def is_current(self, this_round: MarkerRound) -> bool:
        return self.rounds.get(this_round.metadata.transactional_id) is this_round

    def forget_round(self, this_round: MarkerRound) -> None:
        del self.rounds[this_round.metadata.transactional_id]
        self.marker_requests = {n: sent for n, sent in self.marker_requests.items() if sent[0] is not this_round}
