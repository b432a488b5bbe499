"""The core of KIP-618's "who may run": one connector, its sets of task configurations, counts, rounds and task starts.

The config topic is reduced to what its order says: the number of the newest committed set, and after which set the
latest count record stands.  Producer epochs are reduced to who has been fenced since: `owner` on the config topic,
`live` on the tasks' transactional ids; a late request of an older epoch is refused like anybody's.  Whatever stalls
takes its next step late: a worker that falls silent loses the topic when another one claims it, and may wake up at any
time.  One that goes down and comes back is one whose rounds failed and whose instances stopped.

Left out, and found in the full model, which refines this: the topic as a log and how far each worker has read,
rebalances, requests and their answers, which worker runs a task.  `cores.py` says what the revisions do otherwise.
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
    """A Connect worker; any of them may believe itself the leader."""


class Instance(Sort, bound="instances"):
    """A task as some worker starts and runs it; several may have one task id, on one worker or on many."""


class Task(Nat, upto="tasks - 1"):
    """A task id, from 0."""


class Count(Nat, upto="tasks"):
    """A number of tasks."""


class Generation(Nat, upto="generations"):
    """A committed set of task configurations, by its place among the sets of this connector; 0 is none."""


class Round(Enumeration):
    """A leader's fencing round: none, fencing ids, or about to write the count."""

    NONE, FENCING, CHECKED = range(3)


class Stage(Enumeration):
    """An instance's way to its first poll."""

    NONE, ASSIGNED, CHECKED, PRODUCER, RUNNING = range(5)


