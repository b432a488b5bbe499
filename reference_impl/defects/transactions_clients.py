"""This module has the defects of transactions in clients."""

from collections.abc import Iterable

from fencepost.reference_impl.defects.transactions_partitions import ABORTS_MORE
from fencepost.reference_impl.kafka.clients.admin import Admin
from fencepost.reference_impl.kafka.clients.consumer import AbortedQueue, Reader
from fencepost.reference_impl.kafka.clients.producer import (
    COMPLETING,
    IdempotentProducer,
    IdempotentSends,
    Producer,
    State,
)
from fencepost.reference_impl.kafka.clients.roles import Fetchable
from fencepost.reference_impl.kafka.clients.sends import NONE, CoordinatorCall, Lane, Sends, SentBatch
from fencepost.reference_impl.kafka.environment import Environment
from fencepost.reference_impl.kafka.errors import ErrorCode, Verdict
from fencepost.reference_impl.kafka.messages import (
    AddPartitionsToTxnResponse,
    Batch,
    EndTxnResponse,
    InitProducerIdResponse,
    ResponseBody,
)
from fencepost.reference_impl.simulation import Node
from fencepost.reference_impl.simulation.defects import CONFORMANCE, PROGRESS, PROMISE, defect

FENCED = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


# clients
class ComesBack(Producer):
    """This base class for defects initialises the producer again where it should fail for good."""

    forgiven: tuple[int, ...] = ()

    def fail(self, verdict: Verdict, error: int) -> None:
        if verdict is not Verdict.FATAL or error not in self.forgiven:
            super().fail(verdict, error)
            return
        self.call.finish()
        self.sends.drop_unsent()
        self.sends.forget_in_flight()
        self.to_add.clear()
        self.added.clear()
        self.started = False
        self.forget_pair()
        self.initialize()

    def forget_pair(self) -> None:
        """The producer goes on from its current pair."""


@defect("txn.20", PROMISE)
class InvalidMappingRecoverable(ComesBack):
    """The producer initialises again when its id is unknown, with its pair (F21, B16: KIP-360)."""

    forgiven = (ErrorCode.INVALID_PRODUCER_ID_MAPPING,)


@defect("txn.1", PROMISE)
class FencedContinues(ComesBack):
    """A fenced producer asks for a new epoch by itself, and thereby fences its successor (txn.1)."""

    forgiven = FENCED

    def forget_pair(self) -> None:
        self.producer_id = self.epoch = NONE


class SequenceReusedSends(Sends):
    """Every record of an epoch has the same sequence number."""

    def next_sequence(self, lane: Lane) -> int:
        return min(super().next_sequence(lane), 0)


@defect("txn.13", PROMISE)
class SequenceReused(Producer):
    """The producer gives every record of an epoch the same sequence number (txn.13)."""

    sends_class = SequenceReusedSends


class RetryIsNumberedAnew(Sends):
    """A batch that is sent again takes the next sequence number."""

    def time_out(self, number: int) -> None:
        batch = self.waiting.get(number)
        if batch is not None:
            batch.sequence = self.next_sequence(self.lanes[batch.partition])
        super().time_out(number)


@defect("txn.14", PROMISE)
class RetryNumberedAnew(Producer):
    """The producer gives a batch that it sends again a new sequence number (txn.14)."""

    sends_class = RetryIsNumberedAnew


class SixInFlightSends(Sends):
    """Six batches may be in flight, one more than the leader remembers (txn.14)."""

    max_in_flight = 6


@defect("txn.14", CONFORMANCE, ABORTS_MORE)
class SixInFlight(Producer):
    """The producer has up to six batches in flight, one more than the leader remembers (txn.14)."""

    sends_class = SixInFlightSends


@defect("txn.8", PROMISE)
class CommitsEarly(Producer):
    """The producer sends EndTxn while records are still unanswered."""

    def go_on(self) -> None:
        if self.started and self.state in COMPLETING and not self.call.outstanding and not self.to_add:
            self.sends.drop_unsent()
            self.sends.forget_in_flight()
        super().go_on()


@defect("txn.6", PROMISE, mode="v1")
class ProducesBeforeAdd(Producer):
    """The producer sends records before the coordinator has added their partition (txn.6)."""

    def may_send_to(self, partition: int) -> bool:
        return True


