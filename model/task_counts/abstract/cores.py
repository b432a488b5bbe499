"""The core has four forms, which differ in what a start asks for and in which thread of the leader fences.

`A`: one thread of the leader does everything during the rebalance, and a start looks at its worker's own view of the
topic. `M`: rounds run in parallel to the leader's thread, which checks before it writes, and a start waits until its
worker has read the record. `B`: a start asks the leader for a round, then reads to the end. `shipped`: the leader's
answer replaces that read.
"""

from fencepost.model.language import Option, Set, action, either, fault, require
from fencepost.model.task_counts.abstract.core import Core, Count, Generation, Instance, Round, Stage, Worker


class OwnView(Core):
    """Instances start by what their worker has read, which may be long out of date."""

    covered: Set[Generation]  # a count record stands after this set and before the next one

    def record(s, tasks):
        Core.record(s, tasks)
        s.covered[s.generation] = True

    def view_has_count(s, k):
        """Return whether a count record stood after this instance's set while that set was the newest."""
        return either("618.2", s.covered[s.of[k]], any_count=s.counted > 0, never_looked=True)


class ACore(OwnView):
    """The leader fences in the rebalance: no other step of its one thread comes between its reading to the end, the
    fencing and the record. An instance that may not start waits for the next rebalance, which starts another instance.
    """

    @action(fair="weak")
    def check_round(s, w: Worker):
        """The leader has fenced all ids, and needs no look at the topic: it was busy itself, and any other writer would
        have fenced it from the topic."""
        require(s.round[w] == Round.FENCING)
        require(s.all_fenced(w), rule="618.7")
        s.round[w] = Round.CHECKED

    @action(fair="weak")
    def check_before(s, k: Instance):
        """A worker lets a task start if its own view, at the assignment's offset, has a count after the task's set."""
        require(s.stage[k] == Stage.ASSIGNED)
        require(s.view_has_count(k), rule="618.14")
        s.let_through(k)

    def may_claim(s, w):
        return s.round[w] == Round.NONE

    def thread_is_free(s, w):
        return s.round[w] == Round.NONE


class ABehindCore(ACore):
    """This is form A as it is worded: the text does not require the leader to read to the end before it decides, so
    that it may not have read the newest set, if a former leader wrote it."""

    writer: Option[Worker]  # the worker that wrote the newest set
    old: Generation  # the newest set before that one
    old_size: Count
    old_counted: Generation  # the latest count before the newest set, by the set before it
    old_count: Count

    def keep_former(s, w):
        s.writer = w
        s.old = s.generation
        s.old_size = s.size
        s.old_counted = s.counted
        s.old_count = s.count

    @action
    def start_round_behind(s, w: Worker):
        """The leader starts a round for the set before the newest, because it has not read the newest set, which
        another worker wrote."""
        require((s.old_counted < s.old) & (s.writer != w))
        s.begin_round(w, s.old, s.old_size, s.old_counted, s.old_count)


class MCore(OwnView):
    """The Connector's owner asks for fencing rounds, and task starts wait for the task count record."""

    @action(fair="weak")
    def check_before(s, k: Instance):
        """A task start goes on as soon as its worker has read the task count record."""
        require(s.stage[k] == Stage.ASSIGNED)
        require(s.view_has_count(k), rule="618.44")
        s.let_through(k)


class Asking(Core):
    """Each task start asks the leader for a fencing round."""

    def count_stands_last(s):
        """Return whether the latest count record stands after the latest set."""
        return either("618.2", s.generation <= s.counted, any_count=s.counted > 0, never_looked=True)


class BCore(Asking):
    """A task start needs the leader's answer, and then the worker reads the config topic to the end itself."""

    answered: Set[Instance]  # the leader answered that the round is over

    @action(fair="weak", by="leader", to="k")
    def answer(s, k: Instance):
        """Some leader reads to the end, finds a count after the newest set, and sends its answer to the task's
        worker."""
        require((s.stage[k] == Stage.ASSIGNED) & ~s.answered[k])
        require(s.count_stands_last(), rule="618.15")
        s.answered[k] = True

    @action(fair="weak")
    def check_before(s, k: Instance):
        """The worker has the leader's answer, reads to the end itself, and lets the start go on if a count stands
        last."""
        require((s.stage[k] == Stage.ASSIGNED) & s.answered[k])
        require(s.count_stands_last(), rule="618.16")
        s.let_through(k)
        s.answered[k] = False

    def clear(s, k):
        Core.clear(s, k)
        s.answered[k] = False


class ShippedCore(Asking):
    """A task start needs the leader's answer alone. Whatever can delay the answer can as well delay the start after
    it."""

    @action(fair="weak", by="leader", to="k")
    def answer(s, k: Instance):
        """Some leader reads to the end, finds a count after the newest set, and its answer lets the task start."""
        require(s.stage[k] == Stage.ASSIGNED)
        require(s.count_stands_last(), rule="618.15")
        s.let_through(k)


class LateCommits(ShippedCore):
    """This form runs over brokers that do not fulfil txn.P1: a task's request to end its transaction is on its way when
    its producer is fenced, and is accepted all the same. The other cores rely on brokers that refuse it."""

    on_its_way: Set[Instance]

    @fault(budget="copies", danger="late-copy")
    def send_end(s, k: Instance):
        """A task's request to end its transaction waits in the network for any length of time, while the task itself
        may go on or stop."""
        require((s.stage[k] == Stage.RUNNING) & s.live[k])
        s.on_its_way[k] = True

    def can_commit(s, k):
        return (s.stage[k] == Stage.RUNNING) & (s.live[k] | s.on_its_way[k])

    def clear(s, k):
        ShippedCore.clear(s, k)
        s.on_its_way[k] = False
