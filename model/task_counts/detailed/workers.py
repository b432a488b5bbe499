"""This module has the workers and the config topic of one connector: leaders, their rounds, and a task's way to its
first poll.

The topic is an ordered log, and workers read it late. A generation of tasks is named by the place of its set in the
topic, which is the same for all workers. A later set has the greater name, and the core needs nothing else of a
generation.

Epochs on the config topic are reduced to `owner`, the worker that holds the newest: the transactional producer of the
newest leader fences all others (618.24).

A round fences as many ids as the latest count gives, checks the topic again, and writes the count of the new set. The
ids are fenced one after another from the highest; nothing depends on their order.

A task is assigned, checked, its producer opened, checked again, and runs. An instance is a place for one start of a
task by one worker, and is free again when that start or run is over. Several instances may have one task, on one worker
or on many: a task that its worker left running (618.23), or one that two workers were given.
"""

from fencepost.model.language import (
    Bool,
    Constant,
    Ghost,
    Map,
    Nat,
    Option,
    Protocol,
    Seq,
    Set,
    action,
    append,
    at,
    axiom,
    danger,
    each,
    either,
    exists,
    fault,
    latest,
    length,
    require,
    rule,
    when,
)
from fencepost.model.task_counts.abstract.core import Core, Count, Instance, Round, Stage, Task, Worker
from fencepost.model.task_counts.outside import OF_THE_CORES


class Record(Nat, upto="2 * tasks + 1"):
    """A `Record` of the config topic is a number: r up to `tasks` is a committed set of r task configurations (618.3),
    and a greater r is a count of r - tasks - 1 tasks (618.1)."""


class Position(Nat, upto="log"):
    """A `Position` is a place in the config topic, from 1; 0 is before the first record."""


