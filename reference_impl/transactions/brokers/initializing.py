"""Who may write under a transactional id: InitProducerId, in all its cases (KIP-98, KIP-360, KIP-890).

A new instance gets a new epoch and thereby fences every older one; a producer that wants its own epoch bumped names
the pair it holds. An open transaction is ended first.
"""

from functools import partial

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.adding import PartitionAdding
from fencepost.reference_impl.transactions.brokers.states import (
    PREPARED,
    TransactionMetadata,
    TransactionState,
    Transit,
    new_transit,
)
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.events import Kind
from fencepost.reference_impl.transactions.messages import InitProducerIdRequest, InitProducerIdResponse

TRANSACTION_VERSIONS = {"v1": 0, "v1-verified": 1, "v2": 2}


class ProducerInitializing(PartitionAdding):
    """Hands out producer ids and epochs."""

    __slots__ = ()

    def receive_init(self, message: Message) -> None:
        """InitProducerId, in Kafka's order of checks; answered after the log append, if there is one."""
        request: InitProducerIdRequest = message.body.data
        if request.transactional_id < 0:
            self.answer_init(message, *self.init_without_transactional_id(request))
            return
        error = self.init_refused(request) or self.unavailable(request.transactional_id)
        if error:
            self.answer_init(message, error)
            return
        metadata = self.find_or_create(request)
        error = self.init_must_wait(metadata) or self.init_fenced(metadata, request)
        if error:
            self.answer_init(message, error)
        elif metadata.now.state == TransactionState.ONGOING:
            self.fence_and_abort(metadata, partial(self.answer_fenced, message, metadata))
        else:
            self.renew(message, metadata, request)

    def init_without_transactional_id(self, request: InitProducerIdRequest) -> tuple[int, ...]:
        """For an idempotent producer: a fresh id at epoch 0, of which the coordinator remembers nothing."""
        if request.transactional_id in self.env.without_write:
            return (ErrorCode.CLUSTER_AUTHORIZATION_FAILED,)
        error = self.half_a_pair(request)
        return (error,) if error else (ErrorCode.NONE, self.env.next_producer_id(), 0)

    def init_refused(self, request: InitProducerIdRequest) -> int:
        """The error for a request that is wrong in itself; 0 for none."""
        if request.transactional_id in self.env.without_write:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if error := self.half_a_pair(request):
            return error
        in_range = 0 < request.transaction_timeout_ms <= self.env.config.max_transaction_timeout_ms
        return ErrorCode.NONE if in_range else ErrorCode.INVALID_TRANSACTION_TIMEOUT

    def half_a_pair(self, request: InitProducerIdRequest) -> int:
        """42 if only one of producer id and epoch is given."""
        half = (request.producer_id == -1) != (request.producer_epoch == -1)
        return ErrorCode.INVALID_REQUEST if half else ErrorCode.NONE

    def find_or_create(self, request: InitProducerIdRequest) -> TransactionMetadata:
        """An unknown transactional id gets a producer id, and is known from now on, though not recorded yet."""
        metadata = self.find(request.transactional_id)
        if metadata is None:
            version = TRANSACTION_VERSIONS[self.env.config.mode]
            transit = new_transit(self.env.next_producer_id(), request.transaction_timeout_ms, self.env.now_ms, version)
            metadata = self.transactions[request.transactional_id] = TransactionMetadata(
                request.transactional_id, transit
            )
            self.watch_idle()
        return metadata

    def init_must_wait(self, metadata: TransactionMetadata) -> int:
        """51 while a transition is pending, or a transaction is being completed (txn.3, txn.5)."""
        waits = metadata.pending_state is not None or metadata.now.state in PREPARED
        return ErrorCode.CONCURRENT_TRANSACTIONS if waits else ErrorCode.NONE

    def init_fenced(self, metadata: TransactionMetadata, request: InitProducerIdRequest) -> int:
        """90 for a producer whose expected pair belongs to the past (KIP-360); an id without epoch takes any."""
        now = metadata.now
        if request.producer_id == -1 or now.producer_epoch == -1 or request.producer_id == now.producer_id:
            return ErrorCode.NONE
        rotated = request.producer_id == now.previous_producer_id and self.is_exhausted(request.producer_epoch)
        return ErrorCode.NONE if rotated else ErrorCode.PRODUCER_FENCED

    def renew(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        """From an idle state: the next pair, recorded and handed out."""
        pair = self.next_pair(metadata.now, request)
        if pair is None:
            self.answer_init(message, ErrorCode.PRODUCER_FENCED)
            return
        producer_id, epoch, last_epoch = pair
        now = metadata.now
        rotated = producer_id != now.producer_id
        target = now._replace(
            state=TransactionState.EMPTY,
            producer_id=producer_id,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            previous_producer_id=now.producer_id if rotated else now.previous_producer_id,
            txn_timeout_ms=request.transaction_timeout_ms,
            topic_partitions=frozenset(),
            txn_start_timestamp=-1,
            txn_last_update_timestamp=self.env.now_ms,
        )
        metadata.prepare(target.state)
        self.write(metadata, target, partial(self.renewed, message, target))

    def next_pair(self, now: Transit, request: InitProducerIdRequest) -> tuple[int, int, int] | None:
        """(producer id, epoch, last epoch) that follow, or None for a fenced producer (txn.1, txn.2, txn.4).

        A retry on the last epoch is looked at before that epoch is bumped: it gets its answer, and not Kafka's
        internal error.
        """
        expected = request.producer_id != -1 and now.producer_epoch != -1
        if expected and self.is_init_retry(now, request):
            return now.producer_id, now.producer_epoch, now.last_producer_epoch
        if expected and not self.holds_current_pair(now, request):
            return None
        if self.is_exhausted(now.producer_epoch):
            return self.env.next_producer_id(), 0, now.producer_epoch if expected else -1
        return now.producer_id, self.bumped(now), now.producer_epoch if expected else -1

    def holds_current_pair(self, now: Transit, request: InitProducerIdRequest) -> bool:
        """Whether the producer holds the pair that is current."""
        return (request.producer_id, request.producer_epoch) == (now.producer_id, now.producer_epoch)

    def is_init_retry(self, now: Transit, request: InitProducerIdRequest) -> bool:
        """Whether the producer holds the pair before the last bump: it has missed the answer (txn.2)."""
        ids = (now.producer_id, now.previous_producer_id)
        same_pair = self.holds_current_pair(now, request)
        return not same_pair and request.producer_epoch == now.last_producer_epoch and request.producer_id in ids

    def bumped(self, now: Transit) -> int:
        """One epoch on: what fences every older instance (txn.1)."""
        return now.producer_epoch + 1

    def renewed(self, message: Message, target: Transit, ok: bool) -> None:
        """The pair is recorded, or nothing happened."""
        if ok:
            self.answer_init(message, ErrorCode.NONE, target.producer_id, target.producer_epoch)
        else:
            self.answer_init(message, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def answer_fenced(self, message: Message, metadata: TransactionMetadata, error: int) -> None:
        """An open transaction was in the way: it is being aborted now, so ask again (txn.3)."""
        self.answer_init(message, error or ErrorCode.CONCURRENT_TRANSACTIONS)

    def answer_init(self, message: Message, error: int, producer_id: int = -1, producer_epoch: int = -1) -> None:
        """Answer InitProducerId."""
        self.env.emit(
            Kind.INIT_HANDLED, node=self.node_id, txn_id=message.body.data.transactional_id,
            request=message.body.number, producer_id=producer_id, epoch=producer_epoch, error=error,
        )  # fmt: skip
        self.reply(message, InitProducerIdResponse(error, producer_id, producer_epoch))
