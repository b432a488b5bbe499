"""This module models every way in which Kafka starts a task again that the newest set does not have, and the three
repairs that were proposed, alone and together.

`Removed` adds two things to `Claiming`. A start is decided by what its worker has read of the config topic, which may
be older than the newest set by the time that the start is checked again. And a task may be restarted without a
rebalance: KafkaConfigBackingStore.processTasksCommitRecord puts the new set into its store, and calls its listener, the
herder, when it has released its lock. Until then DistributedHerder.checkRebalanceNeeded finds nothing, and a restart
goes by the assignment of the set before and the configuration, count and generation of the new one.

A task stays with its worker whenever the assignor does not find it among those that it assigned last: its worker was
out of the group, another worker leads, or the leader's last assignment did not get through
(IncrementalCooperativeAssignor.performTaskAssignment clears `previousAssignment` then). Here it may always stay.

The repairs are `Refused` (618.52: the number is compared with the task count), `Dropped` (618.52: no configuration is
left) and `Taken` (618.53: the assignor revokes what is active and not configured). Each overrides one step of its own,
so that any of them are combined by inheritance.
"""

from fencepost.model.language import Map, action, either, require, when
from fencepost.model.task_counts.abstract.as_shipped import Claiming
from fencepost.model.task_counts.abstract.core import Count, Generation, Instance, Stage, Worker


class Removed(Claiming):
    """A worker starts a task again by a set that it has read, after a rebalance or without one."""

    tasks_of: Map[Generation, Count]  # how many tasks each set has

    @action
    def reconfigure(s, w: Worker, n: Count, g: Generation):
        Claiming.reconfigure(s, w, n, g)
        s.tasks_of[g] = n

    def has_task(s, k, g):
        """Return whether a set has the instance's task."""
        return s.task[k] < s.tasks_of[g]

    assign_claimed = None

    @action(danger=("zombie", "rebalance"))
    def stay(s, k: Instance, g: Generation):
        """The leader's assignment, by a set that the worker has read too, leaves the task with it, and the worker
        starts it again."""
        s.start_again(k, g, s.is_left(k, g))

    @action(danger="two-threads")
    def restart(s, k: Instance, g: Generation):
        """A user restarts the task on a worker whose store has a set of which its herder does not know yet."""
        s.start_again(k, g, True)

    def start_again(s, k, g, is_left):
        is_newer = (0 < s.of[k]) & (s.of[k] < g) & (g <= s.generation)
        require(is_newer & is_left & s.is_configured(k, g) & s.may_start(k, g))
        s.stage[k] = Stage.ASSIGNED
        s.of[k] = g
        s.configured[k] = when(s.has_task(k, g), g, s.configured[k])
        s.live[k] = False

    def is_left(s, k, g):
        return True

    def is_configured(s, k, g):
        return True

    def may_start(s, k, g):
        return True


class Refused(Removed):
    """A worker compares the task's number with the count, as it starts the task and at the second check."""

    def may_start(s, k, g):
        return either("618.52", s.has_task(k, g), at_the_second_check=True)

    def is_to_run(s, k, seen):
        has = either("618.52", s.task[k] < s.size, at_the_start=True)
        return Removed.is_to_run(s, k, seen) & has


class Dropped(Removed):
    """A worker that reads a set drops the configurations of all tasks that the set does not have."""

    def is_configured(s, k, g):
        return either("618.52", s.has_task(k, g), left_there=True)


class Taken(Removed):
    """The leader revokes every task that is active and not configured, also what another leader assigned."""

    def is_left(s, k, g):
        return either("618.53", s.has_task(k, g), left_where_it_is=True)


class RefusedDropped(Refused, Dropped):
    """A worker compares the number, and drops the configuration."""


class RefusedTaken(Refused, Taken):
    """A worker compares the number, and the leader revokes the task."""


class DroppedTaken(Dropped, Taken):
    """A worker drops the configuration, and the leader revokes the task."""


class Mended(Refused, Dropped, Taken):
    """All three repairs are made."""
