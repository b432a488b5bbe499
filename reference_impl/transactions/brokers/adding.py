"""Which partitions a transaction has: AddPartitionsToTxn and AddOffsetsToTxn of clients, and the questions of leaders.

A transaction begins with its first partition. Only the exact producer id and epoch may add (txn.6).
"""

from functools import partial

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.coordinator_base import Done
from fencepost.reference_impl.transactions.brokers.states import (
    PREPARED,
    TransactionMetadata,
    TransactionState,
)
from fencepost.reference_impl.transactions.brokers.timing import TransactionTiming
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.events import Kind
from fencepost.reference_impl.transactions.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)


class PartitionAdding(TransactionTiming):
    """Adds partitions and verifies them."""

    __slots__ = ()

    def receive_add(self, message: Message) -> None:
        """A client adds a partition, or the offsets partition of a group (txn.6)."""
        request: AddPartitionsToTxnRequest | AddOffsetsToTxnRequest = message.body.data
        partition = self.partition_of(request)
        producer = request.transactional_id, request.producer_id, request.producer_epoch
        asked = AddPartitionsToTxnRequest(*producer, partition)
        if 0 <= partition < self.env.config.all_partitions:
            self.add(asked, partial(self.answer_add, message, asked))
        else:
            self.answer_add(message, asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def partition_of(self, request: AddPartitionsToTxnRequest | AddOffsetsToTxnRequest) -> int:
        """The partition meant; offsets partitions are numbered behind the data partitions, one per group."""
        if isinstance(request, AddPartitionsToTxnRequest):
            return request.partition
        return self.env.config.partitions + request.group_id

    def receive_check(self, message: Message) -> None:
        """A leader asks whether a producer may write: v1-verified only looks, v2 adds the partition (txn.15)."""
        request: AddPartitionsToTxnRequest = message.body.data
        if request.verify_only:
            self.answer_check(message, self.verify(request))
        else:
            self.add(request, partial(self.answer_check, message))

    def add(self, request: AddPartitionsToTxnRequest, answer: Done) -> None:
        """Make the partition part of the transaction, which begins with its first one."""
        error = self.unavailable(request.transactional_id)
        metadata = self.find(request.transactional_id)
        if error or metadata is None:
            answer(error or ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            return
        error = self.add_refused(metadata, request)
        now = metadata.now
        begun = now.state == TransactionState.ONGOING
        if error or (begun and request.partition in now.topic_partitions):
            answer(error)
            return
        target = now._replace(
            state=TransactionState.ONGOING,
            topic_partitions=now.topic_partitions | {request.partition},
            txn_start_timestamp=now.txn_start_timestamp if begun else self.env.now_ms,
            txn_last_update_timestamp=self.env.now_ms,
        )
        metadata.prepare(target.state)
        self.write(metadata, target, partial(self.added, answer))

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        """The error for adding a partition now; 0 for none (txn.5, txn.6)."""
        pending = metadata.pending_state is not None
        if pending and self.checks_pending_before_epoch():
            return ErrorCode.CONCURRENT_TRANSACTIONS
        error = self.exact_pair_error(metadata, request.producer_id, request.producer_epoch)
        waits = pending or metadata.now.state in PREPARED
        return error or (ErrorCode.CONCURRENT_TRANSACTIONS if waits else ErrorCode.NONE)

    def added(self, answer: Done, ok: bool) -> None:
        """The transaction has the partition, or nothing happened."""
        if ok:
            self.watch_open()
        answer(ErrorCode.NONE if ok else ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def verify(self, request: AddPartitionsToTxnRequest) -> int:
        """Whether the partition is in the producer's open transaction; what is pending is not looked at (txn.15)."""
        error = self.unavailable(request.transactional_id)
        metadata = self.find(request.transactional_id)
        if error or metadata is None:
            return error or ErrorCode.INVALID_PRODUCER_ID_MAPPING
        error = self.exact_pair_error(metadata, request.producer_id, request.producer_epoch)
        if error:
            return error
        if metadata.now.state in PREPARED:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        return ErrorCode.NONE if self.is_in_transaction(metadata, request) else ErrorCode.TRANSACTION_ABORTABLE

    def is_in_transaction(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> bool:
        """Only an open transaction has partitions: a completed one has given them up."""
        return request.partition in metadata.now.topic_partitions

    def answer_add(self, message: Message, asked: AddPartitionsToTxnRequest, error: int) -> None:
        """Answer a client."""
        self.env.emit(
            Kind.ADD_HANDLED, node=self.node_id, txn_id=asked.transactional_id, request=message.body.number,
            partition=asked.partition, producer_id=asked.producer_id, epoch=asked.producer_epoch, error=error,
        )  # fmt: skip
        self.reply(message, AddPartitionsToTxnResponse(error))

    def answer_check(self, message: Message, error: int) -> None:
        """Answer a leader."""
        request: AddPartitionsToTxnRequest = message.body.data
        self.env.emit(
            Kind.PARTITION_CHECKED, node=self.node_id, txn_id=request.transactional_id, partition=request.partition,
            producer_id=request.producer_id, epoch=request.producer_epoch, request=message.body.number, error=error,
        )  # fmt: skip
        self.reply(message, AddPartitionsToTxnResponse(error))
