"""The KIP-618 yardstick models how the order of records in Connect's config topic prevents old source tasks from
committing.

There is one connector. Two other model checkers have counted the model's states within bounds, so that this protocol
also checks the explorer against exact numbers and their speed. It leaves out several connectors, compaction and lost
messages, and a task's data appears only in which instances may commit. Epochs of producers are reduced to which worker
holds the newest: `owner` on the config topic, `live` for each task's transactional id.
"""

from fencepost.model.language import (
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
    danger,
    either,
    excused,
    exists,
    latest,
    length,
    not_of_this,
    open_hole,
    require,
    rule,
    when,
)


class Worker(Sort, bound="workers"):
    """A `Worker` is a Connect worker; any of them may believe itself the leader."""


class Task(Nat, upto="tasks - 1"):
    """A `Task` is a task id, from 0."""


class Record(Nat, upto="2 * tasks - 1"):
    """A `Record` is a record of the config topic: r < tasks is a committed set of r + 1 task configurations, and any
    other r is a count of r - tasks + 1 tasks."""


class Position(Nat, upto="log"):
    """A `Position` is a place in the config topic, from 1; 0 is before the first record. A generation of tasks is named
    by the place of its set."""


class Count(Nat, upto="tasks"):
    """A `Count` is a number of tasks."""


class Round(Enumeration):
    """A `Round` is a leader's fencing round: none, fencing ids one after another, or about to write the count."""

    NONE = 0
    FENCING = 1
    CHECKED = 2


class Stage(Enumeration):
    """A `Stage` is a task's progress to its first poll."""

    NONE = 0
    ASSIGNED = 1
    CHECKED = 2
    PRODUCER = 3
    RUNNING = 4


