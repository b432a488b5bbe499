"""This module has groups with generations: what shipped, and the draft of KIP-447 with its repairs."""

from fencepost.model.group_fencing.core import Epoch, Fate, Group, Member, Partition, Stage
from fencepost.model.language import (
    Bool,
    Ghost,
    Map,
    Option,
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
    require,
    when,
)


class Classic(Group):
    """A rebalance gives the group a new generation, in which members get their partitions anew (eagerly)."""

    @fault(budget="rebalances", danger="rebalance")
    def rebalance(s, g: Epoch):
        """A new generation begins without members, and a member that does not join it is out, perhaps without knowing
        it."""
        require(s.newest < g)
        limit(g <= s.newest + 1)
        s.newest = g
        s.epoch = each(lambda m: 0)
        s.owner = each(lambda p: None)

    @action
    def give(s, m: Member, p: Partition):
        """A member that polls learns of its assignment in the newest generation, and has given up earlier ones. The
        consumer takes part in rebalances, and changes its generation, in poll() alone."""
        require(s.stage[m] == Stage.POLLING, rule="447.16")
        require(s.owner[p] == None)  # noqa: E711
        known = s.epoch[m] == s.newest
        s.owner[p] = m
        s.assigned = each(lambda n, q: when(n == m, (q == p) | (known & s.assigned[n, q]), s.assigned[n, q]))
        s.has = each(lambda n, q: s.has[n, q] & ((n != m) | known))
        s.become_member(m, known)

    @fault(budget="restarts", danger="client-crash")
    def replace(s, m: Member, n: Member):
        """A static member restarts within its session time-out: with the same instance id it gets what it had, in the
        same generation, under another member id. The former instance may be a zombie."""
        idle = s.stage[n] == Stage.POLLING
        require((m != n) & (0 < s.epoch[m]) & (s.epoch[n] == 0) & idle)
        s.epoch[m] = 0
        s.assigned = each(lambda k, p: when(k == n, s.owner[p] == m, s.assigned[k, p]))
        s.owner = each(lambda p: when(s.owner[p] == m, n, s.owner[p]))
        s.has = each(lambda k, p: s.has[k, p] & (k != n))
        s.become_member(n, False)

    def become_member(s, m, already):
        s.epoch[m] = s.newest
        s.knows[m] = s.newest
        s.stamp[m] = s.newest


class Shipped(Classic):
    """In Kafka 2.5 and later the coordinator knows members and their generation, and fetches ask for stable offsets.
    The transactions refuse late requests, as those of transaction.version 2 do; in `LateCopies` they do not."""

    def takes_of(s, m, p, e):
        """Return whether the commit is of a member of the newest generation. Errors: UNKNOWN_MEMBER_ID (25),
        FENCED_INSTANCE_ID (82), ILLEGAL_GENERATION (22)."""
        return (s.epoch[m] == e) & (0 < e)

    def is_taken(s, m):
        known, e = 0 < s.epoch[m], s.stamp[m]
        return either(
            "447.16",
            s.takes(m, e),
            generation_alone=s.newest == e,
            member_alone=known,
            the_one_before=known & (s.newest == e + 1),
        )


class GroupIdOnly(Shipped):
    """A client names only the group in its commits, which every release accepts unchecked (KAFKA-9365)."""

    def epoch_sent(s, m):
        return 0

    def takes_of(s, m, p, e):
        return Shipped.takes_of(s, m, p, e) | (e == 0)


class LateMarkers(Shipped):
    """Nothing bounds how long markers take, because the partition of the group's offsets may be without a leader."""

    @action
    def end(s, m: Member):
        """The transaction's marker may reach the group's coordinator, but need not."""
        Shipped.end(s, m)


