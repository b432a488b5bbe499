"""Under the producer: its state, and what it asks the coordinator next, with the answers (TransactionManager.java).

What comes next follows from the state (`go_on`): partitions first, the end of the transaction when nothing is
unanswered, the bump of the epoch last. What an error does is said in `client_errors.py`.
"""

from enum import Enum

from fencepost.reference_impl.simulation import Node
from fencepost.reference_impl.transactions.clients.client_errors import Verdict, from_coordinator
from fencepost.reference_impl.transactions.clients.coordinator_call import (
    FIRST_ADD_BACKOFF_US,
    NONE,
    RETRY_BACKOFF_US,
    CoordinatorCall,
    Question,
)
from fencepost.reference_impl.transactions.clients.sends import Sends
from fencepost.reference_impl.transactions.environment import Environment, client_name
from fencepost.reference_impl.transactions.events import Kind
from fencepost.reference_impl.transactions.messages import (
    ABORT,
    COMMIT,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)


class State(Enum):
    """Kafka's names. From FATAL_ERROR nothing leads out."""

    UNINITIALIZED = 0
    INITIALIZING = 1
    READY = 2
    IN_TRANSACTION = 3
    COMMITTING_TRANSACTION = 4
    ABORTING_TRANSACTION = 5
    ABORTABLE_ERROR = 6
    FATAL_ERROR = 7


COMPLETING = (State.COMMITTING_TRANSACTION, State.ABORTING_TRANSACTION)


