"""What a transaction, its offsets and its member have to do with one another, in every form of group fencing."""

from fencepost.model.group_fencing.core import Fate, Member, Partition, Stage
from fencepost.model.language import forall, implies, lemma, when
from fencepost.properties.group_fencing.claims.promises import Promises
from fencepost.properties.group_fencing.claims.transactions import OverTransactions


class Lemmas(Promises, OverTransactions):
    """Lemmas of every form: what a transaction, its offsets and its member have to do with one another."""

    @lemma
    def between_transactions(s):
        """A member that polls has nothing in a transaction; one that does not has it open, or begun while the marker of
        the one before is on its way, or is fenced."""
        return forall(
            Member, Partition,
            lambda m, p: implies(s.stage[m] == Stage.POLLING, ~s.is_in(m, p)),
        ) & forall(
            Member,
            lambda m: implies(
                ~s.fenced[m],
                when(
                    s.stage[m] == Stage.POLLING,
                    s.fate[m] != Fate.OPEN,
                    (s.fate[m] != Fate.NONE) & implies(s.stage[m] == Stage.ACCEPTED, s.fate[m] == Fate.OPEN),
                ),
            )
            & implies(s.fenced[m], s.fate[m] != Fate.OPEN),
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
        """What a committed transaction has pending is where the output ends."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]), s.pending[m, p] == s.done[p]
            ),
        )  # fmt: skip


class OwnersGoOn(Lemmas):
    """Where commits are taken from those that own what they had."""

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
