"""This module has Kafka's error codes for transactions, groups and producer ids, and how clients react to each."""

from enum import Enum
from functools import cache

# Kafka's error codes that transactions can meet, with the protocol's numbers, and what a producer does about each.
#
# `ErrorCode` holds plain integers, because rows and answers hold nothing else. An error may be handled differently by
# request: INVALID_PRODUCER_EPOCH is abortable when a produce request gets it and fatal from the coordinator,
# OUT_OF_ORDER_SEQUENCE_NUMBER depends on what the producer still has in flight. Source: Errors.java.


class ErrorCode:
    """An `ErrorCode` is one of Kafka's error codes, with Kafka's names and numbers."""

    UNKNOWN_SERVER_ERROR = -1  # something unexpected failed on the broker, or there are no producer ids left
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3  # no such partition
    NOT_LEADER_OR_FOLLOWER = 6  # this broker does not lead the partition (any more)
    REQUEST_TIMED_OUT = 7  # the append was not replicated in time
    NETWORK_EXCEPTION = 13  # the answer of the coordinator did not come: a disconnect or a time-out
    COORDINATOR_LOAD_IN_PROGRESS = 14  # the transaction log is still being loaded; for offsets also: 13
    COORDINATOR_NOT_AVAILABLE = 15  # an append to the transaction log failed: its outcome is unknown to the client
    NOT_COORDINATOR = 16  # this broker is not the coordinator of the transactional id (any more)
    NOT_ENOUGH_REPLICAS = 19  # to a produce request: the coordinator could not be asked now (13 to 16)
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20  # appended by the leader, but by too few followers
    CLUSTER_AUTHORIZATION_FAILED = 31  # no permission for an id without a transactional id
    INVALID_REQUEST = 42  # no transactional id where one is needed, or only one half of (producer id, epoch)
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45  # a gap in the sequence numbers; abortable if it is the next expected batch
    INVALID_PRODUCER_EPOCH = 47  # a lower epoch than is known: abortable from a partition, fatal from the coordinator
    INVALID_TXN_STATE = 48  # EndTxn that does not fit the state; or a batch that was not verified, or not transactional
    INVALID_PRODUCER_ID_MAPPING = 49  # the transactional id is unknown, or has another producer id
    INVALID_TRANSACTION_TIMEOUT = 50  # a transaction time-out that is not positive, or above transaction.max.timeout.ms
    CONCURRENT_TRANSACTIONS = 51  # a transition is pending, or a transaction is not finished yet; ask again
    TRANSACTION_COORDINATOR_FENCED = 52  # to a marker only: a newer coordinator has written to this partition
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53  # no permission to write under this transactional id
    KAFKA_STORAGE_ERROR = 56  # the log directory failed
    UNSTABLE_OFFSET_COMMIT = 88  # an offset is pending in an open transaction; fetch again
    PRODUCER_FENCED = 90  # a newer producer has taken over the transactional id
    TRANSACTION_ABORTABLE = 120  # the partition is not in the transaction: abort it and go on


@cache
def error_name(code: int) -> str:
    """Return the name that Kafka gives an error code, or the number where it gives none."""
    from kio.schema.errors import ErrorCode as Known  # it takes 0.2 s to import

    return Known(code).name.upper() if code in {*Known} else str(code)


def error_text(code: int) -> str:
    """Return an error in words, such as ``error INVALID_PRODUCER_EPOCH (47)``."""
    name = error_name(code)
    return f"error {name}" if name == str(code) else f"error {name} ({code})"


RETRIABLE = frozenset({
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNSTABLE_OFFSET_COMMIT,
})  # fmt: skip


# Reactions of a producer to an error code, by the request that got it (TransactionManager.java, Sender.java).
#
# Retriable: the request is made again under a new request number. Abortable: the transaction can only be aborted,
# after which the producer goes on. Fatal: this instance is finished.


class Verdict(Enum):
    """A `Verdict` is the consequence of an error for the producer. `FINE` means no error."""

    FINE = "fine"
    RETRY = "retry"
    ABORTABLE = "abortable"
    FATAL = "fatal"


# A produce request fails its transaction and no more, except where going on can never work (or must not: 49, which
# would let a producer that was fenced long ago come back after its transactional id has expired: KAFKA-18019).
FATAL_TO_PRODUCE = frozenset({
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.PRODUCER_FENCED,
})  # fmt: skip


