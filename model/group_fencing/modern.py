"""In groups with member epochs (KIP-848) a partition moves when its owner has given it up, or is out of the group.

The consumer's background thread takes part in the group at any time. It learns of new epochs and partitions, drops them
when it learns that its epoch is old or that it is not a member, and joins again, while the application still processes
what it has polled. Since Kafka 4.2 (KAFKA-19233) it may do so while the coordinator knows it, which then assumes that
the member has given up everything (GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid). So it matters when
the application reads the group's metadata: with the inputs that it polls, or as it sends their offsets.

Where a partition becomes free, the epoch of its member increases (CurrentAssignmentBuilder.java). There are two
exceptions, which are assumed away except in `PatternChanged` and `EpochAgain`: the member's subscription no longer
includes a partition (`withdraw`), and a member joins again before the group has a new assignment.
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
    """Until 4.2, a commit needs the member's epoch as the coordinator has it, and the application reads the metadata at
    the poll."""

    since: Map[Partition, Epoch]  # the epoch in which its owner was assigned the partition
    left: Set[
        Member
    ]  # a static member left for a while (epoch -2), and its partitions are reserved for its instance id

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

    @fault(budget="rebalances", danger=("rebalance", "time-out"), by="coordinator", to="m")
    def expel(s, m: Member, g: Epoch):
        """The coordinator removes a member that sends no heartbeat in time, and its partitions are free."""
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

    @action(by="coordinator", to="m")
    def advance(s, m: Member, g: Epoch):
        """The group changes and the member retains what it has: its epoch follows, and it will learn of that."""
        require((0 < s.epoch[m]) & (s.epoch[m] < g) & (s.newest <= g))
        limit(g <= s.newest + 1)
        s.newest = g
        s.epoch[m] = g

    @action(by="coordinator", to="m")
    def assign(s, m: Member, p: Partition):
        """A free partition is added to the partitions of a member."""
        require((s.owner[p] == None) & (0 < s.epoch[m]) & ~s.assigned[m, p])  # noqa: E711
        s.owner[p] = m
        s.since[p] = s.epoch[m]
        s.assigned[m, p] = True

    @action(by="m", to="coordinator")
    def release(s, m: Member, p: Partition, g: Epoch):
        """The coordinator learns, from a heartbeat or as the member joins again, that the member has given up a
        partition that is to go to another one. The partition is free, and the member's epoch follows."""
        require(~s.assigned[m, p])
        s.frees(m, p, g)

    def frees(s, m, p, g):
        """Free the partition, and let the member's epoch follow that of the group."""
        require((s.owner[p] == m) & (0 < s.epoch[m]) & (s.epoch[m] < g))
        limit(g <= s.newest + 1)
        s.newest = when(s.newest < g, g, s.newest)
        s.owner[p] = None
        s.epoch[m] = g

    @fault(budget="fences", danger=("late-copy", "duplicate"), by="m", to="coordinator")
    def mishear(s, m: Member, p: Partition, g: Epoch):
        """A late copy of a heartbeat in which the member had nothing, such as that with which it joined, frees a
        partition that the member has and that is to go to another one."""
        require(s.assigned[m, p])
        s.frees(m, p, g)

    @action
    def withdraw(s, m: Member, p: Partition):
        """A member gives up a partition because it has subscribed to a pattern for which no topic has been found yet,
        and the partition is free while the epoch stays the same (since 4.2: updateCurrentAssignment). Applications
        change their subscription between transactions."""
        require((s.owner[p] == m) & ~s.assigned[m, p] & (0 < s.epoch[m]))
        require(~s.is_in(m, p), rule="447.21")
        s.owner[p] = None

    @action
    def give_back(s, m: Member, p: Partition):
        """A member joins again while the coordinator knows it, and is given what it owns there, in the same epoch."""
        require((s.owner[p] == m) & (0 < s.epoch[m]) & ~s.assigned[m, p])
        s.assigned[m, p] = True

    # Static members. A member id has one instance id, as in Kafka's consumer. Where another client changes it, a
    # coordinator before 4.4.0 still finds the member under the former one, and reserves that one (KAFKA-20747).

    @fault(budget="restarts")
    def leave(s, m: Member):
        """A static member leaves for a while, because it ends or its application does not poll in time."""
        require(0 < s.epoch[m])
        s.epoch[m] = 0
        s.left[m] = True
        s.since = each(lambda p: when(s.owner[p] == m, 0, s.since[p]))
        s.leaves(m)

    def leaves(s, m):
        """Drop the partitions of the leaving member in the background."""
        s.drop(m)

    @action(by="coordinator")
    def let_go(s, m: Member, p: Partition):
        """A partition that a static member was to give up when it left is free at once
        (GroupMetadataManager.consumerGroupStaticMemberGroupLeave leaves no partition pending revocation)."""
        require(s.left[m] & (s.owner[p] == m))
        s.owner[p] = None

    @action
    def come_back(s, m: Member):
        """A static member returns under the same member id, and gets what it had, in the newest epoch, which may be the
        one that it left in."""
        require(s.left[m] & ~s.has_some(m))
        s.has_polled(m)
        s.left[m] = False
        s.joins_in_the_newest(m)

    def has_polled(s, m):
        """Require that the application polls, for which the consumer waits
        (AbstractMembershipManager.maybeRejoinStaleMember)."""
        require(s.stage[m] == Stage.POLLING)

    @action(danger="client-crash")
    def replace(s, m: Member, n: Member):
        """Another process joins with the instance id of a member that has left, and takes its partitions over under
        another member id. The former member may be a zombie. (Before it has left, the new process gets
        UNRELEASED_INSTANCE_ID, 111.)"""
        require((m != n) & s.left[m] & (s.epoch[n] == 0) & ~s.left[n] & ~s.has_some(n))
        require(s.stage[n] == Stage.POLLING)
        s.left[m] = False
        s.since = each(lambda p: when(s.owner[p] == m, 0, s.since[p]))
        s.assigned = each(lambda k, p: when(k == n, s.owner[p] == m, s.assigned[k, p]))
        s.owner = each(lambda p: when(s.owner[p] == m, n, s.owner[p]))
        s.joins_in_the_newest(n)

    def joins_in_the_newest(s, m):
        """Let the member join in the newest epoch, which the group retains because no other member is concerned."""
        s.epoch[m] = s.newest
        s.knows[m] = s.newest

    # The member

    @action(fair="weak", by="coordinator", to="m")
    def learn(s, m: Member):
        """A heartbeat's answer brings the epoch to the member, in the background."""
        require((0 < s.epoch[m]) & (s.knows[m] != s.epoch[m]))
        require(~s.has_too_much(m), rule="447.21")
        s.knows[m] = s.epoch[m]

    def has_too_much(s, m):
        """Return whether the member has a partition that it does not own, for which it is fenced if its epoch is older
        (isSubset in GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid)."""
        return exists(Partition, lambda p: s.assigned[m, p] & (s.owner[p] != m))

    @action
    def revoke(s, m: Member, p: Partition):
        """A member gives a partition up, perhaps in the middle of a transaction."""
        require(s.assigned[m, p])
        s.assigned[m, p] = False
        s.has[m, p] = False

    @action(fair="weak")
    def fall_out(s, m: Member):
        """A member learns that it was removed, has left, or has a partition that it does not own, and drops its
        partitions at once. That happens in the background, so that its application goes on with what it has polled."""
        require(((s.epoch[m] == 0) & s.has_some(m)) | s.has_too_much(m))
        s.drop(m)

    @fault(budget="fences", danger="lost-answer")
    def be_fenced(s, m: Member):
        """Answers with newer epochs were lost, and a member whose epoch is refused as too old drops its partitions in
        the background, to join again."""
        require((s.knows[m] < s.epoch[m]) & s.has_some(m))
        s.drop(m)

    @fault(budget="fences", danger="overlapping-coordinators")
    def be_unknown(s, m: Member):
        """A deposed coordinator, which has lost track of the member, answers that the member is unknown."""
        require((0 < s.epoch[m]) & s.has_some(m))
        s.drop(m)

    def has_some(s, m):
        return exists(Partition, lambda p: s.assigned[m, p])

    def drop(s, m):
        s.assigned = each(lambda n, p: s.assigned[n, p] & (n != m))
        s.has = each(lambda n, p: s.has[n, p] & (n != m))

    def begins(s, m):
        """Record the epoch that the application reads together with the first inputs of a transaction, which is the
        same before the poll and after it. Metadata that are read once poll() has returned may be later ones, as in
        `AtSend`."""
        s.stamp[m] = when(s.stage[m] == Stage.POLLING, s.knows[m], s.stamp[m])

    def ends(s, m):
        s.stamp[m] = 0

    def may_fetch(s, m, p):
        """Require that OffsetFetch has the member's epoch as the coordinator has it."""
        require((s.epoch[m] == s.knows[m]) & (0 < s.epoch[m]), rule="447.21")

    def takes_of(s, m, p, e):
        """Return whether the commit has the member's epoch. Errors: STALE_MEMBER_EPOCH (113), ILLEGAL_GENERATION (22),
        UNKNOWN_MEMBER_ID (25) of no known member."""
        return (0 < e) & (s.epoch[m] == e)

    def is_taken(s, m):
        e, known = s.stamp[m], 0 < s.epoch[m]
        not_later = known & (e <= s.epoch[m])
        return either("447.21", s.takes(m, e), not_later=not_later, known_is_enough=known)


