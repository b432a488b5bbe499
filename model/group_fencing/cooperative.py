"""This module has what shipped in cooperative rebalances, and what shipped over brokers that accept a late copy of a
commit, or whose markers arrive late, not at all, or for a record that is lost."""

from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Epoch, Fate, Member, Offset, Partition, Stage
from fencepost.model.language import Map, Set, action, each, exists, fault, limit, require, when


class Cooperative(Shipped):
    """A member that takes part in every rebalance retains its partitions and goes on from where it was, and one that
    missed a generation begins anew (incremental cooperative rebalancing, KIP-429)."""

    may_keep: Set[Member]  # the member was in the generation before this one

    @fault(budget="rebalances", danger="rebalance")
    def rebalance(s, g: Epoch):
        """A new generation begins without members, and the owners of partitions stay the same."""
        require(s.newest < g)
        limit(g <= s.newest + 1)
        s.may_keep = each(lambda m: 0 < s.epoch[m])
        s.newest = g
        s.epoch = each(lambda m: 0)

    @action
    def rejoin(s, m: Member):
        """A member that polls joins the newest generation, with the partitions that it still owns."""
        require((s.stage[m] == Stage.POLLING) & (s.epoch[m] == 0))
        s.assigned = each(lambda n, p: s.assigned[n, p] & ((n != m) | (s.may_keep[m] & (s.owner[p] == m))))
        s.has = each(lambda n, p: s.has[n, p] & ((n != m) | (s.may_keep[m] & (s.owner[p] == m))))
        s.owner = each(lambda p: when((s.owner[p] == m) & ~s.may_keep[m], None, s.owner[p]))
        s.become_member(m, True)

    @action
    def give(s, m: Member, p: Partition):
        """A free partition is added to the partitions of a member."""
        require((s.stage[m] == Stage.POLLING) & (0 < s.epoch[m]) & (s.owner[p] == None))  # noqa: E711
        s.owner[p] = m
        s.assigned[m, p] = True
        s.has[m, p] = False

    @action(by="coordinator")
    def take_away(s, m: Member, p: Partition):
        """A partition becomes free because its owner has not joined in time."""
        require((s.owner[p] == m) & (s.epoch[m] == 0))
        s.owner[p] = None

    @action
    def revoke(s, m: Member, p: Partition):
        """A member that polls gives a partition up for another member."""
        require((s.stage[m] == Stage.POLLING) & (0 < s.epoch[m]) & (s.owner[p] == m))
        s.owner[p] = None
        s.assigned[m, p] = False
        s.has[m, p] = False


class LateCopies(Shipped):
    """The brokers accept a late request into the next transaction (before transaction.version 2): a copy of
    TxnOffsetCommit arrives in it, with the same producer, epoch and generation."""

    copy: Map[Member, Partition, Offset]
    copy_epoch: Map[Member, Epoch]

    @fault(budget="copies", danger=("late-copy", "duplicate"))
    def repeat(s, m: Member):
        """A member sends TxnOffsetCommit again over another connection, and the first copy is not lost."""
        require(s.stage[m] == Stage.SENT)
        s.copy = each(lambda n, p: when((n == m) & s.is_in(n, p), s.next[n, p], s.copy[n, p]))
        s.copy_epoch[m] = s.stamp[m]

    @action
    def arrive(s, m: Member):
        """The late copy of TxnOffsetCommit arrives, and replaces the offsets that the producer sent before."""
        require((s.fate[m] == Fate.OPEN) & ~s.fenced[m] & (s.epoch[m] == s.copy_epoch[m]))
        require(exists(Partition, lambda p: 0 < s.copy[m, p]))
        s.pending = each(lambda n, p: when((n == m) & (0 < s.copy[n, p]), s.copy[n, p], s.pending[n, p]))
        s.copy = each(lambda n, p: when(n == m, 0, s.copy[n, p]))


