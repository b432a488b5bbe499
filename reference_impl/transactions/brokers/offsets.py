"""The offsets partition of a consumer group: commits in a transaction are pending until its marker comes (txn.21).

Its writer is the group coordinator, not a client: batches have no sequence numbers, so a commit sent twice is written
twice, which commits the same offset. (OffsetMetadataManager.java)
"""

from fencepost.reference_impl.transactions.brokers.log import PartitionLog
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import Batch


class OffsetsLog(PartitionLog):
    """The partition, and the group's offsets in it, one for each partition of its input (`key`, from 0); the record of
    a send stands for the offset committed."""

    __slots__ = ("committed", "pending")

    def __init__(self, env: Environment, partition: int, leader_epoch: int = 0) -> None:
        super().__init__(env, partition, leader_epoch)
        self.committed: dict[int, Batch] = {}  # by key
        self.pending: dict[int, dict[int, Batch]] = {}  # by producer id and key: the last of its open transaction

    def checks_sequences(self) -> bool:
        return False

    def record_key(self) -> bytes:
        """A stand-in for (group, topic, partition): the topic is compacted, so nothing without a key survives."""
        return f"group-{self.partition - self.env.config.partitions}".encode()

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.pending.setdefault(batch.producer_id, {})[self.key_of(batch)] = batch

    def key_of(self, batch: Batch) -> int:
        """Of which partition of the group's input the offset is: those of one request come in order."""
        return batch.place

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch)
        pending = self.pending.pop(batch.producer_id, None)
        if pending is not None and batch.marker == 1:
            self.committed |= {key: offset for key, offset in pending.items() if self.is_newer(key, offset)}

    def is_newer(self, key: int, pending: Batch) -> bool:
        """Of two producers' commits the one written later counts, whichever transaction ends later."""
        return key not in self.committed or pending.base_offset > self.committed[key].base_offset

    def is_stable(self, key: int = 0) -> bool:
        """Whether no transaction holds a commit for this key that may still become visible."""
        return not any(key in offsets for offsets in self.pending.values())

    def fetch_offset(self, key: int = 0) -> tuple[int, int]:
        """OffsetFetch with require_stable: (error, record of the committed offset), record -1 if there is none."""
        if not self.is_stable(key):
            return ErrorCode.UNSTABLE_OFFSET_COMMIT, -1
        return ErrorCode.NONE, self.committed[key].record if key in self.committed else -1
