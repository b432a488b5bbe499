"""What KIP-618 promises of who may run: fenced generations, and counts that cover the tasks that are left."""

from fencepost.model.language import Properties, exists, forall, implies, leads_to, progress, promise, step, witness
from fencepost.model.task_counts.abstract.core import Instance, Round, Stage, Worker


class Promises(Properties):
    """The promises of one connector.  An instance can commit if it polls and its producer is not fenced."""

    @promise(rule="618.P1")
    def no_zombie(s):
        """Once a task of one generation polls, no task of an earlier generation can commit."""
        return forall(Instance, lambda k: implies(s.can_commit(k), s.polled <= s.set_of(k)))

    @promise(rule="618.P3")
    def all_covered(s):
        """An instance that can commit is of the newest set, or has a task id that the next round fences."""
        return forall(
            Instance,
            lambda k: implies(s.can_commit(k), (s.set_of(k) == s.generation) | (s.task[k] < s.count)),
        )

    @step(rule="618.26")
    def latest_leader_writes(old, new):
        """No count record comes to stand after a set that its round was not for."""
        written = old.counted != new.counted
        return implies(
            written, exists(Worker, lambda w: (old.owner == w) & (old.fencing[w] == old.generation) & old.leads[w])
        )

    @promise(rule="618.P1")
    def one_of_each(s):
        """No two instances of one task can commit, of whatever sets."""
        return forall(
            Instance, Instance,
            lambda j, k: implies(s.can_commit(j) & s.can_commit(k) & (s.task[j] == s.task[k]), j == k),
        )  # fmt: skip

    @progress(rule="618.2")
    def counted_in_the_end(s):
        """A count record follows the newest set, so that its tasks may start."""
        return leads_to(s.counted < s.generation, s.counted == s.generation)

    @witness(of="no_zombie")
    def a_zombie_shut_out(s):
        """A task of an earlier set still runs, unable to commit, beside one that can."""
        return exists(
            Instance,
            Instance,
            lambda j, k: (s.stage[j] == Stage.RUNNING) & ~s.live[j] & s.can_commit(k) & (s.of[j] < s.of[k]),
        )

    @witness(of="one_of_each")
    def one_task_twice(s):
        """Two instances poll for one task of one set, and one of them can't commit (KAFKA-9184)."""
        return exists(
            Instance, Instance,
            lambda j, k: s.can_commit(j) & (s.stage[k] == Stage.RUNNING) & (j != k) & (s.task[j] == s.task[k])
            & (s.of[j] == s.of[k]),
        )  # fmt: skip

    @witness(of="all_covered")
    def an_earlier_task_left(s):
        """There is a newer set, and a task of an earlier one can still commit."""
        return exists(Instance, lambda k: s.can_commit(k) & (s.of[k] < s.generation))

    @witness(of="all_covered")
    def fenced_by_its_successor(s):
        """The newest set is counted, and yet an earlier task can commit: the only one, whose id the new task takes."""
        return (s.counted == s.generation) & exists(
            Instance, lambda k: s.can_commit(k) & (s.of[k] < s.generation) & (s.size == 1)
        )

    @witness(of="no_zombie")
    def woken_up_late(s):
        """A stalled start of an earlier set opens its producer at last, and fences a task that polls."""
        return exists(
            Instance,
            Instance,
            lambda j, k: (s.stage[j] == Stage.PRODUCER) & s.live[j] & (s.of[j] < s.of[k]) & (s.task[j] == s.task[k])
            & (s.stage[k] == Stage.RUNNING) & ~s.live[k] & (s.of[k] == s.generation),
        )  # fmt: skip

    @witness(of="latest_leader_writes")
    def a_former_leader_about_to_write(s):
        """A former leader is about to write a count, and there is a newer set already."""
        return exists(
            Worker,
            lambda w: (s.round[w] == Round.CHECKED) & s.leads[w] & (s.owner != w) & (s.fencing[w] < s.generation),
        )

    @witness(of="counted_in_the_end")
    def a_set_not_counted(s):
        """A set waits for its count record, after an earlier one that has it."""
        return (0 < s.counted) & (s.counted < s.generation)
