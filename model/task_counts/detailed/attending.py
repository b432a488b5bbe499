"""In what shipped, tasks that failed stay FAILED until a user restarts them or a newer set replaces them.

A start that finds a newer set fails as well (618.20). A start that wakes up late fences a healthy task of the newer set
before it finds that set, and the fenced task then is FAILED and not restarted. A task also fails when its request for a
round was forwarded to a paused leader and ran into the idle time-out of the forwarding worker
(DistributedHerder.fenceZombieSourceTasks, RestClient), or when it is fenced by a request that was given up for lost and
belongs to a finished round.
"""

from fencepost.model.language import Set, action, fault, require
from fencepost.model.task_counts.abstract.core import Instance, Stage, Task, Worker
from fencepost.model.task_counts.detailed.asking import Shipped
from fencepost.model.task_counts.detailed.workers import Position


class Unattended(Shipped):
    """No user restarts the tasks that failed."""

    failed: Set[Task, Position]  # the task of this set is FAILED

    @action(fair="weak")
    def assign(s, w: Worker, k: Instance, i: Task):
        require(~s.failed[i, s.latest_set(s.read[w])])
        Shipped.assign(s, w, k, i)

    @fault(budget="duplicates", danger="zombie")
    def assign_again(s, w: Worker, k: Instance, i: Task):
        require(~s.failed[i, s.latest_set(s.read[w])])
        Shipped.assign_again(s, w, k, i)

    @action(fair="weak")
    def fail(s, w: Worker, k: Instance):
        """A task whose request was refused becomes FAILED for its set, with the trace of the answer."""
        require(s.refused[k] & s.is_at(k, w))
        s.failed[s.task[k], s.of[k]] = True
        s.end(k)

    @action(fair="weak")
    def check_after(s, w: Worker, k: Instance):
        """The second check fails the task, rather than abandoning it, if there is a newer set."""
        newest = s.still_newest(w, k)
        gone = (s.failed[s.task[k], s.of[k]]) | ~newest
        require((s.stage[k] == Stage.PRODUCER) & s.is_at(k, w))
        s.failed[s.task[k], s.of[k]] = gone
        s.polls_if(w, k, newest)

    @action(fair="weak")
    def notice(s, w: Worker, k: Instance):
        require((s.stage[k] == Stage.RUNNING) & ~s.live[k] & s.is_at(k, w))
        s.failed[s.task[k], s.of[k]] = True
        s.end(k)

    @fault(budget="failures", danger=("time-out", "lost-answer"))
    def time_out(s, w: Worker, k: Instance, v: Worker):
        """A task's request fails because the leader that it asked does not answer in time."""
        require((s.asked[k] == v) & s.is_at(k, w))
        s.asked[k] = None
        s.refused[k] = True


class LateFence(Unattended):
    """The only failure in this variant is a request to fence that arrives late."""

    fence_fails = None
    time_out = None

    @fault(budget="failures", danger=("late-copy", "duplicate"))
    def fence_late(s, i: Task):
        """A late request fences an id that a round may have had to fence, since a count before the newest set covers
        it."""
        require(i < s.size_of(s.latest_count(s.latest_set())))
        Unattended.fence_late(s, i)


class Unanswered(Unattended):
    """The only failure in this variant is an answer of the leader that does not arrive."""

    fence_fails = None
    fence_late = None


class Attended(Unattended):
    """A user restarts every task that failed."""

    @action(fair="weak", by="user")
    def restart(s, i: Task, g: Position):
        require(s.failed[i, g])
        s.failed[i, g] = False
