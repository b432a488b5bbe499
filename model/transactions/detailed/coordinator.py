"""The coordinator of the full model has pending transitions, a log that may refuse appends, and memory that a fail-over
loses.

The state that the core attributes to the coordinator is what is in the transaction log; this model adds what only
memory has. A transition takes two steps: a record is on its way to the log (`pending`), then it is there, or the append
failed. The case that a record was written although no producer got an answer is the step to the log, followed by a
fail-over.
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
    """A `Pending` is the kind of transition that is on its way to the transaction log."""

    NOTHING, INIT, ADD, END, FENCE = range(5)


class Failures(Nat, upto="failed_appends"):
    """A `Failures` counts failed appends."""


class Coordinator(Producers):
    """The coordinator has one transition pending at a time. A request that arrives meanwhile is answered
    CONCURRENT_TRANSACTIONS, and repeated."""

    pending: Pending
    of_client: Option[Client]
    of_txn: Option[Txn]
    of_partition: Option[Partition]
    remembers: Epoch  # the epoch before the last InitProducerId that named one (KIP-360); 0: none
    ahead: Failures  # by how many epochs memory is ahead of the log after fences that failed
    fence_failed: Bool  # the next fence takes the epoch that memory has already
    acked: Set[Partition]  # the coordinator knows that the marker is there
    awaited: Bool  # the transaction's entry among those that wait for markers
    straggler: Bool  # another thread that saw the last marker arrive has yet to take the entry out

    def live(s):
        """Return the epoch in memory."""
        return s.epoch + s.ahead

    def is_exhausted(s, e):
        return either("txn.4", s.is_used_up(e), one_late=s.base + s.last + 1 <= e)

    def is_used_up(s, e):
        """Return whether this is the producer id's last epoch for an owner, or the reserved one after it."""
        return s.base + s.last <= e

    def after(s, e):
        """Return the epoch after this one, which is one of the next producer id where this was the last."""
        return when(s.is_exhausted(e), s.base + s.last + 2, e + 1)

    def clear(s):
        s.pending = Pending.NOTHING
        s.of_client = None
        s.of_txn = None
        s.of_partition = None

    def move_on(s, to):
        """Switch to a new producer id if the epochs of the present one are used up."""
        s.base = when(s.base + s.last + 2 <= to, to, s.base)

    def one_step(s, to):
        """No limit is needed, since this coordinator determines the next epoch itself."""

    def once(s, c):
        """No limit is needed, since these producers determine themselves when they ask for an epoch."""

    # InitProducerId

    fence_producers = None  # an admin starts as a producer does, and does no more

    @action(fair="weak", by="c", to="coordinator")
    def ask_for_epoch(s, c: Client):
        """InitProducerId finds nothing open, and names the present epoch or none: the next epoch is logged."""
        require(s.is_sent(c))
        require((s.pending == Pending.NOTHING) & (s.phase == Phase.IDLE))
        require((s.expected(c) == 0) | (s.expected(c) == s.live()), rule="txn.2")
        s.pending = Pending.INIT
        s.of_client = c

    @action(fair="weak")
    def initialize(s, c: Client, to: Epoch):
        """The record of the next epoch is in the log, and the answer to InitProducerId is sent."""
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

    @action(fair="weak", rule="txn.2", danger="lost-answer", by="coordinator", to="c")
    def answer_init_again(s, c: Client):
        """A repeated InitProducerId gets the same answer as before, without a bump."""
        require(s.is_sent(c))
        require((s.pending == Pending.NOTHING) & (s.phase == Phase.IDLE))
        require((s.expected(c) != 0) & (s.expected(c) == s.remembers))
        require(~s.fails_at_the_end(c))
        s.returned = s.returned | s.comes_back(c)
        s.answered[c] = s.epoch

    @action(fair="weak", by="coordinator", to="c")
    def refuse_init(s, c: Client):
        """InitProducerId with an outdated epoch is answered PRODUCER_FENCED."""
        require(s.is_sent(c) & (s.expected(c) != 0))
        require((s.pending == Pending.NOTHING) & (s.phase == Phase.IDLE))
        require((s.expected(c) != s.live()) & (s.expected(c) != s.remembers))
        require(~s.fails_at_the_end(c))
        s.stop(c)

    @action(fair="weak", by="coordinator", to="c")
    def fail_init(s, c: Client):
        """InitProducerId at the end of the epochs is answered UNKNOWN_SERVER_ERROR, which stops the producer."""
        require(s.is_sent(c) & (s.pending == Pending.NOTHING) & (s.phase == Phase.IDLE))
        require(s.fails_at_the_end(c))
        s.stop(c)

    def fails_at_the_end(s, c):
        return (s.expected(c) != 0) & s.fails_naming(s.expected(c))

    def fails_naming(s, e):
        """Return whether InitProducerId that names this epoch fails. At the last epoch of a producer id a request that
        names another epoch fails, even a retry, before the coordinator compares the previous epoch
        (TransactionMetadata.prepareIncrementProducerEpoch, in 3.9 to 4.4.0). A request that names an earlier producer
        id is examined first, and refused: the previous id is known only until the next transition
        (TransactionMetadata.prepareTransitionTo)."""
        return s.is_used_up(s.live()) & (e != s.live()) & (s.base <= e)

    @action(fair="weak", by="coordinator")
    def fence_first(s, c: Client):
        """InitProducerId finds a transaction open: the transaction is aborted, and the producer has to ask again."""
        require(s.is_sent(c))
        s.start_fence()
        s.stray[c] = False

    @action(fair="weak", danger=("time-out", "clock-step"), by="coordinator")
    def time_out(s):
        """The open transaction has taken too long, by whatever clock."""
        s.start_fence()
        s.crowded = True

    def start_fence(s):
        require((s.pending == Pending.NOTHING) & (s.phase == Phase.ONGOING))
        s.pending = Pending.FENCE

    def fenced(s):
        """Return the epoch of the fence. A fence that memory has already is not bumped again."""
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
        """Return the last epoch that an InitProducerId may name after a fence; 0 is none."""
        return 0

    # AddPartitions

    def ask_to_add(s, t, p):
        require((s.pending == Pending.NOTHING) & (s.phase != Phase.PREPARED))
        require(s.begun[t] & (s.number[t] == s.live()) & ~(s.parts[p] & (s.phase == Phase.ONGOING)))
        s.pending = Pending.ADD
        s.of_txn = t
        s.of_partition = p

    def may_add(s, t, p):
        """Return whether the record that adds the partition is in the log, now or from before."""
        mine = (s.pending == Pending.ADD) & (s.of_txn == t) & (s.of_partition == p)
        before = (s.pending == Pending.NOTHING) & s.parts[p] & (s.phase == Phase.ONGOING) & (s.ahead == 0)
        return mine | before

    # EndTxn

    @action(fair="weak", by="owner", to="coordinator")
    def ask_to_end(s, t: Txn):
        require((s.choice[t] != Outcome.NONE) & s.in_time(t) & s.may_end(t))
        require((s.pending == Pending.NOTHING) & (s.number[t] == s.live()))
        s.pending = Pending.END
        s.of_txn = t

    @action(fair="weak")
    def end(s, t: Txn, marker: Epoch, to: Epoch):
        """The Prepare record is in the log, which makes the end of the transaction final."""
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

    @action(fair="weak", by="coordinator", to="owner")
    def refuse_end(s, t: Txn):
        """EndTxn neither ends nor repeats anything, and is answered PRODUCER_FENCED or INVALID_TXN_STATE."""
        require((s.choice[t] != Outcome.NONE) & ~s.success[t] & s.ready[s.owner[t]])
        require(s.pending == Pending.NOTHING)
        require(s.phase != Phase.PREPARED, rule="txn.5")
        require(~((s.number[t] == s.live()) & s.may_end(t)))
        require(~((s.phase == Phase.IDLE) & s.is_retry(t) & s.is_next_to_present(t) & (s.outcome == s.choice[t])))
        s.stop(s.owner[t])

    # The log and fail-over

    @fault(budget="failed_appends", danger="failed-append", by="coordinator")
    def append_fails(s):
        """Too few replicas are in sync and nothing is written, but a fence stays in memory (hasFailedEpochFence)."""
        require(s.pending != Pending.NOTHING)
        failed = s.pending == Pending.FENCE
        ahead = when(failed, s.fenced() - s.epoch, s.ahead)
        with rule("txn.18"):
            s.fence_failed = s.fence_failed | failed
        s.ahead = ahead
        s.clear()

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        """Another coordinator reads the log and sends the markers of the prepared transaction again."""
        s.remember_after_fail_over()
        s.forget_fence()
        s.acked = each(lambda p: False)
        s.awaited = s.phase == Phase.PREPARED
        s.straggler = False
        s.clear()
        Core.fail_over(s)

    def remember_after_fail_over(s):
        """The last producer epoch is not in the log (until KAFKA-20357), and is forgotten at a fail-over."""
        s.forgetful = s.forgetful | exists(Client, lambda c: s.asking[c] & s.again[c])
        s.remembers = 0

    # Markers

    @action(fair="weak")
    def mark(s, p: Partition, e: Epoch, commit: Bool, k: Term):
        """A marker arrives, and its acknowledgement reaches the coordinator."""
        Core.mark(s, p, e, commit, k)
        s.acked[p] = True

    @fault(budget="losses", danger="lost-answer", by="coordinator", to="p")
    def mark_unheard(s, p: Partition, e: Epoch, commit: Bool, k: Term):
        """A marker arrives, and its acknowledgement is lost."""
        Core.mark(s, p, e, commit, k)

    def prepared(s):
        s.acked = each(lambda p: False)
        s.awaited = True

    @action(fair="weak")
    def complete(s):
        """The last marker is acknowledged: the pending entry is removed, and the completion is recorded."""
        require(s.all_acked() & s.awaited)
        Core.complete(s)
        s.acked = each(lambda p: False)
        s.awaited = False

    @fault(budget="stragglers", by="coordinator")
    def straggle(s):
        """Two acknowledgements of markers arrive at once, and both callbacks see that no marker is outstanding."""
        require((s.phase == Phase.PREPARED) & ~s.straggler)
        require(s.all_acked())
        s.straggler = True

    @action(fair="weak", by="coordinator")
    def take_out_again(s):
        """The second callback removes the entry only if it is still the one that it saw, and finds it gone."""
        require(s.straggler & ((s.phase != Phase.PREPARED) | ~s.all_acked()))
        s.awaited = either("txn.10", s.awaited, by_name_alone=s.awaited & ~s.straggler)
        s.straggler = False

    def all_acked(s):
        return forall(Partition, lambda p: implies(s.parts[p], s.acked[p]))

    # The epochs of v2

    def is_next_to_present(s, t):
        """Return whether the present epoch follows the transaction's epoch, in the same producer id or the next.
        Nothing else is remembered of the previous epoch."""
        return (s.number[t] + 1 == s.epoch) | ((s.epoch == s.base) & (s.number[t] + 2 == s.base))

    def fence_marker(s):
        """Return the epoch of the fence's marker, which is the abort's only bump (KAFKA-19367)."""
        return s.epoch + 1

    def fence_target(s):
        """Return the epoch after the fence; a producer id that is used up is replaced (KAFKA-20090)."""
        return either("txn.4", s.after(s.epoch), stays=s.epoch + 1)

    def end_marker(s):
        return s.epoch + 1

    def end_target(s):
        return s.after(s.epoch)
