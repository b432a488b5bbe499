"""How a transaction ends: EndTxn before and after KIP-890 part 2, and the fence that ends it on nobody's order.

The tables are Kafka's: what EndTxn gets, by the state it meets. Everything that ends a transaction passes through
`prepare_end`, where the outcome is decided, and through `markers.py`, where it is carried out.
"""

from collections.abc import Callable
from functools import partial

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.coordinator_base import Done
from fencepost.reference_impl.transactions.brokers.markers import MarkerSender
from fencepost.reference_impl.transactions.brokers.states import (
    IDLE,
    TransactionMetadata,
    TransactionState,
    Transit,
)
from fencepost.reference_impl.transactions.errors import ErrorCode
from fencepost.reference_impl.transactions.events import Kind
from fencepost.reference_impl.transactions.messages import EndTxnRequest, EndTxnResponse

PREPARES = -2  # in the tables: no answer yet, the transaction ends now

_S, _E = TransactionState, ErrorCode

# (state, committed) -> answer, for a request with the exact producer id and epoch
V1_RESULT = {
    (_S.EMPTY, True): _E.INVALID_TXN_STATE,
    (_S.EMPTY, False): _E.INVALID_TXN_STATE,
    (_S.ONGOING, True): PREPARES,
    (_S.ONGOING, False): PREPARES,
    (_S.PREPARE_COMMIT, True): _E.CONCURRENT_TRANSACTIONS,
    (_S.PREPARE_COMMIT, False): _E.INVALID_TXN_STATE,
    (_S.PREPARE_ABORT, True): _E.INVALID_TXN_STATE,
    (_S.PREPARE_ABORT, False): _E.CONCURRENT_TRANSACTIONS,
    (_S.COMPLETE_COMMIT, True): _E.NONE,
    (_S.COMPLETE_COMMIT, False): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_ABORT, True): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_ABORT, False): _E.NONE,
}

# (state, committed, retry) -> answer; a retry names the pair that the end of the last transaction has replaced.
# The client may not know whether the coordinator ever heard of its transaction, so an abort of nothing ends one too.
V2_RESULT = {
    (_S.EMPTY, True, False): _E.INVALID_TXN_STATE,
    (_S.EMPTY, True, True): _E.PRODUCER_FENCED,
    (_S.EMPTY, False, False): PREPARES,
    (_S.EMPTY, False, True): _E.PRODUCER_FENCED,
    (_S.ONGOING, True, False): PREPARES,
    (_S.ONGOING, True, True): _E.PRODUCER_FENCED,
    (_S.ONGOING, False, False): PREPARES,
    (_S.ONGOING, False, True): _E.PRODUCER_FENCED,
    (_S.PREPARE_COMMIT, True, False): _E.PRODUCER_FENCED,
    (_S.PREPARE_COMMIT, True, True): _E.CONCURRENT_TRANSACTIONS,
    (_S.PREPARE_COMMIT, False, False): _E.PRODUCER_FENCED,
    (_S.PREPARE_COMMIT, False, True): _E.INVALID_TXN_STATE,
    (_S.PREPARE_ABORT, True, False): _E.PRODUCER_FENCED,
    (_S.PREPARE_ABORT, True, True): _E.INVALID_TXN_STATE,
    (_S.PREPARE_ABORT, False, False): _E.PRODUCER_FENCED,
    (_S.PREPARE_ABORT, False, True): _E.CONCURRENT_TRANSACTIONS,
    (_S.COMPLETE_COMMIT, True, False): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_COMMIT, True, True): _E.NONE,
    (_S.COMPLETE_COMMIT, False, False): PREPARES,
    (_S.COMPLETE_COMMIT, False, True): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_ABORT, True, False): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_ABORT, True, True): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_ABORT, False, False): PREPARES,
    (_S.COMPLETE_ABORT, False, True): _E.NONE,
}


