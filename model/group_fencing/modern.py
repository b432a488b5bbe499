"""Groups with member epochs (KIP-848): a partition moves when its owner has given it up, or is out of the group.

The consumer's background thread takes part in the group whenever it likes: it learns of new epochs and partitions,
drops them when it is told that its epoch is old or that it is not a member, and joins again, while the application
still processes what it has polled.  Since Kafka 4.2 (KAFKA-19233) it may do so while the coordinator knows it, which
then takes it for one that has given up everything (GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid).  So
it matters when the application reads the group's metadata: with the inputs that it polls, or as it sends their offsets.

Where a partition becomes free, the epoch of its member moves (CurrentAssignmentBuilder.java).  To that there are two
exceptions, which are assumed away but in `PatternChanged` and `EpochAgain`: a partition does not belong any more to
what the member has subscribed to (`withdraw`), and a member joins again before the group has a new assignment.
"""

from fencepost.model.group_fencing.core import Epoch, Group, Member, Partition, Stage
from fencepost.model.language import (
    Map,
    Set,
    action,
    danger,
    each,
    either,
    exists,
    fault,
    forall,
    limit,
    open_hole,
    require,
    when,
)


class Modern(Group):
    """Until 4.2: a commit needs the member's epoch as the coordinator has it.  Metadata are read at the poll."""

    since: Map[Partition, Epoch]  # the epoch in which its owner was assigned the partition
    left: Set[Member]  # a static member that left for a while (epoch -2): its partitions are kept for its instance id

    outside = open_hole(
        "all members use the new protocol: a classic group that becomes such a group is left out. (Its members then "
        "take part in poll() alone, and their commits are judged alike: ConsumerGroup.validateOffsetCommit)",
        "mixed-clients",
    )

    @danger("two-threads")
    def learned_behind_it(s):
        """The background thread has another epoch than the one with which the application has polled what it still
        processes."""
        return exists(
            Member,
            lambda m: (s.stage[m] == Stage.PROCESSING) & (0 < s.stamp[m]) & (s.stamp[m] != s.knows[m]),
        )  # fmt: skip

    # The group's coordinator

    @fault(budget="rebalances", danger=("rebalance", "time-out"))
    def expel(s, m: Member, g: Epoch):
        """A member is not heard of in time, and put out of the group; its partitions are free."""
        require(((0 < s.epoch[m]) | s.left[m]) & (s.newest < g))
        limit(g <= s.newest + 1)
        s.newest = g
        s.epoch[m] = 0
        s.left[m] = False
        s.owner = each(lambda p: when(s.owner[p] == m, None, s.owner[p]))

    @action
    def join(s, m: Member, g: Epoch):
        """A member that has no partitions joins, perhaps again under the same id, and the group has a new epoch and a
        new assignment."""
        require((s.epoch[m] == 0) & ~s.left[m] & (s.newest < g))
        require(~s.has_some(m))
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
        s.since[p] = s.epoch[m]
        s.assigned[m, p] = True

    @action
    def release(s, m: Member, p: Partition, g: Epoch):
        """The coordinator hears, in a heartbeat or as the member joins again, that it does not have a partition any
        more which is to go to another one.  It is free, and the member's epoch follows."""
        require(~s.assigned[m, p])
        s.frees(m, p, g)

    def frees(s, m, p, g):
        """With the member's epoch, which follows that of the group."""
        require((s.owner[p] == m) & (0 < s.epoch[m]) & (s.epoch[m] < g))
        limit(g <= s.newest + 1)
        s.newest = when(s.newest < g, g, s.newest)
        s.owner[p] = None
        s.epoch[m] = g

    @fault(budget="fences", danger=("late-copy", "duplicate"))
    def mishear(s, m: Member, p: Partition, g: Epoch):
        """A late copy of a heartbeat in which the member had nothing, such as that with which it joined: a partition
        that is to go to another one is free, though the member has it."""
        require(s.assigned[m, p])
        s.frees(m, p, g)

    @action
    def withdraw(s, m: Member, p: Partition):
        """The same where the member has subscribed to something else, in whose pattern no topic has been found yet: the
        partition is free, and the epoch stays (since 4.2: updateCurrentAssignment).  Applications change what they
        subscribe to between transactions."""
        require((s.owner[p] == m) & ~s.assigned[m, p] & (0 < s.epoch[m]))
        require(~s.is_in(m, p), rule="447.21")
        s.owner[p] = None

    @action
    def give_back(s, m: Member, p: Partition):
        """A member joins again while the coordinator knows it, and is given what it owns there, in the same epoch."""
        require((s.owner[p] == m) & (0 < s.epoch[m]) & ~s.assigned[m, p])
        s.assigned[m, p] = True

    # Static members.  A member id has one instance id, as in Kafka's consumer: where another client changes it, a
    # coordinator before 4.4.0 goes on to find the member under the former one (KAFKA-20747), keeps that from others.

    @fault(budget="restarts")
    def leave(s, m: Member):
        """A static member ends, or its application does not poll in time: it leaves for a while."""
        require(0 < s.epoch[m])
        s.epoch[m] = 0
        s.left[m] = True
        s.since = each(lambda p: when(s.owner[p] == m, 0, s.since[p]))
        s.leaves(m)

    def leaves(s, m):
        """What the member does then: it drops its partitions in the background."""
        s.drop(m)

    @action
    def let_go(s, m: Member, p: Partition):
        """What it was to give up when it left is free at once (GroupMetadataManager.consumerGroupStaticMemberGroupLeave
        leaves no partition pending revocation)."""
        require(s.left[m] & (s.owner[p] == m))
        s.owner[p] = None

    @action
    def come_back(s, m: Member):
        """It is there again, under the same member id, and gets what it had, in the newest epoch, which may be the one
        that it left in."""
        require(s.left[m] & ~s.has_some(m))
        s.has_polled(m)
        s.left[m] = False
        s.joins_in_the_newest(m)

    def has_polled(s, m):
        """The consumer waits for a poll (AbstractMembershipManager.maybeRejoinStaleMember)."""
        require(s.stage[m] == Stage.POLLING)

    @action(danger="client-crash")
    def replace(s, m: Member, n: Member):
        """Another process joins with its instance id, and takes its partitions over under another member id.  The
        former one may be a zombie.  (Before it has left, the other one is told UNRELEASED_INSTANCE_ID, 111.)"""
        require((m != n) & s.left[m] & (s.epoch[n] == 0) & ~s.left[n] & ~s.has_some(n))
        require(s.stage[n] == Stage.POLLING)
        s.left[m] = False
        s.since = each(lambda p: when(s.owner[p] == m, 0, s.since[p]))
        s.assigned = each(lambda k, p: when(k == n, s.owner[p] == m, s.assigned[k, p]))
        s.owner = each(lambda p: when(s.owner[p] == m, n, s.owner[p]))
        s.joins_in_the_newest(n)

    def joins_in_the_newest(s, m):
        """No other member is concerned, so that the group keeps its epoch."""
        s.epoch[m] = s.newest
        s.knows[m] = s.newest

    # The member

    @action(fair="weak")
    def learn(s, m: Member):
        """A heartbeat's answer brings the epoch, in the background."""
        require((0 < s.epoch[m]) & (s.knows[m] != s.epoch[m]))
        require(~s.has_too_much(m), rule="447.21")
        s.knows[m] = s.epoch[m]

    def has_too_much(s, m):
        """The member has a partition that it does not own: with an older epoch it is fenced for that (isSubset in
        GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid)."""
        return exists(Partition, lambda p: s.assigned[m, p] & (s.owner[p] != m))

    @action
    def revoke(s, m: Member, p: Partition):
        """A member that polls gives a partition up, perhaps in the middle of a transaction."""
        require(s.assigned[m, p])
        s.assigned[m, p] = False
        s.has[m, p] = False

    @action(fair="weak")
    def fall_out(s, m: Member):
        """A member learns that it was put out, has left, or has something that it does not own, and drops its
        partitions at once: in the background, so that its application goes on with what it has polled."""
        require(((s.epoch[m] == 0) & s.has_some(m)) | s.has_too_much(m))
        s.drop(m)

    @fault(budget="fences", danger="lost-answer")
    def be_fenced(s, m: Member):
        """Answers that brought newer epochs were lost, and a member is told that its own is too old: it drops its
        partitions in the background, to join again."""
        require((s.knows[m] < s.epoch[m]) & s.has_some(m))
        s.drop(m)

    @fault(budget="fences", danger="overlapping-coordinators")
    def be_unknown(s, m: Member):
        """A coordinator that was deposed, and has heard of the member no more, answers that the member is unknown."""
        require((0 < s.epoch[m]) & s.has_some(m))
        s.drop(m)

    def has_some(s, m):
        """The member believes to own something."""
        return exists(Partition, lambda p: s.assigned[m, p])

    def drop(s, m):
        """All partitions of the member, on its side."""
        s.assigned = each(lambda n, p: s.assigned[n, p] & (n != m))
        s.has = each(lambda n, p: s.has[n, p] & (n != m))

    def begins(s, m):
        """The metadata are read together with the first inputs of a transaction: before the poll and after it, and they
        are the same.  Those that are read once poll() has returned may be later ones, as in `AtSend`."""
        s.stamp[m] = when(s.stage[m] == Stage.POLLING, s.knows[m], s.stamp[m])

    def ends(s, m):
        """The next transaction has metadata of its own."""
        s.stamp[m] = 0

    def may_fetch(s, m, p):
        """OffsetFetch needs the member's epoch."""
        require((s.epoch[m] == s.knows[m]) & (0 < s.epoch[m]), rule="447.21")

    def takes_of(s, m, p, e):
        """STALE_MEMBER_EPOCH (113) or ILLEGAL_GENERATION (22) else, UNKNOWN_MEMBER_ID (25) of no known member."""
        return (0 < e) & (s.epoch[m] == e)

    def is_taken(s, m):
        e, known = s.stamp[m], 0 < s.epoch[m]
        not_later = known & (e <= s.epoch[m])
        return either("447.21", s.takes(m, e), not_later=not_later, known_is_enough=known)


