"""This module collects the implementations of two-phase commit (KIP-939) that are wrong in one way each."""

from fencepost.reference_impl.kafka.clients.producer import State
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    InitProducerIdRequestV6,
    InitProducerIdResponse,
    InitProducerIdResponseV6,
)
from fencepost.reference_impl.kafka.transaction_states import (
    PREPARED,
    PREPARES,
    TransactionLogValue,
    TransactionMetadata,
    Transit,
)
from fencepost.reference_impl.kafka.transaction_transitions import MarkerRound
from fencepost.reference_impl.kafka.two_phase.client import Application, Decision, Store, TwoPhaseProducer
from fencepost.reference_impl.kafka.two_phase.coordinator import (
    NO_PAIR,
    Pair,
    RetainingCoordinator,
    TwoPhaseCoordinator,
    TwoPhaseMarkers,
    client_pair,
    is_retained,
)
from fencepost.reference_impl.kafka.two_phase.environment import NO_TIMEOUT_MS
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.simulation.defects import NOTHING, PROGRESS, PROMISE, defect, registry
from fencepost.reference_impl.systems.two_phase import Parts, build

# These are the defects of coordinators.


@defect("939.9", NOTHING, interface=True)
class EnabledEverywhere(RetainingCoordinator):
    """The coordinator allows two-phase commit whatever broker and ACL have (939.9)."""

    def is_2pc_allowed(self, transactional_id: int) -> bool:
        return True


@defect("939.2", NOTHING, interface=True)
class KeepsWithExpectedPair(RetainingCoordinator):
    """The coordinator takes keepPreparedTxn with the pair that the producer expects (939.2)."""

    def keeping_refused(self, request: InitProducerIdRequestV6) -> int:
        return ErrorCode.NONE


@defect("939.19", NOTHING, interface=True)
class NoneIsZero(RetainingCoordinator):
    """Where nothing is retained, the answer has the epoch 0, and not -1 (939.19)."""

    def answer_init_v6(self, message: Message, error: int, pair: Pair, ongoing: Pair) -> None:
        super().answer_init_v6(message, error, pair, (ongoing[0], max(ongoing[1], 0)))


@defect("939.19", PROGRESS, "a retained transaction stays open, and the client begins the next one in it")
class OngoingIsLeftOut(RetainingCoordinator):
    """The answer has the client's pair alone, as version 5 has it (939.19)."""

    def answer_init_v6(self, message: Message, error: int, pair: Pair, ongoing: Pair) -> None:
        super().answer_init_v6(message, error, pair, NO_PAIR)


@defect("939.19", NOTHING, interface=True)
class KeepIsTwoPhase(TwoPhaseProducer):
    """The producer asks for two-phase commit as well where it asks to retain (939.19)."""

    def ask_init(self, request: int) -> InitProducerIdRequestV6:  # type: ignore[override]
        asked = super().ask_init(request)
        return asked._replace(enable_2pc=asked.enable_2pc or asked.keep_prepared_txn)


@defect("939.20", NOTHING, interface=True)
class ClientsPairIsFenced(RetainingCoordinator):
    """AddPartitionsToTxn with the client-facing pair is refused as one of a fenced producer (939.20)."""

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        error = super().add_refused(metadata, request)
        return ErrorCode.PRODUCER_FENCED if error == ErrorCode.INVALID_TXN_STATE else error


@defect("939.20", NOTHING, "a client that has found a transaction sends no records", interface=True)
class ClientsPairIsTaken(RetainingCoordinator):
    """AddPartitionsToTxn with the client-facing pair adds to the retained transaction (939.20)."""

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        error = super().add_refused(metadata, request)
        return ErrorCode.NONE if error == ErrorCode.INVALID_TXN_STATE else error


@defect("939.20", NOTHING, "what a former owner still sends was not prepared", interface=True)
class OwnPairIsRefused(RetainingCoordinator):
    """AddPartitionsToTxn of a retained transaction is refused with its own pair too (939.20)."""

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        return super().add_refused(metadata, request) or ErrorCode.PRODUCER_FENCED * is_retained(metadata.now)


@defect("939.21", NOTHING, interface=True)
class ListsTimeOutsAlone(RetainingCoordinator):
    """ListTransactions leaves out what no time-out ends, where it is asked for what is open for long (939.21)."""

    def open_for_ms(self, now: Transit) -> int:
        return super().open_for_ms(now) if now.txn_timeout_ms != NO_TIMEOUT_MS else -1


