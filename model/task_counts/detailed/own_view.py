"""The Connector's owner asks the leader for a round, and a failure of the round fails the Connector."""

from fencepost.model.language import Bool, Option, action, either, fault, length, require, rule, when
from fencepost.model.task_counts.abstract.core import Count, Instance, Round, Stage, Task, Worker
from fencepost.model.task_counts.detailed.cluster import Cluster
from fencepost.model.task_counts.detailed.workers import Position, Workers


class OwnView(Cluster):
    """A worker does not read the config topic to the end before a task opens its producer."""

    def sees_count(s, w, k):
        """Return whether this worker has read a count after the set that the start is of."""
        covered = s.covers(s.of[k], s.read[w])
        return either("618.2", covered, any_count=s.latest_count(s.read[w]) > 0)


class A(OwnView):
    """One thread of the leader fences, writes the count, reads to the end and hands out the assignment."""

    given: Option[Worker]  # the worker that has the tasks, in the newest assignment
    offset: Position  # the offset in the newest assignment; 0: there is none yet
    refuses: Bool  # the worker found no count, and waits for the next rebalance

    @action(fair="weak")
    def check_round(s, w: Worker):
        """The leader has fenced all ids, and needs no look at the topic: it wrote nothing meanwhile, and any other
        writer has fenced it."""
        require((s.round[w] == Round.FENCING) & s.is_awake(w))
        require(s.left[w] == 0, rule="618.7")
        s.round[w] = Round.CHECKED
        s.left[w] = 0

    def thread_is_free(s, w):
        return s.round[w] == Round.NONE

    @action(fair="weak", danger="rebalance")
    def hand_out(s, v: Worker, w: Worker):
        """The leader reads to the end, finds a new count, and gives the tasks to a member."""
        require(~s.is_pending() & (s.offset < s.latest_count()))
        s.hand_to(v, w)

    @fault(budget="failures", danger="rebalance")
    def hand_out_unfenced(s, v: Worker, w: Worker):
        """The leader hands out the tasks although a set still needs a round, because the rebalance has to end even if
        the round failed."""
        require(s.is_pending())
        s.hand_to(v, w)

    def hand_to(s, v, w):
        require(s.leads[v] & (s.round[v] == Round.NONE) & s.is_awake(v))
        s.read[v] = length(s.log)
        s.given = w
        s.offset = length(s.log)
        s.refuses = False

    @action(fair="weak")
    def assign(s, w: Worker, k: Instance, i: Task):
        """The worker starts a task that it was given, after it has read up to the offset of the assignment."""
        require((s.given == w) & ~s.refuses)
        require(either("618.8", s.offset <= s.read[w], at_once=True))
        OwnView.assign(s, w, k, i)

    @fault(budget="duplicates", danger="zombie")
    def assign_late(s, w: Worker, k: Instance, i: Task):
        """A worker acts on an assignment that is no longer the newest."""
        require((s.given != w) & (s.offset > 0))
        OwnView.assign(s, w, k, i)

    @action(fair="weak")
    def check_before(s, w: Worker, k: Instance):
        """The worker lets a task start if its own view of the topic has a count after the task's set."""
        require((s.stage[k] == Stage.ASSIGNED) & s.is_at(k, w))
        require(s.sees_count(w, k), rule="618.14")
        s.stage[k] = Stage.CHECKED

    @action(fair="weak")
    def refuse(s, w: Worker, k: Instance):
        """The worker finds no count for the task, logs a warning, and does not start the task until the next
        rebalance."""
        require((s.stage[k] == Stage.ASSIGNED) & s.is_at(k, w))
        require(~s.sees_count(w, k))
        in_time = (s.given == w) & either("618.8", s.offset <= s.read[w], at_once=True)
        s.refuses = s.refuses | (in_time & (s.latest_set(s.offset) <= s.of[k]))
        s.go_on(k, False, Stage.NONE)


class M(OwnView):
    """The Connector's owner asks; what fails then is the Connector."""

    requested: Option[Worker]  # the leader with which the owner's request waits
    heard: Position  # the newest set for which the owner has asked
    failed: Bool  # the Connector is FAILED

    @fault(budget="sets")
    def reconfigure(s, w: Worker, n: Count):
        """The leader publishes a new set, and the new configuration starts a failed Connector again."""
        OwnView.reconfigure(s, w, n)
        s.failed = False

    @action(fair="weak", rule="618.21")
    def ask(s, v: Worker):
        """The Connector's owner asks the leader for a round after it has read a new set and the rebalance for that set
        is over."""
        require(s.heard < s.latest_set())
        s.request(v)

    @action(fair="weak", rule="618.21")
    def restart(s, v: Worker):
        """A user restarts the failed Connector, whose configurations are the same as before, and it asks for a round
        again."""
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
        Workers.start_round(s, w)

    @action(fair="weak")
    def answer(s, w: Worker):
        """The leader answers the Connector's owner, because nothing needs fencing any more."""
        require((s.requested == w) & (s.round[w] == Round.NONE) & ~s.is_pending() & s.is_awake(w))
        s.requested = None

    def fail_those_who_asked(s, w, so):
        with rule("618.11"):
            s.failed = s.failed | ((s.requested == w) & so)
        s.requested = when((s.requested == w) & so, None, s.requested)

    @action(fair="weak")
    def check_before(s, w: Worker, k: Instance):
        """A task start goes on as soon as its worker has read the task count record."""
        require((s.stage[k] == Stage.ASSIGNED) & s.is_at(k, w))
        require(s.sees_count(w, k), rule="618.44")
        s.stage[k] = Stage.CHECKED
