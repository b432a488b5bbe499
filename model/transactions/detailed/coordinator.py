"""The coordinator in the full model: pending transitions, a log that may refuse, memory that a fail-over loses.

What the core calls the coordinator's state is what the transaction log says; added here is what only memory knows.  A
transition takes two steps: a record is on its way to the log (`pending`), then it is there, or the append failed.
That a record made it although no producer had an answer is the step to the log, then a fail-over.
"""

from fencepost.model.language import (
    Bool,
    Enumeration,
    Nat,
    Option,
    Set,
    action,
    each,
    either,
    exists,
    fault,
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
    Outcome,
    Partition,
    Phase,
    Term,
    Txn,
)
from fencepost.model.transactions.detailed.producers import Producers


class Pending(Enumeration):
    """What is on its way to the transaction log."""

    NOTHING, INIT, ADD, END, FENCE = range(5)


class Failures(Nat, upto="failed_appends"):
    """Of appends."""


class Coordinator(Producers):
    """One transition at a time; a request that comes meanwhile is answered CONCURRENT_TRANSACTIONS, and repeated."""

    pending: Pending
    of_client: Option[Client]
    of_txn: Option[Txn]
    of_partition: Option[Partition]
    remembers: Epoch  # the epoch before the last InitProducerId that named one (KIP-360); 0: none
    ahead: Failures  # a fence could not be written: so many epochs is memory ahead of the log
    fence_failed: Bool  # and the next fence takes the epoch that memory has already
    acked: Set[Partition]  # the coordinator knows that the marker is there
    awaited: Bool  # the transaction's entry among those that wait for markers
    straggler: Bool  # another thread that saw the last marker arrive has yet to take the entry out

    def live(s):
        """The epoch in memory."""
        return s.epoch + s.ahead

    def is_exhausted(s, e):
        return either("txn.4", s.is_used_up(e), one_late=s.base + s.last + 1 <= e)

    def is_used_up(s, e):
        """The last epoch of the present producer id that an owner gets, or the one that is reserved."""
        return s.base + s.last <= e

    def after(s, e):
        """The epoch after this one, of the next producer id where this was the last."""
        return when(s.is_exhausted(e), s.base + s.last + 2, e + 1)

    def clear(s):
        s.pending = Pending.NOTHING
        s.of_client = None
        s.of_txn = None
        s.of_partition = None

    def move_on(s, to):
        """A new producer id, if its epochs are used up."""
        s.base = when(s.base + s.last + 2 <= to, to, s.base)

    def one_step(s, to):
        """Here the epochs say themselves where they go on."""

    def once(s, c):
        """And producers when they ask."""

    # InitProducerId

    fence_producers = None  # an admin starts as a producer does, and does no more

    @action(fair="weak")
    def ask_for_epoch(s, c: Client):
        """Nothing is open, and the epoch named, if any, is the present one: the next epoch goes to the log."""
        require(s.is_sent(c))
        require((s.pending == Pending.NOTHING) & (s.phase == Phase.IDLE))
        require((s.expected(c) == 0) | (s.expected(c) == s.live()), rule="txn.2")
        s.pending = Pending.INIT
        s.of_client = c

    @action(fair="weak")
    def initialize(s, c: Client, to: Epoch):
        """The record is in the log, and the answer leaves."""
        require((s.pending == Pending.INIT) & (s.of_client == c) & (to == s.after(s.live())))
        returned = s.returned | s.comes_back(c)
        Core.initialize(s, c, to)
        s.answered[c] = when(s.stray[c], s.answered[c], to)
        with rule("txn.2"):
            s.remembers = s.expected(c)
        s.returned = returned
        s.stray[c] = False
        s.forget_fence()
        s.overflow = s.overflow | s.is_last_of_all(to)
        s.move_on(to)
        s.clear()

    @action(fair="weak", rule="txn.2", danger="lost-answer")
    def answer_init_again(s, c: Client):
        """A retry of what was answered before: the same answer, and no bump."""
        require(s.is_sent(c))
        require((s.pending == Pending.NOTHING) & (s.phase == Phase.IDLE))
        require((s.expected(c) != 0) & (s.expected(c) == s.remembers))
        require(~s.fails_at_the_end(c))
        s.returned = s.returned | s.comes_back(c)
        s.answered[c] = s.epoch

    @action(fair="weak")
    def refuse_init(s, c: Client):
        """PRODUCER_FENCED."""
        require(s.is_sent(c) & (s.expected(c) != 0))
        require((s.pending == Pending.NOTHING) & (s.phase == Phase.IDLE))
        require((s.expected(c) != s.live()) & (s.expected(c) != s.remembers))
        require(~s.fails_at_the_end(c))
        s.stop(c)

    @action(fair="weak")
    def fail_init(s, c: Client):
        """UNKNOWN_SERVER_ERROR, which stops the producer."""
        require(s.is_sent(c) & (s.pending == Pending.NOTHING) & (s.phase == Phase.IDLE))
        require(s.fails_at_the_end(c))
        s.stop(c)

    def fails_at_the_end(s, c):
        return (s.expected(c) != 0) & s.fails_naming(s.expected(c))

    def fails_naming(s, e):
        """At the last epoch of a producer id a request that names another one fails, a retry too, before the
        coordinator looks at the epoch before (TransactionMetadata.prepareIncrementProducerEpoch, in 3.9 to 4.4.0).  One
        that names an earlier producer id is looked at first, and refused: the id before is known for no longer than
        until the next transition (TransactionMetadata.prepareTransitionTo)."""
        return s.is_used_up(s.live()) & (e != s.live()) & (s.base <= e)

    @action(fair="weak")
    def fence_first(s, c: Client):
        """A transaction is open: it is aborted, and who asked is told to ask again."""
        require(s.is_sent(c))
        s.start_fence()
        s.stray[c] = False

    @action(fair="weak", danger=("time-out", "clock-step"))
    def time_out(s):
        """The open transaction has taken too long, by whatever clock."""
        s.start_fence()
        s.crowded = True

    def start_fence(s):
        require((s.pending == Pending.NOTHING) & (s.phase == Phase.ONGOING))
        s.pending = Pending.FENCE

    def fenced(s):
        """The epoch of the fence; one that memory has already does not go up again."""
        return s.live() + when(s.fence_failed, 0, 1)

    def forget_fence(s):
        s.ahead = 0
        s.fence_failed = False

    @action(fair="weak")
    def take_over(s, marker: Epoch, to: Epoch):
        """The fence is in the log, and with it the abort."""
        require(s.pending == Pending.FENCE)
        require((marker == s.fence_marker()) & (to == s.fence_target()))
        remembers = s.fence_remembers()
        Core.take_over(s, marker, to)
        s.overflow = s.overflow | (s.base + s.last + 1 < marker)
        s.forget_fence()
        s.remembers = remembers
        s.prepared()
        s.move_on(to)
        s.clear()

    def fence_remembers(s):
        """The last epoch that an InitProducerId may name after a fence: none."""
        return 0

    # AddPartitions

    def ask_to_add(s, t, p):
        require((s.pending == Pending.NOTHING) & (s.phase != Phase.PREPARED))
        require(s.begun[t] & (s.number[t] == s.live()) & ~(s.parts[p] & (s.phase == Phase.ONGOING)))
        s.pending = Pending.ADD
        s.of_txn = t
        s.of_partition = p

    def may_add(s, t, p):
        """It is in the log, or was before."""
        mine = (s.pending == Pending.ADD) & (s.of_txn == t) & (s.of_partition == p)
        before = (s.pending == Pending.NOTHING) & s.parts[p] & (s.phase == Phase.ONGOING) & (s.ahead == 0)
        return mine | before

    # EndTxn

    @action(fair="weak")
    def ask_to_end(s, t: Txn):
        require((s.choice[t] != Outcome.NONE) & s.in_time(t) & s.may_end(t))
        require((s.pending == Pending.NOTHING) & (s.number[t] == s.live()))
        s.pending = Pending.END
        s.of_txn = t

    @action(fair="weak")
    def end(s, t: Txn, marker: Epoch, to: Epoch):
        """Prepare is in the log: that is the end, whatever comes now."""
        require((s.pending == Pending.END) & (s.of_txn == t))
        require((marker == s.end_marker()) & (to == s.end_target()))
        Core.end(s, t, marker, to)
        s.prepared()
        s.move_on(to)
        s.clear()

    @action(fair="weak", danger=("lost-answer", "duplicate"))
    def answer_again(s, t: Txn):
        require((s.pending == Pending.NOTHING) & s.is_next_to_present(t))
        Core.answer_again(s, t)

    @action(fair="weak")
    def refuse_end(s, t: Txn):
        """PRODUCER_FENCED or INVALID_TXN_STATE: this EndTxn neither ends what is open nor repeats what ended."""
        require((s.choice[t] != Outcome.NONE) & ~s.success[t] & s.ready[s.owner[t]])
        require(s.pending == Pending.NOTHING)
        require(s.phase != Phase.PREPARED, rule="txn.5")
        require(~((s.number[t] == s.live()) & s.may_end(t)))
        require(~((s.phase == Phase.IDLE) & s.is_retry(t) & s.is_next_to_present(t) & (s.outcome == s.choice[t])))
        s.stop(s.owner[t])

    # The log, and who keeps it

    @fault(budget="failed_appends", danger="failed-append")
    def append_fails(s):
        """Too few replicas: nothing happened, but that a fence stays in memory (hasFailedEpochFence)."""
        require(s.pending != Pending.NOTHING)
        failed = s.pending == Pending.FENCE
        ahead = when(failed, s.fenced() - s.epoch, s.ahead)
        with rule("txn.18"):
            s.fence_failed = s.fence_failed | failed
        s.ahead = ahead
        s.clear()

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        """Another coordinator reads the log, and sends the markers of what is prepared again."""
        s.remember_after_fail_over()
        s.forget_fence()
        s.acked = each(lambda p: False)
        s.awaited = s.phase == Phase.PREPARED
        s.straggler = False
        s.clear()
        Core.fail_over(s)

    def remember_after_fail_over(s):
        """The last producer epoch is not in the log (until KAFKA-20357)."""
        s.forgetful = s.forgetful | exists(Client, lambda c: s.asking[c] & s.again[c])
        s.remembers = 0

    # Markers

    @action(fair="weak")
    def mark(s, p: Partition, e: Epoch, commit: Bool, k: Term):
        """A marker arrives, and the coordinator hears that it did."""
        Core.mark(s, p, e, commit, k)
        s.acked[p] = True

    @fault(budget="losses", danger="lost-answer")
    def mark_unheard(s, p: Partition, e: Epoch, commit: Bool, k: Term):
        """A marker arrives, and the answer is lost."""
        Core.mark(s, p, e, commit, k)

    def prepared(s):
        s.acked = each(lambda p: False)
        s.awaited = True

    @action(fair="weak")
    def complete(s):
        """The last marker is acknowledged: the entry is taken out, and the record of the end is written."""
        require(s.all_acked() & s.awaited)
        Core.complete(s)
        s.acked = each(lambda p: False)
        s.awaited = False

    @fault(budget="stragglers")
    def straggle(s):
        """Two answers to markers came at once, and both callbacks see that nothing is left to wait for."""
        require((s.phase == Phase.PREPARED) & ~s.straggler)
        require(s.all_acked())
        s.straggler = True

    @action(fair="weak")
    def take_out_again(s):
        """The second callback takes out the entry if it is still the one that it saw, and finds it gone."""
        require(s.straggler & ((s.phase != Phase.PREPARED) | ~s.all_acked()))
        s.awaited = either("txn.10", s.awaited, by_name_alone=s.awaited & ~s.straggler)
        s.straggler = False

    def all_acked(s):
        return forall(Partition, lambda p: implies(s.parts[p], s.acked[p]))

    # The epochs of v2

    def is_next_to_present(s, t):
        """All that is remembered of the epoch before: the present one follows it, in the same producer id or the
        next."""
        return (s.number[t] + 1 == s.epoch) | ((s.epoch == s.base) & (s.number[t] + 2 == s.base))

    def fence_marker(s):
        """The abort's bump is the fence: there is one (KAFKA-19367)."""
        return s.epoch + 1

    def fence_target(s):
        """A producer id whose epochs are used up is left behind, whatever ended it (KAFKA-20090)."""
        return either("txn.4", s.after(s.epoch), stays=s.epoch + 1)

    def end_marker(s):
        return s.epoch + 1

    def end_target(s):
        return s.after(s.epoch)
