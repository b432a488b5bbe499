"""The core has the tasks of a source connector, their transactions, and the two offsets topics that are read as one.

The records of each source partition are numbered from 1, and a source offset is the number of the last record that it
covers: 0 is none. An instance opens its transactional producer, checks whether it is of the newest set of tasks, reads
its offsets to the end, and only then polls. It sends records in a transaction, adds the offsets, and asks for the end.
The connector's boundary decides when a transaction ends: after each batch, after several, or when the connector asks
for it, which may also have the transaction aborted.

A connector has its offsets in the worker's topic, or in its own topic from the time when it is given one. Then the
worker's topic is the fallback, for each source partition alone, and later offsets are copied there without any step
waiting for the copy. A record may have a null offset, for which a tombstone is stored: the source has its partition
begin anew, and returns the next record when it is asked for one without an offset.

That an instance with a newer set of tasks, or of the same id, has fenced those before it is 618.P1, which is proved of
task-counts. Its consequence is proved of transactions: a request of a fenced producer takes no effect, and its open
transaction is aborted. Reading to the end is one step here; `reading` has its parts.

Two conditions belong to the model, and Kafka does not enforce them: copies that are under way are over when the next
instance begins (`copies_no_more`), and a null offset is not the first in the connector's own topic where the worker's
topic has an offset (`may_erase`). A connector that has been given its own topic also never loses it. `mistakes` drops
these conditions.

The model follows ExactlyOnceWorkerSourceTask, ConnectorOffsetBackingStore and OffsetStorageWriter of Connect, and
KIP-618.
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
    exists,
    fault,
    forall,
    implies,
    require,
    when,
)
from fencepost.model.source_offsets.delivered import Offset
from fencepost.model.source_offsets.outside import OF_THE_CORE


class Partition(Sort, bound="partitions"):
    """A `Partition` is a source partition of the connector."""


class Instance(Sort, bound="instances"):
    """An `Instance` is a task of one set of tasks together with its runs, one after the other. A run that is left
    behind while its successor is at work is another instance."""


class Place(Enumeration):
    """For an instance, a record is not polled or is finished; is in the open transaction; or was left out, because a
    transformation dropped it or the connector had its transaction aborted."""

    AWAY, INSIDE, LEFT_OUT = range(3)


class Stage(Enumeration):
    """An instance has not begun, has opened its producer, is of the newest set, has read its offsets and works, has its
    offsets in a transaction whose end is asked for, or has that transaction committed and its task's commit still to be
    called."""

    NEW, OPENED, CHECKED, WORKING, ASKED, COMMITTED = range(6)


class MergedView(Protocol):
    """A connector, its source and its offsets topics behave as KIP-618 has them. No release reads both topics so;
    `shipped` has the behaviour of the releases."""

    actors = ("operator", "leader", "coordinator", "source")

    separate: Bool  # new sets of tasks have the connector's own offsets topic
    newest: Map[Partition, Option[Instance]]  # the instance that is assigned the source partition in the newest set
    reads: Set[Instance, Partition]  # the instance believes that it has the source partition
    apart: Set[Instance]  # its offsets go to the connector's own topic

    stage: Map[Instance, Stage]
    over: Set[Instance]  # the run has failed, or is gone
    fenced: Set[Instance]  # its producer is not the newest of its transactional id, or timed out
    polled: Map[Instance, Partition, Offset]
    place: Map[Instance, Partition, Offset, Place]
    data: Map[Instance, Partition, Offset]  # the writer's offset for the next end of a transaction
    erases: Set[Instance, Partition]  # that offset is null
    copying: Map[Instance, Partition, Offset]  # to be copied to the worker's topic, or on its way there

    own: Map[Partition, Offset]  # what the connector's own topic has
    worker: Map[Partition, Offset]  # what the worker's topic has
    begins: Map[Partition, Offset]  # without an offset the source goes on behind this one
    told: Map[Partition, Offset]  # the most that SourceTask.commit was called after
    released: Map[Partition, Offset]  # what the system upstream has discarded

    out: Ghost[Set[Partition, Offset]]  # in the committed output
    left_out: Ghost[Set[Partition, Offset]]  # dropped, or aborted as the connector wished, for good
    twice: Ghost[Bool]  # a record was committed that was in the committed output already
    disordered: Ghost[Bool]  # a record was committed after a later one of its source partition

    outside = OF_THE_CORE

    # Sets of tasks

    @fault(budget="sets", danger="rebalance", by="leader", to="n")
    def assign(s, n: Instance, p: Partition):
        """A new set of tasks assigns the source partition to an instance that has not begun."""
        require((s.stage[n] == Stage.NEW) & (s.newest[p] != n))
        some = exists(Partition, lambda q: s.reads[n, q])
        require(implies(some, s.apart[n] == s.separate))  # a set has one topic
        s.newest[p] = n
        s.reads[n, p] = True
        s.apart[n] = s.separate

    @fault(budget="topics", by="operator")
    def give_own_topic(s):
        """The connector is configured with an offsets topic of its own, which is empty."""
        require(~s.separate)
        s.separate = True

    # The beginning of an instance

    @action(fair="weak")
    def open(s, n: Instance):
        """An instance calls initTransactions, which aborts the open transaction of an earlier instance of the id and
        fences it, if this one is of the newest set. A task of that set may have failed and be started again."""
        again = s.over[n] & exists(Partition, lambda p: s.newest[p] == n)
        require((s.stage[n] == Stage.NEW) | again)
        require(exists(Partition, lambda p: s.reads[n, p]))
        s.fenced = each(
            lambda m: (m != n) & (s.fenced[m] | either("618.18", s.shares_with(m, n), not_fenced=s.fenced[m]))
        )  # fmt: skip
        s.copying = each(lambda m, p: when(s.copies_no_more(m, n, p), 0, s.copying[m, p]))
        s.reads = each(lambda m, p: when((m == n) & s.over[n], s.newest[p] == n, s.reads[m, p]))
        s.over[n] = False
        s.stage[n] = Stage.OPENED
        s.polled = each(lambda m, p: when(m == n, 0, s.polled[m, p]))
        s.place = each(lambda m, p, i: when(m == n, Place.AWAY, s.place[m, p, i]))
        s.data = each(lambda m, p: when(m == n, 0, s.data[m, p]))
        s.erases = each(lambda m, p: s.erases[m, p] & (m != n))

    def shares_with(s, m, n):
        """Return whether m reads a partition that the newest set assigns to n."""
        return exists(Partition, lambda p: s.reads[m, p] & (s.newest[p] == n))

    def copies_no_more(s, m, n, p):
        """Return whether m's copies for p are over when n begins, because copies that are under way arrive before the
        next instance begins, or never do."""
        return (m == n) | (s.newest[p] == n)

    @action(fair="weak")
    def check(s, n: Instance):
        """The instance reads the config topic to the end, and finds no newer set of tasks. An instance whose producer
        another one of its own set has fenced finds none either, and later finds that it is fenced."""
        require((s.stage[n] == Stage.OPENED) & ~s.over[n])
        require(s.finds_none_newer(n), rule="618.19")
        s.stage[n] = Stage.CHECKED

    def finds_none_newer(s, n):
        return forall(Partition, lambda p: implies(s.reads[n, p], (s.newest[p] == n) | s.has_successor(n, p)))

    def has_successor(s, n, p):
        """Return whether the instance is fenced by another one that the newest set assigns the partition to."""
        return s.fenced[n] & exists(Instance, lambda m: (s.newest[p] == m) & (s.stage[m] != Stage.NEW))

    def is_newest(s, n):
        return forall(Partition, lambda p: implies(s.reads[n, p], s.newest[p] == n))

    @action(fair="weak")
    def abandon(s, n: Instance):
        """The instance finds a newer set of tasks, and gives up."""
        require((s.stage[n] == Stage.OPENED) & ~s.over[n] & ~s.is_newest(n))
        s.over[n] = True

    @action(fair="weak")
    def resume(s, n: Instance):
        """The task reads its offsets to the end and begins behind them, or behind what the upstream system has
        discarded."""
        require((s.stage[n] == Stage.CHECKED) & ~s.over[n])
        s.polled = each(lambda m, p: when((m == n) & s.reads[n, p], s.goes_on(n, p), s.polled[m, p]))
        s.stage[n] = Stage.WORKING

    def goes_on(s, n, p):
        found = either(
            "618.31",
            s.finds(n, p),
            nulls_override=s.in_its_topic(p, s.apart[n]),
            worker_wins=when(0 < s.worker[p], s.worker[p], when(0 < s.own[p], s.own[p], s.begins[p])),
        )
        return when(found < s.released[p], s.released[p], found)

    def finds(s, n, p):
        return s.found(p)

    def in_its_topic(s, p, apart):
        """Return what the connector's own topic has if its offsets are there, and otherwise what the worker's topic
        has."""
        stored = when(apart, s.own[p], s.worker[p])
        return when(0 < stored, stored, s.begins[p])

    def found(s, p):
        """Return the offset of the two topics read as one, where the connector's own topic wins for each source
        partition."""
        return when(0 < s.own[p], s.own[p], when(0 < s.worker[p], s.worker[p], s.begins[p]))

    # Records

    @action(fair="weak")
    def submit(s, n: Instance, p: Partition, i: Offset):
        """The task's next record is sent in the transaction, and its offset is handed to the writer."""
        s.is_next(n, p, i)
        s.polled[n, p] = i
        s.place[n, p, i] = Place.INSIDE
        s.data[n, p] = i
        s.erases[n, p] = False

    @fault(budget="nulls")
    def submit_the_last(s, n: Instance, p: Partition, i: Offset):
        """The task's next record has a null offset, after which the source begins the partition anew."""
        s.is_next(n, p, i)
        require(s.may_erase(n, p))
        s.polled[n, p] = i
        s.place[n, p, i] = Place.INSIDE
        s.data[n, p] = i
        s.erases[n, p] = True

    def may_erase(s, n, p):
        """Return whether a null offset erases nothing in the worker's topic that the connector's own topic would need
        as fallback."""
        return ~s.apart[n] | (0 < s.own[p]) | (s.worker[p] == 0)

    @fault(budget="drops")
    def filter_out(s, n: Instance, p: Partition, i: Offset):
        """A transformation drops the task's next record, which has no offset."""
        s.is_next(n, p, i)
        s.polled[n, p] = i
        s.place[n, p, i] = Place.LEFT_OUT
        s.data[n, p] = either("618.28", s.data[n, p], noted=i)
        s.erases[n, p] = either("618.28", s.erases[n, p], noted=False)

    def is_next(s, n, p, i):
        next_one = ~s.over[n] & (s.stage[n] == Stage.WORKING) & s.reads[n, p] & (i == s.polled[n, p] + 1)
        require(either("618.28", next_one, discarding_awaited=next_one & (s.told[p] == s.released[p])))

    @fault(budget="aborts")
    def abort_batch(s, n: Instance):
        """The connector has the transaction aborted: its records are discarded, and their offsets stay with the writer
        for a transaction of their own."""
        require(~s.over[n] & (s.stage[n] == Stage.WORKING) & s.is_open(n))
        s.place = each(
            lambda m, p, i: when((m == n) & s.is_inside(m, p, i), Place.LEFT_OUT, s.place[m, p, i])
        )  # fmt: skip

    def is_inside(s, n, p, i):
        return s.place[n, p, i] == Place.INSIDE

    def is_open(s, n):
        return exists(Partition, Offset, lambda p, i: s.is_inside(n, p, i))

    # The end of a transaction

    @action(fair="weak")
    def flush(s, n: Instance):
        """At a boundary tombstones go to the worker's topic outside the transaction. Then the offsets are sent in the
        transaction, and its commit is requested. A fenced producer may get this far without learning that it is fenced.
        """
        require(~s.over[n] & (s.stage[n] == Stage.WORKING) & exists(Partition, lambda p: 0 < s.data[n, p]))
        s.stage[n] = Stage.ASKED
        s.worker = each(
            lambda p: either(
                "618.27",
                either("618.31", when(s.erases_too(n, p), 0, s.worker[p]), primary_first=s.worker[p]),
                beside_the_transaction=when(s.apart[n], s.worker[p], s.stores(n, p, s.worker[p])),
            )
        )  # fmt: skip
        s.copying = each(
            lambda m, p: when(
                m == n,
                when(
                    s.erases_too(n, p), 0, either("618.31", s.copied_when_sent(n, p), before_commit=s.to_copy(n, p))
                ),
                s.copying[m, p],
            )
        )  # fmt: skip
        s.own = each(
            lambda p: either(
                "618.27", s.own[p], beside_the_transaction=when(s.apart[n], s.stores(n, p, s.own[p]), s.own[p])
            )
        )  # fmt: skip

    def copied_when_sent(s, n, p):
        """Return the copy that is under way without adding to it, because a copy starts when the transaction is
        committed."""
        return s.copying[n, p]

    def copied_when_committed(s, n, p):
        return s.to_copy(n, p)

    def erases_too(s, n, p):
        return s.apart[n] & s.reads[n, p] & (0 < s.data[n, p]) & s.erases[n, p]

    def to_copy(s, n, p):
        """Return the offset that is to be copied to the worker's topic, unless a tombstone is stored."""
        return when(s.apart[n] & (0 < s.data[n, p]) & ~s.erases[n, p], s.data[n, p], s.copying[n, p])

    def stores(s, n, p, before):
        """Return what a topic has of a source partition when the offsets of this instance are stored there."""
        return when(s.data[n, p] == 0, before, when(s.erases[n, p], 0, s.data[n, p]))

    @action(fair="weak", by="coordinator", to="n")
    def commit(s, n: Instance):
        """The coordinator commits the transaction, whether or not the instance receives the answer, unless its producer
        is fenced."""
        asked = s.stage[n] == Stage.ASKED
        early = ~s.over[n] & (s.stage[n] == Stage.WORKING) & s.is_open(n)
        require(either("618.27", asked, offsets_not_in_it=asked | early))
        require(~s.fenced[n])
        s.twice = s.twice | exists(Partition, Offset, lambda p, i: s.is_inside(n, p, i) & s.out[p, i])
        s.disordered = s.disordered | exists(
            Partition, Offset, Offset, lambda p, i, j: s.is_inside(n, p, i) & (i < j) & s.out[p, j]
        )  # fmt: skip
        s.out = each(lambda p, i: s.out[p, i] | s.is_inside(n, p, i))
        s.left_out = each(
            lambda p, i: s.left_out[p, i] | (asked & (s.place[n, p, i] == Place.LEFT_OUT) & (i <= s.data[n, p]))
        )  # fmt: skip
        s.place = each(
            lambda m, p, i: when((m == n) & (s.is_inside(m, p, i) | (asked & (i <= s.data[m, p]))), Place.AWAY,
                                 s.place[m, p, i])
        )  # fmt: skip
        s.own = each(lambda p: when(asked & s.apart[n], s.stores(n, p, s.own[p]), s.own[p]))
        s.worker = each(lambda p: when(asked & ~s.apart[n], s.stores(n, p, s.worker[p]), s.worker[p]))
        s.begins = each(lambda p: when(asked & (0 < s.data[n, p]) & s.erases[n, p], s.data[n, p], s.begins[p]))
        s.copying = each(
            lambda m, p: when(
                (m == n) & asked & ~s.over[n],
                either("618.31", s.copied_when_committed(m, p), never_copied=s.copying[m, p]),
                s.copying[m, p],
            )
        )  # fmt: skip
        s.data = each(lambda m, p: when((m == n) & asked, 0, s.data[m, p]))
        s.erases = each(lambda m, p: s.erases[m, p] & ~((m == n) & asked))
        s.stage[n] = Stage.COMMITTED

    @action(fair="weak")
    def call_commit(s, n: Instance):
        """SourceTask.commit is called, also where all records were dropped and there was nothing to commit."""
        nothing = (s.stage[n] == Stage.WORKING) & forall(Partition, lambda p: s.data[n, p] == 0)
        ready = ~s.over[n] & ((s.stage[n] == Stage.COMMITTED) | (nothing & s.has_polled(n)))
        copied = forall(Partition, lambda p: s.copying[n, p] == 0)
        require(either("618.31", ready, copies_awaited=ready & copied))
        s.stage[n] = Stage.WORKING
        s.told = each(lambda p: when(s.reads[n, p] & (s.told[p] < s.polled[n, p]), s.polled[n, p], s.told[p]))
        s.left_out = each(lambda p, i: s.left_out[p, i] | (s.place[n, p, i] == Place.LEFT_OUT))
        s.place = each(lambda m, p, i: when(m == n, Place.AWAY, s.place[m, p, i]))

    @action(by="source")
    def discard(s, p: Partition):
        """The upstream system learns of the committed offset, and discards what was polled."""
        require(s.released[p] < s.told[p])
        s.released[p] = s.told[p]

    def has_polled(s, n):
        """Return whether the instance has polled a record that its task's commit was not called for."""
        return exists(Partition, Offset, lambda p, i: s.place[n, p, i] != Place.AWAY)

    @action
    def copy(s, n: Instance, p: Partition):
        """An offset of a committed transaction arrives in the worker's topic."""
        require(0 < s.copying[n, p])
        s.worker[p] = s.copying[n, p]
        s.copying[n, p] = 0

    @action
    def copy_in_vain(s, n: Instance, p: Partition):
        """A copy of an offset does not arrive in the worker's topic, which is only logged."""
        require(0 < s.copying[n, p])
        s.copying[n, p] = 0

    # Faults

    @fault(budget="failures", danger="loss")
    def fail(s, n: Instance):
        """A record or an offset is refused, or the end of the transaction is not answered, and the task fails. If the
        end was asked for, the transaction may yet be committed until the next instance opens its producer."""
        require(~s.over[n] & ((s.stage[n] == Stage.WORKING) | (s.stage[n] == Stage.ASKED)))
        s.over[n] = True

    @fault(budget="crashes", danger="client-crash")
    def crash(s, n: Instance):
        """The process crashes, and the offsets that it would have copied are not copied."""
        require(~s.over[n] & (s.stage[n] != Stage.NEW))
        s.over[n] = True
        s.copying = each(lambda m, p: when(m == n, 0, s.copying[m, p]))

    @fault(budget="fencings", danger="time-out", by="coordinator", to="n")
    def fence(s, n: Instance):
        """A transaction times out, or an instance of an older set opens its producer late, with the same id."""
        require(~s.fenced[n] & (s.stage[n] != Stage.NEW))
        s.fenced[n] = True

    @action(fair="weak")
    def find_out(s, n: Instance):
        """An instance finds its producer fenced, perhaps late, and fails."""
        require(s.fenced[n] & ~s.over[n] & (s.stage[n] != Stage.NEW))
        s.over[n] = True

    # Dangers

    @danger("zombie")
    def left_behind(s):
        """A fenced instance has a record in a transaction while another instance works on its source partition."""
        return exists(
            Instance, Instance, Partition, Offset,
            lambda n, m, p, i: s.fenced[n] & ~s.over[n] & s.is_inside(n, p, i)
            & (m != n) & s.reads[m, p] & (s.stage[m] == Stage.WORKING),
        )  # fmt: skip

    @danger("lost-answer")
    def commits_unheard(s):
        """A transaction is still to be committed although its instance has failed or is gone."""
        return exists(Instance, lambda n: s.over[n] & (s.stage[n] == Stage.ASKED) & ~s.fenced[n])

    @danger("several-records")
    def several_inside(s):
        """A transaction has two records of one source partition."""
        return exists(
            Instance, Partition, Offset, Offset,
            lambda n, p, i, j: (i < j) & s.is_inside(n, p, i) & s.is_inside(n, p, j),
        )  # fmt: skip

    @danger("several-partitions")
    def of_several(s):
        """A transaction has records of two source partitions."""
        return exists(
            Instance, Partition, Partition, Offset, Offset,
            lambda n, p, q, i, j: (p != q) & s.is_inside(n, p, i) & s.is_inside(n, q, j),
        )  # fmt: skip

    @danger("several-tasks")
    def at_once(s):
        """Two instances that are not fenced have transactions open."""
        return exists(
            Instance, Instance,
            lambda n, m: (n != m) & s.is_open(n) & s.is_open(m) & ~s.fenced[n] & ~s.fenced[m],
        )  # fmt: skip

    @danger("several-ids")
    def in_one_topic(s):
        """Two instances have offsets for the same topic in transactions that are to be committed."""
        return exists(
            Instance, Instance,
            lambda n, m: (n != m) & (s.stage[n] == Stage.ASKED) & (s.stage[m] == Stage.ASKED)
            & (s.apart[n] == s.apart[m]) & ~s.fenced[n] & ~s.fenced[m],
        )  # fmt: skip
