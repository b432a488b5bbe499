"""This module collects the implementations of transactions that are wrong in one way each, by name."""

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

# These are the defects of coordinators that act on an append to the transaction log before it is durable, that confuse
# retries with requests of other producers, or that confuse transactions, producer ids or partitions.


# appends that fail, or are not waited for
@defect("txn.1", PROMISE)
class InitAnswersBeforeDurable(Coordinator):
    """The coordinator answers InitProducerId and fenceProducers before the record of the bump is durable (txn.1). A
    coordinator that takes over without that record hands the same pair to the next client that asks."""

    def renew(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        pair = self.next_pair(metadata.now, request)
        super().renew(message, metadata, request)
        if pair is not None:
            self.answer_init(message, ErrorCode.NONE, *pair[:2])

    def renewed(self, message: Message, target: Transit, ok: bool) -> None:
        """This defect has sent the answer already."""


@defect("txn.1", PROMISE)
class InitAnsweredUnrecorded(Coordinator):
    """The coordinator answers InitProducerId with success even when the append of the bump has failed (txn.1)."""

    def renewed(self, message: Message, target: Transit, ok: bool) -> None:
        super().renewed(message, target, True)


@defect("txn.6", PROMISE, mode="v1")
class FailedAddRemembered(Coordinator):
    """The coordinator counts a partition as added from the request on, even when the append of its record fails (txn.6,
    txn.25).

    A repeated request is answered as if the partition were there already. A coordinator that takes over does not know
    the partition, so it sends no marker to it.
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
    """The coordinator answers EndTxn with success even when the append of the Prepare record has failed (txn.8)."""

    def end_written(self, metadata: TransactionMetadata, answer: Callable[..., object], ok: bool) -> None:
        if ok:
            super().end_written(metadata, answer, ok)
        else:
            answer(ErrorCode.NONE, metadata.now)


@defect("txn.9", PROMISE, mode="v2")
class FailedEndBumps(Coordinator):
    """The end of a transaction bumps the epoch in memory before its record is written (txn.9). When the append fails,
    the bumped epoch stays, and the producer that repeats its request names an epoch that is no longer valid."""

    def end(self, metadata: TransactionMetadata, committed: bool, answer: Callable[..., object]) -> None:
        target = self.prepare_end(metadata, committed)
        metadata.prepare(target.state)
        metadata.now = metadata.now._replace(
            producer_epoch=target.producer_epoch, last_producer_epoch=target.last_producer_epoch
        )
        self.transitions.write(metadata, target, partial(self.end_written, metadata, answer))


class PendingAfterFailure(Transitions):
    """A transition stays pending even when the append of its record has failed."""

    def write(
        self, metadata: TransactionMetadata, target: Transit, done: Callable[[bool], object], keep_pending: bool = False
    ) -> None:
        super().write(metadata, target, done, keep_pending=True)


@defect("txn.5", PROGRESS)
class FailedAppendStaysPending(Coordinator):
    """After a failed append every request gets CONCURRENT_TRANSACTIONS for ever (txn.5)."""

    transitions_type = PendingAfterFailure


class RoundsLeaveTheFlag(Markers):
    """The completion of a transaction does not clear the flag that a fence of its id has failed."""

    def begin_completion(self, metadata: TransactionMetadata) -> MarkerRound:
        failed = metadata.has_failed_epoch_fence
        this_round = super().begin_completion(metadata)
        metadata.has_failed_epoch_fence = failed
        return this_round


@defect("txn.18", PROMISE, mode="v1")
class FailedFenceNeverForgotten(Coordinator):
    """The coordinator remembers a fence whose append failed even after a later attempt has succeeded (txn.18). From
    then on no fence of the id bumps the epoch, and a transaction that times out is aborted under its owner's own epoch.
    """

    markers_type = RoundsLeaveTheFlag


class CompletionsWrittenOnce(Markers):
    """The coordinator appends the record of a completion once and does not repeat a failed append."""

    def completion_written(self, this_round: MarkerRound, ok: bool) -> None:
        self.forget_round(this_round)


@defect("txn.10", PROGRESS)
class FailedCompletionNotRepeated(Coordinator):
    """The coordinator does not repeat a failed append of a completion, which stays missing (txn.10)."""

    markers_type = CompletionsWrittenOnce


class EveryAnswerCounts(Markers):
    """Every answer to a marker counts as a first one, so a late copy completes the transaction again."""

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
    """The coordinator applies every recorded completion without Kafka's sanity check."""

    def verify_completion(self, metadata: TransactionMetadata, target: Transit) -> None:
        """Kafka's sanity check is left out because it would stop this defect with a crash."""


@defect("txn.10", PROMISE)
class CompletedAgain(Coordinator):
    """A second answer to a marker records the completion again, over a transaction that has begun since (txn.10)."""

    transitions_type = CompletesUnchecked
    markers_type = EveryAnswerCounts


# retries, and requests of other producers
@defect("txn.2", PROMISE, mode="v1")
class ZombieInitRenewed(Coordinator):
    """InitProducerId with an expected pair checks the producer id but not the epoch (txn.2, KIP-360). A producer that
    was fenced long ago gets the next epoch and fences its successor."""

    def next_pair(self, now: Transit, request: InitProducerIdRequest) -> tuple[int, int, int] | None:
        if request.producer_id == now.producer_id and not self.is_init_retry(now, request):
            request = request._replace(producer_epoch=now.producer_epoch)
        return super().next_pair(now, request)


@defect("txn.2", PROMISE, mode="v1")
class InitRetryByArithmetic(Coordinator):
    """InitProducerId takes the epoch one below the current one for an earlier epoch of the same producer (txn.2). The
    bump may have been for another producer. The producer that it fenced then gets its successor's pair."""

    def is_init_retry(self, now: Transit, request: InitProducerIdRequest) -> bool:
        one_before = (now.producer_id, now.producer_epoch - 1)
        return super().is_init_retry(now, request) or (request.producer_id, request.producer_epoch) == one_before


@defect("txn.5", PROMISE, mode="v1")
class AddedToWhatIsEnding(Coordinator):
    """The coordinator accepts a partition that is already in the transaction without checking whether the transaction
    is ending (txn.5).

    Before version 2 the next transaction has the same pair, so its partition is answered as added although that holds
    only for the transaction that is over.
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
    """The coordinator answers the abort of a transaction that it does not know at once, without a bump (txn.9). A
    delayed batch of that transaction then counts for the next transaction, which has the same epoch."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        result = super().end_result(metadata, request)
        idle = metadata.now.state in IDLE and not request.committed
        return ErrorCode.NONE if idle and result == PREPARES else result


@defect("txn.7", PROMISE, mode="v2")
class AbortOfTheFencedIsARetry(Coordinator):
    """The coordinator takes an abort under an epoch that InitProducerId has replaced for a retry of the previous EndTxn
    (txn.7). A producer that was fenced with nothing open gets its successor's pair."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        result = super().end_result(metadata, request)
        fresh = metadata.now.state == TransactionState.EMPTY and self.is_end_retry(metadata.now, request)
        return ErrorCode.NONE if fresh and not request.committed and result == ErrorCode.PRODUCER_FENCED else result


@defect("txn.7", PROMISE, mode="v2")
class AnyOlderEndIsARetry(Coordinator):
    """The coordinator takes an EndTxn under any older epoch for a retry of the last EndTxn (txn.7)."""

    def is_end_retry(self, now: Transit, request: EndTxnRequest) -> bool:
        older = request.producer_id == now.producer_id and request.producer_epoch < now.producer_epoch
        return older or super().is_end_retry(now, request)


@defect("txn.7", PROMISE, mode="v2", max_epoch=3)
class EndRetryForgetsRotation(Coordinator):
    """The coordinator does not recognise a repeated EndTxn if the first one has brought another producer id (txn.7)."""

    def is_end_retry(self, now: Transit, request: EndTxnRequest) -> bool:
        return request.producer_id == now.producer_id and super().is_end_retry(now, request)


@defect("txn.9", PROMISE, mode="v2")
class EndRetryToldTheOldPair(Coordinator):
    """A repeated EndTxn is answered with success and the pair of the request, not the new one (txn.9)."""

    def answer_end(self, message: Message, error: int, now: Transit | None = None) -> None:
        request: EndTxnRequest = message.body.data
        metadata = self.find(request.transactional_id)
        if metadata is not None and now is metadata.now and self.is_end_retry(now, request):
            now = now._replace(producer_id=request.producer_id, producer_epoch=request.producer_epoch)
        super().answer_end(message, error, now)


# confused transactions, ids and partitions
@defect("txn.4", PROMISE, mode="v1", max_epoch=3)
class LastEpochNotFenced(Coordinator):
    """The fence of a producer that has the last epoch that is handed out does not raise the epoch (txn.4, txn.18). The
    epoch above is reserved for this fence. Without it partitions accept what the fenced producer still sends."""

    def fenced_epoch(self, metadata: TransactionMetadata) -> int:
        return min(super().fenced_epoch(metadata), max(self.env.config.max_epoch - 1, metadata.now.producer_epoch))


class MarkersOfTheNextId(Markers):
    """The markers of an end that brings another producer id carry that next producer id."""

    def begin_completion(self, metadata: TransactionMetadata) -> MarkerRound:
        this_round = super().begin_completion(metadata)
        this_round.producer_id = this_round.target.producer_id
        return this_round


@defect("txn.4", PROMISE, mode="v2", max_epoch=3)
class RotationMarkersNameTheNextId(Coordinator):
    """When the epochs of a producer id are used up, the markers carry the next producer id (txn.4, txn.10). No
    partition has a transaction of that next id, so the open transaction stays open."""

    markers_type = MarkersOfTheNextId


class PartitionsStay(Markers):
    """A transaction that is complete still has its partitions."""

    def completed(self, metadata: TransactionMetadata) -> Transit:
        return super().completed(metadata)._replace(topic_partitions=metadata.now.topic_partitions)


@defect("txn.15", PROMISE, mode="v1-verified")
class CompletionKeepsPartitions(Coordinator):
    """The coordinator does not remove the partitions of a completed transaction (txn.15). A leader that verifies a late
    batch gets the answer that the partition is in the transaction."""

    markers_type = PartitionsStay


@defect("txn.15", PROMISE, mode="v1-verified")
class UnknownIdVerified(Coordinator):
    """The coordinator answers a leader's verification of an unknown transactional id with success (txn.15)."""

    def verify(self, request: AddPartitionsToTxnRequest) -> int:
        error = super().verify(request)
        return ErrorCode.NONE if error and self.find(request.transactional_id) is None else error


@defect("txn.21", PROGRESS, mode="v1", groups=2)
class OffsetsOfTheFirstGroup(Coordinator):
    """AddOffsetsToTxn always adds the offsets partition of the first group, whatever the requested group (txn.21)."""

    def partition_of(self, request: AddPartitionsToTxnRequest | AddOffsetsToTxnRequest) -> int:
        partition = super().partition_of(request)
        return min(partition, self.env.config.partitions)


# Defects of the interface: the answers to fenceProducers and its effects.


class AllByTheLast(FenceProducersResult):
    """`all` gives the result of the last id instead of the combined result of all ids."""

    def all(self) -> int | None:
        results = list(self.fenced_producers().values())
        return None if results[-1] is None else results[-1].error


@defect("618.13", NOTHING, interface=True)
class WholeByTheLast(Admin):
    """The admin's `all` reports the result of the last id only."""

    result = AllByTheLast


@defect("618.13", NOTHING, interface=True)
class PairsForgotten(Admin):
    """The result of fenceProducers has an error code for each id, but no producer id and epoch."""

    def question(self, transactional_id: int, call: CoordinatorCall, result: FenceProducersResult) -> Question:
        settle = result.settle

        def without_pair(transactional_id: int, fenced: Fenced) -> None:
            settle(transactional_id, Fenced(fenced.error, -1, -1))

        result.settle = without_pair  # type: ignore[method-assign]
        return super().question(transactional_id, call, result)


@defect("txn.22", NOTHING, interface=True)
class UnknownIdsRefused(Coordinator):
    """InitProducerId is refused for an id that no producer ever had, so fenceProducers does not create it."""

    def init_refused(self, request: InitProducerIdRequest) -> int:
        known = request.transactional_id in self.transactions
        return super().init_refused(request) or (0 if known else ErrorCode.INVALID_PRODUCER_ID_MAPPING)


# The kind of damage that each defect does is in `breaks`:
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
