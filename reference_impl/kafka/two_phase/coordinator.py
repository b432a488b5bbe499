"""This module has the transaction coordinator with two-phase commit (KIP-939), in two layers.

`TwoPhaseCoordinator` is what trunk has: transactions that no time-out ends, where the broker enables them. In addition
a `RetainingCoordinator` retains an open transaction over InitProducerId, as in PR 21735. A retained transaction has two
pairs of producer id and epoch: its own, in ``producer_id`` and ``producer_epoch``, with which its records were written
and its markers will be, and the client-facing one, in ``next_producer_id`` and ``next_producer_epoch``, by which alone
it can be ended. The second is there while the transaction is ongoing and while it is preparing its end; a completed
transaction leaves one pair. (TransactionMetadata.java, TxnTransitMetadata.java of PR 21735)
"""

from functools import partial
from typing import ClassVar, NamedTuple

from fencepost.reference_impl.kafka.errors import ErrorCode, GroupErrorCode
from fencepost.reference_impl.kafka.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    InitProducerIdRequestV6,
    InitProducerIdResponseV6,
)
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.kafka.transaction_states import (
    COMPLETION,
    IDLE,
    PREPARED,
    PREPARES,
    Append,
    TransactionLogValue,
    TransactionMetadata,
    TransactionState,
    Transit,
)
from fencepost.reference_impl.kafka.transaction_transitions import Markers, Transitions
from fencepost.reference_impl.kafka.two_phase.environment import NO_TIMEOUT_MS, Environment, Kind
from fencepost.reference_impl.simulation import Message

Pair = tuple[int, int]
NO_PAIR: Pair = (-1, -1)


def client_pair(now: Transit) -> Pair:
    """Return the pair by which the producer is known, which is the transaction's own where none was retained."""
    if now.next_producer_epoch >= 0:
        return now.next_producer_id, now.next_producer_epoch
    return now.producer_id, now.producer_epoch


def is_retained(now: Transit) -> bool:
    return now.next_producer_epoch >= 0


class Described(NamedTuple):
    """A `Described` is what DescribeTransactions has of one id. The pair is the transaction's own: the client-facing
    one has no field there."""

    state: int
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_ms: int
    partitions: tuple[int, ...]


class TwoPhaseTransitions(Transitions):
    """The `TwoPhaseTransitions` append records that may have a second pair."""

    __slots__ = ()

    def verify_completion(self, metadata: TransactionMetadata, target: Transit) -> None:
        if not (is_retained(metadata.now) or is_retained(target)):
            super().verify_completion(metadata, target)
        elif wrong := self.retained_violation(metadata, target):
            raise RuntimeError(
                f"transactional id {metadata.transactional_id} cannot go from {metadata.now} to {target}: {wrong}; "
                f"the transition was prepared wrongly"
            )

    def retained_violation(self, metadata: TransactionMetadata, target: Transit) -> str:
        """Return the reason why a retained transaction must not complete into ``target``, or an empty string."""
        now, state = metadata.now, target.state
        if metadata.pending_state != state:
            return f"pending is {metadata.pending_state}, not {state}"
        own, own_then = (now.producer_id, now.producer_epoch), (target.producer_id, target.producer_epoch)
        if state == TransactionState.ONGOING:
            return "" if own == own_then and target.topic_partitions >= now.topic_partitions else "its own pair changes"
        if state in PREPARED:
            return "" if own_then == (own[0], own[1] + 1) else "its markers do not have the epoch after its own"
        return "" if own_then == client_pair(now) else "completion leaves another pair than the client's"

    def emit_durable(self, append: Append) -> None:
        """Emit a durable record with both pairs, and the end of a transaction, which that of its Prepare decides."""
        txn_id, value = append.record
        if value is None:
            return
        self.env.emit(
            Kind.TXN_LOGGED, txn_id=txn_id, state=value.transaction_status, producer_id=value.producer_id,
            epoch=value.producer_epoch, next_producer_id=value.next_producer_id, next_epoch=value.next_producer_epoch,
            coordinator_epoch=self.coordinator.coordinator_epoch,
        )  # fmt: skip
        if value.transaction_status in PREPARED:
            self.env.emit(
                Kind.TXN_ENDED, txn_id=txn_id, producer_id=value.producer_id, epoch=value.producer_epoch - 1,
                outcome=int(value.transaction_status == TransactionState.PREPARE_COMMIT),
            )  # fmt: skip


