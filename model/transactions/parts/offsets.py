"""This model has offsets that are committed in transactions: a group's memory of one key, and its partition of the
offsets topic.

A commit counts at once, or once the marker of its transaction arrives; until then it is pending. What counts is the
order of the commits in the log, not the order in which transactions end. A coordinator that takes over reads the log
again, from which compaction may have removed records that a later one has replaced.

One key is enough, since a marker decides all keys of a transaction alike. Whether the member that commits still owns
the partition is checked by the group's generation, which is not in this model.
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
    kafka_excludes,
    not_of_this,
    open_hole,
    require,
    when,
)


class Producer(Sort, bound="producers"):
    """A `Producer` is a transactional producer, identified by its producer id."""


class Record(Sort, bound="records"):
    """A `Record` is a record about the offset: a commit, or a tombstone."""


class Position(Nat, upto="log"):
    """A `Position` is a place in the log, from 1."""


class Fate(Enumeration):
    """A `Fate` is the state of a record according to the log. A record outside of transactions is committed at once."""

    NONE, OPEN, COMMITTED, ABORTED = range(4)


class TransactionalOffsets(Protocol):
    """The model has commits, markers, fetches, expiry, compaction, and fail-over of the coordinator."""

    actors = ("coordinator", "cleaner")

    outside = (
        *excused(
            "compaction leaves every marker: what follows where a marker goes is in the variant cleaned of "
            "read-committed", "cleaning",
        ),
        *open_hole(
            "what the offsets topic has acknowledged stays there (acks=all, no unclean election); unclean-v2 has a "
            "partition where it does not, and offsets-marker-dropped what follows where a marker is missing",
            "unreplicated-tail", "truncation",
        ),
        *open_hole(
            "one coordinator at a time: a deposed one that has not heard of its successor would answer a fetch from "
            "its own memory, and it takes a second memory here to have that", "overlapping-coordinators",
        ),
        *open_hole("an append succeeds at once: transaction-log has those that fail or stay in doubt", "failed-append"),
        *open_hole(
            "a marker comes as long as its transaction is open; the variant offsets-marker-dropped takes that away",
            "partition-away",
        ),
        *kafka_excludes(
            "the coordinator of groups answers from what is replicated alone",
            "CoordinatorRuntime.scheduleReadOperation: lastCommittedOffset", "uncovered-log",
        ),
        *kafka_excludes(
            "the events of one partition of __consumer_offsets are handled one after the other",
            "CoordinatorRuntime: EventAccumulator", "two-threads",
        ),
        *open_hole("what a coordinator knows is what its log says", "memory-without-log"),
        *open_hole("a transaction ends in the end, by its owner or its time-out", "no-time-out"),
        *not_of_this("a group's offsets are asked of its coordinator: no reader of the topic takes part",
                     "isolation-level"),
        *not_of_this(
            "which commits arrive, how late and how often, is free here: each of them is one more record", "late-copy",
            "duplicate", "loss", "lost-answer", "client-crash", "zombie", "mixed-clients",
        ),
        *not_of_this(
            "producers are told apart and nothing else is known of them", "producer-expiry", "leader-restart",
            "sequence-wrap", "id-expiry", "end-of-epochs", "transaction-version", "time-out",
        ),
        *not_of_this(
            "one key of one group in one partition; a marker decides all keys alike", "reordering",
            "several-partitions", "several-groups",
        ),
        *not_of_this("a fetch is answered from memory, at once", "slow-reader"),
        *not_of_this("no step looks at a clock: an offset may expire at any time", "clock-step"),
        *not_of_this(
            "brokers know of no workers, connectors or tasks", "rebalance", "leader-in-a-call",
            "worker-without-support", "empty-set", "one-task", "several-tasks", "several-connectors", "deletion",
            "re-creation", "id-collision",
        ),
    )  # fmt: skip

    end: Position  # the next free place of the log
    place: Map[Record, Position]
    transactional: Set[Record]
    by: Map[Record, Producer]  # in a transaction of this producer
    empty: Set[Record]  # a tombstone
    fate: Map[Record, Fate]
    kept: Set[Record]  # compaction has not removed it
    commit_marker: Set[Producer, Position]
    abort_marker: Set[Producer, Position]
    open: Set[Producer]  # has committed an offset in a transaction, and is owed a marker

    cursor: Position  # how far the coordinator has read: to the end, but while it takes over
    in_force: Option[Record]
    since: Position  # the place of what is in force
    pending: Set[Record]
    waiting: Set[Producer]  # something of it is pending

    last: Ghost[Option[Record]]  # of the committed ones, the last in the log
    last_place: Ghost[Position]
    emptied: Ghost[Option[Record]]  # the last tombstone that was read
    emptied_place: Ghost[Position]
    decided: Ghost[Map[Record, Position]]  # the place in the log where its fate was decided
    fetched: Ghost[Set[Record]]  # was the answer to a fetch
    fetched_early: Ghost[Bool]  # a fetch was answered while a transaction was still to decide

    @danger("several-ids")
    def two_are_pending(s):
        """Commits of two producers are pending at once."""
        return exists(Producer, Producer, lambda p, q: (p != q) & s.waiting[p] & s.waiting[q])

    @danger("several-records")
    def replaced_in_its_transaction(s):
        """An open transaction has committed the offset twice."""
        return exists(
            Record, Record,
            lambda x, y: (x != y) & (s.by[x] == s.by[y]) & (s.fate[x] == Fate.OPEN) & (s.fate[y] == Fate.OPEN),
        )  # fmt: skip

    def init(s):
        s.end = 1
        s.cursor = 1

    def is_loaded(s):
        return s.cursor == s.end

    def is_written(s, r):
        return s.fate[r] != Fate.NONE

    def is_settled(s):
        return forall(Producer, lambda p: ~s.waiting[p])

    # What the coordinator makes of a record or marker, as it writes it or reads it

    def hold(s, r, p, stored):
        """Make a commit of a transaction pending, in place of an earlier one of the same transaction."""
        s.pending = each(
            lambda x: when(stored & s.pending[x] & (s.by[x] == p), x == r, s.pending[x] | (stored & (x == r)))
        )
        s.waiting[p] = s.waiting[p] | stored

    def read_commit(s, r, p):
        """Apply a commit marker: the pending offset is in force, unless that of a later record is."""
        comes = either("txn.21", s.since < s.place[r], in_order_of_completion=True)
        in_force = when(comes, r, s.in_force)
        s.in_force = in_force
        s.since = when(comes, s.place[r], s.since)
        s.pending = each(lambda x: s.pending[x] & (s.by[x] != p))
        s.waiting[p] = False

    def read_abort(s, r, p):
        """Apply an abort marker, which drops the pending offset."""
        s.in_force = either("txn.21", s.in_force, aborted_all_the_same=r)
        s.since = either("txn.21", s.since, aborted_all_the_same=s.place[r])
        s.pending = each(lambda x: either("txn.21", s.pending[x] & (s.by[x] != p), kept_over_abort=s.pending[x]))
        s.waiting[p] = either("txn.21", False, kept_over_abort=s.waiting[p])

    # Live

    def may_append(s, r):
        require(s.is_loaded() & ~s.is_written(r))

    def append(s, r, fate):
        """Add a record at the end of the log."""
        s.last = when(fate == Fate.COMMITTED, r, s.last)
        s.last_place = when(fate == Fate.COMMITTED, s.end, s.last_place)
        s.place[r] = s.end
        s.decided[r] = s.end
        s.fate[r] = fate
        s.kept[r] = True
        s.go_on()

    def go_on(s):
        end = s.end
        s.end = end + 1
        s.cursor = end + 1

    @action
    def commit_offset(s, r: Record):
        """OffsetCommit outside of transactions takes effect at once."""
        s.may_append(r)
        s.in_force = r
        s.since = s.end
        s.append(r, Fate.COMMITTED)

    @action
    def commit_in_transaction(s, r: Record, p: Producer):
        """TxnOffsetCommit makes an offset pending until the marker arrives."""
        s.may_append(r)
        s.hold(r, p, True)
        s.in_force = either("txn.21", s.in_force, at_once=r)
        s.since = either("txn.21", s.since, at_once=s.end)
        s.open[p] = True
        s.transactional[r] = True
        s.by[r] = p
        s.append(r, Fate.OPEN)

    @action(fair="weak")
    def commit(s, r: Record):
        """The marker of a committed transaction arrives, in which r was the last offset."""
        p = s.by[r]
        require(s.is_loaded() & s.open[p] & s.pending[r])
        later = s.last_place < s.place[r]
        s.last = when(later, r, s.last)
        s.last_place = when(later, s.place[r], s.last_place)
        s.commit_marker[p, s.end] = True
        s.read_commit(r, p)
        s.end_of_transaction(p, Fate.COMMITTED)

    @action(fair="weak")
    def abort(s, r: Record):
        """The marker of an aborted transaction arrives, in which r was the last offset."""
        p = s.by[r]
        require(s.is_loaded() & s.open[p] & s.pending[r])
        s.abort_marker[p, s.end] = True
        s.read_abort(r, p)
        s.end_of_transaction(p, Fate.ABORTED)

    def end_of_transaction(s, p, fate):
        s.decided = each(lambda x: when((s.fate[x] == Fate.OPEN) & (s.by[x] == p), s.end, s.decided[x]))
        s.fate = each(lambda x: when((s.fate[x] == Fate.OPEN) & (s.by[x] == p), fate, s.fate[x]))
        s.open[p] = False
        s.go_on()

    @action
    def expire(s, r: Record):
        """No offset was committed for a long time, and a tombstone removes it."""
        s.may_append(r)
        require(s.in_force != None)  # noqa: E711
        require(s.is_settled(), rule="txn.21")
        s.in_force = None
        s.since = 0
        s.empty[r] = True
        s.emptied = r
        s.emptied_place = s.end
        s.append(r, Fate.COMMITTED)

    @action
    def fetch(s):
        """OffsetFetch requires a stable offset: while a commit is pending it is refused and has to be repeated."""
        require(s.is_loaded())
        require(s.is_settled(), rule="txn.21")
        s.fetched = each(lambda x: s.fetched[x] | (s.in_force == x))
        s.fetched_early = s.fetched_early | exists(Record, lambda x: s.fate[x] == Fate.OPEN)

    # Compaction, and taking over

    @action(danger="cleaning", by="cleaner")
    def remove_replaced(s, x: Record, y: Record):
        """Compaction removes a record that a later committed one has replaced."""
        require(s.kept[x] & s.kept[y] & (s.place[x] < s.place[y]))
        require((s.fate[x] == Fate.COMMITTED) & (s.fate[y] == Fate.COMMITTED))
        s.kept[x] = False

    @action(danger="cleaning", by="cleaner")
    def remove_aborted(s, x: Record):
        """Compaction removes a record of an aborted transaction."""
        require(s.kept[x] & (s.fate[x] == Fate.ABORTED))
        s.kept[x] = False

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        """Another coordinator begins to read the log."""
        s.cursor = 1
        s.in_force = None
        s.since = 0
        s.pending = each(lambda x: False)
        s.waiting = each(lambda p: False)
        s.emptied = None
        s.emptied_place = 0

    @action(fair="weak")
    def read_plain(s, r: Record):
        """The new coordinator reads a plain commit or a tombstone, or what compaction has left of it."""
        place, counts = s.cursor, s.kept[r]
        require(s.is_written(r) & ~s.transactional[r] & (s.place[r] == place))
        s.in_force = when(counts & ~s.empty[r], r, when(counts, None, s.in_force))
        s.since = when(counts, when(s.empty[r], 0, place), s.since)
        s.emptied = when(counts & s.empty[r], r, s.emptied)
        s.emptied_place = when(counts & s.empty[r], place, s.emptied_place)
        s.cursor = place + 1

    @action(fair="weak")
    def read_transactional(s, r: Record):
        """The new coordinator reads a commit of a transaction, or what compaction has left of it."""
        place = s.cursor
        require(s.is_written(r) & s.transactional[r] & (s.place[r] == place))
        s.hold(r, s.by[r], s.kept[r])
        s.cursor = place + 1

    @action(fair="weak")
    def read_commit_marker(s, r: Record):
        """The new coordinator reads the marker of a committed transaction, whose offset r is pending."""
        place, p = s.cursor, s.by[r]
        require((place < s.end) & s.pending[r] & s.commit_marker[p, place])
        s.read_commit(r, p)
        s.cursor = place + 1

    @action(fair="weak")
    def read_abort_marker(s, r: Record):
        """The new coordinator reads the marker of an aborted transaction, whose offset r is pending."""
        place, p = s.cursor, s.by[r]
        require((place < s.end) & s.pending[r] & s.abort_marker[p, place])
        s.read_abort(r, p)
        s.cursor = place + 1

    @action(fair="weak", by="coordinator")
    def pass_marker(s, p: Producer):
        """The new coordinator reads the marker of a transaction of which compaction has left nothing."""
        place = s.cursor
        require((place < s.end) & (s.commit_marker[p, place] | s.abort_marker[p, place]) & ~s.waiting[p])
        s.cursor = place + 1


class MarkerDropped(TransactionalOffsets):
    """In the `MarkerDropped` model the partition has no leader when a marker is due, and the marker counts as written
    (KAFKA-20734). The pending offset stays pending until the producer's next transaction writes to the partition, and
    that transaction's marker decides both."""

    abandoned: Set[Producer]  # no marker is under way for what is open of it
    meant: Ghost[Map[Record, Fate]]  # the decision whose marker did not arrive

    @fault(budget="absences", danger="partition-away", by="coordinator")
    def drop_marker(s, p: Producer, commits: Bool):
        """The coordinator counts the marker as written, and the transaction as complete for its owner."""
        require(s.open[p] & ~s.abandoned[p])
        fate = when(commits, Fate.COMMITTED, Fate.ABORTED)
        s.meant = each(lambda x: when((s.fate[x] == Fate.OPEN) & (s.by[x] == p), fate, s.meant[x]))
        s.abandoned[p] = True

    @action
    def begin_next(s, p: Producer):
        """The producer's next transaction commits the offset of another key in the partition."""
        require(s.is_loaded() & s.abandoned[p])
        s.abandoned[p] = False

    @action
    def commit_in_transaction(s, r: Record, p: Producer):
        """TxnOffsetCommit makes an offset pending, and from then on a marker is due again for everything of the
        producer that is open."""
        TransactionalOffsets.commit_in_transaction(s, r, p)
        s.abandoned[p] = False

    @action(fair="weak")
    def commit(s, r: Record):
        """A commit marker arrives, and decides everything of the producer that is open."""
        require(~s.abandoned[s.by[r]])
        TransactionalOffsets.commit(s, r)

    @action(fair="weak")
    def abort(s, r: Record):
        """An abort marker arrives, and decides everything of the producer that is open."""
        require(~s.abandoned[s.by[r]])
        TransactionalOffsets.abort(s, r)
