"""All that a coordinator knows of an id, where appends time out: then the log says more than memory does.

While replicas lag, a record gets into the log of the leader and is given up: memory keeps what it had, its sender is
told COORDINATOR_NOT_AVAILABLE and asks again, and the record may be replicated after that.  The next transition starts
from memory, and its record takes the place of the one in doubt.
"""

from fencepost.model.language import Bool, Ghost, action, fault, open_hole, require
from fencepost.model.transactions.parts.metadata import Metadata, Stage


class MetadataTimedOut(Metadata):
    """Of the records in doubt only the last one is found: an earlier one differs from it where two requests came in
    between, and the producer has one at a time."""

    outside = open_hole("a record in the log is replicated in the end; log-covered has a tail that may be lost",
                        "uncovered-log")  # fmt: skip

    in_doubt: Ghost[Bool]  # the last record is one that timed out, and memory lacks it

    @fault(budget="failed_appends", danger="failed-append")
    def give_up(s):
        """Its time is up before it is replicated (TransactionStateManager.appendTransactionToLog): what was pending is
        no more, and no client is answered."""
        require((s.stage == Stage.WRITTEN) & ~s.completes())
        s.lose(s.answers)
        s.in_doubt = True
        s.drop()

    @action(fair="weak")
    def write(s):
        """A record is made of the transition, and is in the log."""
        Metadata.write(s)
        s.in_doubt = False

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        """Another coordinator reads the record, in doubt or not."""
        Metadata.fail_over(s)
        s.in_doubt = False
