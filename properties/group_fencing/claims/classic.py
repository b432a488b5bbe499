"""Why groups with generations keep the promises: the lemmas, with any number of members, partitions and generations.

The idea: whoever still passes the check has the partition, and fetched its offset when nobody else could pass any more
and nothing was pending.
"""

from fencepost.model.group_fencing.classic import Draft, Shipped
from fencepost.model.group_fencing.core import Fate, Member, Offset, Partition, Stage
from fencepost.model.language import forall, implies, lemma, when
from fencepost.properties.group_fencing.claims.promises import Promises


class Lemmas(Promises):
    """Lemmas of every form: what a transaction, its offsets and its member have to do with one another."""

    @lemma
    def in_is_had(s):
        """A transaction has inputs of partitions only whose offset was fetched, and those were assigned."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.is_in(m, p), s.has[m, p]) & implies(s.has[m, p], s.assigned[m, p])
            & (s.first[m, p] <= s.next[m, p]),
        )  # fmt: skip

    @lemma
    def between_transactions(s):
        """A member that polls has nothing in a transaction; one that does not has it open, or is fenced."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.stage[m] == Stage.POLLING, ~s.is_in(m, p) & ~(s.fenced[m] & s.has[m, p])),
        ) & forall(
            Member,
            lambda m: implies(~s.fenced[m], (s.stage[m] == Stage.POLLING) == (s.fate[m] != Fate.OPEN)),
        )  # fmt: skip

    @lemma
    def pending_in_a_transaction(s):
        """Offsets are pending of a transaction that is not over; of an open one whose producer is not fenced they are
        what its member has processed."""
        return forall(
            Member, Partition,
            lambda m, p: implies(0 < s.pending[m, p], s.fate[m] != Fate.NONE)
            & implies(
                (s.fate[m] == Fate.OPEN) & ~s.fenced[m] & (s.stage[m] == Stage.ACCEPTED) & s.is_in(m, p),
                s.pending[m, p] == s.next[m, p],
            )
            & implies(
                (s.fate[m] == Fate.OPEN) & ~s.fenced[m] & (0 < s.pending[m, p]),
                (s.stage[m] == Stage.ACCEPTED) & s.is_in(m, p),
            ),
        )  # fmt: skip

    def where_it_goes_on(s, m, p):
        """The committed offset, or the one that the member's last transaction brings."""
        decided = (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p])
        return when(decided, s.pending[m, p], s.committed[p])

    @lemma
    def one_is_pending(s):
        """Of a partition the offsets of one member at most are pending."""
        return forall(
            Member, Member, Partition,
            lambda m, n, p: implies((0 < s.pending[m, p]) & (0 < s.pending[n, p]), m == n),
        )  # fmt: skip

    @lemma
    def pending_goes_on(s):
        """What is pending of an open transaction begins at the committed offset; of a decided one it is past it."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                (0 < s.pending[m, p]) & (s.fate[m] == Fate.OPEN) & ~s.fenced[m], s.first[m, p] == s.committed[p]
            )
            & implies((0 < s.pending[m, p]) & (s.fate[m] == Fate.COMMITTED), s.committed[p] < s.pending[m, p]),
        )  # fmt: skip

    @lemma
    def decided_is_done(s):
        """What a committed transaction has pending is done."""
        return forall(
            Member, Partition, Offset,
            lambda m, p, i: implies((s.fate[m] == Fate.COMMITTED) & (i < s.pending[m, p]), s.done[p, i]),
        )  # fmt: skip


class ShippedLemmas(Lemmas, of=Shipped):
    """Lemmas of what shipped."""

    @lemma
    def generations(s):
        """A member is known under the newest generation or not at all, and knows none that is newer."""
        return forall(
            Member,
            lambda m: ((s.epoch[m] == 0) | ((s.epoch[m] == s.newest) & (s.stamp[m] == s.newest)))
            & (s.stamp[m] <= s.newest),
        )  # fmt: skip

    @lemma
    def owners_are_members(s):
        """An owner is a member, and knows its generation."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.owner[p] == m, (0 < s.epoch[m]) & (s.stamp[m] == s.epoch[m])),
        )  # fmt: skip

    @lemma
    def members_own(s):
        """A member of the newest generation owns what it believes to own."""
        return forall(
            Member, Partition,
            lambda m, p: implies((s.epoch[m] == s.stamp[m]) & (0 < s.stamp[m]) & s.assigned[m, p], s.owner[p] == m),
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


class DraftPromises(Promises, of=Draft):
    """The promises, asked of the draft as it is written."""
