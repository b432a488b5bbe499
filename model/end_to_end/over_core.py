"""The whole, where the transactions of one task's transactional id are the core of v2 itself.

The core takes the place of what `Producers` says of that id: each step of its coordinator, of the leaders of logs and
of the network is taken together with the step that it is to the whole, if it is one.  The task is any one, `watched`;
the transactions of the others are their interface, and that makes no difference if nothing of the core is in the
whole's way, and the whole in the way of nothing that the core does by itself
(properties/end_to_end/claims/over_core.py).  The tasks' transactions are exchanged for the core one after the other.

What an instance does with its producer is Connect's: it initialises once, with InitProducerId that names no epoch;
begins transactions while it polls; sends records, and offsets when these are acknowledged; asks for a commit, and for
an abort when it ends.  A record stands for all that a transaction has in a log: when the first one has come, others of
the present transaction come as the whole says.  An instance of the watched task is of no other one ever: one that is
started for another task is another instance.
"""

from fencepost.model.end_to_end.abstract import EndToEnd
from fencepost.model.group_fencing.core import Offset, Partition
from fencepost.model.group_fencing.over_core import ProducerEpoch, Term
from fencepost.model.id_blocks.brokers import Id
from fencepost.model.language import (
    Bool,
    Constant,
    Part,
    Protocol,
    Set,
    action,
    exists,
    fault,
    forall,
    implies,
    part,
    require,
)
from fencepost.model.task_counts.abstract.core import Generation, Instance, Task
from fencepost.model.transactions.abstract import core
from fencepost.model.transactions.abstract.core import Fate, Outcome, Phase, Txn
from fencepost.model.transactions.abstract.cores import V2Core

SORTS = {core.Client: Instance, core.Partition: Partition, core.Epoch: ProducerEpoch, core.Term: Term}


class CoreOfInstances(Protocol):
    """The core of v2 alone, of a task's instances."""

    core: Part[V2Core] = part(sorts=SORTS)


