"""The core of KIP-618's task counts has one connector with its sets of task configurations, task count records, fencing
rounds and task starts.

The config topic is reduced to its order: the number of the newest committed set, and the set after which the latest
count record stands. Producer epochs are reduced to the set of producers that have not been fenced: `owner` on the
config topic, `live` on the tasks' transactional ids. A late request of an older epoch is refused like any other. A
process that stalls takes its next step late: a worker that falls silent loses the topic when another one claims it, and
may wake up at any time. A worker that goes down and comes back is one whose rounds failed and whose instances stopped.

The core leaves out what the full model has, which refines it: the topic as a log and how far each worker has read,
rebalances, requests and their answers, and which worker runs a task. `cores.py` has the differences between the KIP's
revisions.
"""

from fencepost.model.language import (
    Bool,
    Enumeration,
    Ghost,
    Map,
    Nat,
    Option,
    Protocol,
    Set,
    Sort,
    action,
    danger,
    each,
    either,
    exists,
    fault,
    implies,
    limit,
    require,
    rule,
    when,
)
from fencepost.model.task_counts.outside import OF_THE_CORES, READS


class Worker(Sort, bound="workers"):
    """A `Worker` is a Connect worker, and any of them may believe itself the leader."""


class Instance(Sort, bound="instances"):
    """An `Instance` is one start and run of a task by some worker; several instances may have one task id, on one
    worker or on many."""


class Task(Nat, upto="tasks - 1"):
    """A `Task` is a task id, from 0."""


class Count(Nat, upto="tasks"):
    """A `Count` is a number of tasks."""


class Generation(Nat, upto="generations"):
    """A `Generation` is a committed set of task configurations, given as its place among the sets of this connector; 0
    is none."""


class Round(Enumeration):
    """A leader's fencing round is in one of three states: there is none, it is fencing ids, or it is about to write the
    count."""

    NONE, FENCING, CHECKED = range(3)


class Stage(Enumeration):
    """A `Stage` is how far an instance has come on its way to its first poll."""

    NONE, ASSIGNED, CHECKED, PRODUCER, RUNNING = range(5)


