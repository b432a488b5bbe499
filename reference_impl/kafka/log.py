"""This module has a partition's log with its producers' state, fetches, committed offsets, and compaction."""

from bisect import bisect_left
from collections import deque
from typing import NamedTuple, Self

from fencepost.reference_impl.kafka.environment import Environment
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import (
    AbortedTransaction,
    Batch,
    FetchResponse,
    ProduceRequest,
    WriteTxnMarkersRequest,
)

# A partition's state of one producer. (ProducerStateEntry.java, VerificationStateEntry.java)

WINDOW = 5  # batches that answer a duplicate: as many as a producer may have in flight (txn.14)
SEQUENCE_MAX = 2**31 - 1

NO_GUARD = 0  # the guard of a batch that was not verified


class ProducerEntry:
    """A `ProducerEntry` has a producer's epochs and the last batches of its current epoch as (first sequence, offset),
    oldest first. ``last_sequence`` is that of the last record. ``written_ms`` is when the producer last wrote here."""

    __slots__ = ("coordinator_epoch", "epoch", "last_sequence", "window", "written_ms")

    def __init__(self) -> None:
        self.epoch = -1
        self.coordinator_epoch = -1
        self.last_sequence = -1
        self.written_ms = 0
        self.window: deque[tuple[int, int]] = deque(maxlen=WINDOW)


class Verification:
    """A `Verification` is an unsettled verification request to the coordinator: its identity and the lowest sequence
    number that waits for it."""

    __slots__ = ("epoch", "guard", "lowest_sequence")

    def __init__(self, guard: int, epoch: int, lowest_sequence: int) -> None:
        self.guard = guard
        self.epoch = epoch
        self.lowest_sequence = lowest_sequence


UNKNOWN = ProducerEntry()  # the entry of an unknown producer, which is never changed


def follows(last: int, sequence: int) -> bool:
    """Return whether ``sequence`` comes right after ``last`` (-1 for none). int32 wraps to 0."""
    return sequence == (0 if last == SEQUENCE_MAX else last + 1)


# A partition's log: what may be written into it, what follows from it for producers, and how far readers may read.
#
# `append` and `append_marker` make the checks that batches and markers pass, in Kafka's order, each a method. `batches`
# has the records of all batches, each with its batch's header, so that an offset is a position in it; with one replica
# the high watermark is the log's end. All but the verification entries can be rebuilt from the batches alone.
# (ProducerAppendInfo.java, ProducerStateManager.java, UnifiedLog.java)

PRODUCER_EXPIRATION_MS = 24 * 3600 * 1000  # producer.id.expiration.ms


class Appended(NamedTuple):
    """An `Appended` is the result of an append: an error, or the offset. ``duplicate`` means that the offset is that of
    an earlier copy of the batch."""

    error: int
    offset: int = -1
    duplicate: bool = False


