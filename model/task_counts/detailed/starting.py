"""A task's way to its first poll: assigned, checked, producer opened, checked again, running.

An instance is a place for one start of a task by one worker, free again when that is over.  Several may have one task,
on one worker or on many: a task that its worker left running (618.23), or one that two workers were given.
"""

from fencepost.model.language import (
    Ghost,
    Map,
    Option,
    action,
    danger,
    each,
    either,
    exists,
    length,
    require,
    rule,
    when,
)
from fencepost.model.task_counts.abstract.core import Instance, Round, Stage, Task, Worker
from fencepost.model.task_counts.detailed.rounds import Rounds
from fencepost.model.task_counts.detailed.topic import Position


class Starting(Rounds):
    """Workers start tasks by what they have read."""

    stage: Map[Instance, Stage]
    worker: Map[Instance, Option[Worker]]
    of: Map[Instance, Position]  # the set that it was started from
    polled: Ghost[Position]  # the newest set of which a task polls or did

    @action(fair="weak")
    def assign(s, w: Worker, k: Instance, i: Task):
        """A worker is to start a task of the newest set that it has read."""
        newest = s.latest_set(s.read[w])
        require((s.stage[k] == Stage.NONE) & (newest > 0) & (i < s.size(newest)) & s.is_awake(w))
        s.stage[k] = Stage.ASSIGNED
        s.worker[k] = w
        s.task[k] = i
        s.of[k] = newest

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
        """The new producer's epoch shuts out every earlier holder of the id."""
        require((s.stage[k] == Stage.CHECKED) & s.is_at(k, w))
        s.stage[k] = Stage.PRODUCER
        with rule("618.18"):
            s.live = each(lambda j: (j == k) | (s.live[j] & s.others_stay(j, k)))

    def others_stay(s, j, k):
        return either("618.18", s.task[j] != s.task[k], fences_nobody=True)

    @action(fair="weak")
    def check_after(s, w: Worker, k: Instance):
        """Read to the end once more, and run only if there still is no newer set."""
        require((s.stage[k] == Stage.PRODUCER) & s.is_at(k, w))
        s.polls_if(w, k, s.still_newest(w, k))

    def polls_if(s, w, k, newest):
        s.polled = when(newest & (s.polled < s.of[k]), s.of[k], s.polled)
        s.read[w] = length(s.log)
        s.go_on(k, newest, Stage.RUNNING)

    def still_newest(s, w, k):
        """That `check_before` looked at the generation is what remains where this is done before the producer opens."""
        return either(
            "618.19", s.latest_set() == s.of[k],
            unchecked=True, before_the_producer=True, by_what_it_has_read=s.latest_set(s.read[w]) == s.of[k],
            a_count_after_the_sets=~s.is_pending(),
        )  # fmt: skip

    @danger("zombie")
    def goes_on_late(s):
        """A start of an earlier set goes on, while a task of the newest one polls."""
        newest = s.latest_set()
        return exists(
            Instance, Instance,
            lambda j, k: (s.stage[j] == Stage.RUNNING) & (s.of[j] == newest) & (s.stage[k] != Stage.NONE)
            & (s.of[k] < newest),
        )  # fmt: skip

    @danger("rebalance")
    def starts_in_a_round(s):
        """Tasks start while the leader fences."""
        return exists(Worker, Instance, lambda w, k: (s.round[w] != Round.NONE) & (s.stage[k] == Stage.PRODUCER))

    @action(danger="client-crash")
    def stop(s, w: Worker, k: Instance):
        """Revoked, failed, fenced or crashed."""
        require((s.stage[k] != Stage.NONE) & s.is_at(k, w))
        s.go_on(k, False, Stage.NONE)

    def is_at(s, k, w):
        """The worker that has this instance, and does not stall."""
        return (s.worker[k] == w) & s.is_awake(w)

    def go_on(s, k, so, to):
        """The instance comes to the next stage, or is gone, and nobody has its producer."""
        s.stage[k] = when(so, to, Stage.NONE)
        s.worker[k] = when(so, s.worker[k], None)
        s.task[k] = when(so, s.task[k], 0)
        s.of[k] = when(so, s.of[k], 0)
        s.live[k] = s.live[k] & so

    def can_commit(s, k):
        """It polls, and nobody has fenced its producer."""
        return (s.stage[k] == Stage.RUNNING) & s.live[k]

    def is_wanted(s, i):
        """It is a task of the newest set."""
        newest = s.latest_set()
        return (newest > 0) & (i < s.size(newest))

    def is_served(s, i):
        """A task of the newest set polls."""
        newest = s.latest_set()
        return exists(Instance, lambda k: s.can_commit(k) & (s.of[k] == newest) & (s.task[k] == i))
