"""This module has the defects of transactions that need several coordinators, records or faults at once."""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Self

from fencepost.reference_impl.defects.transactions_partitions import ABORTS_MORE
from fencepost.reference_impl.kafka.clients.consumer import NOT_CONTROL, AbortedQueue, Reader
from fencepost.reference_impl.kafka.clients.producer import Producer
from fencepost.reference_impl.kafka.clients.sends import Lane, Sends, SentBatch
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.leader import PartitionLeader
from fencepost.reference_impl.kafka.log import (
    UNKNOWN,
    AbortedTxn,
    Appended,
    CompactedLog,
    OffsetsLog,
    PartitionLog,
    ProducerEntry,
)
from fencepost.reference_impl.kafka.messages import (
    ABORT,
    COMMIT,
    AbortedTransaction,
    AddPartitionsToTxnRequest,
    Batch,
    FetchResponse,
    InitProducerIdRequest,
    ProduceRequest,
    WriteTxnMarkersRequest,
)
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.kafka.transaction_states import (
    IDLE,
    TransactionLogValue,
    TransactionMetadata,
    TransactionState,
    Transit,
)
from fencepost.reference_impl.kafka.transaction_transitions import MarkerRound, Markers
from fencepost.reference_impl.simulation.defects import CONFORMANCE, PROGRESS, PROMISE, defect

# These defects need several transactional ids, producers, records per batch, fetches of a reader, offsets per commit or
# keys of a group, or a partition that forgets or restarts.


# several of something
@defect("txn.17", PROMISE)
class YoungestOpenCounts(PartitionLog):
    """The last stable offset is where the youngest open transaction begins (txn.17)."""

    def last_stable_offset(self) -> int:
        return max(self.open.values()) if self.open else len(self.batches)


@defect("txn.17", PROMISE)
class AbortedOfThePieceOnly(PartitionLog):
    """A fetch response lists only aborted transactions that begin within the fetched range (txn.17)."""

    def aborted_between(self, offset: int, upto: int) -> list[AbortedTransaction]:
        return [aborted for aborted in super().aborted_between(offset, upto) if aborted.first_offset >= offset]


@defect("txn.17", PROMISE)
class ReaderSkipsAllProducers(Reader):
    """In an aborted transaction's range the reader skips all transactional records (txn.17)."""

    def skipping(self, answer: FetchResponse) -> Iterator[Batch]:
        queue, ranges = self.aborted_queue(answer), 0
        for batch in answer.batches:
            while queue and queue[0].first_offset <= batch.base_offset:
                queue.popleft()
                ranges += 1
            if batch.marker != NOT_CONTROL:
                ranges -= int(batch.marker == ABORT and ranges > 0)
            elif not (batch.is_transactional and ranges):
                yield batch


@defect("txn.6", PROGRESS, mode="v2")
class PartitionsOfAnyId(Coordinator):
    """A partition in the open transaction of any transactional id counts as added already (txn.6)."""

    def add(self, request: AddPartitionsToTxnRequest, answer: Callable[[int], object]) -> None:
        metadata = self.find(request.transactional_id)
        others = (one.now for one in self.transactions.values() if one is not metadata)
        there = any(
            now.state == TransactionState.ONGOING and request.partition in now.topic_partitions for now in others
        )
        if metadata is not None and there and not self.add_refused(metadata, request):
            answer(ErrorCode.NONE)
        else:
            super().add(request, answer)


@defect("txn.19", PROMISE)
class IdleIdsAreCompacted(Coordinator):
    """The log loses the record of an idle id when another id has written one (txn.19)."""

    def recorded(self) -> dict[int, TransactionLogValue]:
        latest = [record.transactional_id for record in self.transaction_log.records][-1:]
        values = super().recorded().items()
        return {one: value for one, value in values if one in latest or value.transaction_status not in IDLE}


@defect("txn.13", CONFORMANCE, ABORTS_MORE)
class BatchesNumberedByTheFirst(PartitionLog):
    """A partition expects a batch to follow the first record before it, not the last (txn.13)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        first = entry.last_sequence
        super().apply_data(entry, batch)
        if batch.place:
            entry.last_sequence = first


class CountsBatches(Sends):
    """Sequence numbers go up by one with each batch, however many records it has (txn.13)."""

    def number_records(self, lane: Lane, batch: SentBatch) -> None:
        pass


@defect("txn.13", CONFORMANCE, ABORTS_MORE)
class ProducerCountsBatches(Producer):
    """The producer raises its sequence number by one with each batch, however many records it has (txn.13)."""

    sends_class = CountsBatches


@defect("txn.21", PROMISE, groups=1)
class OneOffsetOfACommit(OffsetsLog):
    """Of the offsets that one request commits, only the last is stored (txn.21)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.pending[batch.producer_id] = {self.key_of(batch): batch}