class AbortedTxn(NamedTuple):
    """An `AbortedTxn` is an entry of the aborted index. ``last_stable_offset`` is that after its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class PartitionLog:
    """A `PartitionLog` is one partition at its leader. The verification entries are in the leader's memory only."""

    __slots__ = ("_guards", "aborted", "batches", "env", "leader_epoch", "open", "partition", "producers", "verifying")

    def __init__(self, env: Environment, partition: int, leader_epoch: int = 0) -> None:
        self.env = env
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.batches: list[Batch] = []
        self.producers: dict[int, ProducerEntry] = {}
        self.open: dict[int, int] = {}  # producer id -> first offset of its open transaction
        self.aborted: list[AbortedTxn] = []
        self.verifying: dict[int, Verification] = {}
        self._guards = 0

    # What producers append

    def append(self, request: ProduceRequest, guard: int) -> Appended:
        """Check a batch in Kafka's order and write it. ``guard`` is the one of its verification."""
        entry = self.producers.get(request.producer_id, UNKNOWN)
        offset = self.duplicate_of(entry, request)
        if offset >= 0:
            return Appended(ErrorCode.NONE, offset, duplicate=True)
        error = self.append_refused(entry, request, guard)
        if error:
            return Appended(error)
        first = len(self.batches)
        for place, record in enumerate(request.records):
            self.write(
                Batch(
                    first + place, request.producer_id, request.producer_epoch,
                    self.sequence_at(request.base_sequence, place), record, request.is_transactional, self.env.now_ms,
                    self.leader_epoch, place=place,
                )
            )  # fmt: skip
        return Appended(ErrorCode.NONE, first)

    def sequence_at(self, base_sequence: int, place: int) -> int:
        """Return the sequence number of the record at this place of a batch. int32 wraps to 0 (txn.13)."""
        return base_sequence if base_sequence < 0 else (base_sequence + place) % (SEQUENCE_MAX + 1)

    def append_refused(self, entry: ProducerEntry, request: ProduceRequest, guard: int) -> int:
        """Return the error for a new batch, or 0. In 4.3 the epoch is checked first (KAFKA-19690)."""
        if self.env.config.is_recent and self.is_fenced(entry, request.producer_epoch):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if self.needs_guard(request) and not self.guard_matches(request.producer_id, guard):
            return ErrorCode.INVALID_TXN_STATE
        if self.is_fenced(entry, request.producer_epoch):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if self.checks_sequences() and not self.sequence_fits(entry, request):
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if not request.is_transactional and request.producer_id in self.open:
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.NONE

    def duplicate_of(self, entry: ProducerEntry, request: ProduceRequest) -> int:
        """Return the offset of the same batch among the last five of this epoch, or -1 (txn.14)."""
        if not self.checks_sequences() or entry.epoch != request.producer_epoch:
            return -1
        for sequence, offset in entry.window:
            if sequence == request.base_sequence:
                return offset
        return -1

    def is_fenced(self, entry: ProducerEntry, epoch: int) -> bool:
        """Return whether the epoch is lower than the known one, which fences its producer (txn.12)."""
        return epoch < entry.epoch

    def is_older(self, request: ProduceRequest) -> bool:
        """Return whether a batch's epoch is over, so it needs no verification."""
        return self.is_fenced(self.producers.get(request.producer_id, UNKNOWN), request.producer_epoch)

    def checks_sequences(self) -> bool:
        """Return whether batches have sequence numbers, which offsets that a group coordinator writes do not have."""
        return True

    def sequence_fits(self, entry: ProducerEntry, request: ProduceRequest) -> bool:
        """Return whether the sequence number follows the last one, or is 0 in a new epoch. An unknown producer may
        start anywhere (txn.13)."""
        sequence = request.base_sequence
        verification = self.verifying.get(request.producer_id)
        if verification is not None:
            if sequence > verification.lowest_sequence:
                return False  # an earlier batch of the same transaction is still waiting for its verification
            if self.env.config.is_v2 and entry is UNKNOWN and sequence != 0:
                return False
        if entry.epoch == -1:
            return True
        if request.producer_epoch != entry.epoch:
            return sequence == 0
        return follows(entry.last_sequence, sequence)

    # What the coordinator appends

    def append_marker(self, request: WriteTxnMarkersRequest) -> Appended:
        """Check a marker and write it, whether or not there is a transaction to end."""
        entry = self.producers.get(request.producer_id, UNKNOWN)
        error = self.marker_refused(entry, request)
        if error:
            return Appended(error)
        batch = Batch(
            len(self.batches), request.producer_id, request.producer_epoch, -1, -1, True, self.env.now_ms,
            self.leader_epoch, int(request.transaction_result), request.coordinator_epoch,
        )  # fmt: skip
        self.write(batch)
        return Appended(ErrorCode.NONE, batch.base_offset)

    def marker_refused(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> int:
        """Return error 47 for an old producer epoch, 52 for an old coordinator (txn.11), or 0 for none."""
        if self.is_fenced(entry, request.producer_epoch):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if request.transaction_version >= 2 and not self.marker_is_new(entry, request):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if self.is_old_coordinator(entry, request):
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    def marker_is_new(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        """Return whether a v2 marker has a higher epoch than the records that it ends. An equal epoch means a retry or
        a late copy (KIP-1228).

        With no transaction open such a marker does no harm and is answered with success. With one open, the marker
        belongs to the transaction before and must not end this one. The epoch that is never handed out is an exception:
        since 4.3 a transaction that is open under it, by a mistake of an earlier release, is ended (KAFKA-20090,
        ProducerAppendInfo.java).
        """
        if request.producer_epoch > entry.epoch or request.producer_id not in self.open:
            return True
        return self.env.config.is_recent and request.producer_epoch == self.env.config.max_epoch

    def is_old_coordinator(self, entry: ProducerEntry, request: WriteTxnMarkersRequest) -> bool:
        """Return whether the marker's coordinator has been replaced since (txn.11)."""
        return request.coordinator_epoch < entry.coordinator_epoch

    # Verification (KIP-890)

    def needs_guard(self, request: ProduceRequest) -> bool:
        """Return whether the batch would begin a transaction here and needs verification (txn.15)."""
        asks = self.env.config.asks_coordinator and request.is_transactional
        return asks and not self.has_open_transaction(request.producer_id, request.producer_epoch)

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        return producer_id in self.open and self.producers[producer_id].epoch == epoch

    def has_older_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Return whether a transaction of an older epoch is open, whose marker has to come first (txn.16)."""
        return producer_id in self.open and self.producers[producer_id].epoch < epoch

    def start_verification(self, request: ProduceRequest) -> int:
        """Return the guard for a verification, which all waiting batches of a producer share."""
        verification = self.verifying.get(request.producer_id)
        if verification is None or verification.epoch < request.producer_epoch:
            self._guards += 1
            verification = Verification(self._guards, request.producer_epoch, request.base_sequence)
            self.verifying[request.producer_id] = verification
        elif verification.epoch == request.producer_epoch:
            verification.lowest_sequence = min(verification.lowest_sequence, request.base_sequence)
        return verification.guard

    def guard_matches(self, producer_id: int, guard: int) -> bool:
        """Return whether the answered verification is the one now open, which a marker in between ends (txn.15)."""
        verification = self.verifying.get(producer_id)
        return verification is not None and guard == verification.guard

    def ends_verification(self, batch: Batch) -> bool:
        """Return whether the batch makes an outstanding verification void, as every record or marker of a transaction
        does.

        A v2 marker of the epoch being verified is an exception: it ends the transaction before, and the verification is
        about the one after it. (KAFKA-18654, UnifiedLog.updateProducers: in 4.0.0 and since)
        """
        question = self.verifying.get(batch.producer_id)
        of_next = question is not None and batch.marker >= 0 and batch.producer_epoch == question.epoch
        return batch.is_transactional and not (self.env.config.is_v2 and of_next)

    # What is written

    def write(self, batch: Batch) -> None:
        """Append a batch, apply it to the state, and settle the producer's open verification."""
        self.batches.append(batch)
        entry = self.producers.get(batch.producer_id)
        if entry is None:
            entry = self.producers[batch.producer_id] = ProducerEntry()
        entry.written_ms = batch.timestamp_ms
        if batch.producer_epoch != entry.epoch:
            self.enter_epoch(entry, batch.producer_epoch)
        if batch.marker < 0:
            self.apply_data(entry, batch)
        else:
            self.apply_marker(entry, batch)
        if self.verifying and self.ends_verification(batch):
            self.verifying.pop(batch.producer_id, None)

    def enter_epoch(self, entry: ProducerEntry, epoch: int) -> None:
        """Enter a new epoch, which resets duplicates and sequence numbers (txn.13, txn.14)."""
        entry.epoch = epoch
        entry.window.clear()
        entry.last_sequence = -1

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        """Remember a record's sequence number, and where its batch and its transaction began."""
        entry.last_sequence = batch.base_sequence
        if batch.place == 0:
            entry.window.append((batch.base_sequence, batch.base_offset))
        if batch.is_transactional:
            self.open.setdefault(batch.producer_id, batch.base_offset)

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        """End the open transaction, if any, and add an aborted one to the index for readers."""
        entry.coordinator_epoch = batch.coordinator_epoch
        first = self.open.pop(batch.producer_id, None)
        if batch.marker == 0:
            if first is not None:
                stable = self.last_stable_offset()
                self.aborted.append(AbortedTxn(batch.producer_id, first, batch.base_offset, stable))
            if self.clears_window_on_abort():
                entry.window.clear()

    def clears_window_on_abort(self) -> bool:
        """Return whether an abort clears the window of duplicates, so that an aborted batch does not count as a copy of
        the next transaction's (txn.14).

        Within one epoch (v1) the numbers go on, and only the old offsets are forgotten. This is stricter than Kafka,
        whose client requests another epoch before it reuses a number, and whose leader recognises duplicates of aborted
        batches as well.
        """
        return not self.env.config.is_recent

    def forget_idle(self) -> None:
        """Delete the state of producers that have no open transaction and have written nothing for too long."""
        for producer_id in self.producers.keys() - self.open.keys():
            if self.expires_ms(self.producers[producer_id]) <= self.env.now_ms:
                del self.producers[producer_id]

    def next_expiry_ms(self) -> int | None:
        idle = self.producers.keys() - self.open.keys()
        return min((self.expires_ms(self.producers[producer_id]) for producer_id in idle), default=None)

    def expires_ms(self, entry: ProducerEntry) -> int:
        return entry.written_ms + PRODUCER_EXPIRATION_MS

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        """Return the state of the next leader, from the log alone, as a replica has followed it batch by batch. After a
        restart there is a snapshot instead, with one batch per producer. In both cases producers that were idle for too
        long stay forgotten."""
        fresh = type(self)(self.env, self.partition, leader_epoch)
        for batch in self.batches:
            fresh.write(batch)
        fresh.forget_idle()
        if restart or self.env.config.leader_change == "restart":
            for entry in fresh.producers.values():
                while len(entry.window) > 1:
                    entry.window.popleft()
        fresh._guards = self._guards  # a guard is unique for ever, or an old answer could meet it again
        return fresh

    def record_key(self) -> bytes | None:
        """Return the key of every record on disk, or None."""
        return None

    # Reading

    def last_stable_offset(self) -> int:
        """Return the first undecided offset: the start of the oldest open transaction, or the end."""
        return min(self.open.values()) if self.open else len(self.batches)

    def read_limit(self, committed: bool) -> int:
        """Return where a fetch stops, exclusive (txn.17)."""
        return self.last_stable_offset() if committed else len(self.batches)

    def fetch(self, offset: int, committed: bool, most: int = 0) -> FetchResponse:
        """Return everything from ``offset`` to the limit, or at most ``most`` batches, and for read_committed the
        aborted transactions to skip. Batches are whole, so the first one may begin before the offset."""
        limit = self.read_limit(committed)
        offset = self.first_of_batch(offset)
        upto = min(limit, self.end_of(offset, most)) if most else limit
        batches = tuple(self.batches[offset:upto])
        return FetchResponse(upto, batches, tuple(self.aborted_between(offset, upto)) if committed else ())

    def first_of_batch(self, offset: int) -> int:
        return offset - self.batches[offset].place if offset < len(self.batches) else offset

    def end_of(self, offset: int, most: int) -> int:
        """Return where ``most`` batches end of which the first begins at ``offset``."""
        for batch in self.batches[offset:]:
            if batch.place == 0:
                if not most:
                    return batch.base_offset
                most -= 1
        return len(self.batches)

    def aborted_between(self, offset: int, upto: int) -> list[AbortedTransaction]:
        """Return what aborted from ``offset`` on and began before ``upto``, in order of the ends."""
        found = []
        for aborted in self.aborted[bisect_left(self.aborted, offset, key=lambda txn: txn.last_offset) :]:
            if aborted.first_offset < upto:
                found.append(AbortedTransaction(aborted.producer_id, aborted.first_offset))
            if aborted.last_stable_offset >= upto:
                break
        return found


# The offsets partition of a consumer group: commits in a transaction are pending until its marker comes (txn.21).
#
# Its writer is the group coordinator, not a client: batches have no sequence numbers, so a commit sent twice is written
# twice, which commits the same offset. (OffsetMetadataManager.java)


class OffsetsLog(PartitionLog):
    """An `OffsetsLog` is a group's offsets partition with the group's offsets, one for each partition of its input
    (``key``, from 0). The record of a send stands for the committed offset."""

    __slots__ = ("committed", "pending")

    def __init__(self, env: Environment, partition: int, leader_epoch: int = 0) -> None:
        super().__init__(env, partition, leader_epoch)
        self.committed: dict[int, Batch] = {}  # by key
        self.pending: dict[int, dict[int, Batch]] = {}  # by producer id and key: the last of its open transaction

    def checks_sequences(self) -> bool:
        return False

    def record_key(self) -> bytes:
        """Return a stand-in for (group, topic, partition), because compaction removes records without a key."""
        return f"group-{self.partition - self.env.config.partitions}".encode()

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.pending.setdefault(batch.producer_id, {})[self.key_of(batch)] = batch

    def key_of(self, batch: Batch) -> int:
        """Return the input partition of the offset, as the offsets of one request are in order."""
        return batch.place

    def apply_marker(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_marker(entry, batch)
        pending = self.pending.pop(batch.producer_id, None)
        if pending is not None and batch.marker == 1:
            self.committed |= {key: offset for key, offset in pending.items() if self.is_newer(key, offset)}

    def is_newer(self, key: int, pending: Batch) -> bool:
        """Return whether the pending offset was written after the committed one. Of two producers' commits the one
        written later counts, whichever transaction ends later."""
        return key not in self.committed or pending.base_offset > self.committed[key].base_offset

    def is_stable(self, key: int = 0) -> bool:
        """Return whether no open transaction has a pending offset for this key."""
        return not any(key in offsets for offsets in self.pending.values())

    def fetch_offset(self, key: int = 0) -> tuple[int, int]:
        """Return (error, record of the committed offset or -1) for OffsetFetch with require_stable."""
        if not self.is_stable(key):
            return ErrorCode.UNSTABLE_OFFSET_COMMIT, -1
        return ErrorCode.NONE, self.committed[key].record if key in self.committed else -1


# A compacted partition: what the cleaner removes from its log, and what it must leave.
#
# The cleaner reads no undecided records. It removes records of aborted transactions at once, other records when a later
# one has their key, and a marker only some time after its transaction has no record left, so that no reader is in
# between. Removed records leave a gap, as offsets do not change. (LogCleaner.java, CleanedTransactionMetadata.java)

DELETE_RETENTION_MS = 24 * 3600 * 1000  # delete.retention.ms


class CompactedLog(PartitionLog):
    """A `CompactedLog` is a partition whose whole log is one segment that the cleaner compacts. ``keys`` are those of
    records by number. Any other record has a key of its own."""

    __slots__ = ("gone", "horizons", "keys")

    def __init__(self, env: Environment, partition: int, leader_epoch: int = 0) -> None:
        super().__init__(env, partition, leader_epoch)
        self.keys: dict[int, bytes] = {}
        self.gone: set[int] = set()
        self.horizons: dict[int, int] = {}  # when a marker without records may be removed

    def clean(self, mapped_upto: int | None = None) -> None:
        """Run one pass of the cleaner, whose map of keys was full at ``mapped_upto``."""
        end = self.last_stable_offset()
        mapped = end if mapped_upto is None else min(mapped_upto, end)
        aborted = self.aborted_to_clean(mapped, end)
        dropped = {b.base_offset for b in self.batches[:end] if any(is_within(b, txn) for txn in aborted)}
        latest = {
            self.key_of(batch): batch.base_offset
            for batch in self.batches[:mapped]
            if batch.marker < 0 and batch.base_offset not in dropped | self.gone
        }
        markers = [batch for batch in self.batches[:end] if batch.marker >= 0]
        ended = {marker.base_offset for marker in markers if self.may_drop_marker(marker, latest)}
        superseded = {
            batch.base_offset
            for batch in self.batches[:mapped]
            if batch.marker < 0 and latest.get(self.key_of(batch), -1) > batch.base_offset
        }
        self.gone |= dropped | ended | superseded
        beyond = [txn for txn in self.aborted if txn.first_offset >= end]
        self.aborted = [txn for txn in aborted if self.has_records(txn)] + beyond

    def aborted_to_clean(self, mapped: int, end: int) -> list[AbortedTxn]:
        """Return the aborted transactions in the segment, even after the end of the map, as the index is rewritten."""
        return [txn for txn in self.aborted if txn.first_offset < end]

    def may_drop_marker(self, marker: Batch, latest: dict[bytes, int]) -> bool:
        """Return whether all records of the marker's transaction have been gone for delete.retention.ms."""
        for batch in reversed(self.batches[: marker.base_offset]):
            if batch.producer_id == marker.producer_id:
                if batch.marker >= 0:
                    break
                if batch.base_offset not in self.gone:
                    return False
        now = self.env.now_ms
        return self.horizons.setdefault(marker.base_offset, now + DELETE_RETENTION_MS) <= now

    def has_records(self, txn: AbortedTxn) -> bool:
        return any(is_within(batch, txn) and batch.base_offset not in self.gone for batch in self.batches)

    def key_of(self, batch: Batch) -> bytes:
        """Return the key of a record, or of a marker: two bytes for its version and two for its type."""
        if batch.marker >= 0:
            return marker_key(batch.marker)
        return self.keys.get(batch.record, b"record %d" % batch.record)

    def fetch(self, offset: int, committed: bool, most: int = 0) -> FetchResponse:
        answer = super().fetch(offset, committed, most)
        return answer._replace(batches=tuple(b for b in answer.batches if b.base_offset not in self.gone))

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> Self:
        """Return the state from the remaining records, with an empty batch for each removed one."""
        whole = self.batches
        self.batches = [self.left_of(batch) for batch in whole]
        fresh = super().rebuilt(leader_epoch, restart)
        self.batches = whole
        fresh.keys, fresh.gone, fresh.horizons = self.keys, self.gone, self.horizons
        return fresh

    def left_of(self, batch: Batch) -> Batch:
        return batch._replace(is_transactional=False) if batch.base_offset in self.gone else batch

    def write(self, batch: Batch) -> None:
        """Append a batch. An empty control batch changes no state, not even its producer's epoch."""
        if batch.marker >= 0 and not batch.is_transactional:
            self.batches.append(batch)
        else:
            super().write(batch)


def is_within(batch: Batch, txn: AbortedTxn) -> bool:
    mine = batch.marker < 0 and batch.producer_id == txn.producer_id
    return mine and txn.first_offset <= batch.base_offset < txn.last_offset


def marker_key(marker: int) -> bytes:
    return bytes((0, 0, 0, marker))
