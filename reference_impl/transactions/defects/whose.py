"""Coordinators that mix up whose transaction, producer id or partition it is.  `broken.py` says what each breaks."""

from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.markers import MarkerRound, Markers
from fencepost.reference_impl.transactions.brokers.states import TransactionMetadata, Transit
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.messages import AddOffsetsToTxnRequest, AddPartitionsToTxnRequest


class LastEpochIsNotFenced(Coordinator):
    """The fence of a producer that holds the last epoch to hand out leaves it there (txn.4, txn.18).

    The epoch above is reserved for just that: without it partitions take what the fenced one still sends.
    """

    def fenced_epoch(self, metadata: TransactionMetadata) -> int:
        return min(super().fenced_epoch(metadata), max(self.env.config.max_epoch - 1, metadata.now.producer_epoch))


class MarkersOfTheNextId(Markers):
    """The markers of an end that brings another producer id name that one."""

    def begin_completion(self, metadata: TransactionMetadata) -> MarkerRound:
        this_round = super().begin_completion(metadata)
        this_round.producer_id = this_round.target.producer_id
        return this_round


class RotationMarkersNameTheNextId(Coordinator):
    """Where the epochs are used up the markers name the producer id that comes after (txn.4, txn.10).

    No partition has a transaction of that one, and the one that is open stays open.
    """

    markers_type = MarkersOfTheNextId


class PartitionsStay(Markers):
    """A transaction that is complete still has its partitions."""

    def completed(self, metadata: TransactionMetadata) -> Transit:
        return super().completed(metadata)._replace(topic_partitions=metadata.now.topic_partitions)


class CompletionKeepsPartitions(Coordinator):
    """A completed transaction does not give up its partitions (txn.15).

    A leader that asks about a late batch is told that its transaction has the partition.
    """

    markers_type = PartitionsStay


class UnknownIdIsVerified(Coordinator):
    """A leader's question about a transactional id that nobody knows is answered yes: nobody has fenced it (txn.15)."""

    def verify(self, request: AddPartitionsToTxnRequest) -> int:
        error = super().verify(request)
        return ErrorCode.NONE if error and self.find(request.transactional_id) is None else error


class OffsetsOfTheFirstGroup(Coordinator):
    """AddOffsetsToTxn adds the offsets partition of the first group, whichever is asked for (txn.21)."""

    def partition_of(self, request: AddPartitionsToTxnRequest | AddOffsetsToTxnRequest) -> int:
        partition = super().partition_of(request)
        return min(partition, self.env.config.partitions)
