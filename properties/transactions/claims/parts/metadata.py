"""What a coordinator's successor must find in the log (txn.P9), and what a producer that is alone notices where it does
not (txn.P8)."""

from fencepost.model.language import Properties, exists, forall, implies, promise, when, witness
from fencepost.model.transactions.parts.metadata import Metadata, Partition, Phase, Stage
from fencepost.model.transactions.parts.metadata_timed_out import MetadataTimedOut


class MetadataInTheLog(Properties, of=Metadata):
    """The promises about the metadata of one transactional id and the transaction log."""

    @promise(rule="txn.P9")
    def all_of_it_is_in_the_log(s):
        """Phase, producer id and epoch, the epoch before, the ids before and after, partitions and time-out are at any
        moment what a coordinator that takes over would read; while a record is written and not durable yet, it would
        read what that transition comes to."""
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

    @promise(rule="txn.P9")
    def none_is_forgotten(s):
        """What a transaction comes to, whether it goes on or ends, has every partition that it had: else that one gets
        no marker."""
        goes_on = (s.stage != Stage.NOTHING) & (s.phase == Phase.ONGOING) & (s.to_phase != Phase.EMPTY)
        return implies(goes_on, forall(Partition, lambda p: implies(s.parts[p], s.to_parts[p])))

    @witness(of="none_is_forgotten")
    def another_partition(s):
        """A partition is added to a transaction that has one."""
        return (
            (s.stage != Stage.NOTHING)
            & (s.phase == Phase.ONGOING)
            & (s.to_phase == Phase.ONGOING)
            & exists(Partition, lambda p: s.parts[p])
            & exists(Partition, lambda p: s.to_parts[p] & ~s.parts[p])
        )

    @witness(of="all_of_it_is_in_the_log")
    def all_fields(s):
        """A transaction is prepared at the last epoch, with a partition, and the next producer id is allocated."""
        return (
            (s.phase == Phase.PREPARE_COMMIT) & (s.next_id != 0) & (s.last_epoch != 0) & (s.previous_id != 0)
            & (s.timeout != 0) & exists(Partition, lambda p: s.parts[p])
        )  # fmt: skip


class MetadataPromises(MetadataInTheLog, of=Metadata):
    """The promises about the metadata of one transactional id, and about its producer."""

    @promise(rule="txn.P8")
    def retries_are_answered(s):
        """A producer that is alone and in time is never refused for repeating its own request.  It fails, also where
        all is in the log: at the end of a producer id's epochs (see `retries_are_answered_before_the_end`)."""
        return implies(s.refused, s.too_slow)

    @promise(rule="txn.P8")
    def retries_are_answered_before_the_end(s):
        """A producer's retry is answered, as long as no answer to InitProducerId is lost that has the last epoch of a
        producer id, or the first one of the next."""
        return implies(s.refused, s.too_slow | s.lost_at_the_end)

    @promise(rule="txn.P7")
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
        """The producer goes on with another id."""
        return s.own_id >= 2


class MetadataInDoubt(MetadataInTheLog, of=MetadataTimedOut):
    """The promises about the metadata where appends time out: `all_of_it_is_in_the_log` fails there."""

    @promise(rule="txn.P9")
    def all_that_is_certain_is_in_the_log(s):
        """The same, unless the last append timed out: then a coordinator that takes over may know of one transition
        more than memory does."""
        return implies(~s.in_doubt, s.is_in_the_log())

    @witness(of="all_that_is_certain_is_in_the_log")
    def prepared_in_doubt(s):
        """The log has a commit that memory has not: a coordinator that takes over commits what this one has open."""
        return (s.log_phase == Phase.PREPARE_COMMIT) & (s.phase == Phase.ONGOING)


class MetadataInDoubtPromises(MetadataPromises, MetadataInDoubt, of=MetadataTimedOut):
    """The promises about metadata and producer where appends time out; an answer that is never sent counts as lost."""
