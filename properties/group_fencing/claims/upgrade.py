"""What is left of the promises while clients of both kinds are in one group."""

from fencepost.model.group_fencing.core import Member, Partition
from fencepost.model.group_fencing.upgrade import AsShipped, InTwoSteps, NoMap, NoWaiting, Upgrade
from fencepost.model.language import exists, forall, implies, lemma, witness
from fencepost.properties.group_fencing.claims.classic import ClassicLemmas, Eager
from fencepost.properties.group_fencing.claims.promises import Promises
from fencepost.properties.group_fencing.claims.transactions import UpgradeOverTransactions


class UpgradePromises(Promises, of=Upgrade):
    """Asked of the draft's words."""


class NoMapPromises(Promises, of=NoMap):
    """Asked without 447.8."""


class NoWaitingPromises(Promises, of=NoWaiting):
    """Asked without 447.9."""


class AsShippedPromises(Promises, of=AsShipped):
    """Asked of what shipped."""


class InTwoStepsLemmas(UpgradeOverTransactions, Eager, ClassicLemmas, of=InTwoSteps):
    """Of the upgrade in which every client sends its generation first."""

    @lemma
    def of_the_newest(s):
        """Whoever has the newest generation is a member."""
        return forall(Member, lambda m: implies(s.stamp[m] == s.newest, s.epoch[m] == s.newest))

    @witness(of="nothing_twice")
    def both_kinds(s):
        """An old client has processed inputs of a partition that a new one has been given."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: s.old[m] & ~s.old[n] & s.is_in(m, p) & s.has[n, p] & (s.owner[p] == n),
        )  # fmt: skip