class Draft(Classic):
    """In the draft, a producer is initialised for its assigned partitions, and the coordinator remembers the last
    producer that committed each of them."""

    ready: Set[Member]  # the member has initialised its producer for its assignment
    last: Map[Partition, Option[Member]]  # the member that committed the partition last
    last_epoch: Map[Partition, Epoch]  # the generation of that commit

    def become_member(s, m, already):
        Classic.become_member(s, m, already)
        s.ready[m] = False

    @action(fair="weak")
    def initialise(s, m: Member):
        """A fenced producer begins anew, and has to be initialised for its assignment again."""
        Classic.initialise(s, m)
        s.ready[m] = False

    @action(fair="weak")
    def abort_for(s, m: Member, n: Member):
        """InitProducerId of a member finds a transaction of another producer that includes an assigned partition, and
        the transaction is aborted and its producer fenced."""
        require(s.asks(m) & (m != n) & (s.fate[n] == Fate.OPEN))
        require(exists(Partition, lambda p: s.assigned[m, p] & (0 < s.pending[n, p])), rule="447.5")
        s.fate[n] = Fate.ABORTED
        s.fenced[n] = either("447.5", True, only_aborted=s.fenced[n])

    def asks(s, m):
        return ~s.ready[m] & s.is_up(m) & (s.stage[m] == Stage.POLLING) & exists(Partition, lambda p: s.assigned[m, p])

    @action(fair="weak", by="coordinator", to="m")
    def answer(s, m: Member):
        """InitProducerId is answered, because nothing that could change the offsets of the assigned partitions is
        pending."""
        require(s.asks(m))
        require(s.nothing_pending_for(m), rule="447.2")
        s.ready[m] = True

    def nothing_pending_for(s, m):
        return forall(Member, Partition, lambda n, p: implies(s.assigned[m, p], s.pending[n, p] == 0))

    def may_fetch(s, m, p):
        require(s.ready[m], rule="447.17")

    def takes_of(s, m, p, e):
        """Return False if another producer has committed the partition in a later generation, and the commit is refused
        (85)."""
        return s.is_same_producer(m, p) | (s.last_epoch[p] <= e)

    def is_same_producer(s, m, p):
        return (s.last[p] == None) | (s.last[p] == m)  # noqa: E711

    def is_taken(s, m):
        e = s.stamp[m]
        later = s.for_all_in(m, lambda p: s.is_same_producer(m, p) | (s.last_epoch[p] < e))
        return either("447.19", either("447.8", s.takes(m, e), nobody_looks=True), equal_is_refused=later)

    def remember_commit(s, m):
        s.last_epoch = each(lambda p: when(s.is_in(m, p), s.stamp[m], s.last_epoch[p]))
        s.last = each(lambda p: when(s.is_in(m, p), m, s.last[p]))

    @fault(budget="fail_overs", danger="coordinator-fail-over")
    def fail_over(s):
        """The group's coordinator changes and loses its map of producers, which the draft puts in no log."""
        s.last = each(lambda p: None)
        s.last_epoch = each(lambda p: 0)


class ByGeneration(Draft):
    """In this repair of the draft, the group's coordinator compares a commit with the generation of the group, rather
    than with that of the last commit. Members are dynamic."""

    replace = None
    outside = excused("members are dynamic: a static one that restarts keeps its generation", "client-crash")

    def takes_of(s, m, p, e):
        return s.newest == e

    def is_taken(s, m):
        e = s.stamp[m]
        last = s.for_all_in(m, lambda p: Draft.takes_of(s, m, p, e))
        return either("447.8", s.takes(m, e), with_the_last=last, the_one_before=s.newest == e + 1)


class ByGenerationStatic(ByGeneration):
    """This repair compares with the group's generation and has static members, which retain their generation when they
    restart."""

    replace = Classic.replace


