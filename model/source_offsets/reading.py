"""A task reads its source offsets to the end of a partition of the offsets topic that it shares with others (618.32).

The entries are of several producers. The task's predecessors, whose source partitions it has now, are fenced before it
reads. Other tasks go on with transactions of their own, and tasks without transactions write plainly. The end offset is
requested without regard to transactions. The consumer stops at the first entry that is not decided, and skips aborted
entries and markers. The answer to the fence need not wait for the marker of the aborted transaction, and nothing here
depends on it.

`AtOnce` is the abstraction that the other models of source offsets use: one step that reads all that is committed.

The model follows KafkaBasedLog (readEndOffsets, readToLogEnd) and TopicAdmin.endOffsets of Connect.
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
    """A `Position` is a place in the partition, from 0."""


class Writer(Sort, bound="writers"):
    """A `Writer` is a producer with a transactional id of its own."""


class Fate(Enumeration):
    """The fate of an entry is that of its transaction. NONE is a marker or an empty place, and TO_COMMIT and TO_ABORT
    mean that the transaction is decided but its marker is not in the partition yet."""

    NONE, OPEN, TO_COMMIT, TO_ABORT, COMMITTED, ABORTED = range(6)


class Stage(Enumeration):
    """The task that reads has yet to ask for the end offset, reads up to it, or is done."""

    WAITING, READING, DONE = range(3)


class AtOnce(Protocol):
    """The task reads all committed entries of its predecessors in one step, after the fence."""

    actors = ("task", "coordinator", "another task")

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

    @action(by="another task")
    def write_plainly(s, p: Position):
        """A producer without transactions writes an offset, before the task begins."""
        require(~s.done & ~s.committed[p] & ~exists(Writer, lambda v: s.open[v, p]))
        s.committed[p] = True

    @action(by="coordinator", to="w")
    def commit(s, w: Writer):
        require(~s.fenced[w])
        s.committed = each(lambda p: s.committed[p] | s.open[w, p])
        s.open = each(lambda v, p: s.open[v, p] & (v != w))

    @action
    def abort(s, w: Writer):
        """The producer's transaction is aborted; it may have been empty."""
        s.open = each(lambda v, p: s.open[v, p] & (v != w))

    @action(by="coordinator", to="w")
    def fence(s, w: Writer):
        """The task, or a leader before it, has opened this producer's id, and the open transaction is aborted."""
        require(s.predecessor[w])
        s.fenced[w] = True
        s.open = each(lambda v, p: s.open[v, p] & (v != w))

    @action
    def read(s):
        """The task reads all that is committed in one step, when every predecessor is fenced."""
        require(~s.done & forall(Writer, lambda w: implies(s.predecessor[w], s.fenced[w])))
        s.done = True
        s.view = each(lambda p: s.committed[p])

    @action
    def read_again(s):
        """The task begins anew, and will read again."""
        s.done = False
        s.view = each(lambda p: False)


