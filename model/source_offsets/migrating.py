"""A connector gets an offsets topic of its own, and its tasks find offsets there and in the worker's global topic.

`MergedStart` is the later text (618.31), as shipped: a starting task sees both topics as one, and nothing is copied.
`Migrating` is the earlier text (618.30, 618.45), never shipped: the worker that has the Connector copies the offsets of
the global topic in one transaction, or writes a sentinel, and tasks wait for either. That text names no transactional
id for the copy, and leaves open what the former tasks do meanwhile. In this model the owner's producer has such an id
and is opened before the owner checks whether the topic is empty, and the offsets to copy are read when the former tasks
are fenced; without any of the three the migration goes wrong. The model assumes that the topic exists, since otherwise
the Connector fails.

`Downgrading` applies to both (618.36): workers of a software without separate topics store offsets in the global one
again, and then an upgrade finds the separate one as it was. With the feature switched off (a soft downgrade) an
explicitly configured topic stays in use, so that nothing happens. An implicitly configured one is used with the feature
only, and is then left as a downgraded software leaves it (Worker.offsetStoreForRegularSourceTask of Connect).

A task here stands for all tasks of its set. Task-counts prove that the tasks of a former set are fenced, and the core
proves that a record and its offset are in one transaction.
"""

from fencepost.model.language import (
    Bool,
    Enumeration,
    Ghost,
    Map,
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
    implies,
    not_of_this,
    require,
    when,
)
from fencepost.model.source_offsets.core import Partition
from fencepost.model.source_offsets.delivered import Offset
from fencepost.model.source_offsets.outside import CONNECT, STEPS, TOPICS, TRANSACTIONS


class Worker(Sort, bound="workers"):
    """A `Worker` is one that the Connector may be assigned to."""


class Stage(Enumeration):
    """A worker that has the Connector, or believes so, has been assigned it, has its producer open, has found the
    separate topic empty, has read the global topic and opened its transaction, or runs the Connector."""

    NONE, ASSIGNED, OPENED, EMPTY, COPYING, DONE = range(6)


OUTSIDE = (
    *STEPS,
    *TOPICS,
    *TRANSACTIONS,
    *CONNECT,
    *excused("a transaction is committed once, or never, and nothing of it comes later (txn.P1, txn.P2)", "late-copy",
             "loss", "lost-answer"),
    *not_of_this("what takes too long is given up, which is a crash", "time-out"),
    *not_of_this("which tasks there are is for task-counts to say: all tasks of a set are one here", "several-tasks",
                 "several-ids"),
    *not_of_this("how many records a transaction has is for the core to say", "several-records"),
)  # fmt: skip


class OneTopic(Protocol):
    """To its tasks, every right form of the migration behaves like one topic whose offsets are never lost."""

    actors = ("task", "operator", "leader")

    stored: Map[Partition, Offset]
    older: Bool
    running: Bool
    position: Map[Partition, Offset]

    def init(s):
        s.older = True

    @action
    def commit_older(s, p: Partition):
        require(s.older)
        s.stored[p] = s.stored[p] + 1

    @action
    def upgrade(s):
        """Tasks that know of the separate topic replace the older ones."""
        require(s.older)
        s.older = False

    @action
    def start(s):
        require(~s.older & ~s.running)
        s.running = True
        s.position = each(lambda p: s.stored[p])

    @action
    def commit(s, p: Partition):
        require(s.running)
        s.stored[p] = s.position[p] + 1
        s.position[p] = s.position[p] + 1

    @action
    def stop(s):
        s.running = False
        s.position = each(lambda p: 0)


class OneTopicThroughout(OneTopic):
    """The tasks behave as with one topic even if they are downgraded."""

    @action(by="operator")
    def downgrade(s):
        require(~s.older & ~s.running)
        s.older = True


