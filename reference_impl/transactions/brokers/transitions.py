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
from fencepost.reference_impl.transactions.events import Kind

if TYPE_CHECKING:
    from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator


class Transitions:
    """The appends of one coordinator."""

    __slots__ = ("coordinator", "env")

    def __init__(self, coordinator: "Coordinator") -> None:
        self.coordinator = coordinator
        self.env = coordinator.env

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
