"""The three forms that Kafka's transactions have had are replacements in the core: v1, v1 with verification, and v2.

In `v1` an epoch serves many transactions, and nothing distinguishes a late request of one from a request of the next.
In `v1-verified` (KIP-890, part 1) the leader asks the coordinator before the first record of a transaction. In `v2`
(KIP-890, part 2, with KIP-1228) every end of a transaction bumps the epoch, and the leader's question adds the
partition.

The `Prompt…` models have a network that delivers no request after its sender had the answer to a later one. This is
what v1 needs, and what no real network guarantees.
"""

from fencepost.model.language import (
    Bool,
    Map,
    Set,
    action,
    each,
    either,
    excused,
    exists,
    forall,
    implies,
    require,
    rule,
    when,
)
from fencepost.model.transactions.abstract.core import (
    Client,
    Core,
    Epoch,
    Fate,
    Outcome,
    Partition,
    Phase,
    Term,
    Txn,
)


class V1Core(Core):
    """In v1 the owner adds a partition and produces to it, and the leader accepts every record of that epoch."""

    added: Set[Txn, Partition]  # AddPartitions was answered with success

    @action(by="owner", to="coordinator")
    def add_partition(s, t: Txn, p: Partition):
        require(s.add_in_time(t))
        s.add(t, p)
        s.added[t, p] = True

    @action(fair="weak", by="p")
    def append(s, t: Txn, p: Partition):
        require(s.record_in_time(t))
        s.write(t, p)

    def add_in_time(s, t):
        """Return whether AddPartitions can still arrive. A late one begins a transaction that no producer ends."""
        return s.begun[t]

    def has_something(s, t):
        return exists(Partition, lambda p: s.added[t, p])

    def may_send(s, t, p):
        return s.added[t, p]

    def has_no_other(s, c, e):
        """A producer begins a transaction only when it knows how its last one ended."""
        return forall(Txn, lambda t: implies(s.begun[t] & (s.owner[t] == c) & (s.number[t] == e), s.told[t]))

    def may_end(s, t):
        return s.phase == Phase.ONGOING

    def goes_on_with(s, marker, to):
        require((marker == s.epoch) & (to == s.epoch))

    def is_retry(s, t):
        return s.number[t] == s.epoch

    def accepts_marker(s, p, e):
        return s.known[p] <= e


class Asking(Core):
    """A leader asks the coordinator about a transaction before it opens in the partition (KAFKA-14402)."""

    asked: Set[Txn, Partition]  # the leader holds this record back until it has an answer, or a marker comes
    cleared: Set[Txn, Partition]  # the coordinator confirmed this record to the leader that asked last

    @action(fair="weak", by="p", to="coordinator")
    def ask(s, t: Txn, p: Partition):
        require(s.sent[t, p] & (s.fate[t, p] == Fate.ABSENT) & s.record_in_time(t))
        s.asked[t, p] = True
        s.cleared[t, p] = False

    @action(fair="strong", by="p")
    def append(s, t: Txn, p: Partition):
        """A leader appends a record if the coordinator confirmed it and no marker arrived since the question
        (KAFKA-14884), or if the producer has the transaction open there already, so that the coordinator need not be
        asked. Each answer is followed by an attempt to append, so that a leader does not keep asking forever."""
        mine = either("txn.15", s.asked[t, p], any_question=exists(Txn, lambda u: s.asked[u, p]))
        joins = s.is_open_here(t, p) & s.record_in_time(t)
        require(joins | s.cleared[t, p], rule="txn.15")
        require(joins | mine, rule="txn.15")
        s.write(t, p)

    def is_open_here(s, t, p):
        """Return whether the transaction is open in the partition. What is open under another epoch is another
        transaction (KAFKA-18575)."""
        same = exists(Txn, lambda u: (s.fate[u, p] == Fate.OPEN) & (s.number[u] == s.number[t]))
        return either("txn.16", same, any_epoch=s.something_open(p))

    def forget_questions(s, p):
        with rule("txn.15"):
            s.asked = each(lambda t, q: s.asked[t, q] & (q != p))


class VerifiedCore(Asking, V1Core):
    """The `VerifiedCore` model is v1 with verification: the leader asks whether the partition is part of an ongoing
    transaction with this epoch."""

    @action(fair="weak", by="coordinator", to="p")
    def verify(s, t: Txn, p: Partition):
        require(s.sent[t, p])
        require((s.number[t] == s.epoch) & (s.phase == Phase.ONGOING) & s.parts[p], rule="txn.15")
        s.cleared[t, p] = True


class V2Core(Asking):
    """In v2 the leader's question adds the partition, and every end of a transaction bumps the epoch. A question may be
    delayed for long, and its answer may find that the leader no longer asks."""

    @action(fair="weak", by="coordinator", to="p")
    def verify(s, t: Txn, p: Partition):
        require(s.sent[t, p])
        s.add(t, p)
        s.cleared[t, p] = True

    @action(danger="lost-answer")
    def initialize_again(s, c: Client):
        """InitProducerId names the epoch that ended last. Its sender is taken for an owner that missed an answer, and
        gets the present epoch. The same happens to an owner whose transaction took too long, since the abort remembers
        the epoch that it ended."""
        require(s.phase == Phase.IDLE)
        require((s.outcome != Outcome.NONE) & s.given[c, s.ended])
        s.fence = s.epoch
        s.given[c, s.epoch] = True

    def answer_questions(s, p, e):
        """A marker has the epoch of the next transaction, and so a question about that transaction stays pending."""
        with rule("txn.15"):
            s.asked = each(lambda t, q: s.asked[t, q] & ((q != p) | (s.number[t] == e)))


class Prompt(Core):
    """In the `Prompt` model no record and no AddPartitions arrives once its owner has decided (a leader may still hold
    a record back), no request once the owner knows how the transaction ended, and no marker once the coordinator has
    recorded that it is complete. Only markers that a coordinator left behind at a fail-over may still arrive, at any
    time."""

    left: Map[Partition, Epoch, Bool, Term]  # markers of coordinators before this one were left behind

    outside = excused("nothing comes late but the markers that a deposed coordinator left behind", "late-copy")

    def in_time(s, t):
        return s.begun[t] & ~s.told[t]

    def record_in_time(s, t):
        return s.begun[t] & (s.choice[t] == Outcome.NONE)

    def add_in_time(s, t):
        return s.begun[t] & (s.choice[t] == Outcome.NONE)

    def marker_in_time(s, p, e, commit, k):
        return s.is_prepared(e, commit) | (k < s.left[p, e, commit])

    def leave_behind(s):
        s.left = each(lambda p, e, commit: when(s.is_current(p, e, commit), s.term + 1, s.left[p, e, commit]))


class PromptV1Core(Prompt, V1Core):
    """The `PromptV1Core` model is v1 on a prompt network."""


class PromptVerifiedCore(Prompt, VerifiedCore):
    """The `PromptVerifiedCore` model is v1 with verification on a prompt network."""


class LateMarkerCore(PromptVerifiedCore):
    """The model is v1 with verification, on a network that delivers only markers late, at any time."""

    outside = excused("requests do not come late, markers do", "late-copy")

    def marker_in_time(s, p, e, commit, k):
        return Core.marker_in_time(s, p, e, commit, k)


class LateRecordCore(PromptV1Core):
    """The `LateRecordCore` model is v1 on a network that is prompt except for records: one of an earlier transaction,
    such as a repeated TxnOffsetCommit, may still arrive."""

    outside = excused("other requests do not come late, records do", "late-copy")

    def record_in_time(s, t):
        return V1Core.record_in_time(s, t)