class MergedStart(Protocol):
    """Tasks that use the global topic are followed by tasks that use the separate topic and accept the offset of either
    (618.31)."""

    actors = ("task", "leader", "operator")

    in_global: Map[Partition, Offset]
    in_separate: Map[Partition, Offset]
    older: Bool  # tasks that store in the global topic run, or may do so

    running: Bool  # tasks that store in the separate topic run
    position: Map[Partition, Offset]  # the offsets where those tasks are

    output: Ghost[Map[Partition, Offset]]  # the last record that is committed

    outside = (
        *OUTSIDE,
        *not_of_this("tasks find offsets by themselves: who has the Connector takes no part", "rebalance", "zombie"),
    )  # fmt: skip

    def init(s):
        s.older = True

    @action
    def commit_older(s, p: Partition):
        """A task of the older kind commits a record and its offset in the global topic."""
        require(s.older)
        s.output[p] = when(s.output[p] <= s.in_global[p], s.in_global[p] + 1, s.output[p])
        s.in_global[p] = s.in_global[p] + 1

    @action(fair="weak", by="leader")
    def fence_older(s):
        """A set of tasks with the separate topic begins, and all older tasks are fenced."""
        require(s.older)
        s.older = False

    @action(fair="weak")
    def start(s):
        """The tasks read the stored offsets, and begin there."""
        require(s.may_start())
        s.running = True
        s.position = each(lambda p: s.found(p))  # noqa: PLW0108  a helper has to be called

    def may_start(s):
        return ~s.older & ~s.running

    def found(s, p):
        global_first = when(0 < s.in_global[p], s.in_global[p], s.in_separate[p])
        return either("618.31", s.merged(p), separate_alone=s.in_separate[p], global_first=global_first)

    def merged(s, p):
        return when(0 < s.in_separate[p], s.in_separate[p], s.in_global[p])

    @action
    def commit(s, p: Partition):
        """A task commits a record and its offset in the separate topic."""
        require(s.running)
        s.output[p] = when(s.output[p] <= s.position[p], s.position[p] + 1, s.output[p])
        s.in_separate[p] = s.position[p] + 1
        s.position[p] = s.position[p] + 1

    @fault(budget="stops", danger="client-crash")
    def stop(s):
        """The tasks crash, or are replaced."""
        require(s.running)
        s.running = False
        s.position = each(lambda p: 0)

    @danger("several-partitions")
    def in_both(s):
        """The separate topic has an offset of one source partition, and only the global topic has one of another."""
        return s.running & exists(
            Partition, Partition,
            lambda p, q: (0 < s.in_separate[p]) & (s.in_separate[q] == 0) & (0 < s.in_global[q]),
        )  # fmt: skip


class Migrating(MergedStart):
    """An owner of the Connector fills the separate topic, and tasks read offsets of that topic alone (the earlier
    text)."""

    stage: Map[Worker, Stage]
    holds: Option[Worker]  # the worker whose producer has the newest epoch of the id of the copy
    took: Map[Worker, Partition, Offset]
    sent: Set[Worker, Partition]  # offsets that the worker's transaction has
    sentinel: Bool  # the sentinel stands in the separate topic

    outside = OUTSIDE

    def is_filled(s):
        return s.sentinel | exists(Partition, lambda p: 0 < s.in_separate[p])

    def may_start(s):
        return MergedStart.may_start(s) & either("618.45", s.is_filled(), not_waited_for=True)

    def found(s, p):
        return s.in_separate[p]

    @action(fair="weak", by="leader", to="w")
    def assign(s, w: Worker):
        """The Connector is assigned to a worker, as no worker has it."""
        require(forall(Worker, lambda v: s.stage[v] == Stage.NONE))
        s.stage[w] = Stage.ASSIGNED

    @fault(budget="rebalances", danger="rebalance", by="leader", to="w")
    def reassign(s, w: Worker):
        """The Connector is assigned to another worker, while the former owner goes on until it learns of that."""
        require((s.stage[w] == Stage.NONE) & exists(Worker, lambda v: s.stage[v] != Stage.NONE))
        s.stage[w] = Stage.ASSIGNED

    @action(fair="weak")
    def open_producer(s, w: Worker):
        """The owner opens its producer, and so the former holder of its transactional id can't commit any more."""
        require(s.stage[w] == Stage.ASSIGNED)
        s.holds = w
        s.stage[w] = Stage.OPENED

    @action(fair="weak")
    def look(s, w: Worker):
        """The owner checks the separate topic, which is filled only if it is empty."""
        require(s.stage[w] == Stage.OPENED)
        s.stage[w] = when(either("618.30", s.is_filled(), filled_again=False), Stage.DONE, Stage.EMPTY)

    @action(fair="weak")
    def take(s, w: Worker):
        """The owner reads the global topic to its end, once no task that still runs can store more in it."""
        require(s.may_take(w))
        require(either("618.30", ~s.older, over_running_tasks=True))
        s.took = each(lambda v, p: when(v == w, s.in_global[p], s.took[v, p]))
        s.stage[w] = Stage.COPYING

    def may_take(s, w):
        return s.stage[w] == Stage.EMPTY

    @action(fair="weak")
    def send(s, w: Worker, p: Partition):
        """The owner sends an offset to the separate topic, in its transaction."""
        require((s.stage[w] == Stage.COPYING) & (0 < s.took[w, p]) & ~s.sent[w, p])
        s.sent[w, p] = True
        s.in_separate[p] = either("618.30", s.in_separate[p], each_by_itself=s.took[w, p])

    @action(fair="weak")
    def fill(s, w: Worker):
        """The owner's transaction is committed, with the sentinel if there was nothing to copy."""
        require(s.stage[w] == Stage.COPYING)
        require(either("618.45", s.holds == w, by_whomever=True))
        require(forall(Partition, lambda p: implies(0 < s.took[w, p], s.sent[w, p])), rule="618.30")
        nothing = forall(Partition, lambda p: ~s.sent[w, p])
        s.sentinel = s.sentinel | either("618.30", nothing, no_sentinel=False)
        s.in_separate = each(
            lambda p: when(
                either("618.30", s.sent[w, p], each_by_itself=False), s.took[w, p], s.in_separate[p]
            )
        )  # fmt: skip
        s.forgets(w)
        s.stage[w] = Stage.DONE

    @action(fair="weak")
    def give_up(s, w: Worker):
        """The Connector fails at its former owner, because another owner has opened its producer."""
        require((s.stage[w] != Stage.NONE) & (s.stage[w] != Stage.ASSIGNED) & (s.holds != w))
        s.forgets(w)
        s.stage[w] = Stage.NONE

    @fault(budget="crashes", danger="client-crash")
    def crash(s, w: Worker):
        """The owner crashes, and its transaction is never committed."""
        require(s.stage[w] != Stage.NONE)
        s.forgets(w)
        s.stage[w] = Stage.NONE

    def forgets(s, w):
        s.took = each(lambda v, p: when(v == w, 0, s.took[v, p]))
        s.sent = each(lambda v, p: s.sent[v, p] & (v != w))

    @danger("zombie")
    def goes_on_late(s):
        """An owner has still to write its copy although another one has filled the topic."""
        return s.is_filled() & exists(Worker, lambda w: (s.stage[w] == Stage.COPYING) & (s.holds != w))

    @danger("several-partitions")
    def several_to_copy(s):
        """The owner has sent one offset, and has another one still to send."""
        return exists(
            Worker, Partition, Partition, lambda w, p, q: s.sent[w, p] & (0 < s.took[w, q]) & ~s.sent[w, q]
        )  # fmt: skip


