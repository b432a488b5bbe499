"""Kafka's error codes that members of a group and their producers meet, besides those of transactions, with the
protocol's numbers; 85 and 86 are those of KIP-447's draft, which Kafka has since given to others.

Source: Errors.java; TransactionManager.TxnOffsetCommitHandler.
"""

from fencepost.reference_impl.transactions.clients.client_errors import Verdict, from_coordinator
from fencepost.reference_impl.transactions.errors import ErrorCode as TransactionErrorCode


class ErrorCode(TransactionErrorCode):
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
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNSTABLE_OFFSET_COMMIT, ErrorCode.PENDING_TRANSACTION,
})  # fmt: skip
"""What a consumer asks again for, of the same coordinator or after asking who it is: an address that moves makes them
one here."""

COMMIT_FAILED = frozenset({
    ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.STALE_MEMBER_EPOCH,
})  # fmt: skip


def from_group_coordinator(error: int) -> Verdict:
    """The verdict of a producer on an answer to TxnOffsetCommit: who is not in the group (any more) aborts and goes
    on."""
    if error in COMMIT_FAILED:
        return Verdict.ABORTABLE
    return Verdict.RETRY if error == ErrorCode.UNKNOWN_TOPIC_ID else from_coordinator(error)