class TwoPhaseMarkers(Markers):
    """The `TwoPhaseMarkers` carry out an end. Their epoch is that after the transaction's own, as the Prepare record
    has it, whatever the client-facing pair is."""

    __slots__ = ()

    def completed(self, metadata: TransactionMetadata) -> Transit:
        """Return the Complete state, in which the client-facing pair is the only one."""
        now = metadata.now
        if not is_retained(now):
            return super().completed(metadata)
        producer_id, epoch = client_pair(now)
        target = now.entering(COMPLETION[now.state], frozenset(), now.txn_start_timestamp, self.env.now_ms)
        return target._replace(
            producer_id=producer_id, producer_epoch=epoch, next_producer_id=-1, next_producer_epoch=-1,
            last_producer_epoch=epoch - 1 if epoch else self.env.config.max_epoch - 1,
        )  # fmt: skip


class TwoPhaseCoordinator(Coordinator):
    """A `TwoPhaseCoordinator` is one of trunk: InitProducerId with enable2Pc has transactions without time-out, and
    keepPreparedTxn is refused."""

    __slots__ = ()
    transitions_type: ClassVar[type[Transitions]] = TwoPhaseTransitions
    markers_type: ClassVar[type[Markers]] = TwoPhaseMarkers
    env: Environment

    def recorded(self) -> dict[int, TransactionLogValue]:
        """Return the last records without the second epoch, which is a tagged field that trunk does not read. A second
        *id* is read: since KIP-890 part 2 it is the id after a rotation."""
        values = super().recorded()
        if self.reads_second_epoch():
            return values
        return {key: value._replace(next_producer_epoch=-1) for key, value in values.items()}

    def reads_second_epoch(self) -> bool:
        return False

    # InitProducerId

    def init_refused(self, request: InitProducerIdRequest) -> int:
        """Return the error for a request that is wrong in itself, or 0 for none, in trunk's order."""
        asked = v6(request)
        if asked.enable_2pc and not self.is_2pc_allowed(asked.transactional_id):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if asked.keep_prepared_txn and (error := self.keeping_refused(asked)):
            return error
        valid = request._replace(transaction_timeout_ms=1) if asked.enable_2pc else request
        return super().init_refused(valid)

    def is_2pc_allowed(self, transactional_id: int) -> bool:
        """Return whether the broker enables two-phase commit and the ACL allows it (TWO_PHASE_COMMIT). A client cannot
        distinguish the two."""
        return self.env.config.two_phase_commit_enable and transactional_id not in self.env.without_2pc

    def keeping_refused(self, request: InitProducerIdRequestV6) -> int:
        return GroupErrorCode.UNSUPPORTED_VERSION

    def find_or_create(self, request: InitProducerIdRequest) -> TransactionMetadata:
        return super().find_or_create(self.with_timeout(request))

    def renew(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        super().renew(message, metadata, self.with_timeout(request))

    def with_timeout(self, request: InitProducerIdRequest) -> InitProducerIdRequest:
        """Return the request with the time-out that is recorded, which is without end for two-phase commit. An id that
        is used without it afterwards has an ordinary time-out again."""
        return request._replace(transaction_timeout_ms=NO_TIMEOUT_MS) if v6(request).enable_2pc else request

    def is_timed_out(self, now: Transit) -> bool:
        """Return whether a transaction is over time, which one of two-phase commit never is."""
        return now.txn_timeout_ms != NO_TIMEOUT_MS and super().is_timed_out(now)

    def answer_init(self, message: Message, error: int, producer_id: int = -1, producer_epoch: int = -1) -> None:
        self.answer_init_v6(message, error, (producer_id, producer_epoch), NO_PAIR)

    def answer_init_v6(self, message: Message, error: int, pair: Pair, ongoing: Pair) -> None:
        """Answer with the client-facing pair, and with that of the transaction which is retained, if there is one."""
        self.env.emit(
            Kind.INIT_HANDLED, txn_id=message.body.data.transactional_id, request=message.body.number,
            producer_id=ongoing[0], epoch=ongoing[1], next_producer_id=pair[0], next_epoch=pair[1], error=error,
        )  # fmt: skip
        self.reply(message, InitProducerIdResponseV6(error, *pair, *ongoing))

    def init_ongoing(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        self.terminate(message, metadata, request)

    def terminate(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        """End the open transaction for an instance that does not ask for it, or for an operator. Nothing more than
        WRITE on the transactional id is asked, even where the transaction is prepared: TWO_PHASE_COMMIT is checked of
        a request with enable2Pc alone."""
        now = metadata.now
        self.env.emit(
            Kind.TERMINATION_BEGUN, txn_id=metadata.transactional_id, request=message.body.number,
            producer_id=now.producer_id, epoch=now.producer_epoch, keep=int(v6(request).keep_prepared_txn),
        )  # fmt: skip
        super().init_ongoing(message, metadata, request)

    # What operators see (ListTransactions, DescribeTransactions)

    def list_transactions(self, running_longer_than_ms: int = -1) -> list[tuple[int, int, int]]:
        """Return the (transactional id, state, producer id) of all ids, or of those whose transaction is open for
        longer than so many milliseconds."""
        return [
            (each.transactional_id, each.now.state, each.now.producer_id)
            for _, each in sorted(self.transactions.items())
            if running_longer_than_ms < 0 or self.open_for_ms(each.now) > running_longer_than_ms
        ]

    def open_for_ms(self, now: Transit) -> int:
        return -1 if now.state in IDLE else self.env.now_ms - now.txn_start_timestamp

    def describe(self, transactional_id: int) -> Described | None:
        """Return what DescribeTransactions has of an id, or None for one that is not known."""
        metadata = self.find(transactional_id)
        if metadata is None:
            return None
        now = metadata.now
        partitions = tuple(sorted(now.topic_partitions))
        pair = now.producer_id, now.producer_epoch
        return Described(now.state, *pair, now.txn_timeout_ms, now.txn_start_timestamp, partitions)


def v6(request: InitProducerIdRequest | InitProducerIdRequestV6) -> InitProducerIdRequestV6:
    """Return the request with the flags of version 6, which older clients and admins lack."""
    return request if isinstance(request, InitProducerIdRequestV6) else InitProducerIdRequestV6(*request)


class RetainingCoordinator(TwoPhaseCoordinator):
    """A `RetainingCoordinator` retains an open transaction for an instance that asks for it (PR 21735)."""

    __slots__ = ()

    def reads_second_epoch(self) -> bool:
        return True

    def keeping_refused(self, request: InitProducerIdRequestV6) -> int:
        """Return INVALID_REQUEST for a request that names the pair that it expects as well. One without enable2Pc is
        allowed, as in the KIP ("KeepPreparedTxn could be set to true even if Enable2Pc is false"); PR 22704 refuses it
        with INVALID_REQUEST."""
        return ErrorCode.INVALID_REQUEST if request.producer_id != -1 else ErrorCode.NONE

    def init_fenced(self, metadata: TransactionMetadata, request: InitProducerIdRequest) -> int:
        if is_retained(metadata.now) and request.producer_id != -1:
            known = (request.producer_id, request.producer_epoch) == client_pair(metadata.now)
            return ErrorCode.NONE if known else ErrorCode.PRODUCER_FENCED
        return super().init_fenced(metadata, request)

    def init_ongoing(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        """Retain the open transaction if the request asks for it, and end it otherwise."""
        if v6(request).keep_prepared_txn:
            self.retain(message, metadata, request)
        else:
            self.terminate(message, metadata, request)

    def retain(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        """Give the open transaction to the instance that asks: the client-facing pair is bumped, which fences every
        older instance, and the transaction's own remains, as do its partitions."""
        now = metadata.now
        client, epoch = self.bumped_for_client(client_pair(now))
        target = now._replace(
            next_producer_id=client, next_producer_epoch=epoch, txn_last_update_timestamp=self.env.now_ms,
            previous_producer_id=self.previous_of_client(now, client),
            txn_timeout_ms=self.retained_timeout(now, request),
        )  # fmt: skip
        metadata.prepare(target.state)
        self.transitions.write(metadata, target, partial(self.retained, message, target))

    def retained_timeout(self, now: Transit, request: InitProducerIdRequest) -> int:
        """Return the time-out from now on, the longer of both. It outlives the transaction, since the new owner goes on
        without another InitProducerId; and a transaction that was prepared must not get one."""
        return max(now.txn_timeout_ms, self.with_timeout(request).transaction_timeout_ms)

    def bumped_for_client(self, pair: Pair) -> Pair:
        """Return the next client-facing pair, which has a new producer id after the last epoch."""
        return (self.env.next_producer_id(), 0) if self.is_exhausted(pair[1]) else (pair[0], pair[1] + 1)

    def previous_of_client(self, now: Transit, client: int) -> int:
        """Return the id before the last rotation of the client-facing pair, for a retried EndTxn."""
        return now.previous_producer_id if client == client_pair(now)[0] else client_pair(now)[0]

    def retained(self, message: Message, target: Transit, ok: bool) -> None:
        if ok:
            own = target.producer_id, target.producer_epoch
            self.answer_init_v6(message, ErrorCode.NONE, client_pair(target), own)
        else:
            self.answer_init(message, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    # AddPartitionsToTxn, asked by leaders

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        """Return the error for adding a partition now, or 0 for none. A retained transaction takes partitions under its
        own pair, which only a fenced instance has; under the client-facing one it takes none (PR 21735's
        shouldValidateEpochsCorrectlyWithDualIdentity)."""
        error = super().add_refused(metadata, request)
        client = is_retained(metadata.now) and client_pair(metadata.now)
        if error in FENCING and client == (request.producer_id, request.producer_epoch):
            return ErrorCode.INVALID_TXN_STATE
        return error

    # EndTxn

    def end_result_v2(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        """Return what becomes of an EndTxn: of a retained transaction, by the client-facing pair alone. While it is
        preparing its end, everything was refused before with CONCURRENT_TRANSACTIONS, since the completion is
        pending."""
        now = metadata.now
        if not is_retained(now):
            return super().end_result_v2(metadata, request)
        asking = request.producer_id, request.producer_epoch
        if asking == client_pair(now):
            return PREPARES
        ids = (now.producer_id, now.next_producer_id, now.previous_producer_id)
        return ErrorCode.PRODUCER_FENCED if asking[0] in ids else ErrorCode.INVALID_PRODUCER_ID_MAPPING

    def bumped_at_end(self, target: Transit) -> Transit:
        """Return the state with the epoch of the markers, and with the client-facing pair bumped once more: without
        that a late copy of this EndTxn would end the client's next transaction."""
        if not is_retained(target):
            return super().bumped_at_end(target)
        client, epoch = self.bumped_for_client(client_pair(target))
        return target._replace(
            producer_epoch=target.producer_epoch + 1, last_producer_epoch=target.producer_epoch,
            next_producer_id=client, next_producer_epoch=epoch, client_transaction_version=2,
            previous_producer_id=self.previous_of_client(target, client),
        )  # fmt: skip


FENCING = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
