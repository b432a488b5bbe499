"""The config topic of one connector as an ordered log, and workers that read it late.

A generation of tasks is named by the place of its set in the topic, the same for all workers; a later one has the
greater name, which is all that the core asks of a generation.
"""

from fencepost.model.language import (
    Constant,
    Map,
    Nat,
    Protocol,
    Seq,
    action,
    at,
    axiom,
    danger,
    exists,
    latest,
    length,
    require,
    when,
)
from fencepost.model.task_counts.abstract.core import Worker
from fencepost.model.task_counts.outside import OF_THE_CORES


class Record(Nat, upto="2 * tasks + 1"):
    """A record of the config topic: r up to tasks is a committed set of r task configurations (618.3), else a count of
    r - tasks - 1 tasks (618.1)."""


class Position(Nat, upto="log"):
    """A place in the config topic, from 1; 0 is before it."""


class Topic(Protocol):
    """Sets and counts in the order in which they were written."""

    tasks: Constant[Nat]
    log: Seq[Record, "log"]  # type: ignore[name-defined]  # noqa: F821  a bound's name
    read: Map[Worker, Position]  # how far a worker has read the config topic

    outside = OF_THE_CORES

    @axiom
    def some_task(s):
        return s.tasks >= 1

    def latest_set(s, upto=None):
        return latest(s.log, lambda r: r <= s.tasks, upto)

    def latest_count(s, upto=None):
        return latest(s.log, lambda r: r > s.tasks, upto)

    def size(s, position):
        """How many tasks the set or count at that position speaks of."""
        record = at(s.log, position)
        return when(record <= s.tasks, record, record - s.tasks - 1)

    def size_of(s, position):
        """The same, and 0 where there is no record."""
        return when(position == 0, 0, s.size(position))

    def count(s):
        """What the latest count says; 0 also where there is none."""
        return s.size_of(s.latest_count())

    def is_pending(s):
        """A set stands after the latest count."""
        return s.latest_count() < s.latest_set()

    @danger("slow-reader")
    def behind(s):
        """A worker has not read the newest record."""
        return exists(Worker, lambda w: s.read[w] < length(s.log))

    @danger("empty-set")
    def no_tasks(s):
        """The newest set is empty."""
        return (s.latest_set() > 0) & (s.size_of(s.latest_set()) == 0)

    @danger("one-task")
    def one_for_one(s):
        """One task is to take the place of one."""
        return s.is_pending() & (s.count() == 1) & (s.size_of(s.latest_set()) == 1)

    def is_count(s, position):
        return (position <= length(s.log)) & (at(s.log, position) > s.tasks)

    def covers(s, own, upto):
        """Among the first records there is a count that stands after this set and before the next one."""
        return exists(Position, lambda p: (p <= upto) & s.is_count(p) & (s.latest_set(p) == own))

    @action(fair="weak")
    def poll(s, w: Worker):
        """A worker reads one more record."""
        require((s.read[w] < length(s.log)) & s.is_awake(w))
        s.read[w] = s.read[w] + 1

    def is_awake(s, w):
        """Who stalls takes no step; where nothing is asked of progress, that needs no saying."""
        return True