def from_coordinator(error: int) -> Verdict:
    """Return the verdict on InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn or TxnOffsetCommit, where 47
    means fenced, like 90."""
    if error == ErrorCode.NONE:
        return Verdict.FINE
    if error in RETRIABLE:
        return Verdict.RETRY
    return Verdict.ABORTABLE if error == ErrorCode.TRANSACTION_ABORTABLE else Verdict.FATAL


def from_partition(error: int, next_expected: bool) -> Verdict:
    """Return the verdict on a Produce response. ``next_expected`` is True if nothing that was sent earlier to the
    partition was unanswered when the request left. Only then is a gap in the sequence numbers a real one. Otherwise an
    earlier batch was just late, or is being sent again. Kafka's client checks this when the response arrives
    (`TransactionManager.canRetry`), on a connection that handles and answers everything in order. The two differ where
    a leader has lost its knowledge of the sequence numbers: this client tries once more before it takes the gap for a
    real one."""
    if error == ErrorCode.NONE:
        return Verdict.FINE
    if error in RETRIABLE or (error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not next_expected):
        return Verdict.RETRY
    return Verdict.FATAL if error in FATAL_TO_PRODUCE else Verdict.ABORTABLE


# Kafka's error codes that members of a group and their producers meet, besides those of transactions, with the
# protocol's numbers; 85 and 86 are those of KIP-447's draft, which Kafka has since given to others.
#
# Source: Errors.java; TransactionManager.TxnOffsetCommitHandler.


class GroupErrorCode(ErrorCode):
    """A `GroupErrorCode` is one of Kafka's error codes for consumer groups."""

    ILLEGAL_GENERATION = 22
    UNKNOWN_MEMBER_ID = 25
    REBALANCE_IN_PROGRESS = 27
    UNSUPPORTED_VERSION = 35
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    FENCED_INSTANCE_ID = 82
    CONCURRENT_PRODUCER_COMMIT = 85  # in the draft only
    PENDING_TRANSACTION = 86  # in the draft only
    UNKNOWN_TOPIC_ID = 100
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    STALE_MEMBER_EPOCH = 113


RETRIED = frozenset({
    GroupErrorCode.COORDINATOR_LOAD_IN_PROGRESS, GroupErrorCode.COORDINATOR_NOT_AVAILABLE,
        GroupErrorCode.NOT_COORDINATOR,
    GroupErrorCode.UNSTABLE_OFFSET_COMMIT, GroupErrorCode.PENDING_TRANSACTION,
})  # fmt: skip
"""A consumer repeats a request after these errors. Kafka's consumer looks the coordinator up again for some of them,
which is the same here, because the coordinator's address moves."""

COMMIT_FAILED = frozenset({
    GroupErrorCode.ILLEGAL_GENERATION, GroupErrorCode.UNKNOWN_MEMBER_ID, GroupErrorCode.FENCED_INSTANCE_ID,
    GroupErrorCode.GROUP_ID_NOT_FOUND, GroupErrorCode.STALE_MEMBER_EPOCH,
})  # fmt: skip


def from_group_coordinator(error: int) -> Verdict:
    """Return a producer's verdict on TxnOffsetCommit. A producer outside the group aborts and goes on."""
    if error in COMMIT_FAILED:
        return Verdict.ABORTABLE
    return Verdict.RETRY if error == GroupErrorCode.UNKNOWN_TOPIC_ID else from_coordinator(error)


# Kafka's error codes that producer id blocks can meet, with the protocol's numbers (Errors.java).


class IdErrorCode(ErrorCode):
    """An `IdErrorCode` is one of Kafka's error codes for producer ids. Code -1 also means that the ids are exhausted
    (730.16), 13 that the broker is not running, 14 that no id is available although a block is requested, and 31 that
    the broker lacks CLUSTER_ACTION (730.5)."""

    NOT_CONTROLLER = 41  # this node is not the active controller (any more)
    STALE_BROKER_EPOCH = 77  # the broker id is registered under another epoch; in KRaft also: not registered (730.18)
    BROKER_ID_NOT_REGISTERED = 102  # ZooKeeper mode: no broker of that id is registered (730.18)
