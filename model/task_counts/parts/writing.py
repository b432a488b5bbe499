"""A set of task configurations is written to the config topic record by record, and takes effect at its commit record.

There is one connector, which divides what it reads between the tasks of a set. Each call of a leader writes a
configuration for every task, then the commit record. Records are visible once their transaction is committed, and a new
leader's producer aborts open transactions. A reader buffers the configurations until a commit record arrives. All
workers read the same records in the same order, so what holds here after each record holds for a worker that has read
that far.
"""

from fencepost.model.language import (
    Map,
    Option,
    Protocol,
    Set,
    Sort,
    action,
    danger,
    each,
    either,
    exists,
    forall,
    implies,
    open_hole,
    require,
    rule,
    when,
)
from fencepost.model.task_counts.abstract.core import Count, Task, Worker
from fencepost.model.task_counts.outside import (
    BROKERS,
    COMPACTION,
    ENABLED,
    NOT_OF_CONNECT,
    OTHERS,
    OWN_IDS,
    READS,
    STEPS,
    TO_STAY,
    TOPIC,
)


class Call(Sort, bound="calls"):
    """A `Call` is one request to replace the configurations; a retry is another call."""


class Part(Sort, bound="parts"):
    """A `Part` is a part of what the connector reads: a table, a file, a partition."""


class Writing(Protocol):
    """Leaders write sets of task configurations, and readers assemble them."""

    actors = ("leader", "Connector")

    owner: Option[Worker]  # the worker whose producer has the newest epoch on the config topic
    begun: Set[Call]
    size: Map[Call, Count]  # the tasks of the call's set
    reader: Map[Call, Part, Task]  # the task that reads a part, as the Connector decides

    call: Map[Worker, Option[Call]]  # the call that the worker's one thread processes
    written: Map[Worker, Count]  # configurations sent in that call
    open: Set[Worker, Task]  # configurations sent and not committed yet

    kept: Map[Task, Option[Call]]  # configurations read since the last commit record, by the call that wrote them
    applied: Map[Task, Option[Call]]  # configurations in effect, by the call that wrote them
    newest: Option[Call]  # the call whose commit record came last
    tasks: Count  # the number of tasks in the last commit record

    outside = (
        *BROKERS,
        *STEPS,
        *TOPIC,
        *NOT_OF_CONNECT,
        *READS,
        *COMPACTION,
        *OTHERS,
        *OWN_IDS,
        *TO_STAY,
        *ENABLED,
        *open_hole("no task runs here, and none is fenced: the cores have both, of sets that are whole",
                   "zombie", "rebalance", "one-task", "several-ids", "late-copy", "duplicate"),
    )  # fmt: skip

    @danger("leader-in-a-call")
    def deposed_in_a_call(s):
        """A leader is in the middle of a call although another one has claimed the topic."""
        return exists(Worker, Worker, lambda v, w: (v != w) & (s.call[v] != None) & (s.owner == w))  # noqa: E711

    @danger("empty-set")
    def no_tasks(s):
        """The newest set of task configurations is empty."""
        return (s.newest != None) & (s.tasks == 0)  # noqa: E711

    @danger("several-tasks")
    def several_tasks(s):
        """A set of several tasks is being written."""
        return exists(Worker, lambda w: s.written[w] > 1)

    @action
    def claim(s, w: Worker):
        """A leader that has no call under way opens its producer, which aborts the open transactions of others."""
        require(s.owner != w)
        require(s.call[w] == None, rule="618.43")  # noqa: E711  symbols have no `is`
        s.owner = w
        s.open = each(lambda v, i: False)

    @action(by="Connector")
    def divide(s, c: Call, x: Part, i: Task):
        """The Connector decides which task of its next set reads a part."""
        require(~s.begun[c])
        s.reader[c, x] = i

    @action
    def begin(s, w: Worker, c: Call, n: Count):
        """A request of a user or a Connector reaches a worker that believes itself the leader."""
        require((s.call[w] == None) & ~s.begun[c])  # noqa: E711
        require(implies(0 < n, forall(Part, lambda x: s.reader[c, x] < n)))
        s.begun[c] = True
        s.size[c] = n
        s.call[w] = c
        s.written[w] = 0

    @action(fair="weak")
    def put(s, w: Worker, c: Call, i: Task):
        """The leader writes the next task's configuration, in a transaction of its own."""
        require((s.call[w] == c) & (i == s.written[w]) & (i < s.size[c]) & s.may_write(w))
        require(s.all_committed(w), rule="618.25")
        s.open[w, i] = True
        with rule("618.3"):
            s.written[w] = s.written[w] + 1

    @action(fair="weak")
    def commit(s, w: Worker, c: Call):
        """The leader's transaction is committed, so that its records can be read."""
        require((s.call[w] == c) & s.may_write(w) & ~s.all_committed(w))
        s.applied = each(lambda i: when(s.at_once(w, i), s.call[w], s.applied[i]))
        s.kept = each(lambda i: when(s.open[w, i], s.call[w], s.kept[i]))
        s.open = each(lambda v, i: s.open[v, i] & (v != w))

    @action(fair="weak")
    def commit_set(s, w: Worker, c: Call):
        """The leader writes the commit record after every configuration, and readers that have as many configurations
        as it gives put them in effect."""
        require((s.call[w] == c) & s.may_write(w))
        require((s.written[w] == s.size[c]) & s.all_committed(w), rule="618.3")
        s.applied = each(lambda i: when(s.is_complete(c), s.kept[i], s.applied[i]))
        s.newest = when(s.is_complete(c), c, s.newest)
        s.tasks = when(s.is_complete(c), s.size[c], s.tasks)
        s.kept = each(lambda i: None)
        s.end_call(w)

    @action(danger=("client-crash", "loss", "lost-answer", "time-out"))
    def give_up(s, w: Worker):
        """The call fails because a write is refused or late, the worker goes down, or it learns that it no longer
        leads."""
        require(s.call[w] != None)  # noqa: E711
        s.open = each(lambda v, i: s.open[v, i] & (v != w))
        s.end_call(w)

    def end_call(s, w):
        s.call[w] = None
        s.written[w] = 0

    def may_write(s, w):
        return either("618.24", s.owner == w, anyone=True)

    def all_committed(s, w):
        return ~exists(Task, lambda i: s.open[w, i])

    def at_once(s, w, i):
        return either("618.3", False, at_once=s.open[w, i])

    def is_complete(s, c):
        """Return whether readers take a set for whole, which needs a configuration for each of its tasks."""
        whole = forall(Task, lambda i: implies(i < s.size[c], s.kept[i] != None))  # noqa: E711
        return either("618.3", whole, however_many=True)
