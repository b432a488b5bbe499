"""This module states what a transaction log promises to the coordinator that reads it, and why.

The idea of the proof: the last record of an id agrees with memory, however far memory has read, except for a transition
that is pending or was given up.
"""

from fencepost.model.language import (
    Properties,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    promise,
    service,
    when,
    witness,
)
from fencepost.model.transactions.parts.metadata import Metadata, Partition, Stage
from fencepost.model.transactions.parts.metadata import Phase as MetadataPhase
from fencepost.model.transactions.parts.metadata_timed_out import MetadataTimedOut
from fencepost.model.transactions.parts.recovery import Id, Phase, Position, TransactionLog


class TransactionLogProperties(Properties, of=TransactionLog):
    """These properties are promises about reading the log again and about outcomes, then lemmas about last records,
    memory and outcomes."""

    def says_the_same(s, o, t):
        return (s.phase[t] == s.known_as(s.says[o])) & (s.epoch[t] == s.epoch_of(s.says[o], s.number[o]))

    def is_certain(s, t):
        """Decide whether the id has no pending transition and no open outcome."""
        return (s.pending[t] == Phase.UNKNOWN) & ~s.doubtful[t]

    @promise(
        rule="txn.P9",
        broken="a coordinator that has read the log knows an id otherwise than by its last record, or one "
        "that has none",
    )
    def memory_is_what_the_log_says(s):
        """A coordinator that has read the log, or what compaction left of it, knows each id by its last record, and no
        other ids. That is what its predecessor knew, except for transitions that were pending there, or were given up
        with an open outcome."""
        return forall(
            Id, Position,
            lambda t, o: implies(
                s.is_loaded() & s.is_certain(t) & s.newest[o] & (s.id[o] == t), s.says_the_same(o, t)
            ),
        ) & forall(Id, lambda t: implies(~s.recorded[t], s.phase[t] == Phase.UNKNOWN))  # fmt: skip

    @promise(rule="txn.P5", broken="{t} is committed to its owner or one partition and aborted to another")
    def one_outcome(s):
        """No transaction is committed to its owner or one partition and aborted to another."""
        return forall(Id, lambda t: ~(s.was_commit[t] & s.was_abort[t]))

    @service(rule="txn.P10", broken="a partition of {t} never gets its marker")
    def ended_in_the_end(s, t: Id):
        """Every partition with an open transaction gets its markers in the end."""
        return leads_to(s.owed[t], ~s.owed[t])

    @witness(of="memory_is_what_the_log_says")
    def read_without_what_was_replaced(s):
        """A coordinator has taken over and read a prepared transaction, and an older record of the transaction
        is gone."""
        return s.is_loaded() & exists(
            Position, Position,
            lambda x, y: (x < y) & (s.id[x] == s.id[y]) & (y < s.end) & ~s.kept[x] & s.newest[y]
            & s.is_prepared(s.says[y]) & s.queued[s.id[y]],
        )  # fmt: skip

    @witness(of="memory_is_what_the_log_says")
    def in_the_log_unknown_to_memory(s):
        """An append was given up although its record is in the log, so that memory and log differ."""
        return exists(
            Position, lambda o: s.newest[o] & s.doubtful[s.id[o]] & (s.phase[s.id[o]] != s.known_as(s.says[o]))
        )

    @witness(of="one_outcome")
    def both_prepared(s):
        """A commit that was given up is in the log, and the same transaction was aborted after it."""
        return exists(
            Position, Position,
            lambda x, y: (x < y) & (s.id[x] == s.id[y]) & (s.says[x] == Phase.PREPARE_COMMIT)
            & (s.says[y] == Phase.PREPARE_ABORT) & (s.number[x] == s.number[y]) & s.was_abort[s.id[x]],
        )  # fmt: skip

    @lemma
    def cursor_in_the_log(s):
        """A coordinator reads no further than to the end of the transaction log."""
        return s.cursor <= s.end

    @lemma
    def nothing_past_the_end(s):
        """No record of the transaction log stands past its end."""
        return forall(
            Position,
            lambda o: (
                implies(s.end <= o, ~s.newest[o] & ~s.kept[o])
                & implies(o < s.end, (s.says[o] != Phase.UNKNOWN) & s.recorded[s.id[o]])
            ),
        )

    @lemma
    def newest_is_the_last(s):
        """No record of an id stands after its last one."""
        return forall(
            Position, Position,
            lambda x, y: implies(s.newest[x] & (y < s.end) & (s.id[x] == s.id[y]), y <= x),
        )  # fmt: skip

    @lemma
    def newest_is_kept(s):
        """Compaction leaves the last record of an id, unless it is a tombstone and no older record of the id
        is left."""
        return forall(Position, lambda x: implies(s.newest[x] & ~s.kept[x], s.says[x] == Phase.DEAD)) & forall(
            Position, Position,
            lambda x, y: implies(s.newest[x] & ~s.kept[x] & (s.id[x] == s.id[y]), ~s.kept[y]),
        )  # fmt: skip

    @lemma
    def what_was_read_is_known(s):
        """If the last record of an id was read, memory agrees with it, unless it was given up or is not acknowledged
        yet."""
        return forall(
            Position, Id,
            lambda o, t: implies(
                s.newest[o] & (s.id[o] == t) & (o < s.cursor) & ~s.doubtful[t] & ~s.appended[t], s.says_the_same(o, t)
            ),
        )  # fmt: skip

    @lemma
    def removed_is_unknown(s):
        """An id that has no record left after compaction is unknown to a coordinator that reads the log."""
        return forall(
            Position, Id,
            lambda o, t: implies(
                s.newest[o] & ~s.kept[o] & (s.id[o] == t) & ~s.doubtful[t] & ~s.appended[t],
                (s.phase[t] == Phase.UNKNOWN) & (s.epoch[t] == 0),
            ),
        )  # fmt: skip

    @lemma
    def appended_is_pending(s):
        """An appended transition is pending, and its record is the last of its id."""
        return forall(Id, lambda t: implies(s.appended[t], (s.pending[t] != Phase.UNKNOWN) & s.recorded[t])) & forall(
            Position, Id,
            lambda o, t: implies(
                s.appended[t] & s.newest[o] & (s.id[o] == t),
                (s.says[o] == s.pending[t]) & (s.number[o] == s.pending_epoch[t]),
            ),
        )  # fmt: skip

    @lemma
    def only_the_active_one_changes(s):
        """No transition is pending, given up or appended before the coordinator has read the log."""
        return s.is_loaded() | forall(Id, lambda t: (s.pending[t] == Phase.UNKNOWN) & ~s.doubtful[t] & ~s.appended[t])

    @lemma
    def unrecorded_is_unknown(s):
        """An id without a record is unknown, and has no outcome."""
        return forall(
            Id,
            lambda t: implies(
                ~s.recorded[t],
                (s.phase[t] == Phase.UNKNOWN) & (s.epoch[t] == 0) & ~s.was_commit[t] & ~s.was_abort[t],
            ),
        )

    @lemma
    def recorded_has_a_last_record(s):
        """One of the records of each recorded id is its last."""
        return forall(Id, lambda t: implies(s.recorded[t], exists(Position, lambda o: s.newest[o] & (s.id[o] == t))))

    @lemma
    def transitions_are_the_known_ones(s):
        """Only an open transaction can be prepared, only a prepared one completed, and the other transitions are for
        idle ids."""
        return forall(
            Id,
            lambda t: implies(s.is_prepared(s.pending[t]), s.phase[t] == Phase.ONGOING)
            & implies(s.pending[t] == Phase.COMPLETE, s.is_prepared(s.phase[t]))
            & implies(
                s.is_idle_target(s.pending[t]), s.is_idle(s.phase[t]) | (s.phase[t] == Phase.UNKNOWN)
            ),
        )  # fmt: skip

    def is_idle_target(s, phase):
        return (phase == Phase.EMPTY) | (phase == Phase.ONGOING) | (phase == Phase.DEAD)

    @lemma
    def queued_is_prepared(s):
        """Markers are queued only for prepared transactions that have no other transition pending."""
        return forall(Id, lambda t: implies(s.queued[t], s.is_prepared(s.phase[t]) & (s.pending[t] == Phase.UNKNOWN)))

    @lemma
    def prepared_is_final(s):
        """If memory has a transaction prepared, its last record is the same Prepare record, or a Complete record."""
        return forall(
            Position, Id,
            lambda o, t: implies(
                s.newest[o] & (s.id[o] == t) & (o < s.cursor) & s.is_prepared(s.phase[t]),
                (s.says[o] == s.phase[t]) | (s.says[o] == Phase.COMPLETE),
            ),
        )  # fmt: skip

    @lemma
    def memory_keeps_to_the_outcome(s):
        """A coordinator that has read the log has no transaction open that was ended, and none ended in another way
        than it was."""
        return implies(
            s.is_loaded(), forall(Id, lambda t: s.fits(s.phase[t], t) & implies(s.appended[t], s.fits(s.pending[t], t)))
        )

    def fits(s, phase, t):
        return (
            implies(phase == Phase.ONGOING, ~s.was_commit[t] & ~s.was_abort[t])
            & implies(phase == Phase.PREPARE_COMMIT, ~s.was_abort[t])
            & implies(phase == Phase.PREPARE_ABORT, ~s.was_commit[t])
        )

    @lemma
    def the_log_keeps_to_the_outcome(s):
        """The last record of an id has no transaction open that was ended, and none ended in another way than
        it was."""
        return forall(Position, lambda o: implies(s.newest[o], s.fits(s.says[o], s.id[o])))


