"""Defects of offsets: when a commit is judged, who is told of them, and what a marker makes of them.

A transaction time-out of 1.5 s is longer than a rebalance takes in a free-running history; in mode group-id-only two
producers have offsets of one partition pending."""

from fencepost.reference_impl.group_fencing.brokers.group_coordinator import GroupCoordinator
from fencepost.reference_impl.group_fencing.brokers.offsets import GroupOffsetsLog
from fencepost.reference_impl.group_fencing.messages import OffsetFetchRequest, TxnOffsetCommitRequest
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.simulation.defects import CONFORMANCE, PROMISE, defect, plant
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.messages import Batch, ProduceResponse


@defect("447.16", PROMISE)
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


# 447.9: fetches wait for what is pending
@defect("447.9", PROMISE, transaction_timeout_ms=1_500)
class PendingIgnored(GroupCoordinator):
    """An offset is told although a transaction may still change it."""

    def unstable(self, request: OffsetFetchRequest) -> int:
        return 0


@defect("447.9", PROMISE, transaction_timeout_ms=1_500)
class PendingForgotten(GroupOffsetsLog):
    """What is pending is in the coordinator's memory only."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> "PendingForgotten":
        fresh = super().rebuilt(leader_epoch, restart)
        fresh.pending.clear()
        return fresh


@defect("447.9", PROMISE)
class ExpiryIgnoresPending(GroupOffsetsLog):
    """Offsets are deleted although a transaction is about to change them, and what is pending with them."""

    def expirable(self) -> list[int]:
        return sorted({*self.committed, *(partition for offsets in self.pending.values() for partition in offsets)})


@defect("447.9", PROMISE)
class AbortKeepsPending(GroupOffsetsLog):
    """An abort leaves the pending offsets where they are: fetches wait for them, and the producer's next commit makes
    them count."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        kept = self.pending.get(batch.producer_id)
        super().apply_marker(entry, batch)
        if batch.marker == 0 and kept is not None:
            self.pending[batch.producer_id] = kept


@defect("447.9", PROMISE)
class AbortCommitsOffsets(GroupOffsetsLog):
    """An abort makes the pending offsets count, as a commit does."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        kept = self.pending.get(batch.producer_id, {})
        super().apply_marker(entry, batch)
        self.committed |= kept


@defect("447.9", PROMISE, mode="draft", old=1, transaction_timeout_ms=1_500)
class OldClientsNotHeld(GroupCoordinator):
    """The draft's wait is for those only that know its error."""

    def unstable(self, request: OffsetFetchRequest) -> int:
        return super().unstable(request) if request.require_stable else 0


# 447.18 and the loop
plant("offsets_outside", "447.18", PROMISE, offsets_inside=False)


@defect("447.8", PROMISE, mode="draft", old=1)
class ReverseMapForgotten(GroupCoordinator):
    """Who committed last for a partition is in the coordinator's memory only."""

    def load(self, _: object) -> None:
        self.contributors.clear()
        super().load(_)


@defect("447.8", PROMISE, mode="draft", old=1)
class UndefinedGenerationPasses(GroupCoordinator):
    """A commit without a generation is not held against who committed last."""

    def is_overtaken(self, commit: TxnOffsetCommitRequest, partition: int) -> bool:
        return commit.metadata.generation >= 0 and super().is_overtaken(commit, partition)


# Several partitions in one transaction, and several producers at one partition
@defect("447.18", PROMISE, fetch_records=1)
class OneOfSeveralCommits(GroupOffsetsLog):
    """Of the offsets that a committed transaction has pending one counts from then on."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        for key in sorted(self.pending.get(batch.producer_id, ()))[1:] if batch.marker == 1 else ():
            del self.pending[batch.producer_id][key]
        super().apply_marker(entry, batch)


@defect("447.9", PROMISE)
class AbortDeletes(GroupOffsetsLog):
    """An abort leaves a tombstone for each partition of which an offset was pending."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        gone = self.pending.get(batch.producer_id, {}) if batch.marker == 0 else {}
        super().apply_marker(entry, batch)
        for key in gone:
            self.committed.pop(key, None)


@defect("txn.21", CONFORMANCE, mode="group-id-only")
class LastMarkerCounts(GroupOffsetsLog):
    """Of the commits of two producers the one counts whose transaction ends last, and not the one written last."""

    def is_newer(self, key: int, pending: Batch) -> bool:
        return True
