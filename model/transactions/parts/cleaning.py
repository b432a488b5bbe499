"""In this model the log cleaner works on the partition: aborted and replaced records are removed, and eventually their
markers.

The cleaner works below the last stable offset. It removes the records of aborted transactions, by the index of those,
and records that a later one has replaced. It removes a marker only when nothing of its transaction is left, and not
before its delete horizon (delete.retention.ms), so that a reader of the transaction's records also reads how it ended.
The entry in the index is removed with an abort marker. DeleteRecords and retention remove whatever lies at the
beginning of the log.

A piece that a reader has fetched is a copy, from which nothing is removed. A broker that reads the log again, or a
replica that lags, rebuilds what it knows of open transactions from what is left.
"""

from fencepost.model.language import Ghost, Set, action, each, excused, fault, forall, implies, require, when
from fencepost.model.transactions.parts.reading import Kind, Offset, Phase, ReadCommitted, Reader, Txn


class Cleaned(ReadCommitted):
    """In the `Cleaned` model the cleaner removes records and markers in the order in which Kafka does."""

    outside = excused(
        "no replica or reader of the log lags behind by more than delete.retention.ms; the variant without-horizon "
        "takes that away",
        "cleaning",
    )

    gone: Set[Offset]  # no longer in the log
    kept: Set[Reader, Offset]  # in the piece that a reader has
    replayed: Offset  # how far a broker has read the log again
    open_again: Set[Txn]  # the transactions that this broker takes for open

    released: Ghost[Set[Offset]]  # replaced by a later record, or deleted: no reader is owed it any more

    def is_stable(s, o):
        return (o < s.high) & forall(Txn, lambda t: implies(s.unstable(t), o < s.first[t]))

    def holds(s, t, o):
        """Return whether this offset is within the transaction and belongs to its producer."""
        within = (s.phase[t] != Phase.NONE) & (s.first[t] <= o) & (s.is_open(t) | (o < s.last[t]))
        return within & (s.owner[t] == s.writer[o]) & (s.kind[o] == Kind.DATA)

    def kind_in_piece(s, r, o):
        return when(s.kept[r, o], s.kind[o], Kind.NOTHING)

    @action(fair="weak")
    def fetch(s, r: Reader, n: Offset):
        """The leader answers a fetch with what is left of the log from the reader's position up to n, and the
        transactions that were aborted in it."""
        ReadCommitted.fetch(s, r, n)
        s.kept = each(lambda q, o: when(q == r, ~s.gone[o], s.kept[q, o]))

    # The cleaner

    @fault(budget="cleanings", danger="cleaning", by="cleaner")
    def clean_aborted(s, o: Offset, t: Txn):
        """The cleaner removes a record of a transaction that the index lists as aborted."""
        require(s.is_stable(o) & ~s.gone[o] & s.indexed[t] & s.holds(t, o))
        s.gone[o] = True

    @fault(budget="cleanings", danger="cleaning", by="cleaner")
    def clean_replaced(s, o: Offset):
        """The cleaner removes a record that a later one of the same key has replaced."""
        require(s.is_stable(o) & ~s.gone[o] & ((s.kind[o] == Kind.PLAIN) | (s.kind[o] == Kind.DATA)))
        require(forall(Txn, lambda t: ~(s.indexed[t] & s.holds(t, o))))
        s.gone[o] = True
        s.released[o] = True

    @fault(budget="cleanings", danger="cleaning", by="cleaner")
    def clean_marker(s, t: Txn):
        """The cleaner removes the marker of a transaction that is gone, and that no broker still takes for open."""
        require(s.has_ended(t) & s.is_stable(s.last[t]) & ~s.gone[s.last[t]])
        require(s.nothing_left(t))
        require(s.is_past_its_horizon(t))
        s.gone[s.last[t]] = True
        s.indexed[t] = False

    def nothing_left(s, t):
        return forall(Offset, lambda o: implies(s.holds(t, o), s.gone[o]))

    def is_past_its_horizon(s, t):
        return ~s.open_again[t]

    @fault(budget="cleanings", danger="cleaning", by="cleaner")
    def clean_empty_marker(s, o: Offset):
        """The cleaner removes the marker of a transaction that wrote nothing in this partition."""
        require(s.is_stable(o) & ~s.gone[o] & (s.kind[o] == Kind.ABORT))
        require(forall(Txn, lambda t: ~(s.has_ended(t) & (s.last[t] == o))))
        s.gone[o] = True

    @fault(budget="deletions", danger="truncation", by="admin", to="leader")
    def delete_records(s, n: Offset):
        """The log begins at n from now on. What is open stays open, and slow brokers and readers start at n."""
        replayed = s.replayed
        require(n <= s.high)
        s.gone = each(lambda o: s.gone[o] | (o < n))
        s.released = each(lambda o: s.released[o] | (o < n))
        s.indexed = each(lambda t: s.indexed[t] & (n <= s.last[t]))
        s.open_again = each(lambda t: s.open_again[t] & (n <= replayed))
        s.replayed = when(n <= replayed, replayed, n)

    # A broker that reads the log again

    @action(fair="weak", by="another broker")
    def replay(s):
        """A broker that replays the log reads its next record: a record opens its transaction, and a marker ends it."""
        o = s.replayed
        require(o < s.high)
        s.open_again = each(
            lambda t: ~(s.has_ended(t) & (s.last[t] == o) & ~s.gone[o])
            & (s.open_again[t] | (s.holds(t, o) & ~s.gone[o]))
        )  # fmt: skip
        s.replayed = o + 1

    @fault(budget="restarts", danger=("leader-restart", "broker-restart"), by="another broker")
    def begin_again(s):
        """A broker starts, and reads the log from its beginning."""
        s.replayed = 0
        s.open_again = each(lambda t: False)


class WithoutHorizon(Cleaned):
    """Markers are removed as soon as nothing is left of their transactions, even if a reader waits for them."""

    def is_past_its_horizon(s, t):
        return s.has_ended(t)


class MarkersTooSoon(Cleaned):
    """The cleaner leaves records of a transaction that began behind its end and removes the transaction's marker; the
    index is written without the transaction (KAFKA-13727)."""

    def nothing_left(s, t):
        return s.has_ended(t)


class MarkersAsRecords(Cleaned):
    """The cleaner takes a marker for a replaced record, and the index still lists its transaction (KAFKA-14055)."""

    @fault(budget="cleanings", danger="cleaning", by="cleaner")
    def clean_marker(s, t: Txn):
        """The cleaner removes a marker, since the bytes of its key are those of a later record."""
        require(s.has_ended(t) & s.is_stable(s.last[t]) & ~s.gone[s.last[t]])
        s.gone[s.last[t]] = True


class EntriesTooSoon(Cleaned):
    """In the `EntriesTooSoon` model the index is written without transactions of which records are left."""

    @fault(budget="cleanings", danger="cleaning", by="cleaner")
    def clean_index(s, t: Txn):
        """The cleaner cleans the segment with the marker, and drops the transaction's entry in the index."""
        require(s.has_ended(t) & s.is_stable(s.last[t]))
        s.indexed[t] = False
