"""What Kafka's herder does that the text does not have, on the core of what shipped, with what would mend it.

`Lingering`: a round that has written its count stays in the leader's map until another thread takes it out.  The tick
thread goes on meanwhile, and a request that finds the round there is answered with its success
(DistributedHerder.java: fenceZombieSourceTasks, ZombieFencing.start, awaitFollowup).  Enough is each of these: the set
is compared (618.51), the round is taken out where its count is written (`ShippedCore`), or the worker looks for the
count itself (618.16; `BCore` is proved without the answer).  Not enough: the second look, which all of these have,
since the set is the newest; and numbers of tasks, compared in the place of sets.

`Claiming`: a worker that was out of the group says that it has a task that the newest set does not have.  The assignor
of incremental cooperative rebalancing looks for deleted tasks among those alone that it assigned last, so that the task
stays where it is for one rebalance, and is started again there: with the configuration that it had, since
KafkaConfigBackingStore.java never removes one, and with the generation of the newest set
(IncrementalCooperativeAssignor.java: performTaskAssignment; DistributedHerder.java: startTask).
"""

from fencepost.model.language import Map, action, danger, either, exists, require, when
from fencepost.model.task_counts.abstract.core import Core, Generation, Instance, Stage, Task, Worker
from fencepost.model.task_counts.abstract.cores import ShippedCore


class Lingering(ShippedCore):
    """Each round that has fenced leaves an entry, which names the set that it was for."""

    over: Map[Worker, Generation]  # the set of the round that is over and still in the leader's map; 0: there is none

    @danger("two-threads")
    def another_thread_is_late(s):
        """A round that is over stands in a leader's map, and the leader's own thread has gone on to a newer set."""
        return exists(Worker, lambda w: s.leads[w] & (0 < s.over[w]) & (s.over[w] < s.generation))

    @action(fair="weak")
    def start_round(s, w: Worker):
        """A task that asks meets the entry, if there is one that counts, and starts no round."""
        require(~s.is_met(w))
        Core.start_round(s, w)
        s.over[w] = 0

    @action(fair="weak")
    def write_count(s, w: Worker):
        """The herder's thread writes it; the admin client's thread, which waits for that, has not woken up yet.  Where
        no id was fenced there is no other thread."""
        lingers = ~s.needs_no_fencing(s.new[w], s.counted, s.count) & (0 < s.count)
        set_of_round = s.fencing[w]
        Core.write_count(s, w)
        s.over[w] = when(lingers, set_of_round, 0)

    @action(fair="weak")
    def take_out(s, w: Worker):
        """The other thread goes on, or the worker goes down."""
        require(0 < s.over[w])
        s.over[w] = 0

    @action
    def answer_by_round(s, k: Instance, w: Worker):
        """A request meets a round that is over, and is answered as those are that waited for it.  The herder looks into
        its map only where ids have to be fenced."""
        require((s.stage[k] == Stage.ASSIGNED) & s.leads[w] & s.is_met(w))
        require(~s.needs_no_fencing(s.size, s.counted, s.count))
        s.let_through(k)

    def is_met(s, w):
        """There is an entry, and it counts for the newest set, which the leader has read."""
        counts = either(
            "618.51",
            s.over[w] == s.generation,
            whatever_set_it_was_for=True,
            as_many_tasks=s.count == s.size,
        )
        return (0 < s.over[w]) & counts


class Claiming(ShippedCore):
    """A worker starts what it had once more, by the newest set."""

    configured: Map[Instance, Generation]  # the set that its configuration is of

    def set_of(s, k):
        return s.configured[k]

    @action
    def assign(s, k: Instance, i: Task, g: Generation):
        """With the configuration that this set has for it."""
        Core.assign(s, k, i, g)
        s.configured[k] = g

    @action(danger="zombie")
    def assign_claimed(s, k: Instance):
        """Its worker was out of the group, has read the newest set now, stops the task and claims it, is left with it,
        and starts it again.  Assigned and started is one step: a worker starts nothing by a set that its assignment is
        not of."""
        require((s.stage[k] != Stage.NONE) & (s.of[k] < s.generation))
        s.stage[k] = Stage.ASSIGNED
        s.of[k] = s.generation
        s.configured[k] = when(s.task[k] < s.size, s.generation, s.configured[k])
        s.live[k] = False

    @action(fair="weak")
    def check_after(s, k: Instance, seen: Generation):
        """As ever; a start that is given up has no configuration."""
        configured = when(s.is_to_run(k, seen), s.configured[k], 0)
        ShippedCore.check_after(s, k, seen)
        s.configured[k] = configured

    def clear(s, k):
        ShippedCore.clear(s, k)
        s.configured[k] = 0


class ClaimsTaken(Claiming):
    """The assignor takes from a worker what the newest set does not have, whether or not it has assigned it last."""

    @action(danger="zombie")
    def assign_claimed(s, k: Instance):
        """Only a task that the newest set has as well is left where it is."""
        require(either("618.53", s.task[k] < s.size, left_where_it_is=True))
        Claiming.assign_claimed(s, k)


class ClaimsRefused(Claiming):
    """The worker that is left with it does not start it: it compares the task's number with the count of the newest set
    (which it does as well if configurations beyond the count are dropped with the commit record), or compares it at the
    second look, or both."""

    @action(danger="zombie")
    def assign_claimed(s, k: Instance):
        """The worker compares the number as it starts the task."""
        require(either("618.52", s.task[k] < s.size, at_the_second_look=True, nowhere=True))
        Claiming.assign_claimed(s, k)

    def is_to_run(s, k, seen):
        has = either("618.52", s.task[k] < s.size, at_the_start=True, nowhere=True)
        return Claiming.is_to_run(s, k, seen) & has


class Released(Lingering, Claiming):
    """Kafka with its default of connect.protocol: both, and nothing that makes up for either."""

    def is_met(s, w):
        return 0 < s.over[w]
