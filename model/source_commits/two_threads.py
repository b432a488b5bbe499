"""What the committer and the task's own thread do to one another where the runtime does not order them.

As WorkerSourceTask is today, the permit of the writer is free again as soon as the topic has answered, before the task
is told; and what a thread took goes to the writer in a step of its own, unordered with that of another thread.
"""

from fencepost.model.language import Map, Set, action, danger, each, exists, forall, implies, open_hole, require, when
from fencepost.model.source_commits.at_least_once import AtLeastOnce, Life, Offset, Partition, Place, Stage, Thread


class PermitGivenBack(AtLeastOnce):
    """A thread has the permit until the topic has answered, and tells the task later."""

    def hold(s, t):
        """The thread has the permit, if there is something to write."""
        s.permit = when(s.has_nothing(), s.permit, t)

    @action(fair="weak")
    def succeed(s, t: Thread):
        """All of the flush is in the offsets topic."""
        AtLeastOnce.succeed(s, t)
        s.flushing = each(lambda p: 0)
        s.permit = None

    @action(fair="weak")
    def tell(s, t: Thread):
        """The task's commit is called."""
        require(s.stage[t] == Stage.WRITTEN)
        s.call_commit(t)
        s.end_commit(t)


class ToldByTwoThreads(PermitGivenBack):
    """What the task is told of is what the flush of the thread wrote (H7b)."""

    wrote: Map[Thread, Partition, Offset]  # the map that a thread is about to call commit with

    def hold(s, t):
        PermitGivenBack.hold(s, t)
        s.wrote = each(lambda u, p: when(u == t, s.data[p], s.wrote[u, p]))

    def reported_of(s, t, p):
        return when(0 < s.wrote[t, p], s.wrote[t, p], s.told[p])

    def forget(s):
        PermitGivenBack.forget(s)
        s.wrote = each(lambda t, p: 0)


class TakenAndPutApart(AtLeastOnce):
    """A thread takes what was collected, and another one may take and write something newer before it has handed that
    to the writer, which has the older offset then.  One thread is the committer, and the task's own commits once, at
    its end."""

    taken: Set[Thread]
    holds: Map[Thread, Partition, Offset]

    outside = open_hole("two threads take and hand over as they like, which needs no excuse", "two-threads")

    @danger("two-threads")
    def both_have_taken(s):
        """Two threads have taken offsets, and have not handed them to the writer."""
        return exists(Thread, Thread, lambda t, u: (t != u) & s.taken[t] & s.taken[u])

    @action(fair="weak")
    def take(s, t: Thread):
        """What was collected is the committer's."""
        require((s.stage[t] == Stage.IDLE) & ~s.taken[t] & (s.ends != t) & (s.life != Life.GONE))
        require(forall(Thread, lambda u: (u == t) | (s.ends == u) | ((s.stage[u] == Stage.IDLE) & ~s.taken[u])))
        s.grab(t)

    @action(fair="strong")
    def take_last(s, t: Thread):
        """The task's thread does that for the last time, having collected all there is after its wait."""
        require((s.stage[t] == Stage.IDLE) & ~s.taken[t] & (s.life == Life.LAST) & (s.ends == None))  # noqa: E711
        require(forall(Partition, Offset, lambda p, i: implies(s.drained, s.place[p, i] != Place.ACKED)))
        s.grab(t)
        s.ends = t

    def grab(s, t):
        s.has_its_turn()
        s.holds = each(lambda u, p: when(u == t, s.merged[p], s.holds[u, p]))
        s.merged = each(lambda p: 0)
        s.taken[t] = True

    def has_its_turn(s):
        """Nothing is waited for."""

    @action(fair="weak")
    def put(s, t: Thread):
        """The writer has it, over whatever it had."""
        require(s.taken[t])
        s.data = each(lambda p: when(0 < s.holds[t, p], s.holds[t, p], s.data[p]))
        s.holds = each(lambda u, p: when(u == t, 0, s.holds[u, p]))
        s.taken[t] = False
        s.stage[t] = Stage.READY

    def forget(s):
        AtLeastOnce.forget(s)
        s.taken = each(lambda t: False)
        s.holds = each(lambda t, p: 0)

    def former_is_over(s):
        return AtLeastOnce.former_is_over(s) & forall(Thread, lambda t: ~s.taken[t])


class SnapshotOnly(AtLeastOnce):
    """The task is told of what the thread took, and not of what a failed flush had left with the writer (H7a)."""

    snapshot: Map[Thread, Partition, Offset]

    def hand_over(s, t):
        s.snapshot = each(lambda u, p: when(u == t, s.merged[p], s.snapshot[u, p]))
        AtLeastOnce.hand_over(s, t)

    def reported_of(s, t, p):
        return when(0 < s.snapshot[t, p], s.snapshot[t, p], s.told[p])

    def forget(s):
        AtLeastOnce.forget(s)
        s.snapshot = each(lambda t, p: 0)