class Workers(Protocol):
    """Workers lead, fence and start tasks by what they have read of the config topic."""

    actors = ("coordinator", "user")

    tasks: Constant[Nat]
    log: Seq[Record, "log"]  # type: ignore[name-defined]  # noqa: F821  a bound's name
    read: Map[Worker, Position]  # how far a worker has read the config topic

    owner: Option[Worker]  # the worker whose producer has the newest epoch on the config topic
    leads: Map[Worker, Bool]  # the worker believes itself the leader, perhaps wrongly
    round: Map[Worker, Round]

    fencing: Map[Worker, Position]  # the generation for which the round is
    left: Map[Worker, Count]  # task ids below this one are still to be fenced
    task: Map[Instance, Task]
    live: Set[Instance]  # its producer was opened, and has not been fenced since

    stage: Map[Instance, Stage]
    worker: Map[Instance, Option[Worker]]
    of: Map[Instance, Position]  # the set that it was started from
    polled: Ghost[Position]  # the newest set of which a task polls or did

    outside = OF_THE_CORES

    @axiom
    def some_task(s):
        return s.tasks >= 1

    def latest_set(s, upto=None):
        return latest(s.log, lambda r: r <= s.tasks, upto)

    def latest_count(s, upto=None):
        return latest(s.log, lambda r: r > s.tasks, upto)

    def size(s, position):
        record = at(s.log, position)
        return when(record <= s.tasks, record, record - s.tasks - 1)

    def size_of(s, position):
        """Return the number of tasks at that position, and 0 where there is no record."""
        return when(position == 0, 0, s.size(position))

    def count(s):
        return s.size_of(s.latest_count())

    def is_pending(s):
        return s.latest_count() < s.latest_set()

    @danger("slow-reader")
    def behind(s):
        """A worker has not read the newest record of the config topic."""
        return exists(Worker, lambda w: s.read[w] < length(s.log))

    @danger("empty-set")
    def no_tasks(s):
        """The newest set of task configurations is empty."""
        return (s.latest_set() > 0) & (s.size_of(s.latest_set()) == 0)

    @danger("one-task")
    def one_for_one(s):
        """A set of one task follows a count of one task, and its round is still to come."""
        return s.is_pending() & (s.count() == 1) & (s.size_of(s.latest_set()) == 1)

    def is_count(s, position):
        return (position <= length(s.log)) & (at(s.log, position) > s.tasks)

    def covers(s, own, upto):
        """Return whether the first `upto` records have a count that stands after this set and before the next set."""
        return exists(Position, lambda p: (p <= upto) & s.is_count(p) & (s.latest_set(p) == own))

    @action(fair="weak")
    def poll(s, w: Worker):
        """A worker reads one more record of the config topic."""
        require((s.read[w] < length(s.log)) & s.is_awake(w))
        s.read[w] = s.read[w] + 1

    def is_awake(s, w):
        """Return whether the worker does not stall. A stalled worker takes no step, which matters only where progress
        is required."""
        return True

    # Leaders, true and former.

    def may_write(s, w):
        return either("618.24", s.owner == w, anyone=True)

    @action
    def elect(s, w: Worker):
        """A worker becomes leader, or a leader claims the topic back. Its one thread cannot do so between check and
        write."""
        require((s.owner != w) & s.is_awake(w))
        require(either("618.43", s.thread_is_free(w), reclaims_in_between=True))
        s.owner = w
        s.leads[w] = True

    @action(fair="weak")
    def depose(s, w: Worker):
        """A former leader learns that it no longer leads, and its round and the requests for it fail."""
        require(s.leads[w] & (s.owner != w) & s.is_awake(w))
        s.leads[w] = False
        s.end_round(w)
        s.fail_those_who_asked(w, True)

    @action
    def reconfigure(s, w: Worker, n: Count):
        """The leader publishes a new set of n task configurations, perhaps of none, for itself or for a follower that
        asked it to."""
        require(s.thread_is_free(w) & s.is_awake(w))
        require(either("618.34", s.leads[w] & s.may_write(w), anybody=s.thread_is_free(w)))
        s.read[w] = length(s.log) + 1
        append(s.log, n)

    deposed_in_a_round = Core.deposed_in_a_round

    def thread_is_free(s, w):
        """Return whether the leader's thread is free: it compares the generation and writes the count without doing
        anything in between."""
        return s.round[w] != Round.CHECKED

    def fail_those_who_asked(s, w, so):
        """Fail the requests that wait for a failed round; the variants define the effect."""

    # The round of a worker that believes itself the leader, one at a time.

    @danger("several-tasks")
    def several_to_fence(s):
        """A fencing round has several ids left to fence."""
        return exists(Worker, lambda w: s.left[w] > 1)

    several_producers = Core.several_producers

    def end_round(s, w):
        s.round[w] = Round.NONE
        s.fencing[w] = 0
        s.left[w] = 0

    @action(fair="weak")
    def start_round(s, w: Worker):
        """The leader reads to the end, finds a set after the latest count, and starts a fencing round."""
        newest, counted = s.latest_set(), s.latest_count()
        require(s.leads[w] & (s.round[w] == Round.NONE) & s.is_awake(w))
        require(counted < newest, rule="618.4")
        left = s.to_fence(s.size(newest))
        s.read[w] = length(s.log)
        s.fencing[w] = newest
        s.round[w] = when(s.needs_no_fencing(s.size(newest)), Round.CHECKED, Round.FENCING)
        s.left[w] = left

    def needs_no_fencing(s, new):
        """Return whether a round has no id to fence: there is no count record yet, or one task replaces one task and
        fences it."""
        old = s.count()
        return (s.latest_count() == 0) | either(
            "618.5", (old == 1) & (new == 1),
            the_new_is_one=new == 1, the_old_is_one=old == 1, they_are_equal=old == new,
            at_most_one_each=(old <= 1) & (new <= 1),
        )  # fmt: skip

    def to_fence(s, new):
        """Return the number of ids to fence, which is that of the latest count if fencing is needed at all."""
        old = s.count()
        ids = either("618.6", old, as_many_as_the_new_set=new, one_less=old - 1)
        return when(s.needs_no_fencing(new), 0, either("618.7", ids, none_at_all=0))

    @action(fair="weak", by="w", to="coordinator")
    def fence(s, w: Worker):
        """The leader fences one transactional id: the coordinator raises its epoch, and its former holder can't commit
        any more (618.12)."""
        require((s.round[w] == Round.FENCING) & (s.left[w] > 0) & s.is_awake(w))
        with rule("618.12"):
            s.live = each(lambda k: s.live[k] & (s.task[k] + 1 != s.left[w]))
        s.left[w] = s.left[w] - 1

    fence_late = Core.fence_late

    @action(fair="weak")
    def check_round(s, w: Worker):
        """The leader has fenced all ids, reads to the end, and gives the round up if there is a newer set."""
        require((s.round[w] == Round.FENCING) & s.is_awake(w))
        require(s.left[w] == 0, rule="618.7")
        newest = either(
            "618.43", s.latest_set() == s.fencing[w],
            generations_not_compared=True, by_what_it_has_read=s.latest_set(s.read[w]) == s.fencing[w],
        )  # fmt: skip
        s.read[w] = length(s.log)
        s.round[w] = when(newest, Round.CHECKED, Round.NONE)
        s.fencing[w] = when(newest, s.fencing[w], 0)
        s.left[w] = 0
        s.fail_those_who_asked(w, ~newest)

    @action(fair="weak")
    def write_count(s, w: Worker):
        """The leader writes the count of the set that the round was for."""
        require((s.round[w] == Round.CHECKED) & s.may_write(w) & s.is_awake(w))
        old = s.count()
        new = s.size(s.fencing[w])
        count = either("618.42", new, of_the_set_before=when(old == 0, new, old))
        s.read[w] = length(s.log) + 1
        append(s.log, s.tasks + 1 + count)
        s.round[w] = Round.NONE
        s.fencing[w] = 0

    @action(fair="weak")
    def write_refused(s, w: Worker):
        """The leader's task count record is refused, because another worker's producer has a newer epoch on the
        topic."""
        require((s.round[w] == Round.CHECKED) & ~s.may_write(w) & s.is_awake(w))
        s.round[w] = Round.NONE
        s.fencing[w] = 0
        s.fail_those_who_asked(w, True)

    @fault(budget="failures", danger=("loss", "lost-answer", "time-out"))
    def fence_fails(s, w: Worker):
        """One id can't be fenced, and so the round fails; the ids that were fenced stay fenced."""
        require((s.round[w] == Round.FENCING) & (s.left[w] > 0))
        fails = either("618.7", s.left[w] > 0, some_are_enough=False)
        s.round[w] = when(fails, Round.NONE, s.round[w])
        s.fencing[w] = when(fails, 0, s.fencing[w])
        s.left[w] = when(fails, 0, s.left[w] - 1)
        s.fail_those_who_asked(w, fails)

    # The start of a task.

    @action(fair="weak")
    def assign(s, w: Worker, k: Instance, i: Task):
        """A worker is assigned a task of the newest set that it has read."""
        newest = s.latest_set(s.read[w])
        require((s.stage[k] == Stage.NONE) & (newest > 0) & s.may_be_started(i, newest) & s.is_awake(w))
        s.stage[k] = Stage.ASSIGNED
        s.worker[k] = w
        s.task[k] = i
        s.of[k] = newest

    def may_be_started(s, i, own):
        return i < s.size(own)

    def set_of(s, k):
        return s.of[k]

    @action(fair="weak")
    def check_before(s, w: Worker, k: Instance):
        """The round is over: the worker reads to the end, and drops the task if there is a newer set."""
        require((s.stage[k] == Stage.ASSIGNED) & s.is_at(k, w))
        counted = s.latest_count()
        says = either("618.2", counted > s.of[k], any_count=counted > 0, count_before=counted < s.of[k])
        require(says, rule="618.16")
        s.read[w] = length(s.log)
        s.go_on(k, s.latest_set() == s.of[k], Stage.CHECKED)

    @action(fair="weak")
    def open_producer(s, w: Worker, k: Instance):
        """A task opens its producer, whose new epoch fences every earlier holder of the transactional id."""
        require((s.stage[k] == Stage.CHECKED) & s.is_at(k, w))
        s.stage[k] = Stage.PRODUCER
        with rule("618.18"):
            s.live = each(lambda j: (j == k) | (s.live[j] & s.others_stay(j, k)))

    def others_stay(s, j, k):
        return either("618.18", s.task[j] != s.task[k], fences_nobody=True)

    @action(fair="weak")
    def check_after(s, w: Worker, k: Instance):
        """The worker reads to the end once more, and runs the task only if its set is still the newest."""
        require((s.stage[k] == Stage.PRODUCER) & s.is_at(k, w))
        s.polls_if(w, k, s.still_newest(w, k))

    def polls_if(s, w, k, newest):
        s.polled = when(newest & (s.polled < s.set_of(k)), s.set_of(k), s.polled)
        s.read[w] = length(s.log)
        s.go_on(k, newest, Stage.RUNNING)

    def still_newest(s, w, k):
        """Return whether the task's set is still the newest. Where this check is made before the producer opens, only
        that of `check_before` remains."""
        return either(
            "618.19", s.latest_set() == s.of[k],
            unchecked=True, before_the_producer=True, by_what_it_has_read=s.latest_set(s.read[w]) == s.of[k],
            a_count_after_the_sets=~s.is_pending(),
        )  # fmt: skip

    @danger("zombie")
    def goes_on_late(s):
        """A start of an earlier set is still under way while a task of the newest set polls."""
        newest = s.latest_set()
        return exists(
            Instance, Instance,
            lambda j, k: (s.stage[j] == Stage.RUNNING) & (s.of[j] == newest) & (s.stage[k] != Stage.NONE)
            & (s.of[k] < newest),
        )  # fmt: skip

    starts_in_a_round = Core.starts_in_a_round

    @action(danger="client-crash")
    def stop(s, w: Worker, k: Instance):
        """A task instance is revoked, fails, is fenced or crashes."""
        require((s.stage[k] != Stage.NONE) & s.is_at(k, w))
        s.go_on(k, False, Stage.NONE)

    def is_at(s, k, w):
        """Return whether this worker has the instance and does not stall."""
        return (s.worker[k] == w) & s.is_awake(w)

    def go_on(s, k, so, to):
        """Move the instance to the next stage, or remove it together with its producer."""
        s.stage[k] = when(so, to, Stage.NONE)
        s.worker[k] = when(so, s.worker[k], None)
        s.task[k] = when(so, s.task[k], 0)
        s.of[k] = when(so, s.of[k], 0)
        s.live[k] = s.live[k] & so

    can_commit = Core.can_commit

    def is_wanted(s, i):
        newest = s.latest_set()
        return (newest > 0) & (i < s.size(newest))

    def is_served(s, i):
        newest = s.latest_set()
        return exists(Instance, lambda k: s.can_commit(k) & (s.of[k] == newest) & (s.task[k] == i))
