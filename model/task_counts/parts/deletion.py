"""A connector is deleted and created again, which concerns its task count record and its old tasks.

There is one connector and one leader. Tasks of a deleted connector may run on, so that its count has to outlive it: a
deletion removes the connector's own configuration and nothing else, and creating it again fences its former tasks. Sets
have two names: their place in the config topic, which is the same for all workers (`generation`, and `of` for a task),
and the number that a worker counts for itself (`number`, `saw`), which is the only one that it can compare.

Several leaders, lagging readers and failed fencings are left out, since the core and the full model have them.
"""

from fencepost.model.language import (
    Bool,
    Enumeration,
    Ghost,
    Map,
    Nat,
    Option,
    Protocol,
    Set,
    action,
    danger,
    either,
    exists,
    fault,
    open_hole,
    require,
    rule,
    when,
)
from fencepost.model.task_counts.abstract.core import Count, Instance, Task
from fencepost.model.task_counts.outside import (
    BROKERS,
    COMPACTION,
    ENABLED,
    NOT_OF_CONNECT,
    OTHERS,
    OWN_IDS,
    READS,
    STEPS,
    TOPIC,
)


class Generation(Nat, upto="sets"):
    """A `Generation` is a set of task configurations, from 1; 0 is before the first."""


class Round(Enumeration):
    """The leader's fencing round is in one of three states: there is none, it fences for a new set, or it fences for a
    deletion."""

    NONE, FENCING, CLEANING = range(3)


class Stage(Enumeration):
    """A `Stage` is how far a task has come on its way to its first poll."""

    NONE, ASSIGNED, CHECKED, OPENED, RUNNING = range(5)


