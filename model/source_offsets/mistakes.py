"""Each model here breaks a condition of the merged view: copies arrive late, a null offset is the first in the own
topic, or a connector loses its own topic."""

from fencepost.model.language import action, when
from fencepost.model.source_offsets.core import Instance, MergedView, Partition
from fencepost.model.source_offsets.shipped import OwnTopicFromTheStart, OwnTopicTaken


class LateCopies(MergedView):
    """A copy to the worker's topic is sent by a thread of its own, outside any transaction, and is never fenced, so
    that it may arrive when the next instance works."""

    outside = ()

    copies_no_more = OwnTopicFromTheStart.copies_no_more

    @action(danger="late-copy")
    def copy(s, n: Instance, p: Partition):
        """An offset of a committed transaction arrives in the worker's topic, perhaps late."""
        MergedView.copy(s, n, p)


class NullBeforeAny(MergedView):
    """A source partition has a null offset as the first since the connector has its own topic, while the worker's topic
    has an offset of it. The tombstone that goes there first erases the only offset, and the transaction may yet fail.
    """

    may_erase = OwnTopicFromTheStart.may_erase


class TopicTaken(MergedView):
    """A connector is configured without its own topic again, and then reads only the worker's topic, where copies may
    be missing because no step waited for them."""

    take_own_topic = OwnTopicTaken.take_own_topic

    def found(s, p):
        """Return the offset of both topics while the connector has its own, and of the worker's topic afterwards."""
        alone = when(0 < s.worker[p], s.worker[p], s.begins[p])
        return when(s.separate & (0 < s.own[p]), s.own[p], alone)
