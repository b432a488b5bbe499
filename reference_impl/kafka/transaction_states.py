"""This module has the states of a transactional id, their records in the log, and the results of EndTxn."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from fencepost.reference_impl.kafka.errors import ErrorCode

# The coordinator's state of one transactional id, and how it changes: in two steps, around a durable record.
#
# Step one, `TransactionMetadata.prepare`, checks that the change is allowed, notes it as pending and changes nothing
# else. Step two, `complete`, copies the target in, after its record has become durable. (TransactionMetadata.java)

NO_TIMESTAMP = -1


class TransactionState:
    """A `TransactionState` is one of Kafka's. Dead and PrepareEpochFence are only ever pending."""

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

# Only the abort of a transaction in which nothing was written leads from an idle state to PrepareAbort (v2).
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
    """A `Transit` is the target of a transition (TxnTransitMetadata). Times are virtual milliseconds, -1 for none."""

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
    next_producer_epoch: int = -1  # of the client-facing pair while that is not the transaction's (KIP-939); -1: it is

    def entering(self, state: int, topic_partitions: frozenset[int], start_ms: int, now_ms: int) -> "Transit":
        """Return the same producer in another state of its transaction. (`_replace` takes three times as long.)"""
        return Transit(
            state, self.producer_id, self.producer_epoch, self.last_producer_epoch, self.previous_producer_id,
            self.next_producer_id, self.txn_timeout_ms, topic_partitions, start_ms, now_ms,
            self.client_transaction_version, self.next_producer_epoch,
        )  # fmt: skip


class TransactionLogValue(NamedTuple):
    """A `TransactionLogValue` is the record of a transactional id (TransactionLogValue.json), with everything but the
    pending state. The last epoch is -1 except on trunk, because releases do not store it (KAFKA-20357)."""

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
    next_producer_epoch: int = -1


def new_transit(producer_id: int, timeout_ms: int, now_ms: int, version: int) -> Transit:
    return Transit(_S.EMPTY, producer_id, -1, -1, -1, -1, timeout_ms, frozenset(), NO_TIMESTAMP, now_ms, version)


def value_of(target: Transit, with_last_epoch: bool = False) -> TransactionLogValue:
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
        target.next_producer_epoch,
    )


def loaded(value: TransactionLogValue) -> Transit:
    """Return the state that a coordinator which takes over makes of a record."""
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
        value.next_producer_epoch,
    )


class TransactionMetadata:
    """A `TransactionMetadata` is one transactional id in a coordinator's memory. ``now`` is its current state, and
    ``pending_state`` that of the transition in progress."""

    __slots__ = ("has_failed_epoch_fence", "now", "pending_state", "transactional_id")

    def __init__(self, transactional_id: int, now: Transit) -> None:
        self.transactional_id = transactional_id
        self.now = now
        self.pending_state: int | None = None
        self.has_failed_epoch_fence = False

    def prepare(self, state: int) -> None:
        """Begin a transition to ``state``. Raise RuntimeError where Kafka throws an illegal state."""
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
        self.now = target
        self.pending_state = None


def violation(metadata: TransactionMetadata, target: Transit) -> str:
    """Return the reason why the state must not complete into ``target``, or an empty string
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
        unchanged = target.topic_partitions == now.topic_partitions
        return "" if bumped and unchanged else "the end of a transaction changes its partitions, or skips an epoch"
    rotated = target.producer_epoch == 0 and target.previous_producer_id == now.producer_id
    return "" if (same_producer or rotated) and _started(target) else "completion changes the producer, or has no start"


def _started(target: Transit) -> bool:
    return target.txn_start_timestamp != NO_TIMESTAMP


# The transaction log: the compacted topic from which every coordinator rebuilds what it knows (txn.19).
#
# Records are durable or unfinished. Unfinished ones finish in the order in which they were appended, one by one, each
# with or without success; a coordinator that goes away leaves them behind. (TransactionLog.java)

COMPACT_ABOVE = 256  # records; what is compacted away can never be missed, so only memory and loading time depend on it


class LogRecord(NamedTuple):
    """A `LogRecord` is one record of the log. A value of None is a tombstone, which deletes the id."""

    transactional_id: int
    value: TransactionLogValue | None


class Append(NamedTuple):
    """An `Append` is an unfinished append and the function to call with its success (True: durable)."""

    record: LogRecord
    done: Callable[[bool], object]


class TransactionLog:
    """A `TransactionLog` is one partition of the log whose leader is the coordinator."""

    __slots__ = ("records", "unfinished")

    def __init__(self) -> None:
        self.records: list[LogRecord] = []
        self.unfinished: deque[Append] = deque()

    def append(self, record: LogRecord, done: Callable[[bool], object]) -> None:
        self.unfinished.append(Append(record, done))

    def finish(self, ok: bool) -> Append | None:
        """End the oldest append, its record durable if ``ok``, and return it, or None if there is none."""
        if not self.unfinished:
            return None
        append = self.unfinished.popleft()
        if ok:
            self.records.append(append.record)
            if len(self.records) > COMPACT_ABOVE:
                self.compact()
        return append

    def compact(self) -> None:
        """Retain the last record of each id in its order, and no tombstones."""
        last = {record.transactional_id: position for position, record in enumerate(self.records)}
        self.records = [
            record
            for position, record in enumerate(self.records)
            if last[record.transactional_id] == position and record.value is not None
        ]

    def replay(self, to_the_end: bool = False) -> dict[int, TransactionLogValue]:
        """Return each id's last value in the durable records, or with ``to_the_end`` in all records."""
        uncovered = [append.record for append in self.unfinished] if to_the_end else []
        values = {record.transactional_id: record.value for record in (*self.records, *uncovered)}
        return {key: value for key in sorted(values) if (value := values[key]) is not None}


