"""This model has two-phase commit (KIP-939) over the core of v2: Kafka takes part in transactions that an outside
coordinator decides.

A producer that has flushed its transaction hands its id and epoch, the *prepared state*, to the store in which the
outside coordinator decides. The transaction has no time-out. If the producer is lost, another one sends InitProducerId
with keepPreparedTxn: the coordinator does not abort what is open, and answers with the epoch of the open transaction
and with another epoch, under which this producer alone may end it. The producer reads the store, and commits if it has
the state of just this transaction; if it has not, no one has decided, and the producer aborts.

The store keeps one decision of each transaction. Whether it refuses a writer for whom another one has read is left
open by KIP-939; here it does (939.14), as a database does that checks a generation in each write.
"""

from fencepost.model.language import (
    Bool,
    Ghost,
    Map,
    Set,
    action,
    danger,
    each,
    either,
    exists,
    fault,
    forall,
    implies,
    limit,
    open_hole,
    require,
    rule,
    when,
)
from fencepost.model.transactions.abstract.core import Client, Epoch, Fate, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.cores import V2Core


class TwoPhase(V2Core):
    """The `TwoPhase` model is PR 21735 with the clients of Kafka's trunk, and with a store that refuses an older
    writer. A client is one instance of a producer, and restarts as another one."""

    actors = ("coordinator", "admin", "store")  # type: ignore[assignment]  # the core has two

    outside = open_hole(
        "two-phase commit is switched on and off here, under one transaction version", "transaction-version",
        "mixed-clients",
    )  # fmt: skip

    # The coordinator
    forbidden: Bool  # two-phase commit is off (transaction.two.phase.commit.enable), or not permitted to the clients
    two_phase: Bool  # what the id has open, or opens next, has no time-out
    retained: Bool  # a client has the answer of InitProducerId with keepPreparedTxn, and the transaction is still open
    facing: Epoch  # then the epoch under which that client ends it; `epoch` remains that of the transaction
    last: Epoch  # the epoch under which a client may repeat the EndTxn of the transaction that ended last

    # Clients
    enabled: Set[Client]  # asks for two-phase commit
    restarted: Set[Client]  # sends InitProducerId with keepPreparedTxn until it is answered
    held: Map[Client, Epoch]  # the epoch in the answer, and in the client's EndTxn; 0: none
    found: Map[Client, Epoch]  # the epoch of the open transaction in that answer
    wants: Map[Client, Outcome]  # the outcome in the client's EndTxn of the transaction that it found
    next: Map[Client, Epoch]  # the epoch in the answer to that; 0: none
    completed: Set[Client]  # the client has that answer
    bound: Set[Txn]  # was begun by a client that asks for two-phase commit
    ready: Set[Txn]  # is prepared: its owner has flushed it, and has the prepared state

    # The store of the outside coordinator
    decision: Map[Txn, Outcome]
    guard: Epoch  # the newest epoch for which the store was read; what is written for an older one is refused

    verdict: Ghost[Map[Txn, Outcome]]  # as decided outside: in the store, by the owner, or by who found no decision
    forced: Ghost[Set[Txn]]  # aborted by an operator, or by a producer that does not retain it
    after_answer: Ghost[Set[Txn, Partition]]  # accepted after InitProducerId with keepPreparedTxn was answered
    after_read: Ghost[Set[Txn, Partition]]  # accepted after the store was read for another producer

    # InitProducerId

    @action(by="coordinator", to="c")
    def initialize(s, c: Client, to: Epoch):
        """InitProducerId without two-phase commit: what the id opens from here on has a time-out."""
        require(~s.restarted[c])
        V2Core.initialize(s, c, to)
        s.two_phase = False
        s.enabled[c] = False

    @action(by="coordinator", to="c")
    def initialize_two_phase(s, c: Client, to: Epoch):
        """InitProducerId with two-phase commit finds no open transaction."""
        require(~s.restarted[c])
        require(~s.forbidden, rule="939.9")
        V2Core.initialize(s, c, to)
        s.two_phase = True
        s.enabled[c] = True

    @action
    def restart(s, c: Client):
        """A client starts in the place of one that may have left a prepared transaction."""
        s.start_again(c)
        s.enabled[c] = True

    @action
    def restart_without(s, c: Client):
        """KIP-939 allows keepPreparedTxn without two-phase commit. What the client begins later has a time-out, unless
        what it finds has none."""
        s.start_again(c)
        s.enabled[c] = False

    def start_again(s, c):
        require(~s.restarted[c] & (s.held[c] == 0) & ~exists(Epoch, lambda e: s.given[c, e]))
        s.restarted[c] = True

    @action(fair="weak", by="coordinator", to="c")
    def retain(s, c: Client, to: Epoch):
        """InitProducerId with keepPreparedTxn finds an open transaction, and leaves it open."""
        require(s.restarted[c])
        require(s.is_permitted(c), rule="939.9")
        require(either("939.7", s.phase == Phase.ONGOING, while_prepared=s.phase != Phase.IDLE), rule="939.7")
        require(s.client_epoch() < to, rule="939.3")
        s.one_step(to)
        s.restarted[c] = False
        with rule("939.10"):
            s.two_phase = s.two_phase | s.enabled[c]
        with rule("939.2"):
            s.retained = True
            s.facing = to
        s.held[c] = to
        s.found[c] = s.epoch

    @action(fair="weak", by="coordinator", to="c", rule="939.17")
    def find_completed(s, c: Client, to: Epoch):
        """InitProducerId with keepPreparedTxn finds nothing open: what was prepared has been ended, and the client goes
        on."""
        require(s.restarted[c])
        require(s.is_permitted(c), rule="939.9")
        V2Core.initialize(s, c, to)
        s.two_phase = s.enabled[c]
        s.restarted[c] = False

    def is_permitted(s, c):
        return implies(s.enabled[c], ~s.forbidden)

    @action(danger="lost-answer")
    def initialize_again(s, c: Client):
        """InitProducerId names the epoch under which the last transaction was ended."""
        require(s.phase == Phase.IDLE)
        names_last = s.given[c, s.last] | ((s.held[c] == s.last) & (s.last > 0))
        require((s.outcome != Outcome.NONE) & names_last)
        s.fence = s.epoch
        s.given[c, s.epoch] = True

    @fault(budget="fences", by="admin", to="coordinator")
    def fence_producers(s, to: Epoch):
        """Admin.fenceProducers does not ask for two-phase commit."""
        V2Core.fence_producers(s, to)
        s.two_phase = False

    @fault(budget="changes", by="admin", to="coordinator")
    def permit_or_forbid(s):
        """The brokers' setting, or a client's permission (TWO_PHASE_COMMIT), is changed, at any time."""
        s.forbidden = ~s.forbidden

    # What an owner does, and the outside coordinator

    @action
    def begin(s, c: Client, t: Txn, e: Epoch):
        V2Core.begin(s, c, t, e)
        s.bound[t] = s.enabled[c]

    @action(by="owner", to="p")
    def send(s, t: Txn, p: Partition):
        require(~s.ready[t], rule="939.12")
        V2Core.send(s, t, p)

    @action(by="owner")
    def prepare_transaction(s, t: Txn):
        """The owner flushes, and has the prepared state: the transaction's id and epoch."""
        require(s.begun[t] & s.bound[t] & (s.choice[t] == Outcome.NONE) & ~s.ready[t] & s.has_something(t))
        require(forall(Partition, lambda p: implies(s.sent[t, p], s.fate[t, p] != Fate.ABSENT)), rule="939.11")
        s.ready[t] = True

    @action(by="owner", to="store")
    def decide_commit(s, t: Txn):
        """The prepared state is written in the same step as the decision of the outside coordinator to commit."""
        require(s.ready[t] & (s.decision[t] == Outcome.NONE))
        require(s.guard <= s.number[t], rule="939.14")
        s.decision[t] = Outcome.COMMIT
        s.verdict[t] = Outcome.COMMIT

    @action(by="owner", to="store")
    def decide_abort(s, t: Txn):
        """The outside coordinator decides to abort a prepared transaction."""
        require(s.ready[t] & (s.decision[t] == Outcome.NONE))
        s.decision[t] = Outcome.ABORT
        s.verdict[t] = Outcome.ABORT

    @action(by="owner")
    def commit(s, t: Txn):
        """The owner sends EndTxn to commit."""
        require(implies(s.bound[t], s.decision[t] == Outcome.COMMIT), rule="939.13")
        V2Core.commit(s, t)

    @action(by="owner")
    def abort(s, t: Txn):
        """The owner sends EndTxn to abort: of a prepared transaction only if that was decided."""
        require(implies(s.ready[t], s.decision[t] == Outcome.ABORT), rule="939.13")
        V2Core.abort(s, t)
        s.verdict[t] = when(s.verdict[t] == Outcome.NONE, Outcome.ABORT, s.verdict[t])

    # What a client does that found an open transaction

    @action(by="c", to="store")
    def complete_transaction(s, c: Client):
        """A client that found an open transaction reads the store, and asks for what it says: commit if it has the
        state of this transaction, and else abort."""
        require((s.held[c] > 0) & (s.wants[c] == Outcome.NONE))
        found = s.found[c]
        committed = exists(Txn, lambda t: s.has_state(t, found) & (s.decision[t] == Outcome.COMMIT))
        s.wants[c] = when(committed, Outcome.COMMIT, Outcome.ABORT)
        s.read_for(c, found)
        s.verdict = each(
            lambda t: when(
                s.is_found(t, found) & ~committed & (s.verdict[t] == Outcome.NONE), Outcome.ABORT, s.verdict[t]
            )
        )

    def has_state(s, t, found):
        """Return whether the state that the store has of this transaction is the one that was found."""
        return either("939.15", s.is_found(t, found), any_state=s.begun[t] & (s.number[t] <= found))

    def is_found(s, t, found):
        return s.begun[t] & (s.number[t] == found)

    def read_for(s, c, found):
        """The store remembers for which producer it was read."""
        with rule("939.14"):
            s.guard = when(s.guard < s.held[c], s.held[c], s.guard)

    @action(fair="weak", by="coordinator", to="c")
    def learn_completed(s, c: Client):
        """The client receives the answer to its EndTxn, and goes on under the epoch in it."""
        require((s.next[c] > 0) & ~s.completed[c])
        s.completed[c] = True
        s.given[c, s.next[c]] = True

    # How a transaction ends

    @action(fair="weak", by="coordinator")
    def end(s, t: Txn, marker: Epoch, to: Epoch):
        """EndTxn of the owner ends the open transaction, unless it is retained for another client."""
        require(~s.retained, rule="939.5")
        V2Core.end(s, t, marker, to)

    @action(fair="weak", by="coordinator", to="c")
    def end_retained(s, c: Client, marker: Epoch, to: Epoch):
        """EndTxn of a client that found the transaction ends it. The markers have an epoch that is newer than the
        transaction's own."""
        require((s.wants[c] != Outcome.NONE) & (s.phase == Phase.ONGOING))
        require(s.held[c] == s.client_epoch(), rule="939.5")
        require(s.epoch < marker, rule="939.4")
        require(marker <= to)
        require(s.client_epoch() < to, rule="939.6")
        s.one_step(to)
        limit(marker <= s.epoch + 1)
        s.next[c] = to
        s.prepare(s.wants[c], marker, to)

    @fault(budget="losses", danger="lost-answer", by="coordinator", to="c")
    def lose_answer(s, c: Client):
        """The answer to EndTxn of a client that found the transaction is lost."""
        require((s.next[c] > 0) & ~s.completed[c])
        s.next[c] = 0

    @action(fair="weak", danger=("lost-answer", "duplicate"), by="coordinator", to="c", rule="939.18")
    def end_retained_again(s, c: Client):
        """EndTxn of a client that found the transaction arrives again, after the transaction ended as asked."""
        require((s.wants[c] != Outcome.NONE) & (s.outcome == s.wants[c]) & (s.last > 0))
        require(s.held[c] == s.last, rule="939.5")
        require(s.phase == Phase.IDLE, rule="939.8")
        s.next[c] = s.epoch

    @action(fair="weak", danger=("time-out", "clock-step"), by="coordinator")
    def take_over(s, marker: Epoch, to: Epoch):
        """A transaction that has a time-out is aborted by it, or by a producer that initializes."""
        require(~s.two_phase, rule="939.1")
        require(s.client_epoch() < to, rule="939.16")
        V2Core.take_over(s, marker, to)

    @fault(budget="forced", danger="client-crash", by="admin", to="coordinator")
    def force_abort(s, marker: Epoch, to: Epoch):
        """An operator (Admin.forceTerminateTransaction), or a producer that does not retain what is open, aborts a
        transaction that has no time-out: InitProducerId without keepPreparedTxn."""
        require((s.phase == Phase.ONGOING) & s.two_phase)
        require((s.epoch < marker) & (marker <= to))
        require(s.client_epoch() < to, rule="939.16")
        s.one_step(to)
        limit(marker <= s.epoch + 1)
        s.forced = each(lambda t: s.forced[t] | s.is_open(t))
        s.prepare(Outcome.ABORT, marker, to)

    def prepare_in(s, term, outcome, marker, to):
        last = s.client_epoch()
        V2Core.prepare_in(s, term, outcome, marker, to)
        s.last = last
        s.retained = False

    def is_retry(s, t):
        return s.number[t] == s.last

    def client_epoch(s):
        """Return the epoch that EndTxn and the next InitProducerId are held against."""
        return when(s.retained, s.facing, s.epoch)

    def one_step(s, to):
        limit(to <= s.client_epoch() + 1)

    def write(s, t, p):
        V2Core.write(s, t, p)
        s.after_answer[t, p] = s.retained & (s.number[t] == s.epoch)
        s.after_read[t, p] = s.number[t] < s.guard

    @danger("no-time-out")
    def open_without_end(s):
        """A transaction that has no time-out is open."""
        return (s.phase == Phase.ONGOING) & s.two_phase
