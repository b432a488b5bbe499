"""This module adds to the common steps what most variants need: faults with budgets, and workers that clean up.

A worker stops tasks of a set that it knows to be superseded, and a task that finds its producer fenced fails. Neither
matters to safety (618.22), and both are steps that `stop` allows at any time, but progress needs them to be fair.
"""

from fencepost.model.language import action, exists, fault, require
from fencepost.model.task_counts.abstract.core import Count, Instance, Stage, Task, Worker
from fencepost.model.task_counts.detailed.workers import Workers


class Cluster(Workers):
    """Any worker may be assigned any task, and a failed task may be assigned again, because its user restarts it."""

    @fault(budget="elections")
    def elect(s, w: Worker):
        Workers.elect(s, w)

    @fault(budget="sets")
    def reconfigure(s, w: Worker, n: Count):
        Workers.reconfigure(s, w, n)

    @action(fair="weak")
    def assign(s, w: Worker, k: Instance, i: Task):
        """A rebalance gives a worker a task of the newest set that it has read."""
        require(~s.is_given(i, s.latest_set(s.read[w])))
        Workers.assign(s, w, k, i)

    @fault(budget="duplicates", danger="zombie")
    def assign_again(s, w: Worker, k: Instance, i: Task):
        """A task of the newest set gets a second instance: a worker fell out of the group without knowing it, or a task
        was left running (618.23)."""
        require(s.is_given(i, s.latest_set(s.read[w])))
        Workers.assign(s, w, k, i)

    def is_given(s, i, own):
        return exists(Instance, lambda k: (s.stage[k] != Stage.NONE) & (s.task[k] == i) & (s.of[k] == own))

    @action(fair="weak", rule="618.22")
    def revoke(s, w: Worker, k: Instance):
        """The worker has read a newer set, and stops the task of the older one."""
        require((s.stage[k] != Stage.NONE) & s.is_at(k, w))
        require(s.of[k] < s.latest_set(s.read[w]))
        s.end(k)

    @action(fair="weak")
    def notice(s, w: Worker, k: Instance):
        """A running task ends because its next transaction is refused: another producer has a newer epoch, or an
        administrator fenced it."""
        require((s.stage[k] == Stage.RUNNING) & ~s.live[k] & s.is_at(k, w))
        s.end(k)

    @fault(budget="stops", danger="client-crash")
    def stop(s, w: Worker, k: Instance):
        """A task instance is revoked, fails or crashes."""
        require((s.stage[k] != Stage.NONE) & s.is_at(k, w))
        s.end(k)

    def end(s, k):
        s.go_on(k, False, Stage.NONE)
