"""What the two topics come to where a condition of the merged view is not kept: copies that come late, a null offset
before any other, and a connector that is taken its own topic."""

from fencepost.model.language import action, when
from fencepost.model.source_offsets.core import Instance, MergedView, Partition
from fencepost.model.source_offsets.shipped import OwnTopicFromTheStart, OwnTopicTaken


class LateCopies(MergedView):
    """A copy to the worker's topic is sent by a thread of its own, in no transaction, and nothing fences it: it may
    arrive when the next instance works."""

    outside = ()

    copies_no_more = OwnTopicFromTheStart.copies_no_more

    @action(danger="late-copy")
    def copy(s, n: Instance, p: Partition):
        """An offset of a committed transaction arrives in the worker's topic, perhaps late."""
        MergedView.copy(s, n, p)


class NullBeforeAny(MergedView):
    """A source partition has a null offset as the first since the connector has its own topic, while the worker's has
    an offset of it: the tombstone that goes there first erases the only one, and the transaction may yet fail."""

    may_erase = OwnTopicFromTheStart.may_erase


class TopicTaken(MergedView):
    """A connector is configured without its own topic again: what is read is the worker's topic alone, where copies
    are missing that were not waited for."""

    take_own_topic = OwnTopicTaken.take_own_topic

    def found(s, p):
        """Of both topics while the connector has its own."""
        alone = when(0 < s.worker[p], s.worker[p], s.begins[p])
        return when(s.separate & (0 < s.own[p]), s.own[p], alone)