class Relaxed(Modern):
    """An older epoch is accepted too, if each partition had been assigned to the member by then and still is (KIP-1251,
    4.3)."""

    def has_polled(s, m):
        """Require that the application polls, because the partitions of a static member count as assigned in epoch 0
        from now on, which is older than any commit."""
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
    """An application changes its pattern in the middle of a transaction, and polls before it has committed."""

    @action
    def withdraw(s, m: Member, p: Partition):
        """A partition that the member's new pattern does not include is free, and the epoch stays the same."""
        require((s.owner[p] == m) & ~s.assigned[m, p] & (0 < s.epoch[m]))
        s.owner[p] = None


class EpochAgain(Relaxed):
    """A removed member joins again while the group waits for its next assignment, for a second by default (since 4.3:
    group.consumer.assignment.interval.ms; GroupMetadataManager.canComputeNextTargetAssignment)."""

    @action
    def join_again(s, m: Member):
        """A removed member joins again in the epoch that it had, because the newest assignment is still that in which
        it was a member."""
        require((s.epoch[m] == 0) & ~s.left[m] & ~s.has_some(m) & (0 < s.knows[m]))
        require(forall(Member, lambda n: s.epoch[n] <= s.knows[m]))
        s.epoch[m] = s.knows[m]


class AtSend(Modern):
    """The application reads the group's metadata as it sends its offsets, and has no rebalance listener."""

    @action
    def revoke(s, m: Member, p: Partition):
        """A member gives a partition up as it polls, which is between transactions."""
        require(s.stage[m] == Stage.POLLING, rule="447.21")
        Modern.revoke(s, m, p)

    def begins(s, m):
        """Record nothing, because the application reads no metadata at its poll."""

    def epoch_sent(s, m):
        return s.knows[m]


class RelaxedAtSend(AtSend, Relaxed):
    """The application reads the group's metadata as it sends its offsets, and an older epoch is accepted (KIP-1251)."""


class OwnedAtSend(AtSend):
    """The application reads the group's metadata as it sends its offsets, and the coordinator also requires that the
    member owns every partition of the commit."""

    def takes_of(s, m, p, e):
        return (s.epoch[m] == e) & (0 < e) & (s.owner[p] == m)


class AtSendListening(AtSend):
    """The application reads the group's metadata as it sends its offsets, and has a rebalance listener, which is called
    in poll() alone and which the background thread waits for."""

    def drop(s, m):
        """Remove all partitions of the member when the application polls."""
        require(s.stage[m] == Stage.POLLING, rule="447.21")
        Modern.drop(s, m)

    def leaves(s, m):
        """Change nothing, because the rebalance listener has not been called yet."""
