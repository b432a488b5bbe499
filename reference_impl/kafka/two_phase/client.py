"""This module has a producer with two-phase commit, the outside store that has the decision, and the application that
uses both as the KIP recommends.

The decision is the application's own commit in the store: in one write there, the prepared state goes with whatever
must be atomic with the transaction. A new instance claims the store, asks for the open transaction (`keep`), reads the
store if that is still its own, and calls completeTransaction() with what it read, which commits if that is
the transaction and aborts otherwise. The KIP has no claim; without one, or with one at another time, an instance that
was paused writes its decision when the next one has read that there is none. (KafkaProducer.java,
TransactionManager.java, PreparedTxnState.java)
"""

from typing import NamedTuple

from fencepost.reference_impl.kafka import environment
from fencepost.reference_impl.kafka.clients.admin import Admin
from fencepost.reference_impl.kafka.clients.producer import Producer, State
from fencepost.reference_impl.kafka.clients.sends import NONE
from fencepost.reference_impl.kafka.errors import Verdict
from fencepost.reference_impl.kafka.messages import (
    COMMIT,
    NO_PRODUCER_ID,
    InitProducerIdRequestV6,
    InitProducerIdResponse,
    InitProducerIdResponseV6,
)
from fencepost.reference_impl.kafka.two_phase.environment import EMPTY_PREPARED, UNGUARDED, Environment, Kind

Pair = tuple[int, int]
NO_STATE = ""


def prepared_text(pair: Pair) -> str:
    """Return a prepared state as text, as PreparedTxnState.toString does: the producer id and the epoch."""
    return f"{pair[0]}:{pair[1]}"


def prepared_pair(text: str) -> Pair:
    """Return the pair of a prepared state, (-1, -1) for the empty one. Raise ValueError for any other text."""
    if text == NO_STATE:
        return (-1, -1)
    producer_id, colon, epoch = text.partition(":")
    if not (colon and producer_id.isdecimal() and epoch.isdecimal()):
        raise ValueError(f"{text!r} is no prepared state: it is <producer id>:<epoch>, or empty; read it again")
    return int(producer_id), int(epoch)


class Decision(NamedTuple):
    """A `Decision` is what the store has of one transactional id: the prepared state that was written last, and
    whether it is to be committed."""

    state: str
    outcome: int


NOTHING = Decision(NO_STATE, 0)


class Store:
    """A `Store` is the outside store of one transactional id, which is atomic and durable. With a guard only the owner
    that claimed it last can read and write."""

    __slots__ = ("claims", "decision", "env", "txn_id")

    def __init__(self, env: Environment, txn_id: int) -> None:
        self.env = env
        self.txn_id = txn_id
        self.claims = 0
        self.decision = NOTHING

    def claim(self) -> int:
        """Return the claim of a new owner, which ends that of the one before."""
        self.claims += 1
        return self.claims

    def read(self, claim: int) -> Decision | None:
        """Return the decision, or None for an owner that is none any more."""
        return self.decision if self.takes(claim) else None

    def write(self, claim: int, decision: Decision) -> bool:
        """Write a decision, and return False for an owner that is none any more."""
        if not self.takes(claim):
            return False
        self.decision = decision
        return True

    def takes(self, claim: int) -> bool:
        return claim == self.claims or self.env.config.mode == UNGUARDED


