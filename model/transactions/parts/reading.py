"""This model has readers of a partition that holds transactions: how far they may read, and which records they leave
out.

There is one partition, whose log ends in records that may still be lost. The last stable offset (LSO) is the first
offset of the oldest transaction that is open, or whose marker is not replicated, and never more than the high
watermark. It is no variable of the model, since it follows from those. A reader fetches a piece below it, with the list
of aborted transactions that reach into the piece, and leaves out their records.

The coordinator is not in this model. A transaction whose marker was lost with a leader may be ended either way, so that
no property relies on the same marker being written again.
"""

from fencepost.model.language import (
    Enumeration,
    Ghost,
    Map,
    Nat,
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
    rule,
    when,
)
from fencepost.model.transactions.parts.offsets import Producer


class Txn(Sort, bound="transactions"):
    """A `Txn` is a transaction as far as this partition is concerned."""


class Reader(Sort, bound="readers"):
    """A `Reader` is a consumer of the partition."""


class Offset(Nat, upto="log"):
    """An `Offset` is a place in the log, from 0, or the end of a range of them."""


class Kind(Enumeration):
    """A `Kind` is the kind of a record: outside of transactions, inside of one, or a marker."""

    NOTHING, PLAIN, DATA, COMMIT, ABORT = range(5)


class Phase(Enumeration):
    """A `Phase` is the state of a transaction according to the log."""

    NONE, OPEN, COMMITTED, ABORTED = range(4)


