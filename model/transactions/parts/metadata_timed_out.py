"""In this model an append of the transaction log times out, and the log then has a record that memory does not.

While replicas lag, a record is appended to the leader's log and given up. Memory stays as it was, the client gets
COORDINATOR_NOT_AVAILABLE and asks again, and the record may be replicated after that. The next transition starts from
memory, and its record supersedes the one in doubt.
"""

from fencepost.model.language import Bool, Ghost, action, fault, open_hole, require
from fencepost.model.transactions.parts.metadata import Metadata, Stage


class MetadataTimedOut(Metadata):
    """In the `MetadataTimedOut` model only the last record in doubt is found. An earlier one differs from it only where
    two requests arrived in between, and the producer has one request at a time."""

    outside = open_hole("a record in the log is replicated in the end; log-covered has a tail that may be lost",
                        "uncovered-log")  # fmt: skip

    in_doubt: Ghost[Bool]  # the last record is one that timed out, and memory lacks it

    @fault(budget="failed_appends", danger="failed-append")
    def give_up(s):
        """An append times out before its record is replicated (TransactionStateManager.appendTransactionToLog): its
        transition is no longer pending, and the client gets no answer."""
        require((s.stage == Stage.WRITTEN) & ~s.completes())
        s.lose(s.answers)
        s.in_doubt = True
        s.drop()

    @action(fair="weak")
    def write(s):
        """The record of the transition is written to the log and supersedes one in doubt."""
        Metadata.write(s)
        s.in_doubt = False

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        """Another coordinator reads the last record, even if that is in doubt."""
        Metadata.fail_over(s)
        s.in_doubt = False
