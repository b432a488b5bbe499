"""This module states what readers of transactions rely on, and why it holds.

The idea of the proof: transactions of one producer do not overlap, and a fetch reaches only offsets that are decided
and replicated, so a record is left out exactly if its own transaction is in the list that came with it.
"""

from fencepost.model.language import (
    Properties,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    progress,
    promise,
    service,
    step,
    when,
    witness,
)
from fencepost.model.transactions.parts.cleaning import (
    Cleaned,
)
from fencepost.model.transactions.parts.reading import Kind, Offset, Phase, ReadCommitted, Reader, Txn, UncleanReading


class ReadCommittedProperties(Properties, of=ReadCommitted):
    """These properties are promises to readers, then lemmas about the log, about fetched pieces of it, and about lists
    of aborted transactions."""

    def is_committed(s, t):
        return s.phase[t] == Phase.COMMITTED

    def is_aborted(s, t):
        return s.phase[t] == Phase.ABORTED

    def is_stable(s, o):
        """Decide whether this record is below the last stable offset."""
        return (o < s.high) & forall(Txn, lambda t: implies(s.unstable(t), o < s.first[t]))

    @promise(
        rule="txn.P3",
        broken="{r}, which reads committed records only, was given the record at {o}, which is of an open or "
        "aborted transaction, or is none",
    )
    def only_what_was_committed(s):
        """A record that a read_committed reader was given is in the log, now and later, and belongs to no open or
        aborted transaction."""
        return forall(
            Reader, Offset, Txn,
            lambda r, o, t: implies(
                s.returned[r, o] & ~s.sees_all[r],
                ((s.kind[o] == Kind.PLAIN) | (s.kind[o] == Kind.DATA)) & implies(s.part[t, o], s.is_committed(t)),
            ),
        )  # fmt: skip

    @promise(rule="txn.P4", broken="{r} has passed the record at {o}, which counts, and was not given it")
    def all_that_was_committed(s):
        """A reader was given every record that it has passed if the record belongs to a committed transaction or to
        none."""
        return forall(
            Reader, Offset, Txn,
            lambda r, o, t: implies(
                (o < s.position[r]) & ((s.kind[o] == Kind.PLAIN) | (s.part[t, o] & s.is_committed(t))), s.returned[r, o]
            ),
        )  # fmt: skip

    @promise(
        rule="txn.P3",
        broken="the last stable offset has passed the record at {o} of {t}, which may still be decided, or "
        "decided again",
    )
    def stable_is_decided(s):
        """The last stable offset passes no record whose transaction may still be decided, or decided again."""
        return forall(
            Txn, Offset,
            lambda t, o: implies(s.part[t, o] & s.is_stable(o), s.has_ended(t) & (s.last[t] < s.high)),
        )  # fmt: skip

    @step(rule="txn.P10", broken="the last stable offset, which had passed {o}, goes back")
    def never_back(old, new):
        """The last stable offset never goes back, whichever broker leads."""
        return forall(Offset, lambda o: implies(old.is_stable(o), new.is_stable(o)))

    @progress(rule="txn.P10", broken="the last stable offset never passes {o}")
    def stable_in_the_end(s, o: Offset):
        """The last stable offset passes every record that is not lost, given that every open transaction gets its
        marker in the end."""
        return leads_to(o < s.end, s.is_stable(o) | (s.end <= o))

    @service(rule="txn.P4", broken="{r} never passes {o}")
    def read_in_the_end(s, r: Reader, o: Offset):
        """A reader passes every record that is not lost."""
        return leads_to(o < s.end, (o < s.position[r]) | (s.end <= o))

    @witness(of="only_what_was_committed")
    def one_of_two(s):
        """Two transactions were open together; a reader was given the record of the committed one and not that of the
        aborted one."""
        return exists(
            Reader, Offset, Offset, Txn, Txn,
            lambda r, a, b, t, u: ~s.sees_all[r] & s.returned[r, a] & s.part[t, a] & s.part[u, b]
            & s.is_aborted(u) & (b < s.position[r]) & ~s.returned[r, b]
            & (s.first[u] < s.last[t]) & (s.first[t] < s.last[u]),
        )  # fmt: skip

    @witness(of="only_what_was_committed")
    def uncommitted_sees_more(s):
        """A read_uncommitted reader was given a record of a transaction that is open."""
        return exists(Reader, Offset, Txn, lambda r, o, t: s.returned[r, o] & s.part[t, o] & s.is_open(t))

    @witness(of="all_that_was_committed")
    def several_pieces(s):
        """A reader has fetched a second piece, which begins inside of an aborted transaction and ends before its
        marker."""
        return exists(
            Reader, Txn,
            lambda r, t: s.listed[r, t] & (s.first[t] < s.position[r]) & (s.position[r] < s.upto[r])
            & (s.upto[r] <= s.last[t]),
        )  # fmt: skip

    @witness(of="stable_is_decided")
    def waits_for_replication(s):
        """A transaction has ended, and only its marker holds the last stable offset back."""
        return exists(Txn, lambda t: s.unreplicated(t) & (s.first[t] < s.high)) & forall(Txn, lambda t: ~s.is_open(t))

    @witness(of="never_back")
    def open_behind_stable(s):
        """A transaction is open, and the records before it are stable."""
        return exists(Txn, lambda t: s.is_open(t) & s.is_stable(0))

    @lemma
    def high_watermark_in_the_log(s):
        """The high watermark does not pass the end of the log."""
        return s.high <= s.end

    @lemma
    def nothing_past_the_end(s):
        """Every offset before the end of the log has a record, and none past the end has one."""
        return forall(Offset, lambda o: (s.kind[o] == Kind.NOTHING) == (s.end <= o))

    @lemma
    def parts_are_data(s):
        """Each record of a transaction is data of its producer, between its first record and its marker."""
        return forall(
            Txn, Offset,
            lambda t, o: implies(
                s.part[t, o],
                (s.kind[o] == Kind.DATA)
                & (s.writer[o] == s.owner[t])
                & (s.phase[t] != Phase.NONE)
                & (s.first[t] <= o)
                & (s.is_open(t) | (o < s.last[t])),
            ),
        )  # fmt: skip

    @lemma
    def part_of_one(s):
        """A record belongs to one transaction at most."""
        return forall(Txn, Txn, Offset, lambda t, u, o: implies(s.part[t, o] & s.part[u, o], t == u))

    @lemma
    def transactions_in_the_log(s):
        """A transaction that has begun has its first record in the log, and one that has ended its marker."""
        return forall(
            Txn,
            lambda t: implies(s.phase[t] != Phase.NONE, s.part[t, s.first[t]] & (s.first[t] < s.end))
            & implies(s.has_ended(t), (s.first[t] < s.last[t]) & (s.last[t] < s.end)),
        )  # fmt: skip

    def marker(s, t):
        return when(s.is_committed(t), Kind.COMMIT, Kind.ABORT)

    @lemma
    def markers_say_so(s):
        """A transaction ended with the outcome of its marker, which is a marker of its producer."""
        return forall(
            Txn, Offset,
            lambda t, o: implies(
                s.has_ended(t) & (s.last[t] == o),
                (s.writer[o] == s.owner[t]) & (s.kind[o] == s.marker(t)),
            ),
        )  # fmt: skip

    @lemma
    def one_after_the_other(s):
        """A record that a producer wrote after it had begun a transaction belongs to that transaction, is its marker,
        or comes after it."""
        return forall(
            Txn, Offset,
            lambda t, o: implies(
                (s.phase[t] != Phase.NONE)
                & (s.first[t] <= o)
                & (o < s.end)
                & (s.writer[o] == s.owner[t])
                & (s.is_open(t) | (o < s.last[t])),
                s.part[t, o],
            ),
        )  # fmt: skip

    @lemma
    def one_transaction_at_a_time(s):
        """A producer ends a transaction before it begins another one."""
        return forall(
            Txn, Txn,
            lambda t, u: implies(
                (s.phase[t] != Phase.NONE) & (s.phase[u] != Phase.NONE) & (s.owner[t] == s.owner[u])
                & (s.first[t] < s.first[u]),
                s.has_ended(t) & (s.last[t] < s.first[u]),
            ),
        )  # fmt: skip

    @lemma
    def indexed_is_aborted(s):
        """The index of aborted transactions has all aborted transactions and no others."""
        return forall(Txn, lambda t: s.indexed[t] == s.is_aborted(t))

    @lemma
    def pieces_are_stable(s):
        """A piece that a reader fetched lies below the high watermark, and for read_committed below every transaction
        that is not settled."""
        return forall(Reader, lambda r: (s.position[r] <= s.upto[r]) & (s.upto[r] <= s.high)) & forall(
            Reader, Txn, lambda r, t: implies(~s.sees_all[r] & s.unstable(t), s.upto[r] <= s.first[t])
        )

    @lemma
    def lists_are_right(s):
        """The list with a piece has the aborted transactions that reach into the rest of the piece; for
        read_uncommitted it is empty."""
        return forall(
            Reader, Txn,
            lambda r, t: s.listed[r, t]
            == (~s.sees_all[r] & s.is_aborted(t) & (s.position[r] <= s.last[t]) & (s.first[t] < s.upto[r])),
        )  # fmt: skip

    @lemma
    def returned_is_passed(s):
        """A reader was given only records that it has passed."""
        return forall(Reader, Offset, lambda r, o: implies(s.returned[r, o], o < s.position[r]))

    @lemma
    def everything_to_those_who_want_it(s):
        """A read_uncommitted reader was given every record that it passed."""
        return forall(
            Reader, Offset,
            lambda r, o: implies(s.sees_all[r] & (o < s.position[r]) & (s.kind[o] == Kind.DATA), s.returned[r, o]),
        )  # fmt: skip


