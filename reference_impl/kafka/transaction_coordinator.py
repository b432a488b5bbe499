"""This module has the transaction coordinator: the requests that it answers, its timers, and how it takes over and
resigns.

A coordinator object is one reign over the transaction log. A coordinator that takes over is a new object with the next
coordinator epoch and nothing but the durable log to start from (txn.19). It is single-threaded: every method runs to
its end before the next event. Every rule is a method of its own, named after what it decides, so that a broken
implementation is a subclass with one method. `Transitions` append a prepared transition to the log, `Markers` complete
a decided transaction, and `transaction_states.py` has the results of EndTxn. (TransactionCoordinator.scala,
TransactionStateManager.scala)
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from fencepost.reference_impl.kafka.environment import BROKERS, COORDINATOR, Environment, Kind
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ResponseBody,
)
from fencepost.reference_impl.kafka.transaction_states import (
    IDLE,
    PREPARED,
    PREPARES,
    V1_RESULT,
    V2_RESULT,
    TransactionLog,
    TransactionLogValue,
    TransactionMetadata,
    TransactionState,
    Transit,
    loaded,
    new_transit,
)
from fencepost.reference_impl.kafka.transaction_transitions import Markers, Transitions, half_a_pair
from fencepost.reference_impl.simulation import Message, Node

Done = Callable[[int], object]  # called with how an operation went, as an error code


class Coordinator(Node):
    """A `Coordinator` is one reign over the transaction log, from taking over to resigning. ``transitions_type`` and
    ``markers_type`` are the parts that a broken coordinator replaces."""

    __slots__ = (
        "_idle_watched", "_open_watched", "coordinator_epoch", "env", "loading", "markers", "node_id",
        "transaction_log", "transactions", "transitions",
    )  # fmt: skip
    transitions_type: ClassVar[type[Transitions]] = Transitions
    markers_type: ClassVar[type[Markers]] = Markers

    def __init__(self, env: Environment, transaction_log: TransactionLog, coordinator_epoch: int) -> None:
        super().__init__(COORDINATOR, env.kernel)
        self.env = env
        self.node_id = coordinator_epoch % BROKERS
        self.coordinator_epoch = coordinator_epoch
        self.transaction_log = transaction_log
        self.transactions: dict[int, TransactionMetadata] = {}
        self.loading = False
        self.transitions = self.transitions_type(self)
        self.markers = self.markers_type(self)
        # Timed-out and idle ids are looked for at fixed intervals (10 s and 1 h in Kafka) while there are any.
        self._open_watched = False
        self._idle_watched = False

    def receive(self, message: Message) -> None:
        kind = message.kind
        if kind == "init":
            self.receive_init(message)
        elif kind == "add":
            self.receive_add(message)
        elif kind == "check":
            self.receive_check(message)
        elif kind == "end":
            self.receive_end(message)
        elif kind == "marker_answer":
            self.markers.receive_marker_answer(message)
        else:
            raise ValueError(f"the coordinator got {message}: it handles init, add, check, end and marker_answer")

    # One reign

    def take_over(self) -> None:
        """Become the coordinator. Until the log is loaded every request is answered with
        COORDINATOR_LOAD_IN_PROGRESS."""
        self.loading = True
        self.env.pace.load_later(self, self.load)

    def load(self, _: object) -> None:
        """Rebuild the state of every transactional id from its last record in the log (txn.19). The load waits until
        all of the log is durable, because the actions of this coordinator cannot be undone if a record is."""
        if self.transaction_log.unfinished and self.waits_for_high_watermark():
            return
        for transactional_id, value in self.recorded().items():
            self.transactions[transactional_id] = self.reload(transactional_id, value)
        self.loading = False
        self.env.emit(Kind.COORDINATOR_LOADED, node=self.node_id, coordinator_epoch=self.coordinator_epoch)
        for metadata in self.transactions.values():
            self.carry_on(metadata)

    def waits_for_high_watermark(self) -> bool:
        """Return whether loading waits for records that no other replica may have."""
        return True

    def recorded(self) -> dict[int, TransactionLogValue]:
        return self.transaction_log.replay()

    def reload(self, transactional_id: int, value: TransactionLogValue) -> TransactionMetadata:
        """Return one id's state from its record. A pending state, a failed fence and the timers are not recorded."""
        metadata = TransactionMetadata(transactional_id, loaded(value))
        self.watch_idle()
        if metadata.now.state == TransactionState.ONGOING:
            self.watch_open()
        return metadata

    def carry_on(self, metadata: TransactionMetadata) -> None:
        """Send the markers of every Prepare again under the new coordinator epoch (txn.19)."""
        if metadata.now.state in PREPARED:
            self.markers.send_markers(self.markers.begin_completion(metadata))

    def resign(self, durable: bool) -> None:
        """Go away for ever. With ``durable``, unfinished appends end up in the log, although no request is answered."""
        while self.transaction_log.unfinished:
            append = self.transaction_log.finish(durable)
            if append is not None and durable:
                self.transitions.emit_durable(append)
        self.crash()

    def finish_append(self, ok: bool) -> bool:
        """End the oldest append in progress, durable if ``ok``, and return False if there is none."""
        if not self.transitions.finish_append(ok):
            return False
        if self.loading:
            self.load(None)
        return True

    def reply(self, message: Message, data: Any) -> None:
        body = message.body
        answer = ResponseBody(body.number, data, body.check)
        self.env.network.send(f"{message.kind}_answer", self.name, message.source, answer)

    def find(self, transactional_id: int) -> TransactionMetadata | None:
        return self.transactions.get(transactional_id)

    def unavailable(self, transactional_id: int) -> int:
        """Return the error for a request that cannot be handled at all, or 0 for none."""
        if transactional_id < 0:
            return ErrorCode.INVALID_REQUEST
        if transactional_id in self.env.without_write:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self.loading else ErrorCode.NONE

    # InitProducerId (KIP-98, KIP-360, KIP-890): a new instance gets a new epoch, which fences every older one

    def receive_init(self, message: Message) -> None:
        """Handle InitProducerId in Kafka's order of checks, and answer it after the log append, if there is one."""
        request: InitProducerIdRequest = message.body.data
        if request.transactional_id < 0:
            self.answer_init(message, *self.init_without_transactional_id(request))
            return
        error = self.init_refused(request) or self.unavailable(request.transactional_id)
        error = error or self.transitions.lacks_producer_id(self.find(request.transactional_id))
        if error:
            self.answer_init(message, error)
            return
        metadata = self.find_or_create(request)
        error = self.init_must_wait(metadata) or self.init_fenced(metadata, request)
        error = error or self.init_fails(metadata.now, request)
        if error:
            self.answer_init(message, error)
        elif metadata.now.state == TransactionState.ONGOING:
            self.init_ongoing(message, metadata, request)
        else:
            self.renew(message, metadata, request)

    def init_ongoing(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        """End the open transaction of another instance first (txn.3)."""
        self.fence_and_abort(metadata, partial(self.answer_fenced, message, metadata))

    def init_without_transactional_id(self, request: InitProducerIdRequest) -> tuple[int, ...]:
        """Answer an idempotent producer with a fresh id at epoch 0, which is not stored."""
        if request.transactional_id in self.env.without_write:
            return (ErrorCode.CLUSTER_AUTHORIZATION_FAILED,)
        error = half_a_pair(request) or self.transitions.lacks_producer_id(None)
        return (error,) if error else (ErrorCode.NONE, self.env.next_producer_id(), 0)

    def init_refused(self, request: InitProducerIdRequest) -> int:
        """Return the error for a request that is wrong in itself, or 0 for none."""
        if request.transactional_id in self.env.without_write:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if error := half_a_pair(request):
            return error
        in_range = 0 < request.transaction_timeout_ms <= self.env.config.max_transaction_timeout_ms
        return ErrorCode.NONE if in_range else ErrorCode.INVALID_TRANSACTION_TIMEOUT

    def find_or_create(self, request: InitProducerIdRequest) -> TransactionMetadata:
        """Return an id's state. An unknown one gets a producer id, and is not recorded yet."""
        metadata = self.find(request.transactional_id)
        if metadata is None:
            transit = new_transit(
                self.env.next_producer_id(), request.transaction_timeout_ms, self.env.now_ms,
                self.env.config.transaction_version,
            )  # fmt: skip
            metadata = self.transactions[request.transactional_id] = TransactionMetadata(
                request.transactional_id, transit
            )
            self.watch_idle()
        return metadata

    def init_must_wait(self, metadata: TransactionMetadata) -> int:
        """Return error 51 (CONCURRENT_TRANSACTIONS) while a transition or completion is in progress (txn.3, txn.5)."""
        waits = metadata.pending_state is not None or metadata.now.state in PREPARED
        return ErrorCode.CONCURRENT_TRANSACTIONS if waits else ErrorCode.NONE

    def init_fenced(self, metadata: TransactionMetadata, request: InitProducerIdRequest) -> int:
        """Return error 90 (PRODUCER_FENCED) for a producer whose expected pair is over (KIP-360), or 0. The last pair
        of the previous producer id is accepted while the current one is at its first epoch. An id without an epoch
        accepts any pair."""
        now = metadata.now
        if request.producer_id == -1 or now.producer_epoch == -1 or request.producer_id == now.producer_id:
            return ErrorCode.NONE
        rotated = request.producer_id == now.previous_producer_id and self.is_exhausted(request.producer_epoch)
        return ErrorCode.NONE if rotated and now.producer_epoch == 0 else ErrorCode.PRODUCER_FENCED

    def init_fails(self, now: Transit, request: InitProducerIdRequest) -> int:
        """Return error -1 if the epochs are used up and the request names another epoch, whether it is a retry or from
        a fenced producer. The next epoch is computed before the request is checked
        (TransactionMetadata.prepareIncrementProducerEpoch, 3.9 to 4.4.0; measured on 4.3.1)."""
        another = request.producer_id != -1 and request.producer_epoch != now.producer_epoch
        fails = another and now.state in IDLE and self.is_exhausted(now.producer_epoch)
        return ErrorCode.UNKNOWN_SERVER_ERROR if fails else ErrorCode.NONE

    def renew(self, message: Message, metadata: TransactionMetadata, request: InitProducerIdRequest) -> None:
        pair = self.next_pair(metadata.now, request)
        if pair is None:
            self.answer_init(message, ErrorCode.PRODUCER_FENCED)
            return
        producer_id, epoch, last_epoch = pair
        now = metadata.now
        rotated = producer_id != now.producer_id
        target = now._replace(
            state=TransactionState.EMPTY,
            producer_id=producer_id,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            previous_producer_id=now.producer_id if rotated else now.previous_producer_id,
            txn_timeout_ms=request.transaction_timeout_ms,
            topic_partitions=frozenset(),
            txn_start_timestamp=-1,
            txn_last_update_timestamp=self.env.now_ms,
        )
        metadata.prepare(target.state)
        self.transitions.write(metadata, target, partial(self.renewed, message, target))

    def next_pair(self, now: Transit, request: InitProducerIdRequest) -> tuple[int, int, int] | None:
        """Return the next (producer id, epoch, last epoch), or None for a fenced producer (txn.1, txn.2, txn.4)."""
        expected = request.producer_id != -1 and now.producer_epoch != -1
        if expected and self.is_init_retry(now, request):
            return now.producer_id, now.producer_epoch, now.last_producer_epoch
        if expected and not self.holds_current_pair(now, request):
            return None
        if self.is_exhausted(now.producer_epoch):
            return self.env.next_producer_id(), 0, now.producer_epoch if expected else -1
        return now.producer_id, self.bumped(now), now.producer_epoch if expected else -1

    def holds_current_pair(self, now: Transit, request: InitProducerIdRequest) -> bool:
        return (request.producer_id, request.producer_epoch) == (now.producer_id, now.producer_epoch)

    def is_init_retry(self, now: Transit, request: InitProducerIdRequest) -> bool:
        """Return whether the producer has the pair before the last bump because it has missed the answer (txn.2)."""
        ids = (now.producer_id, now.previous_producer_id)
        same_pair = self.holds_current_pair(now, request)
        return not same_pair and request.producer_epoch == now.last_producer_epoch and request.producer_id in ids

    def bumped(self, now: Transit) -> int:
        """Return the next epoch, which fences every older instance (txn.1)."""
        return now.producer_epoch + 1

    def renewed(self, message: Message, target: Transit, ok: bool) -> None:
        if ok:
            self.answer_init(message, ErrorCode.NONE, target.producer_id, target.producer_epoch)
        else:
            self.answer_init(message, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def answer_fenced(self, message: Message, metadata: TransactionMetadata, error: int) -> None:
        """Answer an InitProducerId whose open transaction is being aborted with "ask again" (txn.3)."""
        self.answer_init(message, error or ErrorCode.CONCURRENT_TRANSACTIONS)

    def answer_init(self, message: Message, error: int, producer_id: int = -1, producer_epoch: int = -1) -> None:
        self.env.emit(
            Kind.INIT_HANDLED, node=self.node_id, txn_id=message.body.data.transactional_id,
            request=message.body.number, producer_id=producer_id, epoch=producer_epoch, error=error,
        )  # fmt: skip
        self.reply(message, InitProducerIdResponse(error, producer_id, producer_epoch))

    # AddPartitionsToTxn and AddOffsetsToTxn of clients, and the questions of leaders

    def receive_add(self, message: Message) -> None:
        """Add a partition, or the offsets partition of a group, for a client (txn.6)."""
        request: AddPartitionsToTxnRequest | AddOffsetsToTxnRequest = message.body.data
        partition = self.partition_of(request)
        producer = request.transactional_id, request.producer_id, request.producer_epoch
        asked = AddPartitionsToTxnRequest(*producer, partition)
        if 0 <= partition < self.env.config.all_partitions:
            self.add(asked, partial(self.answer_add, message, asked))
        else:
            self.answer_add(message, asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def partition_of(self, request: AddPartitionsToTxnRequest | AddOffsetsToTxnRequest) -> int:
        """Return the requested partition. Offsets partitions are numbered after the data partitions, one per group."""
        if isinstance(request, AddPartitionsToTxnRequest):
            return request.partition
        return self.env.config.partitions + request.group_id

    def receive_check(self, message: Message) -> None:
        """Answer a leader's question whether a producer may write. With v1-verified it is only checked, and with v2 the
        partition is added (txn.15)."""
        request: AddPartitionsToTxnRequest = message.body.data
        if request.verify_only:
            self.answer_check(message, self.verify(request))
        else:
            self.add(request, partial(self.answer_check, message))

    def add(self, request: AddPartitionsToTxnRequest, answer: Done) -> None:
        """Add the partition to the transaction, which begins with its first one."""
        error = self.unavailable(request.transactional_id)
        metadata = self.find(request.transactional_id)
        if error or metadata is None:
            answer(error or ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            return
        error = self.add_refused(metadata, request)
        now = metadata.now
        begun = now.state == TransactionState.ONGOING
        if error or (begun and request.partition in now.topic_partitions):
            answer(error)
            return
        now_ms = self.env.now_ms
        partitions, start_ms = now.topic_partitions | {request.partition}, now.txn_start_timestamp if begun else now_ms
        target = now.entering(TransactionState.ONGOING, partitions, start_ms, now_ms)
        metadata.prepare(target.state)
        self.transitions.write(metadata, target, partial(self.added, answer))

    def add_refused(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> int:
        """Return the error for adding a partition now, or 0 for none (txn.5, txn.6)."""
        pending = metadata.pending_state is not None
        if pending and self.checks_pending_before_epoch():
            return ErrorCode.CONCURRENT_TRANSACTIONS
        error = self.exact_pair_error(metadata, request.producer_id, request.producer_epoch)
        waits = pending or metadata.now.state in PREPARED
        return error or (ErrorCode.CONCURRENT_TRANSACTIONS if waits else ErrorCode.NONE)

    def added(self, answer: Done, ok: bool) -> None:
        if ok:
            self.watch_open()
        answer(ErrorCode.NONE if ok else ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def verify(self, request: AddPartitionsToTxnRequest) -> int:
        """Return 0 if the partition is in the open transaction, ignoring pending transitions (txn.15)."""
        error = self.unavailable(request.transactional_id)
        metadata = self.find(request.transactional_id)
        if error or metadata is None:
            return error or ErrorCode.INVALID_PRODUCER_ID_MAPPING
        error = self.exact_pair_error(metadata, request.producer_id, request.producer_epoch)
        if error:
            return error
        if metadata.now.state in PREPARED:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        return ErrorCode.NONE if self.is_in_transaction(metadata, request) else ErrorCode.TRANSACTION_ABORTABLE

    def is_in_transaction(self, metadata: TransactionMetadata, request: AddPartitionsToTxnRequest) -> bool:
        """Return whether the partition is in the transaction. Only an open transaction has partitions."""
        return request.partition in metadata.now.topic_partitions

    def answer_add(self, message: Message, asked: AddPartitionsToTxnRequest, error: int) -> None:
        self.env.emit(
            Kind.ADD_HANDLED, node=self.node_id, txn_id=asked.transactional_id, request=message.body.number,
            partition=asked.partition, producer_id=asked.producer_id, epoch=asked.producer_epoch, error=error,
        )  # fmt: skip
        self.reply(message, AddPartitionsToTxnResponse(error))

    def answer_check(self, message: Message, error: int) -> None:
        request: AddPartitionsToTxnRequest = message.body.data
        self.env.emit(
            Kind.PARTITION_CHECKED, node=self.node_id, txn_id=request.transactional_id, partition=request.partition,
            producer_id=request.producer_id, epoch=request.producer_epoch, request=message.body.number, error=error,
        )  # fmt: skip
        self.reply(message, AddPartitionsToTxnResponse(error))

    # EndTxn: every end of a transaction passes through `prepare_end`, where the outcome is decided

    def receive_end(self, message: Message) -> None:
        """Answer EndTxn once the Prepare record is durable, which fixes the outcome (txn.8)."""
        request: EndTxnRequest = message.body.data
        error = self.unavailable(request.transactional_id)
        metadata = self.find(request.transactional_id)
        if error or metadata is None:
            self.answer_end(message, error or ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            return
        result = self.end_result(metadata, request)
        if result == PREPARES and self.bumps_on_end():
            result = self.transitions.lacks_producer_id(metadata, fences=False) or PREPARES
        if result == PREPARES:
            self.end(metadata, request.committed, partial(self.answer_end, message))
        else:
            self.answer_end(message, result, metadata.now)

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        """Return PREPARES, 0 if it is done already, or an error, in Kafka's order (txn.5, txn.7)."""
        pending = metadata.pending_state is not None
        if pending and self.checks_pending_before_epoch():
            return ErrorCode.CONCURRENT_TRANSACTIONS
        result = self.end_result_v2(metadata, request) if self.bumps_on_end() else self.end_result_v1(metadata, request)
        fenced = result in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return ErrorCode.CONCURRENT_TRANSACTIONS if pending and not fenced else result

    def end_result_v1(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        error = self.exact_pair_error(metadata, request.producer_id, request.producer_epoch)
        return error or V1_RESULT[metadata.now.state, request.committed]

    def end_result_v2(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        retry = self.is_end_retry(metadata.now, request)
        error = self.exact_pair_error(metadata, request.producer_id, request.producer_epoch)
        return error if error and not retry else V2_RESULT[metadata.now.state, request.committed, retry]

    def is_end_retry(self, now: Transit, request: EndTxnRequest) -> bool:
        """Return whether the request names the epoch or id that the last end replaced (txn.7)."""
        pair = request.producer_id, request.producer_epoch
        before = now.producer_id, now.producer_epoch - 1
        overflowed = now.producer_epoch == 0 and pair == (now.previous_producer_id, self.env.config.max_epoch - 1)
        return pair == before or overflowed

    def exact_pair_error(self, metadata: TransactionMetadata, producer_id: int, producer_epoch: int) -> int:
        """Return 0 for the current id and epoch, or an error for a lower or higher epoch (txn.6)."""
        if producer_id != metadata.now.producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return ErrorCode.NONE if producer_epoch == metadata.now.producer_epoch else ErrorCode.PRODUCER_FENCED

    def checks_pending_before_epoch(self) -> bool:
        """Return True, since a pending transition may make the pair right (txn.5)."""
        return True

    def bumps_on_end(self) -> bool:
        """Return whether the end of a transaction bumps the epoch, as it does since KIP-890 part 2 (txn.9)."""
        return self.env.config.is_v2

    def is_exhausted(self, epoch: int) -> bool:
        """Return whether an epoch is the last one to hand out. The one above is reserved for fencing (txn.4)."""
        return epoch >= self.env.config.max_epoch - 1

    def answer_end(self, message: Message, error: int, now: Transit | None = None) -> None:
        """Answer EndTxn. In v2 a success names the pair for the next transaction."""
        request: EndTxnRequest = message.body.data
        pair = (-1, -1)
        if now is not None and not error:
            pair = (now.producer_id, now.producer_epoch)
        self.env.emit(
            Kind.END_HANDLED, node=self.node_id, txn_id=request.transactional_id, request=message.body.number,
            outcome=int(request.committed), producer_id=pair[0], epoch=pair[1], error=error,
        )  # fmt: skip
        self.reply(message, EndTxnResponse(error, *pair) if self.bumps_on_end() else EndTxnResponse(error))

    def end(self, metadata: TransactionMetadata, committed: bool, answer: Callable[..., object]) -> None:
        """Append the Prepare record, then call ``answer(error)`` or ``answer(0, completed state)``."""
        target = self.prepare_end(metadata, committed)
        metadata.prepare(target.state)
        self.transitions.write(metadata, target, partial(self.end_written, metadata, answer))

    def end_written(self, metadata: TransactionMetadata, answer: Callable[..., object], ok: bool) -> None:
        if ok:
            this_round = self.markers.begin_completion(metadata)
            answer(ErrorCode.NONE, this_round.target)
            self.markers.send_markers(this_round)
        else:
            answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def prepare_end(self, metadata: TransactionMetadata, committed: bool) -> Transit:
        """Return the Prepare state. In v2 it has the next epoch, and after the last the next id (txn.9)."""
        now, now_ms = metadata.now, self.env.now_ms
        state = TransactionState.PREPARE_COMMIT if committed else TransactionState.PREPARE_ABORT
        start_ms = now_ms if now.state in IDLE else now.txn_start_timestamp
        target = now.entering(state, now.topic_partitions, start_ms, now_ms)
        return self.bumped_at_end(target) if self.bumps_on_end() else target

    def bumped_at_end(self, target: Transit) -> Transit:
        """Return the state with the next epoch. The last epoch of all stays as it is after a fence has taken it. Such
        an end is one of version 2, even for a transaction that began before the cluster was upgraded."""
        target = target._replace(client_transaction_version=2)
        epoch = target.producer_epoch
        if self.is_exhausted(epoch):
            target = target._replace(next_producer_id=self.env.next_producer_id())
        if epoch >= self.env.config.max_epoch:
            return target
        return target._replace(producer_epoch=epoch + 1, last_producer_epoch=epoch)

    # The fence, which ends an open transaction though its producer did not ask for it

    def fence_and_abort(self, metadata: TransactionMetadata, done: Done) -> None:
        """End an open transaction that its owner did not end, after fencing its producer in memory. If the append
        fails, the fence stays in memory only, and the next attempt does not bump again (txn.18)."""
        if not self.abort_is_the_fence():
            metadata.now = metadata.now._replace(producer_epoch=self.fenced_epoch(metadata), last_producer_epoch=-1)
        self.end(metadata, False, partial(self.fence_written, metadata, done))

    def abort_is_the_fence(self) -> bool:
        """Return whether only the bump at the end of the transaction fences in v2, with no bump before it
        (KAFKA-19367). A fenced producer can then pass for one that repeats its request: its own abort is answered with
        the next epoch."""
        return self.bumps_on_end() and self.env.config.is_recent

    def fence_written(self, metadata: TransactionMetadata, done: Done, error: int, _: Transit | None = None) -> None:
        if error:
            metadata.has_failed_epoch_fence = True
        done(error)

    def fenced_epoch(self, metadata: TransactionMetadata) -> int:
        """Return the epoch above the producer's, which the reserved one allows (txn.4, txn.18)."""
        epoch = metadata.now.producer_epoch
        if metadata.has_failed_epoch_fence:
            return epoch
        return min(epoch + 1, self.env.config.max_epoch)

    # Time: transactions that take too long are ended, and idle ids forgotten

    def watch_open(self, again: bool = False) -> None:
        """Look for timed-out transactions at every full interval while one is open."""
        if not self._open_watched:
            self._open_watched = True
            interval_us = self.env.config.timeout_check_ms * 1000
            self.after(interval_us - self.kernel.now % interval_us, self.abort_timed_out)

    def abort_timed_out(self, _: object) -> None:
        """Fence and abort every open transaction that has exceeded its time-out (txn.18)."""
        self._open_watched = False
        for metadata in list(self.transactions.values()):
            waits = metadata.pending_state is not None or self.transitions.lacks_producer_id(metadata)
            if not waits and self.is_timed_out(metadata.now):
                self.env.emit(
                    Kind.TIMED_OUT, node=self.node_id, txn_id=metadata.transactional_id,
                    producer_id=metadata.now.producer_id, epoch=metadata.now.producer_epoch,
                )  # fmt: skip
                self.fence_and_abort(metadata, lambda _: None)
        ongoing = (m for m in self.transactions.values() if m.now.state == TransactionState.ONGOING)
        if any(metadata.pending_state is None for metadata in ongoing):
            self.watch_open()

    def is_timed_out(self, now: Transit) -> bool:
        """Return whether an open transaction is strictly older than its time-out."""
        return now.state == TransactionState.ONGOING and now.txn_start_timestamp + now.txn_timeout_ms < self.env.now_ms

    def watch_idle(self) -> None:
        if not self._idle_watched:
            self._idle_watched = True
            interval_us = self.env.config.expiration_check_ms * 1000
            self.after(interval_us - self.kernel.now % interval_us, self.expire_idle)

    def expire_idle(self, _: object) -> None:
        """Delete every id that has been idle for the configured time (txn.20)."""
        self._idle_watched = False
        for metadata in list(self.transactions.values()):
            if metadata.pending_state is None and self.is_expired(metadata.now):
                metadata.prepare(TransactionState.DEAD)
                self.transitions.write_tombstone(metadata, partial(self.expired, metadata))
        if self.transactions:
            self.watch_idle()

    def is_expired(self, now: Transit) -> bool:
        """Return whether the id is idle for too long. An id with an open or completing transaction does not expire."""
        return now.state in IDLE and now.txn_last_update_timestamp <= self.env.now_ms - self.env.config.expiration_ms

    def expired(self, metadata: TransactionMetadata, ok: bool) -> None:
        if ok:
            del self.transactions[metadata.transactional_id]
        else:
            metadata.pending_state = None
            self.transitions.emit_append_failed(metadata, TransactionState.DEAD, metadata.now)
