"""What the records of the config topic promise to those who read them, however much of it compaction has left.

Latest commit and latest count are never removed and keep their order, so whether tasks may run, and how many ids are to
be fenced, is the same for all who have read to the end.  Of a set's configurations some may be gone, if a later set was
begun and not committed: then its readers run nothing, until there is a new set.
"""

from fencepost.model.language import Properties, exists, forall, implies, promise, witness
from fencepost.model.task_counts.abstract.core import Task, Worker
from fencepost.model.task_counts.parts.compaction import ConfigTopic, Position, ReorderingTopic


class ConfigTopicProperties(Properties, of=ConfigTopic):
    """Promises to workers that have read to the end."""

    @promise(rule="618.P1")
    def runs_what_was_fenced_for(s):
        """A worker is right that tasks may run: every task of earlier sets has been fenced for the newest one."""
        return forall(Worker, lambda w: implies(s.may_run(w), s.fenced))

    @promise(rule="618.P1")
    def runs_that_set(s):
        """A worker that may run tasks runs the newest committed set, every configuration of it, and nothing else."""
        return forall(Worker, Task, lambda w, i: implies(s.may_run(w), s.applied[w, i] == s.of_newest_set(i)))

    @promise(rule="618.P1")
    def starts_from_the_newest(s):
        """A task that finds the number it began with, once its worker has read to the end, is of the newest set."""
        return forall(
            Worker,
            lambda w: implies(
                (s.saw[w] > 0) & s.has_read_all(w) & (s.saw[w] == s.number[w]), s.from_set[w] == s.newest
            ),
        )  # fmt: skip

    @promise(rule="618.P3")
    def covered(s):
        """Every producer that may be alive has an id below the count, as everyone reads it."""
        return forall(Worker, Task, lambda w, i: implies(s.has_read_all(w) & s.alive[i], i < s.count[w]))

    @witness(of="runs_what_was_fenced_for")
    def runs_a_second_set(s):
        """A worker runs tasks of a second set, with a configuration of the first one gone, and read the topic from
        there."""
        return exists(Worker, lambda w: s.may_run(w) & (s.number[w] > 1)) & exists(
            Position, lambda p: (0 < p) & (p < s.end) & ~s.kept[p]
        )

    @witness(of="runs_that_set")
    def incomplete_from_the_start(s):
        """A worker that read the topic from the start lacks a configuration of the newest set, which another one
        runs."""
        return exists(Worker, Worker, lambda v, w: s.may_run(v) & s.has_read_all(w) & s.incomplete[w])

    @witness(of="starts_from_the_newest")
    def numbers_differ(s):
        """Two workers run the same set under different numbers."""
        return exists(Worker, Worker, lambda v, w: s.may_run(v) & s.may_run(w) & (s.number[v] < s.number[w]))

    @witness(of="covered")
    def fewer_than_before(s):
        """The latest count is smaller than an earlier one."""
        return exists(
            Position, Worker,
            lambda p, w: (p < s.end) & s.may_run(w) & s.is_count(s.record[p])
            & (s.count[w] < s.says(s.record[p])),
        )  # fmt: skip


class ReorderingTopicProperties(ConfigTopicProperties, of=ReorderingTopic):
    """The promises of a topic whose compaction does not keep the order."""
