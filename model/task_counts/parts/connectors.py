"""Several connectors run their rounds in parallel, and share what a Connect cluster has only one of.

They share the leader, true or former. They share its herder thread, which does nothing else for any connector between a
look at the topic and the write that rests on it. They share its transactional producer for the config topic, which any
write that fails takes from all of them until the leader claims the topic again. And they share the space of
transactional ids, which are group-connector-number. Any connector may be deleted, and created again. Requests to fence
are sent by other threads, so that those of several rounds mix in any order.

Late fencing requests and the steps between a task's checks are left out, since the core has them.
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
    Sort,
    action,
    danger,
    each,
    either,
    excused,
    exists,
    fault,
    forall,
    open_hole,
    require,
    when,
)
from fencepost.model.task_counts.abstract.core import Count, Instance, Task, Worker
from fencepost.model.task_counts.outside import BROKERS, COMPACTION, ENABLED, NOT_OF_CONNECT, READS, STEPS, TOPIC


class Connector(Sort, bound="connectors"):
    """A `Connector` is a source connector."""


class Prefix(Sort, bound="connectors"):
    """A `Prefix` is the beginning of a connector's transactional ids: the group's name and the connector's, joined."""


class Generation(Nat, upto="sets"):
    """A `Generation` is a set of task configurations of one connector, from 1; 0 is before the first."""


class Round(Enumeration):
    """A leader's fencing round for one connector is in one of three states: there is none, it is fencing ids, or it is
    about to write the count."""

    NONE, FENCING, CHECKED = range(3)


class Stage(Enumeration):
    """A `Stage` is how far a task has come on its way to its first poll."""

    NONE, ASSIGNED, OPENED, RUNNING = range(4)


