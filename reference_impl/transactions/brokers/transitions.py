"""How a transition of a transactional id is recorded: appended to the transaction log, then made the present or undone.

(TransactionStateManager.appendTransactionToLog)
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from fencepost.reference_impl.transactions.brokers.states import (
    TransactionMetadata,
    TransactionState,
    Transit,
    value_of,
    violation,
)
from fencepost.reference_impl.transactions.brokers.transaction_log import Append, LogRecord
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.events import Kind
from fencepost.reference_impl.transactions.messages import InitProducerIdRequest

if TYPE_CHECKING:
    from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator


def half_a_pair(request: InitProducerIdRequest) -> int:
    """42 if only one of producer id and epoch is given."""
    half = (request.producer_id == -1) != (request.producer_epoch == -1)
    return ErrorCode.INVALID_REQUEST if half else ErrorCode.NONE


class Transitions:
    """The appends of one coordinator."""

    __slots__ = ("coordinator", "env")

    def __init__(self, coordinator: "Coordinator") -> None:
        self.coordinator = coordinator
        self.env = coordinator.env

    def lacks_producer_id(self, metadata: TransactionMetadata | None, fences: bool = True) -> int:
        """14 where what comes next needs a producer id, and the broker has none at hand: ask again (KIP-730).
        ``metadata``: None where the transactional id is not known yet, or there is none.  ``fences``: an open
        transaction is fenced first, which takes an epoch of its own."""
        fence = fences and metadata is not None and metadata.now.state == TransactionState.ONGOING
        needed = metadata is None or self.coordinator.is_exhausted(metadata.now.producer_epoch + fence)
        return ErrorCode.NONE if not needed or self.env.has_producer_id() else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def write(
        self, metadata: TransactionMetadata, target: Transit, done: Callable[[bool], object], keep_pending: bool = False
    ) -> None:
        """Append the record of a prepared transition; then complete it, or take it back, and tell `done`."""
        record = LogRecord(metadata.transactional_id, value_of(target, self.env.config.records_last_epoch))
        self._append(record, partial(self._written, metadata, target, done, keep_pending))

    def write_tombstone(self, metadata: TransactionMetadata, done: Callable[[bool], object]) -> None:
        """Append the record that forgets an id."""
        self._append(LogRecord(metadata.transactional_id, None), done)

    def finish_append(self, ok: bool) -> bool:
        """The oldest append under way ends, durable if `ok`; False if there is none."""
        append = self.coordinator.transaction_log.finish(ok)
        if append is None:
            return False
        if ok:
            self.emit_durable(append)
        append.done(ok)
        return True

    def verify_completion(self, metadata: TransactionMetadata, target: Transit) -> None:
        """Kafka's own sanity checks on what becomes the present. Raises RuntimeError: the coordinator has a defect."""
        wrong = violation(metadata, target)
        if wrong:
            epoch = self.coordinator.coordinator_epoch
            raise RuntimeError(
                f"coordinator epoch {epoch}: transactional id {metadata.transactional_id} cannot go "
                f"from {metadata.now} to {target}: {wrong}; the transition was prepared wrongly"
            )

    def _append(self, record: LogRecord, done: Callable[[bool], object]) -> None:
        self.coordinator.transaction_log.append(record, done)
        self.env.pace.append_later(self.coordinator, self.coordinator.finish_append)

    def _written(
        self,
        metadata: TransactionMetadata,
        target: Transit,
        done: Callable[[bool], object],
        keep_pending: bool,
        ok: bool,
    ) -> None:
        if ok:
            self.verify_completion(metadata, target)
            metadata.complete(target)
        else:
            self.emit_append_failed(metadata, target.state, target)
            if not keep_pending:
                metadata.pending_state = None
                if metadata.now.state == TransactionState.ONGOING:
                    self.coordinator.watch_open(again=True)
        done(ok)

    def emit_append_failed(self, metadata: TransactionMetadata, state: int, target: Transit) -> None:
        """The append of a record did not succeed."""
        self.env.emit(
            Kind.APPEND_FAILED, node=self.coordinator.node_id, txn_id=metadata.transactional_id, state=state,
            producer_id=target.producer_id, epoch=target.producer_epoch,
        )  # fmt: skip

    def emit_durable(self, append: Append) -> None:
        transactional_id, value = append.record
        if value is None:
            self.env.emit(Kind.ID_EXPIRED, node=self.coordinator.node_id, txn_id=transactional_id)
            return
        reign = self.coordinator
        self.env.emit(
            Kind.TXN_LOGGED, node=reign.node_id, txn_id=transactional_id, state=value.transaction_status,
            producer_id=value.producer_id, epoch=value.producer_epoch, coordinator_epoch=reign.coordinator_epoch,
        )  # fmt: skip