class TwoPhaseProducer(Producer):
    """A `TwoPhaseProducer` is one instance. ``own`` is the pair of its transaction, which of a recovered one is not the
    pair that it has itself."""

    def __init__(self, env: environment.Environment, slot: int) -> None:
        super().__init__(env, slot)
        assert isinstance(env, Environment), "two-phase commit needs the environment of a cluster that has it"
        self.env: Environment = env
        self.two_phase = True  # transaction.two.phase.commit.enable of the producer
        self.keeps = False
        self.own: Pair = (-1, -1)
        self.preparing = False

    # initTransactions(keepPreparedTxn)

    def init_with(self, keep: bool, two_phase: bool) -> bool:
        if self.state is not State.UNINITIALIZED:
            return False
        self.keeps, self.two_phase = keep, two_phase
        return super().init()

    def ask_init(self, request: int) -> InitProducerIdRequestV6:  # type: ignore[override]
        self.env.emit(
            Kind.INIT_SENT, client=self.client, txn_id=self.txn_id, request=request, two_phase=int(self.two_phase),
            keep=int(self.keeps),
        )  # fmt: skip
        timeout_ms = self.env.config.transaction_timeout_ms
        return InitProducerIdRequestV6(self.txn_id, timeout_ms, enable_2pc=self.two_phase, keep_prepared_txn=self.keeps)

    def init_answered(self, request: int, answer: InitProducerIdResponse | InitProducerIdResponseV6) -> None:
        assert isinstance(answer, InitProducerIdResponseV6), "this producer sends version 6"
        super().init_answered(request, InitProducerIdResponse(*answer[:3]))
        if self.state is State.READY and answer.ongoing_txn_producer_id != NO_PRODUCER_ID:
            self.recover((answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch))

    def recover(self, own: Pair) -> None:
        """Take the retained transaction over: it can only be ended (PREPARED_TRANSACTION). Whether its former owner had
        prepared it is not known, since prepareTransaction() is no request."""
        self.state = State.PREPARED_TRANSACTION
        self.own, self.started, self.txn = own, True, NONE
        self.report(Kind.TXN_RECOVERED, own, next_producer_id=self.producer_id, next_epoch=self.epoch)

    def report(self, kind: int, pair: Pair, **columns: int) -> None:
        """Emit an event of this instance, about the transaction of a pair."""
        self.env.emit(kind, client=self.client, txn_id=self.txn_id, producer_id=pair[0], epoch=pair[1], **columns)

    # prepareTransaction and completeTransaction

    def begin(self) -> bool:
        began = super().begin()
        if began:
            self.own = (self.producer_id, self.epoch)
        return began

    def send(self, partition: int, count: int = 1) -> bool:
        return not self.preparing and super().send(partition, count)

    def prepare(self) -> bool:
        """Call prepareTransaction(), which waits until every record has its answer, and asks no broker."""
        if self.state is not State.IN_TRANSACTION or not self.two_phase or self.preparing:
            return False
        self.preparing = True
        self.go_on()
        return True

    def go_on(self) -> None:
        super().go_on()
        if self.preparing and self.state is State.IN_TRANSACTION and self.is_flushed():
            self.preparing = False
            self.state = State.PREPARED_TRANSACTION
            self.report(Kind.TXN_PREPARED, self.own, txn=self.txn)

    def is_flushed(self) -> bool:
        return not self.sends.outstanding

    @property
    def prepared_state(self) -> str:
        """Return the state of the prepared transaction as text, empty if there is none."""
        if self.state is not State.PREPARED_TRANSACTION or not (self.started or self.states_empty()):
            return NO_STATE
        return prepared_text(self.own)

    def states_empty(self) -> bool:
        """Return whether a transaction without records has a prepared state. Kafka's producer returns its pair, and
        sends no EndTxn for it, so that the next transaction has the same pair and the same state."""
        return self.env.config.mode == EMPTY_PREPARED

    def complete(self, state: str) -> bool:
        """Call completeTransaction(): commit if ``state`` is that of the prepared transaction, and abort otherwise.
        Return False if none is prepared, as after a recovery that found none: Kafka's producer throws
        InvalidTxnStateException there, where the KIP has "calling .completeTransaction would be a no-op"."""
        if self.state is not State.PREPARED_TRANSACTION:
            return False
        commits = self.is_prepared_as(state)
        self.report(Kind.COMPLETE_CALLED, self.own, outcome=int(commits))
        return self.commit() if commits else self.abort()

    def is_prepared_as(self, state: str) -> bool:
        return state == self.prepared_state

    def commit(self) -> bool:
        return self.end_prepared(State.COMMITTING_TRANSACTION) or (not self.preparing and super().commit())

    def abort(self) -> bool:
        self.preparing = False
        return self.end_prepared(State.ABORTING_TRANSACTION) or super().abort()

    def end_prepared(self, state: State) -> bool:
        if self.state is not State.PREPARED_TRANSACTION:
            return False
        self.state = state
        self.go_on()
        return True

    def fail(self, verdict: Verdict, error: int) -> None:
        self.preparing = False
        super().fail(verdict, error)

    def report_end(self, request: int, error: int, producer_id: int, epoch: int) -> None:
        """Report the end of the transaction, by its own pair, with the pair of the next one."""
        self.report(
            Kind.END_TAKEN, self.own, txn=self.txn, outcome=self.outcome, request=request, error=error,
            next_producer_id=producer_id, next_epoch=epoch,
        )  # fmt: skip


