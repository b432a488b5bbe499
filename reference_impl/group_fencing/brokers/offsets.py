"""The offsets partition, whose commits name the partitions of the input that they are of.

Pending, committed and aborted offsets are the business of the transactions below; here is what a record carries, and
the commit without a transaction. (OffsetMetadataManager.java)
"""

from fencepost.reference_impl.group_fencing.environment import Environment
from fencepost.reference_impl.group_fencing.messages import NO_OFFSET
from fencepost.reference_impl.transactions.brokers.log import PartitionLog
from fencepost.reference_impl.transactions.brokers.offsets import OffsetsLog
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.messages import Batch


class GroupOffsetsLog(OffsetsLog):
    """The partition with the group's offsets."""

    __slots__ = ()

    env: Environment

    def key_of(self, batch: Batch) -> int:
        return self.env.contents[batch.record].partition

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        """An offset in no transaction counts at once."""
        if batch.is_transactional:
            super().apply_data(entry, batch)
        else:
            PartitionLog.apply_data(self, entry, batch)
            self.committed[self.key_of(batch)] = batch
            if self.env.contents[batch.record].offset == NO_OFFSET:
                self.forget_pending(self.key_of(batch))

    def forget_pending(self, partition: int) -> None:
        """A tombstone also takes what is pending for the partition, in every transaction."""
        for offsets in self.pending.values():
            offsets.pop(partition, None)

    def expirable(self) -> list[int]:
        """The partitions whose offset may be deleted: none that a transaction may still change."""
        return [partition for partition in sorted(self.committed) if self.is_stable(partition)]

    def committed_offset(self, partition: int) -> int:
        """The offset that counts for a partition of the input, -1 for none."""
        batch = self.committed.get(partition)
        return NO_OFFSET if batch is None else self.env.contents[batch.record].offset