@defect("939.21", NOTHING, interface=True)
class TerminationNeedsPermission(RetainingCoordinator):
    """Who ends a transaction without time-out needs TWO_PHASE_COMMIT (939.21)."""

    def terminate(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        if metadata.now.txn_timeout_ms != NO_TIMEOUT_MS or self.is_2pc_allowed(metadata.transactional_id):
            super().terminate(message, metadata, request)
        else:
            self.answer_init(message, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


@defect("939.22", NOTHING, interface=True)
class UnknownFieldIsFatal(TwoPhaseCoordinator):
    """A release that does not know the tagged field can not read the record, and does without the id (939.22)."""

    def recorded(self) -> dict[int, TransactionLogValue]:
        values = super(TwoPhaseCoordinator, self).recorded()
        return {key: value for key, value in values.items() if value.next_producer_epoch < 0}


@defect("939.1", PROMISE)
class TimesOutAnyway(RetainingCoordinator):
    """The coordinator records the time-out that the producer names, also for two-phase commit (939.1)."""

    def with_timeout(self, request: InitProducerIdRequest) -> InitProducerIdRequest:
        return request


@defect("939.1", PROMISE)
class RetainedTimeoutStays(RetainingCoordinator):
    """A retained transaction has the time-out of its former owner, which the new one inherits (939.1), as trunk's
    sanity check of Ongoing demands (TransactionMetadata.completeTransitionTo)."""

    def retained_timeout(self, now: Transit, request: InitProducerIdRequest) -> int:
        return now.txn_timeout_ms


@defect("939.1", PROMISE)
class RetainedTimeoutReplaced(RetainingCoordinator):
    """A retained transaction gets the time-out of its new owner, who may lack two-phase commit (939.1)."""

    def retained_timeout(self, now: Transit, request: InitProducerIdRequest) -> int:
        return self.with_timeout(request).transaction_timeout_ms


@defect("939.2", PROMISE)
class KeepIsIgnored(RetainingCoordinator):
    """The coordinator aborts an open transaction although it is asked to retain it (939.2)."""

    def retain(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        self.terminate(message, metadata, request)


@defect("939.3", PROMISE)
class RetainsWithoutBump(RetainingCoordinator):
    """The coordinator answers with the transaction's pair and bumps nothing, so that its former owner can go on
    (939.3), as PR 22704 does ("asserts no log append")."""

    def retain(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        own = metadata.now.producer_id, metadata.now.producer_epoch
        self.answer_init_v6(message, ErrorCode.NONE, client_pair(metadata.now), own)


@defect("939.3", PROMISE)
class RetainsBeforeDurable(RetainingCoordinator):
    """The coordinator answers before the record of the second pair is durable (939.3)."""

    def retain(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        own = metadata.now.producer_id, metadata.now.producer_epoch
        self.answer_init_v6(message, ErrorCode.NONE, self.bumped_for_client(client_pair(metadata.now)), own)
        super().retain(message, metadata, request)

    def retained(self, message: Message, target: Transit, ok: bool) -> None:
        """This defect has sent the answer already."""


class WrongEpoch(TwoPhaseMarkers):
    """The markers of a retained transaction have the epoch of the client-facing pair (939.4)."""

    def marker_epoch(self, metadata: TransactionMetadata) -> int:
        return client_pair(metadata.now)[1]


@defect("939.4", PROGRESS, "after a rotation the marker's epoch is lower than the transaction's, and is always refused")
class MarkersOfTheClient(RetainingCoordinator):
    """The markers of a retained transaction have the epoch of the client-facing pair (939.4)."""

    markers_type = WrongEpoch


class UnbumpedMarkers(TwoPhaseMarkers):
    """The markers of a retained transaction have its own epoch, without the bump (939.4)."""

    def begin_completion(self, metadata: TransactionMetadata) -> MarkerRound:
        this_round = super().begin_completion(metadata)
        this_round.producer_epoch -= is_retained(metadata.now)
        return this_round


@defect("939.4", PROGRESS, "a marker of version 2 needs a higher epoch than the transaction's (KIP-1228)")
class MarkersWithoutBump(RetainingCoordinator):
    """The markers of a retained transaction have its own epoch, without the bump (939.4)."""

    markers_type = UnbumpedMarkers


@defect("939.5", PROMISE)
class OwnPairEnds(RetainingCoordinator):
    """The transaction's own pair ends it as well, which a fenced instance has (939.5)."""

    def end_result_v2(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        own = metadata.now.producer_id, metadata.now.producer_epoch
        if is_retained(metadata.now) and (request.producer_id, request.producer_epoch) == own:
            return PREPARES
        return super().end_result_v2(metadata, request)


@defect("939.6", PROMISE)
class EndBumpsOnce(RetainingCoordinator):
    """The end of a retained transaction leaves the client-facing pair as it is, so that a late copy of EndTxn ends the
    next transaction (939.6)."""

    def bumped_at_end(self, target: Transit) -> Transit:
        bumped = super().bumped_at_end(target)
        if not is_retained(target):
            return bumped
        producer_id, epoch = client_pair(target)
        return bumped._replace(next_producer_id=producer_id, next_producer_epoch=epoch)


@defect("939.18", PROGRESS, "the client whose answer was lost is fenced, and learns nothing of its commit")
class RotationForgetsTheClient(RetainingCoordinator):
    """After a rotation the coordinator knows the transaction's own id as the previous one, and not the client's, so
    that a repeated EndTxn is refused where three ids were in use (939.18)."""

    def previous_of_client(self, now: Transit, client: int) -> int:
        return now.producer_id


@defect("939.8", PROMISE)
class AnyEndIsASuccessMeanwhile(RetainingCoordinator):
    """While a transaction is preparing its end, every EndTxn is a success, whatever it asks for (939.8)."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        return ErrorCode.NONE if metadata.now.state in PREPARED else super().end_result(metadata, request)


@defect("939.18", PROGRESS, "the client gives up, although its transaction was ended as it asked")
class RepeatedEndIsFenced(RetainingCoordinator):
    """A repeated EndTxn is refused as one of a fenced producer (939.18)."""

    def is_end_retry(self, now: Transit, request: EndTxnRequest) -> bool:
        return False


@defect("939.3", PROMISE)
class SecondPairNotLoaded(RetainingCoordinator):
    """A coordinator that takes over does not read the second pair, so that the former owner is not fenced (939.3)."""

    def reads_second_epoch(self) -> bool:
        return False


# These are the defects of producers.


@defect("939.11", PROMISE)
class PreparesUnflushed(TwoPhaseProducer):
    """prepareTransaction() returns while records are on their way (939.11)."""

    def is_flushed(self) -> bool:
        return True


@defect("939.12", PROMISE)
class SendsAfterPrepared(TwoPhaseProducer):
    """The producer sends in a prepared transaction (939.12)."""

    def send(self, partition: int, count: int = 1) -> bool:
        if self.state is not State.PREPARED_TRANSACTION:
            return super().send(partition, count)
        self.sends.add(partition, *(self.env.next_record() for _ in range(count)))
        return True


@defect("939.15", PROMISE)
class CommitsAnyState(TwoPhaseProducer):
    """completeTransaction() commits whatever state it is given, if it is given one (939.15)."""

    def is_prepared_as(self, state: str) -> bool:
        return bool(state)


@defect("939.15", PROMISE)
class ComparesWithItsOwnPair(TwoPhaseProducer):
    """A recovered producer compares with its own pair, which is not that of the transaction (939.15)."""

    @property
    def prepared_state(self) -> str:
        state = super().prepared_state
        return f"{self.producer_id}:{self.epoch}" if state else state


@defect("939.2", PROGRESS, "a retained transaction stays open, and the client begins the next one in it")
class ForgetsWhatIsOngoing(TwoPhaseProducer):
    """A recovered producer ignores that there is an open transaction, and is ready (939.2)."""

    def init_answered(self, request: int, answer: InitProducerIdResponse | InitProducerIdResponseV6) -> None:
        super().init_answered(request, InitProducerIdResponseV6(*answer[:3]))


@defect("939.15", PROMISE)
class EmptyHasAState(TwoPhaseProducer):
    """A transaction without records has a prepared state, which is that of the next one too (939.15)."""

    def states_empty(self) -> bool:
        return True


# These are the defects of applications and stores.


@defect("939.14", PROMISE)
class StoreTakesAll(Store):
    """The store takes a decision from every instance (939.14)."""

    def takes(self, claim: int) -> bool:
        return True


@defect("939.14", PROMISE)
class ClaimsLate(Application):
    """An instance claims the store when it reads or decides, by when it may have been fenced (939.14)."""

    def claim_store(self) -> None:
        """This defect claims later."""

    def read_store(self) -> bool:
        if self.found is None and self.may_read():
            super().claim_store()
        return super().read_store()

    def decide(self, commit: bool) -> bool:
        if self.claim < 0:
            super().claim_store()
        return super().decide(commit)


@defect("939.14", PROMISE)
class ReadsEarly(Application):
    """An instance reads the store when it claims it, before it knows what is open (939.14)."""

    early: Decision | None = None

    def claim_store(self) -> None:
        super().claim_store()
        self.early = self.store.read(self.claim)

    def complete(self) -> bool:
        self.found = self.early if self.producer.txn < 0 else self.found
        return super().complete()


# In the model a decision to abort is read by none but the owner that made it, so that it need not be in the store.
@defect("939.15", NOTHING, "no decision is an abort as well", harmless=("retained", "939.15", ""))
class AbortsAreNotWritten(Application):
    """An application does not write a decision to abort, as the KIP's recipe does not (939.15)."""

    def decide(self, commit: bool) -> bool:
        if commit or self.producer.txn < 0 or not self.producer.prepared_state or self.decided is not None:
            return super().decide(commit)
        self.decided = Decision(self.producer.prepared_state, 0)
        return True


REGISTRY = registry(Parts, build, __name__)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
