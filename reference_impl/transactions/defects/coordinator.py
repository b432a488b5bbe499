"""Coordinators with one thing wrong each about producers and partitions. `broken.py` says what each of them breaks."""

from collections.abc import Callable
from functools import partial

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator, Done
from fencepost.reference_impl.transactions.brokers.states import (
    TransactionMetadata,
    TransactionState,
    Transit,
)
from fencepost.reference_impl.transactions.brokers.transitions import Transitions
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import AddPartitionsToTxnRequest, InitProducerIdRequest


class InitKeepsEpoch(Coordinator):
    """InitProducerId hands out the epoch that there is (F01)."""

    def bumped(self, now: Transit) -> int:
        return max(now.producer_epoch, 0)


class IdleIdsNotFenced(Coordinator):
    """An admin that fences an id without a transaction gets the pair that there is: nobody is writing (txn.22).

    Its request is known by its time-out, which is that of a request.
    """

    def renew(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        now = metadata.now
        by_an_admin = request.transaction_timeout_ms == self.env.config.request_timeout_ms
        if by_an_admin and now.producer_epoch >= 0:
            self.answer_init(message, ErrorCode.NONE, now.producer_id, now.producer_epoch)
            return
        super().renew(message, metadata, request)


class InitTakesNewId(Coordinator):
    """InitProducerId hands out another producer id whenever the broker has one at hand, as if the epochs were used up
    (txn.1).

    So does librdkafka's mock cluster, which does not even abort what is open.
    """

    def next_pair(self, now: Transit, request: InitProducerIdRequest) -> tuple[int, int, int] | None:
        pair = super().next_pair(now, request)
        if pair is None or now.producer_epoch < 0 or pair[:2] == (now.producer_id, now.producer_epoch):
            return pair
        return (self.env.next_producer_id(), 0, pair[2]) if self.env.has_producer_id() else pair


class InitLeavesTransactionOpen(Coordinator):
    """InitProducerId bumps, but does not end the open transaction (F02)."""

    def receive_init(self, message: Message) -> None:
        request: InitProducerIdRequest = message.body.data
        metadata = self.find(request.transactional_id)
        if metadata is not None and metadata.pending_state is None and metadata.now.state == TransactionState.ONGOING:
            metadata.now = metadata.now._replace(state=TransactionState.EMPTY, topic_partitions=frozenset())
        super().receive_init(message)


class InitAnswersBeforeCompletion(Coordinator):
    """InitProducerId succeeds as soon as the abort of the open transaction is recorded (F04)."""

    def answer_fenced(self, message: Message, metadata: TransactionMetadata, error: int) -> None:
        if error:
            super().answer_fenced(message, metadata, error)
        else:
            self.answer_init(message, ErrorCode.NONE, metadata.now.producer_id, metadata.now.producer_epoch)


class InitRetryIsFenced(Coordinator):
    """InitProducerId does not know a repeated request (txn.2)."""

    def is_init_retry(self, now: Transit, request: InitProducerIdRequest) -> bool:
        return False


class ExhaustedOneLate(Coordinator):
    """Takes the reserved epoch for one more to hand out (B13)."""

    def is_exhausted(self, epoch: int) -> bool:
        return epoch >= self.env.config.max_epoch


class OverwritingTransitions(Transitions):
    """The partitions that an append adds are all that there are."""

    def write(
        self, metadata: TransactionMetadata, target: Transit, done: Callable[[bool], object], keep_pending: bool = False
    ) -> None:
        if target.state == TransactionState.ONGOING:
            fresh = target.topic_partitions - metadata.now.topic_partitions
            target = target._replace(topic_partitions=fresh)
        super().write(metadata, target, done, keep_pending)

    def verify_completion(self, metadata: TransactionMetadata, target: Transit) -> None:
        """Kafka's sanity check would stop this defect with a crash."""


class AddOverwrites(Coordinator):
    """AddPartitions replaces the partitions of the transaction."""

    transitions_type = OverwritingTransitions


class AddTakesOlderEpoch(Coordinator):
    """AddPartitions does not look at the epoch (txn.6)."""

    def add(self, request: AddPartitionsToTxnRequest, answer: Done) -> None:
        metadata = self.find(request.transactional_id)
        if metadata is not None:
            request = request._replace(producer_epoch=metadata.now.producer_epoch)
        super().add(request, answer)


class VerifiesAnyPartition(Coordinator):
    """A leader's question is answered yes for any partition, if only the pair is right (txn.15)."""

    def is_in_transaction(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> bool:
        return True


class TimeOutKeepsEpoch(Coordinator):
    """A transaction whose time is up is aborted without fencing its producer (B05)."""

    bump_on_fence = True

    def abort_timed_out(self, _: object) -> None:
        self.bump_on_fence = False
        super().abort_timed_out(_)
        self.bump_on_fence = True

    def fenced_epoch(self, metadata: TransactionMetadata) -> int:
        return super().fenced_epoch(metadata) if self.bump_on_fence else metadata.now.producer_epoch


class FailedFenceBumpsAgain(Coordinator):
    """A fence whose append failed is not remembered (txn.18)."""

    def fence_written(self, metadata: TransactionMetadata, done: Done, error: int, _: Transit | None = None) -> None:
        done(error)


class OpenIdsExpire(Coordinator):
    """An id expires by the time of its last change alone, open transaction or not (txn.20)."""

    def expire_idle(self, _: object) -> None:
        oldest_ms = self.env.now_ms - self.env.config.expiration_ms
        for metadata in list(self.transactions.values()):
            open_and_old = metadata.now.state == TransactionState.ONGOING
            open_and_old &= metadata.now.txn_last_update_timestamp <= oldest_ms
            if metadata.pending_state is None and open_and_old:
                metadata.pending_state = TransactionState.DEAD
                self.transitions.write_tombstone(metadata, partial(self.expired, metadata))
        super().expire_idle(_)
