"""618.32: how a task reads its source offsets to the end of a partition of the offsets topic that it shares.

Entries are of several producers.  Those of the task's predecessors, whose source partitions it has now, are fenced
before it reads; other tasks go on with transactions of their own, and who has no transactions writes plainly.  The
end is asked without regard to transactions; what is consumed stops at the first entry that is not decided, and skips
what was aborted, and markers.  The answer to the fence need not wait for the marker of what was open: nothing here
depends on it.

`AtOnce` is what the other models of source offsets take this for: one step that reads all that is committed.

From KafkaBasedLog (readEndOffsets, readToLogEnd) and TopicAdmin.endOffsets of Connect.
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
    implies,
    not_of_this,
    open_hole,
    require,
    when,
)
from fencepost.model.source_offsets.outside import STEPS


class Position(Nat, upto="log"):
    """A place in the partition, from 0."""


class Writer(Sort, bound="writers"):
    """A producer with a transactional id of its own."""


class Fate(Enumeration):
    """Of an entry.  NONE: a marker, or nothing stands there yet; TO_COMMIT, TO_ABORT: its transaction is decided, and
    the partition does not know that yet."""

    NONE, OPEN, TO_COMMIT, TO_ABORT, COMMITTED, ABORTED = range(6)


class Stage(Enumeration):
    """Of the task that reads: before it asks for the end, until it is there, and afterwards."""

    WAITING, READING, DONE = range(3)


class AtOnce(Protocol):
    """The entries of a task's predecessors, all that are committed of which are read in one step, after the fence."""

    predecessor: Set[Writer]
    fenced: Set[Writer]
    open: Set[Writer, Position]
    committed: Set[Position]
    done: Bool
    view: Set[Position]

    @action
    def succeed(s, w: Writer):
        """The task has source partitions that this producer has written of."""
        require(~s.done)
        s.predecessor[w] = True

    @action
    def write(s, w: Writer, p: Position):
        """A predecessor writes an offset in its transaction."""
        require(s.predecessor[w] & ~s.fenced[w])
        require(~s.committed[p] & ~exists(Writer, lambda v: s.open[v, p]))
        s.open[w, p] = True

    @action
    def write_plainly(s, p: Position):
        """One without transactions writes an offset, before the task begins."""
        require(~s.done & ~s.committed[p] & ~exists(Writer, lambda v: s.open[v, p]))
        s.committed[p] = True

    @action
    def commit(s, w: Writer):
        require(~s.fenced[w])
        s.committed = each(lambda p: s.committed[p] | s.open[w, p])
        s.open = each(lambda v, p: s.open[v, p] & (v != w))

    @action
    def abort(s, w: Writer):
        """It is aborted, or is no more than empty."""
        s.open = each(lambda v, p: s.open[v, p] & (v != w))

    @action
    def fence(s, w: Writer):
        """The task, or a leader before it, has opened this producer's id; what was open is aborted."""
        require(s.predecessor[w])
        s.fenced[w] = True
        s.open = each(lambda v, p: s.open[v, p] & (v != w))

    @action
    def read(s):
        """All at once, when every predecessor is fenced."""
        require(~s.done & forall(Writer, lambda w: implies(s.predecessor[w], s.fenced[w])))
        s.done = True
        s.view = each(lambda p: s.committed[p])

    @action
    def read_again(s):
        """The task begins anew."""
        s.done = False
        s.view = each(lambda p: False)


