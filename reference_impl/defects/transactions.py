"""Implementations of transactions with one thing wrong each, by name."""

from collections.abc import Callable
from functools import partial

from fencepost.reference_impl.defects import (
    transactions_clients,
    transactions_coordinator,
    transactions_partitions,
    transactions_together,
)
from fencepost.reference_impl.kafka.clients.admin import Admin, Fenced, FenceProducersResult
from fencepost.reference_impl.kafka.clients.sends import CoordinatorCall, Question
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator, Done
from fencepost.reference_impl.kafka.transaction_states import (
    IDLE,
    PREPARED,
    PREPARES,
    TransactionMetadata,
    TransactionState,
    Transit,
)
from fencepost.reference_impl.kafka.transaction_transitions import MarkerRound, Markers, Transitions
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.simulation.defects import NOTHING, PROGRESS, PROMISE, defect, registry
from fencepost.reference_impl.systems.transactions import Parts, build

# Defects of coordinators that take an append to the transaction log for done before it is, another's request for a
# retry or a retry for another's request, or that mix up whose transaction, producer id or partition it is.


# appends that fail, or are not waited for
@defect("txn.1", PROMISE)
class InitAnswersBeforeDurable(Coordinator):
    """InitProducerId and fenceProducers are answered as soon as the bump is being appended (txn.1).

    A coordinator that takes over without that record hands the same pair to the next one that asks.
    """

    def renew(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        pair = self.next_pair(metadata.now, request)
        super().renew(message, metadata, request)
        if pair is not None:
            self.answer_init(message, ErrorCode.NONE, *pair[:2])

    def renewed(self, message: Message, target: Transit, ok: bool) -> None:
        """It was stated already."""


@defect("txn.1", PROMISE)
class InitAnsweredUnrecorded(Coordinator):
    """InitProducerId is answered with success also where the append of the bump has failed (txn.1)."""

    def renewed(self, message: Message, target: Transit, ok: bool) -> None:
        super().renewed(message, target, True)


@defect("txn.6", PROMISE, mode="v1")
class FailedAddRemembered(Coordinator):
    """A partition counts as added from the request on, whatever becomes of its record (txn.6, txn.25).

    The repeated request is answered "there already"; a coordinator that takes over does not have the partition, and no
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


@defect("txn.8", PROMISE)
class EndAnsweredUnrecorded(Coordinator):
    """EndTxn is answered with success also where the append of the Prepare record has failed (txn.8)."""

    def end_written(self, metadata: TransactionMetadata, answer: Callable[..., object], ok: bool) -> None:
        if ok:
            super().end_written(metadata, answer, ok)
        else:
            answer(ErrorCode.NONE, metadata.now)


@defect("txn.9", PROMISE, mode="v2")
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


@defect("txn.5", PROGRESS)
class FailedAppendStaysPending(Coordinator):
    """After an append that failed every request is answered CONCURRENT_TRANSACTIONS, for ever (txn.5)."""

    transitions_type = PendingAfterFailure


class RoundsLeaveTheFlag(Markers):
    """A transaction that ends says nothing of whether a fence of its id has failed."""

    def begin_completion(self, metadata: TransactionMetadata) -> MarkerRound:
        failed = metadata.has_failed_epoch_fence
        this_round = super().begin_completion(metadata)
        metadata.has_failed_epoch_fence = failed
        return this_round


@defect("txn.18", PROMISE, mode="v1")
class FailedFenceNeverForgotten(Coordinator):
    """A fence whose append failed is remembered beyond the attempt that succeeds (txn.18).

    From then on no fence of the id bumps: a transaction whose time is up is aborted under its owner's own epoch.
    """

    markers_type = RoundsLeaveTheFlag


class CompletionsWrittenOnce(Markers):
    """The record of a completion is appended once, with or without success."""

    def completion_written(self, this_round: MarkerRound, ok: bool) -> None:
        self.forget_round(this_round)


@defect("txn.10", PROGRESS)
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


@defect("txn.10", PROMISE)
class CompletedAgain(Coordinator):
    """A second answer to a marker records the completion a second time, over the transaction that has begun since
    (txn.10)."""

    transitions_type = CompletesUnchecked
    markers_type = EveryAnswerCounts


# whose retry it is
@defect("txn.2", PROMISE, mode="v1")
class ZombieInitRenewed(Coordinator):
    """InitProducerId with an expected pair looks at the producer id and not at the epoch (txn.2, KIP-360).

    A producer that was fenced long ago gets the next epoch, and fences its successor.
    """

    def next_pair(self, now: Transit, request: InitProducerIdRequest) -> tuple[int, int, int] | None:
        if request.producer_id == now.producer_id and not self.is_init_retry(now, request):
            request = request._replace(producer_epoch=now.producer_epoch)
        return super().next_pair(now, request)


@defect("txn.2", PROMISE, mode="v1")
class InitRetryByArithmetic(Coordinator):
    """The epoch before the present one is taken for the one that was bumped for the same producer (txn.2).

    It was bumped for another: the one that is fenced by it is given its successor's pair.
    """

    def is_init_retry(self, now: Transit, request: InitProducerIdRequest) -> bool:
        one_before = (now.producer_id, now.producer_epoch - 1)
        return super().is_init_retry(now, request) or (request.producer_id, request.producer_epoch) == one_before


@defect("txn.5", PROMISE, mode="v1")
class AddedToWhatIsEnding(Coordinator):
    """A partition that is in the transaction already needs no other check: not even whether that is ending (txn.5).

    Before version 2 the next transaction has the same pair: it is answered "there already" of a transaction that is
    over.
    """

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        error = self.exact_pair_error(metadata, request.producer_id, request.producer_epoch)
        known = request.partition in metadata.now.topic_partitions
        ending = metadata.now.state in PREPARED
        return ErrorCode.NONE if known and ending and not error else super().add_refused(metadata, request)

    def add(self, request: AddPartitionsToTxnRequest, answer: Done) -> None:
        metadata = self.find(request.transactional_id)
        if metadata is not None and metadata.now.state in PREPARED and not self.add_refused(metadata, request):
            answer(ErrorCode.NONE)
        else:
            super().add(request, answer)


@defect("txn.9", PROMISE, mode="v2")
class AbortOfNothingKeepsEpoch(Coordinator):
    """The abort of a transaction that the coordinator has not heard of is answered at once, without a bump (txn.9).

    A batch of that transaction that is still on its way is then one of the next transaction, which has its epoch.
    """

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        result = super().end_result(metadata, request)
        idle = metadata.now.state in IDLE and not request.committed
        return ErrorCode.NONE if idle and result == PREPARES else result


@defect("txn.7", PROMISE, mode="v2")
class AbortOfTheFencedIsARetry(Coordinator):
    """The abort of an epoch that InitProducerId has replaced is taken for a retry of the end before (txn.7).

    The one that was fenced, and had nothing open, is given its successor's pair.
    """

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        result = super().end_result(metadata, request)
        fresh = metadata.now.state == TransactionState.EMPTY and self.is_end_retry(metadata.now, request)
        return ErrorCode.NONE if fresh and not request.committed and result == ErrorCode.PRODUCER_FENCED else result


@defect("txn.7", PROMISE, mode="v2")
class AnyOlderEndIsARetry(Coordinator):
    """Every epoch below the present one is that of an end that is repeated (txn.7)."""

    def is_end_retry(self, now: Transit, request: EndTxnRequest) -> bool:
        older = request.producer_id == now.producer_id and request.producer_epoch < now.producer_epoch
        return older or super().is_end_retry(now, request)


@defect("txn.7", PROMISE, mode="v2", max_epoch=3)
class EndRetryForgetsRotation(Coordinator):
    """A repeated EndTxn is known by the epoch alone: not where the end has brought another producer id (txn.7)."""

    def is_end_retry(self, now: Transit, request: EndTxnRequest) -> bool:
        return request.producer_id == now.producer_id and super().is_end_retry(now, request)


@defect("txn.9", PROMISE, mode="v2")
class EndRetryToldTheOldPair(Coordinator):
    """A repeated EndTxn is answered with success and the pair that it names (txn.9)."""

    def answer_end(self, message: Message, error: int, now: Transit | None = None) -> None:
        request: EndTxnRequest = message.body.data
        metadata = self.find(request.transactional_id)
        if metadata is not None and now is metadata.now and self.is_end_retry(now, request):
            now = now._replace(producer_id=request.producer_id, producer_epoch=request.producer_epoch)
        super().answer_end(message, error, now)


# whose transaction, id or partition it is
@defect("txn.4", PROMISE, mode="v1", max_epoch=3)
class LastEpochNotFenced(Coordinator):
    """The fence of a producer that holds the last epoch to hand out leaves it there (txn.4, txn.18).

    The epoch above is reserved for just that: without it partitions take what the fenced one still sends.
    """

    def fenced_epoch(self, metadata: TransactionMetadata) -> int:
        return min(super().fenced_epoch(metadata), max(self.env.config.max_epoch - 1, metadata.now.producer_epoch))


class MarkersOfTheNextId(Markers):
    """The markers of an end that brings another producer id name that one."""

    def begin_completion(self, metadata: TransactionMetadata) -> MarkerRound:
        this_round = super().begin_completion(metadata)
        this_round.producer_id = this_round.target.producer_id
        return this_round


@defect("txn.4", PROMISE, mode="v2", max_epoch=3)
class RotationMarkersNameTheNextId(Coordinator):
    """Where the epochs are used up the markers name the producer id that comes after (txn.4, txn.10).

    No partition has a transaction of that one, and the one that is open stays open.
    """

    markers_type = MarkersOfTheNextId


class PartitionsStay(Markers):
    """A transaction that is complete still has its partitions."""

    def completed(self, metadata: TransactionMetadata) -> Transit:
        return super().completed(metadata)._replace(topic_partitions=metadata.now.topic_partitions)


@defect("txn.15", PROMISE, mode="v1-verified")
class CompletionKeepsPartitions(Coordinator):
    """A completed transaction does not give up its partitions (txn.15).

    A leader that asks about a late batch is answered that its transaction has the partition.
    """

    markers_type = PartitionsStay


@defect("txn.15", PROMISE, mode="v1-verified")
class UnknownIdVerified(Coordinator):
    """A leader's question about a transactional id that nobody knows is answered yes: nobody has fenced it (txn.15)."""

    def verify(self, request: AddPartitionsToTxnRequest) -> int:
        error = super().verify(request)
        return ErrorCode.NONE if error and self.find(request.transactional_id) is None else error


@defect("txn.21", PROGRESS, mode="v1", groups=2)
class OffsetsOfTheFirstGroup(Coordinator):
    """AddOffsetsToTxn adds the offsets partition of the first group, whichever is asked for (txn.21)."""

    def partition_of(self, request: AddPartitionsToTxnRequest | AddOffsetsToTxnRequest) -> int:
        partition = super().partition_of(request)
        return min(partition, self.env.config.partitions)


# Defects of the interface: what fencing an id answers, and what it leaves.


class AllByTheLast(FenceProducersResult):
    """The whole is what the last answer was."""

    def all(self) -> int | None:
        results = list(self.fenced_producers().values())
        return None if results[-1] is None else results[-1].error


@defect("618.13", NOTHING, interface=True)
class WholeByTheLast(Admin):
    """`all` says what became of the last id."""

    result = AllByTheLast


@defect("618.13", NOTHING, interface=True)
class PairsForgotten(Admin):
    """An id's result is an error code and no more."""

    def question(self, transactional_id: int, call: CoordinatorCall, result: FenceProducersResult) -> Question:
        settle = result.settle

        def without_pair(transactional_id: int, fenced: Fenced) -> None:
            settle(transactional_id, Fenced(fenced.error, -1, -1))

        result.settle = without_pair  # type: ignore[method-assign]
        return super().question(transactional_id, call, result)


@defect("txn.22", NOTHING, interface=True)
class UnknownIdsRefused(Coordinator):
    """An id that no producer ever had is not created."""

    def init_refused(self, request: InitProducerIdRequest) -> int:
        known = request.transactional_id in self.transactions
        return super().init_refused(request) or (0 if known else ErrorCode.INVALID_PRODUCER_ID_MAPPING)


# What the defect of each can show, as `breaks` says:
#
# - PROMISE: one of txn.P1 to txn.P9 fails for clients and readers;
# - CONFORMANCE: every promise holds, but there are events that no correct implementation emits;
# - PROGRESS: something stays unresolved, or a client never gets on, though faults have stopped (txn.P10, txn.P11);
# - NOTHING: a control, harmless as long as everything else is right.

REGISTRY = registry(
    Parts,
    build,
    transactions_coordinator,
    transactions_partitions,
    transactions_clients,
    __name__,
    transactions_together,
)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
