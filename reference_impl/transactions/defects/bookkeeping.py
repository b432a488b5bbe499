"""Partitions that keep less of a producer, a transaction or a group than it takes, or more than they should.

`broken.py` says what each of them breaks.
"""

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.leader import PartitionLeader
from fencepost.reference_impl.transactions.brokers.log import Appended, PartitionLog
from fencepost.reference_impl.transactions.brokers.offsets import OffsetsLog
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import Batch, ProduceRequest, ResponseBody, WriteTxnMarkersResponse


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


class MarkerOfNothingIsSkipped(PartitionLeader):
    """A marker for a transaction that is not open here is answered and not written (txn.12).

    So its epoch is not learnt, and a batch of the epoch before it may still come.
    """

    def receive_marker(self, message: Message) -> None:
        if message.body.data.producer_id in self.log.open:
            super().receive_marker(message)
        else:
            answer = ResponseBody(message.body.number, WriteTxnMarkersResponse(ErrorCode.NONE))
            self.env.network.send("marker_answer", self.name, message.source, answer)


class MarkersTeachNoEpoch(PartitionLog):
    """A partition learns a producer's epoch from its records only (txn.12)."""

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        if self.batches[-1].marker < 0:
            super().enter_epoch(entry, epoch)


class OpenAtTheLatestRecord(PartitionLog):
    """A transaction counts as open from its latest record on, not from its first (txn.17)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        if batch.is_transactional:
            self.open[batch.producer_id] = batch.base_offset


class OneAbortedEntryPerProducer(PartitionLog):
    """The index of aborted transactions has one entry per producer: the last (txn.17)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch)
        if self.aborted and self.aborted[-1].producer_id == batch.producer_id:
            others = [txn for txn in self.aborted if txn.producer_id != batch.producer_id]
            self.aborted = [*others, self.aborted[-1]]


class VerifiedOnceForAll(PartitionLog):
    """A producer that the coordinator has once vouched for is not asked about again under its epoch (txn.15).

    Before version 2 that is another transaction, or none.
    """

    def needs_guard(self, request: ProduceRequest) -> bool:
        entry = self.producers.get(request.producer_id)
        known = entry is not None and entry.epoch == request.producer_epoch and entry.last_sequence >= 0
        return not known and super().needs_guard(request)


# Offsets of groups


class AbortForgetsTheOffset(OffsetsLog):
    """The abort of a transaction with an offset takes back the offset that was committed before as well (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        held = batch.producer_id in self.pending
        super().apply_marker(entry, batch)
        if held and batch.marker == 0:
            self.committed = {}


class FirstOffsetOfTheTransactionKept(OffsetsLog):
    """Of several offsets that one transaction commits the first counts (txn.21)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        earlier = dict(self.pending.get(batch.producer_id, {}))
        super().apply_data(entry, batch)
        self.pending[batch.producer_id] |= earlier


class FencedOffsetsAccepted(OffsetsLog):
    """Offsets have no sequence numbers, and no epoch is looked at either (txn.12, txn.21)."""

    def is_fenced(self, entry: ProducerEntry, epoch: int) -> bool:
        return False

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        super().enter_epoch(entry, max(entry.epoch, epoch))