class Connectors(Protocol):
    """Each connector has sets, rounds, counts and task starts, and any of them may act at any time."""

    actors = ("group", "user")

    prefix: Map[Connector, Option[Prefix]]  # None: the connector is still to be created
    gone: Set[Connector]  # was deleted; its count record stays, and its tasks may run on

    generation: Map[Connector, Generation]
    size: Map[Connector, Count]
    counted: Map[Connector, Generation]  # the newest set before the latest count record; 0: there is no such record
    count: Map[Connector, Count]

    leader: Option[Worker]  # the leader of the group
    owner: Option[Worker]  # the worker whose producer has the newest epoch on the config topic
    leads: Set[Worker]  # the worker believes itself the leader, perhaps wrongly
    opened: Set[Worker]  # has a producer for the config topic, and no write of it has failed

    round: Map[Worker, Connector, Round]
    fencing: Map[Worker, Connector, Generation]  # the set that the round is for
    new: Map[Worker, Connector, Count]  # the tasks of that set
    left: Map[Worker, Connector, Count]  # task ids below this one are still to be fenced

    stage: Map[Connector, Instance, Stage]
    task: Map[Connector, Instance, Task]
    of: Map[Connector, Instance, Generation]
    holds: Set[Connector, Instance]  # its producer has the newest epoch of its id

    polled: Ghost[Map[Connector, Generation]]
    disturbed: Ghost[Set[Connector, Instance]]  # the instance was fenced on behalf of another connector
    failed_for: Ghost[Map[Worker, Option[Connector]]]  # the connector whose write failed when the producer was lost
    lost: Ghost[Bool]  # a round failed at the leader since a write for another connector had failed

    outside = (
        *BROKERS,
        *STEPS,
        *TOPIC,
        *NOT_OF_CONNECT,
        *READS,
        *COMPACTION,
        *ENABLED,
        *excused(
            "no other group has a name that makes its ids these (618.49), as in names-may-collide", "id-collision"
        ),
        *open_hole(
            "no request to fence comes late or twice: in the cores and in deletion-late-fences they do",
            "late-copy",
            "duplicate",
        ),
    )

    @danger("zombie")
    def goes_on_late(s):
        """A start of an earlier set is still under way while a task of the connector's newest set polls."""
        return exists(
            Connector, Instance, Instance,
            lambda c, i, j: (s.stage[c, i] == Stage.RUNNING) & (s.of[c, i] == s.generation[c])
            & (s.stage[c, j] != Stage.NONE) & (s.of[c, j] < s.generation[c]),
        )  # fmt: skip

    @danger("rebalance")
    def starts_in_a_round(s):
        """Tasks open their producers while a leader's fencing round is under way."""
        return exists(
            Worker, Connector, Instance,
            lambda w, c, i: (s.round[w, c] != Round.NONE) & (s.stage[c, i] == Stage.OPENED),
        )  # fmt: skip

    @danger("leader-in-a-call")
    def deposed_in_a_round(s):
        """A leader whose producer is fenced from the topic has a round under way."""
        return exists(Worker, Connector, lambda w, c: (s.owner != w) & (s.round[w, c] != Round.NONE))

    @danger("several-connectors")
    def several_with_rounds(s):
        """A leader has rounds for several connectors under way."""
        return exists(
            Worker, Connector, Connector,
            lambda w, c, d: (c != d) & (s.round[w, c] != Round.NONE) & (s.round[w, d] != Round.NONE),
        )  # fmt: skip

    @danger("empty-set")
    def no_tasks(s):
        """A connector's newest set of task configurations is empty."""
        return exists(Connector, lambda c: (s.generation[c] > 0) & (s.size[c] == 0))

    @danger("one-task")
    def one_for_one(s):
        """A connector's set of one task follows a count of one task, and its round is still to come."""
        return exists(Connector, lambda c: s.is_pending(c) & (s.count[c] == 1) & (s.size[c] == 1))

    @danger("several-tasks")
    def several_to_fence(s):
        """A fencing round has several ids left to fence."""
        return exists(Worker, Connector, lambda w, c: s.left[w, c] > 1)

    @danger("several-ids")
    def several_producers(s):
        """Tasks of two connectors can commit."""
        return exists(
            Connector, Connector, Instance, Instance,
            lambda c, d, i, j: (c != d) & s.holds[c, i] & s.holds[d, j],
        )  # fmt: skip

    @action(by="user")
    def create(s, c: Connector, p: Prefix):
        """A connector is created with a name that no other connector has."""
        require(s.prefix[c] == None)  # noqa: E711  symbols have no `is`
        require(s.is_free(p), rule="618.6")
        s.prefix[c] = p

    def is_free(s, p):
        """Return whether no connector's ids begin like this: names are unique in a group, and groups are assumed to
        differ enough (618.49)."""
        return forall(Connector, lambda d: s.prefix[d] != p)

    def share_ids(s, c, d):
        return s.prefix[c] == s.prefix[d]

    # The leader and its producer

    @fault(budget="elections")
    def elect(s, w: Worker):
        """The group has another leader, which opens its producer, while the former leader may not know of it yet."""
        require(s.leader != w)
        require(s.thread_is_free(w))
        s.leader = w
        s.leads[w] = True
        s.opens_producer(w)

    @action(fair="weak")
    def depose(s, w: Worker):
        """A former leader learns that it no longer leads, and its rounds end."""
        require(s.leads[w] & (s.leader != w))
        s.leads[w] = False
        s.opened[w] = False
        s.failed_for[w] = None
        s.end_rounds(w)

    @action(fair="strong")
    def claim(s, w: Worker):
        """A worker that believes itself the leader and has lost its producer opens another one. Each tick of the herder
        begins with that, and there always is a next tick; requests of the same tick are handled before."""
        require(s.leads[w] & ~s.opened[w])
        require(either("618.43", s.thread_is_free(w), as_far_as_one_connector_goes=s.is_free_for_one(w)))
        s.opens_producer(w)

    def opens_producer(s, w):
        s.owner = w
        s.opened[w] = True
        s.failed_for[w] = None

    def thread_is_free(s, w):
        """Return whether the worker's thread is not between a look at the topic and the write that rests on it, for any
        connector."""
        return forall(Connector, lambda c: s.round[w, c] != Round.CHECKED)

    def is_free_for_one(s, w):
        return exists(Connector, lambda c: (s.round[w, c] != Round.CHECKED) & (s.prefix[c] != None))  # noqa: E711

    def may_write(s, w):
        """Return whether the broker accepts a transaction from this worker, whose producer must be open and have the
        newest epoch."""
        return s.opened[w] & either("618.24", s.owner == w, anyone=True)

    @action
    def reconfigure(s, w: Worker, c: Connector, n: Count):
        """The leader commits a new set of a connector, perhaps an empty one."""
        require((s.prefix[c] != None) & ~s.gone[c])  # noqa: E711
        s.publish(w, c, n)

    def publish(s, w, c, n):
        require(s.leads[w] & s.may_write(w) & s.thread_is_free(w))
        s.generation[c] = s.generation[c] + 1
        s.size[c] = n

    @fault(budget="deletions", danger="deletion")
    def delete(s, w: Worker, c: Connector):
        """A connector is deleted: its configuration and its target state get tombstones, and no other record does."""
        require(s.leads[w] & s.may_write(w) & s.thread_is_free(w) & (s.prefix[c] != None) & ~s.gone[c])  # noqa: E711
        s.gone[c] = True

    @action(danger="re-creation")
    def create_again(s, w: Worker, c: Connector, n: Count):
        """A deleted connector is created again with the same name, and so with the same ids, and its sets are numbered
        on."""
        require(s.gone[c])
        s.publish(w, c, n)
        s.gone[c] = False

    @action
    def set_refused(s, w: Worker, c: Connector):
        """A leader's set is refused because another worker's producer has a newer epoch, and the leader drops its
        producer."""
        require(s.leads[w] & s.opened[w] & ~s.may_write(w) & s.thread_is_free(w))
        s.drops_producer(w, c)

    def drops_producer(s, w, c):
        s.opened[w] = False
        s.failed_for[w] = c

    # Rounds

    @action(fair="weak")
    def start_round(s, w: Worker, c: Connector):
        """The leader reads to the end, finds a set of a connector after its latest count, and starts a fencing
        round."""
        require(s.leads[w] & (s.round[w, c] == Round.NONE) & s.thread_is_free(w) & ~s.gone[c])
        require(s.counted[c] < s.generation[c], rule="618.4")
        single = (s.count[c] == 1) & (s.size[c] == 1)
        s.round[w, c] = Round.FENCING
        s.fencing[w, c] = s.generation[c]
        s.new[w, c] = s.size[c]
        s.left[w, c] = when(single, 0, s.count[c])

    @action(fair="weak")
    def fence(s, w: Worker, c: Connector, t: Task):
        """The round of connector c fences its next transactional id."""
        require((s.round[w, c] == Round.FENCING) & (s.left[w, c] == t + 1))
        s.bumps(c, t, lambda d: either("618.6", s.share_ids(c, d), all_of_that_number=True))
        s.left[w, c] = t

    def bumps(s, c, t, reaches):
        """Raise the epoch of an id on behalf of a connector, so that its former holders can't commit any more."""

        def has_it(d, i):
            return s.holds[d, i] & reaches(d) & (s.task[d, i] == t)

        s.disturbed = each(lambda d, i: s.disturbed[d, i] | (has_it(d, i) & (c != d)))
        s.holds = each(lambda d, i: s.holds[d, i] & ~has_it(d, i))

    @action(fair="weak")
    def check_round(s, w: Worker, c: Connector):
        """The leader has fenced all ids, reads to the end, and gives the round up if there is a newer set of this
        connector."""
        require((s.round[w, c] == Round.FENCING) & s.thread_is_free(w))
        require(s.left[w, c] == 0, rule="618.7")
        newest = either("618.43", s.fencing[w, c] == s.generation[c], of_whatever_connector=s.is_newest_somewhere(w, c))
        s.round[w, c] = when(newest, Round.CHECKED, Round.NONE)
        s.fencing[w, c] = when(newest, s.fencing[w, c], 0)
        s.new[w, c] = when(newest, s.new[w, c], 0)

    def is_newest_somewhere(s, w, c):
        return exists(Connector, lambda d: s.fencing[w, c] == s.generation[d])

    @action(fair="weak")
    def write_count(s, w: Worker, c: Connector):
        """The leader writes the count of a connector's round without any other step of its thread since the check."""
        require((s.round[w, c] == Round.CHECKED) & s.may_write(w))
        s.counted = each(
            lambda d: when(either("618.2", d == c, whichever_connector_it_is_of=True), s.generation[d], s.counted[d])
        )
        s.count[c] = s.new[w, c]
        s.end_round(w, c)

    @action(fair="weak")
    def write_refused(s, w: Worker, c: Connector):
        """A count is refused because another worker's producer has a newer epoch on the topic, or because a failed
        write has taken the leader's producer."""
        require((s.round[w, c] == Round.CHECKED) & ~s.may_write(w))
        for_another = exists(Connector, lambda d: (s.failed_for[w] == d) & (d != c))
        s.lost = s.lost | ((s.leader == w) & ~s.opened[w] & for_another)
        s.failed_for[w] = when(s.opened[w], c, s.failed_for[w])
        s.opened[w] = False
        s.end_round(w, c)

    @fault(budget="failures", danger=("loss", "time-out", "lost-answer"))
    def write_fails(s, w: Worker, c: Connector):
        """A write of a count fails, and the leader drops its producer, even if other connectors wait to write with
        it."""
        require((s.round[w, c] == Round.CHECKED) & s.may_write(w))
        s.drops_producer(w, c)
        s.end_round(w, c)

    @fault(budget="failures", danger=("loss", "time-out", "lost-answer"))
    def fencing_fails(s, w: Worker, c: Connector):
        """An id can't be fenced: the round of one connector fails, and those of other connectors go on."""
        require(s.round[w, c] == Round.FENCING)
        s.end_round(w, c)

    def end_round(s, w, c):
        s.round[w, c] = Round.NONE
        s.fencing[w, c] = 0
        s.new[w, c] = 0
        s.left[w, c] = 0

    def end_rounds(s, w):
        s.round = each(lambda v, c: when(v == w, Round.NONE, s.round[v, c]))
        s.fencing = each(lambda v, c: when(v == w, 0, s.fencing[v, c]))
        s.new = each(lambda v, c: when(v == w, 0, s.new[v, c]))
        s.left = each(lambda v, c: when(v == w, 0, s.left[v, c]))

    # Tasks

    def is_pending(s, c):
        return s.counted[c] < s.generation[c]

    @action
    def assign(s, c: Connector, i: Instance, t: Task):
        require((s.stage[c, i] == Stage.NONE) & (t < s.size[c]) & ~s.gone[c])
        s.stage[c, i] = Stage.ASSIGNED
        s.task[c, i] = t
        s.of[c, i] = s.generation[c]

    @action(by="i")
    def open_producer(s, c: Connector, i: Instance):
        require(s.stage[c, i] == Stage.ASSIGNED)
        require(~s.is_pending(c), rule="618.15")
        s.bumps(c, s.task[c, i], lambda d: s.share_ids(c, d))
        s.holds[c, i] = True
        s.stage[c, i] = Stage.OPENED

    @action(by="i")
    def check_after(s, c: Connector, i: Instance):
        require(s.stage[c, i] == Stage.OPENED)
        require(s.of[c, i] == s.generation[c], rule="618.19")
        s.stage[c, i] = Stage.RUNNING
        s.polled[c] = s.of[c, i]

    @action(danger="client-crash", by="i")
    def stop(s, c: Connector, i: Instance):
        require(s.stage[c, i] != Stage.NONE)
        s.stage[c, i] = Stage.NONE
        s.task[c, i] = 0
        s.of[c, i] = 0
        s.holds[c, i] = False
        s.disturbed[c, i] = False

    def can_commit(s, c, i):
        return (s.stage[c, i] == Stage.RUNNING) & s.holds[c, i]


class CollidingNames(Connectors):
    """Two connectors may have the same transactional ids (618.49), such as "orders-1" in the group "connect" and "1" in
    the group "connect-orders"."""

    @fault(budget="collisions")
    def named_alike(s, c: Connector, d: Connector):
        """A connector gets a name that makes its transactional ids those of another one."""
        require((s.prefix[c] == None) & (s.prefix[d] != None))  # noqa: E711
        s.prefix[c] = s.prefix[d]