# A coordinator's successor must find this in the log (txn.P9), and a producer that is alone notices where it does not
# (txn.P8).


class MetadataInTheLog(Properties, of=Metadata):
    """These are the promises about the metadata of one transactional id and the transaction log."""

    @promise(rule="txn.P9", broken="the metadata is not what a coordinator that takes over would read from the log")
    def all_of_it_is_in_the_log(s):
        """Phase, producer id and epoch, the epoch before, the ids before and after, partitions and time-out are at any
        moment what a coordinator that takes over would read from the log. While a record is written and not durable
        yet, that coordinator would read the metadata after the transition."""
        return s.is_in_the_log()

    def is_in_the_log(s):
        return when(s.stage == Stage.WRITTEN, s.pending_says_the_same(), s.says_the_same())

    def says_the_same(s):
        return (
            (s.phase == s.log_phase)
            & (s.id == s.log_id)
            & (s.epoch == s.log_epoch)
            & (s.last_epoch == s.log_last_epoch)
            & (s.previous_id == s.log_previous_id)
            & (s.next_id == s.log_next_id)
            & (s.timeout == s.log_timeout)
            & forall(Partition, lambda p: s.parts[p] == s.log_parts[p])
        )

    def pending_says_the_same(s):
        return (
            (s.to_phase == s.log_phase)
            & (s.to_id == s.log_id)
            & (s.to_epoch == s.log_epoch)
            & (s.to_last_epoch == s.log_last_epoch)
            & (s.to_previous_id == s.log_previous_id)
            & (s.to_next_id == s.log_next_id)
            & (s.to_timeout == s.log_timeout)
            & forall(Partition, lambda p: s.to_parts[p] == s.log_parts[p])
        )

    @promise(rule="txn.P9", broken="a transition of an open transaction drops {p}, which would get no marker")
    def none_is_forgotten(s):
        """After each transition of an open transaction the metadata still has every partition that it had; a partition
        that is missing would get no marker."""
        goes_on = (s.stage != Stage.NOTHING) & (s.phase == MetadataPhase.ONGOING) & (s.to_phase != MetadataPhase.EMPTY)
        return implies(goes_on, forall(Partition, lambda p: implies(s.parts[p], s.to_parts[p])))

    @witness(of="none_is_forgotten")
    def another_partition(s):
        """A partition is added to a transaction that already has one."""
        return (
            (s.stage != Stage.NOTHING)
            & (s.phase == MetadataPhase.ONGOING)
            & (s.to_phase == MetadataPhase.ONGOING)
            & exists(Partition, lambda p: s.parts[p])
            & exists(Partition, lambda p: s.to_parts[p] & ~s.parts[p])
        )

    @witness(of="all_of_it_is_in_the_log")
    def all_fields(s):
        """A transaction is prepared at the last epoch, with a partition, and the next producer id is allocated."""
        return (
            (s.phase == MetadataPhase.PREPARE_COMMIT) & (s.next_id != 0) & (s.last_epoch != 0) & (s.previous_id != 0)
            & (s.timeout != 0) & exists(Partition, lambda p: s.parts[p])
        )  # fmt: skip