@defect("txn.2", PROMISE, mode="v1-verified")
class AbortKeepsEpoch(Producer):
    """After an abort with unanswered records the producer goes on under the same epoch (txn.2: before KIP-360)."""

    def require_epoch_bump(self) -> None:
        """This producer never requires an epoch bump."""


class TakesOlderAnswers(CoordinatorCall):
    """An answer to an older request of the same kind counts for the outstanding request."""

    ANSWERS = (("init", InitProducerIdResponse), ("add", AddPartitionsToTxnResponse), ("end", EndTxnResponse))

    def answer(self, body: ResponseBody) -> None:
        question = self.question
        if question is not None and (question.kind, type(body.data)) in self.ANSWERS:
            question.answered(body.number, body.data)


@defect("txn.8", PROMISE)
class OlderAnswersTaken(Producer):
    """The producer takes the answer to an older request for that to its outstanding one (txn.8)."""

    def __init__(self, env: Environment, slot: int, txn_id: int | None = None) -> None:
        super().__init__(env, slot, txn_id)
        node: Node = self
        self.call = TakesOlderAnswers(env, node)


@defect("txn.17", PROMISE)
class ReaderPopsWrongEntry(Reader):
    """An abort marker of a producer that is not skipped ends another's aborted range (librdkafka 3369)."""

    def abort_ends(self, marker: Batch, queue: AbortedQueue, aborted_producers: set[int]) -> None:
        if marker.producer_id not in aborted_producers and queue:
            queue.popleft()
        super().abort_ends(marker, queue, aborted_producers)


@defect("txn.17", PROMISE)
class ReaderSkipsForEver(Reader):
    """Once a producer has aborted, the reader skips its records to the end of the fetch (txn.17)."""

    def abort_ends(self, marker: Batch, queue: AbortedQueue, aborted_producers: set[int]) -> None:
        """An abort marker does not end the aborted range."""


@defect("618.12", PROMISE)
class FenceTakesAnyAnswer(Admin):
    """The admin takes any answer to fenceProducers for success, including retriable errors (618.12)."""

    retried: frozenset[int] = frozenset()

    def final_error(self, error: int) -> int:
        return 0


@defect("618.12", CONFORMANCE)
class FenceGivesUp(Admin):
    """The admin takes a retriable error for a failure (618.12)."""

    retried: frozenset[int] = frozenset()


# positions of readers
@defect("txn.17", PROMISE)
class ReaderPositionByCount(Reader):
    """The reader advances by the number of records it got, though markers have offsets too (txn.17)."""

    def read(self, log: Fetchable, committed: bool, offset: int = 0) -> list[tuple[int, int]]:
        position = self.positions.get((log.partition, committed), offset)
        found = super().read(log, committed, offset)
        self.positions[log.partition, committed] = position + len(found)
        return found


# clients that never make progress again
class RenumbersTheLatestLane(Sends):
    """A new epoch restarts the sequence numbers of the partition that was written to last, and of no other."""

    latest = NONE

    def transmit(self, batch: SentBatch) -> None:
        self.latest = batch.partition
        super().transmit(batch)

    def reset_sequences(self) -> None:
        if self.latest in self.lanes:
            self.lanes[self.latest].next_sequence = 0


@defect("txn.13", PROGRESS)
class RenumbersTheLatestPartition(Producer):
    """A new epoch restarts sequence numbers only for the last partition written to (txn.13)."""

    sends_class = RenumbersTheLatestLane


class NumbersGoOnSends(Sends):
    """A new epoch restarts no sequence numbers (txn.13)."""

    def reset_sequences(self) -> None:
        """The sequence numbers go on."""


@defect("txn.13", PROGRESS)
class NumbersGoOn(Producer):
    """The producer does not restart its sequence numbers under a new epoch (txn.13)."""

    sends_class = NumbersGoOnSends


class LostBatchesStayLostSends(Sends):
    """A batch without an answer is waited for, and not sent again."""

    def time_out(self, number: int) -> None:
        """The batch stays in flight, as its answer may still come."""


@defect("txn.14", PROGRESS)
class LostBatchesStayLost(Producer):
    """The producer waits for the answer to a lost batch for ever and does not send it again (txn.14)."""

    sends_class = LostBatchesStayLostSends


