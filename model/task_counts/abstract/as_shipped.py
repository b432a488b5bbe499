"""This module adds to the core of what shipped the behaviour of Kafka's herder that the KIP does not describe, together
with possible fixes.

`Lingering`: a round that has written its count stays in the leader's map until another thread removes it. The tick
thread goes on meanwhile, and a request that finds the round there is answered with its success (DistributedHerder.java:
fenceZombieSourceTasks, ZombieFencing.start, awaitFollowup). Each of these fixes is enough: the set is compared
(618.51), the round is removed where its count is written (`ShippedCore`), or the worker looks for the count itself
(618.16; `BCore` is proved without the answer). Two are not enough: the second check of the generation, which all of
these have, since the set is the newest, and a comparison of numbers of tasks in place of sets.

`Claiming`: a worker that was out of the group claims a task that the newest set does not have. The assignor of
incremental cooperative rebalancing looks for deleted tasks only among those that it assigned last, so that the task
stays where it is for one rebalance and is started again there. It is started with the configuration that it had, since
KafkaConfigBackingStore.java never removes one, and with the generation of the newest set
(IncrementalCooperativeAssignor.java: performTaskAssignment; DistributedHerder.java: startTask).
"""

from fencepost.model.language import Map, action, danger, either, exists, require, when
from fencepost.model.task_counts.abstract.core import Core, Generation, Instance, Stage, Task, Worker
from fencepost.model.task_counts.abstract.cores import ShippedCore


class Lingering(ShippedCore):
    """A round that has fenced leaves an entry in the leader's map, and the entry names the set of task configurations
    that the round was for."""

    over: Map[Worker, Generation]  # the set of the round that is over and still in the leader's map; 0: there is none

    @danger("two-threads")
    def another_thread_is_late(s):
        """A finished round still stands in a leader's map although a newer set of task configurations has been
        committed."""
        return exists(Worker, lambda w: s.leads[w] & (0 < s.over[w]) & (s.over[w] < s.generation))

    @action(fair="weak")
    def start_round(s, w: Worker):
        """The leader starts a round only if its map has no entry that counts for the newest set."""
        require(~s.is_met(w))
        Core.start_round(s, w)
        s.over[w] = 0

    @action(fair="weak")
    def write_count(s, w: Worker):
        """The herder's thread writes the task count record before the admin client's thread, which waits for it, has
        removed the round from the map. Where no id was fenced there is no other thread."""
        lingers = ~s.needs_no_fencing(s.new[w], s.counted, s.count) & (0 < s.count)
        set_of_round = s.fencing[w]
        Core.write_count(s, w)
        s.over[w] = when(lingers, set_of_round, 0)

    @action(fair="weak")
    def take_out(s, w: Worker):
        """The entry of a finished round is removed from the leader's map, because the other thread goes on or the
        worker goes down."""
        require(0 < s.over[w])
        s.over[w] = 0

    @action
    def answer_by_round(s, k: Instance, w: Worker):
        """A task's request meets a round that is over, and gets the same answer as the requests that waited for the
        round. The herder looks into its map only where ids have to be fenced."""
        require((s.stage[k] == Stage.ASSIGNED) & s.leads[w] & s.is_met(w))
        require(~s.needs_no_fencing(s.size, s.counted, s.count))
        s.let_through(k)

    def is_met(s, w):
        """Return whether the leader's map has an entry that counts for the newest set."""
        counts = either(
            "618.51",
            s.over[w] == s.generation,
            whatever_set_it_was_for=True,
            as_many_tasks=s.count == s.size,
        )
        return (0 < s.over[w]) & counts


class Claiming(ShippedCore):
    """A worker starts a task that it had before once more, with the generation of the newest set of task
    configurations."""

    configured: Map[Instance, Generation]  # the set that its configuration is of

    def set_of(s, k):
        return s.configured[k]

    @action
    def assign(s, k: Instance, i: Task, g: Generation):
        """A worker is assigned a task, with the configuration that the set of its generation has for it."""
        Core.assign(s, k, i, g)
        s.configured[k] = g

    @action(danger="zombie")
    def assign_claimed(s, k: Instance):
        """A worker that was out of the group reads the newest set, stops its task, claims it, is left with it and
        starts it again. Assignment and start are one step, because a worker starts nothing by a set that its assignment
        is not of."""
        require((s.stage[k] != Stage.NONE) & (s.of[k] < s.generation))
        s.stage[k] = Stage.ASSIGNED
        s.of[k] = s.generation
        s.configured[k] = when(s.task[k] < s.size, s.generation, s.configured[k])
        s.live[k] = False

    @action(fair="weak")
    def check_after(s, k: Instance, seen: Generation):
        """The second check decides whether the task runs, and a start that is given up loses its configuration."""
        configured = when(s.is_to_run(k, seen), s.configured[k], 0)
        ShippedCore.check_after(s, k, seen)
        s.configured[k] = configured

    def clear(s, k):
        ShippedCore.clear(s, k)
        s.configured[k] = 0


class ClaimsTaken(Claiming):
    """The assignor takes from a worker every task that the newest set does not have, whether or not it has assigned it
    last."""

    @action(danger="zombie")
    def assign_claimed(s, k: Instance):
        """A claimed task is left where it is only if the newest set has it as well."""
        require(either("618.53", s.task[k] < s.size, left_where_it_is=True))
        Claiming.assign_claimed(s, k)


class ClaimsRefused(Claiming):
    """A worker that is left with a claimed task that the newest set does not have refuses to start it.

    The worker compares the task's number with the count of the newest set as it starts the task, at the second check,
    or at both. Dropping the configurations beyond the count with the commit record has the same effect.
    """

    @action(danger="zombie")
    def assign_claimed(s, k: Instance):
        """The worker compares the task's number with the count of the newest set as it starts the task."""
        require(either("618.52", s.task[k] < s.size, at_the_second_look=True, nowhere=True))
        Claiming.assign_claimed(s, k)

    def is_to_run(s, k, seen):
        has = either("618.52", s.task[k] < s.size, at_the_start=True, nowhere=True)
        return Claiming.is_to_run(s, k, seen) & has


class Released(Lingering, Claiming):
    """This is Kafka with its default of connect.protocol: finished rounds linger, deleted tasks are claimed, and
    neither is made up for."""

    def is_met(s, w):
        return 0 < s.over[w]
