"""This module models a source task of the exactly-once runtime, whose records and offsets are in one transaction that
SourceTask.commit reports.

There are no submitted records to wait for: the proposal's committable offsets are, for such a task, the offsets of the
committed transaction. A connector that defines its boundaries may have the records of a transaction aborted. Their
offsets are committed all the same, in a transaction of their own, so that nothing is polled again.

The next instance of the task fences the one before, whose commit may be called for its last transaction too late, or
not yet. The coordinator decides whether a transaction ends, and its answer may be lost.

The model follows ExactlyOnceWorkerSourceTask of Connect. That records are read once, and that a fenced producer commits
nothing, is proved of source-offsets and transactions.
"""

from fencepost.model.language import (
    Bool,
    Enumeration,
    Ghost,
    Map,
    Protocol,
    Set,
    action,
    danger,
    each,
    either,
    exists,
    fault,
    forall,
    require,
    when,
)
from fencepost.model.source_commits.at_least_once import Offset, Partition
from fencepost.model.source_commits.outside import OF_EXACTLY_ONCE


class Moment(Enumeration):
    """An instance works, or its offsets are in the transaction whose end is asked for, or the transaction is committed
    and the task's commit is still to be called."""

    WORKING, ASKED, COMMITTED = range(3)


class ExactlyOnce(Protocol):
    """The exactly-once runtime has a task, its transactions, its offsets topic, and the upstream system."""

    actors = ("task", "broker", "coordinator", "worker", "source")

    over: Bool  # the instance has failed, or is gone
    moment: Moment
    polled: Map[Partition, Offset]
    inside: Set[Partition, Offset]  # records of the open transaction
    data: Map[Partition, Offset]  # the writer's: offsets for the next end of a transaction
    flushing: Map[Partition, Offset]  # offsets in the transaction that is to end

    stored: Map[Partition, Offset]
    told: Map[Partition, Offset]  # the offsets last reported to instances that have not been fenced
    late: Map[Partition, Offset]  # the offsets that were or will be reported to a fenced instance
    released: Map[Partition, Offset]

    done: Ghost[Set[Partition, Offset]]  # committed, filtered, or aborted as the connector wished
    resumed: Ghost[Map[Partition, Offset]]
    told_most: Ghost[Map[Partition, Offset]]

    outside = OF_EXACTLY_ONCE

    @action(by="task", to="broker")
    def submit(s, p: Partition, i: Offset):
        """The task's next record is sent in the transaction, and its offset is handed to the writer."""
        s.is_next(p, i)
        s.polled[p] = i
        s.inside[p, i] = True
        s.data[p] = i

    @action
    def filter_out(s, p: Partition, i: Offset):
        """A transformation drops the next record, which has no offset."""
        s.is_next(p, i)
        s.polled[p] = i
        s.done[p, i] = True

    def is_next(s, p, i):
        require(~s.over & (s.moment == Moment.WORKING) & (i == s.polled[p] + 1))

    @fault(budget="aborts")
    def abort_batch(s):
        """The connector has the transaction aborted: its records are discarded, and their offsets stay with the
        writer."""
        require(~s.over & (s.moment == Moment.WORKING) & s.is_open())
        s.told = each(
            lambda p: either("src.5", s.told[p], aborted_are_told=when(0 < s.data[p], s.data[p], s.told[p]))
        )  # fmt: skip
        s.done = each(lambda p, i: s.done[p, i] | s.inside[p, i])
        s.inside = each(lambda p, i: False)

    def is_open(s):
        return exists(Partition, Offset, lambda p, i: s.inside[p, i])

    @action(fair="weak", by="task", to="coordinator")
    def end(s):
        """At a boundary the offsets are sent in the transaction, and its commit is requested, if there is anything to
        commit."""
        require(~s.over & (s.moment == Moment.WORKING))
        s.moment = when(forall(Partition, lambda p: s.data[p] == 0), Moment.COMMITTED, Moment.ASKED)
        s.flushing = each(lambda p: s.data[p])
        s.data = each(lambda p: 0)

    @action(fair="weak", by="coordinator")
    def commit(s):
        """The coordinator commits the transaction, whether or not its client receives the answer."""
        require(s.moment == Moment.ASKED)
        s.done = each(lambda p, i: s.done[p, i] | s.inside[p, i])
        s.inside = each(lambda p, i: False)
        s.stored = each(lambda p: when(0 < s.flushing[p], s.flushing[p], s.stored[p]))
        s.moment = when(s.over, Moment.WORKING, Moment.COMMITTED)

    @action(fair="weak")
    def tell(s):
        """The task's commit is called with the offsets of the transaction."""
        require(~s.over & (s.moment != Moment.WORKING))
        require(s.moment == Moment.COMMITTED, rule="src.4")
        s.told_most = each(lambda p: when(s.told_most[p] < s.reported_of(p), s.reported_of(p), s.told_most[p]))
        s.told = each(lambda p: when(0 < s.flushing[p], s.flushing[p], s.reported_by_others(p)))
        s.flushing = each(lambda p: 0)
        s.moment = Moment.WORKING

    def reported_of(s, p):
        return when(0 < s.flushing[p], s.flushing[p], s.reported_by_others(p))

    def reported_by_others(s, p):
        """Return the offset that the task knows of a partition that is not in the map, which is what it knew before."""
        return either("src.5", s.told[p], all_polled_if_empty=when(s.flushes_nothing(), s.polled[p], s.told[p]))

    def flushes_nothing(s):
        return forall(Partition, lambda q: s.flushing[q] == 0)

    @action(by="source")
    def release(s, p: Partition):
        """The upstream system learns of the offsets that the task's commit was called with, and discards its records up
        to there."""
        require(s.released[p] < s.told[p])
        s.released[p] = s.told[p]

    @action(by="source")
    def release_late(s, p: Partition):
        """The upstream system learns of committed offsets from an instance that has been fenced."""
        require(s.released[p] < s.late[p])
        s.released[p] = s.late[p]

    # Instances

    @fault(budget="failures", danger=("loss", "time-out"))
    def fail(s):
        """A record or an offset is refused, the transaction times out, or its end is not answered: the task fails, and
        its commit is not called. If the end was asked for, the transaction may yet be committed."""
        require(~s.over & (s.moment != Moment.COMMITTED) & (s.is_open() | (s.moment == Moment.ASKED)))
        s.told = each(
            lambda p: either("src.4", s.told[p], told_all_the_same=when(0 < s.flushing[p], s.flushing[p], s.told[p]))
        )  # fmt: skip
        s.over = True

    @fault(budget="crashes", danger="client-crash")
    def crash(s):
        """The instance crashes, before or after its transaction was committed."""
        require(~s.over)
        s.moment = when(s.moment == Moment.COMMITTED, Moment.WORKING, s.moment)
        s.over = True

    @action
    def restart(s):
        """The next instance opens its transactional producer, which aborts an open transaction, and resumes."""
        require(s.over)
        s.begin_anew()

    @fault(budget="replacements", danger=("zombie", "rebalance"), by="worker")
    def replace(s):
        """Another instance opens the transactional producer while this one runs, whose commit may still be called for
        what it has committed."""
        require(~s.over)
        s.late = each(
            lambda p: when((s.moment == Moment.COMMITTED) & (0 < s.flushing[p]), s.flushing[p],
                           when(s.late[p] < s.told[p], s.told[p], s.late[p]))
        )  # fmt: skip
        s.begin_anew()

    def begin_anew(s):
        s.over = False
        s.moment = Moment.WORKING
        s.inside = each(lambda p, i: False)
        s.data = each(lambda p: 0)
        s.flushing = each(lambda p: 0)
        s.polled = each(lambda p: when(s.found(p) < s.released[p], s.released[p], s.found(p)))
        s.resumed = each(lambda p: s.stored[p])

    def found(s, p):
        return either("src.P2", s.stored[p], from_the_beginning=0)

    # Dangers

    @danger("lost-answer")
    def commits_unheard(s):
        """A transaction is still to be committed although its task has failed or is gone."""
        return s.over & (s.moment == Moment.ASKED)

    @danger("zombie")
    def hears_late(s):
        """A fenced instance has yet to report a smaller committed offset than its successor has learned of."""
        return exists(Partition, lambda p: (0 < s.late[p]) & (s.late[p] < s.told[p]))

    @danger("several-records")
    def several_inside(s):
        """A transaction has two records of one source partition."""
        return exists(Partition, Offset, Offset, lambda p, i, j: (i < j) & s.inside[p, i] & s.inside[p, j])

    @danger("several-partitions")
    def of_several(s):
        """A transaction has records of two source partitions."""
        return exists(
            Partition, Partition, Offset, Offset, lambda p, q, i, j: (p != q) & s.inside[p, i] & s.inside[q, j]
        )  # fmt: skip