class OverCore(Protocol):
    """From the sources of a connector to the sink of a group, with transaction.version 2."""

    whole: Part[EndToEnd] = part(
        joint=[
            "plan", "open_producer", "open_producer_again", "retake", "fence", "begin", "send", "send_offsets",
            "ask_commit", "commit", "end_unheard", "send_late", "send_offsets_late", "abort", "mark", "mark_offsets",
            "txn.give_up", "txn.accept_in_vain", "txn.accept_offsets_in_vain", "txn.complete",
        ],
    )  # fmt: skip
    core: Part[V2Core] = part(
        joint=[
            "initialize", "initialize_again", "fence_producers", "begin", "send", "commit", "abort", "append", "end",
            "answer_again", "take_over", "complete", "mark", "mark_late",
        ],
        sorts=SORTS,
    )  # fmt: skip

    watched: Constant[Task]
    offsets: Constant[Partition]  # the log of offsets, which is no source partition's

    mine: Set[Instance]  # it has been given an epoch of the watched id

    def is_present(s, t):
        """A transaction of the newest epoch."""
        return s.core.begun[t] & (s.core.number[t] == s.core.epoch)

    def is_prepared(s, t):
        return (s.core.phase == Phase.PREPARED) & s.core.begun[t] & (s.core.number[t] == s.core.ended)

    def is_newest(s, t):
        """A transaction of the newest epoch, or the one that ended last, if no instance has initialised since."""
        ended = (s.core.number[t] == s.core.ended) & (s.core.outcome != Outcome.NONE)
        return s.is_present(t) | (s.core.begun[t] & ended)

    def polls(s, t):
        """The owner of a transaction does."""
        return s.whole.connect.polls[s.core.owner[t]]

    def knows_the_newest(s, k):
        """No other instance has shut this one out."""
        return ~s.whole.txn.fenced[k]

    # What Connect and its tasks do

    @action
    def plan(s, g: Generation, p: Partition, i: Task):
        """A source partition is planned for a task."""
        require(p != s.offsets)
        s.whole.plan(g, p, i)

    @action(fair="weak")
    def open_producer(s, k: Instance, n: Id, to: ProducerEpoch):
        """InitProducerId of an instance of the watched task, whose id is new."""
        require((s.whole.connect.task[k] == s.watched) & (s.mine[k] | ~s.whole.txn.known[k]))
        s.mine[k] = True
        s.whole.open_producer(k, n)
        s.core.initialize(k, to)

    @action(fair="weak")
    def open_producer_again(s, k: Instance, to: ProducerEpoch):
        """InitProducerId of an instance of the watched task."""
        require((s.whole.connect.task[k] == s.watched) & (s.mine[k] | ~s.whole.txn.known[k]))
        s.mine[k] = True
        s.whole.open_producer_again(k)
        s.core.initialize(k, to)

    @fault(budget="fences", danger="late-copy")
    def fence(s, to: ProducerEpoch):
        """Admin.fenceProducers of the watched id."""
        s.whole.fence(s.watched)
        s.core.fence_producers(to)

    @action(fair="weak")
    def begin(s, c: Instance, t: Txn, e: ProducerEpoch):
        """An instance begins a transaction, and has the newest epoch."""
        require(e == s.core.epoch)
        s.whole.begin(c)
        s.core.begin(c, t, e)

    @action
    def begin_in_vain(s, c: Instance, t: Txn, e: ProducerEpoch):
        """An instance does that was shut out, and does not know."""
        require(s.whole.connect.polls[c] & (e != s.core.epoch))
        s.core.begin(c, t, e)

    @action
    def produce(s, t: Txn, p: Partition):
        """A record is sent, and is on its way."""
        k = s.core.owner[t]
        require(s.polls(t) & (p != s.offsets) & ~s.core.sent[t, s.offsets] & s.whole.source.resumed[k, p])
        s.core.send(t, p)

    @action
    def produce_offsets(s, t: Txn):
        """Offsets are, when records are acknowledged."""
        some = exists(Partition, lambda p: (p != s.offsets) & s.core.sent[t, p])
        all_there = forall(Partition, lambda p: implies(s.core.sent[t, p], s.core.fate[t, p] != Fate.ABSENT))
        require(s.polls(t) & some & all_there)
        s.core.send(t, s.offsets)

    @action(fair="weak")
    def ask_commit(s, t: Txn):
        """EndTxn is sent."""
        require(s.is_present(t))
        s.whole.ask_commit(s.core.owner[t])
        s.core.commit(t)

    @action
    def ask_commit_in_vain(s, t: Txn):
        """So it is of a transaction that is to be aborted, or is."""
        require(s.polls(t) & ~s.is_present(t))
        s.core.commit(t)

    @action
    def ask_abort(s, t: Txn):
        """An instance that has ended has asked for an abort."""
        require(~s.whole.connect.opened[s.core.owner[t]])
        s.core.abort(t)

    @action(fair="weak")
    def end_unheard(s, k: Instance):
        """EndTxn of an instance can not be taken any more; of another task it may be lost before."""
        require(~s.mine[k] | ~s.whole.txn.is_current(k))
        s.whole.end_unheard(k)

    @action
    def initialize_again(s, c: Instance):
        """InitProducerId names the epoch that ended last: no instance does that which does not know the newest one."""
        require(s.knows_the_newest(c))
        s.core.initialize_again(c)

    # What the logs take

    @action(fair="strong")
    def append(s, t: Txn, p: Partition):
        """The first record of the present transaction comes to its log."""
        require(s.is_present(t) & (p != s.offsets) & s.polls(t))
        k = s.core.owner[t]
        s.whole.send(k, p, s.whole.source.next[k, p] + 1)
        s.core.append(t, p)

    @action(fair="weak")
    def append_more(s, t: Txn, p: Partition, i: Offset):
        """So do others."""
        open_there = s.core.fate[t, p] == Fate.OPEN
        require(s.is_present(t) & (p != s.offsets) & open_there & (s.core.choice[t] == Outcome.NONE))
        require(~s.core.sent[t, s.offsets])
        s.whole.send(s.core.owner[t], p, i)

    @action
    def append_late(s, t: Txn, p: Partition):
        """A record comes of an instance that has ended."""
        require(s.is_present(t) & (p != s.offsets) & ~s.polls(t))
        s.whole.send_late(s.core.owner[t], p)
        s.core.append(t, p)

    @action
    def append_in_vain(s, t: Txn, p: Partition):
        """One comes of a transaction that is to be aborted."""
        require(~s.is_present(t) & (p != s.offsets))
        s.whole.txn.accept_in_vain(s.core.owner[t], p)
        s.core.append(t, p)

    @action(fair="strong")
    def append_offsets(s, t: Txn, p: Partition):
        """The offsets of the present transaction come."""
        require(s.is_present(t) & (p == s.offsets) & s.polls(t))
        s.whole.send_offsets(s.core.owner[t])
        s.core.append(t, p)

    @action
    def append_offsets_late(s, t: Txn, p: Partition):
        """Those of an instance come that has ended."""
        require(s.is_present(t) & (p == s.offsets) & ~s.polls(t))
        s.whole.send_offsets_late(s.core.owner[t])
        s.core.append(t, p)

    @action
    def append_offsets_in_vain(s, t: Txn, p: Partition):
        """Those of a transaction come that is to be aborted."""
        require(~s.is_present(t) & (p == s.offsets))
        s.whole.txn.accept_offsets_in_vain(s.core.owner[t])
        s.core.append(t, p)

    # What the coordinator does

    @action(fair="weak")
    def end(s, t: Txn, marker: ProducerEpoch, to: ProducerEpoch):
        """EndTxn is taken, which asks for a commit."""
        require(s.core.choice[t] == Outcome.COMMIT)
        s.whole.commit(s.core.owner[t])
        s.core.end(t, marker, to)

    @action(fair="weak")
    def end_aborting(s, t: Txn, marker: ProducerEpoch, to: ProducerEpoch):
        """So is one that asks for an abort."""
        require(s.core.choice[t] == Outcome.ABORT)
        s.whole.abort(s.core.owner[t])
        s.core.end(t, marker, to)

    @action(fair="weak", danger=("lost-answer", "duplicate"))
    def answer_again(s, t: Txn):
        """EndTxn comes again."""
        require(s.knows_the_newest(s.core.owner[t]))
        s.core.answer_again(t)

    @action(danger=("lost-answer", "duplicate"))
    def answer_anew(s, t: Txn):
        """It comes of an instance that has ended, whose transaction took too long: the answer has the newest epoch."""
        require(~s.knows_the_newest(s.core.owner[t]))
        s.whole.retake(s.core.owner[t])
        s.core.answer_again(t)

    @action(fair="weak", danger=("time-out", "clock-step"))
    def take_over(s, t: Txn, marker: ProducerEpoch, to: ProducerEpoch):
        """The present transaction takes too long."""
        require(s.is_present(t))
        s.whole.txn.give_up(s.core.owner[t])
        s.core.take_over(marker, to)

    @action(fair="weak")
    def complete(s, t: Txn):
        """Every log has the marker of the transaction that is prepared."""
        require(s.is_prepared(t))
        s.whole.txn.complete(s.core.owner[t])
        s.core.complete()

    # Markers

    def settles(s, t, p, e):
        """It is the marker of this transaction, which is prepared, and has not come to the log before."""
        return s.is_prepared(t) & (e == s.core.marker_epoch) & (s.core.known[p] < e)

    @action(fair="weak")
    def mark(s, t: Txn, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker of the transaction that is prepared comes to a log of records."""
        require(s.settles(t, p, e) & (p != s.offsets))
        s.whole.mark(s.core.owner[t], p)
        s.core.mark(p, e, commit, k)

    @action(danger="late-copy")
    def mark_late(s, t: Txn, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """One of an earlier coordinator does."""
        require(s.settles(t, p, e) & (p != s.offsets))
        s.whole.mark(s.core.owner[t], p)
        s.core.mark_late(p, e, commit, k)

    @action(fair="weak")
    def mark_offsets(s, t: Txn, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """It comes to the log of offsets."""
        require(s.settles(t, p, e) & (p == s.offsets))
        s.whole.mark_offsets(s.core.owner[t])
        s.core.mark(p, e, commit, k)

    @action(danger="late-copy")
    def mark_offsets_late(s, t: Txn, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """One of an earlier coordinator does."""
        require(s.settles(t, p, e) & (p == s.offsets))
        s.whole.mark_offsets(s.core.owner[t])
        s.core.mark_late(p, e, commit, k)

    @action(fair="weak")
    def mark_again(s, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker comes again, as coordinators do not know where it came before they took over."""
        require(~exists(Txn, lambda t: s.settles(t, p, e)))
        s.core.mark(p, e, commit, k)

    @action(danger="late-copy")
    def mark_in_vain(s, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker comes that settles nothing."""
        require(~exists(Txn, lambda t: s.settles(t, p, e)))
        s.core.mark_late(p, e, commit, k)

    # The other tasks

    @action(fair="weak")
    def open_other(s, k: Instance, n: Id):
        """As the interface says."""
        require((s.whole.connect.task[k] != s.watched) & ~s.mine[k])
        s.whole.open_producer(k, n)

    @action(fair="weak")
    def open_other_again(s, k: Instance):
        """As the interface says."""
        require((s.whole.connect.task[k] != s.watched) & ~s.mine[k])
        s.whole.open_producer_again(k)

    @action
    def retake_other(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.retake(k)

    @fault(budget="fences", danger="late-copy")
    def fence_other(s, i: Task):
        """As the interface says."""
        require(i != s.watched)
        s.whole.fence(i)

    @action(fair="weak")
    def begin_other(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.begin(k)

    @action(fair="weak")
    def send_other(s, k: Instance, p: Partition, i: Offset):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.send(k, p, i)

    @action
    def send_other_late(s, k: Instance, p: Partition):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.send_late(k, p)

    @action
    def send_other_in_vain(s, k: Instance, p: Partition):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.txn.accept_in_vain(k, p)

    @action(fair="weak")
    def send_offsets_of_other(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.send_offsets(k)

    @action
    def send_offsets_of_other_late(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.send_offsets_late(k)

    @action
    def send_offsets_of_other_in_vain(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.txn.accept_offsets_in_vain(k)

    @action(fair="weak")
    def ask_commit_of_other(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.ask_commit(k)

    @action(fair="weak")
    def commit_other(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.commit(k)

    @action
    def abort_other(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.abort(k)

    @action(fair="weak", danger="time-out")
    def give_up_other(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.txn.give_up(k)

    @action(fair="weak")
    def mark_other(s, k: Instance, p: Partition):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.mark(k, p)

    @action(fair="weak")
    def mark_offsets_of_other(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.mark_offsets(k)

    @action(fair="weak")
    def complete_other(s, k: Instance):
        """As the interface says."""
        require(~s.mine[k])
        s.whole.txn.complete(k)
