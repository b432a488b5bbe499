"""Producers, readers and admins with one thing wrong each. `broken.py` says what each of them breaks."""

from fencepost.reference_impl.simulation import Node
from fencepost.reference_impl.transactions.clients.admin import Admin
from fencepost.reference_impl.transactions.clients.client_errors import Verdict
from fencepost.reference_impl.transactions.clients.consumer import AbortedQueue, Reader
from fencepost.reference_impl.transactions.clients.coordinator_call import NONE, CoordinatorCall
from fencepost.reference_impl.transactions.clients.producer import COMPLETING, Producer
from fencepost.reference_impl.transactions.clients.sends import Lane, Sends
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import (
    AddPartitionsToTxnResponse,
    Batch,
    EndTxnResponse,
    InitProducerIdResponse,
    ResponseBody,
)

FENCED = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


class ComesBack(Producer):
    """Not used by itself: initialises again where it should fail for good."""

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
        """Nothing: go on from the pair at hand."""


class InvalidMappingRecoverable(ComesBack):
    """An unknown transactional id is a reason to initialise again, with the pair at hand (F21, B16: KIP-360)."""

    forgiven = (ErrorCode.INVALID_PRODUCER_ID_MAPPING,)


class FencedContinues(ComesBack):
    """A fenced producer asks for a new epoch by itself, and thereby fences its successor (txn.1)."""

    forgiven = FENCED

    def forget_pair(self) -> None:
        self.producer_id = self.epoch = NONE


class SequenceReused(Sends):
    """Every record of an epoch has the same sequence number."""

    def next_sequence(self, lane: Lane) -> int:
        return min(super().next_sequence(lane), 0)


class RetryIsNumberedAnew(Sends):
    """A batch that is sent again takes the next sequence number."""

    def time_out(self, number: int) -> None:
        batch = self.waiting.get(number)
        if batch is not None:
            batch.sequence = self.next_sequence(self.lanes[batch.partition])
        super().time_out(number)


class SixInFlight(Sends):
    """One batch more in flight than the leader remembers (txn.14)."""

    max_in_flight = 6


class ReusesSequence(Producer):
    """A producer with `SequenceReused`."""

    sends_class = SequenceReused


class NumbersRetriesAnew(Producer):
    """A producer with `RetryIsNumberedAnew`."""

    sends_class = RetryIsNumberedAnew


class SendsSix(Producer):
    """A producer with `SixInFlight`."""

    sends_class = SixInFlight


class CommitsEarly(Producer):
    """EndTxn leaves while records are still without an answer."""

    def go_on(self) -> None:
        if self.started and self.state in COMPLETING and not self.call.outstanding and not self.to_add:
            self.sends.drop_unsent()
            self.sends.forget_in_flight()
        super().go_on()


class ProducesBeforeAdd(Producer):
    """Records leave before the coordinator has their partition (txn.6)."""

    def may_send_to(self, partition: int) -> bool:
        return True


class AbortKeepsEpoch(Producer):
    """After an abort with records in doubt the producer goes on under the same epoch (txn.2: before KIP-360)."""

    def require_epoch_bump(self) -> None:
        """Never."""


class TakesOlderAnswers(CoordinatorCall):
    """The answer to an older request of the same kind counts for the one that is outstanding."""

    ANSWERS = (("init", InitProducerIdResponse), ("add", AddPartitionsToTxnResponse), ("end", EndTxnResponse))

    def answer(self, body: ResponseBody) -> None:
        question = self.question
        if question is not None and (question.kind, type(body.data)) in self.ANSWERS:
            question.told(body.number, body.data)


class BelievesOlderAnswers(Producer):
    """A producer with `TakesOlderAnswers`."""

    def __init__(self, env: Environment, slot: int, txn_id: int | None = None) -> None:
        super().__init__(env, slot, txn_id)
        node: Node = self
        self.call = TakesOlderAnswers(env, node)


class PopsWrongEntry(Reader):
    """An abort marker of a producer that is not being skipped ends someone else's aborted range (librdkafka 3369)."""

    def abort_ends(self, marker: Batch, queue: AbortedQueue, aborted_producers: set[int]) -> None:
        if marker.producer_id not in aborted_producers and queue:
            queue.popleft()
        super().abort_ends(marker, queue, aborted_producers)


class SkipsForEver(Reader):
    """Once aborted, a producer's records are skipped to the end of the fetch (txn.17)."""

    def abort_ends(self, marker: Batch, queue: AbortedQueue, aborted_producers: set[int]) -> None:
        """The range has no end."""


class TakesErrorsForFenced(Admin):
    """Any answer to fenceProducers is taken for success, "try again" included (618.12)."""

    retried: frozenset[int] = frozenset()

    def final_error(self, error: int) -> int:
        return 0


class GivesUpFencing(Admin):
    """The wish to be asked again is taken for a failure (618.12)."""

    retried: frozenset[int] = frozenset()
