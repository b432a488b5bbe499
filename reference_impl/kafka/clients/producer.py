"""This module has a transactional producer with its calls and answers, and a producer that is only idempotent."""

from enum import Enum

from fencepost.reference_impl.kafka.clients.sends import (
    FIRST_ADD_BACKOFF_US,
    NONE,
    RETRY_BACKOFF_US,
    CoordinatorCall,
    Lane,
    Question,
    Sender,
    Sends,
    SentBatch,
)
from fencepost.reference_impl.kafka.environment import Environment, Kind, client_name
from fencepost.reference_impl.kafka.errors import Verdict, from_coordinator
from fencepost.reference_impl.kafka.messages import (
    ABORT,
    COMMIT,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TRANSACTIONAL_ID,
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
)
from fencepost.reference_impl.simulation import Message, Node

# Under the producer: its state, and what it asks the coordinator next, with the answers (TransactionManager.java).
#
# What comes next follows from the state (`go_on`): partitions first, the end of the transaction when nothing is
# unanswered, the bump of the epoch last. What an error does is stated in `errors.py`.


class State(Enum):
    """A `State` is one of Kafka's producer states. FATAL_ERROR is final."""

    UNINITIALIZED = 0
    INITIALIZING = 1
    READY = 2
    IN_TRANSACTION = 3
    COMMITTING_TRANSACTION = 4
    ABORTING_TRANSACTION = 5
    ABORTABLE_ERROR = 6
    FATAL_ERROR = 7
    PREPARED_TRANSACTION = 8  # KIP-939: only its end can follow


COMPLETING = (State.COMMITTING_TRANSACTION, State.ABORTING_TRANSACTION)


