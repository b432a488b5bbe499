"""Brokers with one thing wrong each that no driver of the plug can bring out: only the scripts of known bugs use them.

It takes an upgrade, a partition without a leader, two coordinators at once, or a cleaner.
"""

from fencepost.reference_impl.transactions.brokers.compaction import CompactedLog
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.log import AbortedTxn, PartitionLog
from fencepost.reference_impl.transactions.brokers.markers import MarkerRound, Markers
from fencepost.reference_impl.transactions.brokers.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.brokers.states import TransactionLogValue
from fencepost.reference_impl.transactions.messages import Batch, WriteTxnMarkersRequest


class ChecksByFeature(PartitionLog):
    """A marker is checked as one of the version that the cluster has, not of the one that its transaction had."""

    def marker_refused(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> int:
        version = 2 if self.env.config.is_v2 else 0
        return super().marker_refused(entry, request._replace(transaction_version=version))


class MarkersWithLeader(Markers):
    """Only partitions that have a leader get a marker."""

    def marker_partitions(self, this_round: MarkerRound) -> list[int]:
        this_round.unwritten.difference_update(self.env.leaderless)
        return super().marker_partitions(this_round)


class TakesLeaderlessForDeleted(Coordinator):
    """A partition without a leader is one that no longer exists: it needs no marker (KAFKA-20734)."""

    markers_type = MarkersWithLeader


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
