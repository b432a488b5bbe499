"""What shipped, in cooperative rebalances; and what shipped over brokers that take a late copy of a commit, or whose
markers come late, not at all, or of a record that is lost."""

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


class TornTransactions(Shipped):
    """Over coordinators of transaction.version 2 that take over a Prepare record without a copy (Kafka 4.0 and later).

    One that takes over reads its log to the end, past the high watermark, and sends markers of every Prepare that it
    finds there at once (TransactionStateManager.loadTransactionsForTxnTopicPartition).  If it is lost before the record
    has a copy, its successor finds the transaction open, and may end it otherwise, as in
    transaction-partitions/log-uncovered.  The record is lost first here, since nothing else happens to the transaction
    before.  Where one outcome has come the other is not taken, nor is any in the next transaction (KIP-1228, since
    4.2; before it see `LateMarkersOfPartitions`)."""

    stray: Map[Member, Fate]  # the outcome that the lost record says, of which markers are on their way
    outputs: Map[Member, Fate]  # the outcome that one brought to the outputs

    @fault(budget="tails", danger=("uncovered-log", "coordinator-fail-over"))
    def lose_record(s, m: Member, o: Fate):
        """The member has asked for a commit, whose answer waits for a copy; or the transaction had timed out, of which
        the member knows nothing."""
        require((s.stage[m] == Stage.ACCEPTED) & (s.fate[m] == Fate.OPEN) & ~s.fenced[m])
        require((o == Fate.COMMITTED) | (o == Fate.ABORTED))
        s.stray[m] = o

    @action
    def commit_outputs(s, m: Member):
        """A marker of the lost record reaches the outputs."""
        require((s.stray[m] == Fate.COMMITTED) & (s.outputs[m] == Fate.NONE) & (s.fate[m] == Fate.OPEN))
        s.count_outputs(m)
        s.outputs[m] = Fate.COMMITTED

    @action
    def abort_outputs(s, m: Member):
        """So does one that aborts them."""
        require((s.stray[m] == Fate.ABORTED) & (s.fate[m] == Fate.OPEN))
        s.outputs[m] = Fate.ABORTED

    @action
    def decide_offsets(s, m: Member):
        """One reaches the offsets: they are committed, or dropped, and no fetch waits for them any more."""
        commits = s.stray[m] == Fate.COMMITTED
        require((commits | (s.stray[m] == Fate.ABORTED)) & (s.fate[m] == Fate.OPEN))
        s.committed = each(lambda p: when(commits & (0 < s.pending[m, p]), s.pending[m, p], s.committed[p]))
        s.pending = each(lambda n, p: when(n == m, 0, s.pending[n, p]))

    def counts(s, m, p):
        """Not if a marker has decided them."""
        return Shipped.counts(s, m, p) & (s.outputs[m] == Fate.NONE)

    @action
    def abort(s, m: Member):
        """Not once the member has asked for a commit."""
        require(s.stray[m] != Fate.COMMITTED)
        Shipped.abort(s, m)

    def ends(s, m):
        s.stray[m] = Fate.NONE
        s.outputs[m] = Fate.NONE


class LateMarkersOfPartitions(TornTransactions):
    """Over brokers of Kafka 4.0 and 4.1 (before KIP-1228): a late copy of a transaction's marker decides the offsets of
    the producer's next one, whose epoch it bears."""

    copy: Set[Member]

    @fault(budget="copies", danger=("late-copy", "duplicate"))
    def repeat_marker(s, m: Member):
        """The coordinator sends a commit marker again, and the first copy is not lost."""
        require(s.fate[m] == Fate.COMMITTED)
        s.copy[m] = True

    @action
    def marker_arrives(s, m: Member):
        """It finds offsets of the transaction that is open, and they count."""
        require(s.copy[m] & (s.fate[m] == Fate.OPEN) & exists(Partition, lambda p: 0 < s.pending[m, p]))
        s.committed = each(lambda p: when(0 < s.pending[m, p], s.pending[m, p], s.committed[p]))
        s.pending = each(lambda n, p: when(n == m, 0, s.pending[n, p]))
        s.copy[m] = False


class DroppedMarkers(TornTransactions):
    """Over brokers of Kafka 4.3 (KAFKA-20734): where the group's partition has no leader its marker counts as written.
    The offsets stay pending, and the producer's next transaction with offsets there decides them."""

    in_it: Set[Member]  # the group's partition is in the member's transaction

    @action
    def accept(s, m: Member):
        """The partition is there again."""
        TornTransactions.accept(s, m)
        s.in_it[m] = True

    @fault(budget="absences", danger="partition-away")
    def drop_marker(s, m: Member):
        """The coordinator takes the partition for a deleted one, and the transaction for complete."""
        require(s.in_it[m] & ((s.fate[m] == Fate.COMMITTED) | (s.fate[m] == Fate.ABORTED)))
        s.in_it[m] = False
        s.fate[m] = when((s.stage[m] != Stage.POLLING) & ~s.fenced[m], Fate.OPEN, Fate.NONE)

    @action(fair="weak")
    def end(s, m: Member):
        """The marker reaches the group's coordinator, if the partition is in the transaction, and decides all that is
        pending of the producer."""
        commits, comes = s.fate[m] == Fate.COMMITTED, s.in_it[m]
        require(commits | (s.fate[m] == Fate.ABORTED))
        s.committed = each(lambda p: when(commits & comes & (0 < s.pending[m, p]), s.pending[m, p], s.committed[p]))
        s.pending = each(lambda n, p: when((n == m) & comes, 0, s.pending[n, p]))
        s.in_it[m] = False
        s.fate[m] = when((s.stage[m] != Stage.POLLING) & ~s.fenced[m], Fate.OPEN, Fate.NONE)
