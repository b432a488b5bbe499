"""This module has the defects of transactions in the coordinator."""

from collections.abc import Callable
from functools import partial

from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator, Done
from fencepost.reference_impl.kafka.transaction_states import (
    PREPARED,
    TransactionLogValue,
    TransactionMetadata,
    TransactionState,
    Transit,
)
from fencepost.reference_impl.kafka.transaction_transitions import MarkerRound, Markers, Transitions
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.simulation.defects import CONFORMANCE, PROGRESS, PROMISE, defect

LOST = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE)


ABORTED = (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)


# who may write
@defect("txn.1", PROMISE)
class InitKeepsEpoch(Coordinator):
    """The coordinator answers InitProducerId with the current epoch, without bumping it (F01)."""

    def bumped(self, now: Transit) -> int:
        return max(now.producer_epoch, 0)


@defect("txn.22", PROMISE)
class IdleIdsNotFenced(Coordinator):
    """The coordinator answers an admin's fence of an id without an open transaction with the current pair, without
    bumping the epoch (txn.22). An admin's request is recognised by its transaction time-out, which equals the request
    time-out."""

    def renew(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        now = metadata.now
        by_an_admin = request.transaction_timeout_ms == self.env.config.request_timeout_ms
        if by_an_admin and now.producer_epoch >= 0:
            self.answer_init(message, ErrorCode.NONE, now.producer_id, now.producer_epoch)
            return
        super().renew(message, metadata, request)


@defect("txn.1", PROMISE, mode="v1")
class InitTakesNewId(Coordinator):
    """InitProducerId hands out another producer id whenever the broker has one available, as if the epochs were used up
    (txn.1). librdkafka's mock cluster does the same and does not even abort the open transaction."""

    def next_pair(self, now: Transit, request: InitProducerIdRequest) -> tuple[int, int, int] | None:
        pair = super().next_pair(now, request)
        if pair is None or now.producer_epoch < 0 or pair[:2] == (now.producer_id, now.producer_epoch):
            return pair
        return (self.env.next_producer_id(), 0, pair[2]) if self.env.has_producer_id() else pair


@defect("txn.3", PROMISE, mode="v1")
class InitLeavesTransactionOpen(Coordinator):
    """InitProducerId bumps the epoch but does not end the open transaction (F02)."""

    def receive_init(self, message: Message) -> None:
        request: InitProducerIdRequest = message.body.data
        metadata = self.find(request.transactional_id)
        if metadata is not None and metadata.pending_state is None and metadata.now.state == TransactionState.ONGOING:
            metadata.now = metadata.now._replace(state=TransactionState.EMPTY, topic_partitions=frozenset())
        super().receive_init(message)


@defect(
    "txn.3", CONFORMANCE, "the fence holds at the coordinator: nothing can be added before the transaction is complete"
)
class InitAnswersBeforeCompletion(Coordinator):
    """InitProducerId succeeds once the abort of the open transaction is recorded (F04)."""

    def answer_fenced(self, message: Message, metadata: TransactionMetadata, error: int) -> None:
        if error:
            super().answer_fenced(message, metadata, error)
        else:
            self.answer_init(message, ErrorCode.NONE, metadata.now.producer_id, metadata.now.producer_epoch)


@defect("txn.2", PROMISE, mode="v1")
class InitRetryIsFenced(Coordinator):
    """InitProducerId does not recognise a repeated request and fences its sender (txn.2)."""

    def is_init_retry(self, now: Transit, request: InitProducerIdRequest) -> bool:
        return False


@defect("txn.4", PROMISE, mode="v2", max_epoch=3)
class ExhaustedOneLate(Coordinator):
    """The coordinator hands out the epoch that is reserved for fencing (B13)."""

    def is_exhausted(self, epoch: int) -> bool:
        return epoch >= self.env.config.max_epoch


@defect("txn.20", PROGRESS, expiration_ms=20_000, expiration_check_ms=5_000)
class OpenIdsExpire(Coordinator):
    """A transactional id expires by the time of its last change alone, even with an open transaction (txn.20)."""

    def expire_idle(self, _: object) -> None:
        oldest_ms = self.env.now_ms - self.env.config.expiration_ms
        for metadata in list(self.transactions.values()):
            open_and_old = metadata.now.state == TransactionState.ONGOING
            open_and_old &= metadata.now.txn_last_update_timestamp <= oldest_ms
            if metadata.pending_state is None and open_and_old:
                metadata.pending_state = TransactionState.DEAD
                self.transitions.write_tombstone(metadata, partial(self.expired, metadata))
        super().expire_idle(_)


# partitions of a transaction
class OverwritingTransitions(Transitions):
    """The partitions that an append adds replace those that the transaction already has."""

    def write(
        self, metadata: TransactionMetadata, target: Transit, done: Callable[[bool], object], keep_pending: bool = False
    ) -> None:
        if target.state == TransactionState.ONGOING:
            fresh = target.topic_partitions - metadata.now.topic_partitions
            target = target._replace(topic_partitions=fresh)
        super().write(metadata, target, done, keep_pending)

    def verify_completion(self, metadata: TransactionMetadata, target: Transit) -> None:
        """Kafka's sanity check is left out because it would stop this defect with a crash."""


@defect("txn.10", PROMISE, mode="v1")
class AddOverwrites(Coordinator):
    """AddPartitionsToTxn replaces the partitions of the transaction in place of adding to them (txn.10)."""

    transitions_type = OverwritingTransitions


@defect(
    "txn.6",
    PROMISE,
    "a partition that has not heard of the fence takes the record, and the next marker decides its fate",
    mode="v1",
)
class AddTakesOlderEpoch(Coordinator):
    """AddPartitionsToTxn does not check the epoch (txn.6)."""

    def add(self, request: AddPartitionsToTxnRequest, answer: Done) -> None:
        metadata = self.find(request.transactional_id)
        if metadata is not None:
            request = request._replace(producer_epoch=metadata.now.producer_epoch)
        super().add(request, answer)


@defect("txn.15", PROMISE, mode="v1-verified")
class VerifiesAnyPartition(Coordinator):
    """The coordinator verifies any partition for a leader if the producer id and epoch are right (txn.15)."""

    def is_in_transaction(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> bool:
        return True


# the end of a transaction
@defect("txn.7", PROMISE, mode="v2")
class EndTakesLargerEpoch(Coordinator):
    """EndTxn takes an epoch above the current one for the current one (F07). A producer that repeats the last EndTxn of
    a producer id whose epochs are used up is refused, since the next id begins at a lower epoch."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        epoch = min(request.producer_epoch, metadata.now.producer_epoch)
        return super().end_result(metadata, request._replace(producer_epoch=epoch))


@defect("txn.7", PROMISE)
class EndTakesOlderEpoch(Coordinator):
    """EndTxn does not check the epoch at all (txn.7)."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        return super().end_result(metadata, request._replace(producer_epoch=metadata.now.producer_epoch))


@defect("txn.9", PROMISE, mode="v2")
class EndKeepsEpoch(Coordinator):
    """EndTxn does not bump the epoch in v2, so the transactions of one producer cannot be distinguished (F08, B01)."""

    def bumps_on_end(self) -> bool:
        return False

    def find_or_create(self, request: InitProducerIdRequest) -> TransactionMetadata:
        """Mark the transaction as one of version 1, in which markers have the same epoch as the records."""
        metadata = super().find_or_create(request)
        metadata.now = metadata.now._replace(client_transaction_version=1)
        return metadata


@defect("txn.5", PROMISE, mode="v2")
class EpochBeforePending(Coordinator):
    """The coordinator checks the epoch before it checks for a pending transition (F17, B12)."""

    def checks_pending_before_epoch(self) -> bool:
        return False


@defect("txn.8", PROMISE)
class LostCommitToldOk(Coordinator):
    """A commit that arrives after the abort of a timed-out transaction is answered with success (F23)."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        result = super().end_result(metadata, request)
        lost = request.committed and result in LOST and metadata.now.state in ABORTED
        return ErrorCode.NONE if lost else result


@defect("txn.8", PROMISE)
class EndAnswersBeforeDurable(Coordinator):
    """The coordinator answers EndTxn before its record is durable (txn.8)."""

    def end(self, metadata: TransactionMetadata, committed: bool, answer: Callable[..., object]) -> None:
        super().end(metadata, committed, self.answered_already)
        target = self.prepare_end(metadata, committed)
        if target.next_producer_id >= 0:
            target = target._replace(producer_id=target.next_producer_id, producer_epoch=0)
        answer(ErrorCode.NONE, target)

    def answered_already(self, error: int, _: Transit | None = None) -> None:
        """The answer to EndTxn has been sent before, so none is sent here."""


@defect("txn.18", PROMISE, mode="v1")
class TimeOutKeepsEpoch(Coordinator):
    """A transaction that times out is aborted without fencing its producer (B05)."""

    bump_on_fence = True

    def abort_timed_out(self, _: object) -> None:
        self.bump_on_fence = False
        super().abort_timed_out(_)
        self.bump_on_fence = True

    def fenced_epoch(self, metadata: TransactionMetadata) -> int:
        return super().fenced_epoch(metadata) if self.bump_on_fence else metadata.now.producer_epoch


@defect(
    "txn.18", CONFORMANCE, "an epoch is skipped at every failed attempt; the last one is never handed out all the same"
)
class FailedFenceBumpsAgain(Coordinator):
    """The coordinator forgets a fence whose append failed, and bumps the epoch again (txn.18)."""

    def fence_written(self, metadata: TransactionMetadata, done: Done, error: int, _: Transit | None = None) -> None:
        done(error)


@defect("txn.4", PROMISE, mode="v2", max_epoch=3)
class NoRotationAfterTimeOut(Coordinator):
    """The end of a transaction whose fence took the last epoch does not bring a new producer id (F19, B13)."""

    def bumped_at_end(self, target: Transit) -> Transit:
        return target if target.producer_epoch >= self.env.config.max_epoch else super().bumped_at_end(target)


@defect("txn.4", PROGRESS, mode="v2", max_epoch=3)
class DoubleBump(Coordinator):
    """The end of a transaction bumps an epoch that a fence has raised to the limit: int16 overflows (F20, B13)."""

    def bumped_at_end(self, target: Transit) -> Transit:
        epoch = target.producer_epoch
        if epoch < self.env.config.max_epoch:
            return super().bumped_at_end(target)
        overflowed = -self.env.config.max_epoch - 1
        next_id = self.env.next_producer_id()
        return target._replace(producer_epoch=overflowed, last_producer_epoch=epoch, next_producer_id=next_id)


# markers, and fail-over
class MarkersBeforeTheFence(Markers):
    """These markers carry the epoch before the fence, which ``fenced`` has for each transactional id."""

    def __init__(self, coordinator: Coordinator) -> None:
        super().__init__(coordinator)
        self.fenced: dict[int, int] = {}

    def marker_epoch(self, metadata: TransactionMetadata) -> int:
        return self.fenced.pop(metadata.transactional_id, super().marker_epoch(metadata))


@defect("txn.3", PROMISE, mode="v1")
class FenceMarkersKeepEpoch(Coordinator):
    """The markers of a fence carry the epoch of the producer that is fenced (F03, B06)."""

    markers_type = MarkersBeforeTheFence
    markers: MarkersBeforeTheFence

    def fence_and_abort(self, metadata: TransactionMetadata, done: Done) -> None:
        self.markers.fenced[metadata.transactional_id] = metadata.now.producer_epoch
        super().fence_and_abort(metadata, done)


class AnswersByKeyOnly(Markers):
    """An answer to a marker counts for whatever transaction of the id is ending now, if the partition fits."""

    def __init__(self, coordinator: Coordinator) -> None:
        super().__init__(coordinator)
        self.asked: dict[int, tuple[int, int]] = {}

    def send_marker(self, this_round: MarkerRound, partition: int) -> None:
        super().send_marker(this_round, partition)
        self.asked[max(self.marker_requests)] = (this_round.metadata.transactional_id, partition)

    def receive_marker_answer(self, message: Message) -> None:
        transactional_id, partition = self.asked.get(message.body.number, (-1, -1))
        this_round = self.rounds.get(transactional_id)
        if this_round is not None and partition in this_round.unwritten and not message.body.data.error_code:
            self.note_written(this_round, partition)


@defect("txn.10", PROMISE, mode="v1")
class MarkersByKeyOnly(Coordinator):
    """An answer to a marker may complete a later transaction of the id than the one that it was sent for (F14)."""

    markers_type = AnswersByKeyOnly


class OneMarkerForAll(Markers):
    """The marker of one partition counts for all partitions of the transaction."""

    def note_written(self, this_round: MarkerRound, partition: int) -> None:
        this_round.unwritten.intersection_update({partition})
        super().note_written(this_round, partition)


@defect("txn.10", PROMISE, mode="v1")
class CompletesAtFirstMarker(Coordinator):
    """The coordinator completes a transaction when one partition has its marker (txn.10)."""

    markers_type = OneMarkerForAll


class MarkersSentOnce(Markers):
    """A marker that is lost is not sent again."""

    def resend(self, marker: tuple[MarkerRound, int]) -> None:
        """The marker is not sent again."""


@defect("txn.10", PROGRESS)
class MarkersNotRepeated(Coordinator):
    """The coordinator sends each marker once, even when it is lost (txn.10)."""

    markers_type = MarkersSentOnce


class MarkersWithoutTheLast(Markers):
    """The last of several partitions gets no marker."""

    def marker_partitions(self, this_round: MarkerRound) -> list[int]:
        partitions = super().marker_partitions(this_round)
        this_round.unwritten.difference_update(partitions[1:][-1:])
        return partitions[:1] + partitions[1:-1]


@defect("txn.10", PROMISE, mode="v1")
class LastPartitionForgotten(Coordinator):
    """The coordinator sends no marker to the last of a transaction's partitions and does not wait for it (txn.10)."""

    markers_type = MarkersWithoutTheLast


@defect("txn.19", PROGRESS)
class ReloadForgetsPrepare(Coordinator):
    """A coordinator that takes over does not resend the markers of transactions that were ending (txn.19)."""

    def carry_on(self, metadata: TransactionMetadata) -> None:
        """The coordinator does not go on with a transaction that was ending."""


@defect("txn.8", PROMISE)
class ReloadReopensPrepared(Coordinator):
    """A coordinator that takes over treats a transaction that was ending as open (txn.8, txn.19)."""

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        if value.transaction_status in PREPARED:
            value = value._replace(transaction_status=TransactionState.ONGOING)
        return super().reload(transactional_id, value)


@defect("txn.19", PROMISE, mode="v2", max_epoch=3)
class ReloadForgetsRotation(Coordinator):
    """A coordinator that takes over ignores the change of producer id in the record, as Kafka did before 4.3
    (KAFKA-20310; txn.4, txn.25)."""

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        return super().reload(transactional_id, value._replace(previous_producer_id=-1, next_producer_id=-1))
