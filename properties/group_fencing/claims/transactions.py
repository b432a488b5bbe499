"""What the transactions of a group's members have to do with transactions: every member's are those of their interface.

`Fated` is what the core of v2 is proved to do, for each client and the partition of the group's offsets, with requests
that are lost, late and repeated, coordinators that change, overlap and leave appends in doubt (transactions/
core-v2-fated, core-v2-overlapping-fated, core-v2-timed-out-fated).  Here it is what the group does for each member.
Both directions are stated: what a group does is a step of the interface, and what transactions do on their own a group
is never in the way of.
"""

from fencepost.model.group_fencing.core import Fate, Member, Partition, Stage
from fencepost.model.language import Properties, exists, refinement, unhindered, when
from fencepost.model.transactions.abstract.core import Outcome
from fencepost.model.transactions.abstract.fated import Fated

STEPS: dict[str, tuple[str, ...]] = {"process": ("begin",), "refuse": ("abort",)}
"""What actions are to a member's transactions that do not have the name of a step of theirs."""


class OverTransactions(Properties):
    """Of each member."""

    def transactions_of(s, m):
        return {
            "open": (s.stage[m] != Stage.POLLING) & ~s.fenced[m],
            "accepted": (s.fate[m] != Fate.ABORTED) & exists(Partition, lambda p: 0 < s.pending[m, p]),
            "decided": when(
                s.fate[m] == Fate.COMMITTED,
                Outcome.COMMIT,
                when(s.fate[m] == Fate.ABORTED, Outcome.ABORT, Outcome.NONE),
            ),
            "fenced": s.fenced[m],
            "astray": exists(Partition, lambda p: s.is_astray(m, p)),
        }

    def is_astray(s, m, p):
        """Offsets are pending in the open transaction that it was not what was sent for."""
        of_it = (s.stage[m] == Stage.ACCEPTED) & (s.pending[m, p] == s.next[m, p])
        return (s.fate[m] == Fate.OPEN) & ~s.fenced[m] & (0 < s.pending[m, p]) & ~of_it

    @refinement(of=Fated, actions=STEPS)
    def does_as_fated(s, m: Member):
        """How a member's transactions look to the transaction coordinator."""
        return s.transactions_of(m)

    @unhindered(does_as_fated, "end", "give_up", "fence")
    def follows_transactions(s):
        """A marker that arrives, a transaction that is aborted, a producer that is fenced: whenever transactions may do
        that to a member, the group goes along."""


class DraftOverTransactions(OverTransactions):
    """Where the initialisation of one member aborts the transactions of others."""

    @refinement(of=Fated, actions=STEPS | {"abort_for": ("give_up", "fence")})
    def does_as_fated(s, m: Member):
        """How a member's transactions look to the transaction coordinator."""
        return s.transactions_of(m)


class UpgradeOverTransactions(OverTransactions):
    """Where an old client takes the transactional id of a partition over besides."""

    @refinement(of=Fated, actions=STEPS | {"abort_for": ("give_up", "fence"), "claim": ("give_up",)})
    def does_as_fated(s, m: Member):
        """How a member's transactions look to the transaction coordinator."""
        return s.transactions_of(m)
