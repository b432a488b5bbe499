"""This module adds eager and cooperative rebalances to what shipped (618.41): the members of the group, and the tasks
that each was given.

A rebalance takes as long as its slowest member: all members stop what they have to stop and rejoin, then the leader
hands out tasks of the newest set that any member has read. A worker that stalls falls out of the group, and its threads
go on where they were when it wakes up. Handing out and receiving an assignment are one step; the start comes later.
"""

from fencepost.model.language import (
    Bool,
    Option,
    Set,
    action,
    each,
    either,
    exists,
    fault,
    forall,
    implies,
    require,
)
from fencepost.model.task_counts.abstract.core import Instance, Stage, Task, Worker
from fencepost.model.task_counts.detailed.asking import Shipped
from fencepost.model.task_counts.detailed.workers import Position, Workers


class Rebalancing(Shipped):
    """In an eager rebalance, a member stops all its tasks before it rejoins."""

    member: Set[Worker]
    joined: Set[Worker]  # the member has rejoined, and waits for the others
    due: Bool  # members are called to rejoin
    leader: Option[Worker]  # the leader of the group
    given: Set[Task, Worker]  # the tasks of each worker in the newest assignment
    based: Position  # the set that the newest assignment is of
    heir: Set[Worker]  # the worker that gets in the next rebalance what this one revoked
    stalled: Set[Worker]

    assign_again = None

    def init(s):
        s.member = each(lambda w: True)
        s.due = True

    def is_awake(s, w):
        return ~s.stalled[w]

    # Members

    @fault(budget="stalls", danger="zombie")
    def stall(s, w: Worker):
        require(~s.stalled[w])
        s.stalled[w] = True

    @action(fair="weak", danger="time-out")
    def expire(s, w: Worker):
        """The session of a stalled worker ends, and the other members go on without it."""
        require(s.stalled[w] & s.member[w])
        s.member[w] = False
        s.joined[w] = False
        s.due = True

    @action
    def resume(s, w: Worker):
        """A stalled worker wakes up and its threads go on, including those of tasks that it no longer has."""
        require(s.stalled[w])
        s.stalled[w] = False

    @action(fair="weak")
    def come_back(s, w: Worker):
        """A worker finds that it is not a member any more, and joins the group again."""
        require(~s.member[w] & s.is_awake(w))
        s.member[w] = True
        s.due = True

    @action(fair="weak", danger="rebalance")
    def rejoin(s, w: Worker):
        """A member rejoins because a rebalance is due, or because it has read a newer set than that of the
        assignment."""
        require(s.member[w] & ~s.joined[w] & s.is_awake(w) & s.has_to_rejoin(w))
        s.has_stopped(w)
        s.joined[w] = True
        s.due = True

    def has_stopped(s, w):
        """Require that the worker has stopped every task that must stop before a rebalance: revoked tasks, and those
        that the protocol stops (618.22)."""
        running = exists(Instance, lambda k: (s.worker[k] == w) & (s.stage[k] != Stage.NONE) & s.has_to_stop(w, k))
        require(~running, rule="618.22")

    def has_to_rejoin(s, w):
        return s.due | (s.based < s.latest_set(s.read[w]))

    def has_to_stop(s, w, k):
        superseded = s.of[k] < s.latest_set(s.read[w])
        return s.was_revoked(w, k) | superseded | (s.has_to_rejoin(w) & s.stops_all(k))

    def was_revoked(s, w, k):
        return ~s.given[s.task[k], w]

    def stops_all(s, k):
        return s.stage[k] != Stage.NONE

    @action(fair="weak")
    def revoke(s, w: Worker, k: Instance):
        require((s.stage[k] != Stage.NONE) & s.is_at(k, w) & s.member[w] & ~s.joined[w] & s.has_to_stop(w, k))
        s.end(k)

    @fault(budget="left_running", danger="zombie")
    def leave_running(s, w: Worker, k: Instance):
        """A task does not stop within task.shutdown.graceful.timeout.ms, and its worker goes on without it (618.23)."""
        require((s.stage[k] == Stage.RUNNING) & s.is_at(k, w) & s.member[w] & ~s.joined[w] & s.has_to_stop(w, k))
        s.worker[k] = None

    @action(fair="weak")
    def end_left(s, k: Instance):
        """A task that was left running ends because its producer has been fenced."""
        require((s.stage[k] == Stage.RUNNING) & (s.worker[k] == None) & ~s.live[k])  # noqa: E711
        s.end(k)

    @action(fair="weak", danger=("time-out", "loss"))
    def time_out(s, w: Worker, k: Instance, v: Worker):
        """A task's request fails because the leader that was asked does not answer."""
        require((s.asked[k] == v) & s.is_at(k, w) & s.stalled[v])
        s.asked[k] = None
        s.refused[k] = True

    # The leader

    @action(fair="weak", danger="rebalance")
    def hand_out(s, v: Worker, u: Worker):
        """All members have rejoined, and the leader gives the tasks to one of them; a leader that is still a member
        stays leader."""
        newest = s.latest_set(s.read[v])
        require(s.due & s.member[v] & s.member[u] & s.is_awake(v))
        require(forall(Worker, lambda w: implies(s.member[w], s.joined[w] & (s.latest_set(s.read[w]) <= newest))))
        require(implies(exists(Worker, lambda w: (s.leader == w) & s.member[w]), s.leader == v))
        require(s.goes_on_with(u))
        moves = exists(Task, lambda i: s.has_to_move(i, u))
        s.given = each(lambda i, w: s.gets(i, w, u, newest))
        s.based = newest
        s.leader = v
        s.joined = each(lambda w: False)
        s.due = moves
        s.heir = each(lambda w: moves & (w == u))

    def gets(s, i, w, u, newest):
        """Return whether worker w gets task i by an assignment that gives the tasks to worker u."""
        return (w == u) & ~s.has_to_move(i, u) & (i < s.size_of(newest))

    def goes_on_with(s, u):
        """Return whether the tasks may go to u: tasks that were revoked for a worker go to it if it still is a member,
        so that assignments come to rest."""
        steady = forall(Worker, lambda w: implies(s.heir[w] & s.member[w], w == u))
        return either("618.41", steady, another_one_each_time=True)

    def has_to_move(s, i, u):
        """Return False for every task: in an eager rebalance all tasks have stopped, so that each may be given away at
        once."""
        return s.given[i, u] & ~s.given[i, u]

    @action(fair="weak")
    def elect(s, w: Worker):
        """A worker learns from its assignment that it leads, and claims the config topic."""
        require((s.leader == w) & s.member[w])
        Workers.elect(s, w)

    @action(fair="weak")
    def assign(s, w: Worker, k: Instance, i: Task):
        """A member that has read the set of its assignment starts a task that it was given, or starts it again if it
        failed."""
        require(s.member[w] & s.given[i, w] & ~s.has_to_rejoin(w) & (s.latest_set(s.read[w]) == s.based))
        require(~exists(Instance, lambda j: (s.worker[j] == w) & (s.stage[j] != Stage.NONE) & (s.task[j] == i)))
        Workers.assign(s, w, k, i)


class Cooperative(Rebalancing):
    """In a cooperative rebalance only superseded tasks stop first, and a task that moves is revoked in one rebalance
    and given in the next."""

    def stops_all(s, k):
        return s.stage[k] == Stage.NONE

    def has_to_move(s, i, u):
        return exists(Worker, lambda w: s.given[i, w] & s.member[w] & (w != u))
