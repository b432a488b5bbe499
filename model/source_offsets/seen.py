"""This module has source tasks as a history can observe them: there is any number of instances, and each is forgotten
when it is over."""

from fencepost.model.language import action, each, exists, require, when
from fencepost.model.source_offsets.core import Instance, MergedView, Place, Stage
from fencepost.model.source_offsets.shipped import OwnTopicGiven


class SeenMergedView(MergedView):
    """This is the merged view in which an instance that is over makes room for another."""

    @action
    def forget(s, n: Instance):
        """An instance that is over takes no further step and is forgotten."""
        require(s.over[n] | (s.stage[n] == Stage.NEW))
        s.newest = each(lambda p: when(s.newest[p] == n, None, s.newest[p]))
        s.reads = each(lambda m, p: s.reads[m, p] & (m != n))
        s.apart[n] = False
        s.stage[n] = Stage.NEW
        s.over[n] = False
        s.fenced[n] = False
        s.polled = each(lambda m, p: when(m == n, 0, s.polled[m, p]))
        s.place = each(lambda m, p, i: when(m == n, Place.AWAY, s.place[m, p, i]))
        s.data = each(lambda m, p: when(m == n, 0, s.data[m, p]))
        s.erases = each(lambda m, p: s.erases[m, p] & (m != n))
        s.copying = each(lambda m, p: when(m == n, 0, s.copying[m, p]))

    def has_successor(s, n, p):
        other = exists(Instance, lambda m: (s.newest[p] == m) & (s.stage[m] != Stage.NEW))
        return s.fenced[n] & (other | (s.newest[p] == None))  # noqa: E711


class SeenOwnTopic(OwnTopicGiven, SeenMergedView):
    """This is the form that ships, with a topic of the connector's own, and an instance that is over makes room for
    another."""
