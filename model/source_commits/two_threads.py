"""The committer and the task's own thread interfere where the runtime does not order them.

In today's WorkerSourceTask, the permit of the writer is free again as soon as the topic has answered, before the task's
commit is called. The offsets that a thread took go to the writer in a step of its own, unordered with that of another
thread.
"""

from fencepost.model.language import Map, Set, action, danger, each, exists, forall, implies, open_hole, require, when
from fencepost.model.source_commits.at_least_once import AtLeastOnce, Life, Offset, Partition, Place, Stage, Thread


class PermitGivenBack(AtLeastOnce):
    """A thread holds the permit until the topic has answered, and calls the task's commit later."""

    def hold(s, t):
        """Give the permit to the thread if there is something to write."""
        s.permit = when(s.has_nothing(), s.permit, t)

    @action(fair="weak")
    def succeed(s, t: Thread):
        """The flush succeeds and frees the permit, because all its offsets are in the offsets topic."""
        AtLeastOnce.succeed(s, t)
        s.flushing = each(lambda p: 0)
        s.permit = None

    @action(fair="weak")
    def tell(s, t: Thread):
        """A thread calls the task's commit, while another flush may be under way."""
        require(s.stage[t] == Stage.WRITTEN)
        s.call_commit(t)
        s.end_commit(t)


class ToldByTwoThreads(PermitGivenBack):
    """The task's commit is called with the offsets that the flush of the calling thread wrote (H7b)."""

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
    """A thread takes the collected offsets, and another thread may take and write newer ones before the first has
    handed its own to the writer, which then has the older offset. One thread is the committer, and the task's own
    thread commits once, at its end."""

    taken: Set[Thread]
    holds: Map[Thread, Partition, Offset]

    outside = open_hole("two threads take and hand over as they like, which needs no excuse", "two-threads")

    @danger("two-threads")
    def both_have_taken(s):
        """Two threads have taken offsets, and have not handed them to the writer."""
        return exists(Thread, Thread, lambda t, u: (t != u) & s.taken[t] & s.taken[u])

    @action(fair="weak")
    def take(s, t: Thread):
        """The committer takes the collected offsets."""
        require((s.stage[t] == Stage.IDLE) & ~s.taken[t] & (s.ends != t) & (s.life != Life.GONE))
        require(forall(Thread, lambda u: (u == t) | (s.ends == u) | ((s.stage[u] == Stage.IDLE) & ~s.taken[u])))
        s.grab(t)

    @action(fair="strong")
    def take_last(s, t: Thread):
        """The task's thread takes the collected offsets for the last time, having collected all that its wait
        allowed."""
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
        """Require nothing: a thread may take offsets at any time."""

    @action(fair="weak")
    def put(s, t: Thread):
        """A thread hands its offsets to the writer, where they replace whatever the writer had."""
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
    """The task's commit is called with the offsets that the thread took, and not with those that a failed flush had
    left with the writer (H7a)."""

    snapshot: Map[Thread, Partition, Offset]

    def hand_over(s, t):
        s.snapshot = each(lambda u, p: when(u == t, s.merged[p], s.snapshot[u, p]))
        AtLeastOnce.hand_over(s, t)

    def reported_of(s, t, p):
        return when(0 < s.snapshot[t, p], s.snapshot[t, p], s.told[p])

    def forget(s):
        AtLeastOnce.forget(s)
        s.snapshot = each(lambda t, p: 0)
