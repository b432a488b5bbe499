"""What can be wrong with offsets: who may commit them, who is told of them, and what a marker makes of them."""

from fencepost.reference_impl.group_fencing.brokers.classic_group import ClassicGroup
from fencepost.reference_impl.group_fencing.brokers.group_coordinator import GroupCoordinator
from fencepost.reference_impl.group_fencing.brokers.offsets import GroupOffsetsLog
from fencepost.reference_impl.group_fencing.messages import GroupMetadata, OffsetFetchRequest
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.messages import Batch


class AnyGenerationCommits(ClassicGroup):
    """A commit is not held against the group."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return 0


class PendingIgnored(GroupCoordinator):
    """An offset is told although a transaction may still change it."""

    def unstable(self, request: OffsetFetchRequest) -> int:
        return 0


class AbortKeepsPending(GroupOffsetsLog):
    """An abort leaves the pending offsets where they are, and fetches wait for ever."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        kept = self.pending.get(batch.producer_id)
        super().apply_marker(entry, batch)
        if batch.marker == 0 and kept is not None:
            self.pending[batch.producer_id] = kept