class Core(Protocol):
    """Leaders write sets of task configurations and counts, and fence in between; instances start by what the config
    topic contains."""

    actors = ("coordinator", "leader")

    generation: Generation  # the newest committed set
    size: Count  # the tasks of the newest set
    counted: Generation  # the newest set before the latest count record; 0: there is no such record
    count: Count  # the number of tasks in the latest count record

    owner: Option[Worker]  # the worker whose producer has the newest epoch on the config topic
    leads: Map[Worker, Bool]  # the worker believes itself the leader, perhaps wrongly
    round: Map[Worker, Round]
    fencing: Map[Worker, Generation]  # the set that the round is for
    new: Map[Worker, Count]  # the tasks of that set
    left: Set[Worker, Task]  # ids that the round still has to fence

    stage: Map[Instance, Stage]
    of: Map[Instance, Generation]  # the set it was started from
    task: Map[Instance, Task]
    live: Set[Instance]  # its producer was opened, and has not been fenced since

    polled: Ghost[Generation]  # the newest set of which an instance polls or did

    outside = (*OF_THE_CORES, *READS)

    # Leaders

    @fault(budget="elections")
    def elect(s, w: Worker):
        """A worker becomes leader, or a leader claims the config topic back, and so fences the worker that had it."""
        require(s.owner != w)
        require(s.may_claim(w), rule="618.43")
        s.owner = w
        s.leads[w] = True

    @action
    def depose(s, w: Worker):
        """A former leader learns that it no longer leads, and its round ends."""
        require(s.leads[w] & (s.owner != w))
        s.leads[w] = False
        s.end_round(w)

    @action
    def reconfigure(s, w: Worker, n: Count, g: Generation):
        """The leader commits a new set of task configurations, perhaps an empty one."""
        require(s.leads[w] & s.may_write(w))
        require(s.thread_is_free(w), rule="618.43")
        require(s.generation < g)
        limit(g <= s.generation + 1)
        s.keep_former(w)
        s.generation = g
        s.size = n

    def may_write(s, w):
        """Return whether the broker accepts a transaction from this worker, whose producer must have the newest
        epoch."""
        return either("618.24", s.owner == w, anyone=True)

    # Rounds

    @action(fair="weak")
    def start_round(s, w: Worker):
        """The leader reads to the end of the config topic, finds a set after the latest count, and starts a fencing
        round."""
        require(s.counted < s.generation, rule="618.4")
        s.begin_round(w, s.generation, s.size, s.counted, s.count)

    def begin_round(s, w, generation, size, counted, count):
        """Start a round for the newest set that the leader has read, by the latest count that it has read."""
        require(s.leads[w] & (s.round[w] == Round.NONE))
        skipped, ids = s.needs_no_fencing(size, counted, count), s.ids_to_fence(size, count)
        s.round[w] = when(skipped, either("618.42", Round.CHECKED, only_after_fencing=Round.NONE), Round.FENCING)
        s.fencing[w] = generation
        s.new[w] = size
        with rule("618.6"):
            s.left = each(lambda v, i: (s.left[v, i] & (v != w)) | ((v == w) & ~skipped & (i < ids)))

    def needs_no_fencing(s, size, counted, count):
        """Return whether a round has no id to fence: there is no count record yet, or one task replaces one task and
        fences it by sharing its id."""
        single = (count == 1) & (size == 1)
        return (counted == 0) | either(
            "618.5",
            single,
            new_is_one=size == 1,
            old_is_one=count == 1,
            equal=count == size,
            at_most_one=(count <= 1) & (size <= 1),
        )

    def ids_to_fence(s, size, count):
        return either("618.6", count, as_many_as_the_new_set=size, one_less=count - 1)

    @action(fair="weak", by="w", to="coordinator")
    def fence(s, w: Worker, i: Task):
        """The leader fences one transactional id: its coordinator raises the epoch and ends any transaction of an older
        epoch."""
        require((s.round[w] == Round.FENCING) & s.left[w, i])
        s.left[w, i] = False
        with rule("618.12"):
            s.live = each(lambda k: s.live[k] & (s.task[k] != i))

    def all_fenced(s, w):
        return ~exists(Task, lambda i: s.left[w, i])

    @action(fair="weak")
    def check_round(s, w: Worker):
        """The leader has fenced all ids, reads the config topic to the end, and gives the round up if there is a newer
        set."""
        require(s.round[w] == Round.FENCING)
        require(s.all_fenced(w), rule="618.7")
        newest = s.round_is_for_newest(w)
        s.round[w] = when(newest, Round.CHECKED, Round.NONE)
        s.fencing[w] = when(newest, s.fencing[w], 0)
        s.new[w] = when(newest, s.new[w], 0)

    @action(fair="weak")
    def write_count(s, w: Worker):
        """The leader writes a task count record with as many tasks as the set of the round has."""
        require((s.round[w] == Round.CHECKED) & s.may_write(w))
        s.record(either("618.42", s.new[w], of_the_old_set=s.count))
        s.end_round(w)

    def record(s, tasks):
        """Put a count record after the newest set."""
        s.counted = s.generation
        with rule("618.1"):
            s.count = tasks

    @action(fair="weak")
    def write_refused(s, w: Worker):
        """The leader's task count record is refused, because another worker's producer has a newer epoch on the config
        topic."""
        require((s.round[w] == Round.CHECKED) & ~s.may_write(w))
        s.end_round(w)

    @fault(budget="failures", danger=("client-crash", "loss", "lost-answer", "time-out"))
    def fail_round(s, w: Worker):
        """A round fails, because an id can't be fenced, the record can't be written or the worker goes down; fenced ids
        stay fenced."""
        require(s.round[w] != Round.NONE)
        s.end_round(w)

    @fault(budget="failures", danger=("late-copy", "duplicate"))
    def fence_late(s, i: Task):
        """A request to fence that was given up for lost arrives after all, and may fence a task of the newest set."""
        require(exists(Instance, lambda k: s.live[k] & (s.task[k] == i)))
        s.live = each(lambda k: s.live[k] & (s.task[k] != i))

    def end_round(s, w):
        s.round[w] = Round.NONE
        s.fencing[w] = 0
        s.new[w] = 0
        s.left = each(lambda v, i: s.left[v, i] & (v != w))

    # Instances

    @action(by="leader", to="k")
    def assign(s, k: Instance, i: Task, g: Generation):
        """A worker is assigned a task of the newest set that it has read. A task of an older set never polls, so its id
        does not matter; exploration assigns only tasks of the newest set, and lets time pass before the next step."""
        require((s.stage[k] == Stage.NONE) & (0 < g) & (g <= s.generation))
        require(implies(g == s.generation, i < s.size))
        limit(g == s.generation)
        s.stage[k] = Stage.ASSIGNED
        s.of[k] = g
        s.task[k] = i

    def let_through(s, k):
        """Let an instance pass its first check, since a round for its set or for a newer one is over."""
        require(either("618.19", True, before_the_producer=s.generation == s.of[k]))
        s.stage[k] = Stage.CHECKED

    @action(fair="weak")
    def open_producer(s, k: Instance):
        """An instance opens its producer, whose new epoch fences every earlier holder of the transactional id."""
        require(s.stage[k] == Stage.CHECKED)
        s.stage[k] = Stage.PRODUCER
        s.live = each(lambda j: (j == k) | (s.live[j] & s.others_stay(j, k)))

    def others_stay(s, j, k):
        return either("618.18", s.task[j] != s.task[k], fences_nobody=True)

    @action(fair="weak")
    def check_after(s, k: Instance, seen: Generation):
        """The worker reads to the end of the config topic once more, and lets the instance poll only if the set that it
        started from is still the newest."""
        require(s.stage[k] == Stage.PRODUCER)
        stale = (s.of[k] <= seen) & (seen <= s.generation)
        require(either("618.19", seen == s.generation, on_a_stale_view=stale))
        newest = s.is_to_run(k, seen)
        s.stage[k] = when(newest, Stage.RUNNING, Stage.NONE)
        s.polled = when(newest & (s.polled < s.set_of(k)), s.set_of(k), s.polled)
        s.of[k] = when(newest, s.of[k], 0)
        s.task[k] = when(newest, s.task[k], 0)
        s.live[k] = s.live[k] & newest

    def is_to_run(s, k, seen):
        """Return whether the second check lets an instance run, which has read the topic up to the set `seen`."""
        return either(
            "618.19",
            seen == s.of[k],
            unchecked=True,
            a_count_stands_after=s.generation <= s.counted,
            before_the_producer=True,
        )

    def set_of(s, k):
        return s.of[k]

    @action(danger="client-crash")
    def stop(s, k: Instance):
        """An instance stops because it is revoked, failed, fenced, crashed or given up, and no other step ever waits
        for its end (618.22)."""
        require(s.stage[k] != Stage.NONE)
        s.clear(k)

    def clear(s, k):
        s.stage[k] = Stage.NONE
        s.of[k] = 0
        s.task[k] = 0
        s.live[k] = False

    def can_commit(s, k):
        return (s.stage[k] == Stage.RUNNING) & s.live[k]

    @danger("zombie")
    def goes_on_late(s):
        """A start of an earlier set is still under way while a task of the newest set polls."""
        return exists(
            Instance, Instance,
            lambda j, k: (s.stage[j] == Stage.RUNNING) & (s.of[j] == s.generation) & (s.stage[k] != Stage.NONE)
            & (s.of[k] < s.generation),
        )  # fmt: skip

    @danger("leader-in-a-call")
    def deposed_in_a_round(s):
        """A leader whose producer is fenced from the config topic has a round under way."""
        return exists(Worker, lambda w: s.leads[w] & (s.owner != w) & (s.round[w] != Round.NONE))

    @danger("rebalance")
    def starts_in_a_round(s):
        """Tasks open their producers while a leader's fencing round is under way."""
        return exists(Worker, Instance, lambda w, k: (s.round[w] != Round.NONE) & (s.stage[k] == Stage.PRODUCER))

    @danger("empty-set")
    def no_tasks(s):
        """The newest set of task configurations is empty."""
        return (0 < s.generation) & (s.size == 0)

    @danger("one-task")
    def one_for_one(s):
        """A set of one task follows a count of one task, and its round is still to come."""
        return (s.counted < s.generation) & (s.count == 1) & (s.size == 1)

    @danger("several-tasks")
    def several_to_fence(s):
        """A fencing round has several ids left to fence."""
        return exists(Worker, Task, Task, lambda w, i, j: (i != j) & s.left[w, i] & s.left[w, j])

    @danger("several-ids")
    def several_producers(s):
        """Tasks of several transactional ids can commit."""
        return exists(Instance, Instance, lambda j, k: s.live[j] & s.live[k] & (s.task[j] != s.task[k]))

    # Steps in which the revisions differ

    def may_claim(s, w):
        """Return whether the worker may claim the topic: one thread checks, writes and claims, so it does not claim
        between check and write."""
        return s.round[w] != Round.CHECKED

    def thread_is_free(s, w):
        """Return whether the worker may write a set: its one thread does not write one between check and write of a
        count."""
        return s.round[w] != Round.CHECKED

    def keep_former(s, w):
        """Record the state of the topic before the new set, in forms where a worker may still act on it."""

    def round_is_for_newest(s, w):
        return either("618.43", s.fencing[w] == s.generation, no_round_check=True)
