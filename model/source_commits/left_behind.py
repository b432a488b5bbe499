"""This module adds late and foreign writes of offsets: an instance that was left behind, a write of one that is gone, a
copy of a write, an operator's change, and records that fail because their own worker has closed the producer.

An instance of the at-least-once runtime is never fenced.
"""

from fencepost.model.language import Map, action, each, fault, forall, open_hole, require, when
from fencepost.model.source_commits.at_least_once import AtLeastOnce, Life, Offset, Partition, Place, Stage, Thread


class Zombie(AtLeastOnce):
    """An instance that does not stop in time is left behind, and writes what it had collected while its successor
    runs."""

    left: Map[Partition, Offset]  # the offsets that the instance left behind still writes

    outside = open_hole("one instance is left behind, in the middle of no flush", "rebalance", "mixed-clients")

    @fault(budget="crashes", danger="zombie", by="worker")
    def leave_behind(s):
        """Another worker starts the task, which resumes from the offsets topic while the former instance still runs."""
        require((s.life == Life.RUNNING) & s.former_is_over())
        s.left = each(lambda p: when(0 < s.merged[p], s.merged[p], s.data[p]))
        s.forget()
        s.resume()

    @action
    def write_late(s, p: Partition):
        """The instance that was left behind writes an offset."""
        require(0 < s.left[p])
        s.stored[p] = s.left[p]
        s.left[p] = 0


class LateWrite(AtLeastOnce):
    """The next instance starts while a write of the former one is on its way."""

    def former_is_over(s):
        return forall(Thread, lambda t: s.stage[t] == Stage.IDLE)

    def comes_first(s, p, v):
        """Return True, because the writes of two producers arrive in any order."""
        return v == v  # noqa: PLR0124


class LateCopy(AtLeastOnce):
    """The producer of offsets is not idempotent: a write that it sends again on another connection may arrive a second
    time, after a newer one."""

    copy: Map[Partition, Offset]

    outside = ()

    @fault(budget="copies", danger="duplicate")
    def leave_a_copy(s, p: Partition, v: Offset):
        """The connection fails and the write is sent again, while its first copy is on its way too."""
        require(s.sent[p, v])
        s.copy[p] = v

    @action(danger="late-copy", by="broker")
    def copy_arrives(s, p: Partition):
        require(0 < s.copy[p])
        s.stored[p] = s.copy[p]
        s.copy[p] = 0


class Altered(AtLeastOnce):
    """An operator alters the offsets of a stopped connector (PATCH /connectors/{name}/offsets)."""

    @fault(budget="alterations", by="operator", to="broker")
    def alter(s, p: Partition, v: Offset):
        """The operator replaces the stored offset by an older one."""
        require(((s.life == Life.OVER) | (s.life == Life.GONE)) & s.former_is_over() & (v < s.stored[p]))
        s.stored[p] = v


class ClosedProducer(AtLeastOnce):
    """A task that does not stop in time is cancelled, which closes its producer and fails each record in flight. Where
    failures are tolerated these failures are too, and the offsets of the lost records are committed at the end."""

    @fault(budget="failures", danger="time-out", by="worker", to="task")
    def cancel(s):
        """The worker cancels the task and closes its producer at once (AbstractWorkerSourceTask.cancel)."""
        require(s.life == Life.RUNNING)
        s.place = each(lambda p, i: when(s.place[p, i] == Place.WAITING, Place.ACKED, s.place[p, i]))
        s.counted = each(lambda p, i: False)
        s.life = Life.STOPPING