class Reading(Protocol):
    """The same by end offsets and a consumer, in a partition that others write to."""

    end: Position  # behind the last entry or marker; all is replicated
    by: Map[Position, Option[Writer]]  # in whose transaction an entry is
    fate: Map[Position, Fate]
    mine: Set[Position]  # an entry of the task's source partitions

    predecessor: Set[Writer]
    fenced: Set[Writer]

    stage: Stage
    target: Position  # the end as it was asked
    position: Position  # of the consumer
    seen: Set[Position]  # what it was given

    then: Ghost[Set[Position]]  # all that was committed when the end was asked, by any writer

    outside = (
        *STEPS,
        *excused("what is acknowledged stays there, and is below the high watermark (acks=all, no unclean election)",
                 "unreplicated-tail", "uncovered-log"),
        *excused("a transaction is decided once, and a fenced producer adds nothing to it (txn.P1, txn.P2, proved of "
                 "transactions); what comes after its marker is in a-transaction-hangs",
                 "late-copy", "duplicate", "failed-append", "reordering", "id-expiry", "end-of-epochs",
                 "transaction-version", "producer-expiry", "sequence-wrap", "overlapping-coordinators"),
        *not_of_this("a transaction stays open, and a marker or an answer is under way, for as long as it takes",
                     "loss", "lost-answer", "coordinator-fail-over", "leader-restart", "partition-away",
                     "broker-restart", "clock-step"),
        *not_of_this("the latest entry of a source partition stays; positions that compaction leaves out are skipped",
                     "cleaning", "truncation"),
        *not_of_this("each partition of the topic is read to an end of its own", "several-partitions"),
        *not_of_this("it reads no group's offsets", "several-groups"),
        *not_of_this("who is a predecessor, and fenced as such, is for task-counts to say", "rebalance", "one-task",
                     "empty-set", "several-connectors", "leader-in-a-call", "id-collision"),
        *open_hole("a producer without transactions stops before the task that takes its place begins",
                   "worker-without-support", "mixed-clients"),
        *open_hole("stored offsets of a name are not used again by another connector", "deletion", "re-creation"),
    )  # fmt: skip

    # Who writes

    @action
    def succeed(s, w: Writer):
        """The task that is to read has source partitions that this producer writes of."""
        require((s.end == 0) & (s.stage == Stage.WAITING))
        s.predecessor[w] = True

    @fault(budget="entries")
    def write(s, w: Writer, p: Position):
        """An offset in a transaction."""
        require((p == s.end) & ~s.is_decided(w))
        require(~s.fenced[w])
        s.by[p] = w
        s.fate[p] = Fate.OPEN
        s.mine[p] = s.predecessor[w]
        s.end = s.end + 1

    @fault(budget="entries")
    def write_plainly(s, p: Position):
        """An offset of another connector, whose task has no transactions."""
        s.stands_plainly(p)

    @fault(budget="entries")
    def write_of_mine(s, p: Position):
        """A task of the same connector has written without transactions, before it had the feature on."""
        require(s.stage == Stage.WAITING)
        s.stands_plainly(p)
        s.mine[p] = True

    def stands_plainly(s, p):
        require(p == s.end)
        s.fate[p] = Fate.COMMITTED
        s.end = s.end + 1

    @action
    def commit(s, w: Writer):
        """The coordinator decides that the transaction is committed, whether or not its producer hears of that."""
        require(~s.fenced[w] & s.has_open(w))
        s.decides(w, Fate.TO_COMMIT)

    @action(fair="weak", danger=("time-out", "client-crash"))
    def time_out(s, w: Writer):
        """The transaction takes too long, its producer being gone perhaps: the coordinator aborts it."""
        require(s.has_open(w))
        s.decides(w, Fate.TO_ABORT)

    @action(fair="weak")
    def fence(s, w: Writer):
        """A predecessor's epoch is raised, and what it has open is aborted."""
        require(s.predecessor[w] & ~s.fenced[w])
        s.fenced[w] = True
        s.decides(w, Fate.TO_ABORT)

    def decides(s, w, decided):
        s.fate = each(lambda p: when((s.by[p] == w) & (s.fate[p] == Fate.OPEN), decided, s.fate[p]))

    @action(fair="weak")
    def mark(s, w: Writer):
        """The marker of a transaction that is decided stands in the partition."""
        require(s.is_decided(w))
        s.fate = each(
            lambda p: when(
                (s.by[p] == w) & (s.fate[p] == Fate.TO_COMMIT), Fate.COMMITTED,
                when((s.by[p] == w) & (s.fate[p] == Fate.TO_ABORT), Fate.ABORTED, s.fate[p]),
            )
        )  # fmt: skip
        s.end = s.end + 1

    def has_open(s, w):
        return exists(Position, lambda p: (s.by[p] == w) & (s.fate[p] == Fate.OPEN))

    def is_decided(s, w):
        """Is a marker of this producer on its way?"""
        return exists(
            Position,
            lambda p: (s.by[p] == w) & ((s.fate[p] == Fate.TO_COMMIT) | (s.fate[p] == Fate.TO_ABORT)),
        )  # fmt: skip

    def is_committed(s, p):
        """Its transaction is committed, marked or not; or it is in none."""
        return (s.fate[p] == Fate.COMMITTED) | (s.fate[p] == Fate.TO_COMMIT)

    def is_open(s, p):
        """As far as the partition knows: what is committed or aborted there comes after a marker."""
        return (s.fate[p] == Fate.OPEN) | (s.fate[p] == Fate.TO_COMMIT) | (s.fate[p] == Fate.TO_ABORT)

    # Who reads

    @action(fair="weak")
    def ask(s, p: Position):
        """The task's producer is open, and so are or were those of its connector before it: it asks for the end."""
        require(s.stage == Stage.WAITING)
        fenced = forall(Writer, lambda w: implies(s.predecessor[w], s.fenced[w]))
        require(either("618.18", fenced, before_the_fence=True))
        s.is_to_read_to(p)
        s.stage = Stage.READING

    @fault(budget="retries")
    def ask_again(s, p: Position):
        """A request has failed, and the end is asked once more."""
        require(s.stage == Stage.READING)
        s.is_to_read_to(p)

    def is_to_read_to(s, p):
        """Asked with read_uncommitted, the end is behind all that stands there."""
        require(either("618.32", p == s.end, up_to_the_last_stable=s.is_last_stable(p)))
        s.target = p
        s.then = each(lambda q: s.is_committed(q))  # noqa: PLW0108  a helper has to be called

    def is_last_stable(s, p):
        """The end that read_committed gives: the first position that the partition does not know the fate of."""
        decided = forall(Position, lambda q: implies(q < p, ~s.is_open(q)))
        return (p <= s.end) & decided & ((p == s.end) | s.is_open(p))

    @action(fair="weak")
    def consume(s, p: Position):
        """The next position: with read_committed, none is passed that is not decided, and only what is committed is
        given."""
        require((s.stage == Stage.READING) & (p == s.position) & (p < s.end))
        require(either("618.32", ~s.is_open(p), read_uncommitted=True))
        given = either("618.32", s.fate[p] == Fate.COMMITTED, read_uncommitted=s.fate[p] != Fate.NONE)
        s.seen[p] = given
        s.position = s.position + 1

    @action(fair="weak")
    def finish(s):
        """At the end, or past it."""
        require(s.stage == Stage.READING)
        require(s.target <= s.position, rule="618.32")
        s.stage = Stage.DONE

    @fault(budget="restarts", danger="client-crash")
    def begin_anew(s):
        """The task is gone, and the one after it knows nothing of what was read."""
        require(s.stage != Stage.WAITING)
        s.stage = Stage.WAITING
        s.target = 0
        s.position = 0
        s.seen = each(lambda p: False)
        s.then = each(lambda p: False)

    # What is in the way

    @danger("zombie")
    def goes_on_when_fenced(s):
        """A predecessor has been fenced whose transaction is neither committed nor aborted in the partition."""
        return exists(Writer, Position, lambda w, p: s.fenced[w] & (s.by[p] == w) & s.is_open(p))

    @danger("several-ids")
    def several_open(s):
        """Transactions of two producers are open in the partition."""
        return exists(Position, Position, lambda p, q: s.is_open(p) & s.is_open(q) & (s.by[p] != s.by[q]))

    @danger("several-records")
    def several_in_one(s):
        """A transaction has two entries in the partition."""
        return exists(
            Position, Position, lambda p, q: (p != q) & s.is_open(p) & s.is_open(q) & (s.by[p] == s.by[q])
        )  # fmt: skip

    @danger("several-tasks")
    def waits_for_another(s):
        """The task waits for the transaction of another one, which it has nothing to do with."""
        return s.is_blocked_by_another()

    def is_blocked_by_another(s):
        return (s.stage == Stage.READING) & s.is_open(s.position) & ~s.mine[s.position]

    @danger("slow-reader")
    def goes_past_the_end(s):
        """The task has still to read, and more stands behind the end that it was told."""
        return (s.stage == Stage.READING) & (s.position < s.target) & (s.target < s.end)


class HangingReading(Reading):
    """An entry comes when its transaction is over, and belongs to none that would be decided (KAFKA-14402)."""

    @fault(budget="late", danger="late-copy")
    def arrive_late(s, w: Writer, p: Position):
        """Its producer has ended all that it began, and is gone: as far as the partition knows, a transaction is open
        for good."""
        ended = exists(Position, lambda q: (s.by[q] == w) & (s.fate[q] != Fate.OPEN))
        require((p == s.end) & ended & ~s.is_decided(w) & ~s.has_open(w))
        s.fate[p] = Fate.OPEN
        s.end = s.end + 1
