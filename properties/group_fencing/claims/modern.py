"""Why groups with member epochs keep the promises, where metadata are read at the poll: nobody asks who the owner is.

The idea: a partition leaves its member between transactions, or together with the member's epoch; so an epoch that was
read with the inputs, and still is the member's, says that the partition is too.
"""

from fencepost.model.group_fencing.core import Member, Partition, Stage
from fencepost.model.group_fencing.modern import (
    AtSend,
    AtSendListening,
    EpochAgain,
    Modern,
    OwnedAtSend,
    PatternChanged,
    Relaxed,
    RelaxedAtSend,
)
from fencepost.model.language import exists, forall, implies, lemma, witness
from fencepost.properties.group_fencing.claims.core import OwnersGoOn
from fencepost.properties.group_fencing.claims.promises import Promises


class EpochLemmas(OwnersGoOn):
    """Lemmas of every form with epochs of members."""

    @lemma
    def epochs(s):
        """No epoch is newer than the group's, and none that a member has is newer than what the coordinator has."""
        return forall(
            Member,
            lambda m: (0 < s.newest) & (s.epoch[m] <= s.newest) & (s.knows[m] <= s.newest) & (s.stamp[m] <= s.newest)
            & implies(0 < s.epoch[m], (s.knows[m] <= s.epoch[m]) & (s.stamp[m] <= s.epoch[m])),
        )  # fmt: skip

    @lemma
    def owners_are_members(s):
        """An owner is a member, or has left for a while, and was assigned the partition in an epoch of its own."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.owner[p] == m, ((0 < s.epoch[m]) | s.left[m]) & (s.since[p] <= s.epoch[m])
            ),
        ) & forall(Member, lambda m: implies(s.left[m], s.epoch[m] == 0))  # fmt: skip

    @lemma
    def members_own(s):
        """A member owns what it believes to own, or has a newer epoch by now; and it has fetched nothing else."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.assigned[m, p] & (0 < s.epoch[m]),
                (s.owner[p] == m) | ((s.knows[m] < s.epoch[m]) & (s.stamp[m] < s.epoch[m])),
            )
            & implies(s.has[m, p], s.assigned[m, p]) & (s.first[m, p] <= s.next[m, p]),
        )  # fmt: skip


class ReadAtThePoll(EpochLemmas):
    """Lemmas of both rules, where the epoch sent was read with the inputs."""

    @lemma
    def lost_is_later(s):
        """A partition that a transaction has inputs of is still held, or the member has a newer epoch by now, or it has
        dropped the partition without the coordinator's knowing."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.is_in(m, p) & ~s.has[m, p], (s.epoch[m] == 0) | (s.stamp[m] < s.epoch[m]) | s.is_still_its_own(m, p)
            ),
        )  # fmt: skip

    @lemma
    def left_is_dropped(s):
        """Who has left has dropped its partitions."""
        return forall(Member, Partition, lambda m, p: implies(s.left[m], ~s.assigned[m, p]))

    @lemma
    def dropped_goes_on(s):
        """What such a member had of the partition is where the committed offset is or will be."""
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
        """The member owns the partition since before it polled."""
        return (s.owner[p] == m) & (s.since[p] <= s.stamp[m])

    @lemma
    def fetched_under_its_epoch(s):
        """A member knows an epoch in which it had what it has fetched; so it did when it polled."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.has[m, p] & (s.owner[p] == m),
                s.had_it_in(m, p, s.knows[m]) & ((s.stage[m] == Stage.POLLING) | s.had_it_in(m, p, s.stamp[m])),
            ),
        )  # fmt: skip

    @witness(of="only_owners")
    def dropped_meanwhile(s):
        """Offsets are under way of a partition that the member has dropped, though it owns it, and would be taken."""
        return exists(
            Member, Partition,
            lambda m, p: (s.stage[m] == Stage.SENT) & s.is_in(m, p) & ~s.has[m, p] & s.takes_of(m, p, s.stamp[m]),
        )  # fmt: skip

    @witness(of="nothing_twice")
    def another_instance_goes_on(s):
        """Offsets are under way of a static member, while another instance has taken its place, and has fetched."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (m != n) & (s.stage[m] == Stage.SENT) & s.is_in(m, p) & s.has[n, p] & (s.owner[p] == n)
            & (s.since[p] == 0),
        )  # fmt: skip

    def had_it_in(s, m, p, e):
        """The epoch is one of the member, and not older than its assignment."""
        return (0 < e) & (s.since[p] <= e)


class ModernLemmas(ReadAtThePoll, of=Modern):
    """Of commits that need the exact epoch."""


class RelaxedLemmas(ReadAtThePoll, of=Relaxed):
    """Of KIP-1251."""


class PatternChangedPromises(Promises, of=PatternChanged):
    """Asked where an application changes its pattern in the middle of a transaction."""


class EpochAgainPromises(Promises, of=EpochAgain):
    """Asked where a member that was removed may have the epoch that it had."""


class AtSendListeningLemmas(EpochLemmas, of=AtSendListening):
    """Of metadata that are read at the send, by an application with a rebalance listener."""

    @lemma
    def in_is_had(s):
        """Nothing is lost in a transaction."""
        return forall(Member, Partition, lambda m, p: implies(s.is_in(m, p), s.has[m, p]))


class AtSendPromises(Promises, of=AtSend):
    """Asked where metadata are read at the send."""


class RelaxedAtSendPromises(Promises, of=RelaxedAtSend):
    """The same, of KIP-1251."""


class OwnedAtSendPromises(Promises, of=OwnedAtSend):
    """The same, where the coordinator asks who owns the partitions."""