class TornTransactions(Shipped):
    """Coordinators of transaction.version 2 take over a Prepare record that is not replicated yet (Kafka 4.0 and
    later).

    A coordinator that takes over reads its log to the end, past the high watermark, and at once sends markers of every
    Prepare that it finds there (TransactionStateManager.loadTransactionsForTxnTopicPartition). If such a record is lost
    before it is replicated, the next coordinator finds the transaction open, and may end it otherwise, as in
    transaction-partitions/log-uncovered. The record is lost first here, since nothing else happens to the transaction
    before. Where one outcome has arrived the other is refused, and so is any in the next transaction (KIP-1228, since
    4.2; `LateMarkersOfPartitions` has the time before it).
    """

    stray: Map[Member, Fate]  # the outcome of the lost record, whose markers are on their way
    outputs: Map[Member, Fate]  # the outcome that one of those markers brought to the outputs

    @fault(budget="tails", danger=("uncovered-log", "coordinator-fail-over"))
    def lose_record(s, m: Member, o: Fate):
        """A Prepare record is lost: the member has asked for a commit whose answer waits for replication, or the
        transaction had timed out without the member's knowledge."""
        require((s.stage[m] == Stage.ACCEPTED) & (s.fate[m] == Fate.OPEN) & ~s.fenced[m])
        require((o == Fate.COMMITTED) | (o == Fate.ABORTED))
        s.stray[m] = o

    @action
    def commit_outputs(s, m: Member):
        """A commit marker of the lost record reaches the outputs."""
        require((s.stray[m] == Fate.COMMITTED) & (s.outputs[m] == Fate.NONE) & (s.fate[m] == Fate.OPEN))
        s.count_outputs(m)
        s.outputs[m] = Fate.COMMITTED

    @action
    def abort_outputs(s, m: Member):
        """An abort marker of the lost record reaches the outputs."""
        require((s.stray[m] == Fate.ABORTED) & (s.fate[m] == Fate.OPEN))
        s.outputs[m] = Fate.ABORTED

    @action
    def decide_offsets(s, m: Member):
        """A marker of the lost record reaches the offsets, which are committed or dropped, and no fetch waits for them
        any more."""
        commits = s.stray[m] == Fate.COMMITTED
        require((commits | (s.stray[m] == Fate.ABORTED)) & (s.fate[m] == Fate.OPEN))
        s.committed = each(lambda p: when(commits & (0 < s.pending[m, p]), s.pending[m, p], s.committed[p]))
        s.pending = each(lambda n, p: when(n == m, 0, s.pending[n, p]))

    def counts(s, m, p):
        """Return whether a commit counts the outputs of the partition, which it does not if a marker has decided
        them."""
        return Shipped.counts(s, m, p) & (s.outputs[m] == Fate.NONE)

    @action
    def abort(s, m: Member):
        """A member aborts its transaction unless it has asked for a commit."""
        require(s.stray[m] != Fate.COMMITTED)
        Shipped.abort(s, m)

    def ends(s, m):
        s.stray[m] = Fate.NONE
        s.outputs[m] = Fate.NONE


class LateMarkersOfPartitions(TornTransactions):
    """In Kafka 4.0 and 4.1 (before KIP-1228) a late copy of a transaction's marker decides the offsets of the
    producer's next transaction, which has the same epoch."""

    copy: Set[Member]

    @fault(budget="copies", danger=("late-copy", "duplicate"))
    def repeat_marker(s, m: Member):
        """The coordinator sends a commit marker again, and the first copy is not lost."""
        require(s.fate[m] == Fate.COMMITTED)
        s.copy[m] = True

    @action
    def marker_arrives(s, m: Member):
        """A late marker finds offsets of the open transaction, and commits them."""
        require(s.copy[m] & (s.fate[m] == Fate.OPEN) & exists(Partition, lambda p: 0 < s.pending[m, p]))
        s.committed = each(lambda p: when(0 < s.pending[m, p], s.pending[m, p], s.committed[p]))
        s.pending = each(lambda n, p: when(n == m, 0, s.pending[n, p]))
        s.copy[m] = False


class DroppedMarkers(TornTransactions):
    """In Kafka 4.3 (KAFKA-20734) the marker for the group's partition counts as written while the partition has no
    leader. The offsets stay pending, and the producer's next transaction with offsets there decides them."""

    in_it: Set[Member]  # the group's partition is in the member's transaction

    @action
    def accept(s, m: Member):
        """The group's coordinator accepts the offsets, and the group's partition is in the transaction again."""
        TornTransactions.accept(s, m)
        s.in_it[m] = True

    @fault(budget="absences", danger="partition-away")
    def drop_marker(s, m: Member):
        """The transaction coordinator takes the group's partition for a deleted one, and the transaction for
        complete."""
        require(s.in_it[m] & ((s.fate[m] == Fate.COMMITTED) | (s.fate[m] == Fate.ABORTED)))
        s.in_it[m] = False
        s.fate[m] = when((s.stage[m] != Stage.POLLING) & ~s.fenced[m], Fate.OPEN, Fate.NONE)

    @action(fair="weak")
    def end(s, m: Member):
        """The marker reaches the group's coordinator, if the group's partition is in the transaction, and decides all
        pending offsets of the producer."""
        commits, comes = s.fate[m] == Fate.COMMITTED, s.in_it[m]
        require(commits | (s.fate[m] == Fate.ABORTED))
        s.committed = each(lambda p: when(commits & comes & (0 < s.pending[m, p]), s.pending[m, p], s.committed[p]))
        s.pending = each(lambda n, p: when((n == m) & comes, 0, s.pending[n, p]))
        s.in_it[m] = False
        s.fate[m] = when((s.stage[m] != Stage.POLLING) & ~s.fenced[m], Fate.OPEN, Fate.NONE)