class UncleanReadingPromises(ReadCommittedProperties, of=UncleanReading):
    """These are the promises to readers where the log loses records that readers were given, or only the fact that they
    were committed."""

    @promise(rule="txn.P3", broken="{r} was given a record of {t}, which is aborted")
    def given_is_not_aborted(s):
        """No transaction is aborted after a read_committed reader was given a record of it."""
        return forall(Reader, Txn, lambda r, t: ~(s.given[r, t] & ~s.sees_all[r] & s.is_aborted(t)))

    @witness(of="given_is_not_aborted")
    def given_and_open(s):
        """A read_committed reader was given a record of a transaction that is open again."""
        return exists(Reader, Txn, lambda r, t: s.given[r, t] & ~s.sees_all[r] & s.is_open(t))


# These are the promises to readers that hold where the log is cleaned, and why.
#
# The idea of the proof: while a record of a transaction is left, its marker is left too, and its entry in the index;
# and a record in a piece was left when the list that came with the piece was made.


class CleanedPromises(ReadCommittedProperties, of=Cleaned):
    """These are the promises to readers of a log that is cleaned."""

    @promise(
        rule="txn.P4",
        broken="{r} has passed the record at {o}, which counts and was not replaced or deleted, and was not given it",
    )
    def all_that_was_committed(s):
        """A reader was given every record that it has passed of a committed transaction or outside of transactions,
        except for those that a later record had replaced, or that were deleted."""
        return forall(
            Reader, Offset, Txn,
            lambda r, o, t: implies(
                (o < s.position[r]) & ((s.kind[o] == Kind.PLAIN) | (s.part[t, o] & s.is_committed(t))),
                s.returned[r, o] | s.released[o],
            ),
        )  # fmt: skip

    @promise(
        rule="txn.P9",
        broken="a broker that reads the log again takes {t} for open, though it has passed the end of it",
    )
    def ended_is_known_again(s):
        """A broker that reads the log again takes no transaction for open if it has passed the end of it."""
        return forall(Txn, lambda t: implies(s.open_again[t], s.is_open(t) | (s.replayed <= s.last[t])))

    @promise(
        rule="txn.P9",
        broken="a broker that reads the log again does not take {t} for open, which is, or may be, and has a "
        "record at {o}",
    )
    def open_is_known_again(s):
        """A broker that reads the log again takes every transaction for open that is or may be open and has a record
        left."""
        return forall(
            Txn,
            Offset,
            lambda t, o: implies(s.part[t, o] & ~s.gone[o] & (o < s.replayed), s.open_again[t] | ~s.unstable(t)),
        )

    @witness(of="ended_is_known_again")
    def waits_for_its_marker(s):
        """A broker takes a transaction for open that was aborted and whose records have all been removed since."""
        return exists(Txn, lambda t: s.open_again[t] & s.is_aborted(t) & s.nothing_left(t) & (s.first[t] < s.replayed))

    @witness(of="open_is_known_again")
    def open_after_cleaning(s):
        """A broker knows of an open transaction, behind a record that was removed."""
        return exists(Txn, Offset, lambda t, o: s.open_again[t] & s.is_open(t) & s.gone[o] & (o < s.first[t]))

    @witness(of="only_what_was_committed")
    def removed_from_the_log_only(s):
        """A record of an aborted transaction is in a piece that a reader fetched, but no longer in the log."""
        return exists(
            Reader, Txn, Offset,
            lambda r, t, o: s.kept[r, o] & s.gone[o] & s.part[t, o] & s.is_aborted(t) & (s.position[r] <= o)
            & (o < s.upto[r]),
        )  # fmt: skip


