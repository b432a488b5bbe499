"""Brokers, partitions, producers and readers with one thing wrong each, that only shows where a cluster has several of
something: transactional ids, records in a batch, pieces that a reader takes, offsets in a commit; or where a partition
forgets, or is away. `broken.py` says what each of them breaks."""

from collections.abc import Callable, Iterator

from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.log import PartitionLog
from fencepost.reference_impl.transactions.brokers.offsets import OffsetsLog
from fencepost.reference_impl.transactions.brokers.producer_state import UNKNOWN, ProducerEntry
from fencepost.reference_impl.transactions.brokers.states import IDLE, TransactionLogValue, TransactionState
from fencepost.reference_impl.transactions.clients.consumer import NOT_CONTROL, Reader
from fencepost.reference_impl.transactions.clients.producer import Producer
from fencepost.reference_impl.transactions.clients.sends import Lane, Sends, SentBatch
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import (
    ABORT,
    AbortedTransaction,
    AddPartitionsToTxnRequest,
    Batch,
    FetchResponse,
    ProduceRequest,
)

# Reading


class YoungestOpenCounts(PartitionLog):
    """The last stable offset is where the youngest open transaction begins (txn.17)."""

    def last_stable_offset(self) -> int:
        return max(self.open.values()) if self.open else len(self.batches)


class AbortedOfThePieceOnly(PartitionLog):
    """A fetch answer names only aborted transactions that begin within the piece fetched (txn.17)."""

    def aborted_between(self, offset: int, upto: int) -> list[AbortedTransaction]:
        return [aborted for aborted in super().aborted_between(offset, upto) if aborted.first_offset >= offset]


class SkipsAllProducers(Reader):
    """Within the range of an aborted transaction a reader leaves out what any producer has written (txn.17)."""

    def skipping(self, answer: FetchResponse) -> Iterator[Batch]:
        queue, ranges = self.aborted_queue(answer), 0
        for batch in answer.batches:
            while queue and queue[0].first_offset <= batch.base_offset:
                queue.popleft()
                ranges += 1
            if batch.marker != NOT_CONTROL:
                ranges -= int(batch.marker == ABORT and ranges > 0)
            elif not (batch.is_transactional and ranges):
                yield batch


# Several transactional ids


class PartitionsOfAnyId(Coordinator):
    """A partition that is in any id's open transaction counts as added already (txn.6)."""

    def add(self, request: AddPartitionsToTxnRequest, answer: Callable[[int], object]) -> None:
        metadata = self.find(request.transactional_id)
        others = (one.now for one in self.transactions.values() if one is not metadata)
        there = any(
            now.state == TransactionState.ONGOING and request.partition in now.topic_partitions for now in others
        )
        if metadata is not None and there and not self.add_refused(metadata, request):
            answer(ErrorCode.NONE)
        else:
            super().add(request, answer)


class IdleIdsAreCompacted(Coordinator):
    """Of an id that has nothing open the record is taken out of the log when another id has written one (txn.19)."""

    def recorded(self) -> dict[int, TransactionLogValue]:
        latest = [record.transactional_id for record in self.transaction_log.records][-1:]
        values = super().recorded().items()
        return {one: value for one, value in values if one in latest or value.transaction_status not in IDLE}


# Batches of several records


class BatchesNumberedByTheFirst(PartitionLog):
    """The next batch has to follow on the first record of the one before, not on its last (txn.13)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        first = entry.last_sequence
        super().apply_data(entry, batch)
        if batch.place:
            entry.last_sequence = first


class CountsBatches(Sends):
    """Sequence numbers go up by one with each batch, however many records it has (txn.13)."""

    def number_records(self, lane: Lane, batch: SentBatch) -> None:
        pass


class NumbersByBatch(Producer):
    """A producer with `CountsBatches`."""

    sends_class = CountsBatches


# Several offsets in a commit


class OneOffsetOfACommit(OffsetsLog):
    """Of the offsets that one request commits only the last is kept (txn.21)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.pending[batch.producer_id] = {self.key_of(batch): batch}


# Partitions that forget


class AbortedAreForgotten(PartitionLog):
    """With a producer that is forgotten its aborted transactions leave the index (txn.17)."""

    def forget_idle(self) -> None:
        known = set(self.producers)
        super().forget_idle()
        gone = known - set(self.producers)
        self.aborted = [aborted for aborted in self.aborted if aborted.producer_id not in gone]


class ForgottenStartAnew(PartitionLog):
    """A producer that was forgotten must start at 0, as if it were new, though its epoch goes on (txn.13)."""

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        return super().sequence_fits(entry, request) and not (entry is UNKNOWN and request.base_sequence > 0)
