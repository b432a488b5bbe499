"""The four forms of the core: what a start asks for, and which thread of the leader fences.

`A`: one thread of the leader does everything, during the rebalance; a start looks at its worker's own view of the
topic.  `M`: rounds run beside the leader's thread, which checks before it writes; a start waits until its own view
shows the record.  `B`: a start asks the leader for a round, then reads to the end.  `shipped`: the leader's answer
stands for that read.
"""

from fencepost.model.language import Option, Set, action, either, fault, require
from fencepost.model.task_counts.abstract.core import Core, Count, Generation, Instance, Round, Stage, Worker


class OwnView(Core):
    """Starts by what the worker has read, which may be long ago."""

    covered: Set[Generation]  # a count record stands after this set and before the next one

    def record(s, tasks):
        Core.record(s, tasks)
        s.covered[s.generation] = True

    def view_has_count(s, k):
        """Where the set of this instance was the newest, a count record stood after it."""
        return either("618.2", s.covered[s.of[k]], any_count=s.counted > 0, never_looked=True)


class ACore(OwnView):
    """The leader fences in the rebalance: no other step of its one thread comes between its reading to the end, the
    fencing and the record.  An instance that may not start waits for the next rebalance, as another one."""

    @action(fair="weak")
    def check_round(s, w: Worker):
        """All are fenced.  That nothing was written meanwhile needs no look: this worker was busy, and anybody else
        would have fenced it from the topic."""
        require(s.round[w] == Round.FENCING)
        require(s.all_fenced(w), rule="618.7")
        s.round[w] = Round.CHECKED

    @action(fair="weak")
    def check_before(s, k: Instance):
        """On the view at the assignment's offset."""
        require(s.stage[k] == Stage.ASSIGNED)
        require(s.view_has_count(k), rule="618.14")
        s.let_through(k)

    def may_claim(s, w):
        return s.round[w] == Round.NONE

    def thread_is_free(s, w):
        return s.round[w] == Round.NONE


class ABehindCore(ACore):
    """A as it is worded: nothing says that the leader reads to the end before it decides, so that it may not have read
    the newest set, if a former leader wrote it."""

    writer: Option[Worker]  # who wrote the newest set
    old: Generation  # what the topic said before: its newest set,
    old_size: Count
    old_counted: Generation  # and its latest count
    old_count: Count

    def keep_former(s, w):
        s.writer = w
        s.old = s.generation
        s.old_size = s.size
        s.old_counted = s.counted
        s.old_count = s.count

    @action
    def start_round_behind(s, w: Worker):
        """The leader has read all but the newest set, and found another one after the latest count."""
        require((s.old_counted < s.old) & (s.writer != w))
        s.begin_round(w, s.old, s.old_size, s.old_counted, s.old_count)


class MCore(OwnView):
    """The Connector's owner asks for rounds; starts wait for the record."""

    @action(fair="weak")
    def check_before(s, k: Instance):
        """As soon as the worker has read the record."""
        require(s.stage[k] == Stage.ASSIGNED)
        require(s.view_has_count(k), rule="618.44")
        s.let_through(k)


class Asking(Core):
    """Each start asks the leader for a round."""

    def count_stands_last(s):
        """The latest count record stands after the latest set."""
        return either("618.2", s.generation <= s.counted, any_count=s.counted > 0, never_looked=True)


class BCore(Asking):
    """The answer, then the worker's own reading to the end."""

    answered: Set[Instance]  # the leader answered that the round is over

    @action(fair="weak")
    def answer(s, k: Instance):
        """Some leader, which has read to the end, finds the newest set counted.  The answer travels."""
        require((s.stage[k] == Stage.ASSIGNED) & ~s.answered[k])
        require(s.count_stands_last(), rule="618.15")
        s.answered[k] = True

    @action(fair="weak")
    def check_before(s, k: Instance):
        """The worker has the answer, and reads to the end itself."""
        require((s.stage[k] == Stage.ASSIGNED) & s.answered[k])
        require(s.count_stands_last(), rule="618.16")
        s.let_through(k)
        s.answered[k] = False

    def clear(s, k):
        Core.clear(s, k)
        s.answered[k] = False


class ShippedCore(Asking):
    """The answer alone; from here on, all that can delay it can delay the start."""

    @action(fair="weak")
    def answer(s, k: Instance):
        """Some leader, which has read to the end, finds the newest set counted."""
        require(s.stage[k] == Stage.ASSIGNED)
        require(s.count_stands_last(), rule="618.15")
        s.let_through(k)


class LateCommits(ShippedCore):
    """Over brokers that do not keep txn.P1: a task's request to end its transaction is on its way when its producer is
    fenced, and is taken all the same.  The cores stand on brokers that refuse it."""

    on_its_way: Set[Instance]

    @fault(budget="copies", danger="late-copy")
    def send_end(s, k: Instance):
        """The request waits in the network, for as long as it takes; the task itself may go on or stop."""
        require((s.stage[k] == Stage.RUNNING) & s.live[k])
        s.on_its_way[k] = True

    def can_commit(s, k):
        return (s.stage[k] == Stage.RUNNING) & (s.live[k] | s.on_its_way[k])

    def clear(s, k):
        ShippedCore.clear(s, k)
        s.on_its_way[k] = False
