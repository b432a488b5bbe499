"""In these models transactions of v1 and of v2 run under one transactional id, and transaction.version is changed while
they are open.

An owner begins a transaction of the version that the cluster has at the time, except that an old client begins one of
v1. In v1 the owner adds the partitions, and the end keeps the epoch. In v2 the leader that asks adds the partition, and
the end bumps the epoch. A partition has to distinguish their markers: a marker of v2 must be newer than what the
partition knows, and one of v1 carries the epoch of the records that it decides.

A producer that goes from v1 to v2 asks for another epoch first (TransactionManager.beginCompletingTransaction), since
what is open under the same epoch passes for its own.
"""

from fencepost.model.language import (
    Bool,
    Set,
    action,
    each,
    either,
    excused,
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
from fencepost.model.transactions.abstract.core import (
    Client,
    Core,
    Epoch,
    Outcome,
    Partition,
    Phase,
    Term,
    Txn,
)
from fencepost.model.transactions.abstract.cores import V2Core


class TwoVersions(V2Core):
    """The network is prompt for requests, records and markers of v1, which need that; those of v2 arrive at any time.
    Markers carry the transaction version (KAFKA-19446)."""

    second: Bool  # transaction.version is 2
    bumps: Set[Txn]  # the transactions that were begun under version 2
    added: Set[Txn, Partition]  # partitions added by the owner, in v1
    prepared_second: Bool  # the transaction that is prepared is one of v2, or was aborted under it
    seconds: Set[Partition, Epoch, Bool, Term]  # the markers of v2

    outside = (
        *excused("requests, records and markers of v1 do not come late; those of v2 do", "late-copy"),
        *open_hole("every client goes by the cluster's version: an old one on a cluster of v2 is in no model",
                   "mixed-clients"),
    )  # fmt: skip

    @fault(budget="changes", danger="transaction-version", by="admin", to="coordinator")
    def change_version(s):
        """The feature transaction.version is set to the other version, while transactions may be open."""
        s.second = ~s.second

    # What an owner does

    def once(s, c):
        """A producer initializes again when the version has changed since its last transaction."""
        limit(
            ~exists(Epoch, lambda e: s.given[c, e])
            | exists(Txn, lambda t: s.told[t] & (s.number[t] == s.epoch) & ~s.bumps[t] & s.second)
        )

    @action
    def begin(s, c: Client, t: Txn, e: Epoch):
        Core.begin(s, c, t, e)
        s.bumps[t] = s.second

    @action(danger="mixed-clients")
    def begin_old(s, c: Client, t: Txn, e: Epoch):
        """A client that uses EndTxn before version 5 begins a transaction of v1 where the cluster is at version 2."""
        require(s.second & ~s.begun[t] & s.given[c, e])
        require(
            forall(
                Txn,
                lambda u: implies(s.begun[u] & (s.owner[u] == c) & (s.number[u] == e), s.told[u] & ~s.bumps[u]),
            )
        )
        s.begun[t] = True
        s.owner[t] = c
        s.number[t] = e

    @action(by="owner", to="coordinator")
    def add_partition(s, t: Txn, p: Partition):
        require(~s.bumps[t] & (s.choice[t] == Outcome.NONE))
        s.add(t, p)
        s.added[t, p] = True

    def may_send(s, t, p):
        return s.bumps[t] | s.added[t, p]

    def has_something(s, t):
        return exists(Partition, lambda p: s.sent[t, p] | s.added[t, p])

    def has_no_other(s, c, e):
        """An epoch serves one transaction of v2, or any number of v1, one at a time."""
        return forall(
            Txn,
            lambda t: implies(s.begun[t] & (s.owner[t] == c) & (s.number[t] == e), s.may_go_on(t)),
        )

    def may_go_on(s, t):
        return s.told[t] & ~s.bumps[t] & ~s.second

    def in_time(s, t):
        return s.begun[t] & (s.bumps[t] | ~s.told[t])

    def record_in_time(s, t):
        return s.begun[t] & (s.bumps[t] | (s.choice[t] == Outcome.NONE))

    # What the coordinator does

    def may_end(s, t):
        return (s.phase == Phase.ONGOING) | (s.bumps[t] & V2Core.may_end(s, t))

    @action(fair="weak")
    def end(s, t: Txn, marker: Epoch, to: Epoch):
        """EndTxn ends the open transaction as the transaction's version requires."""
        require((s.choice[t] != Outcome.NONE) & s.in_time(t) & s.may_end(t))
        require(s.number[t] == s.epoch, rule="txn.7")
        bumped = (s.epoch < marker) & (marker <= to)
        require(when(s.bumps[t], bumped, (marker == s.epoch) & (to == s.epoch)), rule="txn.9")
        s.one_step(to)
        s.prepare_as(s.choice[t], marker, to, s.bumps[t])
        s.success[t] = True
        s.follows[t] = to

    @action(fair="weak", danger=("time-out", "clock-step"))
    def take_over(s, marker: Epoch, to: Epoch):
        """The open transaction is aborted as the cluster's version requires, and is fenced in both versions."""
        require(s.phase == Phase.ONGOING)
        require((s.epoch < marker) & (marker <= to), rule="txn.18")
        s.one_step(to)
        s.prepare_as(Outcome.ABORT, marker, to, s.second)

    def prepare_as(s, outcome, marker, to, second):
        s.seconds = each(
            lambda p, e, commit, k: (
                s.seconds[p, e, commit, k]
                | (second & s.parts[p] & (e == marker) & (commit == (outcome == Outcome.COMMIT)) & (k == s.term))
            )
        )
        s.prepare(outcome, marker, to)
        s.prepared_second = second

    def is_retry(s, t):
        return s.number[t] == when(s.bumps[t], s.ended, s.epoch)

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        """Another coordinator takes over; the version of a prepared transaction is in the log
        (clientTransactionVersion), and in the markers that are sent again."""
        s.seconds = each(
            lambda p, e, commit, k: (
                s.seconds[p, e, commit, k] | (s.prepared_second & s.is_current(p, e, commit) & (k == s.term + 1))
            )
        )
        Core.fail_over(s)

    # What a leader and a partition do

    @action(fair="weak", by="coordinator", to="p")
    def verify(s, t: Txn, p: Partition):
        """The leader's question adds the partition in v2, and in v1 asks whether it was added."""
        require(s.sent[t, p])
        require(s.number[t] == s.epoch, rule="txn.6")
        require(s.phase != Phase.PREPARED, rule="txn.5")
        require(s.bumps[t] | ((s.phase == Phase.ONGOING) & s.parts[p]), rule="txn.15")
        s.parts[p] = True
        s.phase = Phase.ONGOING
        s.cleared[t, p] = True

    def answer_questions(s, p, e):
        """A question of v2 outlives a marker of its epoch, and one of v1 does not."""
        with rule("txn.15"):
            s.asked = each(lambda t, q: s.asked[t, q] & ((q != p) | (s.bumps[t] & (s.number[t] == e))))

    def accepts_of(s, p, e, second):
        strict = either("txn.24", second, by_the_feature=s.second, by_none=second & ~second)
        return (s.known[p] <= e) & implies(strict, (s.known[p] < e) | ~s.something_open(p))

    @action(fair="weak")
    def mark(s, p: Partition, e: Epoch, commit: Bool, k: Term):
        """A marker of the prepared transaction arrives with its version."""
        require(s.is_current(p, e, commit) & (k == s.term))
        require(s.accepts_of(p, e, s.prepared_second), rule="txn.23")
        s.take_marker(p, e, commit, k)
        s.marked[p] = True

    @action(danger="late-copy")
    def mark_late(s, p: Partition, e: Epoch, commit: Bool, k: Term):
        """A v2 marker of an earlier transaction, or from an earlier coordinator, arrives."""
        require(~(s.is_current(p, e, commit) & (k == s.term)) & (k <= s.term) & s.seconds[p, e, commit, k])
        require(s.accepts_of(p, e, k <= s.term), rule="txn.23")
        s.take_marker(p, e, commit, k)

    def accepts_marker(s, p, e):
        return s.known[p] <= e


class OneEpoch(TwoVersions):
    """In the `OneEpoch` model a producer goes from v1 to v2 under the epoch that it has."""

    def may_go_on(s, t):
        return s.told[t] & ~s.bumps[t]
