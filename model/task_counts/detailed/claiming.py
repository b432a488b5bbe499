"""Cooperative rebalances as Kafka has them: a worker that was out of the group claims what it had.

A member that fell out keeps its assignment, and names it as it joins again.  The assignor takes from the members what
is no longer configured, but looks for it among what it assigned last (IncrementalCooperativeAssignor.java,
performTaskAssignment: deleted = previous - configured), and by then that is another worker's.  So a task that the
newest set does not have stays where it is claimed until the next rebalance, and its worker starts it, with the
configuration that it has of an earlier set (KafkaConfigBackingStore.java removes none).  The core of this is `Claiming`
in `abstract/as_shipped.py`.
"""

from fencepost.model.language import Set, action, each, latest, when
from fencepost.model.task_counts.abstract.core import Task, Worker
from fencepost.model.task_counts.detailed.rebalancing import Cooperative


class Claimed(Cooperative):
    """Until the next rebalance it stays with the worker."""

    claims: Set[Task, Worker]  # what a worker had when it fell out of the group, until it is assigned anything

    @action(fair="weak", danger="time-out")
    def expire(s, w: Worker):
        """The others go on without it; its own assignment is what it was."""
        Cooperative.expire(s, w)
        s.claims = each(lambda i, v: when(v == w, s.given[i, v], s.claims[i, v]))

    @action(fair="weak", danger="rebalance")
    def hand_out(s, v: Worker, u: Worker):
        """As ever, but for what is claimed."""
        Cooperative.hand_out(s, v, u)
        s.claims = each(lambda i, w: s.claims[i, w] & ~s.member[w])

    def gets(s, i, w, u, newest):
        """What is not configured any more, claimed, and not of the last assignment, is left where it is."""
        is_left = s.member[w] & s.claims[i, w] & ~s.given[i, w] & (s.size_of(newest) <= i)
        return Cooperative.gets(s, i, w, u, newest) | is_left

    def may_be_started(s, i, own):
        """Whatever was given."""
        return 0 < own

    def set_of(s, k):
        """The newest that had this task, as of the set that it was started by."""
        had = latest(s.log, lambda r: (r <= s.tasks) & (s.task[k] < r), s.of[k])
        return when(s.of[k] == 0, 0, had)


class Taken(Claimed):
    """618.53: the assignor looks among what is claimed as well."""

    def gets(s, i, w, u, newest):
        return Cooperative.gets(s, i, w, u, newest)


class Refused(Claimed):
    """618.52: the worker does not start it."""

    def may_be_started(s, i, own):
        return Cooperative.may_be_started(s, i, own)
