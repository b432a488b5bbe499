"""What the coordinator does because time has passed: it ends transactions that take too long, and forgets idle ids.

Both are looked for at fixed intervals (10 s and 1 h in Kafka), not when they fall due. (TransactionStateManager.scala)
"""

from functools import partial

from fencepost.reference_impl.transactions.brokers.ending import TransactionEnding
from fencepost.reference_impl.transactions.brokers.states import (
    IDLE,
    TransactionLogValue,
    TransactionMetadata,
    TransactionState,
    Transit,
)
from fencepost.reference_impl.transactions.brokers.transaction_log import TransactionLog
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.events import Kind


class TransactionTiming(TransactionEnding):
    """Time-outs and expiry. A watch is kept only while there is something to watch."""

    __slots__ = ("_idle_watched", "_open_watched")

    def __init__(self, env: Environment, transaction_log: TransactionLog, coordinator_epoch: int) -> None:
        super().__init__(env, transaction_log, coordinator_epoch)
        self._open_watched = False
        self._idle_watched = False

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        """Watches are not recorded: a new coordinator starts its own."""
        metadata = super().reload(transactional_id, value)
        self.watch_idle()
        if metadata.now.state == TransactionState.ONGOING:
            self.watch_open()
        return metadata

    def watch_open(self) -> None:
        """Look for transactions whose time is up, at every full interval as long as any is open."""
        if not self._open_watched:
            self._open_watched = True
            interval_us = self.env.config.timeout_check_ms * 1000
            self.after(interval_us - self.kernel.now % interval_us, self.abort_timed_out)

    def abort_timed_out(self, _: object) -> None:
        """Fence and abort every open transaction that has lived longer than its time-out (txn.18)."""
        self._open_watched = False
        for metadata in list(self.transactions.values()):
            if metadata.pending_state is None and self.is_timed_out(metadata.now):
                self.env.emit(
                    Kind.TIMED_OUT, node=self.node_id, txn_id=metadata.transactional_id,
                    producer_id=metadata.now.producer_id, epoch=metadata.now.producer_epoch,
                )  # fmt: skip
                self.fence_and_abort(metadata, lambda _: None)
        if any(metadata.now.state == TransactionState.ONGOING for metadata in self.transactions.values()):
            self.watch_open()

    def is_timed_out(self, now: Transit) -> bool:
        """Strictly longer: a transaction may use its time to the last millisecond."""
        return now.state == TransactionState.ONGOING and now.txn_start_timestamp + now.txn_timeout_ms < self.env.now_ms

    def watch_idle(self) -> None:
        """Look for idle ids at every full interval, as long as any id is known."""
        if not self._idle_watched:
            self._idle_watched = True
            interval_us = self.env.config.expiration_check_ms * 1000
            self.after(interval_us - self.kernel.now % interval_us, self.expire_idle)

    def expire_idle(self, _: object) -> None:
        """Forget every id that has been idle for as long as the configuration says (txn.20)."""
        self._idle_watched = False
        for metadata in list(self.transactions.values()):
            if metadata.pending_state is None and self.is_expired(metadata.now):
                metadata.prepare(TransactionState.DEAD)
                self.write_tombstone(metadata, partial(self.expired, metadata))
        if self.transactions:
            self.watch_idle()

    def is_expired(self, now: Transit) -> bool:
        """Only what is idle expires: an open transaction, or one being completed, is somebody's."""
        return now.state in IDLE and now.txn_last_update_timestamp <= self.env.now_ms - self.env.config.expiration_ms

    def expired(self, metadata: TransactionMetadata, ok: bool) -> None:
        """The id is forgotten, or stays."""
        if ok:
            del self.transactions[metadata.transactional_id]
        else:
            metadata.pending_state = None
            self.emit_append_failed(metadata, TransactionState.DEAD, metadata.now)