class ProducerCalls(Node):
    """A `ProducerCalls` is a producer instance without the calls of its application, which `Producer` adds."""

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
        self.to_add: list[int] = []  # partitions of the transaction that the coordinator has not heard of
        self.adding = NONE
        self.added: set[int] = set()
        self.epoch_bump_required = False
        self.call = CoordinatorCall(env, self)
        self.inits = Question("init", self.ask_init, self.init_answered)
        self.adds = Question("add", self.ask_add, self.add_answered)
        self.ends = Question("end", self.ask_end, self.end_answered)
        self.sends = self.sends_class(env, self, self)
        env.emit(Kind.CLIENT_STARTED, client=self.client, txn_id=self.txn_id)

    # -- what follows from the state

    def go_on(self) -> None:
        """Send the next request to the coordinator: partitions first, and the end only when nothing is unanswered."""
        if self.call.outstanding:
            return
        if self.to_add:
            self.adding = self.to_add.pop(0)
            self.call.start(self.adds)
        elif self.state in COMPLETING and not self.sends.outstanding:
            if self.started:
                self.call.start(self.ends)
            else:  # no broker has heard of this transaction
                self.report_end(NONE, 0, self.producer_id, self.epoch)
                self.end_transaction()

    def may_send_to(self, partition: int) -> bool:
        """Return whether records may be sent: in v2 at once, before v2 only to an added partition."""
        return self.env.config.is_v2 or partition in self.added

    def initialize(self) -> None:
        """Request a producer id and epoch, or (KIP-360) the next epoch of the current ones."""
        self.state = State.INITIALIZING
        self.call.start(self.inits)

    def adopt(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.producer_id = producer_id
            self.epoch = epoch
            self.sends.reset_sequences()

    def end_transaction(self) -> None:
        """End the client's transaction, and bump the epoch if sequence numbers are in doubt (KIP-360)."""
        self.started = False
        self.added.clear()
        if self.epoch_bump_required:
            self.epoch_bump_required = False
            self.initialize()
        else:
            self.state = State.READY

    def require_epoch_bump(self) -> None:
        """Request the next epoch after the abort. In v2 the end of the transaction brings it."""
        self.epoch_bump_required = not self.env.config.is_v2

    # -- errors

    def record_failed(self, verdict: Verdict, error: int) -> None:
        """Handle a record that was given up, after which the transaction can at best be aborted."""
        if verdict is Verdict.ABORTABLE and self.state not in COMPLETING:
            self.require_epoch_bump()
        self.fail(verdict, error)

    def fail(self, verdict: Verdict, error: int) -> None:
        """Enter one of the two error states. An abortable error changes nothing while aborting."""
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
        return from_coordinator(error)

    # -- requests to the coordinator, and their answers

    def ask_init(self, request: int) -> InitProducerIdRequest:
        pair = (self.producer_id, self.epoch)
        self.env.emit(
            Kind.INIT_SENT, client=self.client, txn_id=self.txn_id, request=request, producer_id=pair[0], epoch=pair[1]
        )
        return InitProducerIdRequest(self.txn_id, self.env.config.transaction_timeout_ms, *pair)

    def init_answered(self, request: int, answer: InitProducerIdResponse) -> None:
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

    def add_answered(self, request: int, answer: AddPartitionsToTxnResponse) -> None:
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

    def end_answered(self, request: int, answer: EndTxnResponse) -> None:
        error = answer.error_code
        verdict = self.verdict(error)
        if verdict is Verdict.RETRY:
            self.call.retry(RETRY_BACKOFF_US)
            return
        self.call.finish()
        self.report_end(request, error, answer.producer_id, answer.producer_epoch)
        if verdict is Verdict.FINE:
            if answer.producer_epoch != NO_PRODUCER_EPOCH:
                self.adopt(answer.producer_id, answer.producer_epoch)
            self.end_transaction()
        else:
            self.fail(verdict, error)

    @property
    def outcome(self) -> int:
        return COMMIT if self.state is State.COMMITTING_TRANSACTION else ABORT

    def report_end(self, request: int, error: int, producer_id: int, epoch: int) -> None:
        """Report the end of the transaction and the pair of the next one (v1: the same)."""
        if not error and epoch == NO_PRODUCER_EPOCH:
            producer_id, epoch = self.producer_id, self.epoch
        self.env.emit(
            Kind.END_TOLD, client=self.client, txn=self.txn, outcome=self.outcome, request=request,
            producer_id=producer_id, epoch=epoch, error=error,
        )  # fmt: skip


# The transactional producer: one instance of a client, from initTransactions to its end (KafkaProducer.java).
#
# The application calls `init`, `begin`, `send`, `commit` and `abort`. Each returns False and does nothing if the state
# does not allow it. All are asynchronous: requests leave, and answers arrive later. The parts below are `ProducerCalls`
# (states, requests to the coordinator) and `sends.py` (records in flight to the partitions).

__all__ = ["COMPLETING", "Producer", "State"]


class Producer(ProducerCalls):
    """A `Producer` is one instance in a slot, whose address it has until the next instance takes it."""

    def init(self) -> bool:
        if self.state is not State.UNINITIALIZED:
            return False
        self.initialize()
        return True

    def begin(self) -> bool:
        if self.state is not State.READY:
            return False
        self.state = State.IN_TRANSACTION
        self.txn = self.env.next_txn()
        self.env.emit(
            Kind.TXN_BEGUN, client=self.client, txn_id=self.txn_id, txn=self.txn, producer_id=self.producer_id,
            epoch=self.epoch,
        )  # fmt: skip
        return True

    def send(self, partition: int, count: int = 1) -> bool:
        """Call send() for records of one batch, or sendOffsetsToTransaction() for an offsets partition."""
        if self.state is not State.IN_TRANSACTION:
            return False
        if self.env.config.is_v2:
            self.started = True
        elif partition not in self.added and partition not in self.to_add and partition != self.adding:
            self.to_add.append(partition)
        self.sends.add(partition, *[self.env.next_record() for _ in range(count)])
        self.go_on()
        return True

    def commit(self) -> bool:
        """Call commitTransaction(). EndTxn leaves when every record has its answer."""
        if self.state is not State.IN_TRANSACTION:
            return False
        self.state = State.COMMITTING_TRANSACTION
        self.go_on()
        return True

    def abort(self) -> bool:
        """Call abortTransaction(), which gives up unanswered records (txn.15 is about what that leaves in flight)."""
        if self.state not in (State.IN_TRANSACTION, State.ABORTABLE_ERROR):
            return False
        self.state = State.ABORTING_TRANSACTION
        self.to_add.clear()
        if self.sends.give_up():
            self.require_epoch_bump()
        self.go_on()
        return True

    def receive(self, message: Message) -> None:
        if message.kind == "produce_answer":
            self.sends.answer(message.body)
        else:
            self.call.answer(message.body)

    def forget(self) -> None:
        self.env.emit(Kind.CLIENT_STOPPED, client=self.client)


# The idempotent producer: no transactions, every record once per partition, as long as the leader remembers it.
#
# An application gets it by `enable.idempotence` alone. Its producer id belongs to no transactional id, and it raises
# its epoch by itself (KIP-360). A partition takes every batch under the new epoch for a new one. So the producer never
# sends a batch that may have been written again under another number, but gives it up and informs the application.
# (TransactionManager.java: bumpIdempotentProducerEpoch; KAFKA-14034)


class IdempotentSends(Sends):
    """The `IdempotentSends` are lanes of records outside of any transaction."""

    def __init__(self, env: Environment, node: Node, sender: Sender) -> None:
        super().__init__(env, node, sender)
        self.bump_wanted = False

    def request(self, batch: SentBatch) -> ProduceRequest:
        sender = self.sender
        return ProduceRequest(
            NO_TRANSACTIONAL_ID, batch.partition, sender.producer_id, sender.epoch, batch.sequence, batch.record,
            is_transactional=False, more=batch.more,
        )  # fmt: skip

    def failed(self, batch: SentBatch, verdict: Verdict, error: int) -> None:
        """Give up the partition's sent records, which are in doubt, and hold the unsent ones back."""
        lane = self.lanes[batch.partition]
        given_up, lane.in_flight = lane.in_flight, []
        for sent in given_up:
            self.waiting.pop(sent.request, None)
            self.report_failed(sent, error)
        self.bump_wanted = True
        self.bump_when_quiet()

    def has_room(self, lane: Lane) -> bool:
        return not self.bump_wanted and super().has_room(lane)

    def acked(self, batch: SentBatch, offset: int) -> None:
        super().acked(batch, offset)
        self.bump_when_quiet()

    def bump_when_quiet(self) -> None:
        """Bump the epoch once every record sent under this one has its answer."""
        if self.bump_wanted and not any(lane.in_flight for lane in self.lanes.values()):
            self.bump_wanted = False
            self.bump()

    def bump(self) -> None:
        self.sender.epoch += 1
        self.reset_sequences()
        for partition in self.lanes:
            self.move(partition)


class IdempotentProducer(Producer):
    """An `IdempotentProducer` has no transactions. Kafka's client calls `init` itself when it is created."""

    sends_class: type[Sends] = IdempotentSends

    def __init__(self, env: Environment, slot: int) -> None:
        super().__init__(env, slot, NO_TRANSACTIONAL_ID)

    def begin(self) -> bool:
        return False

    def send(self, partition: int, count: int = 1) -> bool:
        if self.state is not State.READY:
            return False
        self.sends.add(partition, *(self.env.next_record() for _ in range(count)))
        return True

    def may_send_to(self, partition: int) -> bool:
        return True

    def go_on(self) -> None:
        """An idempotent producer has no requests to the coordinator here."""