class Relaxed(Modern):
    """KIP-1251 (4.3): an older epoch is taken too, where each partition had been assigned by then, and still is."""

    def has_polled(s, m):
        """It has to: what a static member had is assigned in epoch 0 from now on, which is older than any commit."""
        require(s.stage[m] == Stage.POLLING, rule="447.21")

    def takes_of(s, m, p, e):
        was_assigned = (s.since[p] <= e) & (s.owner[p] == m)
        return (0 < e) & ((s.epoch[m] == e) | ((e < s.epoch[m]) & was_assigned))

    def is_taken(s, m):
        e, known = s.stamp[m], 0 < s.epoch[m]
        older = known & (0 < e) & (e <= s.epoch[m])
        owned = s.for_all_in(m, lambda p: s.owner[p] == m)
        then = s.for_all_in(m, lambda p: s.since[p] <= e)
        one = (s.epoch[m] == e) | exists(Partition, lambda p: s.is_in(m, p) & (s.owner[p] == m) & (s.since[p] <= e))
        return either(
            "447.21",
            s.takes(m, e),
            owned_now=older & owned,
            assigned_then=older & then,
            some_of_them=older & one,
            exact_epoch=known & (e == s.epoch[m]),
        )


class PatternChanged(Relaxed):
    """There an application changes its pattern in the middle of a transaction, and polls before it has committed."""

    @action
    def withdraw(s, m: Member, p: Partition):
        """The partition is free, and the epoch stays."""
        require((s.owner[p] == m) & ~s.assigned[m, p] & (0 < s.epoch[m]))
        s.owner[p] = None


class EpochAgain(Relaxed):
    """There a member that was removed joins again while the group waits for its next assignment, for a second by
    default (since 4.3: group.consumer.assignment.interval.ms; GroupMetadataManager.canComputeNextTargetAssignment)."""

    @action
    def join_again(s, m: Member):
        """The newest assignment is that in which the member was, and so is its epoch."""
        require((s.epoch[m] == 0) & ~s.left[m] & ~s.has_some(m) & (0 < s.knows[m]))
        require(forall(Member, lambda n: s.epoch[n] <= s.knows[m]))
        s.epoch[m] = s.knows[m]


class AtSend(Modern):
    """The application reads the group's metadata as it sends its offsets (and has no rebalance listener)."""

    @action
    def revoke(s, m: Member, p: Partition):
        """A member gives a partition up as it polls, which is between transactions."""
        require(s.stage[m] == Stage.POLLING, rule="447.21")
        Modern.revoke(s, m, p)

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

    def drop(s, m):
        """When the member polls."""
        require(s.stage[m] == Stage.POLLING, rule="447.21")
        Modern.drop(s, m)

    def leaves(s, m):
        """The listener is not called yet."""
