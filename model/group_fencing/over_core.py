"""This module has what shipped, where one member's transactions are the core of v2 itself, and those of the other
members are the interface of transactions.

The core of v2 is a part: it has requests that arrive late, several times or never, markers for each partition,
time-outs, fences and coordinators that take over. The member is any one, `watched`. Which members' transactions are the
core and which are the interface makes no difference if this model refines what shipped, because the members'
transactions can be exchanged for the core one after the other.

A step of the member that waits for an answer, such as to go on after a commit, is joined with that of the coordinator,
because the member does nothing until it has the answer. What a producer processes whose epoch is not the newest has no
effect, and is left out.
"""

from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Epoch, Member, Offset, Partition, Stage
from fencepost.model.language import (
    Bool,
    Constant,
    Map,
    Nat,
    Part,
    Sort,
    action,
    each,
    exists,
    fault,
    forall,
    implies,
    limit,
    open_hole,
    part,
    require,
    when,
)
from fencepost.model.transactions.abstract import core
from fencepost.model.transactions.abstract.core import Client, Fate, Outcome, Txn
from fencepost.model.transactions.abstract.cores import V2Core


class Log(Sort, bound="logs"):
    """A `Log` is a partition that producers write to: that of the group's offsets, or one of outputs."""


class ProducerEpoch(Nat, upto="producer_epochs"):
    """A `ProducerEpoch` is the epoch of a producer."""


class Term(Nat, upto="fail_overs"):
    """A `Term` is the coordinator epoch of the transaction coordinator."""


