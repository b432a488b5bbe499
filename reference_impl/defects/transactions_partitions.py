"""Defects of transactions: partitions and what they remember."""

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
    """A batch of an epoch lower than the one known is written (F05)."""

    def append_refused(self, entry: ProducerEntry, request: ProduceRequest, guard: int) -> int:
        if request.producer_epoch < entry.epoch:
            return 0
        return super().append_refused(entry, request, guard)


@defect("txn.15", PROMISE, mode="v1-verified")
class Unverified(PartitionLog):
    """A transaction's first batch is written without asking the coordinator (F10, B02)."""

    def needs_guard(self, request: ProduceRequest) -> bool:
        return False


@defect("txn.15", PROMISE, mode="v1-verified")
class NotRechecked(PartitionLog):
    """Once the coordinator has been asked, a batch is written without another look at the transaction (F11, B03)."""

    def guard_matches(self, producer_id: int, guard: int) -> bool:
        return True


@defect("txn.15", PROMISE, mode="v1-verified")
class RecheckedByState(PartitionLog):
    """At the append it is enough that some question is open, not that it is this one (F12, B03: ABA)."""

    def guard_matches(self, producer_id: int, guard: int) -> bool:
        return producer_id in self.verifying


@defect("txn.10", PROGRESS, mode="v2")
class MarkerRetryRefused(PartitionLog):
    """A marker must always raise the epoch; one that is sent again does not (F15, B14)."""

    def marker_is_new(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        return request.producer_epoch > entry.epoch


@defect("txn.23", PROMISE, mode="v2")
class EqualEpochMarkerAccepted(PartitionLog):
    """A marker of the current epoch always counts, also for a transaction that is not its own (F16)."""

    def marker_is_new(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        return request.producer_epoch >= entry.epoch


@defect("txn.24", PROMISE, mode="v2")
class VersionUnchecked(PartitionLog):
    """A marker is checked as one of a transaction of version 1, whatever it says (txn.24)."""

    def marker_refused(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> int:
        return super().marker_refused(entry, request._replace(transaction_version=0))


@defect("txn.11", PROMISE, mode="v1")
class OlderCoordinatorAccepted(PartitionLog):
    """A marker of a coordinator that was replaced since is written (txn.11)."""

    def is_old_coordinator(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        return False


@defect("txn.13", PROMISE)
class SequenceUnchecked(PartitionLog):
    """Batches need not follow on (txn.13)."""

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        return True


@defect("txn.13", PROGRESS)
class NewEpochContinues(PartitionLog):
    """Sequence numbers go on under a new epoch instead of starting at 0 (txn.13)."""

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        last = entry.last_sequence
        super().enter_epoch(entry, epoch)
        entry.last_sequence = last

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        return super().sequence_fits(entry, request._replace(producer_epoch=entry.epoch))


@defect("txn.13", CONFORMANCE, "the record that was overtaken fails, and its transaction can only be aborted")
class NewEpochTakesAnySequence(PartitionLog):
    """The first batch of a new epoch may have any number (txn.13)."""

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        fresh = request.producer_epoch != entry.epoch or entry.last_sequence == -1
        return fresh or super().sequence_fits(entry, request)


@defect("txn.14", CONFORMANCE, ABORTS_MORE)
class WindowOfFour(PartitionLog):
    """Four batches answer duplicates, where a producer may have five in flight (txn.14)."""

    def duplicate_of(self, entry: ProducerEntry, request: ProduceRequest) -> int:
        offset = super().duplicate_of(entry, request)
        return offset if offset in [known for _, known in list(entry.window)[-4:]] else -1


@defect("txn.14", PROMISE, mode="v2")
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


@defect("txn.16", PROGRESS, mode="v2")
class OpenInAnyEpoch(PartitionLog):
    """A transaction of an older epoch, not ended here yet, is taken for the one of this batch (B11)."""

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        return producer_id in self.open


@defect(
    "txn.16",
    CONFORMANCE,
    "the coordinator says CONCURRENT_TRANSACTIONS as long as the marker is missing: two guards, one is enough",
    mode="v2",
)
class NotWaitingForMarker(PartitionLeader):
    """While an older epoch's transaction is open, the coordinator is asked all the same (txn.16)."""

    def must_wait_for_marker(self, request: ProduceRequest) -> bool:
        return False


@defect("txn.17", PROMISE)
class StableOffsetInclusive(PartitionLog):
    """A read_committed fetch returns the record at the last stable offset too (F24, B22)."""

    def read_limit(self, committed: bool) -> int:
        return min(super().read_limit(committed) + 1, len(self.batches))


@defect("txn.17", PROMISE)
class ReadsToTheEnd(PartitionLog):
    """A read_committed fetch is not bounded at all (txn.17)."""

    def read_limit(self, committed: bool) -> int:
        return len(self.batches)


@defect("txn.17", PROMISE)
class AbortedListCutShort(PartitionLog):
    """A fetch answer names the first aborted transaction only (txn.17)."""

    def aborted_between(self, offset: int, upto: int) -> list[AbortedTransaction]:
        return super().aborted_between(offset, upto)[:1]


@defect("txn.17", PROMISE)
class AbortedIndexMissesFences(PartitionLog):
    """The index of aborted transactions leaves out those that a marker of a higher epoch has ended (txn.17)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        first = self.open.get(batch.producer_id, batch.base_offset)
        fenced = first < batch.base_offset and self.batches[first].producer_epoch < batch.producer_epoch
        super().apply_marker(entry, batch)
        if fenced and batch.marker == 0:
            self.aborted.pop()


@defect("txn.21", PROMISE, groups=1)
class OffsetsAppliedAtOnce(OffsetsLog):
    """An offset is committed when it is written, not when its transaction is (txn.21)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.committed |= self.pending.pop(batch.producer_id)


@defect("txn.21", PROGRESS, groups=1)
class AbortKeepsPendingOffset(OffsetsLog):
    """An abort leaves its offsets pending (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        pending = self.pending.get(batch.producer_id)
        super().apply_marker(entry, batch)
        if pending is not None and batch.marker == 0:
            self.pending[batch.producer_id] = pending


@defect("txn.21", PROMISE, groups=1)
class AbortCommitsOffset(OffsetsLog):
    """An abort marker makes pending offsets visible, as a commit does (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch._replace(marker=1))


@defect(
    "txn.21",
    CONFORMANCE,
    "what is visible is committed; who starts from it repeats what the pending transaction will commit (447.9)",
    groups=1,
)
class PendingOffsetsVisible(OffsetsLog):
    """OffsetFetch answers with the last committed offset while another one is pending (txn.21)."""

    def is_stable(self, key: int = 0) -> bool:
        return True


# what partitions keep
@defect("txn.14", PROMISE)
class RefusedBatchAnswersDuplicates(PartitionLog):
    """A batch is remembered when it comes, and not when it is written (txn.14).

    One that was refused is "there already" when it is sent again, and never written.
    """

    def append(self, request: ProduceRequest, guard: int) -> Appended:
        entry = self.producers.get(request.producer_id)
        appended = super().append(request, guard)
        if appended.error and entry is not None and entry.epoch == request.producer_epoch:
            entry.window.append((request.base_sequence, len(self.batches)))
        return appended


@defect("txn.12", PROMISE, mode="v1")
class MarkerOfNothingSkipped(PartitionLeader):
    """A marker for a transaction that is not open here is answered and not written (txn.12).

    So its epoch is not learnt, and a batch of the epoch before it may still come.
    """

    def receive_marker(self, message: Message) -> None:
        if message.body.data.producer_id in self.log.open:
            super().receive_marker(message)
        else:
            answer = ResponseBody(message.body.number, WriteTxnMarkersResponse(ErrorCode.NONE))
            self.env.network.send("marker_answer", self.name, message.source, answer)


@defect("txn.12", PROMISE, mode="v1")
class MarkersTeachNoEpoch(PartitionLog):
    """A partition learns a producer's epoch from its records only (txn.12)."""

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        if self.batches[-1].marker < 0:
            super().enter_epoch(entry, epoch)


@defect("txn.17", PROMISE)
class OpenAtTheLatestRecord(PartitionLog):
    """A transaction counts as open from its latest record on, not from its first (txn.17)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        if batch.is_transactional:
            self.open[batch.producer_id] = batch.base_offset


@defect("txn.17", PROMISE)
class OneAbortedEntryPerProducer(PartitionLog):
    """The index of aborted transactions has one entry per producer: the last (txn.17)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch)
        if self.aborted and self.aborted[-1].producer_id == batch.producer_id:
            others = [txn for txn in self.aborted if txn.producer_id != batch.producer_id]
            self.aborted = [*others, self.aborted[-1]]


@defect("txn.15", PROMISE, mode="v1-verified")
class VerifiedOnceForAll(PartitionLog):
    """A producer that the coordinator has once vouched for is not asked about again under its epoch (txn.15).

    Before version 2 that is another transaction, or none.
    """

    def needs_guard(self, request: ProduceRequest) -> bool:
        entry = self.producers.get(request.producer_id)
        known = entry is not None and entry.epoch == request.producer_epoch and entry.last_sequence >= 0
        return not known and super().needs_guard(request)


@defect("txn.21", PROMISE, groups=1)
class AbortForgetsTheOffset(OffsetsLog):
    """The abort of a transaction with an offset takes back the offset that was committed before as well (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        held = batch.producer_id in self.pending
        super().apply_marker(entry, batch)
        if held and batch.marker == 0:
            self.committed = {}


@defect("txn.21", PROMISE, groups=1)
class FirstOffsetKept(OffsetsLog):
    """Of several offsets that one transaction commits the first counts (txn.21)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        earlier = dict(self.pending.get(batch.producer_id, {}))
        super().apply_data(entry, batch)
        self.pending[batch.producer_id] |= earlier


@defect("txn.12", PROMISE, mode="v1", groups=1)
class FencedOffsetsAccepted(OffsetsLog):
    """Offsets have no sequence numbers, and no epoch is looked at either (txn.12, txn.21)."""

    def is_fenced(self, entry: ProducerEntry, epoch: int) -> bool:
        return False

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        super().enter_epoch(entry, max(entry.epoch, epoch))


@defect("txn.21", PROMISE, groups=1)
class SecondOffsetsConflict(OffsetsLog):
    """A group takes one commit of offsets in a transaction; a later one is refused, where it should win."""

    def append_refused(self, entry: ProducerEntry, request: ProduceRequest, guard: int) -> int:
        conflicts = request.producer_id in self.pending
        return ErrorCode.INVALID_TXN_STATE if conflicts else super().append_refused(entry, request, guard)


@defect("txn.10", PROGRESS, leader_change="restart")
class SnapshotLosesTheName(PartitionLeader):
    """After a restart the leader knows that a transaction is open, and not whose: its marker waits until a batch says
    so, and none comes."""

    anonymous: frozenset[int] = frozenset()

    def change(self, restart: bool = False) -> None:
        if restart or self.env.config.leader_change == "restart":
            self.anonymous |= self.log.open.keys()
        super().change(restart)

    def receive_marker(self, message: Message) -> None:
        if message.body.data.producer_id not in self.anonymous:
            super().receive_marker(message)