class Deletion(Protocol):
    """As in Kafka, a deletion does not touch the count record or the leader's memory of it."""

    actors = ("leader", "user", "coordinator")

    present: Bool  # the connector exists
    size: Count  # the tasks of the newest set
    pending: Bool  # the newest set stands after the latest count record
    counted: Bool  # there is a count record
    count: Count  # the number of tasks in the count record
    known: Bool  # the leader has the count record in memory
    number: Generation  # the newest set, as workers count

    round: Round
    round_for: Generation
    round_size: Count
    left: Count  # task ids below this one are still to be fenced

    stage: Map[Instance, Stage]
    task: Map[Instance, Task]
    saw: Map[Instance, Generation]  # the newest set when it was assigned, as its worker counted
    live: Map[Task, Option[Instance]]  # the instance whose producer has the newest epoch of the task's transactional id

    generation: Ghost[Generation]
    of: Ghost[Map[Instance, Generation]]
    polled: Ghost[Generation]  # the newest set of which a task has polled

    def publish(s, n, number):
        s.generation = s.generation + 1
        s.number = number
        s.size = n
        s.pending = True

    outside = (
        *BROKERS,
        *STEPS,
        *TOPIC,
        *NOT_OF_CONNECT,
        *READS,
        *COMPACTION,
        *OTHERS,
        *OWN_IDS,
        *ENABLED,
        *open_hole("one leader, whose look and the write after it are one step: connectors has several, and deletions",
                   "leader-in-a-call"),
        *open_hole("no request to fence comes late or twice: in deletion-late-fences they do",
                   "late-copy", "duplicate"),
    )  # fmt: skip

    @danger("zombie")
    def goes_on_late(s):
        """A start of an earlier set is still under way while a task of the newest set polls."""
        return exists(
            Instance, Instance,
            lambda i, j: (s.stage[i] == Stage.RUNNING) & (s.saw[i] == s.number) & (s.stage[j] != Stage.NONE)
            & (s.saw[j] < s.number),
        )  # fmt: skip

    @danger("rebalance")
    def starts_in_a_round(s):
        """Tasks open their producers while the leader fences."""
        return (s.round != Round.NONE) & exists(Instance, lambda i: s.stage[i] == Stage.OPENED)

    @danger("empty-set")
    def no_tasks(s):
        """The connector exists and has no tasks."""
        return s.present & (s.size == 0)

    @danger("one-task")
    def one_for_one(s):
        """A set of one task follows a count of one task, and its round is still to come."""
        return s.present & s.pending & (s.count == 1) & (s.size == 1)

    @danger("several-tasks")
    def several_to_fence(s):
        """A fencing round has several ids left to fence."""
        return s.left > 1

    @danger("several-ids")
    def several_producers(s):
        """Tasks of several transactional ids can commit."""
        return exists(Task, Task, lambda t, u: (t != u) & (s.live[t] != None) & (s.live[u] != None))  # noqa: E711

    @action(by="user", to="leader")
    def create(s, n: Count):
        """A user creates the connector, and the leader publishes a set of n tasks."""
        require(~s.present & (s.number == 0) & (s.round != Round.CLEANING))
        s.present = True
        s.publish(n, 1)

    @action(danger="re-creation", by="user", to="leader")
    def create_again(s, n: Count):
        """A user creates the deleted connector again under the same name, and its sets are numbered on."""
        require(~s.present & (s.number > 0) & (s.round != Round.CLEANING))
        s.present = True
        s.publish(n, either("618.19", s.number + 1, counted_from_1_again=1))

    @action
    def reconfigure(s, n: Count):
        require(s.present)
        s.publish(n, s.number + 1)

    @action(danger="deletion", by="user", to="leader")
    def delete(s):
        """The connector's configuration and its target state get tombstones, and its tasks are asked to stop, which may
        take forever."""
        require(s.present)
        s.present = False
        s.counted = either("618.38", s.counted, tombstone=False)
        s.known = either("618.38", s.known, tombstone=False, memory_cleared=False)
        s.count = either("618.38", s.count, tombstone=0)

    @action(fair="weak")
    def start_round(s):
        """The leader starts a round for the tasks that may be alive; a single former task is not fenced by the round,
        because the single new task fences it."""
        require(s.present & s.pending & (s.round == Round.NONE))
        shut_out = (s.count == 1) & (s.size == 1)
        s.round = Round.FENCING
        s.round_for = s.number
        s.round_size = s.size
        s.left = when(s.known & ~shut_out, s.count, 0)

    @action(fair="weak")
    def fence(s):
        """The leader fences one transactional id, whose former holder can't commit any more."""
        require((s.round != Round.NONE) & (s.left > 0))
        with rule("618.12"):
            s.live[s.left - 1] = None
        s.left = s.left - 1

    @action(fair="weak")
    def write_count(s):
        """The leader writes the count of its round unless there is a newer set."""
        require((s.round == Round.FENCING) & (s.left == 0))
        newest = s.round_for == s.number
        with rule("618.2"):
            s.pending = s.pending & ~newest
        s.counted = s.counted | newest
        s.known = s.known | newest
        s.count = when(newest, s.round_size, s.count)
        s.ends_round()

    def ends_round(s):
        s.round = Round.NONE
        s.round_for = 0
        s.round_size = 0

    @fault(budget="restarts", danger=("client-crash", "lost-answer", "loss", "time-out"))
    def restart_leader(s):
        """The leader restarts: its round is over, whether the round or the worker failed, and it reads the topic
        again."""
        s.ends_round()
        s.left = 0
        s.known = s.counted

    @action
    def assign(s, i: Instance, t: Task):
        require((s.stage[i] == Stage.NONE) & s.present & (t < s.size))
        s.stage[i] = Stage.ASSIGNED
        s.task[i] = t
        s.saw[i] = s.number
        s.of[i] = s.generation

    @action
    def check_before(s, i: Instance):
        """The worker has asked the leader, and a count stands after the newest set, whether or not that is the task's
        own set."""
        require(s.stage[i] == Stage.ASSIGNED)
        require(~s.pending, rule="618.16")
        s.stage[i] = Stage.CHECKED

    @action
    def open_producer(s, i: Instance):
        require(s.stage[i] == Stage.CHECKED)
        s.stage[i] = Stage.OPENED
        s.live[s.task[i]] = i

    def still_newest(s, i):
        return s.saw[i] == s.number

    @action
    def check_after(s, i: Instance):
        require((s.stage[i] == Stage.OPENED) & s.still_newest(i))
        s.stage[i] = Stage.RUNNING
        s.polled = when(s.polled < s.of[i], s.of[i], s.polled)

    @action
    def stop(s, i: Instance):
        """A task is revoked, fails, is fenced, crashes, or is stopped by a check or a deletion."""
        require(s.stage[i] != Stage.NONE)
        held = s.live[s.task[i]] == i
        s.live[s.task[i]] = when(held, None, s.live[s.task[i]])
        s.stage[i] = Stage.NONE
        s.task[i] = 0
        s.saw[i] = 0
        s.of[i] = 0

    def can_commit(s, i):
        return (s.stage[i] == Stage.RUNNING) & (s.live[s.task[i]] == i)