class TwoPhaseAdmin(Admin):
    """A `TwoPhaseAdmin` sends an InitProducerId that has neither flag (forceTerminateTransaction)."""

    def report_asked(self, transactional_id: int, request: int) -> None:
        self.env.emit(Kind.INIT_SENT, client=self.client, txn_id=transactional_id, request=request, two_phase=0, keep=0)


class Application:
    """An `Application` is one instance of what uses a producer and the store of its transactional id."""

    def __init__(self, env: Environment, producer: TwoPhaseProducer, store: Store) -> None:
        self.env, self.producer, self.store = env, producer, store
        self.claim = NONE
        self.found: Decision | None = None  # what it read in the store when it was initialised
        self.decided: Decision | None = None  # what it wrote about its present transaction

    def init(self, keep: bool, two_phase: bool) -> bool:
        """Claim the store, and call initTransactions(keep) then."""
        if not self.producer.init_with(keep, two_phase):
            return False
        self.claim_store()
        return True

    def claim_store(self) -> None:
        self.claim = self.store.claim()
        self.env.emit(Kind.STORE_CLAIMED, client=self.producer.client, txn_id=self.producer.txn_id, claim=self.claim)

    def begin(self) -> bool:
        self.decided = None
        return self.producer.begin()

    def read_store(self) -> bool:
        """Read the decision, once, of a store that is still this instance's. One that has lost it has to restart."""
        found = self.store.read(self.claim) if self.found is None and self.may_read() else None
        if found is None:
            return False
        self.found = found
        self.report(Kind.DECISION_READ, found)
        return True

    def may_read(self) -> bool:
        """Return whether the producer is initialised, so that every former owner is fenced before the store is read."""
        return self.producer.state in (State.READY, State.PREPARED_TRANSACTION)

    def decide(self, commit: bool) -> bool:
        """Decide the transaction that this instance has prepared: write its state and the outcome to the store. Return
        False if there is nothing to decide or the store is another owner's by now."""
        producer = self.producer
        if producer.txn == NONE or producer.prepared_state == NO_STATE or self.decided is not None:
            return False
        decision = Decision(producer.prepared_state, int(commit))
        written = self.store.write(self.claim, decision)
        self.report(Kind.DECISION_WRITTEN if written else Kind.DECISION_REFUSED, decision)
        if written:
            self.decided = decision
        return written

    def commit(self) -> bool:
        """Call commitTransaction(), without a decision in the store."""
        if not self.producer.commit():
            return False
        self.producer.report(Kind.COMMIT_CALLED, self.producer.own)
        return True

    def complete(self) -> bool:
        """End the prepared transaction as the store has it: as this instance wrote, or as it read if it recovered."""
        producer = self.producer
        known = self.found if producer.txn == NONE else self.decided
        if known is None and producer.prepared_state == NO_STATE:
            known = NOTHING  # without records there is nothing to decide
        return known is not None and producer.complete(self.state_of(known))

    def state_of(self, decision: Decision) -> str:
        """Return what completeTransaction() is called with: nothing but a decision to commit is a prepared state."""
        return decision.state if decision.outcome == COMMIT else NO_STATE

    def report(self, kind: int, decision: Decision) -> None:
        pair = prepared_pair(decision.state)
        self.producer.report(kind, pair, claim=self.claim, outcome=decision.outcome)
