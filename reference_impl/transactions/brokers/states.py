"""The coordinator's state of one transactional id, and how it changes: in two steps, around a durable record.

Step one, `TransactionMetadata.prepare`, checks that the change is allowed, notes it as pending and changes nothing
else. Step two, `complete`, copies the target in, after its record has become durable. (TransactionMetadata.java)
"""

from typing import NamedTuple

NO_TIMESTAMP = -1


class TransactionState:
    """Kafka's numbers. Dead and PrepareEpochFence are only ever pending, never reached."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


_S = TransactionState
IDLE = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})
PREPARED = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})
COMPLETION = {_S.PREPARE_COMMIT: _S.COMPLETE_COMMIT, _S.PREPARE_ABORT: _S.COMPLETE_ABORT}

# From an idle state to PrepareAbort leads only the abort of a transaction in which nothing was written (v2).
VALID_PREVIOUS = {
    _S.EMPTY: IDLE,
    _S.ONGOING: IDLE | {_S.ONGOING},
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    _S.PREPARE_ABORT: IDLE | {_S.ONGOING, _S.PREPARE_EPOCH_FENCE},
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
    _S.DEAD: IDLE,
    _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
}


class Transit(NamedTuple):
    """The target of a transition (TxnTransitMetadata). Times are virtual milliseconds, -1: none."""

    state: int
    producer_id: int
    producer_epoch: int
    last_producer_epoch: int  # the epoch before the last bump, for a retry of what bumped it; -1: none
    previous_producer_id: int  # the id before the last rotation; -1: none
    next_producer_id: int  # the id after this transaction, when its end used up the last epoch (v2); -1: none
    txn_timeout_ms: int
    topic_partitions: frozenset[int]
    txn_start_timestamp: int
    txn_last_update_timestamp: int
    client_transaction_version: int

    def entering(self, state: int, topic_partitions: frozenset[int], start_ms: int, now_ms: int) -> "Transit":
        """The same producer in another state of its transaction.  (`_replace` takes three times as long, and these are
        most of all transitions.)"""
        return Transit(
            state, self.producer_id, self.producer_epoch, self.last_producer_epoch, self.previous_producer_id,
            self.next_producer_id, self.txn_timeout_ms, topic_partitions, start_ms, now_ms,
            self.client_transaction_version,
        )  # fmt: skip


class TransactionLogValue(NamedTuple):
    """The stored record of a transactional id (TransactionLogValue.json): all but what is pending.

    The last epoch is -1, but on trunk: releases do not store it (KAFKA-20357).
    """

    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: frozenset[int] | None  # None exactly in state Empty
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    previous_producer_id: int
    next_producer_id: int
    client_transaction_version: int
    last_producer_epoch: int


def new_transit(producer_id: int, timeout_ms: int, now_ms: int, version: int) -> Transit:
    """A transactional id never heard of before: Empty, with no epoch yet."""
    return Transit(_S.EMPTY, producer_id, -1, -1, -1, -1, timeout_ms, frozenset(), NO_TIMESTAMP, now_ms, version)


def value_of(target: Transit, with_last_epoch: bool = False) -> TransactionLogValue:
    """The record that makes a target durable."""
    return TransactionLogValue(
        target.producer_id,
        target.producer_epoch,
        target.txn_timeout_ms,
        target.state,
        None if target.state == _S.EMPTY else target.topic_partitions,
        target.txn_last_update_timestamp,
        target.txn_start_timestamp,
        target.previous_producer_id,
        target.next_producer_id,
        target.client_transaction_version,
        target.last_producer_epoch if with_last_epoch else -1,
    )


def loaded(value: TransactionLogValue) -> Transit:
    """The state that a coordinator which takes over makes of a record."""
    return Transit(
        value.transaction_status,
        value.producer_id,
        value.producer_epoch,
        value.last_producer_epoch,
        value.previous_producer_id,
        value.next_producer_id,
        value.transaction_timeout_ms,
        value.transaction_partitions or frozenset(),
        value.transaction_start_timestamp_ms,
        value.transaction_last_update_timestamp_ms,
        value.client_transaction_version,
    )


class TransactionMetadata:
    """One transactional id in a coordinator's memory. `now` is its present; `pending_state` says what is under way."""

    __slots__ = ("has_failed_epoch_fence", "now", "pending_state", "transactional_id")

    def __init__(self, transactional_id: int, now: Transit) -> None:
        self.transactional_id = transactional_id
        self.now = now
        self.pending_state: int | None = None
        self.has_failed_epoch_fence = False

    def prepare(self, state: int) -> None:
        """Note that a transition to `state` begins. Raises RuntimeError where Kafka throws an illegal state."""
        if self.pending_state is not None:
            raise RuntimeError(
                f"transactional id {self.transactional_id}: cannot prepare state {state} while {self.pending_state} "
                f"is pending; answer CONCURRENT_TRANSACTIONS instead"
            )
        if self.now.state not in VALID_PREVIOUS[state]:
            raise RuntimeError(
                f"transactional id {self.transactional_id}: no transition leads from state {self.now.state} to {state}"
            )
        self.pending_state = state

    def complete(self, target: Transit) -> None:
        """The record of `target` is durable: make it the present."""
        self.now = target
        self.pending_state = None


def violation(metadata: TransactionMetadata, target: Transit) -> str:
    """The reason why the state must not complete into `target`; empty if it may
    (TransactionMetadata.completeTransitionTo)."""
    now, state = metadata.now, target.state
    if metadata.pending_state != state:
        return f"pending is {metadata.pending_state}, not {state}"
    same_producer = (target.producer_id, target.producer_epoch) == (now.producer_id, now.producer_epoch)
    if state == _S.EMPTY:
        rotated = target.producer_epoch == 0 and target.producer_id != now.producer_id
        if not (rotated or target.producer_epoch - now.producer_epoch in (0, 1)):
            return f"epoch goes from {now.producer_epoch} to {target.producer_epoch}"
        return "an empty state has partitions or a start" if target.topic_partitions or _started(target) else ""
    if state == _S.ONGOING:
        grows = target.topic_partitions >= now.topic_partitions
        return "" if same_producer and grows else "a transaction changes its producer or loses partitions"
    if state in PREPARED:
        bumped = target.last_producer_epoch == now.producer_epoch or same_producer
        kept = target.topic_partitions == now.topic_partitions
        return "" if bumped and kept else "the end of a transaction changes its partitions, or skips an epoch"
    rotated = target.producer_epoch == 0 and target.previous_producer_id == now.producer_id
    return "" if (same_producer or rotated) and _started(target) else "completion changes the producer, or has no start"


def _started(target: Transit) -> bool:
    return target.txn_start_timestamp != NO_TIMESTAMP
