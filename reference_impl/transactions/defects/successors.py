"""Defects of coordinators and partition leaders that take over and do not find all that the one before them knew, and
of those that look at the clock too seldom.

Those that need an upgrade, a partition without a leader, two coordinators at once or a cleaner can't be brought out by
a driver: the scripts of known bugs use them."""

from typing import Self

from fencepost.reference_impl.simulation.defects import PROGRESS, PROMISE, defect
from fencepost.reference_impl.transactions.brokers.compaction import CompactedLog
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.leader import PartitionLeader
from fencepost.reference_impl.transactions.brokers.log import AbortedTxn, PartitionLog
from fencepost.reference_impl.transactions.brokers.markers import MarkerRound, Markers
from fencepost.reference_impl.transactions.brokers.offsets import OffsetsLog
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.brokers.states import (
    TransactionLogValue,
    TransactionMetadata,
    TransactionState,
)
from fencepost.reference_impl.transactions.messages import Batch, InitProducerIdRequest, WriteTxnMarkersRequest


# taking over, and looking at the clock
@defect("txn.25", PROMISE)
class ReloadForgetsPartitions(Coordinator):
    """The partitions of a transaction that is still open are not loaded (txn.25): its end reaches none of them."""

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        if value.transaction_status == TransactionState.ONGOING:
            value = value._replace(transaction_partitions=frozenset())
        return super().reload(transactional_id, value)


@defect("txn.19", PROGRESS)
class ReloadForgetsTheClock(Coordinator):
    """A new coordinator looks for transactions whose time is up only from the next one that begins with it (txn.19)."""

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        watched = self._open_watched
        self._open_watched = True
        metadata = super().reload(transactional_id, value)
        self._open_watched = watched
        return metadata


@defect("txn.19", PROGRESS)
class ReloadResendsCommitsOnly(Coordinator):
    """A new coordinator goes on with what is being committed, and takes an abort for harmless (txn.19)."""

    def carry_on(self, metadata: TransactionMetadata) -> None:
        if metadata.now.state != TransactionState.PREPARE_ABORT:
            super().carry_on(metadata)


class MarkersOfTheFirstReign(Markers):
    """Markers say that they are the first coordinator's."""

    def send_marker(self, this_round: MarkerRound, partition: int) -> None:
        reign, self.coordinator.coordinator_epoch = self.coordinator.coordinator_epoch, 0
        super().send_marker(this_round, partition)
        self.coordinator.coordinator_epoch = reign


@defect("txn.11", PROMISE, mode="v1")
class MarkersWithoutCoordinatorEpoch(Coordinator):
    """Markers carry no epoch of their coordinator: those of one that was replaced cannot be told apart (txn.11)."""

    markers_type = MarkersOfTheFirstReign


@defect("txn.18", PROGRESS)
class TimeOutsLookedForOnce(Coordinator):
    """Transactions whose time is up are looked for once after one has begun, and then not again (txn.18)."""

    looking = False

    def abort_timed_out(self, _: object) -> None:
        self.looking = True
        super().abort_timed_out(_)
        self.looking = False

    def watch_open(self, again: bool = False) -> None:
        if not (self.looking or again):
            super().watch_open()


@defect("txn.20", PROMISE)
class ExpiredIdGetsItsOldPair(Coordinator):
    """A transactional id that was forgotten begins anew with the producer id that it had (txn.20)."""

    def find_or_create(self, request: InitProducerIdRequest) -> TransactionMetadata:
        known = request.transactional_id in self.transactions
        metadata = super().find_or_create(request)
        if not known:
            earlier = [
                record.value.producer_id
                for record in self.transaction_log.records
                if record.transactional_id == request.transactional_id and record.value is not None
            ]
            metadata.now = metadata.now._replace(producer_id=(earlier or [metadata.now.producer_id])[-1])
        return metadata


@defect("txn.12", PROMISE, mode="v1")
class RebuiltWithoutMarkerEpochs(PartitionLog):
    """A new leader learns a producer's epoch from its records, and not from markers (txn.12, txn.P9).

    A producer whose fence the leader before had heard of may write again.
    """

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        for producer_id, entry in fresh.producers.items():
            mine = [b for b in fresh.batches if b.producer_id == producer_id and b.marker < 0]
            if mine and mine[-1].producer_epoch < entry.epoch:
                entry.epoch, entry.last_sequence = mine[-1].producer_epoch, mine[-1].base_sequence
        return fresh


