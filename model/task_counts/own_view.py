"""A and M: tasks start by what their worker has read, and somebody else sees to it that there is a round.

In A that is the leader, which fences during the rebalance and hands out the offset that it has read to; in M the worker
that owns the Connector, which asks the leader.
"""

from ..language import (
    Bool,
    Map,
    Option,
    action,
    either,
    fault,
    length,
    require,
    rule,
    when,
)  # fmt: skip
from .cluster import Cluster
from .core import Instance, Round, Stage, Task, Worker
from .rounds import Rounds
from .topic import Position


class OwnView(Cluster):
    """No reading to the end before the producer opens."""

    def sees_count(s, w, k):
        """After the set that this start is of, as far as its worker has read."""
        covered = s.covers(s.of[k], s.read[w])
        return either("618.2", covered, any_count=s.latest_count(s.read[w]) > 0)


class A(OwnView):
    """One thread of the leader fences, writes the count, reads to the end and hands out the assignment."""

    offset: Map[Worker, Position]  # in the newest assignment that the worker has; 0: it has none

    @action(fair="weak")
    def check_round(s, w: Worker):
        """All are fenced.  This worker wrote nothing meanwhile, and whoever else did has shut it out."""
        require((s.round[w] == Round.FENCING) & s.is_awake(w))
        require(s.left[w] == 0, rule="618.7")
        s.round[w] = Round.CHECKED
        s.left[w] = 0

    def thread_is_free(s, w):
        return s.round[w] == Round.NONE

    @action(fair="weak")
    def hand_out(s, v: Worker, w: Worker):
        """The leader has read to the end, and a member takes its assignment."""
        require(s.leads[v] & (s.round[v] == Round.NONE) & s.is_awake(v))
        s.read[v] = length(s.log)
        s.offset[w] = length(s.log)

    @action(fair="weak")
    def assign(s, w: Worker, k: Instance, i: Task):
        """The worker reads up to the offset before it starts anything."""
        s.has_read_on(w)
        OwnView.assign(s, w, k, i)

    @fault(budget="duplicates")
    def assign_again(s, w: Worker, k: Instance, i: Task):
        s.has_read_on(w)
        OwnView.assign_again(s, w, k, i)

    def has_read_on(s, w):
        require(s.offset[w] > 0)
        require(s.offset[w] <= s.read[w], rule="618.8")

    @action(fair="weak")
    def check_before(s, w: Worker, k: Instance):
        """On the worker's own view."""
        require((s.stage[k] == Stage.ASSIGNED) & s.is_at(k, w))
        require(s.sees_count(w, k), rule="618.14")
        s.stage[k] = Stage.CHECKED

    @action(fair="weak")
    def refuse(s, w: Worker, k: Instance):
        """A warning, and nothing more until the next rebalance."""
        require((s.stage[k] == Stage.ASSIGNED) & s.is_at(k, w))
        require(~s.sees_count(w, k))
        s.offset[w] = 0
        s.go_on(k, False, Stage.NONE)


class M(OwnView):
    """The Connector's owner asks; what fails then is the Connector."""

    requested: Option[Worker]  # the leader with which its request waits
    heard: Position  # the newest set for which it has asked since it came
    failed: Bool  # the Connector is FAILED

    @fault(budget="sets")
    def reconfigure(s, w: Worker, n: Task):
        """A new configuration starts the Connector again."""
        OwnView.reconfigure(s, w, n)
        s.failed = False

    @action(fair="weak", rule="618.21")
    def ask(s, v: Worker):
        """A new set was read, and the rebalance that follows it is over."""
        require(s.heard < s.latest_set())
        s.request(v)

    @action(fair="weak", rule="618.21")
    def restart(s, v: Worker):
        """The Connector is started by hand, and its configurations are the same as before."""
        require(s.failed)
        s.request(v)
        s.failed = False

    def request(s, v):
        require((s.requested == None) & s.leads[v] & s.is_awake(v))  # noqa: E711
        s.requested = v
        s.heard = s.latest_set()

    @action(fair="weak")
    def start_round(s, w: Worker):
        require(s.requested == w)
        Rounds.start_round(s, w)

    @action(fair="weak")
    def answer(s, w: Worker):
        """Nothing needs fencing any more."""
        require((s.requested == w) & (s.round[w] == Round.NONE) & ~s.is_pending() & s.is_awake(w))
        s.requested = None

    def fail_those_who_asked(s, w, so):
        with rule("618.11"):
            s.failed = s.failed | ((s.requested == w) & so)
        s.requested = when((s.requested == w) & so, None, s.requested)

    @action(fair="weak")
    def check_before(s, w: Worker, k: Instance):
        """As soon as the record is read."""
        require((s.stage[k] == Stage.ASSIGNED) & s.is_at(k, w))
        require(s.sees_count(w, k), rule="618.44")
        s.stage[k] = Stage.CHECKED
