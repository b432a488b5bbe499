"""Coordinators that go wrong where there are several transactional ids.  `broken.py` says what each of them breaks."""

from itertools import takewhile

from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.markers import MarkerRound, Markers
from fencepost.reference_impl.transactions.brokers.states import (
    TransactionLogValue,
    TransactionMetadata,
    TransactionState,
    Transit,
)
from fencepost.reference_impl.transactions.messages import InitProducerIdRequest


class ReloadKnowsTheLatestId(Coordinator):
    """A new coordinator loads the id of the last record in the log, and no other (txn.19)."""

    def recorded(self) -> dict[int, TransactionLogValue]:
        found = super().recorded()
        there = [record.transactional_id for record in self.transaction_log.records if record.transactional_id in found]
        return {transactional_id: found[transactional_id] for transactional_id in there[-1:]}


class ProducerIdsCountedAnew(Coordinator):
    """A coordinator counts the producer ids that it gives to transactional ids, from 0 in every reign (txn.19).

    After a fail-over an id that is new has the producer id of another one.
    """

    given = 0

    def find_or_create(self, request: InitProducerIdRequest) -> TransactionMetadata:
        known = request.transactional_id in self.transactions
        metadata = super().find_or_create(request)
        if not known:
            metadata.now = metadata.now._replace(producer_id=self.given)
            self.given += 1
        return metadata


class TimeOutTakesAll(Coordinator):
    """When one transaction's time is up every open transaction is fenced and aborted (txn.18)."""

    def is_timed_out(self, now: Transit) -> bool:
        due = any(super(TimeOutTakesAll, self).is_timed_out(other.now) for other in self.transactions.values())
        return due and now.state == TransactionState.ONGOING


class TimeOutsStopAtTheFirstIdle(Coordinator):
    """The search for transactions whose time is up ends at the first id that has none open (txn.18)."""

    def abort_timed_out(self, _: object) -> None:
        known = self.transactions
        self.transactions = dict(takewhile(lambda one: one[1].now.state == TransactionState.ONGOING, known.items()))
        super().abort_timed_out(_)
        self.transactions = known
        if any(metadata.now.state == TransactionState.ONGOING for metadata in known.values()):
            self.watch_open()


class AnswersOfAnyId(Markers):
    """A partition's answer counts for every transaction that waits for that partition."""

    def note_written(self, this_round: MarkerRound, partition: int) -> None:
        others = [other for other in self.rounds.values() if other is not this_round and partition in other.unwritten]
        for one in (*others, this_round):
            super().note_written(one, partition)


class MarkersByPartitionOnly(Coordinator):
    """Markers that are waited for are told apart by partition, and not by whose transaction they end (txn.10)."""

    markers_type = AnswersOfAnyId