@defect("txn.17", PROMISE)
class AbortedAreForgotten(PartitionLog):
    """The aborted transactions of a producer leave the index when the partition forgets the producer (txn.17)."""

    def forget_idle(self) -> None:
        known = set(self.producers)
        super().forget_idle()
        gone = known - set(self.producers)
        self.aborted = [aborted for aborted in self.aborted if aborted.producer_id not in gone]


@defect("txn.13", CONFORMANCE, ABORTS_MORE, mode="v1")
class ForgottenStartAnew(PartitionLog):
    """A producer that was forgotten must start at sequence number 0, though its epoch goes on (txn.13)."""

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        return super().sequence_fits(entry, request) and not (entry is UNKNOWN and request.base_sequence > 0)


# several ids
@defect("txn.19", PROMISE, ids=2, clients=2)
class ReloadKnowsTheLatestId(Coordinator):
    """A new coordinator loads only the transactional id of the last record in the log (txn.19)."""

    def recorded(self) -> dict[int, TransactionLogValue]:
        found = super().recorded()
        there = [record.transactional_id for record in self.transaction_log.records if record.transactional_id in found]
        return {transactional_id: found[transactional_id] for transactional_id in there[-1:]}


@defect("txn.19", PROMISE, ids=2, clients=2)
class ProducerIdsCountedAnew(Coordinator):
    """Each new coordinator assigns producer ids by its own counter that starts at 0 (txn.19). After a failover a new
    transactional id gets the producer id of another one."""

    given = 0

    def find_or_create(self, request: InitProducerIdRequest) -> TransactionMetadata:
        known = request.transactional_id in self.transactions
        metadata = super().find_or_create(request)
        if not known:
            metadata.now = metadata.now._replace(producer_id=self.given)
            self.given += 1
        return metadata


@defect("txn.18", PROMISE, ids=2, clients=2)
class TimeOutTakesAll(Coordinator):
    """When one transaction times out, the coordinator fences and aborts every open transaction (txn.18)."""

    def is_timed_out(self, now: Transit) -> bool:
        due = any(super(TimeOutTakesAll, self).is_timed_out(other.now) for other in self.transactions.values())
        return due and now.state == TransactionState.ONGOING


@defect("txn.18", PROGRESS, ids=2, clients=2)
class TimeOutsStopAtTheFirstIdle(Coordinator):
    """The search for timed-out transactions ends at the first transactional id without an open transaction (txn.18)."""

    def abort_timed_out(self, _: object) -> None:
        known = self.transactions
        self.transactions = dict(takewhile(lambda one: one[1].now.state == TransactionState.ONGOING, known.items()))
        super().abort_timed_out(_)
        self.transactions = known
        if any(metadata.now.state == TransactionState.ONGOING for metadata in known.values()):
            self.watch_open()


class AnswersOfAnyId(Markers):
    """A partition's answer counts for every transaction that waits for a marker of that partition."""

    def note_written(self, this_round: MarkerRound, partition: int) -> None:
        others = [other for other in self.rounds.values() if other is not this_round and partition in other.unwritten]
        for one in (*others, this_round):
            super().note_written(one, partition)


@defect("txn.10", PROMISE, ids=2, clients=2)
class MarkersByPartitionOnly(Coordinator):
    """The coordinator distinguishes the markers that it waits for by partition, and not by transaction (txn.10)."""

    markers_type = AnswersOfAnyId


@defect("txn.10", PROMISE, ids=2, clients=2)
class MarkerEndsEveryTransaction(PartitionLog):
    """A marker ends every transaction that is open at the partition, so readers get undecided records (txn.10)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch)
        self.open.clear()


@defect("txn.17", PROMISE, mode="v1", ids=2, clients=3)
class RefusedBatchHoldsReadersUp(PartitionLog):
    """A transaction counts as open from the request for its first batch, even if the batch is refused (txn.17). The
    last stable offset stays where a fenced producer tried to write, whatever other producers commit behind it."""

    def append(self, request: ProduceRequest, guard: int) -> Appended:
        appended = super().append(request, guard)
        if appended.error and request.is_transactional and request.producer_id in self.producers:
            self.open.setdefault(request.producer_id, len(self.batches))
        return appended


@defect("txn.17", PROMISE, ids=2, clients=2)
class ListAsItComes(Reader):
    """The reader goes through the aborted transactions in the order in which they have ended (txn.17)."""

    def aborted_queue(self, answer: FetchResponse) -> AbortedQueue:
        return AbortedQueue(answer.aborted_transactions)


@defect("txn.21", PROMISE, ids=2, clients=2, groups=1)
class OnePendingCommitPerGroup(OffsetsLog):
    """The pending offsets of one transaction replace those of another in the same group (txn.21)."""

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.pending = {batch.producer_id: self.pending[batch.producer_id]}


# several records, keys and fetches, restarts, and partitions without a leader
@defect("txn.17", PROMISE)
class AbortedFromTheLastRecord(PartitionLog):
    """The index records where the first batch of an aborted transaction ends, instead of where it begins (txn.17)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        known = len(self.aborted)
        super().apply_marker(entry, batch)
        for aborted in self.aborted[known:]:
            first = self.end_of(aborted.first_offset, 1) - 1
            self.aborted[known] = aborted._replace(first_offset=min(first, aborted.last_offset - 1))


