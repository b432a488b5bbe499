"""KIP-618 yardstick: how the order of records in Connect's config topic keeps old source tasks from committing.

One connector.  Its states within bounds have been counted by two other model checkers, so this protocol also holds
the explorer to exact numbers and to their speed.  Left out: several connectors, compaction, lost messages; a task's
data shows only in who may commit. Epochs of producers are reduced to who holds the newest: `owner` on the config
topic, `live` for each task's transactional id.
"""

from .language import (
    Bool,
    Constant,
    Enumeration,
    Map,
    Nat,
    Option,
    Protocol,
    Seq,
    Sort,
    action,
    append,
    at,
    axiom,
    either,
    latest,
    length,
    require,
    rule,
    when,
)  # fmt: skip


class Worker(Sort, bound="workers"):
    """A Connect worker; any of them may believe itself the leader."""


class Task(Nat, upto="tasks - 1"):
    """A task id, from 0."""


class Record(Nat, upto="2 * tasks - 1"):
    """A record of the config topic: r < tasks is a committed set of r + 1 task configurations, else a count of r -
    tasks + 1 tasks."""


class Position(Nat, upto="log"):
    """A place in the config topic, from 1; 0 is before it.  A generation of tasks is named by the place of its set."""


class Count(Nat, upto="tasks"):
    """A number of tasks."""


class Round(Enumeration):
    """A leader's fencing round: none, fencing ids one after another, or about to write the count."""

    NONE = 0
    FENCING = 1
    CHECKED = 2


class Stage(Enumeration):
    """A task's way to its first poll."""

    NONE = 0
    ASSIGNED = 1
    CHECKED = 2
    PRODUCER = 3
    RUNNING = 4