class FencedLate(Migrating):
    """The owner opens its producer after it has found the topic empty, which the topic may not be any more."""

    @action(fair="weak")
    def open_producer(s, w: Worker):
        require(s.stage[w] == Stage.EMPTY)
        s.holds = w
        s.stage[w] = Stage.OPENED

    @action(fair="weak")
    def look(s, w: Worker):
        require(s.stage[w] == Stage.ASSIGNED)
        s.stage[w] = when(s.is_filled(), Stage.DONE, Stage.EMPTY)

    def may_take(s, w):
        return s.stage[w] == Stage.OPENED

    @action(fair="weak")
    def give_up(s, w: Worker):
        """The Connector fails at a former owner whose producer was open, because another owner has opened its
        producer."""
        require((s.stage[w] == Stage.OPENED) | (s.stage[w] == Stage.COPYING))
        require(s.holds != w)
        s.forgets(w)
        s.stage[w] = Stage.NONE


class Downgrading(MergedStart):
    """Offsets are copied to the global topic when they are committed in the separate one, and workers go back to the
    old software, and forward again."""

    @action(fair="weak")
    def copy(s, p: Partition):
        """An offset is copied to the global topic outside any transaction, and no thread waits for it."""
        require(~s.older & (0 < s.in_separate[p]))
        s.in_global[p] = s.in_separate[p]

    @fault(budget="downgrades", danger=("worker-without-support", "mixed-clients"), by="operator")
    def downgrade(s):
        """All tasks are stopped, and tasks of the old software start, which know of the global topic only. No copy may
        be outstanding then: an operator has to wait for it, or has everything since repeated. The earlier text copies
        nothing back, so that all that was committed since the migration is repeated."""
        require(~s.older & ~s.running)
        copied = forall(Partition, lambda p: (s.in_separate[p] == 0) | (s.in_separate[p] == s.in_global[p]))
        require(either("618.36", copied, at_once=True))
        s.older = True

    @action(fair="weak", rule="618.36", by="operator")
    def delete_topic(s):
        """The operator deletes the separate topic, which no worker uses. In the earlier text the sentinel goes as well,
        and a migration from the beginning follows."""
        require(s.older & exists(Partition, lambda p: 0 < s.in_separate[p]))
        s.in_separate = each(lambda p: 0)

    @action(fair="weak", by="leader")
    def fence_older(s):
        """The workers are upgraded again after the separate topic of the earlier time was deleted."""
        require(s.older)
        require(forall(Partition, lambda p: s.in_separate[p] == 0), rule="618.36")
        s.older = False