class ByAssignment(Draft):
    """In this repair of the draft, the transaction coordinator remembers the partitions and the generation that a
    producer was initialised for, and fences it when another producer is initialised for any of them, whether it has a
    transaction or not."""

    remembers: Set[Member, Partition]
    remembered_epoch: Map[Member, Epoch]

    owner_fenced: Ghost[Bool]  # an initialisation has fenced a member that owned what it worked on

    @action(fair="strong")
    def abort_for(s, m: Member):
        """InitProducerId of a member finds producers that were initialised for its partitions: they are fenced, their
        transactions are aborted, and the member is remembered in their place. If one of them was in a later generation,
        the request is refused; while markers of one are on the way, the member has to ask again, which it does."""
        require(s.asks(m) & exists(Member, lambda n: s.is_in_the_way(m, n)))
        require(
            forall(Member, lambda n: implies(s.is_in_the_way(m, n), s.may_be_fenced_by(m, n))),
            rule="447.19",
        )
        require(forall(Member, lambda n: implies(s.is_in_the_way(m, n), s.can_be_fenced(n))))
        s.owner_fenced = s.owner_fenced | exists(
            Member,
            Partition,
            lambda n, p: s.is_in_the_way(m, n) & ~s.fenced[n] & s.has[n, p] & (s.owner[p] == n),
        )
        s.fate = each(lambda n: when(s.is_in_the_way(m, n) & (s.fate[n] == Fate.OPEN), Fate.ABORTED, s.fate[n]))
        s.fenced = each(lambda n: either("447.5", s.fenced[n] | s.is_in_the_way(m, n), only_aborted=s.fenced[n]))
        s.remember(m)

    def is_in_the_way(s, m, n):
        """Return whether member n is remembered for a partition that m is assigned."""
        return (m != n) & exists(Partition, lambda p: s.assigned[m, p] & s.remembers[n, p])

    def can_be_fenced(s, n):
        """Return whether no marker of the member's transactions is on the way, for which InitProducerId waits
        (txn.3)."""
        return (s.fate[n] == Fate.NONE) | (s.fate[n] == Fate.OPEN)

    def may_be_fenced_by(s, m, n):
        return s.remembered_epoch[n] <= s.knows[m]

    def remember(s, m):
        """Remember the member for its assigned partitions and forget the members that it fences; the log has a key for
        each member of the group."""
        s.remembers = each(
            lambda n, p: when(
                n == m,
                s.assigned[m, p],
                either("447.6", s.remembers[n, p] & ~s.is_in_the_way(m, n), keyed_by_group_alone=False),
            )
        )
        s.remembered_epoch[m] = s.knows[m]

    @action(fair="weak", by="coordinator", to="m")
    def answer(s, m: Member):
        """InitProducerId is answered when no other producer is remembered for the assigned partitions."""
        alone = ~exists(Member, lambda n: s.is_in_the_way(m, n))
        require(s.asks(m))
        require(either("447.3", alone, sees_its_own_id_only=True), rule="447.5")
        require(s.nothing_pending_for(m), rule="447.2")
        s.ready[m] = True
        s.remember(m)

    @fault(budget="fail_overs", danger="coordinator-fail-over")
    def move_transactions(s):
        """The transaction coordinator changes, and what it remembers is restored from its log."""
        s.remembers = each(lambda m, p: either("447.6", s.remembers[m, p], in_memory_alone=False))


class EqualRefused(ByAssignment):
    """An initialisation of an equal generation is refused like that of an older one."""

    def may_be_fenced_by(s, m, n):
        return s.remembered_epoch[n] < s.knows[m]


class Probing(ByGeneration):
    """Clients ask a broker for its version and use the new protocol, while the group's coordinator may move to a broker
    of an older version, which checks no generation and answers every fetch."""

    older: Bool

    @fault(budget="fail_overs", danger="coordinator-fail-over")
    def fail_over(s):
        """The group's coordinator moves to a broker of another version."""
        s.older = ~s.older

    @action(fair="weak")
    def fetch(s, m: Member, p: Partition):
        """A member fetches its offset, and an older broker answers whatever is pending."""
        Draft.fetch(s, m, p)

    def is_stable(s, p):
        return s.older | forall(Member, lambda n: s.pending[n, p] == 0)

    def takes_of(s, m, p, e):
        return s.older | (s.newest == e)
