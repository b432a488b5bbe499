"""A partition's log: what is written, what follows from it for producers, and how far readers may read.

Every batch holds one record and takes one offset, so that an offset is a position in `batches`; with one replica the
high watermark is the log's end. Everything here can be rebuilt from the batches alone. What may be written is in
`log.py`. (ProducerStateManager.java, UnifiedLog.scala)
"""

from bisect import bisect_left
from typing import NamedTuple, Self

from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.messages import AbortedTransaction, Batch, FetchResponse

PRODUCER_EXPIRATION_MS = 24 * 3600 * 1000  # producer.id.expiration.ms


class AbortedTxn(NamedTuple):
    """One entry of the index of aborted transactions; `last_stable_offset` is the one right after its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class WrittenLog:
    """One partition, as its batches tell it."""

    __slots__ = ("aborted", "batches", "env", "leader_epoch", "open", "partition", "producers")

    def __init__(self, env: Environment, partition: int, leader_epoch: int = 0) -> None:
        self.env = env
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.batches: list[Batch] = []
        self.producers: dict[int, ProducerEntry] = {}
        self.open: dict[int, int] = {}  # producer id -> first offset of its open transaction
        self.aborted: list[AbortedTxn] = []

    def write(self, batch: Batch) -> None:
        """Put a batch at the end, and note what it means."""
        self.batches.append(batch)
        entry = self.producers.get(batch.producer_id)
        if entry is None:
            entry = self.producers[batch.producer_id] = ProducerEntry()
        if batch.producer_epoch != entry.epoch:
            self.enter_epoch(entry, batch.producer_epoch)
        if batch.marker < 0:
            self.apply_data(entry, batch)
        else:
            self.apply_marker(entry, batch)

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        """A new epoch, by a record or a marker: old batches answer no longer, numbers start again (txn.13, txn.14)."""
        entry.epoch = epoch
        entry.window.clear()
        entry.last_sequence = -1

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        """Remember a record's number, and where its transaction began."""
        entry.last_sequence = batch.base_sequence
        entry.window.append((batch.base_sequence, batch.base_offset))
        if batch.is_transactional:
            self.open.setdefault(batch.producer_id, batch.base_offset)

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        """End the transaction that is open, if any; what is aborted goes into the index for readers."""
        entry.coordinator_epoch = batch.coordinator_epoch
        first = self.open.pop(batch.producer_id, None)
        if batch.marker == 0:
            if first is not None:
                stable = self.last_stable_offset()
                self.aborted.append(AbortedTxn(batch.producer_id, first, batch.base_offset, stable))
            if self.clears_window_on_abort():
                entry.window.clear()

    def clears_window_on_abort(self) -> bool:
        """An aborted batch must not answer for one of the next transaction that has its number (txn.14).

        Within one epoch (v1) the numbers go on: only the old offsets are forgotten. Stricter than Kafka, whose client
        asks for another epoch before it uses a number again, and whose leader answers for aborted batches as well.
        """
        return not self.env.config.is_recent

    def forget_idle(self) -> None:
        """Producers without an open transaction that have written nothing for long: so everything about them."""
        last = {batch.producer_id: batch.timestamp_ms for batch in self.batches}
        for producer_id in self.producers.keys() - self.open.keys():
            if last[producer_id] + PRODUCER_EXPIRATION_MS <= self.env.now_ms:
                del self.producers[producer_id]

    def rebuilt(self, leader_epoch: int) -> Self:
        """The state of the next leader, from the log alone: a replica has followed it batch by batch.

        After a restart there is a snapshot instead, which keeps one batch per producer.
        """
        fresh = type(self)(self.env, self.partition, leader_epoch)
        for batch in self.batches:
            fresh.write(batch)
        if self.env.config.leader_change == "restart":
            for entry in fresh.producers.values():
                while len(entry.window) > 1:
                    entry.window.popleft()
        return fresh

    def record_key(self) -> bytes | None:
        """The key of every record, in bytes on disk."""
        return None

    # Reading

    def last_stable_offset(self) -> int:
        """The first offset that is not decided yet: where the oldest open transaction begins, or the end."""
        return min(self.open.values()) if self.open else len(self.batches)

    def read_limit(self, committed: bool) -> int:
        """Where a fetch stops, exclusive (txn.17)."""
        return self.last_stable_offset() if committed else len(self.batches)

    def fetch(self, offset: int, committed: bool) -> FetchResponse:
        """Everything from `offset` to the limit, and for read_committed the transactions in it to be skipped."""
        upto = self.read_limit(committed)
        batches = tuple(self.batches[offset:upto])
        return FetchResponse(upto, batches, tuple(self.aborted_between(offset, upto)) if committed else ())

    def aborted_between(self, offset: int, upto: int) -> list[AbortedTransaction]:
        """From the index, in order of their end: what ends at or behind `offset` and begins before `upto`."""
        found = []
        for aborted in self.aborted[bisect_left(self.aborted, offset, key=lambda txn: txn.last_offset) :]:
            if aborted.first_offset < upto:
                found.append(AbortedTransaction(aborted.producer_id, aborted.first_offset))
            if aborted.last_stable_offset >= upto:
                break
        return found