class Kip618Yardstick(Protocol):
    """Leaders write sets and counts and fence producers in between, and workers start tasks by what they read."""

    actors = ("coordinator",)

    outside = (
        *excused(
            "the brokers keep txn.P1: once an id is fenced (618.12), nothing of an older epoch commits",
            "coordinator-fail-over", "overlapping-coordinators", "uncovered-log", "failed-append", "id-expiry",
            "end-of-epochs", "transaction-version", "partition-away", "producer-expiry", "leader-restart",
            "broker-restart", "several-partitions", "several-records", "sequence-wrap",
        ),
        *excused(
            "what the config topic has acknowledged stays there, in order (acks=all, no unclean election)",
            "unreplicated-tail", "truncation",
        ),
        *not_of_this("source tasks are in no consumer group, and the workers are one group", "several-groups"),
        *not_of_this("no step looks at a clock", "clock-step"),
        *not_of_this("the config topic has one partition, and ids are fenced one by one", "reordering"),
        *open_hole(
            "each request happens at once, or not at all: the models of task counts have late, lost and repeated ones",
            "late-copy", "duplicate", "loss", "lost-answer", "time-out",
        ),
        *open_hole("one connector, which is never deleted: the parts of task counts have more",
                   "several-connectors", "deletion", "re-creation", "id-collision"),
        *open_hole("a step is one of a whole worker, which knows what it has read of the topic as it is committed; and "
                   "every transaction has a time-out",
                   "two-threads", "memory-without-log", "isolation-level", "no-time-out"),
        *open_hole("a committed set has a task at least: the cores of task counts have empty ones", "empty-set"),
        *open_hole("every worker has the feature on: the part exactly-once-upgrade has workers that do not",
                   "worker-without-support", "mixed-clients"),
        *open_hole("the topic is read whole: what compaction leaves of it is explored in config-topic", "cleaning"),
    )  # fmt: skip

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
        """Return the number of tasks of the set or count at that position."""
        record = at(s.log, position)
        return when(record < s.tasks, record, record - s.tasks) + 1

    def may_write(s, w):
        return either("618.24", s.owner == w, anyone=True)

    @action
    def elect(s, w: Worker):
        """A worker becomes leader, or a leader claims the topic back. Since a leader has one thread, it cannot do so
        between check and write."""
        require(s.owner != w)
        require(either("618.43", s.round[w] != Round.CHECKED, reclaims_in_between=True))
        s.owner = w
        s.leads[w] = True

    @action
    def depose(s, w: Worker):
        """A former leader learns that it no longer leads."""
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
        """The coordinator raises the epoch of one transactional id, and its holder can't commit any more."""
        require((s.round[w] == Round.FENCING) & (s.left[w] > 0))
        s.live[s.left[w] - 1] = None
        s.left[w] = s.left[w] - 1

    @action
    def check_round(s, w: Worker):
        """All ids are fenced: the leader reads to the end, and gives up if there is a newer set."""
        require(s.round[w] == Round.FENCING)
        require(s.left[w] == 0, rule="618.7")
        newest = s.latest_set() == s.fencing[w]
        s.read[w] = length(s.log)
        s.round[w] = when(newest, Round.CHECKED, Round.NONE)
        s.fencing[w] = when(newest, s.fencing[w], 0)

    @action
    def write_count(s, w: Worker):
        """The leader writes the count of the set for which the round was."""
        require((s.round[w] == Round.CHECKED) & s.may_write(w))
        s.read[w] = length(s.log) + 1
        append(s.log, s.tasks + at(s.log, s.fencing[w]))
        s.round[w] = Round.NONE
        s.fencing[w] = 0

    @action
    def write_refused(s, w: Worker):
        """The leader's write is refused, since another worker's producer has a newer epoch on the topic."""
        require((s.round[w] == Round.CHECKED) & ~s.may_write(w))
        s.round[w] = Round.NONE
        s.fencing[w] = 0

    @action
    def assign(s, w: Worker, i: Task):
        """A rebalance assigns a task of the newest set that the worker has read."""
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
        """The new producer's epoch fences every earlier holder of the transactional id."""
        require(s.stage[w, i] == Stage.CHECKED)
        s.stage[w, i] = Stage.PRODUCER
        with rule("618.18"):
            s.live[i] = w

    @action
    def check_after(s, w: Worker, i: Task):
        """The worker reads to the end once more, and runs the task only if there still is no newer set."""
        require(s.stage[w, i] == Stage.PRODUCER)
        newest = either("618.19", s.latest_set() == s.generation[w, i], unchecked=True)
        s.read[w] = length(s.log)
        s.stage[w, i] = when(newest, Stage.RUNNING, Stage.NONE)
        s.generation[w, i] = when(newest, s.generation[w, i], 0)
        s.live[i] = when(~newest & (s.live[i] == w), None, s.live[i])

    @action(danger="client-crash")
    def stop(s, w: Worker, i: Task):
        """A task is revoked, fails, is fenced or crashes."""
        require(s.stage[w, i] != Stage.NONE)
        s.stage[w, i] = Stage.NONE
        s.generation[w, i] = 0
        s.live[i] = when(s.live[i] == w, None, s.live[i])

    @danger("zombie")
    def goes_on_late(s):
        """A task of an earlier generation still runs, while one of a later generation can commit."""
        return exists(
            Worker, Worker, Task, Task,
            lambda v, w, i, j: (s.stage[v, i] != Stage.NONE) & s.effective(w, j)
            & (s.generation[v, i] < s.generation[w, j]),
        )  # fmt: skip

    @danger("slow-reader")
    def lags(s):
        """A worker that leads or has a task has not read the whole config topic."""
        return exists(
            Worker, Task, lambda w, i: (s.read[w] < length(s.log)) & (s.leads[w] | (s.stage[w, i] != Stage.NONE))
        )

    @danger("leader-in-a-call")
    def deposed_in_a_round(s):
        """A leader has a round in progress, and another worker's producer owns the topic."""
        return exists(Worker, lambda w: s.leads[w] & (s.owner != w) & (s.round[w] != Round.NONE))

    @danger("rebalance")
    def starts_in_a_round(s):
        """A task starts while a leader fences."""
        return exists(
            Worker, Worker, Task, lambda v, w, i: (s.round[v] == Round.FENCING) & (s.stage[w, i] == Stage.PRODUCER)
        )

    @danger("one-task")
    def one_for_one(s):
        """A round skips fencing, since one task is to replace one."""
        return exists(
            Worker,
            lambda w: (s.round[w] == Round.CHECKED) & (s.left[w] == 0) & (s.size(s.fencing[w]) == 1)
            & (0 < s.latest_count()) & (s.size(s.latest_count()) == 1),
        )  # fmt: skip

    @danger("several-tasks")
    def several_to_fence(s):
        """A round has several ids to fence."""
        return exists(Worker, lambda w: 1 < s.left[w])

    @danger("several-ids")
    def several_producers(s):
        """Tasks of two ids can commit."""
        return exists(Worker, Worker, Task, Task, lambda v, w, i, j: (i != j) & s.effective(v, i) & s.effective(w, j))

    def effective(s, w, i):
        return (s.stage[w, i] == Stage.RUNNING) & (s.live[i] == w)
