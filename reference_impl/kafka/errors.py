"""Kafka's error codes with the protocol's numbers, and what clients do about each: of transactions, of consumer groups,
and of requests for producer ids.
"""

from enum import Enum, IntEnum
from typing import NamedTuple

# Kafka's error codes that transactions can meet, with the protocol's numbers, and what a producer does about each.
#
# `ErrorCode` holds plain integers, because rows and answers hold nothing else; `FACTS` says the rest. An error may be
# handled differently by request: INVALID_PRODUCER_EPOCH is abortable when a produce request gets it and fatal from the
# coordinator, OUT_OF_ORDER_SEQUENCE_NUMBER depends on what the producer still has in flight. Source: Errors.java.


class ErrorCode:
    """The codes, by Kafka's names."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_REQUEST = 42
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    KAFKA_STORAGE_ERROR = 56
    UNSTABLE_OFFSET_COMMIT = 88
    PRODUCER_FENCED = 90
    TRANSACTION_ABORTABLE = 120


class ErrorFacts(NamedTuple):
    """One code: how a producer handles it (retriable | abortable | fatal | depends | none), and what it means here."""

    name: str
    handling: str
    meaning: str


_TABLE = (
    (-1, "fatal", "something unexpected failed on the broker, or there are no producer ids left"),
    (0, "none", "no error"),
    (3, "retriable", "no such partition"),
    (6, "retriable", "this broker does not lead the partition (any more)"),
    (7, "retriable", "the append was not replicated in time"),
    (13, "retriable", "the answer of the coordinator did not come: a disconnect or a time-out"),
    (14, "retriable", "the coordinator is still loading the transaction log; for offsets also: 13 under another name"),
    (15, "retriable", "an append to the transaction log failed: its outcome is unknown to the client"),
    (16, "retriable", "this broker is not the coordinator of the transactional id (any more)"),
    (19, "retriable", "to a produce request: the coordinator could not be asked now (13 to 16 under another name)"),
    (20, "retriable", "appended by the leader, but by too few followers"),
    (31, "fatal", "no permission for an id without a transactional id"),
    (42, "fatal", "no transactional id where one is needed, or only one half of (producer id, epoch)"),
    (45, "depends", "a gap in the sequence numbers: retried unless it is the next expected batch, then abortable"),
    (47, "depends", "an epoch lower than the one known: abortable from a partition, fatal from the coordinator"),
    (48, "fatal", "EndTxn that does not fit the state; or a batch that was not verified, or not transactional"),
    (49, "abortable", "the transactional id is unknown, or has another producer id"),
    (50, "fatal", "a transaction time-out that is not positive, or above transaction.max.timeout.ms"),
    (51, "retriable", "a transition is pending, or a transaction is not finished yet; ask again"),
    (52, "none", "to a marker only: a newer coordinator has written to this partition"),
    (53, "fatal", "no permission to write under this transactional id"),
    (56, "retriable", "the log directory failed"),
    (88, "retriable", "an offset is pending in an open transaction; fetch again"),
    (90, "fatal", "a newer producer has taken over the transactional id"),
    (120, "abortable", "the partition is not in the transaction: abort it and go on"),
)

_NAMES = {code: name for name, code in vars(ErrorCode).items() if name.isupper()}

FACTS: dict[int, ErrorFacts] = {code: ErrorFacts(_NAMES[code], *rest) for code, *rest in _TABLE}

RETRIABLE = frozenset(code for code, facts in FACTS.items() if facts.handling == "retriable")


# Reactions of a producer to an error code, by the request that got it (TransactionManager.java, Sender.java).
#
# Retriable: the request is made again under a new request number. Abortable: the transaction can only be aborted,
# after which the producer goes on. Fatal: this instance is finished.


class Verdict(Enum):
    """The consequence of an error for the producer; `FINE` is no error."""

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
    """InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, TxnOffsetCommit: 47 means fenced, like 90."""
    if error == ErrorCode.NONE:
        return Verdict.FINE
    if error in RETRIABLE:
        return Verdict.RETRY
    return Verdict.ABORTABLE if error == ErrorCode.TRANSACTION_ABORTABLE else Verdict.FATAL


def from_partition(error: int, next_expected: bool) -> Verdict:
    """Produce. `next_expected`: when the request left, nothing sent earlier to the partition was unanswered.

    Only then a gap in the sequence numbers is a real one; else an earlier batch was just late, or on its way again.
    Kafka's client looks when the answer comes (`TransactionManager.canRetry`), on a connection of which nothing is
    handled or answered out of turn. There the two differ where a leader has lost what it knew of the sequence numbers:
    this one tries once more before it takes the gap for a real one.
    """
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
    """The codes, by Kafka's names."""

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
"""What a consumer asks again for, of the same coordinator or after asking who it is: an address that moves makes them
one here."""

COMMIT_FAILED = frozenset({
    GroupErrorCode.ILLEGAL_GENERATION, GroupErrorCode.UNKNOWN_MEMBER_ID, GroupErrorCode.FENCED_INSTANCE_ID,
    GroupErrorCode.GROUP_ID_NOT_FOUND, GroupErrorCode.STALE_MEMBER_EPOCH,
})  # fmt: skip


def from_group_coordinator(error: int) -> Verdict:
    """The verdict of a producer on an answer to TxnOffsetCommit: who is not in the group (any more) aborts and goes
    on."""
    if error in COMMIT_FAILED:
        return Verdict.ABORTABLE
    return Verdict.RETRY if error == GroupErrorCode.UNKNOWN_TOPIC_ID else from_coordinator(error)


# Kafka's error codes that producer id blocks can meet, with the protocol's numbers (Errors.java).


class IdErrorCode(IntEnum):
    """An error code on the wire; `meaning` says what it tells the broker or the client here."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "IdErrorCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    UNKNOWN_SERVER_ERROR = -1, "the ids are exhausted (730.16), or something unexpected failed on the controller"
    NONE = 0, "no error"
    NETWORK_EXCEPTION = 13, "the broker is not running: nobody answers the client"
    COORDINATOR_LOAD_IN_PROGRESS = 14, "to the client: no id at hand, a block is on its way; ask again"
    CLUSTER_AUTHORIZATION_FAILED = 31, "the broker lacks CLUSTER_ACTION: fatal by the KIP, retried as shipped (730.5)"
    NOT_CONTROLLER = 41, "this node is not the active controller (any more)"
    STALE_BROKER_EPOCH = 77, "the broker id is registered under another epoch; in KRaft also: not registered (730.18)"
    BROKER_ID_NOT_REGISTERED = 102, "ZooKeeper mode: no broker of that id is registered (730.18)"