@defect("txn.17", PROMISE)
class ListOfWhatEndsInThePiece(PartitionLog):
    """A fetch response lists only the aborted transactions whose marker is in it (txn.17)."""

    def fetch(self, offset: int, committed: bool, most: int = 0) -> FetchResponse:
        answer = super().fetch(offset, committed, most)
        ended = {batch.producer_id for batch in answer.batches if batch.marker >= 0}
        return answer._replace(
            aborted_transactions=tuple(one for one in answer.aborted_transactions if one.producer_id in ended)
        )


@defect("txn.17", PROMISE, ids=2, clients=2)
class ListCutWithThePiece(PartitionLog):
    """A fetch response lists at most as many aborted transactions as it has room for batches (txn.17)."""

    def fetch(self, offset: int, committed: bool, most: int = 0) -> FetchResponse:
        answer = super().fetch(offset, committed, most)
        aborted: tuple[AbortedTransaction, ...] = answer.aborted_transactions
        return answer._replace(aborted_transactions=aborted[:most] if most else aborted)


@defect("txn.21", PROMISE, groups=1, keys=2)
class FirstKeyCommitted(OffsetsLog):
    """Of the offsets in one request, only the first becomes visible with the commit (txn.21)."""

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        pending = self.pending.get(batch.producer_id, {})
        if batch.marker == COMMIT and 0 in pending:
            self.pending[batch.producer_id] = {0: pending[0]}
        super().apply_marker(entry, batch)


@defect("txn.21", PROMISE, mode="v1", groups=1)
class RefusedOffsetStaysPending(OffsetsLog):
    """An offset is pending from its request on, even if the request is refused (txn.21). The refused offset of a fenced
    producer is then committed by the next marker of its producer id."""

    def append(self, request: ProduceRequest, guard: int) -> Appended:
        appended = super().append(request, guard)
        if appended.error:
            refused = Batch(
                len(self.batches), request.producer_id, request.producer_epoch, -1, request.record, True,
                self.env.now_ms, self.leader_epoch,
            )  # fmt: skip
            self.pending.setdefault(request.producer_id, {})[0] = refused
        return appended


@defect("txn.12", PROMISE, mode="v1", leader_change="restart")
class RestartForgetsIdleProducers(PartitionLog):
    """After a restart a partition knows only the producers that have an open transaction there (txn.12)."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        if restart or self.env.config.leader_change == "restart":
            for producer_id in fresh.producers.keys() - fresh.open.keys():
                del fresh.producers[producer_id]
        return fresh


# These are the defects of coordinators and partition leaders that lose state when they take over, and of those that
# check their timers too seldom.
#
# Drivers cannot bring out the defects that need an upgrade, a partition without a leader, two coordinators at once or a
# cleaner, so the scripts of known bugs use them.


# taking over, and timers
@defect("txn.25", PROMISE)
class ReloadForgetsPartitions(Coordinator):
    """A new coordinator loads no partitions of open transactions, and ends none there (txn.25)."""

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        if value.transaction_status == TransactionState.ONGOING:
            value = value._replace(transaction_partitions=frozenset())
        return super().reload(transactional_id, value)


@defect("txn.19", PROGRESS)
class ReloadForgetsTheClock(Coordinator):
    """A new coordinator looks for timed-out transactions only once another transaction has begun with it (txn.19)."""

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        watched = self._open_watched
        self._open_watched = True
        metadata = super().reload(transactional_id, value)
        self._open_watched = watched
        return metadata


@defect("txn.19", PROGRESS)
class ReloadResendsCommitsOnly(Coordinator):
    """A new coordinator goes on with commits in progress, but not with aborts in progress (txn.19)."""

    def carry_on(self, metadata: TransactionMetadata) -> None:
        if metadata.now.state != TransactionState.PREPARE_ABORT:
            super().carry_on(metadata)


class MarkersOfTheFirstReign(Markers):
    """These markers carry the epoch of the first coordinator."""

    def send_marker(self, this_round: MarkerRound, partition: int) -> None:
        reign, self.coordinator.coordinator_epoch = self.coordinator.coordinator_epoch, 0
        super().send_marker(this_round, partition)
        self.coordinator.coordinator_epoch = reign


@defect("txn.11", PROMISE, mode="v1")
class MarkersWithoutCoordinatorEpoch(Coordinator):
    """Markers carry no coordinator epoch, so those of a replaced coordinator cannot be distinguished (txn.11)."""

    markers_type = MarkersOfTheFirstReign


@defect("txn.18", PROGRESS)
class TimeOutsLookedForOnce(Coordinator):
    """The coordinator looks for timed-out transactions only once after a transaction has begun (txn.18)."""

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
    """A transactional id that has expired begins again with its former producer id (txn.20)."""

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
    """A new leader learns a producer's epoch from its records and not from markers (txn.12, txn.P9). A producer whose
    fence the leader before knew of may write again."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        for producer_id, entry in fresh.producers.items():
            mine = [b for b in fresh.batches if b.producer_id == producer_id and b.marker < 0]
            if mine and mine[-1].producer_epoch < entry.epoch:
                entry.epoch, entry.last_sequence = mine[-1].producer_epoch, mine[-1].base_sequence
        return fresh


