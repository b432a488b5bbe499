"""Groups with generations: the draft of KIP-447, what repairs it, and what shipped."""

from fencepost.model.group_fencing.core import Epoch, Fate, Group, Member, Partition, Stage
from fencepost.model.language import (
    Map,
    Option,
    Set,
    action,
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


class Classic(Group):
    """A rebalance gives the group a new generation, in which members get their partitions anew."""

    @fault(budget="rebalances", danger="rebalance")
    def rebalance(s, g: Epoch):
        """A new generation, of which nobody is a member yet: whoever does not join it is out, and may not know it."""
        require(s.newest < g)
        limit(g <= s.newest + 1)
        s.newest = g
        s.epoch = each(lambda m: 0)
        s.owner = each(lambda p: None)

    @action
    def give(s, m: Member, p: Partition):
        """A member that polls learns of its assignment in the newest generation, and has given up earlier ones."""
        polls = s.stage[m] == Stage.POLLING
        require(polls, rule="447.16")
        require((0 < s.newest) & (s.owner[p] == None))  # noqa: E711
        known = s.epoch[m] == s.newest
        s.epoch[m] = s.newest
        s.knows[m] = s.newest
        s.stamp[m] = s.newest
        s.owner[p] = m
        s.assigned = each(lambda n, q: when(n == m, (q == p) | (known & s.assigned[n, q]), s.assigned[n, q]))
        s.has = each(lambda n, q: s.has[n, q] & ((n != m) | known))
        s.joins(m, known)

    def joins(s, m, known):
        """What else a member does that is assigned a partition."""


class Shipped(Classic):
    """Kafka 2.5 and later: the coordinator knows members and their generation, and fetches ask for stable offsets."""

    def takes(s, m, e):
        """Of a member of the newest generation (25, 22)."""
        return (s.epoch[m] == e) & (0 < e)

    def check(s, m):
        known, e = 0 < s.epoch[m], s.stamp[m]
        require(
            either(
                "447.16",
                s.takes(m, e),
                generation_alone=s.newest == e,
                member_alone=known,
                undefined_is_taken=s.takes(m, e) | (e == 0),
            ),
            rule="447.7",
        )


class Draft(Classic):
    """The draft: an initialisation for the assigned partitions, and the last producer that committed each of them."""

    ready: Set[Member]  # has initialised for its assignment
    last: Map[Partition, Option[Member]]  # who committed the partition last
    last_epoch: Map[Partition, Epoch]  # and in which generation

    def joins(s, m, known):
        s.ready[m] = False

    @action(fair="weak")
    def abort_for(s, m: Member, n: Member):
        """InitProducerId of a member finds a transaction of another producer that includes an assigned partition: it is
        aborted, and its producer fenced."""
        require((m != n) & ~s.ready[m] & ~s.fenced[m] & (s.fate[n] == Fate.OPEN))
        require(exists(Partition, lambda p: s.assigned[m, p] & (0 < s.pending[n, p])))
        s.fate[n] = Fate.ABORTED
        s.fenced[n] = either("447.5", True, only_aborted=s.fenced[n])

    @action(fair="weak")
    def answer_init(s, m: Member):
        """InitProducerId answers: nothing that could change the offsets of the assigned partitions is pending."""
        require(~s.ready[m] & ~s.fenced[m] & (s.stage[m] == Stage.POLLING))
        require(exists(Partition, lambda p: s.assigned[m, p]))
        require(s.nothing_pending_for(m), rule="447.2")
        s.ready[m] = True

    def nothing_pending_for(s, m):
        return forall(
            Member, Partition, lambda n, p: implies(s.assigned[m, p] & (n != m), s.pending[n, p] == 0)
        )  # fmt: skip

    def may_fetch(s, m):
        require(s.ready[m], rule="447.17")

    def takes(s, m, e):
        """Refused (85) if another producer has committed one of the partitions in a later generation (H2: or in the
        same one, as it might be read)."""
        return s.for_all_in(
            m,
            lambda p: (s.last[p] == None) | (s.last[p] == m) | (s.last_epoch[p] <= e),  # noqa: E711
        )

    def check(s, m):
        require(s.takes(m, s.stamp[m]), rule="447.8")
        s.last = each(lambda p: when(s.is_in(m, p), m, s.last[p]))
        s.last_epoch = each(lambda p: when(s.is_in(m, p), s.stamp[m], s.last_epoch[p]))