class Reading(Protocol):
    """The task reads by end offsets and a consumer, in a partition that others write to as well."""

    actors = ("task", "coordinator", "another task")

    end: Position  # behind the last entry or marker; all is replicated
    by: Map[Position, Option[Writer]]  # the writer in whose transaction an entry is
    fate: Map[Position, Fate]
    mine: Set[Position]  # an entry of the task's source partitions

    predecessor: Set[Writer]
    fenced: Set[Writer]

    stage: Stage
    target: Position  # the end offset that the task was given
    position: Position  # the position of the consumer
    seen: Set[Position]  # the entries that the consumer was given

    then: Ghost[Set[Position]]  # all that was committed, by any writer, when the end was requested

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

    # Writers

    @action
    def succeed(s, w: Writer):
        """The task that is to read has source partitions that this producer writes of."""
        require((s.end == 0) & (s.stage == Stage.WAITING))
        s.predecessor[w] = True

    @fault(budget="entries")
    def write(s, w: Writer, p: Position):
        """A producer writes an offset in its transaction."""
        require((p == s.end) & ~s.is_decided(w))
        require(~s.fenced[w])
        s.by[p] = w
        s.fate[p] = Fate.OPEN
        s.mine[p] = s.predecessor[w]
        s.end = s.end + 1

    @fault(budget="entries", by="another task")
    def write_plainly(s, p: Position):
        """A task of another connector, which has no transactions, writes an offset."""
        s.stands_plainly(p)

    @fault(budget="entries", by="another task")
    def write_of_mine(s, p: Position):
        """A task of the same connector writes an offset without transactions, before it has the feature on."""
        require(s.stage == Stage.WAITING)
        s.stands_plainly(p)
        s.mine[p] = True

    def stands_plainly(s, p):
        require(p == s.end)
        s.fate[p] = Fate.COMMITTED
        s.end = s.end + 1

    @action(by="coordinator", to="w")
    def commit(s, w: Writer):
        """The coordinator decides that the transaction is committed, whether or not its producer receives the
        answer."""
        require(~s.fenced[w] & s.has_open(w))
        s.decides(w, Fate.TO_COMMIT)

    @action(fair="weak", danger=("time-out", "client-crash"), by="coordinator", to="w")
    def time_out(s, w: Writer):
        """The transaction takes too long, perhaps because its producer is gone, and the coordinator aborts it."""
        require(s.has_open(w))
        s.decides(w, Fate.TO_ABORT)

    @action(fair="weak", by="coordinator", to="w")
    def fence(s, w: Writer):
        """A predecessor's epoch is raised, and its open transaction is aborted."""
        require(s.predecessor[w] & ~s.fenced[w])
        s.fenced[w] = True
        s.decides(w, Fate.TO_ABORT)

    def decides(s, w, decided):
        s.fate = each(lambda p: when((s.by[p] == w) & (s.fate[p] == Fate.OPEN), decided, s.fate[p]))

    @action(fair="weak", by="coordinator")
    def mark(s, w: Writer):
        """The marker of a decided transaction is written to the partition."""
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
        """Return whether a marker of this producer is on its way."""
        return exists(
            Position,
            lambda p: (s.by[p] == w) & ((s.fate[p] == Fate.TO_COMMIT) | (s.fate[p] == Fate.TO_ABORT)),
        )  # fmt: skip

    def is_committed(s, p):
        """Return whether the entry's transaction is committed, marked or not, or the entry is in none."""
        return (s.fate[p] == Fate.COMMITTED) | (s.fate[p] == Fate.TO_COMMIT)

    def is_open(s, p):
        """Return whether the entry is undecided as far as the partition knows, where a commit or abort takes effect by
        its marker."""
        return (s.fate[p] == Fate.OPEN) | (s.fate[p] == Fate.TO_COMMIT) | (s.fate[p] == Fate.TO_ABORT)

    # The task that reads

    @action(fair="weak")
    def ask(s, p: Position):
        """The task asks for the end offset once its own producer is open and those of its predecessors are fenced."""
        require(s.stage == Stage.WAITING)
        fenced = forall(Writer, lambda w: implies(s.predecessor[w], s.fenced[w]))
        require(either("618.18", fenced, before_the_fence=True))
        s.is_to_read_to(p)
        s.stage = Stage.READING

    @fault(budget="retries")
    def ask_again(s, p: Position):
        """A request has failed, and the task asks for the end offset once more."""
        require(s.stage == Stage.READING)
        s.is_to_read_to(p)

    def is_to_read_to(s, p):
        """Set the end offset to read to, which with read_uncommitted is behind all entries of the partition."""
        require(either("618.32", p == s.end, up_to_the_last_stable=s.is_last_stable(p)))
        s.target = p
        s.then = each(lambda q: s.is_committed(q))  # noqa: PLW0108  a helper has to be called

    def is_last_stable(s, p):
        """Return whether p is the end offset that read_committed gives, the first position whose fate the partition
        does not know."""
        decided = forall(Position, lambda q: implies(q < p, ~s.is_open(q)))
        return (p <= s.end) & decided & ((p == s.end) | s.is_open(p))

    @action(fair="weak")
    def consume(s, p: Position):
        """The task consumes the next position: with read_committed it passes no undecided entry, and gets only
        committed ones."""
        require((s.stage == Stage.READING) & (p == s.position) & (p < s.end))
        require(either("618.32", ~s.is_open(p), read_uncommitted=True))
        given = either("618.32", s.fate[p] == Fate.COMMITTED, read_uncommitted=s.fate[p] != Fate.NONE)
        s.seen[p] = given
        s.position = s.position + 1

    @action(fair="weak")
    def finish(s):
        """The task has read to the end offset, or past it."""
        require(s.stage == Stage.READING)
        require(s.target <= s.position, rule="618.32")
        s.stage = Stage.DONE

    @fault(budget="restarts", danger="client-crash")
    def begin_anew(s):
        """The task crashes, and its successor knows nothing of what was read."""
        require(s.stage != Stage.WAITING)
        s.stage = Stage.WAITING
        s.target = 0
        s.position = 0
        s.seen = each(lambda p: False)
        s.then = each(lambda p: False)

    # Dangers

    @danger("zombie")
    def goes_on_when_fenced(s):
        """A fenced predecessor has a transaction that is neither committed nor aborted in the partition."""
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
        """The task waits for the transaction of an unrelated task."""
        return s.is_blocked_by_another()

    def is_blocked_by_another(s):
        return (s.stage == Stage.READING) & s.is_open(s.position) & ~s.mine[s.position]

    @danger("slow-reader")
    def goes_past_the_end(s):
        """The task has still to read, and more entries stand behind the end offset that it was given."""
        return (s.stage == Stage.READING) & (s.position < s.target) & (s.target < s.end)


class HangingReading(Reading):
    """An entry arrives when its transaction is over, and belongs to none that would be decided (KAFKA-14402)."""

    @fault(budget="late", danger="late-copy")
    def arrive_late(s, w: Writer, p: Position):
        """An entry arrives after its producer has ended all its transactions and is gone, so that as far as the
        partition knows a transaction is open for good."""
        ended = exists(Position, lambda q: (s.by[q] == w) & (s.fate[q] != Fate.OPEN))
        require((p == s.end) & ended & ~s.is_decided(w) & ~s.has_open(w))
        s.fate[p] = Fate.OPEN
        s.end = s.end + 1
