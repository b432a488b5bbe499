"""What is left of the promises where appends to the transaction log time out: all of them.

The idea: a record in doubt says what the coordinator might do next anyway, and nothing is said of it before another
coordinator finds it.
"""

from fencepost.model.language import exists, forall, implies, lemma, witness
from fencepost.model.transactions.abstract.core import Fate, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.timed_out import TimedOutV2
from fencepost.properties.transactions.claims.core import V2Lemmas


class TimedOutV2Lemmas(V2Lemmas, of=TimedOutV2):
    """v2."""

    @lemma
    def doubts_of_the_present(s):
        """What is in doubt could be done now: no append has succeeded since."""
        return (
            implies(s.init_in_doubt, s.phase == Phase.IDLE)
            & implies(s.fence_in_doubt, s.phase == Phase.ONGOING)
            & forall(
                Txn,
                lambda t: implies(
                    s.ended_in_doubt[t],
                    s.begun[t] & (s.choice[t] != Outcome.NONE) & (s.number[t] == s.epoch) & s.may_end(t),
                ),
            )
            & forall(
                Partition,
                lambda p: implies(
                    s.added_in_doubt[p],
                    (s.phase != Phase.PREPARED) & exists(Txn, lambda t: s.begun[t] & (s.number[t] == s.epoch)),
                ),
            )
        )

    @witness(of="nothing_lost")
    def committed_unheard(s):
        """A transaction is committed in a partition, and its owner was sent away."""
        return exists(
            Txn,
            Partition,
            lambda t, p: (s.fate[t, p] == Fate.COMMITTED) & ~s.success[t],
        )

    @witness(of="nothing_hangs")
    def yes_in_doubt(s):
        """A leader has a yes for a record, and the abort of its transaction is in doubt."""
        return s.fence_in_doubt & exists(
            Txn, Partition, lambda t, p: s.asked[t, p] & s.cleared[t, p] & (s.fate[t, p] == Fate.ABSENT)
        )
