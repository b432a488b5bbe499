"""The three ways that Kafka has known, as replacements in the core: v1, v1 with verification, v2.

`v1`: an epoch serves many transactions, so that nothing tells a late request of one from a request of the next.
`v1-verified` (KIP-890, part 1): the leader asks the coordinator before the first record of a transaction.
`v2` (KIP-890, part 2, with KIP-1228): every end of a transaction bumps the epoch, and the leader's question adds the
partition.

`Prompt…` is a network that does not deliver a request after its sender had the answer to a later one: what v1
needs, and does not get.
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
    """The owner adds a partition and then produces to it; the leader takes whatever has a fitting epoch."""

    added: Set[Txn, Partition]  # AddPartitions was answered with success

    @action
    def add_partition(s, t: Txn, p: Partition):
        require(s.add_in_time(t))
        s.add(t, p)
        s.added[t, p] = True

    @action(fair="weak")
    def append(s, t: Txn, p: Partition):
        require(s.record_in_time(t))
        s.write(t, p)

    def add_in_time(s, t):
        """Can AddPartitions of this transaction still arrive?  Late ones begin a transaction that no producer ends."""
        return s.begun[t]

    def has_something(s, t):
        return exists(Partition, lambda p: s.added[t, p])

    def may_send(s, t, p):
        return s.added[t, p]

    def has_no_other(s, c, e):
        """A producer goes on when it knows how its last transaction ended."""
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
    """A leader asks the coordinator about a transaction before it opens there (KAFKA-14402)."""

    asked: Set[Txn, Partition]  # the leader holds this record back until it has an answer, or a marker comes
    cleared: Set[Txn, Partition]  # the coordinator said yes to the leader's last question about this record

    @action(fair="weak")
    def ask(s, t: Txn, p: Partition):
        require(s.sent[t, p] & (s.fate[t, p] == Fate.ABSENT) & s.record_in_time(t))
        s.asked[t, p] = True
        s.cleared[t, p] = False

    @action(fair="strong")
    def append(s, t: Txn, p: Partition):
        """The coordinator said yes, and no marker came since the question (KAFKA-14884); or the producer has something
        open here already, so that the coordinator needs not be asked.  Each answer is followed by an attempt to append:
        a leader does not ask for ever instead."""
        mine = either("txn.15", s.asked[t, p], any_question=exists(Txn, lambda u: s.asked[u, p]))
        joins = s.is_open_here(t, p) & s.record_in_time(t)
        require(joins | s.cleared[t, p], rule="txn.15")
        require(joins | mine, rule="txn.15")
        s.write(t, p)

    def is_open_here(s, t, p):
        """What is open under another epoch is another transaction (KAFKA-18575)."""
        same = exists(Txn, lambda u: (s.fate[u, p] == Fate.OPEN) & (s.number[u] == s.number[t]))
        return either("txn.16", same, any_epoch=s.something_open(p))

    def forget_questions(s, p):
        with rule("txn.15"):
            s.asked = each(lambda t, q: s.asked[t, q] & (q != p))


class VerifiedCore(Asking, V1Core):
    """The leader asks whether the partition is part of an ongoing transaction with this epoch."""

    @action(fair="weak")
    def verify(s, t: Txn, p: Partition):
        require(s.sent[t, p])
        require((s.number[t] == s.epoch) & (s.phase == Phase.ONGOING) & s.parts[p], rule="txn.15")
        s.cleared[t, p] = True


class V2Core(Asking):
    """The leader's question adds the partition; every end of a transaction bumps the epoch.  A question may be on its
    way for long, and its answer find that the leader asks no more."""

    @action(fair="weak")
    def verify(s, t: Txn, p: Partition):
        require(s.sent[t, p])
        s.add(t, p)
        s.cleared[t, p] = True

    @action(danger="lost-answer")
    def initialize_again(s, c: Client):
        """InitProducerId names the epoch that ended last: its sender is taken for an owner that missed an answer, and
        told the present one.  So is an owner whose transaction took too long, since the abort keeps the epoch that it
        ended."""
        require(s.phase == Phase.IDLE)
        require((s.outcome != Outcome.NONE) & s.given[c, s.ended])
        s.fence = s.epoch
        s.given[c, s.epoch] = True

    def answer_questions(s, p, e):
        """A marker has the epoch of the transaction that comes next, and a question about that one stays."""
        with rule("txn.15"):
            s.asked = each(lambda t, q: s.asked[t, q] & ((q != p) | (s.number[t] == e)))


class Prompt(Core):
    """No record and no AddPartitions arrives once its owner has decided (a leader may still hold a record back), no
    request once the owner knows how the transaction ended, no marker once the coordinator has recorded that it is
    complete.  Only markers that a coordinator left behind when another one took over may still come, at any time."""

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
    """v1 on a network that is prompt."""


class PromptVerifiedCore(Prompt, VerifiedCore):
    """v1 with verification on a network that is prompt."""


class LateMarkerCore(PromptVerifiedCore):
    """The same, but for markers, which may come at any time."""

    outside = excused("requests do not come late, markers do", "late-copy")

    def marker_in_time(s, p, e, commit, k):
        return Core.marker_in_time(s, p, e, commit, k)


class LateRecordCore(PromptV1Core):
    """v1 on a network that is prompt but for records: one of an earlier transaction, such as a repeated
    TxnOffsetCommit, may still come."""

    outside = excused("other requests do not come late, records do", "late-copy")

    def record_in_time(s, t):
        return V1Core.record_in_time(s, t)
