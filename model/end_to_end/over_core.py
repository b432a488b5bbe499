"""In this end-to-end model the transactions of one task's transactional id are the core of v2 itself.

The core takes the place of that id in `Producers`: each step of its coordinator, of the leaders of logs and of the
network is combined with the step of the end-to-end model that it implements, if there is one. The task is any one,
`watched`. The transactions of the other tasks are their interface. This makes no difference if the core never blocks
the end-to-end model, and the end-to-end model blocks nothing that the core does by itself
(properties/end_to_end/claims/over_core.py). The tasks' transactions are exchanged for the core one after the other.

Connect determines what an instance does with its producer. The instance initialises once, with InitProducerId that
names no epoch; begins transactions while it polls; sends records, and offsets when these are acknowledged; and asks for
a commit, or for an abort when it ends. A record stands for everything that a transaction has in a log: after the first
one has arrived, others of the present transaction arrive as in the end-to-end model. An instance of the watched task
never belongs to another task, since one that is started for another task is another instance.
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
    """The `CoreOfInstances` model is the core of v2 alone, for a task's instances."""

    core: Part[V2Core] = part(sorts=SORTS)


class OverCore(Protocol):
    """The model reaches from the sources of a connector to the sink of a group, with transaction.version 2."""

    actors = ("coordinator", "leader")

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
        """Return whether the transaction has the newest epoch."""
        return s.core.begun[t] & (s.core.number[t] == s.core.epoch)

    def is_prepared(s, t):
        return (s.core.phase == Phase.PREPARED) & s.core.begun[t] & (s.core.number[t] == s.core.ended)

    def is_newest(s, t):
        """Return whether the transaction has the newest epoch, or ended last with no initialisation since."""
        ended = (s.core.number[t] == s.core.ended) & (s.core.outcome != Outcome.NONE)
        return s.is_present(t) | (s.core.begun[t] & ended)

    def polls(s, t):
        return s.whole.connect.polls[s.core.owner[t]]

    def knows_the_newest(s, k):
        """Return whether no other instance has fenced this one."""
        return ~s.whole.txn.fenced[k]

    # What Connect and its tasks do

    @action(by="leader")
    def plan(s, g: Generation, p: Partition, i: Task):
        """A source partition is planned for a task."""
        require(p != s.offsets)
        s.whole.plan(g, p, i)

    @action(fair="weak")
    def open_producer(s, k: Instance, n: Id, to: ProducerEpoch):
        """An instance of the watched task, whose transactional id is new, sends InitProducerId."""
        require((s.whole.connect.task[k] == s.watched) & (s.mine[k] | ~s.whole.txn.known[k]))
        s.mine[k] = True
        s.whole.open_producer(k, n)
        s.core.initialize(k, to)

    @action(fair="weak")
    def open_producer_again(s, k: Instance, to: ProducerEpoch):
        """An instance of the watched task sends InitProducerId for a transactional id that is known."""
        require((s.whole.connect.task[k] == s.watched) & (s.mine[k] | ~s.whole.txn.known[k]))
        s.mine[k] = True
        s.whole.open_producer_again(k)
        s.core.initialize(k, to)

    @fault(budget="fences", danger="late-copy", by="leader", to="coordinator")
    def fence(s, to: ProducerEpoch):
        """Admin.fenceProducers fences the watched transactional id."""
        s.whole.fence(s.watched)
        s.core.fence_producers(to)

    @action(fair="weak")
    def begin(s, c: Instance, t: Txn, e: ProducerEpoch):
        """An instance with the newest epoch begins a transaction."""
        require(e == s.core.epoch)
        s.whole.begin(c)
        s.core.begin(c, t, e)

    @action
    def begin_in_vain(s, c: Instance, t: Txn, e: ProducerEpoch):
        """An instance that was fenced, and does not know it, begins a transaction."""
        require(s.whole.connect.polls[c] & (e != s.core.epoch))
        s.core.begin(c, t, e)

    @action(by="core.owner", to="p")
    def produce(s, t: Txn, p: Partition):
        """A record is sent, and is in flight."""
        k = s.core.owner[t]
        require(s.polls(t) & (p != s.offsets) & ~s.core.sent[t, s.offsets] & s.whole.source.resumed[k, p])
        s.core.send(t, p)

    @action(by="core.owner")
    def produce_offsets(s, t: Txn):
        """Offsets are sent when the records are acknowledged."""
        some = exists(Partition, lambda p: (p != s.offsets) & s.core.sent[t, p])
        all_there = forall(Partition, lambda p: implies(s.core.sent[t, p], s.core.fate[t, p] != Fate.ABSENT))
        require(s.polls(t) & some & all_there)
        s.core.send(t, s.offsets)

    @action(fair="weak", by="core.owner", to="coordinator")
    def ask_commit(s, t: Txn):
        """An instance sends EndTxn that asks for a commit."""
        require(s.is_present(t))
        s.whole.ask_commit(s.core.owner[t])
        s.core.commit(t)

    @action(by="core.owner", to="coordinator")
    def ask_commit_in_vain(s, t: Txn):
        """An instance sends EndTxn for a transaction that is aborted or is to be aborted."""
        require(s.polls(t) & ~s.is_present(t))
        s.core.commit(t)

    @action(by="core.owner", to="coordinator")
    def ask_abort(s, t: Txn):
        """An instance that has ended has asked for an abort."""
        require(~s.whole.connect.opened[s.core.owner[t]])
        s.core.abort(t)

    @action(fair="weak")
    def end_unheard(s, k: Instance):
        """EndTxn of an instance cannot be accepted any more, or EndTxn of another task's instance is lost."""
        require(~s.mine[k] | ~s.whole.txn.is_current(k))
        s.whole.end_unheard(k)

    @action
    def initialize_again(s, c: Instance):
        """InitProducerId names the epoch that ended last; only an instance that knows the newest epoch sends it."""
        require(s.knows_the_newest(c))
        s.core.initialize_again(c)

    # What the logs take

    @action(fair="strong", by="p")
    def append(s, t: Txn, p: Partition):
        """The first record of the present transaction arrives at its log."""
        require(s.is_present(t) & (p != s.offsets) & s.polls(t))
        k = s.core.owner[t]
        s.whole.send(k, p, s.whole.source.next[k, p] + 1)
        s.core.append(t, p)

    @action(fair="weak", by="p")
    def append_more(s, t: Txn, p: Partition, i: Offset):
        """Another record of the present transaction arrives at a log where the transaction is open."""
        open_there = s.core.fate[t, p] == Fate.OPEN
        require(s.is_present(t) & (p != s.offsets) & open_there & (s.core.choice[t] == Outcome.NONE))
        require(~s.core.sent[t, s.offsets])
        s.whole.send(s.core.owner[t], p, i)

    @action(by="p")
    def append_late(s, t: Txn, p: Partition):
        """A record arrives from an instance that has ended."""
        require(s.is_present(t) & (p != s.offsets) & ~s.polls(t))
        s.whole.send_late(s.core.owner[t], p)
        s.core.append(t, p)

    @action(by="p")
    def append_in_vain(s, t: Txn, p: Partition):
        """A record arrives of a transaction that is to be aborted."""
        require(~s.is_present(t) & (p != s.offsets))
        s.whole.txn.accept_in_vain(s.core.owner[t], p)
        s.core.append(t, p)

    @action(fair="strong", by="p")
    def append_offsets(s, t: Txn, p: Partition):
        """The offsets of the present transaction arrive."""
        require(s.is_present(t) & (p == s.offsets) & s.polls(t))
        s.whole.send_offsets(s.core.owner[t])
        s.core.append(t, p)

    @action(by="p")
    def append_offsets_late(s, t: Txn, p: Partition):
        """The offsets of an instance that has ended arrive."""
        require(s.is_present(t) & (p == s.offsets) & ~s.polls(t))
        s.whole.send_offsets_late(s.core.owner[t])
        s.core.append(t, p)

    @action(by="p")
    def append_offsets_in_vain(s, t: Txn, p: Partition):
        """The offsets of a transaction that is to be aborted arrive."""
        require(~s.is_present(t) & (p == s.offsets))
        s.whole.txn.accept_offsets_in_vain(s.core.owner[t])
        s.core.append(t, p)

    # What the coordinator does

    @action(fair="weak")
    def end(s, t: Txn, marker: ProducerEpoch, to: ProducerEpoch):
        """The coordinator accepts EndTxn that asks for a commit."""
        require(s.core.choice[t] == Outcome.COMMIT)
        s.whole.commit(s.core.owner[t])
        s.core.end(t, marker, to)

    @action(fair="weak")
    def end_aborting(s, t: Txn, marker: ProducerEpoch, to: ProducerEpoch):
        """The coordinator accepts EndTxn that asks for an abort."""
        require(s.core.choice[t] == Outcome.ABORT)
        s.whole.abort(s.core.owner[t])
        s.core.end(t, marker, to)

    @action(fair="weak", danger=("lost-answer", "duplicate"))
    def answer_again(s, t: Txn):
        """The coordinator answers a repeated EndTxn."""
        require(s.knows_the_newest(s.core.owner[t]))
        s.core.answer_again(t)

    @action(danger=("lost-answer", "duplicate"))
    def answer_anew(s, t: Txn):
        """EndTxn repeats for a slow transaction of an instance that has ended: the answer has the newest epoch."""
        require(~s.knows_the_newest(s.core.owner[t]))
        s.whole.retake(s.core.owner[t])
        s.core.answer_again(t)

    @action(fair="weak", danger=("time-out", "clock-step"))
    def take_over(s, t: Txn, marker: ProducerEpoch, to: ProducerEpoch):
        """The present transaction takes too long, and is aborted."""
        require(s.is_present(t))
        s.whole.txn.give_up(s.core.owner[t])
        s.core.take_over(marker, to)

    @action(fair="weak")
    def complete(s, t: Txn):
        """Every log has the marker of the prepared transaction."""
        require(s.is_prepared(t))
        s.whole.txn.complete(s.core.owner[t])
        s.core.complete()

    # Markers

    def settles(s, t, p, e):
        """Return whether this is the first marker of this prepared transaction to arrive at the log."""
        return s.is_prepared(t) & (e == s.core.marker_epoch) & (s.core.known[p] < e)

    @action(fair="weak")
    def mark(s, t: Txn, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker of the prepared transaction arrives at a log of records."""
        require(s.settles(t, p, e) & (p != s.offsets))
        s.whole.mark(s.core.owner[t], p)
        s.core.mark(p, e, commit, k)

    @action(danger="late-copy")
    def mark_late(s, t: Txn, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker of the prepared transaction, sent by an earlier coordinator, arrives at a log of records."""
        require(s.settles(t, p, e) & (p != s.offsets))
        s.whole.mark(s.core.owner[t], p)
        s.core.mark_late(p, e, commit, k)

    @action(fair="weak")
    def mark_offsets(s, t: Txn, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker of the prepared transaction arrives at the log of offsets."""
        require(s.settles(t, p, e) & (p == s.offsets))
        s.whole.mark_offsets(s.core.owner[t])
        s.core.mark(p, e, commit, k)

    @action(danger="late-copy")
    def mark_offsets_late(s, t: Txn, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker of the prepared transaction, sent by an earlier coordinator, arrives at the log of offsets."""
        require(s.settles(t, p, e) & (p == s.offsets))
        s.whole.mark_offsets(s.core.owner[t])
        s.core.mark_late(p, e, commit, k)

    @action(fair="weak")
    def mark_again(s, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker arrives again, since a coordinator that takes over does not know where it arrived before."""
        require(~exists(Txn, lambda t: s.settles(t, p, e)))
        s.core.mark(p, e, commit, k)

    @action(danger="late-copy")
    def mark_in_vain(s, p: Partition, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker arrives that settles nothing."""
        require(~exists(Txn, lambda t: s.settles(t, p, e)))
        s.core.mark_late(p, e, commit, k)

    # The other tasks

    @action(fair="weak")
    def open_other(s, k: Instance, n: Id):
        """An instance of another task opens its producer with a new producer id, as in the interface."""
        require((s.whole.connect.task[k] != s.watched) & ~s.mine[k])
        s.whole.open_producer(k, n)

    @action(fair="weak")
    def open_other_again(s, k: Instance):
        """An instance of another task opens its producer with a known producer id, as in the interface."""
        require((s.whole.connect.task[k] != s.watched) & ~s.mine[k])
        s.whole.open_producer_again(k)

    @action
    def retake_other(s, k: Instance):
        """An instance of another task gets the newest epoch after a slow transaction, as in the interface."""
        require(~s.mine[k])
        s.whole.retake(k)

    @fault(budget="fences", danger="late-copy")
    def fence_other(s, i: Task):
        """The transactional id of another task is fenced, as in the interface."""
        require(i != s.watched)
        s.whole.fence(i)

    @action(fair="weak")
    def begin_other(s, k: Instance):
        """An instance of another task begins a transaction, as in the interface."""
        require(~s.mine[k])
        s.whole.begin(k)

    @action(fair="weak")
    def send_other(s, k: Instance, p: Partition, i: Offset):
        """A record of another task's instance is in its log, as in the interface."""
        require(~s.mine[k])
        s.whole.send(k, p, i)

    @action
    def send_other_late(s, k: Instance, p: Partition):
        """A record of another task's instance that no longer polls arrives at its log, as in the interface."""
        require(~s.mine[k])
        s.whole.send_late(k, p)

    @action
    def send_other_in_vain(s, k: Instance, p: Partition):
        """A record arrives of another task's transaction that is to be aborted, as in the interface."""
        require(~s.mine[k])
        s.whole.txn.accept_in_vain(k, p)

    @action(fair="weak")
    def send_offsets_of_other(s, k: Instance):
        """The offsets of another task's transaction are in their log, as in the interface."""
        require(~s.mine[k])
        s.whole.send_offsets(k)

    @action
    def send_offsets_of_other_late(s, k: Instance):
        """Offsets of another task's instance that no longer polls arrive, as in the interface."""
        require(~s.mine[k])
        s.whole.send_offsets_late(k)

    @action
    def send_offsets_of_other_in_vain(s, k: Instance):
        """Offsets arrive of another task's transaction that is to be aborted, as in the interface."""
        require(~s.mine[k])
        s.whole.txn.accept_offsets_in_vain(k)

    @action(fair="weak")
    def ask_commit_of_other(s, k: Instance):
        """An instance of another task sends its request to commit, as in the interface."""
        require(~s.mine[k])
        s.whole.ask_commit(k)

    @action(fair="weak")
    def commit_other(s, k: Instance):
        """The request of another task to commit is accepted, as in the interface."""
        require(~s.mine[k])
        s.whole.commit(k)

    @action
    def abort_other(s, k: Instance):
        """The request of another task to abort is accepted, as in the interface."""
        require(~s.mine[k])
        s.whole.abort(k)

    @action(fair="weak", danger="time-out")
    def give_up_other(s, k: Instance):
        """The transaction of another task takes too long and is to be aborted, as in the interface."""
        require(~s.mine[k])
        s.whole.txn.give_up(k)

    @action(fair="weak")
    def mark_other(s, k: Instance, p: Partition):
        """A marker of another task's transaction arrives at a log of records, as in the interface."""
        require(~s.mine[k])
        s.whole.mark(k, p)

    @action(fair="weak")
    def mark_offsets_of_other(s, k: Instance):
        """A marker of another task's transaction arrives at the log of offsets, as in the interface."""
        require(~s.mine[k])
        s.whole.mark_offsets(k)

    @action(fair="weak")
    def complete_other(s, k: Instance):
        """The markers of another task's transaction have arrived everywhere, as in the interface."""
        require(~s.mine[k])
        s.whole.txn.complete(k)
