"""What the tail of the transaction log leaves of the promises: all, if markers wait until it is replicated.

But for one: the epoch of the id goes down when a record is lost.  The epoch that is lost was given to no producer.
"""

from fencepost.model.language import Bool, exists, forall, implies, lemma, witness
from fencepost.model.transactions.abstract.core import (
    Client,
    Epoch,
    Fate,
    Outcome,
    Partition,
    Phase,
    Term,
    Txn,
)
from fencepost.model.transactions.abstract.uncovered import Covered, Uncovered
from fencepost.properties.transactions.claims.core import V2Lemmas
from fencepost.properties.transactions.claims.promises import Promises


class CoveredPromises(Promises, of=Covered):
    """The promises, with a tail that may be lost."""

    @witness(of="one_fate")
    def lost_and_ended_otherwise(s):
        """An owner asked for a commit, and its transaction was aborted: its Prepare was lost."""
        return exists(Txn, lambda t: (s.choice[t] == Outcome.COMMIT) & (s.result[t] == Outcome.ABORT))


class CoveredLemmas(V2Lemmas, CoveredPromises, of=Covered):
    """Why the promises hold where markers wait: no producer knows of a record that has no copy."""

    @lemma
    def nobody_was_told(s):
        """No owner knows of a record without a copy, and no producer was given the epoch that comes after it."""
        return implies(
            s.uncovered,
            (s.phase == Phase.PREPARED)
            & forall(Txn, lambda t: implies(s.begun[t] & (s.number[t] == s.ended), ~s.told[t]))
            & forall(Txn, lambda t: implies(s.success[t], (s.follows[t] <= s.ended) | (s.number[t] == s.ended)))
            & forall(Client, Epoch, lambda c, e: implies(s.given[c, e], e <= s.ended)),
        )

    @lemma
    def nothing_was_marked(s):
        """No partition has its marker, and all that were written for it can be taken back."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(
                s.uncovered & (s.begun[t] & (s.number[t] == s.ended)),
                (s.fate[t, p] == Fate.ABSENT) | (s.fate[t, p] == Fate.OPEN),
            ),
        ) & forall(
            Partition, Epoch, Bool, Term,
            lambda p, e, commit, k: implies(
                s.uncovered & s.markers[p, e, commit, k], (e <= s.ended) | s.is_current(p, e, commit)
            ),
        )  # fmt: skip

    @lemma
    def said_before(s):
        """What the log says without it is of an earlier transaction."""
        return implies(
            s.uncovered & (s.outcome_before != Outcome.NONE),
            (s.ended_before < s.ended) & exists(Txn, lambda t: s.begun[t] & (s.number[t] == s.ended_before)),
        ) & (s.ended_before <= s.ended)


class UncoveredPromises(CoveredPromises, of=Uncovered):
    """The promises, of coordinators that do not wait."""
