"""What can be wrong with offsets: when a commit is judged, who is told of them, and what a marker makes of them."""

from fencepost.reference_impl.group_fencing.brokers.group_coordinator import GroupCoordinator
from fencepost.reference_impl.group_fencing.brokers.offsets import GroupOffsetsLog
from fencepost.reference_impl.group_fencing.messages import OffsetFetchRequest, TxnOffsetCommitRequest
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.messages import Batch, ProduceResponse


class JudgedTooEarly(GroupCoordinator):
    """A commit is held against the group when it comes in, and not when the transaction coordinator has spoken."""

    def receive_commit(self, message: Message) -> None:
        commit: TxnOffsetCommitRequest = message.body.data
        if error := super().commit_refused(commit):
            self.reply(message, ProduceResponse(error))
        else:
            super().receive_commit(message)

    def commit_refused(self, commit: TxnOffsetCommitRequest) -> int:
        return 0


class PendingIgnored(GroupCoordinator):
    """An offset is told although a transaction may still change it."""

    def unstable(self, request: OffsetFetchRequest) -> int:
        return 0


class OldClientsNotHeld(GroupCoordinator):
    """The draft's wait is for those only that know its error."""

    def unstable(self, request: OffsetFetchRequest) -> int:
        return super().unstable(request) if request.require_stable else 0


class AbortKeepsPending(GroupOffsetsLog):
    """An abort leaves the pending offsets where they are: fetches wait for them, and the producer's next commit makes
    them count."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        kept = self.pending.get(batch.producer_id)
        super().apply_marker(entry, batch)
        if batch.marker == 0 and kept is not None:
            self.pending[batch.producer_id] = kept


class AbortCommitsOffsets(GroupOffsetsLog):
    """An abort makes the pending offsets count, as a commit does."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        kept = self.pending.get(batch.producer_id, {})
        super().apply_marker(entry, batch)
        self.committed |= kept


class ExpiryIgnoresPending(GroupOffsetsLog):
    """Offsets are deleted although a transaction is about to change them, and what is pending with them."""

    def expirable(self) -> list[int]:
        return sorted({*self.committed, *(partition for offsets in self.pending.values() for partition in offsets)})


class PendingForgotten(GroupOffsetsLog):
    """What is pending is in the coordinator's memory only."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> "PendingForgotten":
        fresh = super().rebuilt(leader_epoch, restart)
        fresh.pending.clear()
        return fresh


class ReverseMapForgotten(GroupCoordinator):
    """Who committed last for a partition is in the coordinator's memory only."""

    def load(self, _: object) -> None:
        self.contributors.clear()
        super().load(_)


class UndefinedGenerationPasses(GroupCoordinator):
    """A commit without a generation is not held against who committed last."""

    def is_overtaken(self, commit: TxnOffsetCommitRequest, partition: int) -> bool:
        return commit.metadata.generation >= 0 and super().is_overtaken(commit, partition)


class OneOfSeveralCommits(GroupOffsetsLog):
    """Of the offsets that a committed transaction has pending one counts from then on."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        for key in sorted(self.pending.get(batch.producer_id, ()))[1:] if batch.marker == 1 else ():
            del self.pending[batch.producer_id][key]
        super().apply_marker(entry, batch)


class AbortDeletes(GroupOffsetsLog):
    """An abort leaves a tombstone for each partition of which an offset was pending."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        gone = self.pending.get(batch.producer_id, {}) if batch.marker == 0 else {}
        super().apply_marker(entry, batch)
        for key in gone:
            self.committed.pop(key, None)


class LastMarkerCounts(GroupOffsetsLog):
    """Of the commits of two producers the one counts whose transaction ends last, and not the one written last."""

    def is_newer(self, key: int, pending: Batch) -> bool:
        return True