class CleanedProperties(CleanedPromises, of=Cleaned):
    """These lemmas are about what cleaning leaves of a log."""

    @lemma
    def indexed_is_aborted(s):
        """The index has only aborted transactions, and all of those that have a record left."""
        return forall(Txn, lambda t: implies(s.indexed[t], s.is_aborted(t))) & forall(
            Txn, Offset, lambda t, o: implies(s.is_aborted(t) & s.part[t, o] & ~s.gone[o], s.indexed[t])
        )

    @lemma
    def markers_stay(s):
        """The marker of an ended transaction stays as long as a record of it is left, it has an entry in the index, or
        a broker takes it for open."""
        return forall(
            Txn, Offset,
            lambda t, o: implies(
                s.has_ended(t) & ((s.part[t, o] & ~s.gone[o]) | s.indexed[t] | s.open_again[t]), ~s.gone[s.last[t]]
            ),
        )  # fmt: skip

    @lemma
    def only_the_replicated_is_removed(s):
        """Only records that were replicated are removed."""
        return forall(Offset, lambda o: implies(s.gone[o] | s.released[o], o < s.high))

    @lemma
    def only_the_aborted_is_not_released(s):
        """A record that is removed and not released is a marker, or belongs to a transaction that was aborted
        for good."""
        return forall(
            Offset, lambda o: implies(s.gone[o] & ~s.released[o], s.kind[o] != Kind.PLAIN)
        ) & forall(
            Txn, Offset,
            lambda t, o: implies(s.part[t, o] & s.gone[o] & ~s.released[o], s.is_aborted(t) & ~s.unstable(t)),
        )  # fmt: skip

    @lemma
    def lists_are_right(s):
        """The list has only aborted transactions that reach into the rest of a piece; for every record of an aborted
        transaction in the piece it has that transaction and its marker."""
        return forall(
            Reader, Txn,
            lambda r, t: implies(
                s.listed[r, t],
                ~s.sees_all[r] & s.is_aborted(t) & (s.position[r] <= s.last[t]) & (s.first[t] < s.upto[r])
                & s.kept[r, s.last[t]],
            ),
        ) & forall(
            Reader, Txn, Offset,
            lambda r, t, o: implies(
                ~s.sees_all[r] & s.is_aborted(t) & s.part[t, o] & s.kept[r, o] & (s.position[r] <= o)
                & (o < s.upto[r]),
                s.listed[r, t],
            ),
        )  # fmt: skip

    @lemma
    def pieces_have_what_is_left(s):
        """A record that is missing from a fetched piece is no longer in the log."""
        return forall(
            Reader, Offset, lambda r, o: implies((s.position[r] <= o) & (o < s.upto[r]) & ~s.kept[r, o], s.gone[o])
        )

    @lemma
    def everything_to_those_who_want_it(s):
        """A read_uncommitted reader was given every record that it passed and that was left by cleaning."""
        return forall(
            Reader, Offset,
            lambda r, o: implies(
                s.sees_all[r] & (o < s.position[r]) & (s.kind[o] == Kind.DATA), s.returned[r, o] | s.gone[o]
            ),
        )  # fmt: skip

    @lemma
    def replays_what_is_replicated(s):
        """A broker that reads the log again reads replicated records only, and knows of no transaction whose first
        record it has not reached."""
        return (s.replayed <= s.high) & forall(Txn, lambda t: implies(s.open_again[t], s.is_begun_before(t)))

    def is_begun_before(s, t):
        return (s.is_open(t) | s.has_ended(t)) & (s.first[t] < s.replayed)