@defect("txn.17", PROMISE)
class RebuiltWithoutOpen(PartitionLog):
    """A new leader does not know which transactions are open, so readers get undecided records (txn.17, txn.P9)."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        fresh.open.clear()
        return fresh


@defect("txn.17", PROMISE)
class RebuiltWithoutAbortedIndex(PartitionLog):
    """A new leader begins with an empty index of aborted transactions (txn.17, txn.P9)."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        fresh.aborted.clear()
        return fresh


@defect("txn.11", PROMISE, mode="v1")
class RebuiltWithoutCoordinatorEpochs(PartitionLog):
    """A new leader accepts markers of any coordinator, old ones included (txn.11, txn.P9)."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        for entry in fresh.producers.values():
            entry.coordinator_epoch = -1
        return fresh


@defect("txn.13", PROMISE, leader_change="restart")
class SnapshotKeepsTheOldestBatch(PartitionLog):
    """The snapshot has the oldest remembered batch of a producer instead of the newest (txn.13). After a restart the
    batches behind it count as new, and are written again when they are sent again."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        fresh = super().rebuilt(leader_epoch, restart)
        for producer_id, entry in fresh.producers.items():
            known = self.producers.get(producer_id)  # what is written outside transactions leaves no producer behind
            window = known.window if known is not None else ()
            if window and (restart or self.env.config.leader_change == "restart"):
                entry.window.clear()
                entry.window.append(window[0])
                entry.last_sequence = entry.window[0][0]
        return fresh


@defect("txn.15", PROMISE, mode="v2")
class WaitingSurviveTheChange(PartitionLeader):
    """Batches that wait for verification go on waiting at the next leader (txn.15). That leader has sent no
    verification request, so it refuses the batches when the answer arrives."""

    def change(self, restart: bool = False) -> None:
        waiting = dict(self.waiting)
        super().change(restart)
        self.waiting.update(waiting)


@defect("txn.21", PROMISE, groups=1)
class PendingOffsetsInMemoryOnly(OffsetsLog):
    """A new leader does not know the offsets of open transactions (txn.21, txn.P9)."""

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
    """The coordinator takes a partition without a leader for a deleted one that needs no marker (KAFKA-20734)."""

    markers_type = MarkersWithLeader


class ChecksByFeature(PartitionLog):
    """A partition checks a marker by the cluster's transaction version instead of the version of its transaction."""

    def marker_refused(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> int:
        version = 2 if self.env.config.is_v2 else 0
        return super().marker_refused(entry, request._replace(transaction_version=version))


class LoadsPastTheHighWatermark(Coordinator):
    """The coordinator loads the log to its end and acts on it at once, including records that only this replica has."""

    def waits_for_high_watermark(self) -> bool:
        return False

    def recorded(self) -> dict[int, TransactionLogValue]:
        return self.transaction_log.replay(to_the_end=True)


class IndexEndsWithTheMap(CompactedLog):
    """The cleaner stops collecting aborted transactions where its map of keys is full, but copies the rest."""

    def aborted_to_clean(self, mapped: int, end: int) -> list[AbortedTxn]:
        return [txn for txn in self.aborted if txn.first_offset < mapped]


class MarkersAreRecords(CompactedLog):
    """The cleaner removes a marker when a later record has its key."""

    def may_drop_marker(self, marker: Batch, latest: dict[bytes, int]) -> bool:
        superseded = latest.get(self.key_of(marker), -1) > marker.base_offset
        return superseded or super().may_drop_marker(marker, latest)
