"""A compacted partition: what the cleaner takes out of its log, and what it must leave.

It sees nothing that is undecided. Records of aborted transactions go at once, other records when a later one has their
key, a marker only when its transaction has no record left, and some time after that, so that no reader is in between.
What is gone leaves a gap: offsets stay what they are. (LogCleaner.java, CleanedTransactionMetadata.java)
"""

from typing import Self

from fencepost.reference_impl.transactions.brokers.log import AbortedTxn, PartitionLog
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.messages import Batch, FetchResponse

DELETE_RETENTION_MS = 24 * 3600 * 1000  # delete.retention.ms


class CompactedLog(PartitionLog):
    """The whole log is one segment. `keys` are those of records by number; any other record has a key of its own."""

    __slots__ = ("gone", "horizons", "keys")

    def __init__(self, env: Environment, partition: int, leader_epoch: int = 0) -> None:
        super().__init__(env, partition, leader_epoch)
        self.keys: dict[int, bytes] = {}
        self.gone: set[int] = set()
        self.horizons: dict[int, int] = {}  # of a marker without records: when it may go

    def clean(self, mapped_upto: int | None = None) -> None:
        """One pass. `mapped_upto`: where the map of keys was full; what is committed behind that is copied."""
        end = self.last_stable_offset()
        mapped = end if mapped_upto is None else min(mapped_upto, end)
        aborted = self.aborted_to_clean(mapped, end)
        dropped = {b.base_offset for b in self.batches[:end] if any(is_within(b, txn) for txn in aborted)}
        latest = {
            self.key_of(batch): batch.base_offset
            for batch in self.batches[:mapped]
            if batch.marker < 0 and batch.base_offset not in dropped | self.gone
        }
        markers = [batch for batch in self.batches[:end] if batch.marker >= 0]
        ended = {marker.base_offset for marker in markers if self.may_drop_marker(marker, latest)}
        superseded = {
            batch.base_offset
            for batch in self.batches[:mapped]
            if batch.marker < 0 and latest.get(self.key_of(batch), -1) > batch.base_offset
        }
        self.gone |= dropped | ended | superseded
        beyond = [txn for txn in self.aborted if txn.first_offset >= end]
        self.aborted = [txn for txn in aborted if self.has_records(txn)] + beyond

    def aborted_to_clean(self, mapped: int, end: int) -> list[AbortedTxn]:
        """The aborted transactions in the segment, behind the end of the map too: the index is written anew."""
        return [txn for txn in self.aborted if txn.first_offset < end]

    def may_drop_marker(self, marker: Batch, latest: dict[bytes, int]) -> bool:
        """Whether nothing of its transaction was there at the beginning of this pass, nor long before."""
        for batch in reversed(self.batches[: marker.base_offset]):
            if batch.producer_id == marker.producer_id:
                if batch.marker >= 0:
                    break
                if batch.base_offset not in self.gone:
                    return False
        now = self.env.now_ms
        return self.horizons.setdefault(marker.base_offset, now + DELETE_RETENTION_MS) <= now

    def has_records(self, txn: AbortedTxn) -> bool:
        """Whether a reader may still meet a record of it."""
        return any(is_within(batch, txn) and batch.base_offset not in self.gone for batch in self.batches)

    def key_of(self, batch: Batch) -> bytes:
        """A marker has a key as well: two bytes for its version, two for its type."""
        if batch.marker >= 0:
            return marker_key(batch.marker)
        return self.keys.get(batch.record, b"record %d" % batch.record)

    def fetch(self, offset: int, committed: bool, most: int = 0) -> FetchResponse:
        """Without what is gone."""
        answer = super().fetch(offset, committed, most)
        return answer._replace(batches=tuple(b for b in answer.batches if b.base_offset not in self.gone))

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        """From what is left. Of a record that is gone its producer's number is left, as an empty batch."""
        whole = self.batches
        self.batches = [self.left_of(batch) for batch in whole]
        fresh = super().rebuilt(leader_epoch, restart)
        self.batches = whole
        fresh.keys, fresh.gone, fresh.horizons = self.keys, self.gone, self.horizons
        return fresh

    def left_of(self, batch: Batch) -> Batch:
        """The batch as the next leader finds it."""
        return batch._replace(is_transactional=False) if batch.base_offset in self.gone else batch

    def write(self, batch: Batch) -> None:
        """An empty control batch says nothing, nor of which epoch it was."""
        if batch.marker >= 0 and not batch.is_transactional:
            self.batches.append(batch)
        else:
            super().write(batch)


def is_within(batch: Batch, txn: AbortedTxn) -> bool:
    """Whether a batch is a record of that transaction."""
    mine = batch.marker < 0 and batch.producer_id == txn.producer_id
    return mine and txn.first_offset <= batch.base_offset < txn.last_offset


def marker_key(marker: int) -> bytes:
    """The key of an abort (0) or a commit (1)."""
    return bytes((0, 0, 0, marker))
