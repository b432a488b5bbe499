"""Coordinators that take another's request for a retry, or a retry for another's request.

`broken.py` says what each of them breaks.
"""

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator, Done
from fencepost.reference_impl.transactions.brokers.end_results import PREPARES
from fencepost.reference_impl.transactions.brokers.states import (
    IDLE,
    PREPARED,
    TransactionMetadata,
    TransactionState,
    Transit,
)
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)

# InitProducerId with the pair at hand


class ZombieInitIsRenewed(Coordinator):
    """InitProducerId with an expected pair looks at the producer id and not at the epoch (txn.2, KIP-360).

    A producer that was fenced long ago gets the next epoch, and fences its successor.
    """

    def next_pair(self, now: Transit, request: InitProducerIdRequest) -> tuple[int, int, int] | None:
        if request.producer_id == now.producer_id and not self.is_init_retry(now, request):
            request = request._replace(producer_epoch=now.producer_epoch)
        return super().next_pair(now, request)


class InitRetryByArithmetic(Coordinator):
    """The epoch before the present one is taken for the one that was bumped for the same producer (txn.2).

    It was bumped for another: the one that is fenced by it is told its successor's pair.
    """

    def is_init_retry(self, now: Transit, request: InitProducerIdRequest) -> bool:
        one_before = (now.producer_id, now.producer_epoch - 1)
        return super().is_init_retry(now, request) or (request.producer_id, request.producer_epoch) == one_before


# AddPartitionsToTxn


class AddedToWhatIsEnding(Coordinator):
    """A partition that is in the transaction already needs no other check: not even whether that is ending (txn.5).

    Before version 2 the next transaction has the same pair: it is told "there already" of a transaction that is over.
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


# EndTxn


class AbortOfNothingKeepsEpoch(Coordinator):
    """The abort of a transaction that the coordinator has not heard of is answered at once, without a bump (txn.9).

    A batch of that transaction that is still on its way is then one of the next transaction, which has its epoch.
    """

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        result = super().end_result(metadata, request)
        idle = metadata.now.state in IDLE and not request.committed
        return ErrorCode.NONE if idle and result == PREPARES else result


class AbortOfTheFencedIsARetry(Coordinator):
    """The abort of an epoch that InitProducerId has replaced is taken for a retry of the end before (txn.7).

    The one that was fenced, and had nothing open, is told its successor's pair.
    """

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        result = super().end_result(metadata, request)
        fresh = metadata.now.state == TransactionState.EMPTY and self.is_end_retry(metadata.now, request)
        return ErrorCode.NONE if fresh and not request.committed and result == ErrorCode.PRODUCER_FENCED else result


class AnyOlderEndIsARetry(Coordinator):
    """Every epoch below the present one is that of an end that is repeated (txn.7)."""

    def is_end_retry(self, now: Transit, request: EndTxnRequest) -> bool:
        older = request.producer_id == now.producer_id and request.producer_epoch < now.producer_epoch
        return older or super().is_end_retry(now, request)


class EndRetryForgetsRotation(Coordinator):
    """A repeated EndTxn is known by the epoch alone: not where the end has brought another producer id (txn.7)."""

    def is_end_retry(self, now: Transit, request: EndTxnRequest) -> bool:
        return request.producer_id == now.producer_id and super().is_end_retry(now, request)


class EndRetryToldTheOldPair(Coordinator):
    """A repeated EndTxn is answered with success and the pair that it names (txn.9)."""

    def answer_end(self, message: Message, error: int, now: Transit | None = None) -> None:
        request: EndTxnRequest = message.body.data
        metadata = self.find(request.transactional_id)
        if metadata is not None and now is metadata.now and self.is_end_retry(now, request):
            now = now._replace(producer_id=request.producer_id, producer_epoch=request.producer_epoch)
        super().answer_end(message, error, now)
