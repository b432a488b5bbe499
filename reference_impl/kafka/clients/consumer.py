"""This module has readers: a consumer's position in each partition, and the records that read_committed skips (txn.17).

The partition answers a read_committed fetch with the batches strictly below the last stable offset and a list of
aborted transactions. The consumer selects the records to skip. `skipping` does it as Kafka's client does
(CompletedFetch.java).
"""

from collections import deque
from collections.abc import Iterator

from fencepost.reference_impl.kafka.clients.roles import Fetchable, OffsetFetchable
from fencepost.reference_impl.kafka.environment import Environment, Kind
from fencepost.reference_impl.kafka.messages import ABORT, AbortedTransaction, Batch, FetchResponse

FIRST_READER = 1000  # column `client` of reader 0: readers and producers are numbered apart
NOT_CONTROL = -1  # `Batch.marker` of a batch of records
AbortedQueue = deque[AbortedTransaction]


class Reader:
    """A `Reader` has one position per partition and isolation level, from the beginning of the log."""

    def __init__(self, env: Environment, reader: int) -> None:
        self.env = env
        self.client = FIRST_READER + reader
        self.positions: dict[tuple[int, bool], int] = {}

    def read(self, log: Fetchable, committed: bool, offset: int = 0) -> list[tuple[int, int]]:
        """Return the (offset, record) pairs from the position on, which is ``offset`` at first. ``committed`` is the
        isolation level read_committed."""
        position = self.positions.get((log.partition, committed), offset)
        answer = log.fetch(position, committed)
        partition, client, emit = log.partition, self.client, self.env.emit
        if committed:
            emit(Kind.FETCHED, client=client, partition=partition, offset=position, upto=answer.upto)
        kind = Kind.RECORD_READ if committed else Kind.RECORD_SEEN
        found = []
        for batch in self.skipping(answer):
            if batch.base_offset < position:  # of the batch in which the position lies
                continue
            emit(kind, client=client, partition=partition, offset=batch.base_offset, record=batch.record)
            found.append((batch.base_offset, batch.record))
        if answer.batches:
            self.positions[log.partition, committed] = answer.batches[-1].base_offset + 1
        return found

    def skipping(self, answer: FetchResponse) -> Iterator[Batch]:
        """Yield the batches that the application gets, without control batches and aborted transactions. The queue,
        ordered by first offset, has where a producer's records begin to be aborted. Its next abort marker is where that
        ends."""
        queue = self.aborted_queue(answer)
        aborted_producers: set[int] = set()
        for batch in answer.batches:
            while queue and queue[0].first_offset <= batch.base_offset:
                aborted_producers.add(queue.popleft().producer_id)
            if batch.marker != NOT_CONTROL:
                if batch.marker == ABORT:
                    self.abort_ends(batch, queue, aborted_producers)
            elif not (batch.is_transactional and batch.producer_id in aborted_producers):
                yield batch

    def aborted_queue(self, answer: FetchResponse) -> AbortedQueue:
        return deque(sorted(answer.aborted_transactions, key=lambda aborted: aborted.first_offset))

    def abort_ends(self, marker: Batch, queue: AbortedQueue, aborted_producers: set[int]) -> None:
        """End the aborted range of the marker's producer, whose later records belong to another transaction."""
        aborted_producers.discard(marker.producer_id)

    def fetch_offset(self, log: OffsetFetchable) -> tuple[int, int]:
        """Fetch (error, record) with require_stable. Error 88 means that an offset is pending (txn.21)."""
        error, record = log.fetch_offset()
        self.env.emit(Kind.OFFSET_FETCHED, client=self.client, partition=log.partition, record=record, error=error)
        return error, record