class TransactionEnding(MarkerSender):
    """Decides outcomes."""

    __slots__ = ()

    def receive_end(self, message: Message) -> None:
        """EndTxn: answered when the Prepare record is durable, which is when the outcome is fixed (txn.8)."""
        request: EndTxnRequest = message.body.data
        error = self.unavailable(request.transactional_id)
        metadata = self.find(request.transactional_id)
        if error or metadata is None:
            self.answer_end(message, error or ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            return
        result = self.end_result(metadata, request)
        if result == PREPARES:
            self.end(metadata, request.committed, partial(self.answer_end, message))
        else:
            self.answer_end(message, result, metadata.now)

    def end_result(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        """What EndTxn gets, in Kafka's order of checks: PREPARES, 0 for "done already", or an error (txn.5, txn.7)."""
        pending = metadata.pending_state is not None
        if pending and self.checks_pending_before_epoch():
            return ErrorCode.CONCURRENT_TRANSACTIONS
        result = self.end_result_v2(metadata, request) if self.bumps_on_end() else self.end_result_v1(metadata, request)
        fenced = result in (_E.PRODUCER_FENCED, _E.INVALID_PRODUCER_ID_MAPPING)
        return ErrorCode.CONCURRENT_TRANSACTIONS if pending and not fenced else result

    def end_result_v1(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        """The exact pair, or nothing."""
        error = self.exact_pair_error(metadata, request.producer_id, request.producer_epoch)
        return error or V1_RESULT[metadata.now.state, request.committed]

    def end_result_v2(self, metadata: TransactionMetadata, request: EndTxnRequest) -> int:
        """The exact pair, or the one before it in a retry."""
        retry = self.is_end_retry(metadata.now, request)
        error = self.exact_pair_error(metadata, request.producer_id, request.producer_epoch)
        return error if error and not retry else V2_RESULT[metadata.now.state, request.committed, retry]

    def is_end_retry(self, now: Transit, request: EndTxnRequest) -> bool:
        """Whether the request names the pair that the last end replaced: the epoch before, or the id before (txn.7)."""
        pair = request.producer_id, request.producer_epoch
        before = now.producer_id, now.producer_epoch - 1
        overflowed = now.producer_epoch == 0 and pair == (now.previous_producer_id, self.env.config.max_epoch - 1)
        return pair == before or overflowed

    def exact_pair_error(self, metadata: TransactionMetadata, producer_id: int, producer_epoch: int) -> int:
        """0 if the request names the current id and epoch; an epoch too high is as wrong as one too low (txn.6)."""
        if producer_id != metadata.now.producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return ErrorCode.NONE if producer_epoch == metadata.now.producer_epoch else ErrorCode.PRODUCER_FENCED

    def checks_pending_before_epoch(self) -> bool:
        """A pending transition may be about to make the request's pair the right one: so look there first (txn.5)."""
        return True

    def bumps_on_end(self) -> bool:
        """Whether the end of a transaction bumps the epoch: from KIP-890 part 2 on (txn.9)."""
        return self.env.config.is_v2

    def is_exhausted(self, epoch: int) -> bool:
        """Whether an epoch is the last one to hand out: the one above is kept for fencing it (txn.4)."""
        return epoch >= self.env.config.max_epoch - 1

    def answer_end(self, message: Message, error: int, now: Transit | None = None) -> None:
        """Answer EndTxn; in v2 a success names the pair for the next transaction."""
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
        """Append the Prepare record; `answer(error)` or `answer(0, completed state)` when it is durable or failed."""
        target = self.prepare_end(metadata, committed)
        metadata.prepare(target.state)
        self.write(metadata, target, partial(self.end_written, metadata, answer))

    def end_written(self, metadata: TransactionMetadata, answer: Callable[..., object], ok: bool) -> None:
        """The outcome is fixed, or nothing happened."""
        if ok:
            this_round = self.begin_completion(metadata)
            answer(ErrorCode.NONE, this_round.target)
            self.send_markers(this_round)
        else:
            answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def prepare_end(self, metadata: TransactionMetadata, committed: bool) -> Transit:
        """The Prepare state; in v2 one epoch on, and with the next producer id if that was the last epoch (txn.9)."""
        now = metadata.now
        target = now._replace(
            state=_S.PREPARE_COMMIT if committed else _S.PREPARE_ABORT,
            txn_start_timestamp=self.env.now_ms if now.state in IDLE else now.txn_start_timestamp,
            txn_last_update_timestamp=self.env.now_ms,
        )
        return self.bumped_at_end(target) if self.bumps_on_end() else target

    def bumped_at_end(self, target: Transit) -> Transit:
        """One epoch on; the last epoch of all stays where it is, after a fence has taken it.

        Such an end is one of version 2, also of a transaction that was begun before the cluster was upgraded.
        """
        target = target._replace(client_transaction_version=2)
        epoch = target.producer_epoch
        if self.is_exhausted(epoch):
            target = target._replace(next_producer_id=self.env.next_producer_id())
        if epoch >= self.env.config.max_epoch:
            return target
        return target._replace(producer_epoch=epoch + 1, last_producer_epoch=epoch)

    def fence_and_abort(self, metadata: TransactionMetadata, done: Done) -> None:
        """End an open transaction on nobody's order: its producer is fenced first, in memory, then it is aborted.

        If the append fails the fence stays, unknown to anyone else, and the next attempt does not bump again (txn.18).
        """
        if not self.abort_is_the_fence():
            metadata.now = metadata.now._replace(producer_epoch=self.fenced_epoch(metadata), last_producer_epoch=-1)
        self.end(metadata, False, partial(self.fence_written, metadata, done))

    def abort_is_the_fence(self) -> bool:
        """Whether the bump that every end brings in v2 is all that fences, with none before it (KAFKA-19367).

        It lets who was fenced pass for one that repeats itself: its own abort is told the next epoch.
        """
        return self.bumps_on_end() and self.env.config.is_recent

    def fence_written(self, metadata: TransactionMetadata, done: Done, error: int, _: Transit | None = None) -> None:
        """The transaction is aborting, or the fence failed half-way."""
        if error:
            metadata.has_failed_epoch_fence = True
        done(error)

    def fenced_epoch(self, metadata: TransactionMetadata) -> int:
        """One above the producer's epoch; the reserved last epoch makes this possible always (txn.4, txn.18)."""
        epoch = metadata.now.producer_epoch
        if metadata.has_failed_epoch_fence:
            return epoch
        return min(epoch + 1, self.env.config.max_epoch)
