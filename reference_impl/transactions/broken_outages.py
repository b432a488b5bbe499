"""Brokers with one thing wrong each that no driver of the plug can bring out: only the scripts of known bugs use them.

It takes an upgrade, a partition without a leader, or two coordinators at once.
"""

from fencepost.reference_impl.transactions.coordinator import Coordinator
from fencepost.reference_impl.transactions.log import PartitionLog
from fencepost.reference_impl.transactions.markers import MarkerRound
from fencepost.reference_impl.transactions.messages import WriteTxnMarkersRequest
from fencepost.reference_impl.transactions.producer_state import ProducerEntry
from fencepost.reference_impl.transactions.states import TransactionLogValue


class ChecksByFeature(PartitionLog):
    """A marker is checked as one of the version that the cluster has, not of the one that its transaction had."""

    def marker_refused(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> int:
        version = 2 if self.env.config.is_v2 else 0
        return super().marker_refused(entry, request._replace(transaction_version=version))


class TakesLeaderlessForDeleted(Coordinator):
    """A partition without a leader is one that no longer exists: it needs no marker (KAFKA-20734)."""

    def marker_partitions(self, this_round: MarkerRound) -> list[int]:
        this_round.unwritten.difference_update(self.env.leaderless)
        return super().marker_partitions(this_round)


class LoadsPastTheHighWatermark(Coordinator):
    """The log is loaded to its end, and acted on at once: a record that only this replica has counts as well."""

    def waits_for_high_watermark(self) -> bool:
        return False

    def recorded(self) -> dict[int, TransactionLogValue]:
        return self.transaction_log.replay(to_the_end=True)
