"""Why groups with generations keep the promises: the lemmas, with any number of members, partitions and generations.

The idea: whoever still passes the check has the partition, and fetched its offset when nobody else could pass any more
and nothing was pending.
"""

from fencepost.model.group_fencing.classic import (
    ByAssignment,
    ByGeneration,
    ByGenerationStatic,
    Draft,
    EqualRefused,
    GroupIdOnly,
    LateMarkers,
    Probing,
    Shipped,
)
from fencepost.model.group_fencing.cooperative import (
    Cooperative,
    DroppedMarkers,
    LateCopies,
    LateMarkersOfPartitions,
    TornTransactions,
)
from fencepost.model.group_fencing.core import Fate, Member, Partition
from fencepost.model.language import exists, forall, implies, lemma, promise, witness
from fencepost.properties.group_fencing.claims.core import Lemmas, OwnersGoOn
from fencepost.properties.group_fencing.claims.promises import Promises
from fencepost.properties.group_fencing.claims.transactions import DraftOverTransactions, OverTransactions


class Generations(Lemmas):
    """What generations and assignments are, however commits are fenced."""

    @lemma
    def in_is_had(s):
        """A transaction has inputs of partitions only whose offset was fetched, and those were assigned."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.is_in(m, p), s.has[m, p]) & implies(s.has[m, p], s.assigned[m, p])
            & (s.first[m, p] <= s.next[m, p]),
        )  # fmt: skip

    @lemma
    def generations(s):
        """A member is known under the newest generation or not at all, and knows none that is newer."""
        return forall(
            Member,
            lambda m: (0 < s.newest) & ((s.epoch[m] == 0) | ((s.epoch[m] == s.newest) & (s.stamp[m] == s.newest)))
            & (s.stamp[m] <= s.newest),
        )  # fmt: skip


class Eager(Generations):
    """Where partitions are given anew in each generation."""

    @lemma
    def owners_are_members(s):
        """An owner is a member, and knows its generation."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.owner[p] == m, (0 < s.epoch[m]) & (s.stamp[m] == s.epoch[m])),
        )  # fmt: skip


class ClassicLemmas(Generations, OwnersGoOn):
    """Lemmas of every form with generations."""

    @lemma
    def members_own(s):
        """A member of the newest generation owns what it believes to own."""
        return forall(
            Member, Partition,
            lambda m, p: implies((s.epoch[m] == s.stamp[m]) & (0 < s.stamp[m]) & s.assigned[m, p], s.owner[p] == m),
        )  # fmt: skip


class ShippedLemmas(Eager, ClassicLemmas, of=Shipped):
    """Of what shipped."""


class GroupIdOnlyPromises(Promises, of=GroupIdOnly):
    """Asked of clients that name the group alone."""


class LateMarkersPromises(Promises, of=LateMarkers):
    """Asked where markers need not come."""


class OfTheDraft(Promises):
    """What the draft promises besides."""

    @promise(rule="447.P3")
    def owner_is_not_fenced(s):
        """Nobody's initialisation fences a member that owns what it works on."""
        return ~s.owner_fenced

    @witness(of="owner_is_not_fenced")
    def stale_one_asks(s):
        """A member asks to be initialised for a partition that another one has been given since, and has fetched."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (m != n) & s.asks(m) & s.assigned[m, p] & s.has[n, p] & (s.owner[p] == n) & ~s.fenced[n],
        )  # fmt: skip


class DraftPromises(Promises, of=Draft):
    """The promises, asked of the draft as it is written."""


class ProbingPromises(Promises, of=Probing):
    """Asked where a broker of an older version may coordinate the group."""


class ByGenerationLemmas(DraftOverTransactions, Eager, ClassicLemmas, of=ByGeneration):
    """Of the repair that compares with the group's generation."""

    @lemma
    def of_the_newest(s):
        """Whoever has the newest generation is a member."""
        return forall(Member, lambda m: implies(s.stamp[m] == s.newest, s.epoch[m] == s.newest))

    @lemma
    def initialised_is_settled(s):
        """Once an owner has been initialised, nobody else's commit of its partition is pending or comes."""
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


class ByGenerationStaticPromises(Promises, of=ByGenerationStatic):
    """The same repair, asked with static members."""


class ByAssignmentLemmas(DraftOverTransactions, Eager, OfTheDraft, of=ByAssignment):
    """Of the repair that fences by remembered assignment: who has fetched and is not fenced is remembered, alone."""

    @lemma
    def last_is_past(s):
        """What is remembered of the last commits is of no later generation than the group's."""
        return forall(Partition, lambda p: s.last_epoch[p] <= s.newest)

    @lemma
    def had_is_remembered(s):
        """A member that is not fenced is remembered for what it has fetched, and for what it was initialised for."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                ~s.fenced[m] & (s.has[m, p] | (s.ready[m] & s.assigned[m, p])), s.remembers[m, p]
            ),
        )  # fmt: skip

    @lemma
    def initialised_is_settled(s):
        """Once a member has been initialised, and unless it is fenced, nobody else's commit is pending or comes."""
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
        """Of a partition one member at most is remembered."""
        return forall(
            Member, Member, Partition,
            lambda m, n, p: implies(s.remembers[m, p] & s.remembers[n, p], m == n),
        )  # fmt: skip

    @lemma
    def goes_on_from_there(s):
        """What a member has fetched that is not fenced, or committed since, is where the committed offset is or will
        be."""
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


class EqualRefusedPromises(OfTheDraft, of=EqualRefused):
    """Asked where an initialisation of an equal generation is refused."""


class CooperativeLemmas(ClassicLemmas, of=Cooperative):
    """Of what shipped, in cooperative rebalances."""


class LateCopiesPromises(Promises, OverTransactions, of=LateCopies):
    """Asked over brokers that take late copies."""


class LateMarkersOfPartitionsPromises(Promises, of=LateMarkersOfPartitions):
    """Asked over brokers on which a late marker decides the next transaction."""


class DroppedMarkersPromises(Promises, of=DroppedMarkers):
    """Asked over brokers that drop the marker of a partition without a leader."""


class TornTransactionsPromises(Promises, of=TornTransactions):
    """Asked over coordinators that send markers of a record that may be lost."""