@defect("txn.17", PROMISE)
class RebuiltWithoutOpen(PartitionLog):
    """A new leader does not know which transactions are open: readers get what is not decided (txn.17, txn.P9)."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        fresh.open.clear()
        return fresh


@defect("txn.17", PROMISE)
class RebuiltWithoutAbortedIndex(PartitionLog):
    """The index of aborted transactions is the old leader's own: the new one's begins empty (txn.17, txn.P9)."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        fresh.aborted.clear()
        return fresh


@defect("txn.11", PROMISE, mode="v1")
class RebuiltWithoutCoordinatorEpochs(PartitionLog):
    """A new leader takes markers of any coordinator: which was the newest is not in what it reads (txn.11, txn.P9)."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        for entry in fresh.producers.values():
            entry.coordinator_epoch = -1
        return fresh


@defect("txn.13", PROMISE, leader_change="restart")
class SnapshotKeepsTheOldestBatch(PartitionLog):
    """Of the batches that a leader remembers of a producer the snapshot has the oldest, not the newest (txn.13).

    After a restart the ones behind it are new: sent again, they are written again.
    """

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        for producer_id, entry in fresh.producers.items():
            known = self.producers.get(producer_id)  # what is written beside transactions leaves no producer behind
            window = known.window if known is not None else ()
            if window and (restart or self.env.config.leader_change == "restart"):
                entry.window.clear()
                entry.window.append(window[0])
                entry.last_sequence = entry.window[0][0]
        return fresh


@defect("txn.15", PROMISE, mode="v2")
class WaitingSurviveTheChange(PartitionLeader):
    """Batches that wait for the coordinator's answer go on waiting at the next leader (txn.15).

    That leader has not asked: when the answer comes, it refuses them for good.
    """

    def change(self, restart: bool = False) -> None:
        waiting = dict(self.waiting)
        super().change(restart)
        self.waiting.update(waiting)


@defect("txn.21", PROMISE, groups=1)
class PendingOffsetsInMemoryOnly(OffsetsLog):
    """The offsets of open transactions are in the memory of the leader that took them (txn.21, txn.P9)."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        fresh.pending.clear()
        return fresh


class MarkersWithLeader(Markers):
    """Only partitions that have a leader get a marker."""

    def marker_partitions(self, this_round: MarkerRound) -> list[int]:
        this_round.unwritten.difference_update(self.env.leaderless)
        return super().marker_partitions(this_round)


@defect("txn.26", PROMISE)
class LeaderlessTakenForDeleted(Coordinator):
    """A partition without a leader is one that no longer exists: it needs no marker (KAFKA-20734)."""

    markers_type = MarkersWithLeader


class ChecksByFeature(PartitionLog):
    """A marker is checked as one of the version that the cluster has, not of the one that its transaction had."""

    def marker_refused(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> int:
        version = 2 if self.env.config.is_v2 else 0
        return super().marker_refused(entry, request._replace(transaction_version=version))


class LoadsPastTheHighWatermark(Coordinator):
    """The log is loaded to its end, and acted on at once: a record that only this replica has counts as well."""

    def waits_for_high_watermark(self) -> bool:
        return False

    def recorded(self) -> dict[int, TransactionLogValue]:
        return self.transaction_log.replay(to_the_end=True)


class IndexEndsWithTheMap(CompactedLog):
    """Where the map of keys is full the cleaner stops to collect aborted transactions, though it copies the rest."""

    def aborted_to_clean(self, mapped: int, end: int) -> list[AbortedTxn]:
        return [txn for txn in self.aborted if txn.first_offset < mapped]


class MarkersAreRecords(CompactedLog):
    """A marker goes when a later record has its key."""

    def may_drop_marker(self, marker: Batch, latest: dict[bytes, int]) -> bool:
        superseded = latest.get(self.key_of(marker), -1) > marker.base_offset
        return superseded or super().may_drop_marker(marker, latest)
