"""What cleaning leaves of the promises to readers, and why it is so.

The idea of the proof: while a record of a transaction is left, its marker is, and its entry in the index; and what is
in a piece was left when the list that came with it was made.
"""

from fencepost.model.language import exists, forall, implies, lemma, promise, witness
from fencepost.model.transactions.parts.cleaning import (
    Cleaned,
    EntriesTooSoon,
    MarkersAsRecords,
    MarkersTooSoon,
    WithoutHorizon,
)
from fencepost.model.transactions.parts.reading import Kind, Offset, Reader, Txn
from fencepost.properties.transactions.claims.parts.reading import ReadCommittedProperties


class CleanedPromises(ReadCommittedProperties, of=Cleaned):
    """The promises, of a log that is cleaned."""

    @promise(rule="txn.P4")
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

    @promise(rule="txn.P9")
    def ended_is_known_again(s):
        """A broker that reads the log again takes no transaction for open whose end it has passed."""
        return forall(Txn, lambda t: implies(s.open_again[t], s.is_open(t) | (s.replayed <= s.last[t])))

    @promise(rule="txn.P9")
    def open_is_known_again(s):
        """A broker that reads the log again takes every transaction for open that is, or may be, and has a record
        left."""
        return forall(
            Txn,
            Offset,
            lambda t, o: implies(s.part[t, o] & ~s.gone[o] & (o < s.replayed), s.open_again[t] | ~s.unstable(t)),
        )

    @witness(of="ended_is_known_again")
    def waits_for_its_marker(s):
        """A broker takes a transaction for open that was aborted, and of which all records have been removed since."""
        return exists(Txn, lambda t: s.open_again[t] & s.is_aborted(t) & s.nothing_left(t) & (s.first[t] < s.replayed))

    @witness(of="open_is_known_again")
    def open_after_cleaning(s):
        """A broker knows of an open transaction, behind a record that was removed."""
        return exists(Txn, Offset, lambda t, o: s.open_again[t] & s.is_open(t) & s.gone[o] & (o < s.first[t]))

    @witness(of="only_what_was_committed")
    def removed_from_the_log_only(s):
        """A record of an aborted transaction is in a reader's piece, and in the log no more."""
        return exists(
            Reader, Txn, Offset,
            lambda r, t, o: s.kept[r, o] & s.gone[o] & s.part[t, o] & s.is_aborted(t) & (s.position[r] <= o)
            & (o < s.upto[r]),
        )  # fmt: skip


class CleanedProperties(CleanedPromises, of=Cleaned):
    """Lemmas about what is left."""

    @lemma
    def indexed_is_aborted(s):
        """The index has nothing but aborted transactions, and all of those of which a record is left."""
        return forall(Txn, lambda t: implies(s.indexed[t], s.is_aborted(t))) & forall(
            Txn, Offset, lambda t, o: implies(s.is_aborted(t) & s.part[t, o] & ~s.gone[o], s.indexed[t])
        )

    @lemma
    def markers_stay(s):
        """Where a record is left of a transaction that has ended, or an entry in the index, or a broker that takes it
        for open, there is its marker."""
        return forall(
            Txn, Offset,
            lambda t, o: implies(
                s.has_ended(t) & ((s.part[t, o] & ~s.gone[o]) | s.indexed[t] | s.open_again[t]), ~s.gone[s.last[t]]
            ),
        )  # fmt: skip

    @lemma
    def only_the_replicated_is_removed(s):
        """What is removed was replicated."""
        return forall(Offset, lambda o: implies(s.gone[o] | s.released[o], o < s.high))

    @lemma
    def only_the_aborted_is_not_released(s):
        """What is removed and not released is a marker, or of a transaction that was aborted for good."""
        return forall(
            Offset, lambda o: implies(s.gone[o] & ~s.released[o], s.kind[o] != Kind.PLAIN)
        ) & forall(
            Txn, Offset,
            lambda t, o: implies(s.part[t, o] & s.gone[o] & ~s.released[o], s.is_aborted(t) & ~s.unstable(t)),
        )  # fmt: skip

    @lemma
    def lists_are_right(s):
        """The list has nothing but what was aborted, and reaches into what is left of a piece, and with every record of
        such a transaction in the piece that transaction, and its marker."""
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
        """What is not in a piece is in the log no more."""
        return forall(
            Reader, Offset, lambda r, o: implies((s.position[r] <= o) & (o < s.upto[r]) & ~s.kept[r, o], s.gone[o])
        )

    @lemma
    def everything_to_those_who_want_it(s):
        """A read_uncommitted reader was given every record that it passed and that was left."""
        return forall(
            Reader, Offset,
            lambda r, o: implies(
                s.sees_all[r] & (o < s.position[r]) & (s.kind[o] == Kind.DATA), s.returned[r, o] | s.gone[o]
            ),
        )  # fmt: skip

    @lemma
    def replays_what_is_replicated(s):
        """A broker reads what is replicated, and knows of no transaction whose first record it has not reached."""
        return (s.replayed <= s.high) & forall(Txn, lambda t: implies(s.open_again[t], s.is_begun_before(t)))

    def is_begun_before(s, t):
        return (s.is_open(t) | s.has_ended(t)) & (s.first[t] < s.replayed)


class WithoutHorizonPromises(CleanedPromises, of=WithoutHorizon):
    """The promises, without a delete horizon."""


class MarkersTooSoonPromises(CleanedPromises, of=MarkersTooSoon):
    """The promises, where a marker goes before its records."""


class MarkersAsRecordsPromises(CleanedPromises, of=MarkersAsRecords):
    """The promises, where a marker is taken for a record."""


class EntriesTooSoonPromises(CleanedPromises, of=EntriesTooSoon):
    """The promises, where the index loses its entry first."""