class LateFences(Deletion):
    """A request to fence may arrive late, or twice, because the network loses none."""

    asked: Set[Task]  # a request to fence this id was sent once

    @action(fair="weak")
    def fence(s):
        """The leader fences one transactional id, and a copy of its request stays in the network."""
        left = s.left
        Deletion.fence(s)
        s.asked[left - 1] = True

    @action(danger=("late-copy", "duplicate"), by="coordinator")
    def fence_late(s, t: Task):
        """A late copy of a request to fence fences the present holder of the id."""
        require(s.asked[t])
        s.live[t] = None


class TombstoneAfterFencing(Deletion):
    """A deletion fences the connector's tasks, and then removes the count record (618.38).

    A task that has yet to open its producer escapes the fencing, and finds no newer set afterwards. It would have to
    check that the connector is gone, which the documents never require.
    """

    spent: Ghost[Count]  # ids fenced by the last deletion
    removed: Ghost[Count]  # the number of tasks in the count record that it removed
    spared: Ghost[Count]  # ids that the creation after it did not have to fence, and would have had to

    @action(danger="deletion", by="user", to="leader")
    def delete(s):
        require(s.present)
        s.present = False
        s.round = Round.CLEANING
        s.round_for = 0
        s.round_size = 0
        s.left = when(s.known, s.count, 0)
        s.spent = 0
        s.removed = 0
        s.spared = 0

    @action(fair="weak")
    def fence(s):
        cleaning = s.round == Round.CLEANING
        Deletion.fence(s)
        s.spent = when(cleaning, s.spent + 1, s.spent)

    @action(fair="weak")
    def tombstone(s):
        require(s.round == Round.CLEANING)
        require(s.left == 0, rule="618.38")
        s.removed = when(s.known, s.count, 0)
        s.spared = 0
        s.counted = False
        s.known = False
        s.count = 0
        s.ends_round()

    @action(fair="weak")
    def start_round(s):
        Deletion.start_round(s)
        would = when((s.removed == 1) & (s.size == 1), 0, s.removed)
        s.spared = when(s.counted, s.spared, would)

    def still_newest(s, i):
        return (s.saw[i] == s.number) & either("618.38", s.present, whether_it_exists_or_not=True)


class ClaimedAcross(Deletion):
    """A worker that was away while its connector was deleted and created again still has its tasks, and starts one
    again by the newest set. Its ghost `of` is the set that its configuration is of, which the deletion has not removed
    where compaction has left nothing of it."""

    @action(danger="zombie")
    def assign_claimed(s, i: Instance):
        """The worker reads the newest set, and starts its task again if that has it."""
        require((s.stage[i] != Stage.NONE) & s.present & (s.saw[i] < s.number))
        has = s.task[i] < s.size
        require(either("618.52", has, nowhere=s.present))
        s.live[s.task[i]] = when(s.live[s.task[i]] == i, None, s.live[s.task[i]])
        s.stage[i] = Stage.ASSIGNED
        s.saw[i] = s.number
        s.of[i] = when(has, s.generation, s.of[i])
