"""This module has the ways in which a task may interpret today's `commit()`, which has no argument: one that is right,
and others that are not.

`commit()` reports that some offsets were committed, and not which. A task that has to know them reads the offsets
topic; the wrong interpretations are those that connectors have had.
"""

from fencepost.model.language import Map, action, each, forall, require, when
from fencepost.model.source_commits.at_least_once import AtLeastOnce, Offset, Partition, Thread
from fencepost.model.source_commits.two_threads import PermitGivenBack, TakenAndPutApart


class Shipped(TakenAndPutApart, PermitGivenBack):
    """Each call of commit() makes the task read the stored offsets, as Debezium's connector for PostgreSQL does, and
    the runtime is that of Kafka (`WorkerSourceTask.commitOffsets`)."""

    def reported_of(s, t, p):
        return s.stored[p]


class Mended(Shipped):
    """A thread hands the offsets that it takes to the writer before another thread takes more. It is enough to hold the
    lock under which a thread takes offsets until the writer has them."""

    def has_its_turn(s):
        require(forall(Thread, lambda u: ~s.taken[u]), rule="src.13")


class LastPolled(AtLeastOnce):
    """The task takes a call of commit() to mean that everything polled is safe (KAFKA-5716, KAFKA-15091)."""

    def reported_of(s, t, p):
        return s.polled[p]


class NewestAcknowledged(AtLeastOnce):
    """The task remembers the newest record that commitRecord was called with, and takes it to be committed."""

    newest: Map[Partition, Offset]

    @action(fair="weak")
    def acknowledge(s, p: Partition, i: Offset):
        """Kafka has stored the record: commitRecord is called, and then the record is acknowledged."""
        AtLeastOnce.acknowledge(s, p, i)
        s.newest[p] = when(s.newest[p] < i, i, s.newest[p])

    def forget(s):
        AtLeastOnce.forget(s)
        s.newest = each(lambda p: 0)

    def reported_of(s, t, p):
        return when(s.told[p] < s.newest[p], s.newest[p], s.told[p])


class AheadOfTheFlush(AtLeastOnce):
    """The task tracks calls of commitRecord by itself, and takes to be committed every record that has no gap before
    it."""

    known: Map[Partition, Offset]

    @action
    def keep_count(s, p: Partition, i: Offset):
        """The task has seen commitRecord for all records up to this one."""
        require((s.known[p] < i) & (i <= s.polled[p]) & s.is_prefix(p, i))
        s.known[p] = i

    def forget(s):
        AtLeastOnce.forget(s)
        s.known = each(lambda p: 0)

    def reported_of(s, t, p):
        return when(s.told[p] < s.known[p], s.known[p], s.told[p])


class AtThePreviousCommit(AheadOfTheFlush):
    """The task takes to be committed what it knew at the commit before, because the flush since then has written
    that."""

    before: Map[Partition, Offset]

    @action(fair="weak")
    def tell(s, t: Thread):
        """The task's commit is called, and the task remembers what it knows at that time."""
        AheadOfTheFlush.tell(s, t)
        s.before = each(lambda p: s.known[p])

    def forget(s):
        AheadOfTheFlush.forget(s)
        s.before = each(lambda p: 0)

    def reported_of(s, t, p):
        return when(s.told[p] < s.before[p], s.before[p], s.told[p])


class FirstOfSeveral(AtLeastOnce):
    """The first two records of a source partition are one event, and both of them carry its offset."""

    def offset_of(s, p, i):
        return when(i == 1, 2, i)
