"""Partitions with one thing wrong each. `broken.py` says what each of them breaks."""

from fencepost.reference_impl.transactions.brokers.leader import PartitionLeader
from fencepost.reference_impl.transactions.brokers.log import PartitionLog
from fencepost.reference_impl.transactions.brokers.offsets import OffsetsLog
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.messages import (
    AbortedTransaction,
    Batch,
    ProduceRequest,
    WriteTxnMarkersRequest,
)


class OlderEpochAccepted(PartitionLog):
    """A batch of an epoch lower than the one known is written (F05)."""

    def append_refused(self, entry: ProducerEntry, request: ProduceRequest, guard: int) -> int:
        if request.producer_epoch < entry.epoch:
            return 0
        return super().append_refused(entry, request, guard)


class Unverified(PartitionLog):
    """A transaction's first batch is written without asking the coordinator (F10, B02)."""

    def needs_guard(self, request: ProduceRequest) -> bool:
        return False


class NotRechecked(PartitionLog):
    """Once the coordinator has been asked, a batch is written without another look at the transaction (F11, B03)."""

    def guard_matches(self, producer_id: int, guard: int) -> bool:
        return True


class RecheckedByState(PartitionLog):
    """At the append it is enough that some question is open, not that it is this one (F12, B03: ABA)."""

    def guard_matches(self, producer_id: int, guard: int) -> bool:
        return producer_id in self.verifying


class MarkerRetryRefused(PartitionLog):
    """A marker must always raise the epoch; one that is sent again does not (F15, B14)."""

    def marker_is_new(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        return request.producer_epoch > entry.epoch


class EqualEpochMarkerAccepted(PartitionLog):
    """A marker of the current epoch always counts, also for a transaction that is not its own (F16)."""

    def marker_is_new(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        return request.producer_epoch >= entry.epoch


class VersionUnchecked(PartitionLog):
    """A marker is checked as one of a transaction of version 1, whatever it says (txn.24)."""

    def marker_refused(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> int:
        return super().marker_refused(entry, request._replace(transaction_version=0))


class OlderCoordinatorAccepted(PartitionLog):
    """A marker of a coordinator that was replaced since is written (txn.11)."""

    def is_old_coordinator(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        return False


class SequenceUnchecked(PartitionLog):
    """Batches need not follow on (txn.13)."""

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        return True


class NewEpochContinues(PartitionLog):
    """Sequence numbers go on under a new epoch instead of starting at 0 (txn.13)."""

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        last = entry.last_sequence
        super().enter_epoch(entry, epoch)
        entry.last_sequence = last

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        return super().sequence_fits(entry, request._replace(producer_epoch=entry.epoch))


class NewEpochTakesAnySequence(PartitionLog):
    """The first batch of a new epoch may have any number (txn.13)."""

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        fresh = request.producer_epoch != entry.epoch or entry.last_sequence == -1
        return fresh or super().sequence_fits(entry, request)


class WindowOfFour(PartitionLog):
    """Four batches answer duplicates, where a producer may have five in flight (txn.14)."""

    def duplicate_of(self, entry: ProducerEntry, request: ProduceRequest) -> int:
        offset = super().duplicate_of(entry, request)
        return offset if offset in [kept for _, kept in list(entry.window)[-4:]] else -1


class WindowOutlivesEpoch(PartitionLog):
    """Batches of an earlier epoch, committed or aborted, still answer duplicates (F25, B23)."""

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        window = list(entry.window)
        super().enter_epoch(entry, epoch)
        entry.window.extend(window)

    def duplicate_of(self, entry: ProducerEntry, request: ProduceRequest) -> int:
        return super().duplicate_of(entry, request._replace(producer_epoch=entry.epoch))

    def clears_window_on_abort(self) -> bool:
        return False


class OpenInAnyEpoch(PartitionLog):
    """A transaction of an older epoch, not ended here yet, is taken for the one of this batch (B11)."""

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        return producer_id in self.open


class NotWaitingForMarker(PartitionLeader):
    """While an older epoch's transaction is open, the coordinator is asked all the same (txn.16)."""

    def must_wait_for_marker(self, request: ProduceRequest) -> bool:
        return False


class StableOffsetInclusive(PartitionLog):
    """A read_committed fetch returns the record at the last stable offset too (F24, B22)."""

    def read_limit(self, committed: bool) -> int:
        return min(super().read_limit(committed) + 1, len(self.batches))


class ReadsToTheEnd(PartitionLog):
    """A read_committed fetch is not bounded at all (txn.17)."""

    def read_limit(self, committed: bool) -> int:
        return len(self.batches)


class AbortedListCutShort(PartitionLog):
    """A fetch answer names the first aborted transaction only (txn.17)."""

    def aborted_between(self, offset: int, upto: int) -> list[AbortedTransaction]:
        return super().aborted_between(offset, upto)[:1]


class AbortedIndexMissesFences(PartitionLog):
    """The index of aborted transactions leaves out those that a marker of a higher epoch has ended (txn.17)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        first = self.open.get(batch.producer_id, batch.base_offset)
        fenced = first < batch.base_offset and self.batches[first].producer_epoch < batch.producer_epoch
        super().apply_marker(entry, batch)
        if fenced and batch.marker == 0:
            self.aborted.pop()


class OffsetsAppliedAtOnce(OffsetsLog):
    """An offset is committed when it is written, not when its transaction is (txn.21)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.committed |= self.pending.pop(batch.producer_id)


class AbortKeepsPendingOffset(OffsetsLog):
    """An abort leaves its offsets pending (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        pending = self.pending.get(batch.producer_id)
        super().apply_marker(entry, batch)
        if pending is not None and batch.marker == 0:
            self.pending[batch.producer_id] = pending


class AbortCommitsOffset(OffsetsLog):
    """An abort marker makes pending offsets visible, as a commit does (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch._replace(marker=1))


class PendingOffsetsVisible(OffsetsLog):
    """OffsetFetch answers with the last committed offset while another one is pending (txn.21)."""

    def is_stable(self, key: int = 0) -> bool:
        return True