class MetadataPromises(MetadataInTheLog, of=Metadata):
    """These are the promises about the metadata of one transactional id, and about its producer."""

    @promise(rule="txn.P8", broken="a producer that is alone and in time is refused for repeating its own request")
    def retries_are_answered(s):
        """A producer that is alone and in time is never refused for repeating its own request. The property fails at
        the end of a producer id's epochs, even where all metadata is in the log (see
        `retries_are_answered_before_the_end`)."""
        return implies(s.refused, s.too_slow)

    @promise(
        rule="txn.P8",
        broken="a producer's retry is refused, and no answer with a last or first epoch of a producer id was lost",
    )
    def retries_are_answered_before_the_end(s):
        """A producer's retry is answered, as long as no answer to InitProducerId is lost that has the last epoch of a
        producer id, or the first one of the next."""
        return implies(s.refused, s.too_slow | s.lost_at_the_end)

    @promise(rule="txn.P7", broken="a producer is given the epoch that only markers carry")
    def no_reserved_epoch(s):
        """No producer is given the epoch that only markers carry."""
        return ~s.reserved

    @witness(of="retries_are_answered")
    def asked_again(s):
        """A producer repeats an EndTxn that was done, and whose answer was lost."""
        return s.asks_to_end() & s.is_idle() & s.is_ended_before()

    @witness(of="retries_are_answered_before_the_end")
    def named_again(s):
        """A producer repeats an InitProducerId that was answered."""
        return s.asks_for_epoch() & s.is_idle() & s.is_answered_before()

    @witness(of="no_reserved_epoch")
    def second_id(s):
        """The producer goes on with another producer id."""
        return s.own_id >= 2


class MetadataInDoubt(MetadataInTheLog, of=MetadataTimedOut):
    """These are the promises about the metadata where appends time out; `all_of_it_is_in_the_log` fails there."""

    @promise(
        rule="txn.P9",
        broken="no append timed out last, and the metadata is not what a coordinator that takes over would "
        "read from the log",
    )
    def all_that_is_certain_is_in_the_log(s):
        """Unless the last append timed out, the metadata in memory is what a coordinator that takes over would read
        from the log. After a time-out such a coordinator may know of one transition more than memory does."""
        return implies(~s.in_doubt, s.is_in_the_log())

    @witness(of="all_that_is_certain_is_in_the_log")
    def prepared_in_doubt(s):
        """The log has a commit that memory does not have, so that a coordinator that takes over commits a transaction
        which is open in this one."""
        return (s.log_phase == MetadataPhase.PREPARE_COMMIT) & (s.phase == MetadataPhase.ONGOING)
