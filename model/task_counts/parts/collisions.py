"""Connectors of several Connect groups in one Kafka cluster may have the same transactional ids (618.49).

Ids are group-connector-number, joined by dashes that names may have as well: "orders-1" in the group "connect", and "1"
in the group "connect-orders". Each connector here has a leader of its own and shares nothing but ids. Connectors that
collide do so number by number, and their ids are named by one of the two. `connectors.py` has what connectors of one
group share. Former leaders and the steps between a task's checks are left out, since the core has them.
"""

from fencepost.model.language import (
    Enumeration,
    Ghost,
    Map,
    Protocol,
    Set,
    action,
    danger,
    each,
    exists,
    fault,
    forall,
    open_hole,
    require,
    when,
)
from fencepost.model.task_counts.abstract.core import Count, Instance, Task
from fencepost.model.task_counts.outside import (
    BROKERS,
    COMPACTION,
    ENABLED,
    NOT_OF_CONNECT,
    READS,
    STEPS,
    TO_STAY,
    TOPIC,
)
from fencepost.model.task_counts.parts.connectors import Connector, Connectors, Generation


class Stage(Enumeration):
    """A `Stage` is how far a task has come on its way to its first poll."""

    NONE, ASSIGNED, OPENED, RUNNING = range(4)


class CollidingNames(Protocol):
    """Each connector has sets, rounds, counts and task starts, and any of them may act at any time."""

    actors = ("leader", "user")

    named_by: Map[Connector, Connector]  # the connector whose ids it has: its own, or another one's

    generation: Map[Connector, Generation]
    size: Map[Connector, Count]
    pending: Set[Connector]  # its newest set stands after its latest count
    count: Map[Connector, Count]  # the number of tasks in the latest count; 0: no record

    round: Set[Connector]  # a round for it is under way
    round_for: Map[Connector, Generation]
    round_size: Map[Connector, Count]
    left: Map[Connector, Count]

    stage: Map[Connector, Instance, Stage]
    task: Map[Connector, Instance, Task]
    of: Map[Connector, Instance, Generation]
    holds: Set[Connector, Instance]  # its producer has the newest epoch of its id

    polled: Ghost[Map[Connector, Generation]]
    disturbed: Ghost[Set[Connector, Instance]]  # the instance was fenced on behalf of another connector

    outside = (
        *BROKERS,
        *STEPS,
        *TOPIC,
        *NOT_OF_CONNECT,
        *READS,
        *COMPACTION,
        *TO_STAY,
        *ENABLED,
        *open_hole("each connector has one leader, whose look and the write after it are one step: the cores have more",
                   "leader-in-a-call"),
        *open_hole("no request to fence comes late or twice: in the cores and in deletion-late-fences they do",
                   "late-copy", "duplicate"),
        *open_hole("a set has a task at least: the cores have empty ones", "empty-set"),
        *open_hole("what connectors of one group share is in the variant connectors", "several-connectors"),
    )  # fmt: skip

    goes_on_late = Connectors.goes_on_late

    @danger("rebalance")
    def starts_in_a_round(s):
        """Tasks open their producers while a leader fences."""
        return exists(Connector, Instance, lambda c, i: s.round[c] & (s.stage[c, i] == Stage.OPENED))

    @danger("id-collision")
    def alike(s):
        """Two connectors have the same transactional ids."""
        return exists(Connector, Connector, lambda c, d: (c != d) & s.share_ids(c, d))

    @danger("one-task")
    def one_for_one(s):
        """A connector's set of one task follows a count of one task, and its round is still to come."""
        return exists(Connector, lambda c: s.pending[c] & (s.count[c] == 1) & (s.size[c] == 1))

    @danger("several-tasks")
    def several_to_fence(s):
        """A fencing round has several ids left to fence."""
        return exists(Connector, lambda c: s.left[c] > 1)

    several_producers = Connectors.several_producers

    def init(s):
        s.named_by = each(lambda c: c)

    def share_ids(s, c, d):
        return s.named_by[c] == s.named_by[d]

    @fault(budget="collisions", by="user")
    def named_alike(s, c: Connector, d: Connector):
        """A connector gets a name that makes its transactional ids those of another one, before there is any set."""
        require(forall(Connector, lambda e: s.generation[e] == 0))
        s.named_by[c] = s.named_by[d]

    @action
    def reconfigure(s, c: Connector, n: Count):
        require(0 < n)
        s.generation[c] = s.generation[c] + 1
        s.size[c] = n
        s.pending[c] = True

    @action(fair="weak")
    def start_round(s, c: Connector):
        require(s.pending[c] & ~s.round[c])
        shut_out = (s.count[c] == 1) & (s.size[c] == 1)
        s.round[c] = True
        s.round_for[c] = s.generation[c]
        s.round_size[c] = s.size[c]
        s.left[c] = when(shut_out, 0, s.count[c])

    @action(fair="weak")
    def fence(s, c: Connector, t: Task):
        """The round of connector c fences its next transactional id."""
        require(s.round[c] & (s.left[c] == t + 1))
        s.bumps(c, t)
        s.left[c] = t

    def bumps(s, c, t):
        """Raise the epoch of an id on behalf of a connector, so that its former holders can't commit any more."""

        def has_it(d, i):
            return s.holds[d, i] & s.share_ids(c, d) & (s.task[d, i] == t)

        s.disturbed = each(lambda d, i: s.disturbed[d, i] | (has_it(d, i) & (c != d)))
        s.holds = each(lambda d, i: s.holds[d, i] & ~has_it(d, i))

    @action(fair="weak")
    def write_count(s, c: Connector):
        """The leader writes the count of its round unless there is a newer set of this connector."""
        require(s.round[c] & (s.left[c] == 0))
        newest = s.round_for[c] == s.generation[c]
        s.pending[c] = s.pending[c] & ~newest
        s.count[c] = when(newest, s.round_size[c], s.count[c])
        s.ends_round(c)

    def ends_round(s, c):
        s.round[c] = False
        s.round_for[c] = 0
        s.round_size[c] = 0

    @fault(budget="failures", danger=("loss", "time-out", "lost-answer"))
    def fail(s, c: Connector):
        """The round of one connector fails, and the other connectors go on."""
        require(s.round[c])
        s.left[c] = 0
        s.ends_round(c)

    @action
    def assign(s, c: Connector, i: Instance, t: Task):
        require((s.stage[c, i] == Stage.NONE) & (t < s.size[c]))
        s.stage[c, i] = Stage.ASSIGNED
        s.task[c, i] = t
        s.of[c, i] = s.generation[c]

    @action(by="i")
    def open_producer(s, c: Connector, i: Instance):
        require(s.stage[c, i] == Stage.ASSIGNED)
        require(~s.pending[c], rule="618.16")
        s.bumps(c, s.task[c, i])
        s.holds[c, i] = True
        s.stage[c, i] = Stage.OPENED

    @action(by="i")
    def check_after(s, c: Connector, i: Instance):
        require((s.stage[c, i] == Stage.OPENED) & (s.of[c, i] == s.generation[c]))
        s.stage[c, i] = Stage.RUNNING
        s.polled[c] = s.of[c, i]

    stop = Connectors.stop

    can_commit = Connectors.can_commit
