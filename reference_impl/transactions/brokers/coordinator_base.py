"""The ground under the coordinator: its cache, its appends to the transaction log, and how it takes over and resigns.

A coordinator object is one reign over the transaction log: whoever takes over is a new object, with the next
coordinator epoch and nothing but the durable log to start from (txn.19). Single-threaded: every method runs to its end
before the next event.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from fencepost.reference_impl.simulation import Message, Node
from fencepost.reference_impl.transactions.brokers.states import (
    TransactionLogValue,
    TransactionMetadata,
    Transit,
    loaded,
    value_of,
    violation,
)
from fencepost.reference_impl.transactions.brokers.transaction_log import Append, LogRecord, TransactionLog
from fencepost.reference_impl.transactions.environment import BROKERS, COORDINATOR, Environment
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.events import Kind
from fencepost.reference_impl.transactions.messages import ResponseBody

Done = Callable[[int], object]  # told how an operation went, as an error code


class CoordinatorBase(Node):
    """One reign: what all operations of a coordinator share."""

    __slots__ = ("coordinator_epoch", "env", "loading", "node_id", "transaction_log", "transactions")

    def __init__(self, env: Environment, transaction_log: TransactionLog, coordinator_epoch: int) -> None:
        super().__init__(COORDINATOR, env.kernel)
        self.env = env
        self.node_id = coordinator_epoch % BROKERS
        self.coordinator_epoch = coordinator_epoch
        self.transaction_log = transaction_log
        self.transactions: dict[int, TransactionMetadata] = {}
        self.loading = False

    def take_over(self) -> None:
        """Become the coordinator; until the log is loaded every request is answered COORDINATOR_LOAD_IN_PROGRESS."""
        self.loading = True
        self.env.pace.load_later(self, self.load)

    def load(self, _: object) -> None:
        """Rebuild every transactional id from the log, last record first to count (txn.19).

        Not before all of it is durable: what this coordinator does cannot be undone when a record is.
        """
        if self.transaction_log.unfinished and self.waits_for_high_watermark():
            return
        for transactional_id, value in self.recorded().items():
            self.transactions[transactional_id] = self.reload(transactional_id, value)
        self.loading = False
        self.env.emit(Kind.COORDINATOR_LOADED, node=self.node_id, coordinator_epoch=self.coordinator_epoch)
        for metadata in self.transactions.values():
            self.carry_on(metadata)

    def waits_for_high_watermark(self) -> bool:
        """Whether records that no other replica may have are waited for."""
        return True

    def recorded(self) -> dict[int, TransactionLogValue]:
        """What the log says of each id."""
        return self.transaction_log.replay()

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        """One id as the log knows it; what was pending, and a failed fence, are forgotten."""
        return TransactionMetadata(transactional_id, loaded(value))

    def carry_on(self, metadata: TransactionMetadata) -> None:
        """Go on with what the log says was under way."""

    def resign(self, durable: bool) -> None:
        """Go away for ever. `durable`: what was being appended is in the log, although nobody was told."""
        while self.transaction_log.unfinished:
            append = self.transaction_log.finish(durable)
            if append is not None and durable:
                self._emit_durable(append)
        self.crash()

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
        append = self.transaction_log.finish(ok)
        if append is None:
            return False
        if ok:
            self._emit_durable(append)
        append.done(ok)
        if self.loading:
            self.load(None)
        return True

    def verify_completion(self, metadata: TransactionMetadata, target: Transit) -> None:
        """Kafka's own sanity checks on what becomes the present. Raises RuntimeError: the coordinator has a defect."""
        wrong = violation(metadata, target)
        if wrong:
            raise RuntimeError(
                f"coordinator epoch {self.coordinator_epoch}: transactional id {metadata.transactional_id} cannot go "
                f"from {metadata.now} to {target}: {wrong}; the transition was prepared wrongly"
            )

    def reply(self, message: Message, data: Any) -> None:
        """Answer a request."""
        body = message.body
        answer = ResponseBody(body.number, data, body.check)
        self.env.network.send(f"{message.kind}_answer", self.name, message.source, answer)

    def find(self, transactional_id: int) -> TransactionMetadata | None:
        """The metadata of an id, if it is known."""
        return self.transactions.get(transactional_id)

    def unavailable(self, transactional_id: int) -> int:
        """The error for a request that cannot even be looked at; 0 for none."""
        if transactional_id < 0:
            return ErrorCode.INVALID_REQUEST
        if transactional_id in self.env.without_write:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self.loading else ErrorCode.NONE

    def _append(self, record: LogRecord, done: Callable[[bool], object]) -> None:
        self.transaction_log.append(record, done)
        self.env.pace.append_later(self, self.finish_append)

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
        done(ok)

    def emit_append_failed(self, metadata: TransactionMetadata, state: int, target: Transit) -> None:
        """The append of a record did not succeed."""
        self.env.emit(
            Kind.APPEND_FAILED, node=self.node_id, txn_id=metadata.transactional_id, state=state,
            producer_id=target.producer_id, epoch=target.producer_epoch,
        )  # fmt: skip

    def _emit_durable(self, append: Append) -> None:
        transactional_id, value = append.record
        if value is None:
            self.env.emit(Kind.ID_EXPIRED, node=self.node_id, txn_id=transactional_id)
            return
        self.env.emit(
            Kind.TXN_LOGGED, node=self.node_id, txn_id=transactional_id, state=value.transaction_status,
            producer_id=value.producer_id, epoch=value.producer_epoch, coordinator_epoch=self.coordinator_epoch,
        )  # fmt: skip
