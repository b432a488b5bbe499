"""The core model of transactions has one transactional id, its coordinator, its partitions, and a network that forgets
nothing.

Some details are left out here and modelled in `coordinator.py`, which refines this core: pending transitions, failed
appends, recovery after a fail-over, which answer belongs to which request, and the end of the epochs. In the core a
record of the transaction log is durable at once, and an epoch is a number that only grows, whatever the producer id.

Every transaction has a time-out. One that takes part in a two-phase commit has none (KIP-939, behind
transaction.two.phase.commit.enable: TransactionStateManager.timedOutTransactions skips it): `model.two_phase` has it,
and neither txn.18 nor txn.P10 is claimed of it.

A request that was sent may arrive at any time, any number of times, or never, since requests are not consumed. That
covers delay, loss and duplication at once, and makes every message a fact that stays true.
"""

from fencepost.model.language import (
    Bool,
    Enumeration,
    Ghost,
    Map,
    Nat,
    Protocol,
    Set,
    Sort,
    action,
    danger,
    each,
    either,
    excused,
    exists,
    fault,
    forall,
    implies,
    kafka_excludes,
    limit,
    not_of_this,
    open_hole,
    require,
    rule,
    when,
)


class Client(Sort, bound="clients"):
    """A `Client` is a producer instance with the transactional id; a restarted producer is a new client."""


class Txn(Sort, bound="transactions"):
    """A `Txn` is a transaction as its owner knows it. Brokers do not see it: requests carry only the producer epoch."""


class Partition(Sort, bound="partitions"):
    """A `Partition` is a partition of data or of a group's offsets."""


class Epoch(Nat, upto="epochs"):
    """An `Epoch` is a producer epoch."""


class Term(Nat, upto="fail_overs"):
    """A `Term` is a coordinator epoch: the leader epoch of the transaction log's partition."""


class Phase(Enumeration):
    """A `Phase` is the coordinator's transaction state: Empty and Complete* are IDLE, Prepare* is PREPARED."""

    IDLE, ONGOING, PREPARED = range(3)


class Outcome(Enumeration):
    """An `Outcome` is what an owner requested of its transaction, or what it was answered."""

    NONE, COMMIT, ABORT = range(3)


class Fate(Enumeration):
    """A `Fate` is the state of a transaction's record in a partition; one record there stands for all of them."""

    ABSENT, OPEN, COMMITTED, ABORTED = range(4)


