"""These coordinators and partitions answer one request wrongly in one state of its owner, or let a refused request have
an effect. A table lists them.

Each is a factory like `reference`, by its name in this module.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fencepost.reference_impl.defects import transactions_coordinator, transactions_partitions
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.log import OffsetsLog, PartitionLog, ProducerEntry
from fencepost.reference_impl.kafka.messages import (
    AddPartitionsToTxnRequest,
    Batch,
    EndTxnRequest,
    FetchResponse,
    InitProducerIdRequest,
    ProduceRequest,
)
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator, Done
from fencepost.reference_impl.kafka.transaction_states import IDLE, TransactionMetadata, TransactionState, Transit
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.systems.transactions import Parts, System, build


class ZombieIsGivenThePair(Coordinator):
    """The coordinator answers InitProducerId with an old pair by the next pair."""

    def holds_current_pair(self, now: Transit, request: InitProducerIdRequest) -> bool:
        return True


class RefusedInitFences(Coordinator):
    """The coordinator refuses InitProducerId with an old pair, and bumps the epoch all the same."""

    def renew(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        if self.next_pair(metadata.now, request) is None:
            metadata.now = metadata.now._replace(producer_epoch=metadata.now.producer_epoch + 1)
            self.answer_init(message, ErrorCode.PRODUCER_FENCED)
        else:
            super().renew(message, metadata, request)


class RefusedEndAborts(Coordinator):
    """The coordinator refuses EndTxn of a fenced producer, and aborts the open transaction."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        result = super().end_result(metadata, request)
        if result == ErrorCode.PRODUCER_FENCED and metadata.now.state == TransactionState.ONGOING:
            self.end(metadata, False, lambda *_: None)
        return result


class RefusedAddStaysPending(Coordinator):
    """The coordinator refuses a fenced producer's partition, and leaves the id waiting for it."""

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        error = super().add_refused(metadata, request)
        if error == ErrorCode.PRODUCER_FENCED:
            metadata.pending_state = TransactionState.ONGOING
        return error


class EmptyEndRefused(Coordinator):
    """The coordinator refuses an abort of a transaction that it does not know, which v2 does not."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        idle = metadata.now.state in IDLE and not self.is_end_retry(metadata.now, request)
        return ErrorCode.INVALID_TXN_STATE if idle else super().end_result(metadata, request)


class EmptyEndKeepsEpoch(Coordinator):
    """The coordinator answers an abort of a transaction that it does not know without a bump."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        idle = metadata.now.state in IDLE and not request.committed
        exact = not self.exact_pair_error(metadata, request.producer_id, request.producer_epoch)
        return ErrorCode.NONE if idle and exact else super().end_result(metadata, request)


class EndRetryIsFenced(Coordinator):
    """The coordinator does not recognise a repeated EndTxn."""

    def is_end_retry(self, now: Transit, request: EndTxnRequest) -> bool:
        return False


