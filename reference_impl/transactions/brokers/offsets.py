"""The offsets partition of a consumer group: commits in a transaction are pending until its marker comes (txn.21).

Its writer is the group coordinator, not a client: batches have no sequence numbers, so a commit sent twice is written
twice, which commits the same offset. (GroupMetadataManager.scala)
"""

from fencepost.reference_impl.transactions.brokers.log import PartitionLog
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import Batch


class OffsetsLog(PartitionLog):
    """The partition, and the group's one offset in it; the record of a send stands for the offset committed."""

    __slots__ = ("committed", "pending")

    def __init__(self, env: Environment, partition: int, leader_epoch: int = 0) -> None:
        super().__init__(env, partition, leader_epoch)
        self.committed: Batch | None = None
        self.pending: dict[int, Batch] = {}  # by producer id: the last commit of its open transaction

    def checks_sequences(self) -> bool:
        return False

    def record_key(self) -> bytes:
        """A stand-in for (group, topic, partition): the topic is compacted, so nothing without a key survives."""
        return f"group-{self.partition - self.env.config.partitions}".encode()

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.pending[batch.producer_id] = batch

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch)
        pending = self.pending.pop(batch.producer_id, None)
        if pending is not None and batch.marker == 1 and self.is_newer(pending):
            self.committed = pending

    def is_newer(self, pending: Batch) -> bool:
        """Of two producers' commits the one written later counts, whichever transaction ends later."""
        return self.committed is None or pending.base_offset > self.committed.base_offset

    def is_stable(self) -> bool:
        """Whether no transaction holds a commit that may still become visible."""
        return not self.pending

    def fetch_offset(self) -> tuple[int, int]:
        """OffsetFetch with require_stable: (error, record of the committed offset), record -1 if there is none."""
        if not self.is_stable():
            return ErrorCode.UNSTABLE_OFFSET_COMMIT, -1
        return ErrorCode.NONE, -1 if self.committed is None else self.committed.record
