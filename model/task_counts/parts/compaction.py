"""This module models the config topic of one connector record by record: how workers read it as it grows and as it is
compacted.

A set of task configurations is as many records and a commit record, and a count stands after the commit that it is for.
Compaction removes records that a later record of the same key replaces, perhaps before a slow worker has read them, and
preserves the order. A restarted worker reads the remaining records from the start. Leaders write one after the other,
as in the core, and may fall silent in the middle of a set. Fencing and writing the count are one step here.
"""

from fencepost.model.language import (
    Bool,
    Constant,
    Ghost,
    Map,
    Nat,
    Protocol,
    Set,
    action,
    axiom,
    danger,
    each,
    either,
    exists,
    fault,
    forall,
    implies,
    not_of_this,
    open_hole,
    require,
    when,
)
from fencepost.model.task_counts.abstract.core import Count, Task, Worker
from fencepost.model.task_counts.outside import (
    BROKERS,
    ENABLED,
    NO_ROUNDS_BY_PARTS,
    NOT_OF_CONNECT,
    OTHERS,
    OWN_IDS,
    STEPS,
    TO_STAY,
    TOPIC,
)


class Position(Nat, upto="log + 1"):
    """A `Position` is a place in the config topic, from 1; 0 is none."""


class Number(Nat, upto="sets"):
    """A `Number` is the number of a set as one worker counts them, from 1; 0 is none."""


class Record(Nat, upto="3 * tasks + 1"):
    """A `Record` is a number: 0 is none, `task-C-i` is i + 1, then follow `commit-C` with 1, 2, ... tasks, then counts
    from 0."""


