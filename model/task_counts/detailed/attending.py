"""Tasks that failed stay FAILED until a user restarts them, or a newer set replaces them (shipped).

A start that finds a newer set fails as well (618.20), and a start that wakes up late fences a healthy task of the newer
set before it finds that out: that task then is FAILED, and is not restarted.
"""

from fencepost.model.language import Set, action, fault, require
from fencepost.model.task_counts.abstract.core import Instance, Stage, Task, Worker
from fencepost.model.task_counts.detailed.asking import Shipped
from fencepost.model.task_counts.detailed.workers import Position


class Unattended(Shipped):
    """No user."""

    failed: Set[Task, Position]  # FAILED, of this set

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
        """With the trace of the answer."""
        require(s.refused[k] & s.is_at(k, w))
        s.failed[s.task[k], s.of[k]] = True
        s.end(k)

    @action(fair="weak")
    def check_after(s, w: Worker, k: Instance):
        """Here a newer set is a failure."""
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


class Attended(Unattended):
    """A user restarts every task that failed."""

    @action(fair="weak")
    def restart(s, i: Task, g: Position):
        require(s.failed[i, g])
        s.failed[i, g] = False
