"""In these models the tail of the transaction log is a Prepare record that is not replicated yet, and may be lost with
its leader.

The coordinator that wrote the record answers nothing and sends no marker until the record is replicated. A coordinator
that takes over reads the log to its end, past the high watermark, and sends markers of every Prepare record that it
finds there, at once (TransactionStateManager.loadTransactionsForTxnTopicPartition). If that coordinator is lost as well
before the record is replicated, its successor finds the transaction open, and may end it with another outcome than
those markers carried.
"""

from fencepost.model.language import Bool, action, each, excused, fault, require, when
from fencepost.model.transactions.abstract.core import Epoch, Outcome, Phase, Term, Txn
from fencepost.model.transactions.abstract.cores import V2Core


class Covered(V2Core):
    """In the `Covered` model a coordinator that takes over waits for replication as well before it sends markers."""

    outside = excused("markers of a Prepare record wait until it is replicated", "uncovered-log")

    uncovered: Bool  # the last Prepare record is not replicated
    written_in: Term  # the epoch of the coordinator that wrote it
    outcome_before: Outcome  # the outcome in the log without that record
    ended_before: Epoch
    marker_before: Epoch

    def prepare(s, outcome, marker, to):
        outcome_before, ended_before, marker_before = s.outcome, s.ended, s.marker_epoch
        V2Core.prepare(s, outcome, marker, to)
        s.uncovered = True
        s.written_in = s.term
        s.outcome_before = outcome_before
        s.ended_before = ended_before
        s.marker_before = marker_before

    @action(fair="weak")
    def cover(s):
        """The Prepare record is replicated."""
        require(s.uncovered)
        s.uncovered = False

    @action(fair="weak")
    def learn(s, t: Txn):
        """The owner receives the answer, which waits for the replication of the Prepare record."""
        require(~(s.uncovered & (s.number[t] == s.ended)))
        V2Core.learn(s, t)

    @action(fair="weak")
    def complete(s):
        """Every partition has the marker and the Prepare record is replicated, and the completion is recorded."""
        require(~s.uncovered)
        V2Core.complete(s)

    def take_marker(s, p, e, commit, k):
        require(~s.uncovered | ~s.is_current(p, e, commit) | s.sends_at_once(k))
        V2Core.take_marker(s, p, e, commit, k)

    def sends_at_once(s, k):
        """Return whether a coordinator of this epoch sent markers of a record that is not replicated."""
        return (k < s.written_in) & (s.written_in < k)

    @fault(budget="tails", danger=("uncovered-log", "coordinator-fail-over"))
    def lose_record(s):
        """A coordinator takes over whose log lacks the Prepare record."""
        ended, term = s.ended, s.term
        require((s.phase == Phase.PREPARED) & s.uncovered)
        s.markers = each(
            lambda p, e, commit, k: s.markers[p, e, commit, k] & (~s.is_current(p, e, commit) | s.sends_at_once(k))
        )
        s.result = each(lambda u: when(s.begun[u] & (s.number[u] == ended), Outcome.NONE, s.result[u]))
        s.success = each(lambda u: s.success[u] & (s.number[u] != ended))
        s.phase = Phase.ONGOING
        s.epoch = ended
        s.outcome = s.outcome_before
        s.ended = s.ended_before
        s.marker_epoch = s.marker_before
        s.marked = each(lambda p: False)
        s.term = term + 1
        s.uncovered = False


class Uncovered(Covered):
    """In the `Uncovered` model, as in Kafka, a coordinator that takes over sends the markers at once."""

    def sends_at_once(s, k):
        return s.written_in < k
