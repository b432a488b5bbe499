"""This module states why groups with generations fulfil the promises: the lemmas, with any number of members,
partitions and generations.

The idea of the proof: a member that still passes the check owns the partition, and fetched its offset when no other
member could pass the check any more and nothing was pending.
"""

from fencepost.model.group_fencing.classic import (
    ByAssignment,
    ByGeneration,
    Shipped,
)
from fencepost.model.group_fencing.core import Fate, Member, Partition, Stage
from fencepost.model.group_fencing.modern import (
    AtSendListening,
)
from fencepost.model.group_fencing.upgrade import InTwoSteps
from fencepost.model.language import exists, forall, implies, lemma, promise, witness
from fencepost.properties.group_fencing.claims.core import (
    DraftOverTransactions,
    Lemmas,
    OwnersGoOn,
    Promises,
    UpgradeOverTransactions,
)


class Generations(Lemmas):
    """The lemmas of `Generations` state what generations and assignments are, however commits are fenced."""

    @lemma
    def in_is_had(s):
        """A transaction has inputs only of fetched partitions, and only assigned partitions are fetched."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.is_in(m, p), s.has[m, p]) & implies(s.has[m, p], s.assigned[m, p])
            & (s.first[m, p] <= s.next[m, p]),
        )  # fmt: skip

    @lemma
    def generations(s):
        """The coordinator knows a member under the newest generation or not at all, and no member knows a newer one."""
        return forall(
            Member,
            lambda m: (0 < s.newest) & ((s.epoch[m] == 0) | ((s.epoch[m] == s.newest) & (s.stamp[m] == s.newest)))
            & (s.stamp[m] <= s.newest),
        )  # fmt: skip


class Eager(Generations):
    """The lemmas of `Eager` hold where partitions are assigned anew in each generation."""

    @lemma
    def owners_are_members(s):
        """An owner is a member and knows its generation."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.owner[p] == m, (0 < s.epoch[m]) & (s.stamp[m] == s.epoch[m])),
        )  # fmt: skip


class ClassicLemmas(Generations, OwnersGoOn):
    """The lemmas of `ClassicLemmas` hold of every form with generations."""

    @lemma
    def members_own(s):
        """A member of the newest generation owns what it believes to own."""
        return forall(
            Member, Partition,
            lambda m, p: implies((s.epoch[m] == s.stamp[m]) & (0 < s.stamp[m]) & s.assigned[m, p], s.owner[p] == m),
        )  # fmt: skip


class ShippedLemmas(Eager, ClassicLemmas, of=Shipped):
    """`ShippedLemmas` has the lemmas of what shipped."""


class OfTheDraft(Promises):
    """The draft makes this promise in addition."""

    @promise(rule="447.P3", broken="an initialisation fences a member that owns the partitions on which it works")
    def owner_is_not_fenced(s):
        """No initialisation fences a member that owns the partitions on which it works."""
        return ~s.owner_fenced

    @witness(of="owner_is_not_fenced")
    def stale_one_asks(s):
        """A member asks to be initialised for a partition that another member has been assigned since, and of which
        that one has fetched the offset."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (m != n) & s.asks(m) & s.assigned[m, p] & s.has[n, p] & (s.owner[p] == n) & ~s.fenced[n],
        )  # fmt: skip


class ByGenerationLemmas(DraftOverTransactions, Eager, ClassicLemmas, of=ByGeneration):
    """The lemmas of `ByGenerationLemmas` are for the repaired draft that compares with the group's generation."""

    @lemma
    def of_the_newest(s):
        """A client that has the newest generation is a member."""
        return forall(Member, lambda m: implies(s.stamp[m] == s.newest, s.epoch[m] == s.newest))

    @lemma
    def initialised_is_settled(s):
        """Once an owner has been initialised, no other member's commit of its partition is or will be pending."""
        return forall(
            Member, Member, Partition,
            lambda m, n, p: implies(
                s.ready[m] & s.assigned[m, p] & (s.owner[p] == m) & (m != n), s.pending[n, p] == 0
            ),
        ) & forall(
            Member, Partition,
            lambda m, p: implies(
                s.ready[m] & s.assigned[m, p] & ~s.has[m, p] & (0 < s.pending[m, p]), s.fate[m] != Fate.COMMITTED
            ),
        )  # fmt: skip


