"""Protocols made of others: a desk that hands out ids to the customers of a lock, small enough for every engine; and
the producer ids of a transactional id, which come from the blocks that KRaft grants to brokers."""

from fencepost.model.id_blocks.brokers import Broker as KafkaBroker
from fencepost.model.id_blocks.brokers import Id as ProducerId
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import (
    Bool,
    Map,
    Part,
    Properties,
    Protocol,
    Set,
    action,
    exists,
    forall,
    implies,
    lemma,
    part,
    promise,
    require,
    step,
    witness,
)
from fencepost.model.transactions.abstract.core import Client, Epoch, Fate, Partition, Txn
from fencepost.model.transactions.abstract.cores import V2Core
from fencepost.properties.id_blocks.claims import KraftProperties
from fencepost.properties.transactions.claims.core import V2Lemmas
from z3_protocols import (
    Allocation,
    AllocationProperties,
    Broker,
    Customer,
    Id,
    Ticket,
    TicketLock,
    TicketLockProperties,
)


class Desk(Protocol):
    """A customer whose turn it is leaves with an id of a broker's block."""

    ids: Part[Allocation] = part(joint=["hand_out"])
    lock: Part[TicketLock] = part(joint=["leave"])

    served: Set[Ticket]
    by: Map[Ticket, Id]  # the id that the holder of a ticket left with

    @action
    def serve(s, b: Broker, c: Customer, t: Ticket):
        """The customer with that ticket gets an id, and leaves."""
        require(s.lock.mine[c] == t, rule="730.2")
        fresh = s.ids.cursor[b]
        s.ids.hand_out(b)
        s.lock.leave(c)
        s.served[t] = True
        s.by[t] = fresh


class DeskProperties(Properties, of=Desk):
    ids: Part[AllocationProperties]
    lock: Part[TicketLockProperties]

    @promise(rule="730.P1")
    def ids_differ(s):
        """Holders of two tickets do not leave with the same id."""
        return forall(Ticket, Ticket, lambda t, u: implies(s.served[t] & s.served[u] & (s.by[t] == s.by[u]), t == u))

    @witness(of="ids_differ")
    def two_served(s):
        """Holders of two tickets have left."""
        return exists(Ticket, Ticket, lambda t, u: s.served[t] & s.served[u] & (t != u))

    @step(rule="730.P1")
    def id_is_kept(s, t):
        """What the holder of a ticket left with is not changed."""
        return forall(Ticket, lambda k: implies(s.served[k], s.by[k] == t.by[k]))

    @witness(of="id_is_kept")
    def another_id(s):
        """A client left with another id than the first."""
        return exists(Ticket, lambda t: s.by[t] >= 1)

    @lemma
    def served_is_past(s):
        """A ticket that was served is before the one that is."""
        return forall(Ticket, lambda t: implies(s.served[t], t < s.lock.serving))

    @lemma
    def id_is_used(s):
        """An id that a customer left with is in use."""
        return forall(Ticket, lambda t: implies(s.served[t], s.ids.used[s.by[t]] >= 1))


DESK_BOUNDS = {"customers": 2, "tickets": 2, "brokers": 1, "ids": 3, "size": 1, "crashes": 1}


class Ticking(Protocol):
    """A clock that never stands still."""

    now: Ticket

    @action
    def tick(s):
        s.now = s.now + 1


class TickingProperties(Properties, of=Ticking):
    @step(rule="730.8")
    def never_back(s, t):
        """Time does not go back."""
        return s.now <= t.now

    @witness(of="never_back")
    def later(s):
        """Time has passed."""
        return s.now >= 1

    @step(rule="730.8")
    def always_on(s, t):
        """Every step takes time."""
        return s.now < t.now

    @witness(of="always_on")
    def much_later(s):
        """Time has passed twice."""
        return s.now >= 2


class Clocked(Protocol):
    """A clock beside a lock."""

    clock: Part[Ticking]
    lock: Part[TicketLock]


class ClockedProperties(Properties, of=Clocked):
    clock: Part[TickingProperties]
    lock: Part[TicketLockProperties]


class Office(Protocol):
    """A desk with a clock, which stands still while a customer is served."""

    desk: Part[Desk]
    clock: Part[Ticking]

    last: Ticket

    @action
    def serve_in_no_time(s, b: Broker, c: Customer, t: Ticket):
        require(s.desk.lock.serving == s.clock.now)
        s.last = s.clock.now
        s.desk.serve(b, c, t)