class ConfigTopic(Protocol):
    """Leaders write to the topic, workers read it, compaction removes records, and a starting task takes some set for
    the newest."""

    actors = ("leader", "cleaner")

    tasks: Constant[Nat]
    end: Position  # the next free place
    record: Map[Position, Record]
    kept: Set[Position]  # compaction has not removed it

    writing: Count  # the tasks of the set that the leader writes; 0: it writes none
    next: Count  # the next record of that set to write

    cursor: Map[Worker, Position]  # the next place to read
    waiting: Map[Worker, Task, Position]  # configurations read since the last commit; 0: none
    applied: Map[Worker, Task, Position]  # configurations in effect
    size: Map[Worker, Count]  # the tasks of the set that was committed last
    incomplete: Set[Worker]  # some configurations of the last set were not there to read
    number: Map[Worker, Number]  # the number of sets that the worker has counted
    pending: Set[Worker]  # the last set stands after the latest count
    count: Map[Worker, Count]  # the number of tasks in the latest count; 0: there is none
    saw: Map[Worker, Number]  # the number of the set that a task of this worker starts from; 0: none starts

    newest: Ghost[Position]  # the last commit record
    fenced: Ghost[Bool]  # every task of earlier sets has been fenced for the newest set
    alive: Ghost[Set[Task]]  # ids of tasks of which some producer may be alive
    from_set: Ghost[Map[Worker, Position]]  # the set that the starting task is of

    outside = (
        *BROKERS,
        *STEPS,
        *TOPIC,
        *NOT_OF_CONNECT,
        *OTHERS,
        *OWN_IDS,
        *TO_STAY,
        *ENABLED,
        *NO_ROUNDS_BY_PARTS,
        *open_hole("leaders write one after the other here: the cores and config-topic-writes have several at once",
                   "leader-in-a-call"),
        *open_hole("a set has a task at least: the cores have empty ones", "empty-set"),
        *open_hole("a start is its check and the comparison after it: the cores have what comes between",
                   "zombie", "rebalance"),
        *not_of_this("fencing is never skipped here, with one task or several", "one-task"),
    )  # fmt: skip

    @danger("slow-reader")
    def behind_a_removal(s):
        """Compaction has removed a record that a worker has not read yet."""
        return exists(
            Worker, Position, lambda w, p: (s.cursor[w] <= p) & (0 < p) & (p < s.end) & ~s.kept[p]
        )  # fmt: skip

    @danger("several-tasks")
    def several_tasks(s):
        """A worker knows of several tasks that may be alive."""
        return exists(Worker, lambda w: s.count[w] > 1)

    @danger("several-ids")
    def several_producers(s):
        """Producers of several ids may be alive."""
        return exists(Task, Task, lambda i, j: (i != j) & s.alive[i] & s.alive[j])

    @axiom
    def some_task(s):
        return s.tasks >= 1

    def init(s):
        s.end = 1
        s.cursor = each(lambda w: 1)

    # Leaders write

    def is_config(s, r):
        return (0 < r) & (r <= s.tasks)

    def is_count(s, r):
        return s.tasks + s.tasks < r

    def is_commit(s, r):
        return (s.tasks < r) & ~s.is_count(r)

    def says(s, r):
        """Return the number of tasks of a commit or count record."""
        return when(s.is_count(r), r - (s.tasks + s.tasks + 1), r - s.tasks)

    def write(s, record):
        end = s.end
        s.record[end] = record
        s.kept[end] = True
        s.end = end + 1

    @action
    def begin_set(s, n: Count):
        """A leader begins to write a set of n tasks, regardless of what another leader has left unfinished."""
        require((0 < n) & (s.next == 0))
        s.writing = n

    @action
    def write_config(s, i: Task):
        require((s.next == i) & (i < s.writing))
        s.write(i + 1)
        s.next = i + 1

    @action
    def commit(s):
        require((0 < s.writing) & (s.next == s.writing))
        s.newest = s.end
        s.fenced = False
        s.write(s.tasks + s.writing)
        s.writing = 0
        s.next = 0

    @fault(budget="crashes", danger="client-crash")
    def fall_silent(s):
        """The leader crashes in the middle of a set, or is deposed."""
        require(0 < s.next)
        s.writing = 0
        s.next = 0

    def has_read_all(s, w):
        return s.cursor[w] == s.end

    @action
    def fence(s, w: Worker):
        """A leader that has read to the end fences as many ids as the latest count gives, and writes the new count."""
        require(s.has_read_all(w) & (s.next == 0) & s.pending[w])
        left_out = exists(Task, lambda i: s.alive[i] & (s.count[w] <= i))
        newest_size = s.says(s.record[s.newest])
        s.fenced = s.fenced | ~left_out
        s.alive = each(lambda i: (i < newest_size) | (s.alive[i] & (s.count[w] <= i)))
        s.write(s.tasks + s.tasks + 1 + either("618.42", s.size[w], the_former_count=s.count[w]))

    # Compaction

    def of_newest_set(s, i):
        """Return the place of a task's configuration in the newest set, whose configurations stand right before its
        commit; 0 if it has none."""
        size = s.says(s.record[s.newest])
        return when(i < size, s.newest - size + i, 0)

    def same_key(s, p, q):
        one, other = s.record[p], s.record[q]
        commits, counts = s.is_commit(one) & s.is_commit(other), s.is_count(one) & s.is_count(other)
        return commits | counts | (s.is_config(one) & (one == other))

    @fault(budget="removals", danger="cleaning", by="cleaner")
    def compact(s, p: Position, q: Position):
        """Compaction removes a record, the first of those that a later record of their key replaces."""
        require((0 < p) & (p < q) & (q < s.end) & s.kept[p] & s.kept[q] & s.same_key(p, q))
        require(forall(Position, lambda r: implies((0 < r) & (r < p) & s.kept[r], ~s.same_key(r, p))))
        require(forall(Position, lambda r: implies((p < r) & (r < q) & s.kept[r], ~s.same_key(r, p))))
        s.kept[p] = False

    # Workers read

    @action
    def read(s, w: Worker):
        """A worker reads one more record of the config topic."""
        p = s.cursor[w]
        require((p < s.end) & s.kept[p])
        record, n = s.record[p], s.says(s.record[p])
        commits, counts = s.is_commit(record), s.is_count(record)
        complete = forall(Task, lambda i: implies(i < n, s.waiting[w, i] > 0))

        def in_effect(i):
            of_set = when(i < n, s.waiting[w, i], 0)
            mixed = when(s.waiting[w, i] > 0, s.waiting[w, i], s.applied[w, i])
            once_committed = when(
                commits & either("618.3", complete, complete_or_not=True),
                either("618.3", of_set, complete_or_not=mixed),
                s.applied[w, i],
            )
            at_once = when(record == i + 1, p, s.applied[w, i])
            return either("618.3", once_committed, without_commit=at_once)

        s.applied = each(lambda v, i: when(v == w, in_effect(i), s.applied[v, i]))
        s.waiting = each(
            lambda v, i: when(
                v != w, s.waiting[v, i],
                when(commits, 0, when(record == i + 1, p, s.waiting[v, i])),
            )
        )  # fmt: skip
        s.size[w] = when(commits, n, s.size[w])
        s.incomplete[w] = when(commits, either("618.3", ~complete, complete_or_not=False), s.incomplete[w])
        counted = either("618.19", commits, complete_sets_only=commits & complete)
        s.number[w] = when(counted, s.number[w] + 1, s.number[w])
        after = either("618.2", True, whatever_the_order=s.count[w] == 0)
        s.pending[w] = when(commits, s.pending[w] | after, s.pending[w] & ~counts)
        value = either("618.1", n, one_less=n - 1, the_first_one=when(s.count[w] == 0, n, s.count[w]))
        s.count[w] = when(counts, value, s.count[w])
        s.cursor[w] = p + 1

    @action
    def pass_over(s, w: Worker):
        """A worker passes over a place that compaction has left empty."""
        require((s.cursor[w] < s.end) & ~s.kept[s.cursor[w]])
        s.cursor[w] = s.cursor[w] + 1

    def may_run(s, w):
        """Return whether a worker that has read to the end finds a whole set and a count after it."""
        return s.has_read_all(w) & ~s.pending[w] & ~s.incomplete[w] & (s.size[w] > 0)

    @action
    def begin_start(s, w: Worker):
        """A task start passes its check, and has still to open its producer."""
        require(s.may_run(w))
        s.saw[w] = s.number[w]
        s.from_set[w] = s.newest

    @fault(budget="restarts", danger="client-crash")
    def restart(s, w: Worker):
        """A new process reads the topic from the start: its numbers of sets begin again, and no task is starting."""
        s.cursor[w] = 1
        s.waiting = each(lambda v, i: when(v == w, 0, s.waiting[v, i]))
        s.applied = each(lambda v, i: when(v == w, 0, s.applied[v, i]))
        s.size[w] = 0
        s.incomplete[w] = False
        s.number[w] = 0
        s.pending[w] = False
        s.count[w] = 0
        s.saw[w] = either("618.19", 0, remembered_by_number=s.saw[w])


class ReorderingTopic(ConfigTopic):
    """This compaction does not preserve the order of records."""

    @fault(budget="reorderings", by="cleaner")
    def move_to_the_end(s, p: Position):
        """Compaction writes the latest record of a key anew at the end of the topic."""
        require((0 < p) & (p < s.end) & s.kept[p] & (s.next == 0) & ~s.is_config(s.record[p]))
        require(forall(Position, lambda q: implies((p < q) & (q < s.end) & s.kept[q], ~s.same_key(p, q))))
        s.kept[p] = False
        s.write(s.record[p])
