"""Groups with member epochs (KIP-848): a partition moves when its owner has given it up, or is out of the group.

The consumer's background thread takes part in the group whenever it likes: it learns of new epochs and partitions, and
joins again when it was put out, while the application still processes what it has polled.  Only giving partitions up
waits for a poll (KAFKA-20332).  So it matters when the application reads the group's metadata: with the inputs that it
polls, or as it sends their offsets.
"""

from fencepost.model.group_fencing.core import Epoch, Group, Member, Partition, Stage
from fencepost.model.language import Map, action, each, either, exists, fault, limit, require, when


class Modern(Group):
    """Until 4.2: a commit needs the member's epoch as the coordinator has it.  Metadata are read at the poll."""

    since: Map[Member, Partition, Epoch]  # the epoch in which the member was assigned the partition

    # The group's coordinator

    @fault(budget="rebalances", danger=("rebalance", "time-out"))
    def expel(s, m: Member, g: Epoch):
        """A member is not heard of in time, and put out of the group; its partitions are free."""
        require((0 < s.epoch[m]) & (s.newest < g))
        limit(g <= s.newest + 1)
        s.newest = g
        s.epoch[m] = 0
        s.owner = each(lambda p: when(s.owner[p] == m, None, s.owner[p]))

    @action
    def join(s, m: Member, g: Epoch):
        """A member that has no partitions joins, perhaps again under the same id, and the group has a new epoch."""
        require((s.epoch[m] == 0) & (s.newest < g))
        require(~exists(Partition, lambda p: s.assigned[m, p]))
        limit(g <= s.newest + 1)
        s.newest = g
        s.epoch[m] = g
        s.knows[m] = g

    @action
    def advance(s, m: Member, g: Epoch):
        """The group changes, and the member keeps what it has: its epoch follows, and it will learn of that."""
        require((0 < s.epoch[m]) & (s.epoch[m] < g) & (s.newest <= g))
        limit(g <= s.newest + 1)
        s.newest = g
        s.epoch[m] = g

    @action
    def assign(s, m: Member, p: Partition):
        """A free partition is added to what a member has."""
        require((s.owner[p] == None) & (0 < s.epoch[m]) & ~s.assigned[m, p])  # noqa: E711
        s.owner[p] = m
        s.since[m, p] = s.epoch[m]
        s.assigned[m, p] = True

    @action
    def release(s, m: Member, p: Partition, g: Epoch):
        """The coordinator hears that a member has given a partition up, which is free then.  The member's epoch
        follows, unless it has that of the newest assignment (CurrentAssignmentBuilder.java)."""
        require((s.owner[p] == m) & ~s.assigned[m, p] & (s.epoch[m] <= g))
        limit(g <= s.newest + 1)
        s.newest = when(s.newest < g, g, s.newest)
        s.owner[p] = None
        s.epoch[m] = g

    # The member

    @action(fair="weak")
    def learn(s, m: Member):
        """A heartbeat's answer brings the epoch, in the background."""
        require((0 < s.epoch[m]) & (s.knows[m] != s.epoch[m]))
        s.knows[m] = s.epoch[m]

    @action
    def revoke(s, m: Member, p: Partition):
        """A member that polls gives a partition up."""
        require(s.assigned[m, p])
        require(s.stage[m] == Stage.POLLING, rule="447.21")
        s.assigned[m, p] = False
        s.has[m, p] = False

    @action(fair="weak")
    def fall_out(s, m: Member):
        """A member learns that it was put out, and drops its partitions at once: in the background, so that its
        application goes on with what it has polled."""
        require((s.epoch[m] == 0) & exists(Partition, lambda p: s.assigned[m, p]))
        s.assigned = each(lambda n, p: s.assigned[n, p] & (n != m))
        s.has = each(lambda n, p: s.has[n, p] & (n != m))

    def begins(s, m):
        """The metadata are read together with the first inputs of a transaction."""
        s.stamp[m] = when(s.stage[m] == Stage.POLLING, s.knows[m], s.stamp[m])

    def may_fetch(s, m, p):
        """OffsetFetch needs the member's epoch."""
        require((s.epoch[m] == s.knows[m]) & (0 < s.epoch[m]), rule="447.21")

    def takes_of(s, m, p, e):
        """STALE_MEMBER_EPOCH (113) or ILLEGAL_GENERATION (22) else, UNKNOWN_MEMBER_ID (25) of nobody that is known."""
        return (0 < e) & (s.epoch[m] == e)

    def is_taken(s, m):
        e, known = s.stamp[m], 0 < s.epoch[m]
        not_later = known & (e <= s.epoch[m])
        return either("447.21", s.takes(m, e), not_later=not_later, known_is_enough=known)


class Relaxed(Modern):
    """KIP-1251 (4.3): an older epoch is taken too, where each partition had been assigned by then, and still is."""

    def takes_of(s, m, p, e):
        was_assigned = (s.since[m, p] <= e) & (s.owner[p] == m)
        return (0 < e) & ((s.epoch[m] == e) | ((e < s.epoch[m]) & was_assigned))

    def is_taken(s, m):
        e, known = s.stamp[m], 0 < s.epoch[m]
        older = known & (0 < e) & (e <= s.epoch[m])
        owned = s.for_all_in(m, lambda p: s.owner[p] == m)
        then = s.for_all_in(m, lambda p: s.since[m, p] <= e)
        one = (s.epoch[m] == e) | exists(Partition, lambda p: s.is_in(m, p) & (s.owner[p] == m) & (s.since[m, p] <= e))
        return either(
            "447.21",
            s.takes(m, e),
            owned_now=older & owned,
            assigned_then=older & then,
            some_of_them=older & one,
            exact_epoch=known & (e == s.epoch[m]),
        )


class AtSend(Modern):
    """The application reads the group's metadata as it sends its offsets (and has no rebalance listener)."""

    def begins(s, m):
        """Nothing."""

    def epoch_sent(s, m):
        return s.knows[m]


class RelaxedAtSend(AtSend, Relaxed):
    """The same with KIP-1251."""


class OwnedAtSend(AtSend):
    """The same, if the coordinator asked of every commit that the member owns the partitions, whatever its epoch."""

    def takes_of(s, m, p, e):
        return (s.epoch[m] == e) & (0 < e) & (s.owner[p] == m)


class AtSendListening(AtSend):
    """The same with a rebalance listener, which the background thread waits for: it is called in poll() alone."""

    @action(fair="weak")
    def fall_out(s, m: Member):
        """A member learns that it was put out, when it polls, and drops its partitions."""
        require(s.stage[m] == Stage.POLLING, rule="447.21")
        Modern.fall_out(s, m)