# Results of EndTxn by the state that it meets: Kafka's tables, before and after KIP-890 part 2.

PREPARES = -2  # in the tables: no answer yet, the transaction ends now

_STATE, _E = TransactionState, ErrorCode

# (state, committed) -> answer, for a request with the exact producer id and epoch
V1_RESULT = {
    (_STATE.EMPTY, True): _E.INVALID_TXN_STATE,
    (_STATE.EMPTY, False): _E.INVALID_TXN_STATE,
    (_STATE.ONGOING, True): PREPARES,
    (_STATE.ONGOING, False): PREPARES,
    (_STATE.PREPARE_COMMIT, True): _E.CONCURRENT_TRANSACTIONS,
    (_STATE.PREPARE_COMMIT, False): _E.INVALID_TXN_STATE,
    (_STATE.PREPARE_ABORT, True): _E.INVALID_TXN_STATE,
    (_STATE.PREPARE_ABORT, False): _E.CONCURRENT_TRANSACTIONS,
    (_STATE.COMPLETE_COMMIT, True): _E.NONE,
    (_STATE.COMPLETE_COMMIT, False): _E.INVALID_TXN_STATE,
    (_STATE.COMPLETE_ABORT, True): _E.INVALID_TXN_STATE,
    (_STATE.COMPLETE_ABORT, False): _E.NONE,
}

# (state, committed, retry) -> answer; a retry names the pair that the end of the last transaction has replaced.
# The client may not know whether the coordinator ever heard of its transaction, so an abort of nothing ends one too.
V2_RESULT = {
    (_STATE.EMPTY, True, False): _E.INVALID_TXN_STATE,
    (_STATE.EMPTY, True, True): _E.PRODUCER_FENCED,
    (_STATE.EMPTY, False, False): PREPARES,
    (_STATE.EMPTY, False, True): _E.PRODUCER_FENCED,
    (_STATE.ONGOING, True, False): PREPARES,
    (_STATE.ONGOING, True, True): _E.PRODUCER_FENCED,
    (_STATE.ONGOING, False, False): PREPARES,
    (_STATE.ONGOING, False, True): _E.PRODUCER_FENCED,
    (_STATE.PREPARE_COMMIT, True, False): _E.PRODUCER_FENCED,
    (_STATE.PREPARE_COMMIT, True, True): _E.CONCURRENT_TRANSACTIONS,
    (_STATE.PREPARE_COMMIT, False, False): _E.PRODUCER_FENCED,
    (_STATE.PREPARE_COMMIT, False, True): _E.INVALID_TXN_STATE,
    (_STATE.PREPARE_ABORT, True, False): _E.PRODUCER_FENCED,
    (_STATE.PREPARE_ABORT, True, True): _E.INVALID_TXN_STATE,
    (_STATE.PREPARE_ABORT, False, False): _E.PRODUCER_FENCED,
    (_STATE.PREPARE_ABORT, False, True): _E.CONCURRENT_TRANSACTIONS,
    (_STATE.COMPLETE_COMMIT, True, False): _E.INVALID_TXN_STATE,
    (_STATE.COMPLETE_COMMIT, True, True): _E.NONE,
    (_STATE.COMPLETE_COMMIT, False, False): PREPARES,
    (_STATE.COMPLETE_COMMIT, False, True): _E.INVALID_TXN_STATE,
    (_STATE.COMPLETE_ABORT, True, False): _E.INVALID_TXN_STATE,
    (_STATE.COMPLETE_ABORT, True, True): _E.INVALID_TXN_STATE,
    (_STATE.COMPLETE_ABORT, False, False): PREPARES,
    (_STATE.COMPLETE_ABORT, False, True): _E.NONE,
}