class Core(Protocol):
    """The coordinator decides, markers carry the decision, and partitions apply it to whatever is open."""

    epoch: Epoch  # the coordinator's
    phase: Phase
    parts: Set[Partition]  # of the transaction that is ongoing or prepared
    marked: Set[Partition]  # of these, the ones that have the marker from this coordinator
    outcome: Outcome  # of the transaction prepared last; Empty is IDLE with no outcome
    ended: Epoch  # the epoch of the transaction that ended last
    marker_epoch: Epoch  # the epoch in the markers of that transaction
    term: Term  # the coordinator's
    markers: Set[Partition, Epoch, Bool, Term]  # every marker ever sent; True: commit

    given: Set[Client, Epoch]  # by InitProducerId or, in v2, by the answer to EndTxn
    begun: Set[Txn]
    actors = ("coordinator", "admin")
    owner: Map[Txn, Client]
    number: Map[Txn, Epoch]  # the epoch in all requests of this transaction
    sent: Set[Txn, Partition]  # its records that were sent
    choice: Map[Txn, Outcome]  # the outcome in its EndTxn, once that is sent
    success: Set[Txn]  # an answer to its EndTxn confirms its choice
    told: Set[Txn]  # its owner has received that answer
    follows: Map[Txn, Epoch]  # the epoch in the answer to its EndTxn, for the owner's next transaction

    known: Map[Partition, Epoch]  # the producer epoch that a partition knows
    known_term: Map[Partition, Term]  # the coordinator epoch that a partition knows
    fate: Map[Txn, Partition, Fate]

    fence: Ghost[Epoch]  # the epoch given out by the last InitProducerId
    late: Ghost[Set[Txn, Partition]]  # accepted although fenced before
    result: Ghost[Map[Txn, Outcome]]  # the outcome in the Prepare record that ended it

    outside = (
        *open_hole(
            "coordinators take over from one another in one step: core-v2-overlapping is proved where the deposed one "
            "still answers, and v1-verified-overlapping is shown to break there",
            "overlapping-coordinators",
        ),
        *open_hole("a record of the log is durable at once: core-v2-timed-out is proved with appends in doubt, and the "
                   "full models have those that fail", "failed-append"),
        *open_hole("nothing is acted on before it is replicated: log-covered and log-uncovered have a tail that may be "
                   "lost", "uncovered-log"),
        *open_hole("ids do not expire in a core; v2-expiring has that", "id-expiry"),
        *open_hole("an epoch only grows here, whatever the producer id; the full models have ids that are used up",
                  "end-of-epochs"),
        *excused("of requests EndTxn comes twice; a record that comes twice is known again, which idempotence judges",
                 "duplicate"),
        *open_hole("one transaction version from first to last; core-versions has two",
                  "transaction-version", "mixed-clients"),
        *open_hole("one record stands for all that a transaction has in a partition: several-v2 and "
                   "several-v1-verified are proved with two", "several-records"),
        *open_hole(
            "a partition takes every marker that it must, and forgets nothing that it knows: parked-v2 and "
            "parked-v1-verified-prompt are proved where it does not, dropped-v2, dropped-v1, expired-v1 and unclean-v2 "
            "show what follows, and read-committed has the cleaner",
            "partition-away", "unreplicated-tail", "leader-restart", "producer-expiry", "cleaning",
            "truncation",
        ),
        *not_of_this("records have no sequence numbers here; idempotence has them", "sequence-wrap"),
        *not_of_this("readers are in read-committed", "slow-reader"),
        *not_of_this("a group's offsets are one more partition; what a group is told is in transactional-offsets",
                    "several-groups"),
        *kafka_excludes(
            "coordinators and partitions keep what they know by id; ids share a partition's last stable offset, which "
            "read-committed has, and whether a batch of refused questions stops or aborts, which commits nothing",
            "TransactionStateManager.scala, ProducerStateManager.java, AddPartitionsToTxnManager.java", "several-ids",
        ),
        *open_hole("every transaction has a time-out: one that takes part in a two-phase commit has none",
                   "no-time-out"),
        *open_hole("what a coordinator knows is what its log says, but for appends that fail", "memory-without-log"),
        *open_hole("a step is one of a whole process", "two-threads"),
        *not_of_this("no log is read here: what readers are given is in read-committed", "isolation-level"),
        *not_of_this(
            "brokers know of no workers, connectors or tasks", "rebalance", "leader-in-a-call",
            "worker-without-support", "empty-set", "one-task", "several-tasks", "several-connectors", "deletion",
            "re-creation", "id-collision",
        ),
    )  # fmt: skip

    # What an owner does

    @action(by="coordinator", to="c")
    def initialize(s, c: Client, to: Epoch):
        """InitProducerId finds no open transaction, bumps the epoch and answers."""
        require(either("txn.3", s.phase == Phase.IDLE, while_prepared=s.phase != Phase.ONGOING), rule="txn.3")
        require(s.epoch < to, rule="txn.1")
        s.one_step(to)
        s.once(c)
        s.epoch = to
        s.outcome = Outcome.NONE
        s.fence = to
        s.given[c, to] = True

    @fault(budget="fences", by="admin", to="coordinator")
    def fence_producers(s, to: Epoch):
        """Admin.fenceProducers sends an InitProducerId for which no owner waits. The id becomes known if it was not,
        and stays idle under an epoch above all that were given to producers."""
        require(s.phase == Phase.IDLE, rule="txn.3")
        require(s.epoch < to, rule="txn.22")
        s.one_step(to)
        s.fence = s.epoch + 1
        s.epoch = to
        s.outcome = Outcome.NONE

    @action
    def begin(s, c: Client, t: Txn, e: Epoch):
        """An owner begins a transaction with an epoch that it was given."""
        require(~s.begun[t] & s.given[c, e])
        require(s.has_no_other(c, e))
        s.begun[t] = True
        s.owner[t] = c
        s.number[t] = e

    @action(by="owner", to="p")
    def send(s, t: Txn, p: Partition):
        require(s.begun[t] & (s.choice[t] == Outcome.NONE))
        require(s.may_send(t, p))
        s.sent[t, p] = True

    @action(by="owner")
    def commit(s, t: Txn):
        """The owner decides to commit, once every record is acknowledged."""
        require(s.begun[t] & (s.choice[t] == Outcome.NONE) & s.has_something(t))
        require(forall(Partition, lambda p: implies(s.sent[t, p], s.fate[t, p] != Fate.ABSENT)))
        s.choice[t] = Outcome.COMMIT

    @action(by="owner")
    def abort(s, t: Txn):
        """The owner decides to abort, perhaps with records still in flight."""
        require(s.begun[t] & (s.choice[t] == Outcome.NONE) & s.has_something(t))
        s.choice[t] = Outcome.ABORT

    # What the coordinator does

    def add(s, t, p):
        """AddPartitions or AddOffsets adds a partition, sent by the owner or by the partition's leader."""
        require(s.begun[t])
        require(s.number[t] == s.epoch, rule="txn.6")
        require(s.phase != Phase.PREPARED, rule="txn.5")
        s.parts[p] = True
        s.phase = Phase.ONGOING

    def prepare(s, outcome, marker, to):
        s.prepare_in(s.term, outcome, marker, to)

    def prepare_in(s, term, outcome, marker, to):
        """Make the outcome durable, with markers that the coordinator of the epoch ``term`` sends."""
        s.result = each(lambda u: when(s.is_open(u), outcome, s.result[u]))
        s.phase = Phase.PREPARED
        s.outcome = outcome
        s.ended = s.epoch
        s.marker_epoch = marker
        s.epoch = to
        s.marked = each(lambda p: False)
        s.markers = each(
            lambda p, e, commit, k: (
                s.markers[p, e, commit, k]
                | (s.parts[p] & (e == marker) & (commit == (outcome == Outcome.COMMIT)) & (k == term))
            )
        )

    @action(fair="weak", by="coordinator")
    def end(s, t: Txn, marker: Epoch, to: Epoch):
        """EndTxn ends the open transaction. The epoch after the last one of a producer id is used by a marker and by no
        owner, and the owner then continues with another producer id."""
        require((s.choice[t] != Outcome.NONE) & s.in_time(t) & s.may_end(t))
        require(s.number[t] == s.epoch, rule="txn.7")
        s.goes_on_with(marker, to)
        s.prepare(s.choice[t], marker, to)
        s.success[t] = True
        s.follows[t] = to

    @action(fair="weak", danger=("lost-answer", "duplicate"), by="coordinator", to="owner")
    def answer_again(s, t: Txn):
        """The coordinator answers a repeated EndTxn whose transaction it has ended already."""
        require((s.choice[t] != Outcome.NONE) & (s.phase == Phase.IDLE) & s.in_time(t))
        require(s.is_retry(t), rule="txn.7")
        require(s.outcome == s.choice[t], rule="txn.8")
        s.success[t] = True
        s.follows[t] = s.epoch

    @action(fair="weak", by="coordinator", to="owner")
    def learn(s, t: Txn):
        """The owner receives the answer to its EndTxn."""
        require(s.success[t] & ~s.told[t])
        s.told[t] = True
        s.given[s.owner[t], s.follows[t]] = True

    @action(fair="weak", danger=("time-out", "clock-step"), by="coordinator")
    def take_over(s, marker: Epoch, to: Epoch):
        """The transaction timed out, by whatever clock, or another producer initializes: it is fenced and aborted."""
        require(s.phase == Phase.ONGOING)
        require(s.is_fence(marker, to), rule="txn.18")
        s.one_step(to)
        s.prepare(Outcome.ABORT, either("txn.3", marker, old_epoch=s.epoch), to)

    def is_open(s, u):
        """Return whether the coordinator's open transaction, if it belongs to any owner, is this one."""
        return s.begun[u] & (s.number[u] == s.epoch) & (s.result[u] == Outcome.NONE)

    @action(fair="weak", by="coordinator")
    def complete(s):
        """Every partition has the marker, and the coordinator records that the transaction is complete."""
        require(s.phase == Phase.PREPARED)
        require(forall(Partition, lambda p: implies(s.parts[p], s.marked[p])), rule="txn.10")
        s.phase = Phase.IDLE
        s.parts = each(lambda p: False)
        s.marked = each(lambda p: False)

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"), by="coordinator")
    def fail_over(s):
        """Another coordinator reads the log and sends the markers of the prepared transaction again."""
        with rule("txn.19"):
            s.markers = each(
                lambda p, e, commit, k: s.markers[p, e, commit, k] | (s.is_current(p, e, commit) & (k == s.term + 1))
            )
            s.marked = each(lambda p: False)
        s.leave_behind()
        s.depose()
        s.term = s.term + 1

    def leave_behind(s):
        """Messages that are in flight at a fail-over may arrive like all others."""

    def depose(s):
        """The previous coordinator knows that it is deposed, and answers nothing more."""

    # What a partition does

    def write(s, t, p):
        """Append a record, unless it is there already (`sequences.py` models how a partition knows that)."""
        require(s.sent[t, p] & (s.fate[t, p] == Fate.ABSENT))
        require(s.known[p] <= s.number[t], rule="txn.12")
        s.fate[t, p] = Fate.OPEN
        s.known[p] = s.number[t]
        s.late[t, p] = s.number[t] < s.fence

    @action(fair="weak", by="coordinator", to="p")
    def mark(s, p: Partition, e: Epoch, commit: Bool, k: Term):
        """A marker of the prepared transaction arrives, and decides whatever is open."""
        require(s.is_current(p, e, commit) & (k == s.term))
        s.take_marker(p, e, commit, k)
        s.marked[p] = True

    @action(danger="late-copy", by="coordinator", to="p")
    def mark_late(s, p: Partition, e: Epoch, commit: Bool, k: Term):
        """A marker of an earlier transaction, or from an earlier coordinator, arrives; it is never owed."""
        require(~(s.is_current(p, e, commit) & (k == s.term)) & s.marker_in_time(p, e, commit, k))
        s.take_marker(p, e, commit, k)

    def take_marker(s, p, e, commit, k):
        require(s.markers[p, e, commit, k])
        require(s.accepts_marker(p, e), rule="txn.12")
        require(s.known_term[p] <= k, rule="txn.11")
        fate = when(commit, Fate.COMMITTED, Fate.ABORTED)
        s.fate = each(lambda t, q: when((q == p) & (s.fate[t, q] == Fate.OPEN), fate, s.fate[t, q]))
        s.known[p] = e
        s.known_term[p] = k
        s.answer_questions(p, e)

    def is_current(s, p, e, commit):
        return s.is_prepared(e, commit) & s.parts[p]

    def is_prepared(s, e, commit):
        outcome = when(commit, Outcome.COMMIT, Outcome.ABORT)
        return (s.phase == Phase.PREPARED) & (e == s.marker_epoch) & (s.outcome == outcome)

    def something_open(s, p):
        return exists(Txn, lambda t: s.fate[t, p] == Fate.OPEN)

    def answer_questions(s, p, e):
        """A marker arrives, and ends the leader's pending questions to the coordinator."""
        s.forget_questions(p)

    def forget_questions(s, p):
        """A leader that does not ask has no pending questions to the coordinator."""

    # What the variants say otherwise

    def has_no_other(s, c, e):
        """A producer uses each epoch for one transaction, or for one at a time."""
        return forall(Txn, lambda t: ~(s.begun[t] & (s.owner[t] == c) & (s.number[t] == e)))

    def has_something(s, t):
        """An owner that has sent nothing sends no EndTxn either."""
        return exists(Partition, lambda p: s.sent[t, p])

    def may_send(s, t, p):
        return s.begun[t]

    def in_time(s, t):
        return s.begun[t]

    def record_in_time(s, t):
        """Return whether a record of this transaction can still arrive."""
        return s.begun[t]

    def may_end(s, t):
        """An owner may not know whether anything was added, and aborts to be sure."""
        return (s.phase == Phase.ONGOING) | ((s.phase == Phase.IDLE) & (s.choice[t] == Outcome.ABORT))

    def is_fence(s, marker, to):
        """Return whether these are the epochs after a time-out, or after another producer's InitProducerId."""
        return (s.epoch < marker) & (marker <= to)

    def goes_on_with(s, marker, to):
        """Require that these are the epochs after an EndTxn."""
        require(s.epoch < marker, rule="txn.9")
        require(marker <= to)
        s.one_step(to)

    def once(s, c):
        """A producer that initializes again is equivalent to another one, so exploration takes each producer once."""
        limit(~exists(Epoch, lambda e: s.given[c, e]))

    def one_step(s, to):
        """The proof covers all later epochs, and exploration takes the next one."""
        limit(to <= s.epoch + 1)

    def is_retry(s, t):
        return s.number[t] == s.ended

    def accepts_marker(s, p, e):
        """A partition accepts a marker that is strictly newer than what it knows (KIP-1228), or a repetition of one
        that it applied already (KAFKA-19999)."""
        newer = s.known[p] < e
        again = (s.known[p] == e) & ~s.something_open(p)
        return either("txn.23", newer | again, only_newer=newer, not_older=s.known[p] <= e)

    def marker_in_time(s, p, e, commit, k):
        return k <= s.term

    # Which dangers are there without being a step

    @danger("zombie")
    def zombie_begun(s):
        """A transaction continues under an epoch older than the last fence."""
        return exists(Txn, lambda t: s.begun[t] & (s.number[t] < s.fence) & (s.choice[t] == Outcome.NONE))

    @danger("client-crash")
    def abandoned(s):
        """A transaction was ended without its owner's request, which looks to brokers like a crash of the owner."""
        return exists(Txn, lambda t: (s.choice[t] == Outcome.NONE) & (s.result[t] != Outcome.NONE))

    @danger("loss")
    def never_came(s):
        """A transaction was decided, and a record of it has not arrived."""
        return exists(Txn, Partition, lambda t, p: s.is_missing(t, p) & (s.result[t] != Outcome.NONE))

    @danger("late-copy")
    def still_under_way(s):
        """An owner knows how its transaction ended, and a record of it may still arrive."""
        return exists(Txn, Partition, lambda t, p: s.is_missing(t, p) & s.told[t] & s.record_in_time(t))

    @danger("reordering")
    def out_of_order(s):
        """Of two records sent to two partitions only one has arrived."""
        return exists(Txn, Partition, Partition, lambda t, p, q: s.is_missing(t, p) & (s.fate[t, q] != Fate.ABSENT))

    @danger("several-partitions")
    def in_two(s):
        """The transaction has two partitions."""
        return exists(Partition, Partition, lambda p, q: (p != q) & s.parts[p] & s.parts[q])

    def is_missing(s, t, p):
        return s.sent[t, p] & (s.fate[t, p] == Fate.ABSENT)
