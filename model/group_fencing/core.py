"""The core has a group that reads, processes and writes: the owners of input partitions, and the offset commits that
count.

The group's coordinator knows an epoch for each member (the generation, in the classic protocol), the owner of each
input partition, the committed offset, and the offsets that are pending in transactions. A member fetches the committed
offset of a partition that it was assigned, processes inputs in a transaction, sends their offsets in that transaction
(447.18), and commits. A step may take any time: a client that pauses takes the next one late, or never, and a request
that waits in the network is a member that has sent its offsets and is not accepted yet. What a member believes of its
partitions and its epoch may be long out of date.

A member's transactions are reduced to their interface (`Fated` in model/transactions/abstract).
`properties/group_fencing/claims/core.py` proves that each step is a step of that interface, for every member, and that
no step of a transaction by itself is blocked. That the core of v2 fulfils the interface is proved of
transactions/core-v2-fated. The memory of a group's coordinator is equal to its log (txn.P9, proved of
transactional-offsets).

`classic`, `modern` and `upgrade` define which commits are accepted, and when an owner may fetch.
"""

from fencepost.model.group_fencing.outside import OF_THE_CORES
from fencepost.model.language import (
    Bool,
    Enumeration,
    Ghost,
    Map,
    Nat,
    Option,
    Protocol,
    Set,
    Sort,
    action,
    danger,
    each,
    either,
    exists,
    fault,
    forall,
    implies,
    limit,
    require,
    when,
)


class Member(Sort, bound="members"):
    """A `Member` is a consumer with its transactional producer; after a restart under another member id it is another
    member."""


class Partition(Sort, bound="partitions"):
    """A `Partition` is an input partition of the group."""


class Epoch(Nat, upto="epochs"):
    """An `Epoch` is a generation of the group, or the epoch of a member; 0 is none."""


class Offset(Nat, upto="inputs"):
    """An `Offset` is a place in an input partition, given as the number of inputs before it."""


class Stage(Enumeration):
    """A member's application is between transactions, is in one, has sent its offsets, or has them accepted."""

    POLLING, PROCESSING, SENT, ACCEPTED = range(4)


class Fate(Enumeration):
    """The fate is that of a producer's last transaction. A decided transaction has its marker on the way to the group's
    coordinator. The next transaction may have begun meanwhile, and its offsets are not accepted until the marker
    arrives."""

    NONE, OPEN, COMMITTED, ABORTED = range(4)


