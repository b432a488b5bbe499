"""In Kafka's cooperative rebalances, a worker that was out of the group claims the tasks that it had.

A member that fell out keeps its assignment, and names it as it joins again. The assignor takes from the members tasks
that are no longer configured, but looks for them among those that it assigned last
(IncrementalCooperativeAssignor.java, performTaskAssignment: deleted = previous - configured), and by then the task
belongs to another worker. So a task that the newest set does not have stays where it is claimed until the next
rebalance, and its worker starts it with the configuration that it has of an earlier set (KafkaConfigBackingStore.java
removes none). The core of this is `Claiming` in `abstract/as_shipped.py`.
"""

from fencepost.model.language import Set, action, each, latest, when
from fencepost.model.task_counts.abstract.core import Task, Worker
from fencepost.model.task_counts.detailed.rebalancing import Cooperative


class Claimed(Cooperative):
    """A claimed task that is no longer configured stays with its worker until the next rebalance."""

    claims: Set[Task, Worker]  # what a worker had when it fell out of the group, until it is assigned anything

    @action(fair="weak", danger="time-out")
    def expire(s, w: Worker):
        """A worker falls out of the group, whose other members go on without it, and it keeps its own assignment as a
        claim."""
        Cooperative.expire(s, w)
        s.claims = each(lambda i, v: when(v == w, s.given[i, v], s.claims[i, v]))

    @action(fair="weak", danger="rebalance")
    def hand_out(s, v: Worker, u: Worker):
        """The leader hands out tasks, and the claims of all members end."""
        Cooperative.hand_out(s, v, u)
        s.claims = each(lambda i, w: s.claims[i, w] & ~s.member[w])

    def gets(s, i, w, u, newest):
        """Return whether a worker gets a task; a claimed task that is no longer configured and not of the last
        assignment is left where it is."""
        is_left = s.member[w] & s.claims[i, w] & ~s.given[i, w] & (s.size_of(newest) <= i)
        return Cooperative.gets(s, i, w, u, newest) | is_left

    def may_be_started(s, i, own):
        return 0 < own

    def set_of(s, k):
        """Return the newest set that had the instance's task, up to the set that it was started by."""
        had = latest(s.log, lambda r: (r <= s.tasks) & (s.task[k] < r), s.of[k])
        return when(s.of[k] == 0, 0, had)


class Taken(Claimed):
    """The assignor looks for deleted tasks among the claimed ones as well (618.53)."""

    def gets(s, i, w, u, newest):
        return Cooperative.gets(s, i, w, u, newest)


class Refused(Claimed):
    """The worker does not start a claimed task that the newest set does not have (618.52)."""

    def may_be_started(s, i, own):
        return Cooperative.may_be_started(s, i, own)