class ReadCommitted(Protocol):
    """Producers write, the coordinator ends their transactions, replication follows, and readers consume."""

    actors = ("leader", "coordinator", "producer", "cleaner", "admin", "another broker")

    outside = (
        *open_hole("nothing is removed from the log; the variant cleaned has one that is cleaned", "cleaning"),
        *excused(
            "no unclean election: what is below the high watermark is in the log of every later leader; the variant "
            "read-committed-unclean takes that away", "unreplicated-tail", "truncation",
        ),
        *open_hole(
            "every transaction that is open gets a marker in the end; dropped-v2 of transaction-partitions has one "
            "that does not", "partition-away", "no-time-out",
        ),
        *not_of_this(
            "what the log holds is given, whichever client sent it, how late and how often", "late-copy", "duplicate",
            "loss", "lost-answer", "reordering", "client-crash", "zombie", "mixed-clients", "sequence-wrap",
            "producer-expiry", "id-expiry", "end-of-epochs",
        ),
        *not_of_this(
            "which end a transaction comes to is decided elsewhere, and may be decided again after a loss",
            "coordinator-fail-over", "overlapping-coordinators", "uncovered-log", "failed-append", "time-out",
            "transaction-version", "clock-step",
        ),
        *open_hole("a leader knows of a log what is in it, but for what a restart takes", "memory-without-log"),
        *open_hole("a step is one of a whole process", "two-threads"),
        *not_of_this("its readers ask for read_committed: others are promised nothing (txn.17)", "isolation-level"),
        *not_of_this("one partition, read by consumers that share nothing", "several-partitions", "several-groups"),
        *not_of_this(
            "what a restarted leader forgets are batches that it knew, none that it holds", "leader-restart",
            "broker-restart",
        ),
        *not_of_this(
            "brokers know of no workers, connectors or tasks", "rebalance", "leader-in-a-call",
            "worker-without-support", "empty-set", "one-task", "several-tasks", "several-connectors", "deletion",
            "re-creation", "id-collision",
        ),
    )  # fmt: skip

    end: Offset
    high: Offset  # high watermark: what is below it is not lost
    kind: Map[Offset, Kind]
    writer: Map[Offset, Producer]

    phase: Map[Txn, Phase]
    owner: Map[Txn, Producer]
    first: Map[Txn, Offset]  # its first record
    last: Map[Txn, Offset]  # the marker that ended it
    indexed: Set[Txn]  # is in the index of aborted transactions

    sees_all: Set[Reader]  # reads uncommitted
    position: Map[Reader, Offset]  # the next offset that it takes
    upto: Map[Reader, Offset]  # the end of the piece it fetched
    listed: Set[Reader, Txn]  # the aborted transactions that came with the piece, and were not passed yet

    part: Ghost[Set[Txn, Offset]]  # is this record of that transaction?
    returned: Ghost[Set[Reader, Offset]]

    @danger("several-ids")
    def two_are_open(s):
        """Two producers have transactions open, and the last stable offset is the first offset of the older one."""
        return exists(Txn, Txn, lambda t, u: s.is_open(t) & s.is_open(u) & (s.owner[t] != s.owner[u]))

    @danger("slow-reader")
    def piece_within(s):
        """A reader has a piece that begins and ends within an aborted transaction."""
        return exists(
            Reader, Txn, lambda r, t: s.listed[r, t] & (s.first[t] < s.position[r]) & (s.upto[r] <= s.last[t])
        )

    def append(s, kind, producer):
        s.kind[s.end] = kind
        s.writer[s.end] = producer

    def is_open(s, t):
        return s.phase[t] == Phase.OPEN

    def has_open(s, p):
        return exists(Txn, lambda t: s.is_open(t) & (s.owner[t] == p))

    def has_ended(s, t):
        return (s.phase[t] == Phase.COMMITTED) | (s.phase[t] == Phase.ABORTED)

    @action
    def write_plain(s, p: Producer):
        """A producer writes a record outside of transactions."""
        end = s.end
        require(~s.has_open(p))
        s.append(Kind.PLAIN, p)
        s.end = end + 1

    @action
    def begin(s, p: Producer, t: Txn):
        """A producer writes the first record of a transaction."""
        end = s.end
        require((s.phase[t] == Phase.NONE) & ~s.has_open(p))
        s.append(Kind.DATA, p)
        s.phase[t] = Phase.OPEN
        s.owner[t] = p
        with rule("txn.17"):
            s.first[t] = end
        s.part[t, end] = True
        s.end = end + 1

    @action(danger="several-records", by="producer", to="leader")
    def add(s, t: Txn):
        """A producer writes one more record of an open transaction."""
        end = s.end
        require(s.is_open(t))
        s.append(Kind.DATA, s.owner[t])
        s.part[t, end] = True
        s.end = end + 1

    @action(fair="weak", by="coordinator", to="leader")
    def commit(s, t: Txn):
        """The coordinator's commit marker is appended."""
        end = s.end
        s.close(t, Kind.COMMIT)
        s.last[t] = end
        s.phase[t] = Phase.COMMITTED

    @action(fair="weak", by="coordinator", to="leader")
    def abort(s, t: Txn):
        """The coordinator's abort marker is appended, and the index of aborted transactions gets another entry."""
        end = s.end
        others = exists(Txn, lambda u: (u != t) & s.is_open(u))
        s.close(t, Kind.ABORT)
        with rule("txn.17"):
            s.last[t] = end
        s.phase[t] = Phase.ABORTED
        s.indexed[t] = either("txn.17", True, unless_others_are_open=~others)

    def close(s, t, kind):
        end = s.end
        require(s.is_open(t))
        s.append(kind, s.owner[t])
        s.end = end + 1

    @action(by="coordinator", to="leader")
    def abort_nothing(s, p: Producer):
        """An abort marker without an entry in the index is appended: the producer wrote nothing here."""
        end = s.end
        require(~s.has_open(p))
        s.append(Kind.ABORT, p)
        s.end = end + 1

    @action(fair="weak")
    def replicate(s):
        """The high watermark advances towards the end of the log."""
        require(s.high < s.end)
        s.high = s.high + 1

    @fault(budget="fail_overs", danger=("unreplicated-tail", "truncation"))
    def fail_over(s):
        """Another leader takes over: the unreplicated tail is lost, and transactions that ended there are open."""
        s.cut(s.high)

    def cut(s, at):
        """Truncate the log at an offset, as if nothing had been written from there on."""
        s.end = at
        s.kind = each(lambda o: when(o < at, s.kind[o], Kind.NOTHING))
        s.part = each(lambda t, o: s.part[t, o] & (o < at))
        s.indexed = each(lambda t: s.indexed[t] & (s.last[t] < at))
        s.phase = each(
            lambda t: when(
                at <= s.first[t], Phase.NONE, when(s.has_ended(t) & (at <= s.last[t]), Phase.OPEN, s.phase[t])
            )
        )
        s.first = each(lambda t: when(s.first[t] < at, s.first[t], 0))
        s.last = each(lambda t: when(s.last[t] < at, s.last[t], 0))

    def unreplicated(s, t):
        return s.has_ended(t) & (s.high <= s.last[t])

    def unstable(s, t):
        return s.is_open(t) | s.unreplicated(t)

    def within(s, n):
        """Return whether this offset is at most the last stable one."""
        return (n <= s.high) & forall(Txn, lambda t: implies(s.unstable(t), n <= s.first[t]))

    def within_open(s, n, most):
        """Return whether this offset is at most the last stable one, where only open transactions count."""
        return (n <= most) & forall(Txn, lambda t: implies(s.is_open(t), n <= s.first[t]))

    @action
    def see_all(s, r: Reader):
        """A reader that has not begun chooses to read uncommitted."""
        require(s.upto[r] == 0)
        s.sees_all[r] = True

    @action(fair="weak", by="leader", to="r")
    def fetch(s, r: Reader, n: Offset):
        """The leader returns the log from the reader's position up to n, and the transactions aborted in it."""
        require((s.position[r] == s.upto[r]) & (s.upto[r] < n) & (n <= s.end))
        stable = either(
            "txn.17", s.within(n), inclusive=s.within(n - 1), one_short=s.within(n + 1),
            markers_need_no_replication=s.within_open(n, s.high), no_high_watermark=s.within_open(n, s.end),
        )  # fmt: skip
        require(when(s.sees_all[r], n <= s.high, stable))
        position = s.position[r]
        s.upto[r] = n
        s.listed = each(lambda q, t: when(q == r, ~s.sees_all[r] & s.reaches_into(t, position, n), s.listed[q, t]))

    def kind_in_piece(s, r, o):
        return s.kind[o]

    def reaches_into(s, t, start, end):
        """Return whether this aborted transaction is listed with the records from start to end."""
        reaches = (start <= s.last[t]) & (s.first[t] < end)
        begins = (start <= s.first[t]) & (s.first[t] < end)
        ends = (start <= s.last[t]) & (s.last[t] < end)
        return s.indexed[t] & either("txn.17", reaches, only_if_it_begins_there=begins, only_if_it_ends_there=ends)

    @action(fair="weak")
    def take(s, r: Reader):
        """The reader examines its next record, and returns or skips it. An abort marker ends an aborted range."""
        o = s.position[r]
        require(o < s.upto[r])
        p, kind = s.writer[o], s.kind_in_piece(r, o)

        def mine(t):
            return s.listed[r, t] & (s.owner[t] == p)

        aborted = exists(Txn, lambda t: mine(t) & either("txn.17", s.first[t] <= o, wherever_it_begins=True))
        left_out = (kind == Kind.DATA) & either("txn.17", aborted, nothing=False)
        is_data = (kind == Kind.PLAIN) | (kind == Kind.DATA)
        s.returned[r, o] = is_data & ~left_out

        def passed(t):
            head = forall(Txn, lambda u: implies(mine(u), s.first[t] <= s.first[u]))
            return mine(t) & either("txn.17", s.first[t] <= o, whatever_comes_first=head)

        s.listed = each(lambda q, t: s.listed[q, t] & ~((q == r) & (kind == Kind.ABORT) & passed(t)))
        s.position[r] = o + 1


class UncleanReading(ReadCommitted):
    """A replica that lacks records below the high watermark becomes leader (unclean.leader.election.enable)."""

    outside = excused(
        "a reader that was further than the new leader goes on from its end", "unreplicated-tail", "truncation"
    )

    given: Ghost[Set[Reader, Txn]]  # the reader was given a record of the committed transaction

    @action(fair="weak")
    def take(s, r: Reader):
        """The reader examines its next record, and the model records which committed transactions it was given."""
        o, given = s.position[r], s.given
        ReadCommitted.take(s, r)
        s.given = each(lambda q, t: given[q, t] | ((q == r) & s.part[t, o] & (s.phase[t] == Phase.COMMITTED)))

    @fault(budget="fail_overs", danger=("unreplicated-tail", "truncation"))
    def fail_over_unclean(s, n: Offset):
        """The new leader's log ends anywhere, before a record or a marker. A reader that was further learns where it
        diverged (KIP-320)."""
        require(n < s.high)
        s.given = each(lambda r, t: s.given[r, t] & (s.first[t] < n))
        s.cut(n)
        s.high = n
        s.upto = each(lambda r: when(n < s.upto[r], n, s.upto[r]))
        s.position = each(lambda r: when(n < s.position[r], n, s.position[r]))
