"""What shipped, in cooperative rebalances; and what shipped over brokers that take a late copy of a commit."""

from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Epoch, Fate, Member, Offset, Partition, Stage
from fencepost.model.language import Map, Set, action, each, exists, fault, limit, require, when


class Cooperative(Shipped):
    """A member that takes part in every rebalance keeps its partitions, and goes on from where it was; one that missed
    a generation begins anew (incremental cooperative rebalancing, KIP-429)."""

    may_keep: Set[Member]  # was a member of the generation before this one

    @fault(budget="rebalances", danger="rebalance")
    def rebalance(s, g: Epoch):
        """A new generation, which nobody has joined yet; owners stay what they are."""
        require(s.newest < g)
        limit(g <= s.newest + 1)
        s.may_keep = each(lambda m: 0 < s.epoch[m])
        s.newest = g
        s.epoch = each(lambda m: 0)

    @action
    def rejoin(s, m: Member):
        """A member that polls joins the newest generation, with what it still owns."""
        require((s.stage[m] == Stage.POLLING) & (s.epoch[m] == 0))
        s.assigned = each(lambda n, p: s.assigned[n, p] & ((n != m) | (s.may_keep[m] & (s.owner[p] == m))))
        s.has = each(lambda n, p: s.has[n, p] & ((n != m) | (s.may_keep[m] & (s.owner[p] == m))))
        s.owner = each(lambda p: when((s.owner[p] == m) & ~s.may_keep[m], None, s.owner[p]))
        s.become_member(m, True)

    @action
    def give(s, m: Member, p: Partition):
        """A free partition is added to what a member has."""
        require((s.stage[m] == Stage.POLLING) & (0 < s.epoch[m]) & (s.owner[p] == None))  # noqa: E711
        s.owner[p] = m
        s.assigned[m, p] = True
        s.has[m, p] = False

    @action
    def take_away(s, m: Member, p: Partition):
        """Its owner has not joined in time."""
        require((s.owner[p] == m) & (s.epoch[m] == 0))
        s.owner[p] = None

    @action
    def revoke(s, m: Member, p: Partition):
        """A member that polls gives a partition up, for another one."""
        require((s.stage[m] == Stage.POLLING) & (0 < s.epoch[m]) & (s.owner[p] == m))
        s.owner[p] = None
        s.assigned[m, p] = False
        s.has[m, p] = False


class LateCopies(Shipped):
    """Over brokers that do not keep a late request out of the next transaction (before transaction.version 2): a copy
    of TxnOffsetCommit arrives in it, of the same producer, epoch and generation."""

    copy: Map[Member, Partition, Offset]
    copy_epoch: Map[Member, Epoch]

    @fault(budget="copies", danger=("late-copy", "duplicate"))
    def repeat(s, m: Member):
        """A request is sent again over another connection, and the first copy is not lost."""
        require(s.stage[m] == Stage.SENT)
        s.copy = each(lambda n, p: when((n == m) & s.is_in(n, p), s.next[n, p], s.copy[n, p]))
        s.copy_epoch[m] = s.stamp[m]

    @action
    def arrive(s, m: Member):
        """The copy arrives; the last offset that a producer sent counts."""
        require((s.fate[m] == Fate.OPEN) & ~s.fenced[m] & (s.epoch[m] == s.copy_epoch[m]))
        require(exists(Partition, lambda p: 0 < s.copy[m, p]))
        s.pending = each(lambda n, p: when((n == m) & (0 < s.copy[n, p]), s.copy[n, p], s.pending[n, p]))
        s.copy = each(lambda n, p: when(n == m, 0, s.copy[n, p]))