class Kip618Yardstick(Protocol):
    """Leaders write sets and counts, fence producers in between, and workers start tasks by what they read."""

    tasks: Constant[Nat]
    log: Seq[Record, "log"]  # type: ignore[name-defined]  # noqa: F821  a bound's name
    read: Map[Worker, Position]  # how far a worker has read the config topic
    owner: Option[Worker]  # whose producer has the newest epoch on the config topic
    leads: Map[Worker, Bool]  # believes to be the leader, perhaps wrongly
    round: Map[Worker, Round]
    fencing: Map[Worker, Position]  # the generation for which the round is
    left: Map[Worker, Count]  # task ids below this one are still to be fenced
    stage: Map[Worker, Task, Stage]
    generation: Map[Worker, Task, Position]
    live: Map[Task, Option[Worker]]  # whose producer has the newest epoch of the task's transactional id

    @axiom
    def some_task(s):
        return s.tasks >= 1

    def latest_set(s, upto=None):
        return latest(s.log, lambda r: r < s.tasks, upto)

    def latest_count(s):
        return latest(s.log, lambda r: r >= s.tasks)

    def size(s, position):
        """How many tasks the set or count at that position speaks of."""
        record = at(s.log, position)
        return when(record < s.tasks, record, record - s.tasks) + 1

    def may_write(s, w):
        return either("618.24", s.owner == w, anyone=True)

    @action
    def elect(s, w: Worker):
        """A worker becomes leader, or a leader claims the topic back; its one thread cannot do so between check and
        write."""
        require(s.owner != w)
        require(either("618.43", s.round[w] != Round.CHECKED, reclaims_in_between=True))
        s.owner = w
        s.leads[w] = True

    @action
    def depose(s, w: Worker):
        """A former leader learns that it is none."""
        require(s.leads[w] & (s.owner != w))
        s.leads[w] = False
        s.round[w] = Round.NONE
        s.fencing[w] = 0
        s.left[w] = 0

    @action
    def poll(s, w: Worker):
        """A worker reads one more record."""
        require(s.read[w] < length(s.log))
        s.read[w] = s.read[w] + 1

    @action
    def reconfigure(s, w: Worker, n: Task):
        """The leader publishes a new set of task configurations."""
        require(s.leads[w] & s.may_write(w) & (s.round[w] != Round.CHECKED))
        s.read[w] = length(s.log) + 1
        append(s.log, n)

    @action
    def start_round(s, w: Worker):
        """The leader reads to the end; a set after the latest count needs a round."""
        newest, counted = s.latest_set(), s.latest_count()
        new, old = s.size(newest), when(counted == 0, 0, s.size(counted))
        require(s.leads[w] & (s.round[w] == Round.NONE))
        require(counted < newest, rule="618.4")
        ids = either("618.6", old, as_many_as_the_new_set=new)
        left = when((old == 0) | ((old == 1) & (new == 1)), 0, ids)
        s.read[w] = length(s.log)
        s.fencing[w] = newest
        s.round[w] = when(left == 0, Round.CHECKED, Round.FENCING)
        s.left[w] = left

    @action
    def fence(s, w: Worker):
        """The coordinator raises the epoch of one transactional id; who held it can't commit any more."""
        require((s.round[w] == Round.FENCING) & (s.left[w] > 0))
        s.live[s.left[w] - 1] = None
        s.left[w] = s.left[w] - 1

    @action
    def check_round(s, w: Worker):
        """All are fenced: the leader reads to the end, and gives up if there is a newer set."""
        require(s.round[w] == Round.FENCING)
        require(s.left[w] == 0, rule="618.7")
        newest = s.latest_set() == s.fencing[w]
        s.read[w] = length(s.log)
        s.round[w] = when(newest, Round.CHECKED, Round.NONE)
        s.fencing[w] = when(newest, s.fencing[w], 0)

    @action
    def write_count(s, w: Worker):
        """The count of the set that the round was for."""
        require((s.round[w] == Round.CHECKED) & s.may_write(w))
        s.read[w] = length(s.log) + 1
        append(s.log, s.tasks + at(s.log, s.fencing[w]))
        s.round[w] = Round.NONE
        s.fencing[w] = 0

    @action
    def write_refused(s, w: Worker):
        """Another worker's producer has a newer epoch on the topic."""
        require((s.round[w] == Round.CHECKED) & ~s.may_write(w))
        s.round[w] = Round.NONE
        s.fencing[w] = 0

    @action
    def assign(s, w: Worker, i: Task):
        """A rebalance hands out a task of the newest set that the worker has read."""
        newest = s.latest_set(s.read[w])
        require((s.stage[w, i] == Stage.NONE) & (newest > 0) & (i < s.size(newest)))
        s.stage[w, i] = Stage.ASSIGNED
        s.generation[w, i] = newest

    @action
    def check_before(s, w: Worker, i: Task):
        """The round is over: the worker reads to the end, and drops the task if there is a newer set."""
        require(s.stage[w, i] == Stage.ASSIGNED)
        require(s.latest_count() > s.generation[w, i], rule="618.16")
        newest = s.latest_set() == s.generation[w, i]
        s.read[w] = length(s.log)
        s.stage[w, i] = when(newest, Stage.CHECKED, Stage.NONE)
        s.generation[w, i] = when(newest, s.generation[w, i], 0)

    @action
    def open_producer(s, w: Worker, i: Task):
        """The new producer's epoch shuts out every earlier holder of the id."""
        require(s.stage[w, i] == Stage.CHECKED)
        s.stage[w, i] = Stage.PRODUCER
        with rule("618.18"):
            s.live[i] = w

    @action
    def check_after(s, w: Worker, i: Task):
        """Read to the end once more, and run only if there still is no newer set."""
        require(s.stage[w, i] == Stage.PRODUCER)
        newest = either("618.19", s.latest_set() == s.generation[w, i], unchecked=True)
        s.read[w] = length(s.log)
        s.stage[w, i] = when(newest, Stage.RUNNING, Stage.NONE)
        s.generation[w, i] = when(newest, s.generation[w, i], 0)
        s.live[i] = when(~newest & (s.live[i] == w), None, s.live[i])

    @action
    def stop(s, w: Worker, i: Task):
        """Revoked, failed, fenced or crashed."""
        require(s.stage[w, i] != Stage.NONE)
        s.stage[w, i] = Stage.NONE
        s.generation[w, i] = 0
        s.live[i] = when(s.live[i] == w, None, s.live[i])

    def effective(s, w, i):
        """Can commit a transaction."""
        return (s.stage[w, i] == Stage.RUNNING) & (s.live[i] == w)