class ShippedOverCore(Shipped):
    """This is Kafka 2.5 and later with transaction.version 2, over the core of transactions."""

    actors = ("coordinator", "leader", "watched member")

    txn: Part[V2Core] = part(
        joint=[
            "initialize", "initialize_again", "begin", "send", "commit", "abort", "append", "end", "answer_again",
            "mark", "mark_late",
        ],
        sorts={core.Partition: Log, core.Epoch: ProducerEpoch, core.Term: Term},
    )  # fmt: skip

    outside = open_hole(
        "the watched member's transactions have these dangers as steps of their own, and need no excuse",
        "duplicate", "loss", "lost-answer",
    )  # fmt: skip

    watched: Constant[Member]
    offsets: Constant[Log]  # the partition of the group's offsets

    mine: Client  # the member's producer
    now: Txn  # the member's transaction, unless the member polls
    request: Map[Txn, Partition, Offset]  # the offsets in the TxnOffsetCommit of a transaction; 0: none
    request_stamp: Map[Txn, Epoch]

    # The other members

    @action
    def process(s, m: Member, p: Partition, i: Offset):
        """A member processes the next input of its transaction; the watched member begins a transaction by another
        action."""
        require((m != s.watched) | (s.stage[m] == Stage.PROCESSING))
        Shipped.process(s, m, p, i)

    @action
    def send(s, m: Member):
        """A member other than the watched one sends TxnOffsetCommit."""
        require(m != s.watched)
        Shipped.send(s, m)

    @action
    def accept(s, m: Member):
        """The coordinator accepts the offsets of a member other than the watched one."""
        require(m != s.watched)
        Shipped.accept(s, m)

    @action
    def refuse(s, m: Member):
        """The coordinator refuses the offsets of a member other than the watched one."""
        require(m != s.watched)
        Shipped.refuse(s, m)

    @action
    def commit(s, m: Member):
        """A member other than the watched one commits by EndTxn."""
        require(m != s.watched)
        Shipped.commit(s, m)

    @action
    def abort(s, m: Member):
        """A member other than the watched one aborts by EndTxn."""
        require(m != s.watched)
        Shipped.abort(s, m)

    @action(fair="weak")
    def initialise(s, m: Member):
        """A member other than the watched one calls initTransactions."""
        require(m != s.watched)
        Shipped.initialise(s, m)

    @action(fair="weak", rule="447.10", danger="time-out")
    def give_up(s, m: Member):
        """The transaction of a member other than the watched one times out."""
        require(m != s.watched)
        Shipped.give_up(s, m)

    @fault(budget="fencings")
    def fence(s, m: Member):
        """Another producer initialises the id of a member other than the watched one."""
        require(m != s.watched)
        Shipped.fence(s, m)

    @action(fair="weak")
    def end(s, m: Member):
        """The marker of a member other than the watched one reaches the group's coordinator."""
        require(m != s.watched)
        Shipped.end(s, m)

    def is_up(s, m):
        """Return whether the member works; the watched member's producer has the newest epoch, or will have it with an
        answer that is on its way."""
        return when(m == s.watched, s.has_newest(), ~s.fenced[m]) & ~s.crashed[m]

    def has_newest(s):
        on_its_way = exists(
            Txn,
            lambda t: s.txn.success[t] & (s.txn.owner[t] == s.mine) & (s.txn.follows[t] == s.txn.epoch),
        )
        return s.txn.given[s.mine, s.txn.epoch] | on_its_way

    def is_stable(s, p):
        """Return whether no offset is pending for the partition. Offsets that arrive when their transaction is already
        to be aborted do not count, and delay a fetch."""
        mine = exists(Txn, lambda t: (s.txn.fate[t, s.offsets] == Fate.OPEN) & (0 < s.request[t, p]))
        return ~mine & Shipped.is_stable(s, p)

    # The watched member

    @action(by="watched member", to="p")
    def begin(s, p: Partition, i: Offset, t: Txn):
        """The watched member processes the first input of a transaction."""
        m = s.watched
        require(s.has[m, p] & s.is_up(m) & (s.stage[m] == Stage.POLLING) & (s.next[m, p] < i))
        limit(i <= s.next[m, p] + 1)
        mine, newest = s.mine, s.txn.epoch
        s.stage[m] = Stage.PROCESSING
        s.next[m, p] = i
        s.now = t
        s.txn.begin(mine, t, newest)

    @action(by="watched member", to="q")
    def produce(s, q: Log):
        """The watched member sends an output."""
        require((s.stage[s.watched] == Stage.PROCESSING) & ~s.crashed[s.watched] & (q != s.offsets))
        s.txn.send(s.now, q)

    @action(by="watched member", to="coordinator")
    def send_offsets(s):
        """The watched member sends TxnOffsetCommit, which may arrive at any time and several times."""
        m, t = s.watched, s.now
        require((s.stage[m] == Stage.PROCESSING) & ~s.crashed[m])
        stamp = s.epoch_sent(m)
        s.stage[m] = Stage.SENT
        s.request = each(lambda u, p: when(u == t, when(s.is_in(m, p), s.next[m, p], 0), s.request[u, p]))
        s.request_stamp[t] = stamp
        s.txn.send(t, s.offsets)

    def takes_request(s, t):
        return forall(
            Partition,
            lambda p: implies(0 < s.request[t, p], s.takes_of(s.watched, p, s.request_stamp[t])),
        )

    @action
    def accept_offsets(s, t: Txn):
        """TxnOffsetCommit of some transaction of the watched member arrives, and the group's coordinator accepts it."""
        m = s.watched
        require(s.takes_request(t), rule="447.16")
        current = s.txn.number[t] == s.txn.epoch
        s.pending = each(
            lambda n, p: when((n == m) & current & (0 < s.request[t, p]), s.request[t, p], s.pending[n, p])
        )
        s.stage[m] = when(current & (s.stage[m] == Stage.SENT), Stage.ACCEPTED, s.stage[m])
        s.txn.append(t, s.offsets)

    @action(by="watched member", to="q")
    def append_output(s, t: Txn, q: Log):
        """An output of the watched member arrives at its partition."""
        require(q != s.offsets)
        s.txn.append(t, q)

    @action(by="coordinator", to="watched member")
    def be_refused(s):
        """The group's coordinator refuses the offsets of the watched member, and the application asks for an abort."""
        m = s.watched
        require((s.stage[m] == Stage.SENT) & ~s.crashed[m] & ~s.takes_request(s.now))
        s.txn.abort(s.now)

    @action(by="watched member", to="coordinator")
    def ask_commit(s):
        """The watched member sends EndTxn to commit, which may arrive at any time."""
        require((s.stage[s.watched] == Stage.ACCEPTED) & ~s.crashed[s.watched])
        s.txn.commit(s.now)

    @action(by="watched member", to="coordinator")
    def ask_abort(s):
        """The watched member sends EndTxn to abort, which may arrive at any time."""
        require((s.stage[s.watched] != Stage.POLLING) & ~s.crashed[s.watched])
        s.txn.abort(s.now)

    @action(fair="weak")
    def end_txn(s, t: Txn, marker: ProducerEpoch, to: ProducerEpoch):
        """EndTxn of some transaction of the watched member arrives, and the member goes on if it is the present one."""
        m = s.watched
        mine = (t == s.now) & (s.stage[m] != Stage.POLLING)
        commits = mine & (s.txn.choice[t] == Outcome.COMMIT)
        aborts = mine & ~commits
        s.twice = s.twice | exists(Partition, lambda p: commits & s.is_in(m, p) & (s.first[m, p] < s.done[p]))
        s.skipped = s.skipped | exists(Partition, lambda p: commits & s.is_in(m, p) & (s.done[p] < s.first[m, p]))
        s.done = each(lambda p: when(commits & s.is_in(m, p), s.next[m, p], s.done[p]))
        s.stage[m] = when(mine, Stage.POLLING, s.stage[m])
        s.has = each(lambda n, p: s.has[n, p] & ~((n == m) & aborts))
        s.first = each(lambda n, p: when((n == m) & mine, when(commits, s.next[n, p], 0), s.first[n, p]))
        s.next = each(lambda n, p: when((n == m) & aborts, 0, s.next[n, p]))
        s.txn.end(t, marker, to)

    @action(fair="weak", danger=("lost-answer", "duplicate"))
    def answer_again(s, t: Txn):
        """EndTxn arrives again; a producer that took too long, and asks for an abort, is given the newest epoch."""
        require(~(s.crashed[s.watched] & (s.txn.owner[t] == s.mine)))
        s.begin_anew((s.txn.owner[t] == s.mine) & ~s.has_newest())
        s.txn.answer_again(t)

    @action(danger="lost-answer")
    def initialize_again(s, c: Client):
        """A producer that initialises with the epoch that ended last is given the newest epoch."""
        require(~(s.crashed[s.watched] & (c == s.mine)))
        s.begin_anew((c == s.mine) & ~s.has_newest())
        s.txn.initialize_again(c)

    @action(fair="weak")
    def start(s, c: Client, to: ProducerEpoch):
        """The watched member, or the one that takes its place, calls initTransactions."""
        m = s.watched
        require(s.crashed[m] | ~s.has_newest())
        crashed = s.crashed[m]
        s.assigned = each(lambda n, p: s.assigned[n, p] & ~((n == m) & crashed))
        s.begin_anew(s.stage[m] == s.stage[m])
        s.crashed[m] = False
        s.mine = c
        s.txn.initialize(c, to)

    @fault(budget="fencings")
    def be_fenced(s, c: Client, to: ProducerEpoch):
        """Another producer initialises the watched member's transactional id."""
        require(c != s.mine)
        s.txn.initialize(c, to)

    def begin_anew(s, if_so):
        m = s.watched
        s.stage[m] = when(if_so, Stage.POLLING, s.stage[m])
        s.has = each(lambda n, p: s.has[n, p] & ~((n == m) & if_so))
        s.first = each(lambda n, p: when((n == m) & if_so, 0, s.first[n, p]))
        s.next = each(lambda n, p: when((n == m) & if_so, 0, s.next[n, p]))

    # Markers

    @action(fair="weak")
    def mark_offsets(s, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker of the prepared transaction reaches the group's coordinator."""
        s.settle(commit)
        s.txn.mark(s.offsets, e, commit, k)

    @action(danger="late-copy")
    def mark_offsets_late(s, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker of an earlier transaction, or of an earlier coordinator, reaches the group's coordinator."""
        s.settle(commit)
        s.txn.mark_late(s.offsets, e, commit, k)

    def settle(s, commit):
        """Commit or drop the pending offsets of the watched member, if a transaction is open in the partition of the
        offsets."""
        m = s.watched
        settles = exists(Txn, lambda t: s.txn.fate[t, s.offsets] == Fate.OPEN)
        counts = settles & commit
        s.committed = each(lambda p: when(counts & (0 < s.pending[m, p]), s.pending[m, p], s.committed[p]))
        s.pending = each(lambda n, p: when((n == m) & settles, 0, s.pending[n, p]))

    @action(fair="weak")
    def mark_output(s, q: Log, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker of the prepared transaction reaches a partition of outputs."""
        require(q != s.offsets)
        s.txn.mark(q, e, commit, k)

    @action(danger="late-copy")
    def mark_output_late(s, q: Log, e: ProducerEpoch, commit: Bool, k: Term):
        """A marker of an earlier transaction, or of an earlier coordinator, reaches a partition of outputs."""
        require(q != s.offsets)
        s.txn.mark_late(q, e, commit, k)