class Group(Protocol):
    """Members of one group read, process and write in transactions, and its coordinator accepts their offsets."""

    actors = (*Protocol.actors, "coordinator", "leader")

    newest: Epoch  # the newest epoch of the group
    epoch: Map[Member, Epoch]  # the epoch under which the coordinator knows a member; 0: it does not
    owner: Map[Partition, Option[Member]]  # the member to which the coordinator has assigned the partition
    committed: Map[Partition, Offset]
    pending: Map[Member, Partition, Offset]  # committed in a transaction of this member; 0: nothing

    fate: Map[Member, Fate]  # what the transaction coordinator knows of the producer's transaction
    fenced: Set[Member]  # the producer's epoch is not the newest one
    crashed: Set[Member]  # the member has lost its memory: only what it has sent goes on

    stage: Map[Member, Stage]
    knows: Map[Member, Epoch]  # the epoch that the member's consumer has
    stamp: Map[Member, Epoch]  # the epoch that is sent with the member's offsets
    assigned: Set[Member, Partition]  # the member believes that it owns the partition
    has: Set[Member, Partition]  # the member has fetched the partition's offset
    first: Map[Member, Partition, Offset]  # where the transaction's inputs begin
    next: Map[Member, Partition, Offset]  # where the transaction's inputs end: the next input to process

    done: Ghost[Map[Partition, Offset]]  # the offset up to which the output of inputs is committed
    twice: Ghost[Bool]  # a committed transaction began before that offset
    skipped: Ghost[Bool]  # a committed transaction began after that offset
    owner_refused: Ghost[Bool]  # offsets were refused to a member that owned their partitions

    outside = OF_THE_CORES

    def init(s):
        s.newest = 1

    # The member

    @action(fair="weak")
    def fetch(s, m: Member, p: Partition):
        """A member fetches the committed offset (OffsetFetch), from which it goes on; the fetch is refused while
        another offset may still be committed."""
        require(s.assigned[m, p] & ~s.has[m, p] & (s.stage[m] == Stage.POLLING) & s.is_up(m))
        s.may_fetch(m, p)
        require(s.is_stable(p), rule="447.9")
        start = s.committed[p]
        s.has[m, p] = True
        s.first[m, p] = start
        s.next[m, p] = start

    def is_up(s, m):
        return ~s.fenced[m] & ~s.crashed[m]

    def may_fetch(s, m, p):
        """Require what a form demands before a fetch, which is nothing here."""

    def is_stable(s, p):
        """Return whether no commit in a transaction is pending for the partition."""
        return forall(Member, lambda n: s.pending[n, p] == 0)

    @action
    def process(s, m: Member, p: Partition, i: Offset):
        """A member processes the next input and sends its output in the transaction, which begins with its first input.
        The markers of the transaction before may still be on their way."""
        require(s.has[m, p] & s.is_up(m) & (s.next[m, p] < i))
        limit(i <= s.next[m, p] + 1)
        require((s.stage[m] == Stage.PROCESSING) | (s.stage[m] == Stage.POLLING))
        s.begins(m)
        s.stage[m] = Stage.PROCESSING
        s.fate[m] = when(s.fate[m] == Fate.NONE, Fate.OPEN, s.fate[m])
        s.next[m, p] = i

    def begins(s, m):
        """Record what the application reads at its poll in addition to the input."""

    def is_in(s, m, p):
        return s.first[m, p] < s.next[m, p]

    @action(by="m", to="coordinator")
    def send(s, m: Member):
        """A member sends TxnOffsetCommit with the epoch that the application has read; the request may be long under
        way."""
        require((s.stage[m] == Stage.PROCESSING) & ~s.crashed[m])
        s.stage[m] = Stage.SENT
        s.stamp[m] = s.epoch_sent(m)

    def epoch_sent(s, m):
        """Return the epoch of the group's metadata, as it was when the records were polled."""
        return s.stamp[m]

    @action(by="coordinator", to="m")
    def accept(s, m: Member):
        """TxnOffsetCommit arrives while its transaction is open, and its offsets are pending from now on."""
        require(s.has_arrived(m))
        require(s.is_taken(m), rule="447.16")
        s.remember_commit(m)
        s.committed = each(
            lambda p: either("447.18", s.committed[p], at_once=when(s.is_in(m, p), s.next[m, p], s.committed[p]))
        )
        s.pending = each(lambda n, p: when((n == m) & s.is_in(m, p), s.next[m, p], s.pending[n, p]))
        s.stage[m] = Stage.ACCEPTED

    @action(by="coordinator", to="m")
    def refuse(s, m: Member):
        """The group's coordinator refuses the TxnOffsetCommit, and the application gives its transaction up."""
        require(s.has_arrived(m) & ~s.is_taken(m) & ~s.crashed[m])
        some = exists(Partition, lambda p: s.is_in(m, p))
        owns_all = s.for_all_in(m, lambda p: (s.owner[p] == m) & s.has[m, p])
        s.owner_refused = s.owner_refused | (some & owns_all)
        s.fate[m] = Fate.ABORTED
        s.forget(m)

    def has_arrived(s, m):
        return (s.stage[m] == Stage.SENT) & (s.fate[m] == Fate.OPEN) & ~s.fenced[m]

    def is_taken(s, m):
        """Return whether the group's coordinator accepts the whole commit with the epoch that it has."""
        return s.takes(m, s.stamp[m])

    def takes(s, m, e):
        return s.for_all_in(m, lambda p: s.takes_of(m, p, e))

    def takes_of(s, m, p, e):
        """Return whether the commit is acceptable for one partition."""
        return s.owner[p] == m

    def remember_commit(s, m):
        """Record what the coordinator remembers of the commit in addition to the offsets."""

    @action
    def commit(s, m: Member):
        """A member commits by EndTxn: the outputs are committed, and the marker for the offsets is on its way."""
        sent = s.stage[m] == Stage.ACCEPTED
        require(either("447.18", sent, outside_the_transaction=sent | (s.stage[m] == Stage.PROCESSING)))
        require((s.fate[m] == Fate.OPEN) & ~s.fenced[m])
        s.count_outputs(m)
        s.fate[m] = Fate.COMMITTED
        s.stage[m] = Stage.POLLING
        s.first = each(lambda n, p: when(n == m, s.next[n, p], s.first[n, p]))
        s.ends(m)

    def count_outputs(s, m):
        """Commit the outputs of the member's transaction, and record whether any is repeated or skipped."""
        s.twice = s.twice | exists(Partition, lambda p: s.counts(m, p) & (s.first[m, p] < s.done[p]))
        s.skipped = s.skipped | exists(Partition, lambda p: s.counts(m, p) & (s.done[p] < s.first[m, p]))
        s.done = each(lambda p: when(s.counts(m, p), s.next[m, p], s.done[p]))

    def counts(s, m, p):
        """Return whether the transaction has outputs for the partition that its commit counts."""
        return s.is_in(m, p)

    def ends(s, m):
        """Clear what the application forgets with its transaction, if anything."""

    @action
    def abort(s, m: Member):
        """The application gives its transaction up, and goes on from the committed offsets."""
        require((s.stage[m] != Stage.POLLING) & (s.fate[m] == Fate.OPEN) & ~s.fenced[m])
        s.fate[m] = Fate.ABORTED
        s.forget(m)

    def forget(s, m):
        """Clear the positions of the member but not its assigned partitions."""
        s.stage[m] = Stage.POLLING
        s.has = each(lambda n, p: s.has[n, p] & (n != m))
        s.first = each(lambda n, p: when(n == m, 0, s.first[n, p]))
        s.next = each(lambda n, p: when(n == m, 0, s.next[n, p]))
        s.ends(m)

    @action(fair="weak")
    def initialise(s, m: Member):
        """A member calls initTransactions, after which its producer has the newest epoch and its own transaction is
        over."""
        require((s.fenced[m] | s.crashed[m]) & s.is_settled(m))
        s.assigned = each(lambda n, p: s.assigned[n, p] & ~((n == m) & s.crashed[m]))
        s.fate[m] = Fate.NONE
        s.fenced[m] = False
        s.crashed[m] = False
        s.forget(m)

    def is_settled(s, m):
        """Return whether no transaction of the member that has reached the coordinator is unfinished."""
        return (s.fate[m] == Fate.NONE) | ((s.fate[m] == Fate.OPEN) & forall(Partition, lambda p: s.pending[m, p] == 0))

    @fault(budget="crashes", danger="client-crash")
    def crash(s, m: Member):
        """A member crashes and loses its memory, while its transaction stays open, its requests go on, and the
        coordinator does not know yet."""
        require(~s.crashed[m])
        s.crashed[m] = True

    # The coordinators

    @action(fair="weak", rule="447.10", danger="time-out", by="coordinator", to="m")
    def give_up(s, m: Member):
        """A transaction is aborted and its producer fenced, because it timed out or a restarted member initialises its
        id."""
        require(s.fate[m] == Fate.OPEN)
        s.fate[m] = Fate.ABORTED
        s.fenced[m] = True

    @fault(budget="fencings", by="coordinator", to="m")
    def fence(s, m: Member):
        """Another producer initialises the member's id, or an administrator fences it, and there is nothing to
        abort."""
        require(s.is_settled(m) & ~s.fenced[m])
        s.fate[m] = Fate.NONE
        s.fenced[m] = True

    @action(fair="weak", by="coordinator")
    def end(s, m: Member):
        """The marker reaches the group's coordinator, and a transaction that has begun since is open from now on."""
        commits = s.fate[m] == Fate.COMMITTED
        require(commits | (s.fate[m] == Fate.ABORTED))
        s.committed = each(lambda p: when(commits & (0 < s.pending[m, p]), s.pending[m, p], s.committed[p]))
        s.pending = each(lambda n, p: when(n == m, 0, s.pending[n, p]))
        s.fate[m] = when((s.stage[m] != Stage.POLLING) & ~s.fenced[m], Fate.OPEN, Fate.NONE)

    # Dangers

    @danger("zombie")
    def goes_on_late(s):
        """A member processes inputs of a partition that another member has been given, and has fetched."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (m != n) & s.is_in(m, p) & s.has[n, p] & (s.owner[p] == n) & (s.stage[m] != Stage.ACCEPTED),
        )  # fmt: skip

    @danger("late-copy")
    def arrives_late(s):
        """A member's offsets are under way although one of their partitions has another owner by now."""
        return exists(
            Member, Partition, lambda m, p: (s.stage[m] == Stage.SENT) & s.is_in(m, p) & (s.owner[p] != m)
        )  # fmt: skip

    @danger("reordering")
    def marker_comes_late(s):
        """A transaction is committed, its marker has not reached the group's coordinator, and the partition has another
        owner by now."""
        return exists(
            Member, Partition,
            lambda m, p: (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]) & (s.owner[p] != m),
        )  # fmt: skip

    @danger("several-ids")
    def two_are_open(s):
        """Two producers have transactions open."""
        return exists(Member, Member, lambda m, n: (m != n) & (s.fate[m] == Fate.OPEN) & (s.fate[n] == Fate.OPEN))

    @danger("several-records")
    def several_inputs(s):
        """A transaction has several inputs of one partition."""
        return exists(Member, Partition, lambda m, p: s.first[m, p] + 1 < s.next[m, p])

    @danger("several-partitions")
    def several_inputs_of_several(s):
        """A transaction has inputs of several partitions."""
        return exists(Member, Partition, Partition, lambda m, p, q: (p != q) & s.is_in(m, p) & s.is_in(m, q))

    def for_all_in(s, m, holds):
        return forall(Partition, lambda p: implies(s.is_in(m, p), holds(p)))
