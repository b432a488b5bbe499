"""Coordinators that take an append to the transaction log for done before it is, or for more than it was.

`broken.py` says what each of them breaks.
"""

from collections.abc import Callable
from functools import partial

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator, Done
from fencepost.reference_impl.transactions.brokers.markers import MarkerRound, Markers
from fencepost.reference_impl.transactions.brokers.states import TransactionMetadata, TransactionState, Transit
from fencepost.reference_impl.transactions.brokers.transitions import Transitions
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import AddPartitionsToTxnRequest, InitProducerIdRequest

# InitProducerId


class InitAnsweredBeforeDurable(Coordinator):
    """InitProducerId and fenceProducers are answered as soon as the bump is being appended (txn.1).

    A coordinator that takes over without that record hands the same pair to the next one that asks.
    """

    def renew(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        pair = self.next_pair(metadata.now, request)
        super().renew(message, metadata, request)
        if pair is not None:
            self.answer_init(message, ErrorCode.NONE, *pair[:2])

    def renewed(self, message: Message, target: Transit, ok: bool) -> None:
        """It was said already."""


class InitAnsweredThoughNotRecorded(Coordinator):
    """InitProducerId is answered with success also where the append of the bump has failed (txn.1)."""

    def renewed(self, message: Message, target: Transit, ok: bool) -> None:
        super().renewed(message, target, True)


# AddPartitionsToTxn


class FailedAddRemembered(Coordinator):
    """A partition counts as added from the request on, whatever becomes of its record (txn.6, txn.25).

    The repeated request is told "there already"; a coordinator that takes over does not have the partition, and no
    marker goes to it.
    """

    def add(self, request: AddPartitionsToTxnRequest, answer: Done) -> None:
        metadata = self.find(request.transactional_id)
        was_pending = metadata is None or metadata.pending_state is not None
        super().add(request, answer)
        ongoing = TransactionState.ONGOING
        if metadata is not None and not was_pending and metadata.pending_state == metadata.now.state == ongoing:
            partitions = metadata.now.topic_partitions | {request.partition}
            metadata.now = metadata.now._replace(topic_partitions=partitions)


# EndTxn


class EndAnsweredThoughNotRecorded(Coordinator):
    """EndTxn is answered with success also where the append of the Prepare record has failed (txn.8)."""

    def end_written(self, metadata: TransactionMetadata, answer: Callable[..., object], ok: bool) -> None:
        if ok:
            super().end_written(metadata, answer, ok)
        else:
            answer(ErrorCode.NONE, metadata.now)


class FailedEndBumps(Coordinator):
    """The end of a transaction bumps the epoch in memory before its record is written (txn.9).

    When the append fails the epoch stays: the owner that repeats its request names one that is gone.
    """

    def end(self, metadata: TransactionMetadata, committed: bool, answer: Callable[..., object]) -> None:
        target = self.prepare_end(metadata, committed)
        metadata.prepare(target.state)
        metadata.now = metadata.now._replace(
            producer_epoch=target.producer_epoch, last_producer_epoch=target.last_producer_epoch
        )
        self.transitions.write(metadata, target, partial(self.end_written, metadata, answer))


class PendingAfterFailure(Transitions):
    """A transition stays pending whether or not its record was written."""

    def write(
        self, metadata: TransactionMetadata, target: Transit, done: Callable[[bool], object], keep_pending: bool = False
    ) -> None:
        super().write(metadata, target, done, keep_pending=True)


class FailedAppendStaysPending(Coordinator):
    """After an append that failed every request is told CONCURRENT_TRANSACTIONS, for ever (txn.5)."""

    transitions_type = PendingAfterFailure


# The fence, and completion


class RoundsLeaveTheFlag(Markers):
    """A transaction that ends says nothing of whether a fence of its id has failed."""

    def begin_completion(self, metadata: TransactionMetadata) -> MarkerRound:
        failed = metadata.has_failed_epoch_fence
        this_round = super().begin_completion(metadata)
        metadata.has_failed_epoch_fence = failed
        return this_round


class FailedFenceNeverForgotten(Coordinator):
    """A fence whose append failed is remembered beyond the attempt that succeeds (txn.18).

    From then on no fence of the id bumps: a transaction whose time is up is aborted under its owner's own epoch.
    """

    markers_type = RoundsLeaveTheFlag


class CompletionsWrittenOnce(Markers):
    """The record of a completion is appended once, with or without success."""

    def completion_written(self, this_round: MarkerRound, ok: bool) -> None:
        self.forget_round(this_round)


class FailedCompletionNotRepeated(Coordinator):
    """A transaction whose completion was not recorded stays as it is: all its markers are written (txn.10)."""

    markers_type = CompletionsWrittenOnce


class EveryAnswerCounts(Markers):
    """Each answer to a marker is looked at as if it were the first; an answer after the last one completes again."""

    def __init__(self, coordinator: Coordinator) -> None:
        super().__init__(coordinator)
        self.asked: dict[int, MarkerRound] = {}

    def send_marker(self, this_round: MarkerRound, partition: int) -> None:
        super().send_marker(this_round, partition)
        self.asked[max(self.marker_requests)] = this_round

    def receive_marker_answer(self, message: Message) -> None:
        this_round = self.asked.get(message.body.number)
        super().receive_marker_answer(message)
        transactional_id = -1 if this_round is None else this_round.metadata.transactional_id
        if this_round is not None and not this_round.unwritten and transactional_id not in self.rounds:
            self.rounds[this_round.metadata.transactional_id] = this_round
            self.write_completion(this_round)

    def forget_round(self, this_round: MarkerRound) -> None:
        if self.is_current(this_round):
            super().forget_round(this_round)


class CompletesUnchecked(Transitions):
    """Whatever has been recorded becomes the present."""

    def verify_completion(self, metadata: TransactionMetadata, target: Transit) -> None:
        """Kafka's sanity check would stop this defect with a crash."""


class CompletedAgain(Coordinator):
    """A second answer to a marker records the completion a second time, over the transaction that has begun since
    (txn.10)."""

    transitions_type = CompletesUnchecked
    markers_type = EveryAnswerCounts