class ByAssignmentLemmas(DraftOverTransactions, Eager, OfTheDraft, of=ByAssignment):
    """The lemmas of `ByAssignmentLemmas` are for the repaired draft that fences by remembered assignment. Of the
    members that have fetched a partition's offset and are not fenced, only the remembered one exists."""

    @lemma
    def last_is_past(s):
        """The remembered generation of the last commit is not later than the group's."""
        return forall(Partition, lambda p: s.last_epoch[p] <= s.newest)

    @lemma
    def had_is_remembered(s):
        """A member that is not fenced is remembered for each partition whose offset it has fetched, and for each
        partition for which it was initialised."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                ~s.fenced[m] & (s.has[m, p] | (s.ready[m] & s.assigned[m, p])), s.remembers[m, p]
            ),
        )  # fmt: skip

    @lemma
    def initialised_is_settled(s):
        """Once a member has been initialised, and is not fenced, no other member's commit is or will be pending."""
        return forall(
            Member, Member, Partition,
            lambda m, n, p: implies(
                s.ready[m] & s.assigned[m, p] & ~s.fenced[m] & (m != n), s.pending[n, p] == 0
            ),
        ) & forall(
            Member, Partition,
            lambda m, p: implies(
                s.ready[m] & s.assigned[m, p] & ~s.has[m, p] & (0 < s.pending[m, p]), s.fate[m] != Fate.COMMITTED
            ),
        )  # fmt: skip

    @lemma
    def one_is_remembered(s):
        """At most one member is remembered for a partition."""
        return forall(
            Member, Member, Partition,
            lambda m, n, p: implies(s.remembers[m, p] & s.remembers[n, p], m == n),
        )  # fmt: skip

    @lemma
    def goes_on_from_there(s):
        """The offset that a member which is not fenced has fetched, or has committed since, is the committed offset or
        the one that its last transaction brings."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.has[m, p] & ~s.fenced[m], s.first[m, p] == s.where_it_goes_on(m, p)),
        ) & forall(
            Member, Member, Partition,
            lambda m, n, p: implies(s.has[m, p] & ~s.fenced[m] & (m != n), s.pending[n, p] == 0),
        )  # fmt: skip

    @witness(of="nothing_twice")
    def copies_part(s):
        """The transaction coordinator remembers another member than the one that the group has made the owner."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (m != n) & s.remembers[m, p] & ~s.fenced[m] & (s.owner[p] == n),
        )  # fmt: skip


# These are the promises that remain while clients of both kinds are in one group.


class InTwoStepsLemmas(UpgradeOverTransactions, Eager, ClassicLemmas, of=InTwoSteps):
    """The lemmas of `InTwoStepsLemmas` are for the upgrade in which every client sends its generation first."""

    of_the_newest = ByGenerationLemmas.of_the_newest

    @witness(of="nothing_twice")
    def both_kinds(s):
        """An old client has processed inputs of a partition that a new client has been assigned."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: s.old[m] & ~s.old[n] & s.is_in(m, p) & s.has[n, p] & (s.owner[p] == n),
        )  # fmt: skip


# These lemmas state why groups with member epochs fulfil the promises, where metadata are read at the poll and no
# coordinator checks the owner.
#
# The idea of the proof: a partition leaves its member between transactions, or together with the member's epoch. So if
# an epoch that was read with the inputs is still the member's, the partition is too.


class EpochLemmas(OwnersGoOn):
    """The lemmas of `EpochLemmas` hold of every form with epochs of members."""

    @lemma
    def epochs(s):
        """No epoch is newer than the group's, and no member's is newer than the coordinator's for that member."""
        return forall(
            Member,
            lambda m: (0 < s.newest) & (s.epoch[m] <= s.newest) & (s.knows[m] <= s.newest) & (s.stamp[m] <= s.newest)
            & implies(0 < s.epoch[m], (s.knows[m] <= s.epoch[m]) & (s.stamp[m] <= s.epoch[m])),
        )  # fmt: skip

    @lemma
    def owners_are_members(s):
        """An owner is a member, or a static one that has left for a while, and got the partition in its own epoch."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.owner[p] == m, ((0 < s.epoch[m]) | s.left[m]) & (s.since[p] <= s.epoch[m])
            ),
        ) & forall(Member, lambda m: implies(s.left[m], s.epoch[m] == 0))  # fmt: skip

    @lemma
    def members_own(s):
        """A member owns what it believes to own, or has a newer epoch by now, and has fetched nothing else."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.assigned[m, p] & (0 < s.epoch[m]),
                (s.owner[p] == m) | ((s.knows[m] < s.epoch[m]) & (s.stamp[m] < s.epoch[m])),
            )
            & implies(s.has[m, p], s.assigned[m, p]) & (s.first[m, p] <= s.next[m, p]),
        )  # fmt: skip


