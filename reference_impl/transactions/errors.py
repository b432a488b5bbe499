"""Kafka's error codes that transactions can meet, with the protocol's numbers, and what a producer does about each.

`ErrorCode` holds plain integers, because rows and answers hold nothing else; `FACTS` says the rest. An error may be
handled differently by request: INVALID_PRODUCER_EPOCH is abortable when a produce request gets it and fatal from the
coordinator, OUT_OF_ORDER_SEQUENCE_NUMBER depends on what the producer still has in flight. Source: Errors.java.
"""

from typing import NamedTuple


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