class SleepsWhileOthersAreAddedSends(Sends):
    """Before v2, records wait until the last queued partition is added, not only their own."""

    def move(self, partition: int) -> None:
        sender = self.sender
        if not (isinstance(sender, SleepsWhileOthersAreAdded) and sender.to_add and sender.is_adding):
            super().move(partition)


@defect("txn.6", PROGRESS, mode="v1")
class SleepsWhileOthersAreAdded(Producer):
    """The producer sends nothing to an added partition until the last queued partition is added (txn.6)."""

    sends_class = SleepsWhileOthersAreAddedSends
    is_adding = False

    def add_answered(self, request: int, answer: AddPartitionsToTxnResponse) -> None:
        self.is_adding = True
        super().add_answered(request, answer)
        self.is_adding = False


class ForgetsItsTimeOut(CoordinatorCall):
    """A request without an answer is not repeated, although a request with a retriable error is."""

    def _send_if(self, attempt: int) -> None:
        if self.number == NONE:
            super()._send_if(attempt)


@defect("txn.2", PROGRESS)
class CoordinatorAskedOnce(Producer):
    """The producer does not repeat a request to the coordinator that gets no answer (txn.2)."""

    def __init__(self, env: Environment, slot: int, txn_id: int | None = None) -> None:
        super().__init__(env, slot, txn_id)
        node: Node = self
        self.call = ForgetsItsTimeOut(env, node)


class BackOffIsNotSet(CoordinatorCall):
    """A retriable error cancels the time-out of the request, and no back-off timer replaces it."""

    def retry(self, backoff_us: int) -> None:
        self._attempt += 1
        self.number = NONE


@defect("txn.5", PROGRESS)
class BackOffNotSet(Producer):
    """The producer does not repeat a request to the coordinator after a retriable error (txn.5)."""

    def __init__(self, env: Environment, slot: int, txn_id: int | None = None) -> None:
        super().__init__(env, slot, txn_id)
        node: Node = self
        self.call = BackOffIsNotSet(env, node)


@defect("txn.2", PROGRESS)
class WaitsAfterAnAbort(Producer):
    """After an abort the producer waits for an epoch that it already has or never asks for (txn.2)."""

    def end_transaction(self) -> None:
        aborting = self.state is State.ABORTING_TRANSACTION
        super().end_transaction()
        if aborting and self.state is State.READY:
            self.state = State.INITIALIZING


@defect("txn.2", PROGRESS)
class LatchOpensOnce(Producer):
    """The producer begins no transaction after its first commit, whose latch it waits on for ever."""

    commits = 0

    def end_transaction(self) -> None:
        self.commits += self.state is State.COMMITTING_TRANSACTION
        super().end_transaction()

    def begin(self) -> bool:
        return not self.commits and super().begin()


class Renumbering(IdempotentSends):
    """This base class for defects raises the epoch at once and renumbers the batches in flight."""

    def renumber(self, lanes: Iterable[Lane]) -> None:
        """Send the batches in flight of these lanes again, numbered from 0 under the next epoch."""
        self.sender.epoch += 1
        self.reset_sequences()
        for lane in lanes:
            for batch in lane.in_flight:
                batch.sequence = self.next_sequence(lane)
                self.number_records(lane, batch)
                self.waiting.pop(batch.request, None)
                self.transmit(batch)


class RefusedIsRenumbered(Renumbering):
    """A batch that is refused as out of order is renumbered as if never written (KAFKA-14034)."""

    def failed(self, batch: SentBatch, verdict: Verdict, error: int) -> None:
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self.renumber([self.lanes[batch.partition]])
        else:
            super().failed(batch, verdict, error)


class AllIsRenumbered(Renumbering):
    """A batch that is refused because an earlier one is missing makes all partitions' batches be sent again."""

    def verdict(self, batch: SentBatch, error: int) -> Verdict:
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return Verdict.ABORTABLE
        return super().verdict(batch, error)

    def failed(self, batch: SentBatch, verdict: Verdict, error: int) -> None:
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self.renumber(self.lanes.values())
        else:
            super().failed(batch, verdict, error)


class RenumbersRefused(IdempotentProducer):
    """The producer renumbers and resends a batch that is refused as out of order (KAFKA-14034)."""

    sends_class = RefusedIsRenumbered


class RenumbersAll(IdempotentProducer):
    """The producer resends the batches of all partitions when one refuses a batch as out of order."""

    sends_class = AllIsRenumbered
