"""This module has the defects of transactions in partitions and in what partitions remember."""

from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.leader import PartitionLeader
from fencepost.reference_impl.kafka.log import Appended, OffsetsLog, PartitionLog, ProducerEntry
from fencepost.reference_impl.kafka.messages import (
    AbortedTransaction,
    Batch,
    ProduceRequest,
    ResponseBody,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.simulation.defects import CONFORMANCE, PROGRESS, PROMISE, defect

ABORTS_MORE = "the transaction of a producer that only repeated itself fails, but as a whole"


# partitions
@defect("txn.12", PROMISE, mode="v1")
class OlderEpochAccepted(PartitionLog):
    """A partition writes a batch whose epoch is lower than the producer's known epoch (F05)."""

    def append_refused(self, entry: ProducerEntry, request: ProduceRequest, guard: int) -> int:
        if request.producer_epoch < entry.epoch:
            return 0
        return super().append_refused(entry, request, guard)


@defect("txn.15", PROMISE, mode="v1-verified")
class Unverified(PartitionLog):
    """A partition writes the first batch of a transaction without verifying it with the coordinator (F10, B02)."""

    def needs_guard(self, request: ProduceRequest) -> bool:
        return False


@defect("txn.15", PROMISE, mode="v1-verified")
class NotRechecked(PartitionLog):
    """A partition does not check at the append that the verified transaction is still the same (F11, B03)."""

    def guard_matches(self, producer_id: int, guard: int) -> bool:
        return True


@defect("txn.15", PROMISE, mode="v1-verified")
class RecheckedByState(PartitionLog):
    """At the append it is enough that any verification is open, not this batch's (F12, B03: ABA)."""

    def guard_matches(self, producer_id: int, guard: int) -> bool:
        return producer_id in self.verifying


@defect("txn.10", PROGRESS, mode="v2")
class MarkerRetryRefused(PartitionLog):
    """A partition accepts only markers that raise the epoch, so it refuses a repeated one (F15, B14)."""

    def marker_is_new(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        return request.producer_epoch > entry.epoch


@defect("txn.23", PROMISE, mode="v2")
class EqualEpochMarkerAccepted(PartitionLog):
    """A partition accepts every marker of the current epoch, even one of another transaction (F16)."""

    def marker_is_new(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        return request.producer_epoch >= entry.epoch


@defect("txn.24", PROMISE, mode="v2")
class VersionUnchecked(PartitionLog):
    """A partition checks every marker as one of transaction version 1, whatever version the marker carries (txn.24)."""

    def marker_refused(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> int:
        return super().marker_refused(entry, request._replace(transaction_version=0))


@defect("txn.11", PROMISE, mode="v1")
class OlderCoordinatorAccepted(PartitionLog):
    """A partition writes a marker of a coordinator that has been replaced since (txn.11)."""

    def is_old_coordinator(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        return False


@defect("txn.13", PROMISE)
class SequenceUnchecked(PartitionLog):
    """A partition does not check that the sequence numbers of batches are consecutive (txn.13)."""

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        return True


@defect("txn.13", PROGRESS)
class NewEpochContinues(PartitionLog):
    """A partition expects sequence numbers to go on under a new epoch instead of starting at 0 (txn.13)."""

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        last = entry.last_sequence
        super().enter_epoch(entry, epoch)
        entry.last_sequence = last

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        return super().sequence_fits(entry, request._replace(producer_epoch=entry.epoch))


@defect("txn.13", CONFORMANCE, "the record that was overtaken fails, and its transaction can only be aborted")
class NewEpochTakesAnySequence(PartitionLog):
    """A partition accepts any sequence number in the first batch of a new epoch (txn.13)."""

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        fresh = request.producer_epoch != entry.epoch or entry.last_sequence == -1
        return fresh or super().sequence_fits(entry, request)


@defect("txn.14", CONFORMANCE, ABORTS_MORE)
class WindowOfFour(PartitionLog):
    """A partition recognises four batches as duplicates, where a producer may have five in flight (txn.14)."""

    def duplicate_of(self, entry: ProducerEntry, request: ProduceRequest) -> int:
        offset = super().duplicate_of(entry, request)
        return offset if offset in [known for _, known in list(entry.window)[-4:]] else -1


@defect("txn.14", PROMISE, mode="v2")
class WindowOutlivesEpoch(PartitionLog):
    """A partition still recognises batches of an earlier epoch, committed or aborted, as duplicates (F25, B23)."""

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        window = list(entry.window)
        super().enter_epoch(entry, epoch)
        entry.window.extend(window)

    def duplicate_of(self, entry: ProducerEntry, request: ProduceRequest) -> int:
        return super().duplicate_of(entry, request._replace(producer_epoch=entry.epoch))

    def clears_window_on_abort(self) -> bool:
        return False


@defect("txn.16", PROGRESS, mode="v2")
class OpenInAnyEpoch(PartitionLog):
    """A partition takes an open transaction of an older epoch for the transaction of a new batch (B11)."""

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        return producer_id in self.open


@defect(
    "txn.16",
    CONFORMANCE,
    "the coordinator says CONCURRENT_TRANSACTIONS as long as the marker is missing: two guards, one is enough",
    mode="v2",
)
class NotWaitingForMarker(PartitionLeader):
    """A partition verifies a batch while a transaction of an older epoch is still open (txn.16)."""

    def must_wait_for_marker(self, request: ProduceRequest) -> bool:
        return False


@defect("txn.17", PROMISE)
class StableOffsetInclusive(PartitionLog):
    """A read_committed fetch also returns the record at the last stable offset (F24, B22)."""

    def read_limit(self, committed: bool) -> int:
        return min(super().read_limit(committed) + 1, len(self.batches))


@defect("txn.17", PROMISE)
class ReadsToTheEnd(PartitionLog):
    """A read_committed fetch is not bounded by the last stable offset (txn.17)."""

    def read_limit(self, committed: bool) -> int:
        return len(self.batches)


@defect("txn.17", PROMISE)
class AbortedListCutShort(PartitionLog):
    """A fetch response lists only the first aborted transaction (txn.17)."""

    def aborted_between(self, offset: int, upto: int) -> list[AbortedTransaction]:
        return super().aborted_between(offset, upto)[:1]


@defect("txn.17", PROMISE)
class AbortedIndexMissesFences(PartitionLog):
    """The index of aborted transactions omits those that a marker of a higher epoch has ended (txn.17)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        first = self.open.get(batch.producer_id, batch.base_offset)
        fenced = first < batch.base_offset and self.batches[first].producer_epoch < batch.producer_epoch
        super().apply_marker(entry, batch)
        if fenced and batch.marker == 0:
            self.aborted.pop()


@defect("txn.21", PROMISE, groups=1)
class OffsetsAppliedAtOnce(OffsetsLog):
    """An offset is committed when it is written, before its transaction is committed (txn.21)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.committed |= self.pending.pop(batch.producer_id)


@defect("txn.21", PROGRESS, groups=1)
class AbortKeepsPendingOffset(OffsetsLog):
    """An abort leaves the offsets of its transaction pending (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        pending = self.pending.get(batch.producer_id)
        super().apply_marker(entry, batch)
        if pending is not None and batch.marker == 0:
            self.pending[batch.producer_id] = pending


@defect("txn.21", PROMISE, groups=1)
class AbortCommitsOffset(OffsetsLog):
    """An abort marker makes pending offsets visible, as a commit marker does (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch._replace(marker=1))


@defect(
    "txn.21",
    CONFORMANCE,
    "what is visible is committed; who starts from it repeats what the pending transaction will commit (447.9)",
    groups=1,
)
class PendingOffsetsVisible(OffsetsLog):
    """OffsetFetch returns the last committed offset while another offset is pending (txn.21)."""

    def is_stable(self, key: int = 0) -> bool:
        return True


# what partitions remember
@defect("txn.14", PROMISE)
class RefusedBatchAnswersDuplicates(PartitionLog):
    """A partition remembers a batch when it arrives, even if it is refused (txn.14). When the refused batch is sent
    again, it counts as a duplicate and is never written."""

    def append(self, request: ProduceRequest, guard: int) -> Appended:
        entry = self.producers.get(request.producer_id)
        appended = super().append(request, guard)
        if appended.error and entry is not None and entry.epoch == request.producer_epoch:
            entry.window.append((request.base_sequence, len(self.batches)))
        return appended


@defect("txn.12", PROMISE, mode="v1")
class MarkerOfNothingSkipped(PartitionLeader):
    """A partition answers a marker for a transaction that is not open there without writing it (txn.12). The partition
    does not learn the epoch of that marker, so it still accepts a batch of the epoch before."""

    def receive_marker(self, message: Message) -> None:
        if message.body.data.producer_id in self.log.open:
            super().receive_marker(message)
        else:
            answer = ResponseBody(message.body.number, WriteTxnMarkersResponse(ErrorCode.NONE))
            self.env.network.send("marker_answer", self.name, message.source, answer)


@defect("txn.12", PROMISE, mode="v1")
class MarkersTeachNoEpoch(PartitionLog):
    """A partition learns a producer's epoch from its records only, and not from markers (txn.12)."""

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        if self.batches[-1].marker < 0:
            super().enter_epoch(entry, epoch)


@defect("txn.17", PROMISE)
class OpenAtTheLatestRecord(PartitionLog):
    """A transaction counts as open from its latest record on, instead of from its first (txn.17)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        if batch.is_transactional:
            self.open[batch.producer_id] = batch.base_offset


@defect("txn.17", PROMISE)
class OneAbortedEntryPerProducer(PartitionLog):
    """The index of aborted transactions has only the last entry of each producer (txn.17)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch)
        if self.aborted and self.aborted[-1].producer_id == batch.producer_id:
            others = [txn for txn in self.aborted if txn.producer_id != batch.producer_id]
            self.aborted = [*others, self.aborted[-1]]


@defect("txn.15", PROMISE, mode="v1-verified")
class VerifiedOnceForAll(PartitionLog):
    """A partition does not verify a producer again under the same epoch once the coordinator has confirmed it (txn.15).
    Before version 2 the next batch may belong to another transaction, or to none."""

    def needs_guard(self, request: ProduceRequest) -> bool:
        entry = self.producers.get(request.producer_id)
        known = entry is not None and entry.epoch == request.producer_epoch and entry.last_sequence >= 0
        return not known and super().needs_guard(request)


@defect("txn.21", PROMISE, groups=1)
class AbortForgetsTheOffset(OffsetsLog):
    """The abort of a transaction with an offset also removes the offset that was committed before (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        held = batch.producer_id in self.pending
        super().apply_marker(entry, batch)
        if held and batch.marker == 0:
            self.committed = {}


@defect("txn.21", PROMISE, groups=1)
class FirstOffsetKept(OffsetsLog):
    """When one transaction commits several offsets, the first one counts instead of the last (txn.21)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        earlier = dict(self.pending.get(batch.producer_id, {}))
        super().apply_data(entry, batch)
        self.pending[batch.producer_id] |= earlier


@defect("txn.12", PROMISE, mode="v1", groups=1)
class FencedOffsetsAccepted(OffsetsLog):
    """A group's offsets partition does not check the epoch of offset commits (txn.12, txn.21)."""

    def is_fenced(self, entry: ProducerEntry, epoch: int) -> bool:
        return False

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        super().enter_epoch(entry, max(entry.epoch, epoch))


@defect("txn.21", PROMISE, groups=1)
class SecondOffsetsConflict(OffsetsLog):
    """A second commit of offsets in one transaction is refused, although it should replace the first."""

    def append_refused(self, entry: ProducerEntry, request: ProduceRequest, guard: int) -> int:
        conflicts = request.producer_id in self.pending
        return ErrorCode.INVALID_TXN_STATE if conflicts else super().append_refused(entry, request, guard)


@defect("txn.10", PROGRESS, leader_change="restart")
class SnapshotLosesTheName(PartitionLeader):
    """After a restart the leader ignores the markers of producers with an open transaction."""

    anonymous: frozenset[int] = frozenset()

    def change(self, restart: bool = False) -> None:
        if restart or self.env.config.leader_change == "restart":
            self.anonymous |= self.log.open.keys()
        super().change(restart)

    def receive_marker(self, message: Message) -> None:
        if message.body.data.producer_id not in self.anonymous:
            super().receive_marker(message)
