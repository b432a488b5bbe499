"""Why groups with member epochs keep the promises, where metadata are read at the poll: nobody asks who the owner is.

The idea: a partition leaves its member between transactions, or together with the member's epoch; so an epoch that was
read with the inputs, and still is the member's, says that the partition is too.
"""

from fencepost.model.group_fencing.core import Member, Partition, Stage
from fencepost.model.group_fencing.modern import AtSend, AtSendListening, Modern, OwnedAtSend, Relaxed, RelaxedAtSend
from fencepost.model.language import forall, implies, lemma
from fencepost.properties.group_fencing.claims.core import Lemmas
from fencepost.properties.group_fencing.claims.promises import Promises


class EpochLemmas(Lemmas):
    """Lemmas of every form with epochs of members."""

    @lemma
    def epochs(s):
        """No epoch is newer than the group's, and none that a member has is newer than what the coordinator has."""
        return forall(
            Member,
            lambda m: (s.epoch[m] <= s.newest) & (s.knows[m] <= s.newest) & (s.stamp[m] <= s.newest)
            & implies(0 < s.epoch[m], (s.knows[m] <= s.epoch[m]) & (s.stamp[m] <= s.epoch[m])),
        )  # fmt: skip

    @lemma
    def owners_are_members(s):
        """An owner is a member, and was assigned the partition in an epoch of its own."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.owner[p] == m, (0 < s.epoch[m]) & (0 < s.since[m, p]) & (s.since[m, p] <= s.epoch[m])
            ),
        )  # fmt: skip

    @lemma
    def members_own(s):
        """A member owns what it believes to own, and has fetched no other."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.assigned[m, p] & (0 < s.epoch[m]), s.owner[p] == m)
            & implies(s.has[m, p], s.assigned[m, p]) & (s.first[m, p] <= s.next[m, p]),
        )  # fmt: skip

    @lemma
    def owner_goes_on(s):
        """What an owner has fetched, or committed since, is where the committed offset is or will be."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.has[m, p] & (s.owner[p] == m) & ~s.fenced[m], s.first[m, p] == s.where_it_goes_on(m, p)
            ),
        ) & forall(
            Member, Member, Partition,
            lambda m, n, p: implies(s.has[m, p] & (s.owner[p] == m) & (m != n), s.pending[n, p] == 0),
        )  # fmt: skip


class ReadAtThePoll(EpochLemmas):
    """Lemmas of both rules, where the epoch sent was read with the inputs."""

    @lemma
    def lost_is_later(s):
        """A partition that a transaction has inputs of is still held, or the member has a newer epoch by now, and so
        has the partition if it came back."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.is_in(m, p) & ~s.has[m, p],
                ((s.epoch[m] == 0) | (s.stamp[m] < s.epoch[m]))
                & implies(s.owner[p] == m, s.stamp[m] < s.since[m, p]),
            ),
        )  # fmt: skip

    @lemma
    def lost_together(s):
        """What a transaction has inputs of is lost together."""
        return forall(
            Member, Partition, Partition,
            lambda m, p, q: implies(
                s.is_in(m, p) & ~s.has[m, p],
                ~s.has[m, q] & implies(s.is_in(m, q) & (s.owner[q] == m), s.stamp[m] < s.since[m, q]),
            ),
        )  # fmt: skip

    @lemma
    def fetched_under_its_epoch(s):
        """A member knows an epoch in which it had what it has fetched; so it did when it polled."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.has[m, p] & (s.owner[p] == m),
                (s.since[m, p] <= s.knows[m]) & ((s.stage[m] == Stage.POLLING) | (s.since[m, p] <= s.stamp[m])),
            ),
        )  # fmt: skip


class ModernLemmas(ReadAtThePoll, of=Modern):
    """Of commits that need the exact epoch."""


class RelaxedLemmas(ReadAtThePoll, of=Relaxed):
    """Of KIP-1251."""


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
