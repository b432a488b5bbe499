"""Reactions of a producer to an error code, by the request that got it (TransactionManager.java, Sender.java).

Retriable: the request is made again under a new request number. Abortable: the transaction can only be aborted,
after which the producer goes on. Fatal: this instance is finished.
"""

from enum import Enum

from fencepost.reference_impl.transactions.errors import RETRIABLE, ErrorCode


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