class Core(Protocol):
    """Leaders write sets and counts, and fence in between; instances start by what the topic says."""

    generation: Generation  # the newest committed set
    size: Count  # its tasks
    counted: Generation  # the newest set before the latest count record; 0: there is no such record
    count: Count  # its value

    owner: Option[Worker]  # whose producer has the newest epoch on the config topic
    leads: Map[Worker, Bool]  # believes to be the leader, perhaps wrongly
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
        """A worker becomes leader, or a leader claims the topic back, and so fences the one that had it."""
        require(s.owner != w)
        require(s.may_claim(w), rule="618.43")
        s.owner = w
        s.leads[w] = True

    @action
    def depose(s, w: Worker):
        """A former leader learns that it is none."""
        require(s.leads[w] & (s.owner != w))
        s.leads[w] = False
        s.end_round(w)

    @action
    def reconfigure(s, w: Worker, n: Count, g: Generation):
        """The leader commits a new set, perhaps an empty one."""
        require(s.leads[w] & s.may_write(w))
        require(s.thread_is_free(w), rule="618.43")
        require(s.generation < g)
        limit(g <= s.generation + 1)
        s.keep_former(w)
        s.generation = g
        s.size = n

    def may_write(s, w):
        """The broker takes a transaction from the newest epoch only."""
        return either("618.24", s.owner == w, anyone=True)

    # Rounds

    @action(fair="weak")
    def start_round(s, w: Worker):
        """The leader has read to the end and found a set after the latest count."""
        require(s.counted < s.generation, rule="618.4")
        s.begin_round(w, s.generation, s.size, s.counted, s.count)

    def begin_round(s, w, generation, size, counted, count):
        """A round for the newest set that the leader has read, by the latest count that it has read."""
        require(s.leads[w] & (s.round[w] == Round.NONE))
        skipped, ids = s.needs_no_fencing(size, counted, count), s.ids_to_fence(size, count)
        s.round[w] = when(skipped, either("618.42", Round.CHECKED, only_after_fencing=Round.NONE), Round.FENCING)
        s.fencing[w] = generation
        s.new[w] = size
        with rule("618.6"):
            s.left = each(lambda v, i: (s.left[v, i] & (v != w)) | ((v == w) & ~skipped & (i < ids)))

    def needs_no_fencing(s, size, counted, count):
        """No count record yet; or one task before and one now, which has the id of the former and shuts it out."""
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

    @action(fair="weak")
    def fence(s, w: Worker, i: Task):
        """One id: its coordinator raises the epoch, and ends what is open under an older one."""
        require((s.round[w] == Round.FENCING) & s.left[w, i])
        s.left[w, i] = False
        with rule("618.12"):
            s.live = each(lambda k: s.live[k] & (s.task[k] != i))

    def all_fenced(s, w):
        return ~exists(Task, lambda i: s.left[w, i])

    @action(fair="weak")
    def check_round(s, w: Worker):
        """All are fenced: the leader reads to the end, and gives up if there is a newer set."""
        require(s.round[w] == Round.FENCING)
        require(s.all_fenced(w), rule="618.7")
        newest = s.round_is_for_newest(w)
        s.round[w] = when(newest, Round.CHECKED, Round.NONE)
        s.fencing[w] = when(newest, s.fencing[w], 0)
        s.new[w] = when(newest, s.new[w], 0)

    @action(fair="weak")
    def write_count(s, w: Worker):
        """The record, with as many tasks as the set of the round has."""
        require((s.round[w] == Round.CHECKED) & s.may_write(w))
        s.record(either("618.42", s.new[w], of_the_old_set=s.count))
        s.end_round(w)

    def record(s, tasks):
        """A count record comes to stand after the newest set."""
        s.counted = s.generation
        with rule("618.1"):
            s.count = tasks

    @action(fair="weak")
    def write_refused(s, w: Worker):
        """Another worker's producer has a newer epoch on the topic."""
        require((s.round[w] == Round.CHECKED) & ~s.may_write(w))
        s.end_round(w)

    @fault(budget="failures", danger=("client-crash", "loss", "lost-answer", "time-out"))
    def fail_round(s, w: Worker):
        """An id can't be fenced, the record can't be written, the worker goes down: what was fenced stays fenced."""
        require(s.round[w] != Round.NONE)
        s.end_round(w)

    @fault(budget="failures", danger=("late-copy", "duplicate"))
    def fence_late(s, i: Task):
        """A request to fence that was given up for lost arrives after all, and may meet a task of the newest set."""
        require(exists(Instance, lambda k: s.live[k] & (s.task[k] == i)))
        s.live = each(lambda k: s.live[k] & (s.task[k] != i))

    def end_round(s, w):
        s.round[w] = Round.NONE
        s.fencing[w] = 0
        s.new[w] = 0
        s.left = each(lambda v, i: s.left[v, i] & (v != w))

    # Instances

    @action
    def assign(s, k: Instance, i: Task, g: Generation):
        """A worker is to start a task of the newest set that it has read.  A task of an older set never polls, so its
        id does not matter; exploration takes the newest, and lets time pass before the next step."""
        require((s.stage[k] == Stage.NONE) & (0 < g) & (g <= s.generation))
        require(implies(g == s.generation, i < s.size))
        limit(g == s.generation)
        s.stage[k] = Stage.ASSIGNED
        s.of[k] = g
        s.task[k] = i

    def let_through(s, k):
        """A round for its set, or for a newer one, is over."""
        require(either("618.19", True, before_the_producer=s.generation == s.of[k]))
        s.stage[k] = Stage.CHECKED

    @action(fair="weak")
    def open_producer(s, k: Instance):
        """The new producer's epoch shuts out every earlier holder of the id."""
        require(s.stage[k] == Stage.CHECKED)
        s.stage[k] = Stage.PRODUCER
        s.live = each(lambda j: (j == k) | (s.live[j] & s.others_stay(j, k)))

    def others_stay(s, j, k):
        return either("618.18", s.task[j] != s.task[k], fences_nobody=True)

    @action(fair="weak")
    def check_after(s, k: Instance, seen: Generation):
        """Read to the end once more, and poll only if there still is no newer set than the one started from."""
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
        """What the second look is for."""
        return either(
            "618.19",
            seen == s.of[k],
            unchecked=True,
            a_count_stands_after=s.generation <= s.counted,
            before_the_producer=True,
        )

    def set_of(s, k):
        """The set that its configuration is of."""
        return s.of[k]

    @action(danger="client-crash")
    def stop(s, k: Instance):
        """Revoked, failed, fenced or crashed; a start given up.  Nothing waits for it, before a rebalance or ever
        (618.22)."""
        require(s.stage[k] != Stage.NONE)
        s.clear(k)

    def clear(s, k):
        s.stage[k] = Stage.NONE
        s.of[k] = 0
        s.task[k] = 0
        s.live[k] = False

    def can_commit(s, k):
        """It polls, and its producer has not been fenced."""
        return (s.stage[k] == Stage.RUNNING) & s.live[k]

    @danger("zombie")
    def goes_on_late(s):
        """A start of an earlier set goes on, while a task of the newest one polls."""
        return exists(
            Instance, Instance,
            lambda j, k: (s.stage[j] == Stage.RUNNING) & (s.of[j] == s.generation) & (s.stage[k] != Stage.NONE)
            & (s.of[k] < s.generation),
        )  # fmt: skip

    @danger("leader-in-a-call")
    def deposed_in_a_round(s):
        """A leader whose producer is fenced from the topic has a round under way."""
        return exists(Worker, lambda w: s.leads[w] & (s.owner != w) & (s.round[w] != Round.NONE))

    @danger("rebalance")
    def starts_in_a_round(s):
        """Tasks start while the leader fences."""
        return exists(Worker, Instance, lambda w, k: (s.round[w] != Round.NONE) & (s.stage[k] == Stage.PRODUCER))

    @danger("empty-set")
    def no_tasks(s):
        """The newest set is empty."""
        return (0 < s.generation) & (s.size == 0)

    @danger("one-task")
    def one_for_one(s):
        """One task is to take the place of one."""
        return (s.counted < s.generation) & (s.count == 1) & (s.size == 1)

    @danger("several-tasks")
    def several_to_fence(s):
        """A round has several ids to fence."""
        return exists(Worker, Task, Task, lambda w, i, j: (i != j) & s.left[w, i] & s.left[w, j])

    @danger("several-ids")
    def several_producers(s):
        """Tasks of several ids can commit."""
        return exists(Instance, Instance, lambda j, k: s.live[j] & s.live[k] & (s.task[j] != s.task[k]))

    # What the revisions say otherwise

    def may_claim(s, w):
        """One thread checks, writes and claims the topic: it does not claim in between."""
        return s.round[w] != Round.CHECKED

    def thread_is_free(s, w):
        """And so it does not write a set in between."""
        return s.round[w] != Round.CHECKED

    def keep_former(s, w):
        """What was read before the new set, where a worker still goes by it."""

    def round_is_for_newest(s, w):
        return either("618.43", s.fencing[w] == s.generation, no_round_check=True)
