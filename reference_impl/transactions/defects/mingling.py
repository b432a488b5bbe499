"""Partitions and readers that go wrong where there are several: producers, records in a batch, keys of a group, pieces
of a log, restarts.  `broken.py` says what each of them breaks.
"""

from typing import Self

from fencepost.reference_impl.transactions.brokers.log import Appended, PartitionLog
from fencepost.reference_impl.transactions.brokers.offsets import OffsetsLog
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.clients.consumer import AbortedQueue, Reader
from fencepost.reference_impl.transactions.messages import (
    COMMIT,
    AbortedTransaction,
    Batch,
    FetchResponse,
    ProduceRequest,
)

# Producers


class MarkerEndsEveryTransaction(PartitionLog):
    """A marker ends whatever is open at the partition (txn.10): readers get what others have not decided."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch)
        self.open.clear()


class RefusedBatchHoldsReadersUp(PartitionLog):
    """A transaction counts as open from the request for its first batch, also where that is refused (txn.17).

    The last stable offset stays where a fenced producer tried to write, whatever others commit behind it.
    """

    def append(self, request: ProduceRequest, guard: int) -> Appended:
        appended = super().append(request, guard)
        if appended.error and request.is_transactional and request.producer_id in self.producers:
            self.open.setdefault(request.producer_id, len(self.batches))
        return appended


class RestartForgetsIdleProducers(PartitionLog):
    """After a restart a partition knows the producers that have a transaction open there, and no others (txn.12)."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        if restart or self.env.config.leader_change == "restart":
            for producer_id in fresh.producers.keys() - fresh.open.keys():
                del fresh.producers[producer_id]
        return fresh


# Records of a batch, and pieces of the log


class AbortedFromTheLastRecord(PartitionLog):
    """The index says of an aborted transaction where its first batch ends, not where that begins (txn.17)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        known = len(self.aborted)
        super().apply_marker(entry, batch)
        for aborted in self.aborted[known:]:
            first = self.end_of(aborted.first_offset, 1) - 1
            self.aborted[known] = aborted._replace(first_offset=min(first, aborted.last_offset - 1))


class ListOfWhatEndsInThePiece(PartitionLog):
    """A fetch answer names the aborted transactions whose marker is in it (txn.17)."""

    def fetch(self, offset: int, committed: bool, most: int = 0) -> FetchResponse:
        answer = super().fetch(offset, committed, most)
        ended = {batch.producer_id for batch in answer.batches if batch.marker >= 0}
        return answer._replace(
            aborted_transactions=tuple(one for one in answer.aborted_transactions if one.producer_id in ended)
        )


class ListCutWithThePiece(PartitionLog):
    """A fetch answer names as many aborted transactions as it has room for batches (txn.17)."""

    def fetch(self, offset: int, committed: bool, most: int = 0) -> FetchResponse:
        answer = super().fetch(offset, committed, most)
        aborted: tuple[AbortedTransaction, ...] = answer.aborted_transactions
        return answer._replace(aborted_transactions=aborted[:most] if most else aborted)


class ListAsItComes(Reader):
    """A reader goes through the aborted transactions in the order in which they have ended (txn.17)."""

    def aborted_queue(self, answer: FetchResponse) -> AbortedQueue:
        return AbortedQueue(answer.aborted_transactions)


# Offsets of groups


class OnePendingCommitPerGroup(OffsetsLog):
    """A group has one transaction with offsets at a time: the next one's take the place of what is pending (txn.21)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.pending = {batch.producer_id: self.pending[batch.producer_id]}


class FirstKeyCommitted(OffsetsLog):
    """Of the offsets in one request the first becomes visible with the commit (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        pending = self.pending.get(batch.producer_id, {})
        if batch.marker == COMMIT and 0 in pending:
            self.pending[batch.producer_id] = {0: pending[0]}
        super().apply_marker(entry, batch)


class RefusedOffsetStaysPending(OffsetsLog):
    """An offset is pending from its request on, also where that is refused (txn.21).

    What a fenced producer was refused is then committed by the next marker of its producer id.
    """

    def append(self, request: ProduceRequest, guard: int) -> Appended:
        appended = super().append(request, guard)
        if appended.error:
            refused = Batch(
                len(self.batches), request.producer_id, request.producer_epoch, -1, request.record, True,
                self.env.now_ms, self.leader_epoch,
            )  # fmt: skip
            self.pending.setdefault(request.producer_id, {})[0] = refused
        return appended