class ReadAtThePoll(EpochLemmas):
    """The lemmas of `ReadAtThePoll` hold of both rules where the epoch that is sent was read with the inputs."""

    @lemma
    def lost_is_later(s):
        """Each partition of which a transaction has inputs is still held, or the member has a newer epoch by now, or it
        has dropped the partition without the coordinator knowing."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.is_in(m, p) & ~s.has[m, p], (s.epoch[m] == 0) | (s.stamp[m] < s.epoch[m]) | s.is_still_its_own(m, p)
            ),
        )  # fmt: skip

    @lemma
    def left_is_dropped(s):
        """A static member that has left has dropped its partitions."""
        return forall(Member, Partition, lambda m, p: implies(s.left[m], ~s.assigned[m, p]))

    @lemma
    def dropped_goes_on(s):
        """The position of a member in a partition that it has dropped without the coordinator knowing is the committed
        offset or the one that its last transaction brings."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.is_in(m, p) & (0 < s.epoch[m]) & s.is_still_its_own(m, p) & ~s.fenced[m],
                s.first[m, p] == s.where_it_goes_on(m, p),
            ),
        ) & forall(
            Member, Member, Partition,
            lambda m, n, p: implies(
                s.is_in(m, p) & (0 < s.epoch[m]) & s.is_still_its_own(m, p) & (m != n), s.pending[n, p] == 0
            ),
        )  # fmt: skip

    def is_still_its_own(s, m, p):
        """Return whether the member has owned the partition since before it polled."""
        return (s.owner[p] == m) & (s.since[p] <= s.stamp[m])

    @lemma
    def fetched_under_its_epoch(s):
        """A member knows, and knew at its poll, an epoch in which it owned each partition that it has fetched."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.has[m, p] & (s.owner[p] == m),
                s.had_it_in(m, p, s.knows[m]) & ((s.stage[m] == Stage.POLLING) | s.had_it_in(m, p, s.stamp[m])),
            ),
        )  # fmt: skip

    @witness(of="only_owners")
    def dropped_meanwhile(s):
        """Offsets are in flight for a partition that the member has dropped but still owns, and would be accepted."""
        return exists(
            Member, Partition,
            lambda m, p: (s.stage[m] == Stage.SENT) & s.is_in(m, p) & ~s.has[m, p] & s.takes_of(m, p, s.stamp[m]),
        )  # fmt: skip

    @witness(of="nothing_twice")
    def another_instance_goes_on(s):
        """Offsets are in flight from a static member, while another instance has replaced it and has fetched."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (m != n) & (s.stage[m] == Stage.SENT) & s.is_in(m, p) & s.has[n, p] & (s.owner[p] == n)
            & (s.since[p] == 0),
        )  # fmt: skip

    def had_it_in(s, m, p, e):
        """Return whether the epoch is one of the member, and not older than its assignment of the partition."""
        return (0 < e) & (s.since[p] <= e)


class AtSendListeningLemmas(EpochLemmas, of=AtSendListening):
    """The lemmas of `AtSendListeningLemmas` are for metadata read at the send, with a rebalance listener."""

    @lemma
    def in_is_had(s):
        """A member still has each partition of which its transaction has inputs."""
        return forall(Member, Partition, lambda m, p: implies(s.is_in(m, p), s.has[m, p]))
