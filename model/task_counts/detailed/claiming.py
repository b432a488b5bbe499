"""In Kafka's cooperative rebalances, a worker that was out of the group claims the tasks that it had.

A member that fell out keeps its assignment, and names it as it joins again. The assignor takes from the members tasks
that are no longer configured, but looks for them among those that it assigned last
(IncrementalCooperativeAssignor.java, performTaskAssignment: deleted = previous - configured), and by then the task
belongs to another worker. So a task that the newest set does not have stays where it is claimed until the next
rebalance, and its worker starts it with the configuration that it has of an earlier set (KafkaConfigBackingStore.java
removes none). The core of this is `Claiming` in `abstract/as_shipped.py`.
"""

from fencepost.model.language import Set, action, each, exists, latest, require, when
from fencepost.model.task_counts.abstract.core import Instance, Stage, Task, Worker
from fencepost.model.task_counts.detailed.rebalancing import Cooperative, Rebalancing


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


class Forgetful(Claimed):
    """A leader that is new has assigned nothing yet, and leaves every task that is not configured where it is. (The
    same happens where a leader's last assignment did not get through: `previousAssignment` is cleared.)"""

    def gets(s, i, w, u, newest):
        is_new = ~exists(Worker, lambda v: (s.leader == v) & s.member[v])
        is_left = is_new & s.member[w] & s.given[i, w] & (s.size_of(newest) <= i)
        return Claimed.gets(s, i, w, u, newest) | is_left


class Taken(Forgetful):
    """The assignor looks for deleted tasks among the claimed ones as well (618.53)."""

    def gets(s, i, w, u, newest):
        return Cooperative.gets(s, i, w, u, newest)


class Refused(Forgetful):
    """The worker does not start a claimed task that the newest set does not have (618.52), as it compares the number
    or as it has dropped the configuration."""

    def may_be_started(s, i, own):
        return Cooperative.may_be_started(s, i, own)


class Restarting(Rebalancing):
    """A user restarts a task on a worker whose store has a newer set than its assignment, and whose herder has not
    heard of that yet. When it has, it stops the task before it rejoins."""

    @action(danger="two-threads")
    def restart(s, w: Worker, k: Instance, i: Task):
        """The task is started by the newest set that the worker has read."""
        own = s.latest_set(s.read[w])
        require(s.is_at(k, w) & (s.task[k] == i) & (0 < s.of[k]) & (s.of[k] < own) & (s.based < own))
        require(s.member[w] & ~s.joined[w] & s.given[i, w] & s.is_left_to_start(i, own))
        s.stage[k] = Stage.ASSIGNED
        s.of[k] = own
        s.live[k] = False

    def is_left_to_start(s, i, own):
        return 0 < own

    def has_to_stop(s, w, k):
        return Rebalancing.has_to_stop(s, w, k) | (s.based < s.of[k])

    set_of = Claimed.set_of


class RestartingEager(Restarting):
    """With eager rebalances nothing is claimed, and a task may be restarted all the same."""


class RestartingTaken(Restarting, Taken):
    """Who is restarted is not looked for by the assignor."""


class RestartingRefused(Restarting, Refused):
    """Who is restarted is compared as well."""

    def is_left_to_start(s, i, own):
        return s.may_be_started(i, own)
