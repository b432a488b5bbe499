"""Brokers with one thing wrong each that no driver of the plug can bring out: only the scripts of known bugs use them.

It takes an upgrade, a partition without a leader, or two coordinators at once.
"""

from fencepost.reference_impl.transactions.log import PartitionLog
from fencepost.reference_impl.transactions.messages import WriteTxnMarkersRequest
from fencepost.reference_impl.transactions.producer_state import ProducerEntry


class ChecksByFeature(PartitionLog):
    """A marker is checked as one of the version that the cluster has, not of the one that its transaction had."""

    def marker_refused(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> int:
        version = 2 if self.env.config.is_v2 else 0
        return super().marker_refused(entry, request._replace(transaction_version=version))
