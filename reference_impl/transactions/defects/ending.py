"""Coordinators with one thing wrong each about how transactions end. `broken.py` says what each of them breaks."""

from collections.abc import Callable

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator, Done
from fencepost.reference_impl.transactions.brokers.markers import MarkerRound, Markers
from fencepost.reference_impl.transactions.brokers.states import (
    PREPARED,
    TransactionLogValue,
    TransactionMetadata,
    TransactionState,
    Transit,
)
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import EndTxnRequest, InitProducerIdRequest

LOST = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE)
ABORTED = (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)


class EndTakesLargerEpoch(Coordinator):
    """EndTxn takes an epoch above the current one for the current one (F07): who repeats the last end of a producer id
    whose epochs are used up is refused, since the next one begins below."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        epoch = min(request.producer_epoch, metadata.now.producer_epoch)
        return super().end_result(metadata, request._replace(producer_epoch=epoch))


class EndTakesOlderEpoch(Coordinator):
    """EndTxn does not look at the epoch at all (txn.7)."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        return super().end_result(metadata, request._replace(producer_epoch=metadata.now.producer_epoch))


class EndKeepsEpoch(Coordinator):
    """EndTxn does not bump the epoch in v2: transactions of one producer have no name of their own (F08, B01)."""

    def bumps_on_end(self) -> bool:
        return False

    def find_or_create(self, request: InitProducerIdRequest) -> TransactionMetadata:
        """Markers of the same epoch as the records are those of transaction version 1."""
        metadata = super().find_or_create(request)
        metadata.now = metadata.now._replace(client_transaction_version=1)
        return metadata


class EpochBeforePending(Coordinator):
    """The epoch is checked first, a pending transition after it (F17, B12)."""

    def checks_pending_before_epoch(self) -> bool:
        return False


class LostCommitToldOk(Coordinator):
    """A commit that came after a time-out's abort is answered with success (F23)."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        result = super().end_result(metadata, request)
        lost = request.committed and result in LOST and metadata.now.state in ABORTED
        return ErrorCode.NONE if lost else result


class EndAnswersBeforeDurable(Coordinator):
    """EndTxn is answered as soon as its record is being appended (txn.8)."""

    def end(self, metadata: TransactionMetadata, committed: bool, answer: Callable[..., object]) -> None:
        super().end(metadata, committed, self.said_already)
        target = self.prepare_end(metadata, committed)
        if target.next_producer_id >= 0:
            target = target._replace(producer_id=target.next_producer_id, producer_epoch=0)
        answer(ErrorCode.NONE, target)

    def said_already(self, error: int, _: Transit | None = None) -> None:
        """No request waits for this any more."""


class NoRotationAfterTimeOut(Coordinator):
    """The end of a transaction whose fence took the last epoch brings no new producer id (F19, B13)."""

    def bumped_at_end(self, target: Transit) -> Transit:
        return target if target.producer_epoch >= self.env.config.max_epoch else super().bumped_at_end(target)


class DoubleBump(Coordinator):
    """The end of a transaction bumps once more what a fence has bumped to the limit: int16 overflows (F20, B13)."""

    def bumped_at_end(self, target: Transit) -> Transit:
        epoch = target.producer_epoch
        if epoch < self.env.config.max_epoch:
            return super().bumped_at_end(target)
        overflowed = -self.env.config.max_epoch - 1
        next_id = self.env.next_producer_id()
        return target._replace(producer_epoch=overflowed, last_producer_epoch=epoch, next_producer_id=next_id)


class MarkersBeforeTheFence(Markers):
    """Markers in the epoch that `fenced` has of an id, which is the one before its fence."""

    def __init__(self, coordinator: Coordinator) -> None:
        super().__init__(coordinator)
        self.fenced: dict[int, int] = {}

    def marker_epoch(self, metadata: TransactionMetadata) -> int:
        return self.fenced.pop(metadata.transactional_id, super().marker_epoch(metadata))


class FenceMarkersKeepEpoch(Coordinator):
    """The markers of a fence carry the epoch of the producer that is fenced (F03, B06)."""

    markers_type = MarkersBeforeTheFence
    markers: MarkersBeforeTheFence

    def fence_and_abort(self, metadata: TransactionMetadata, done: Done) -> None:
        self.markers.fenced[metadata.transactional_id] = metadata.now.producer_epoch
        super().fence_and_abort(metadata, done)


class AnswersByKeyOnly(Markers):
    """An answer counts for the transaction of the id that is ending now, if the partition fits."""

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


class MarkersByKeyOnly(Coordinator):
    """An answer counts for another transaction of the id than the one asked for (F14)."""

    markers_type = AnswersByKeyOnly


class OneMarkerForAll(Markers):
    """One partition's marker is taken for all."""

    def note_written(self, this_round: MarkerRound, partition: int) -> None:
        this_round.unwritten.intersection_update({partition})
        super().note_written(this_round, partition)


class CompletesAtFirstMarker(Coordinator):
    """A transaction is complete when one partition has its marker (txn.10)."""

    markers_type = OneMarkerForAll


class MarkersSentOnce(Markers):
    """A marker that is lost is not sent again."""

    def resend(self, marker: tuple[MarkerRound, int]) -> None:
        """Nothing."""


class MarkersNotRepeated(Coordinator):
    """A marker is sent once, whether or not it arrives (txn.10)."""

    markers_type = MarkersSentOnce


class MarkersWithoutTheLast(Markers):
    """The last of several partitions gets no marker."""

    def marker_partitions(self, this_round: MarkerRound) -> list[int]:
        partitions = super().marker_partitions(this_round)
        this_round.unwritten.difference_update(partitions[1:][-1:])
        return partitions[:1] + partitions[1:-1]


class LastPartitionForgotten(Coordinator):
    """The transaction's last partition gets no marker, and is not waited for (txn.10)."""

    markers_type = MarkersWithoutTheLast


class ReloadForgetsPrepare(Coordinator):
    """A new coordinator does not resend the markers of what was ending (txn.19)."""

    def carry_on(self, metadata: TransactionMetadata) -> None:
        """Nothing."""


class ReloadReopensPrepared(Coordinator):
    """A new coordinator takes a transaction that was ending for one that is open (txn.8, txn.19)."""

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        if value.transaction_status in PREPARED:
            value = value._replace(transaction_status=TransactionState.ONGOING)
        return super().reload(transactional_id, value)


class ReloadForgetsRotation(Coordinator):
    """A new coordinator knows nothing of a change of producer id, as before 4.3 (KAFKA-20310; txn.4, txn.25)."""

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        return super().reload(transactional_id, value._replace(previous_producer_id=-1, next_producer_id=-1))