class AddRetryIsRefused(Coordinator):
    """The coordinator refuses to add a partition that the transaction already has."""

    def add(self, request: AddPartitionsToTxnRequest, answer: Done) -> None:
        metadata = self.find(request.transactional_id)
        if metadata is not None and request.partition in metadata.now.topic_partitions:
            answer(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        else:
            super().add(request, answer)


class FirstAddIsRefused(Coordinator):
    """The coordinator refuses the first partition of a transaction."""

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        again = metadata.now.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
        return ErrorCode.PRODUCER_FENCED if again else super().add_refused(metadata, request)


class EndOfTheCurrentIsFenced(Coordinator):
    """The coordinator refuses the current owner's commit of several partitions."""

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        several = len(metadata.now.topic_partitions) > 1 and metadata.now.state == TransactionState.ONGOING
        return ErrorCode.PRODUCER_FENCED if several else super().end_result(metadata, request)


class SaysYesToAnyone(Coordinator):
    """The coordinator approves every verification of a leader."""

    def verify(self, request: AddPartitionsToTxnRequest) -> int:
        return ErrorCode.NONE

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        return ErrorCode.NONE if metadata.pending_state is None else super().add_refused(metadata, request)


class RefusedRecordAborts(Coordinator):
    """The coordinator refuses the verification of a fenced producer, and aborts the open transaction."""

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        error = super().add_refused(metadata, request)
        if error == ErrorCode.PRODUCER_FENCED and metadata.now.state == TransactionState.ONGOING:
            self.end(metadata, False, lambda *_: None)
        return error


class SecondRecordIsFenced(PartitionLog):
    """The partition refuses the second record of a transaction as one of an old epoch."""

    def append_refused(self, entry: ProducerEntry, request: ProduceRequest, guard: int) -> int:
        error = super().append_refused(entry, request, guard)
        return error or (ErrorCode.INVALID_PRODUCER_EPOCH if request.base_sequence == 1 else 0)


class RecordAfterAnEndIsFenced(PartitionLog):
    """The partition refuses the first record under an epoch that the end of a transaction has given."""

    def append_refused(self, entry: ProducerEntry, request: ProduceRequest, guard: int) -> int:
        error = super().append_refused(entry, request, guard)
        return error or (ErrorCode.INVALID_PRODUCER_EPOCH if request.producer_epoch >= 2 else 0)


class DuplicateIsFenced(PartitionLog):
    """The partition refuses a duplicate as a batch of an old epoch."""

    def append(self, request: ProduceRequest, guard: int) -> Any:
        result = super().append(request, guard)
        wrong = {"error": ErrorCode.INVALID_PRODUCER_EPOCH, "duplicate": False}
        return result._replace(**wrong) if result.duplicate else result


class Seeded(NamedTuple):
    """``request`` and ``state`` name a defect's wrong answer and its owner's state, ``found_by`` the property or
    promise that finds it, ``scenario`` the scenario that sends the request, and ``mode`` the variant in which it is a
    defect."""

    name: str
    request: str
    state: str
    found_by: str
    scenario: str
    mode: str
    parts: Parts

    def __call__(self, config: Mapping[str, Any]) -> System:
        return build(config, self.parts)


def _of(made: type[Coordinator]) -> Parts:
    return Parts(coordinator=made)


class LastOfACommitLeftOut(PartitionLog):
    """The partition leaves the last record of each committed transaction out of a read_committed Fetch."""

    def fetch(self, offset: int, committed: bool, most: int = 0) -> FetchResponse:
        found = super().fetch(offset, committed, most)
        after = (*(batch.marker for batch in found.batches[1:]), None)
        kept = [batch for batch, marker in zip(found.batches, after, strict=True) if not (committed and marker == 1)]
        return found._replace(batches=tuple(kept))


class CommitLosesOffset(OffsetsLog):
    """The partition drops pending offsets at a commit marker, as at an abort."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch._replace(marker=0))


class FenceCommitsOffset(OffsetsLog):
    """The partition makes pending offsets visible at the marker of a fence (below version 2: one of a higher epoch)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        pending = self.pending.get(batch.producer_id, {}).values()
        fenced = any(each.producer_epoch < batch.producer_epoch for each in pending)
        super().apply_marker(entry, batch._replace(marker=1) if fenced else batch)


ANYONE = Parts(coordinator=SaysYesToAnyone, log=transactions_partitions.OlderEpochAccepted)
TABLE = (
    Seeded("init_keeps_epoch", "init", "current", "init_bumps_epoch", "zombie", "v2",
        _of(transactions_coordinator.InitKeepsEpoch)),
    Seeded("zombie_is_given_the_pair", "init", "fenced", "fenced_never_given", "zombie_asks_for_the_next_epoch", "v1",
            _of(ZombieIsGivenThePair)),
    Seeded("init_takes_new_id", "init", "empty", "txn.1", "zombie_asks", "v1",
        _of(transactions_coordinator.InitTakesNewId)),
    Seeded("init_retry_is_fenced", "init", "retried", "txn.P8", "next_epoch_lost", "v1",
            _of(transactions_coordinator.InitRetryIsFenced)),
    Seeded("refused_init_fences", "init", "refused", "txn.P8", "zombie_asks_for_the_next_epoch", "v1",
            _of(RefusedInitFences)),
    Seeded("late_init_is_given_the_pair", "init", "late", "fenced_never_given", "zombie_asks_for_the_next_epoch", "v1",
            _of(ZombieIsGivenThePair)),
    Seeded("first_add_is_refused", "add", "current", "txn.P8", "transaction", "v1", _of(FirstAddIsRefused)),
    Seeded("add_takes_older_epoch", "add", "fenced", "fenced_never_added", "zombie_asks", "v1",
            _of(transactions_coordinator.AddTakesOlderEpoch)),
    Seeded("first_add_of_another", "add", "empty", "txn.P8", "ends_nothing", "v1", _of(FirstAddIsRefused)),
    Seeded("add_retry_is_refused", "add", "retried", "txn.P8", "asks_again", "v1", _of(AddRetryIsRefused)),
    Seeded("refused_add_stays_pending", "add", "refused", "txn.P10", "zombie_asks", "v1", _of(RefusedAddStaysPending)),
    Seeded("late_add_of_older_epoch", "add", "late", "fenced_never_added", "late_copy", "v1",
            _of(transactions_coordinator.AddTakesOlderEpoch)),
    Seeded("says_yes_to_anyone", "produce", "fenced", "fenced_never_acknowledged", "zombie_asks", "v2", ANYONE),
    Seeded("says_yes_to_anyone_verified", "produce", "late", "fenced_never_acknowledged", "zombie_asks",
            "v1-verified", ANYONE),
    Seeded("second_record_is_fenced", "produce", "current", "txn.P8", "transaction", "v2",
            Parts(log=SecondRecordIsFenced)),
    Seeded("record_after_an_end_is_fenced", "produce", "empty", "txn.P8", "ends_nothing", "v2",
            Parts(log=RecordAfterAnEndIsFenced)),
    Seeded("duplicate_is_fenced", "produce", "retried", "txn.P8", "asks_again", "v2", Parts(log=DuplicateIsFenced)),
    Seeded("refused_record_aborts", "produce", "refused", "txn.P8", "zombie_asks", "v2", _of(RefusedRecordAborts)),
    Seeded("end_of_the_current_is_fenced", "end", "current", "txn.P8", "transaction", "v2",
            _of(EndOfTheCurrentIsFenced)),
    Seeded("end_takes_older_epoch", "end", "fenced", "txn.P1", "zombie_asks", "v1",
            _of(transactions_coordinator.EndTakesOlderEpoch)),
    Seeded("empty_end_refused", "end", "empty", "txn.P8", "ends_nothing", "v2", _of(EmptyEndRefused)),
    Seeded("empty_end_keeps_epoch", "end", "empty", "next_epoch_told", "ends_nothing", "v2", _of(EmptyEndKeepsEpoch)),
    Seeded("end_retry_is_fenced", "end", "retried", "txn.P8", "asks_again", "v2", _of(EndRetryIsFenced)),
    Seeded("refused_end_aborts", "end", "refused", "txn.P8", "zombie_asks", "v1", _of(RefusedEndAborts)),
    Seeded("refused_end_aborts_in_v2", "end", "late", "txn.P8", "zombie_asks", "v2", _of(RefusedEndAborts)),
)  # fmt: skip

READS = (
    Seeded("reads_to_the_end", "fetch", "open", "txn.P3", "read_on_the_way", "v2",
        Parts(log=transactions_partitions.ReadsToTheEnd)),
    Seeded("last_of_a_commit_left_out", "fetch", "committed", "txn.P4", "transaction", "v2",
            Parts(log=LastOfACommitLeftOut)),
    Seeded("aborted_list_cut_short", "fetch", "aborted", "txn.P3", "transaction", "v2",
            Parts(log=transactions_partitions.AbortedListCutShort)),
    Seeded("aborted_index_misses_fences", "fetch", "fenced", "txn.P3", "zombie", "v1",
            Parts(log=transactions_partitions.AbortedIndexMissesFences)),
    Seeded("pending_offsets_visible", "offset_fetch", "open", "txn.21", "read_on_the_way", "v2",
            Parts(offsets_log=transactions_partitions.PendingOffsetsVisible)),
    Seeded("commit_loses_offset", "offset_fetch", "committed", "txn.P4", "transaction", "v2",
            Parts(offsets_log=CommitLosesOffset)),
    Seeded("abort_commits_offset", "offset_fetch", "aborted", "txn.21", "transaction", "v2",
            Parts(offsets_log=transactions_partitions.AbortCommitsOffset)),
    Seeded("fence_commits_offset", "offset_fetch", "fenced", "txn.21", "zombie", "v1",
            Parts(offsets_log=FenceCommitsOffset)),
)  # fmt: skip
"""These are defects of answers to readers, whose ``state`` is that of the transaction that they read."""
