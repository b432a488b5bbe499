"""Records without a source offset (null) may be the last of those that may be committed: today they erase the offset of
their source partition, and as proposed they leave it as it is.

The model is small on purpose: a flush is one step and succeeds, and one instance follows another. `at_least_once` has
everything else.
"""

from fencepost.model.language import (
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
    implies,
    require,
    when,
)
from fencepost.model.source_commits.at_least_once import Offset, Partition
from fencepost.model.source_commits.outside import OF_NULL_OFFSETS


class NullOffsets(Protocol):
    """Some records of this task have no source offset."""

    actors = ("task", "broker")

    polled: Map[Partition, Offset]
    queue: Set[Partition, Offset]
    acked: Set[Partition, Offset]
    bare: Set[Partition, Offset]  # records of the queue that have no source offset
    data: Map[Partition, Offset]  # what the next flush writes
    erases: Set[Partition]  # the next flush writes a tombstone
    stored: Map[Partition, Offset]
    told: Map[Partition, Offset]  # an entry that is null takes nothing back that was discarded before
    done: Ghost[Set[Partition, Offset]]

    outside = OF_NULL_OFFSETS

    @action
    def submit(s, p: Partition, i: Offset):
        """The task's next record, which has a source offset, is queued and sent."""
        require(i == s.polled[p] + 1)
        s.polled[p] = i
        s.queue[p, i] = True

    @action
    def submit_bare(s, p: Partition, i: Offset):
        """The task's next record, which has no source offset, is queued and sent."""
        require(i == s.polled[p] + 1)
        s.polled[p] = i
        s.queue[p, i] = True
        s.bare[p, i] = True

    @action(fair="weak", by="broker", to="task")
    def acknowledge(s, p: Partition, i: Offset):
        """Kafka has stored the record and acknowledges it."""
        require(s.queue[p, i] & ~s.acked[p, i])
        s.acked[p, i] = True
        s.done[p, i] = True

    @action(fair="weak")
    def collect(s, p: Partition, i: Offset):
        """The head of a queue is acknowledged and leaves it, and its offset, if it has one, is written next."""
        require(s.queue[p, i] & s.acked[p, i])
        require(forall(Offset, lambda j: implies(j < i, ~s.queue[p, j])), rule="src.3")
        s.data[p] = when(
            s.bare[p, i],
            either("src.5", s.data[p], erased=0),
            i,
        )
        s.erases[p] = either("src.5", s.erases[p], erased=s.bare[p, i])
        s.queue[p, i] = either("src.3", False, left_in_the_queue=s.queue[p, i])
        s.acked[p, i] = either("src.3", False, left_in_the_queue=s.acked[p, i])
        s.bare[p, i] = False

    @action(fair="weak")
    def flush(s):
        """The offsets are stored in the topic, and the task's commit reports them."""
        require(exists(Partition, lambda p: (0 < s.data[p]) | s.erases[p]))
        s.stored = each(lambda p: when(s.erases[p], 0, when(0 < s.data[p], s.data[p], s.stored[p])))
        s.told = each(lambda p: when(0 < s.data[p], s.data[p], s.told[p]))
        s.data = each(lambda p: 0)
        s.erases = each(lambda p: False)

    @fault(budget="crashes", danger="client-crash")
    def crash(s):
        """The instance crashes, and the next one resumes from the offsets topic."""
        s.polled = each(lambda p: s.stored[p])
        s.queue = each(lambda p, i: False)
        s.acked = each(lambda p, i: False)
        s.bare = each(lambda p, i: False)
        s.data = each(lambda p: 0)
        s.erases = each(lambda p: False)

    @danger("reordering")
    def overtaken(s):
        """A record is acknowledged before one that was polled earlier."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (i < j) & s.queue[p, i] & ~s.acked[p, i] & s.queue[p, j] & s.acked[p, j],
        )  # fmt: skip

    @danger("several-records")
    def several_in_a_queue(s):
        """Two records of one source partition are in flight."""
        return exists(Partition, Offset, Offset, lambda p, i, j: (i < j) & s.queue[p, i] & s.queue[p, j])
