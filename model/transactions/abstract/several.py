"""In these models a transaction has two records in one partition: a first one, and one that is sent after it.

In the cores one record stands for all. This leaves out a second record that arrives late although the first one arrived
in time (KAFKA-14402): the partition then knows the transaction, has seen its end, and may hold the next one. A producer
numbers its records, so that no second one is written before the first.
"""

from fencepost.model.language import (
    Ghost,
    Map,
    Set,
    action,
    danger,
    each,
    excused,
    exists,
    forall,
    implies,
    not_of_this,
    open_hole,
    require,
    when,
)
from fencepost.model.transactions.abstract.core import Core, Fate, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.cores import Asking, PromptV1Core, V2Core, VerifiedCore


class Several(Core):
    """The `Several` model has second records, which are sent, appended and decided like the first ones."""

    outside = (
        *open_hole(
            "partitions stay and forget nothing; the parked variants take that away, of transactions with one record",
            "partition-away", "unreplicated-tail", "leader-restart", "broker-restart", "producer-expiry", "truncation",
        ),
        *not_of_this(
            "the cleaner takes nothing that is open, and no core looks again at what was decided; read-committed does",
            "cleaning",
        ),
        *open_hole("the transaction log keeps what it has; log-covered has a tail that may be lost", "uncovered-log"),
    )  # fmt: skip

    more: Set[Txn, Partition]  # a second record is on its way
    second: Map[Txn, Partition, Fate]
    second_late: Ghost[Set[Txn, Partition]]  # accepted although fenced before

    @danger("several-records")
    def two_of_one_transaction(s):
        """Two records of one transaction are in one partition."""
        return exists(Txn, Partition, lambda t, p: s.second[t, p] != Fate.ABSENT)

    @danger("late-copy")
    def second_still_under_way(s):
        """An owner knows how its transaction ended; the second record may arrive, the first did in time."""
        return exists(
            Txn, Partition,
            lambda t, p: s.told[t] & (s.fate[t, p] != Fate.ABSENT) & s.may_come(t, p) & s.record_in_time(t),
        )  # fmt: skip

    @action(by="owner", to="p")
    def send_more(s, t: Txn, p: Partition):
        """The owner sends another record to the same partition."""
        require(s.sent[t, p] & (s.choice[t] == Outcome.NONE))
        s.more[t, p] = True

    @action
    def commit(s, t: Txn):
        """The owner decides to commit, once every first and second record is acknowledged."""
        require(forall(Partition, lambda p: implies(s.more[t, p], s.second[t, p] != Fate.ABSENT)))
        Core.commit(s, t)

    def may_come(s, t, p):
        return s.more[t, p] & (s.second[t, p] == Fate.ABSENT)

    def write_second(s, t, p):
        require(s.may_come(t, p))
        require(s.fate[t, p] != Fate.ABSENT)  # their numbers follow on
        require(s.known[p] <= s.number[t], rule="txn.12")
        s.second[t, p] = Fate.OPEN
        s.known[p] = s.number[t]
        s.second_late[t, p] = s.number[t] < s.fence

    def has_open(s, t, p):
        return (s.fate[t, p] == Fate.OPEN) | (s.second[t, p] == Fate.OPEN)

    def something_open(s, p):
        return exists(Txn, lambda t: s.has_open(t, p))

    def take_marker(s, p, e, commit, k):
        Core.take_marker(s, p, e, commit, k)
        fate = when(commit, Fate.COMMITTED, Fate.ABORTED)
        s.second = each(lambda t, q: when((q == p) & (s.second[t, q] == Fate.OPEN), fate, s.second[t, q]))


class SeveralAsking(Several, Asking):
    """A leader asks the coordinator about a second record too, unless the transaction is open in the partition."""

    asked_again: Set[Txn, Partition]
    cleared_again: Set[Txn, Partition]

    @action(fair="weak", by="p", to="coordinator")
    def ask_again(s, t: Txn, p: Partition):
        require(s.may_come(t, p) & s.record_in_time(t))
        s.asked_again[t, p] = True
        s.cleared_again[t, p] = False

    def may_join(s, t, p):
        here = exists(Txn, lambda u: s.has_open(u, p) & (s.number[u] == s.number[t]))
        return here & s.record_in_time(t)

    @action(fair="strong", by="p")
    def append_second(s, t: Txn, p: Partition):
        """A leader appends a second record if the coordinator confirmed it and no marker arrived since the question, or
        if the producer has the transaction open there."""
        require(s.may_join(t, p) | (s.asked_again[t, p] & s.cleared_again[t, p]))
        s.write_second(t, p)

    def forget_questions(s, p):
        Asking.forget_questions(s, p)
        s.asked_again = each(lambda t, q: s.asked_again[t, q] & (q != p))


class SeveralV1(Several, PromptV1Core):
    """The `SeveralV1` model is v1 on a network that is prompt except for second records; a leader accepts every record
    with a matching epoch."""

    outside = excused("nothing comes late but second records", "late-copy")

    @action(fair="weak", by="p")
    def append_second(s, t: Txn, p: Partition):
        s.write_second(t, p)


class SeveralVerified(SeveralAsking, VerifiedCore):
    """The `SeveralVerified` model is v1 with verification, on any network."""

    @action(fair="weak", by="coordinator", to="p")
    def verify_again(s, t: Txn, p: Partition):
        """The coordinator confirms the transaction of a second record to the leader that asks."""
        require(s.more[t, p])
        require(s.may_clear(t, p))
        s.cleared_again[t, p] = True

    def may_clear(s, t, p):
        return (s.number[t] == s.epoch) & (s.phase == Phase.ONGOING) & s.parts[p]


class SeveralV2(SeveralAsking, V2Core):
    """In the `SeveralV2` model (v2) the leader's question adds the partition, for second records as well."""

    @action(fair="weak", by="coordinator", to="p")
    def verify_again(s, t: Txn, p: Partition):
        """The leader's question about a second record adds the partition, if the first record's question did not."""
        require(s.more[t, p])
        s.add(t, p)
        s.cleared_again[t, p] = True

    def answer_questions(s, p, e):
        V2Core.answer_questions(s, p, e)
        s.asked_again = each(lambda t, q: s.asked_again[t, q] & ((q != p) | (s.number[t] == e)))
