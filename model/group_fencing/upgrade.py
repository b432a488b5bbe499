"""One group has clients of both kinds: old ones have a producer for each partition, and send no generation.

An old client is fenced by the transactional id of the partition, which the next old owner initialises. A new client has
an id of its own, which is unknown to other members that are given its partition. Clients are upgraded one by one. All
producers of an old client are fenced together here, which makes a difference only if it has several partitions. The
steps of an old client whose id was taken from it are left out: it leaves the group and joins again.
"""

from fencepost.model.group_fencing.classic import Draft
from fencepost.model.group_fencing.core import Fate, Member, Partition, Stage
from fencepost.model.language import Map, Option, Set, action, each, fault, forall, implies, require, when


class Upgrade(Draft):
    """In the draft's wording, the coordinator remembers the last producer that committed a partition, and every fetch
    waits for pending offsets."""

    old: Set[Member]
    holder: Map[Partition, Option[Member]]  # the member that initialised the id of the partition last
    last_old: Set[Partition]  # the last commit was by a producer of the partition's id

    replace = None

    def init(s):
        s.newest = 1
        s.old = each(lambda m: True)

    @fault(budget="upgrades", danger="mixed-clients")
    def upgrade(s, m: Member):
        """An old client is stopped in order, and a new one takes its place."""
        require(s.old[m] & (s.stage[m] == Stage.POLLING) & (s.fate[m] == Fate.NONE))
        s.old[m] = False
        s.ready[m] = False
        s.assigned = each(lambda n, p: s.assigned[n, p] & (n != m))
        s.forget(m)

    def asks(s, m):
        return ~s.old[m] & Draft.asks(s, m)

    @action(fair="weak")
    def claim(s, m: Member, p: Partition):
        """An old client initialises the id of a partition that it is assigned, and the producer that held the id is
        fenced."""
        require(s.old[m] & s.assigned[m, p] & ~s.has[m, p] & s.is_up(m) & (s.stage[m] == Stage.POLLING))
        require(s.holder[p] != m)
        s.fenced = each(lambda n: s.fenced[n] | s.is_held(n, m, p))
        s.fate = each(lambda n: when(s.is_held(n, m, p), Fate.ABORTED, s.fate[n]))
        s.holder[p] = m

    def is_held(s, n, m, p):
        """Return whether n is another old client that holds the partition's id and has a transaction open."""
        return (n != m) & s.old[n] & (s.holder[p] == n) & s.is_in(n, p) & (s.fate[n] == Fate.OPEN)

    def may_fetch(s, m, p):
        """Require that an old client's transactional id has no transaction left, or that a new client's InitProducerId
        was answered."""
        over = forall(Member, lambda n: implies(s.old[n], s.pending[n, p] == 0))
        require(when(s.old[m], (s.holder[p] == m) & over, s.ready[m]), rule="447.17")

    def epoch_sent(s, m):
        """Return the generation that the client sends, which is 0 for old clients."""
        return when(s.old[m], 0, s.stamp[m])

    def is_same_producer(s, m, p):
        of_the_id = s.old[m] & s.last_old[p]
        its_own = ~s.old[m] & ~s.last_old[p] & (s.last[p] == m)
        return (s.last[p] == None) | of_the_id | its_own  # noqa: E711

    def takes_of(s, m, p, e):
        """Return whether the commit is accepted; it is refused (85) if another producer has committed the partition and
        the generation is older, or undefined."""
        return s.holds(m, p) & (s.is_same_producer(m, p) | ((0 < e) & (s.last_epoch[p] <= e)))

    def holds(s, m, p):
        """Return whether an old client's producer is not fenced (txn.P1); a new client's id is its own."""
        return ~s.old[m] | (s.holder[p] == m)

    def is_taken(s, m):
        return s.takes(m, s.stamp[m])

    def remember_commit(s, m):
        Draft.remember_commit(s, m)
        s.last_old = each(lambda p: when(s.is_in(m, p), s.old[m], s.last_old[p]))


class NoMap(Upgrade):
    """Without 447.8, a producer that is not fenced otherwise is accepted."""

    def takes_of(s, m, p, e):
        return s.holds(m, p)


class NoWaiting(Upgrade):
    """Without 447.9, a fetch is answered with the committed offset, whatever is pending."""

    @action(fair="weak")
    def fetch(s, m: Member, p: Partition):
        """A member fetches the committed offset as before the draft."""
        Draft.fetch(s, m, p)

    def is_stable(s, p):
        return s.newest == s.newest


class AsShipped(Upgrade):
    """In Kafka Streams 2.6 to 3.x a commit that names the group alone, as a producer for each task sends it, is
    accepted, and one that has a generation needs the newest (StreamsProducer.java, OffsetMetadataManager.java)."""

    def takes_of(s, m, p, e):
        return s.holds(m, p) & ((e == 0) | (s.newest == e))


class InTwoSteps(Upgrade):
    """First every client learns to send its generation and to wait for pending offsets, and then the transactional ids
    change."""

    def epoch_sent(s, m):
        return s.stamp[m]

    def takes_of(s, m, p, e):
        return s.holds(m, p) & (s.newest == e)