class OfficeProperties(Properties, of=Office):
    desk: Part[DeskProperties]
    clock: Part[TickingProperties]

    @lemma
    def last_is_past(s):
        """The last customer was served before the one that is now."""
        return s.last <= s.desk.lock.serving


class TransactionalId(Protocol):
    """InitProducerId takes producer ids from the block of the broker that answers it: the transaction coordinator one
    for a transactional id, at first and when the epochs of the last one are used up, and any broker one for a producer
    that is idempotent only.  Kafka: TransactionCoordinator.handleInitProducerId, ProducerIdManager.  The id that
    Admin.fenceProducers may take is no producer's, and is left out."""

    ids: Part[Kraft] = part(joint=["hand_out"])
    txn: Part[V2Core] = part(joint=["initialize", "begin"])

    known: Bool
    id: ProducerId  # of the transactional id, once that is known
    had: Set[ProducerId]  # by the transactional id, at any time
    told: Map[Client, ProducerId]  # by the last InitProducerId that the client heard of
    under: Map[Txn, ProducerId]  # in all requests of a transaction
    idempotent: Set[ProducerId]  # of producers without a transactional id

    @action
    def initialize_with_new_id(s, b: KafkaBroker, c: Client, to: Epoch):
        """The coordinator takes an id of its broker's block."""
        fresh = s.ids.cursor[b]
        s.ids.hand_out(b)
        s.txn.initialize(c, to)
        s.known = True
        s.id = fresh
        s.had[fresh] = True
        s.told[c] = fresh

    @action
    def initialize(s, c: Client, to: Epoch):
        """The coordinator bumps the epoch of the id that there is."""
        require(s.known)
        s.txn.initialize(c, to)
        s.told[c] = s.id

    @action
    def initialize_idempotent(s, b: KafkaBroker):
        """A producer without a transactional id is told an id, and no coordinator hears of it."""
        fresh = s.ids.cursor[b]
        s.ids.hand_out(b)
        s.idempotent[fresh] = True

    @action
    def begin(s, c: Client, t: Txn, e: Epoch):
        """A transaction is sent under the producer id that its owner was told."""
        s.under[t] = s.told[c]
        s.txn.begin(c, t, e)


class TransactionalIdProperties(Properties, of=TransactionalId):
    ids: Part[KraftProperties]
    txn: Part[V2Lemmas]

    @promise(rule="730.P1")
    def records_told_apart(s):
        """No record of a transaction carries the producer id of a producer that is idempotent only, whose sequence
        numbers would then be taken for its own."""
        return forall(Txn, Partition, ProducerId, lambda t, p, i: implies(
            (s.txn.fate[t, p] != Fate.ABSENT) & s.idempotent[i], s.under[t] != i))  # fmt: skip

    @witness(of="records_told_apart")
    def both_write(s):
        """A transaction has a record, and another producer has an id."""
        return exists(Txn, Partition, lambda t, p: s.txn.fate[t, p] != Fate.ABSENT) & exists(
            ProducerId, lambda i: s.idempotent[i]
        )

    @lemma
    def told_of_its_own(s):
        """Every owner was told an id that the transactional id had."""
        return forall(Client, Epoch, lambda c, e: implies(s.txn.given[c, e], s.had[s.told[c]]))

    @lemma
    def begun_under_its_own(s):
        """A transaction is sent under an id that the transactional id had."""
        return forall(Txn, lambda t: implies(s.txn.begun[t], s.had[s.under[t]]))

    @lemma
    def present_id_is_its_own(s):
        """The id that there is was had."""
        return implies(s.known, s.had[s.id])

    @lemma
    def taken_was_handed_out(s):
        """An id that is taken was handed out, and no broker has it left to hand out."""
        return forall(ProducerId, lambda i: implies(s.had[i] | s.idempotent[i], s.ids.given[i])) & forall(
            KafkaBroker, ProducerId, lambda b, i: implies(s.had[i] | s.idempotent[i], ~s.ids.held(b, i))
        )

    @lemma
    def kept_apart(s):
        """No id is both the transactional id's and another producer's."""
        return forall(ProducerId, lambda i: ~(s.had[i] & s.idempotent[i]))


QUIET = dict(
    restarts=0, fail_overs=0, snapshots=0, time_outs=0, losses=0, copies=0, errors=0, refusals=0, fences=0
)  # fmt: skip
TRANSACTIONAL_ID_BOUNDS = dict(
    QUIET, brokers=1, requests=1, ids=2, size=1, clients=1, transactions=1, partitions=1, epochs=2
)  # fmt: skip
