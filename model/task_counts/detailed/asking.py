"""In B and in what shipped, each start of a task asks the leader for a round, and any failure of the round fails the
task.

All requests that arrive while a round is under way wait for its end and get the same answer. An answer is received as
soon as it is given, because a delay on its way is equivalent to a delay of the worker's next step.
"""

from fencepost.model.language import Map, Option, Set, action, each, either, exists, length, require, when
from fencepost.model.task_counts.abstract.core import Instance, Round, Stage, Worker
from fencepost.model.task_counts.detailed.cluster import Cluster
from fencepost.model.task_counts.detailed.workers import Workers


class Asking(Cluster):
    """The leader starts a fencing round only when it is asked for one."""

    asked: Map[Instance, Option[Worker]]  # the leader with which the instance's request waits
    refused: Set[Instance]  # the instance's request failed

    @action(fair="weak")
    def ask(s, w: Worker, k: Instance, v: Worker):
        """A task's request for a round reaches a worker that believes itself the leader; other workers forward it."""
        require((s.stage[k] == Stage.ASSIGNED) & s.is_at(k, w))
        require((s.asked[k] == None) & s.leads[v] & s.is_awake(v))  # noqa: E711
        require(~s.refused[k] & ~s.is_answered(k))
        s.asked[k] = v

    @action(fair="weak")
    def start_round(s, w: Worker):
        require(exists(Instance, lambda k: s.asked[k] == w))
        require(either("618.42", s.leads[w], nothing_to_write=s.to_fence(s.size(s.latest_set())) > 0))
        Workers.start_round(s, w)

    @action(fair="weak")
    def answer(s, k: Instance, v: Worker):
        """The leader reads to the end, finds that nothing needs fencing any more, and answers the task's request."""
        require((s.stage[k] == Stage.ASSIGNED) & (s.asked[k] == v) & (s.round[v] == Round.NONE) & s.is_awake(v))
        counted = ~s.is_pending()
        view = s.latest_set(s.read[v]) <= s.latest_count(s.read[v])
        done = either("618.42", counted, nothing_to_write=counted | (s.to_fence(s.size(s.latest_set())) == 0))
        require(either("618.2", done, any_count=s.latest_count() > 0, by_what_it_has_read=view), rule="618.15")
        s.read[v] = length(s.log)
        s.asked[k] = None
        s.take_answer(k)

    def is_answered(s, k):
        return s.stage[k] != Stage.ASSIGNED

    def take_answer(s, k):
        asks = s.stage[k] == Stage.ASSIGNED
        s.go_on(k, either("618.19", asks, before_the_producer=s.latest_set() == s.of[k]), Stage.CHECKED)

    def fail_those_who_asked(s, w, so):
        s.refused = each(lambda k: s.refused[k] | ((s.asked[k] == w) & so))
        s.asked = each(lambda k: when((s.asked[k] == w) & so, None, s.asked[k]))

    @action(fair="weak")
    def fail(s, w: Worker, k: Instance):
        """A task whose request for a round was refused becomes FAILED, with the trace of the answer (618.11)."""
        require(s.refused[k] & s.is_at(k, w))
        s.refused[k] = False
        s.go_on(k, either("618.15", s.stage[k] != Stage.ASSIGNED, goes_on=True), Stage.CHECKED)

    def end(s, k):
        Cluster.end(s, k)
        s.asked[k] = None
        s.refused[k] = False


class B(Asking):
    """A task start needs the leader's answer, and its worker then reads to the end itself."""

    answered: Set[Instance]  # the leader answered that nothing needs fencing

    def is_answered(s, k):
        return s.answered[k]

    def take_answer(s, k):
        s.answered[k] = True

    @action(fair="weak")
    def check_before(s, w: Worker, k: Instance):
        """The worker reads to the end, and abandons the start if no count stands after the latest set. Whether that set
        is the start's own is checked later."""
        require((s.stage[k] == Stage.ASSIGNED) & s.is_at(k, w))
        require(s.answered[k], rule="618.15")
        s.read[w] = length(s.log)
        s.answered[k] = False
        says = either("618.2", ~s.is_pending(), any_count=s.latest_count() > 0)
        s.go_on(k, either("618.16", says, unchecked=True), Stage.CHECKED)

    def end(s, k):
        Asking.end(s, k)
        s.answered[k] = False


class Shipped(Asking):
    """The leader's answer replaces the worker's own reading, and the second check compares the newest generation with
    the one that the start began with."""

    check_before = None