class ProducerCalls(Node):
    """One instance, as its coordinator knows it; `producer.py` is what its application sees."""

    sends_class: type[Sends] = Sends

    def __init__(self, env: Environment, slot: int, txn_id: int | None = None) -> None:
        super().__init__(client_name(slot), env.kernel)
        self.env = env
        self.txn_id = slot % env.config.ids if txn_id is None else txn_id
        self.client = env.next_client()
        self.state = State.UNINITIALIZED
        self.producer_id = NO_PRODUCER_ID
        self.epoch = NO_PRODUCER_EPOCH
        self.txn = NONE
        self.started = False  # whether the coordinator may know of the transaction
        self.to_add: list[int] = []  # partitions of the transaction that the coordinator has not been told of
        self.adding = NONE
        self.added: set[int] = set()
        self.epoch_bump_required = False
        self.call = CoordinatorCall(env, self)
        self.inits = Question("init", self.ask_init, self.told_init)
        self.adds = Question("add", self.ask_add, self.told_add)
        self.ends = Question("end", self.ask_end, self.told_end)
        self.sends = self.sends_class(env, self, self)
        env.emit(Kind.CLIENT_STARTED, client=self.client, txn_id=self.txn_id)

    # -- what follows from the state

    def go_on(self) -> None:
        """Ask the coordinator what comes next: partitions first, the end only when nothing is unanswered."""
        if self.call.outstanding:
            return
        if self.to_add:
            self.adding = self.to_add.pop(0)
            self.call.start(self.adds)
        elif self.state in COMPLETING and not self.sends.outstanding:
            if self.started:
                self.call.start(self.ends)
            else:  # no broker has heard of this transaction
                self.tell_end(NONE, 0, self.producer_id, self.epoch)
                self.end_transaction()

    def may_send_to(self, partition: int) -> bool:
        """In v2 the leader adds the partition; before, the coordinator must have it first."""
        return self.env.config.is_v2 or partition in self.added

    def initialize(self) -> None:
        """Ask for a producer id and epoch, or (KIP-360) for the next epoch of those held."""
        self.state = State.INITIALIZING
        self.call.start(self.inits)

    def adopt(self, producer_id: int, epoch: int) -> None:
        """Go on under this pair."""
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.producer_id = producer_id
            self.epoch = epoch
            self.sends.reset_sequences()

    def end_transaction(self) -> None:
        """The transaction is over for the client too; bump the epoch if sequence numbers are in doubt (KIP-360)."""
        self.started = False
        self.added.clear()
        if self.epoch_bump_required:
            self.epoch_bump_required = False
            self.initialize()
        else:
            self.state = State.READY

    def require_epoch_bump(self) -> None:
        """After the abort ask for the next epoch; in v2 the end of the transaction brings it."""
        self.epoch_bump_required = not self.env.config.is_v2

    # -- errors

    def record_failed(self, verdict: Verdict, error: int) -> None:
        """A record was given up: the transaction can at best be aborted."""
        if verdict is Verdict.ABORTABLE and self.state not in COMPLETING:
            self.require_epoch_bump()
        self.fail(verdict, error)

    def fail(self, verdict: Verdict, error: int) -> None:
        """Move to one of the two error states; an abortable error changes nothing while aborting."""
        if verdict is Verdict.FATAL:
            self.state = State.FATAL_ERROR
            self.call.finish()
            self.to_add.clear()
            self.sends.forget_in_flight()
            self.env.emit(Kind.CLIENT_FAILED, client=self.client, error=error)
        elif self.state is not State.ABORTING_TRANSACTION:
            self.state = State.ABORTABLE_ERROR
            self.to_add.clear()
            self.sends.drop_unsent()

    def verdict(self, error: int) -> Verdict:
        """The consequence of an error from the coordinator for this producer."""
        return from_coordinator(error)

    # -- requests to the coordinator, and their answers

    def ask_init(self, request: int) -> InitProducerIdRequest:
        pair = (self.producer_id, self.epoch)
        self.env.emit(
            Kind.INIT_SENT, client=self.client, txn_id=self.txn_id, request=request, producer_id=pair[0], epoch=pair[1]
        )
        return InitProducerIdRequest(self.txn_id, self.env.config.transaction_timeout_ms, *pair)

    def told_init(self, request: int, answer: InitProducerIdResponse) -> None:
        error = answer.error_code
        self.env.emit(
            Kind.INIT_TAKEN, client=self.client, request=request, producer_id=answer.producer_id,
            epoch=answer.producer_epoch, error=error,
        )  # fmt: skip
        verdict = self.verdict(error)
        if verdict is Verdict.RETRY:
            self.call.retry(RETRY_BACKOFF_US)
        elif verdict is Verdict.FINE:
            self.call.finish()
            self.adopt(answer.producer_id, answer.producer_epoch)
            self.state = State.READY
        else:  # without an epoch there is nothing to abort
            self.fail(Verdict.FATAL, error)

    def ask_add(self, request: int) -> AddPartitionsToTxnRequest | AddOffsetsToTxnRequest:
        self.env.emit(
            Kind.ADD_SENT, client=self.client, txn_id=self.txn_id, txn=self.txn, partition=self.adding, request=request,
            producer_id=self.producer_id, epoch=self.epoch,
        )  # fmt: skip
        group = self.adding - self.env.config.partitions
        if group >= 0:
            return AddOffsetsToTxnRequest(self.txn_id, self.producer_id, self.epoch, group)
        return AddPartitionsToTxnRequest(self.txn_id, self.producer_id, self.epoch, self.adding)

    def told_add(self, request: int, answer: AddPartitionsToTxnResponse) -> None:
        partition, error = self.adding, answer.error_code
        self.env.emit(
            Kind.ADD_TAKEN, client=self.client, txn=self.txn, partition=partition, request=request, error=error
        )
        verdict = self.verdict(error)
        if verdict is Verdict.RETRY:
            self.call.retry(RETRY_BACKOFF_US if self.added else FIRST_ADD_BACKOFF_US)
            return
        self.call.finish()
        self.adding = NONE
        if verdict is Verdict.FINE:
            self.started = True
            self.added.add(partition)
            self.sends.move(partition)
        else:
            self.fail(verdict, error)
        self.go_on()

    def ask_end(self, request: int) -> EndTxnRequest:
        self.env.emit(
            Kind.END_SENT, client=self.client, txn_id=self.txn_id, txn=self.txn, outcome=self.outcome, request=request,
            producer_id=self.producer_id, epoch=self.epoch,
        )  # fmt: skip
        return EndTxnRequest(self.txn_id, self.producer_id, self.epoch, self.outcome == COMMIT)

    def told_end(self, request: int, answer: EndTxnResponse) -> None:
        error = answer.error_code
        verdict = self.verdict(error)
        if verdict is Verdict.RETRY:
            self.call.retry(RETRY_BACKOFF_US)
            return
        self.call.finish()
        self.tell_end(request, error, answer.producer_id, answer.producer_epoch)
        if verdict is Verdict.FINE:
            if answer.producer_epoch != NO_PRODUCER_EPOCH:
                self.adopt(answer.producer_id, answer.producer_epoch)
            self.end_transaction()
        else:
            self.fail(verdict, error)

    @property
    def outcome(self) -> int:
        """The outcome that the application has decided; only asked while completing."""
        return COMMIT if self.state is State.COMMITTING_TRANSACTION else ABORT

    def tell_end(self, request: int, error: int, producer_id: int, epoch: int) -> None:
        """The client learns the end, and in which pair its next transaction will run (v1: the same)."""
        if not error and epoch == NO_PRODUCER_EPOCH:
            producer_id, epoch = self.producer_id, self.epoch
        self.env.emit(
            Kind.END_TOLD, client=self.client, txn=self.txn, outcome=self.outcome, request=request,
            producer_id=producer_id, epoch=epoch, error=error,
        )  # fmt: skip
