"""This module models what shipped with the requests by which a classic group gets its partitions: JoinGroup, SyncGroup
and OffsetFetch.

A rebalance takes several steps. The coordinator waits for members to join, then for one of them to send the assignment,
and answers. Requests and answers may be long on their way, or arrive several times, and a member that does not join in
time is out (ClassicGroup.java, GroupMetadataManager.java). A member that has asked to join does nothing else until it
has its partitions; what it believed before is left as it is, and out of use (`idle`).

`owner` and `epoch` are what the coordinator has answered, which the member may not have received: no rule reads them. A
lost request or answer is one that never arrives. A lost answer to a read needs no step of its own, since the read is
repeated. A poll waits for the offsets that it asks for. The leader gives each member one partition at most. Static
members are left out, which `Shipped` has.
"""

from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Epoch, Member, Offset, Partition, Stage
from fencepost.model.language import (
    Enumeration,
    Map,
    Option,
    Set,
    action,
    each,
    exists,
    fault,
    require,
    when,
)


class Phase(Enumeration):
    """The coordinator waits for members that join, for the leader's assignment, or for nothing."""

    PREPARING, COMPLETING, STABLE = range(3)


class ShippedByRequests(Shipped):
    """This is Kafka 2.5 and later with dynamic membership and eager rebalances."""

    phase: Phase
    known: Set[Member]  # the coordinator has its member id
    joined: Set[Member]  # the member is in the next generation, once that begins
    target: Map[Partition, Option[Member]]  # the member that gets the partition in the newest generation

    told: Map[Member, Epoch]  # the generation of an answer to JoinGroup on its way
    answered: Map[Member, Epoch]  # the generation of the newest answer to SyncGroup with a partition
    gets: Set[Member, Partition]  # the partitions in that answer
    nothing: Map[Member, Epoch]  # the generation of the newest answer to SyncGroup without a partition
    copies: Set[Member]  # a copy of its JoinGroup is left in the network
    says: Set[Member, Partition]  # an answer to OffsetFetch is on its way
    offset: Map[Member, Partition, Offset]

    idle: Set[Member]  # the member has no partitions to work with
    joining: Set[Member]  # the member waits for an answer to JoinGroup
    syncing: Map[Member, Epoch]  # the member waits for an answer to SyncGroup of this generation; 0: it does not
    asked: Set[Member, Partition]  # the member waits for an answer to OffsetFetch

    replace = None

    def init(s):
        s.newest = 1
        s.idle = each(lambda m: True)

    # The coordinator

    @action(by="m", to="coordinator")
    def arrive(s, m: Member):
        """JoinGroup arrives from a member that waits for its answer, perhaps not for the first time."""
        require(s.joining[m])
        s.enter(m)

    @fault(budget="copies", danger="duplicate")
    def copy(s, m: Member):
        """A member sends JoinGroup again over another connection, and the first copy is not lost."""
        require(s.joining[m] & ~s.copies[m])
        s.copies[m] = True

    @action(danger="late-copy", by="m", to="coordinator")
    def arrive_late(s, m: Member):
        """A copy of JoinGroup arrives at any time; for an unknown member id (UNKNOWN_MEMBER_ID) it has no effect."""
        require(s.copies[m] & s.known[m])
        s.copies[m] = False
        s.enter(m)

    def enter(s, m):
        s.known[m] = True
        s.joined[m] = True
        s.phase = Phase.PREPARING

    @action(danger="time-out", by="coordinator", to="m")
    def put_out(s, m: Member):
        """The coordinator removes a member that leaves or sends no heartbeat in time, and the generation goes on
        without it until the next one begins."""
        require(s.known[m])
        s.known[m] = False
        s.joined[m] = False
        s.phase = Phase.PREPARING

    @fault(budget="rebalances", danger="rebalance")
    def rebalance(s, g: Epoch):
        """The new generation begins with the members that have joined by now, which get an answer."""
        require((s.phase == Phase.PREPARING) & exists(Member, lambda m: s.joined[m]))
        Shipped.rebalance(s, g)
        s.told = each(lambda m: when(s.joined[m], g, s.told[m]))
        s.known = each(lambda m: s.joined[m])
        s.joined = each(lambda m: False)
        s.target = each(lambda p: None)
        s.phase = Phase.COMPLETING

    @action(by="leader", to="coordinator")
    def choose(s, m: Member, p: Partition):
        """The leader's assignment gives a partition to a member."""
        require((s.phase == Phase.COMPLETING) & s.known[m] & (s.target[p] == None))  # noqa: E711
        require(~s.has_a_target(m))
        s.target[p] = m

    def has_a_target(s, m):
        return exists(Partition, lambda p: s.target[p] == m)

    @action
    def settle(s):
        """The leader's assignment is in the log, and SyncGroup is answered from now on."""
        require(s.phase == Phase.COMPLETING)
        s.phase = Phase.STABLE

    @action(by="coordinator", to="m")
    def give(s, m: Member):
        """SyncGroup of the newest generation is answered, perhaps not for the first time."""
        require((0 < s.syncing[m]) & (s.syncing[m] == s.newest) & (s.phase == Phase.STABLE) & s.known[m])
        some = s.has_a_target(m)
        s.owner = each(lambda p: when(s.target[p] == m, m, s.owner[p]))
        s.epoch[m] = when(some, s.newest, s.epoch[m])
        s.answered[m] = when(some, s.newest, s.answered[m])
        s.nothing[m] = when(some, s.nothing[m], s.newest)
        s.gets = each(lambda n, p: when((n == m) & some, s.target[p] == m, s.gets[n, p]))

    def takes_of(s, m, p, e):
        """Return whether the coordinator accepts a commit: the member is known and its generation is the newest. While
        members join anew, the former generation goes on; while the coordinator waits for the leader, no member has
        learned of the newest one (REBALANCE_IN_PROGRESS)."""
        return s.known[m] & (s.newest == e) & (s.phase != Phase.COMPLETING)

    @action(by="coordinator", to="m")
    def fetch(s, m: Member, p: Partition):
        """OffsetFetch is answered, unless its member is gone."""
        require(s.asked[m, p] & ~s.says[m, p] & s.is_up(m))
        require(s.is_stable(p), rule="447.9")
        s.says[m, p] = True
        s.offset[m, p] = s.committed[p]

    # The member

    @action(by="m", to="coordinator")
    def join(s, m: Member):
        """A member that polls gives up what it has and asks to join, because it was removed or a heartbeat's answer has
        announced a rebalance."""
        require((s.stage[m] == Stage.POLLING) & ~s.crashed[m] & ~s.joining[m] & (s.syncing[m] == 0))
        s.hear_offsets(m)
        s.idle[m] = True
        s.joining[m] = True

    @action(danger="reordering")
    def hear_joined(s, m: Member):
        """A member learns of a generation that it is in, which may be over, and sends SyncGroup."""
        require(s.joining[m] & (0 < s.told[m]))
        s.joining[m] = False
        s.syncing[m] = s.told[m]
        s.told[m] = 0

    @action(danger="lost-answer")
    def start_over(s, m: Member):
        """A member's SyncGroup fails and it joins again, because the next rebalance has begun (REBALANCE_IN_PROGRESS)
        or the answer is lost."""
        require(0 < s.syncing[m])
        s.syncing[m] = 0
        s.joining[m] = True

    @action(danger="reordering")
    def hear_partitions(s, m: Member):
        """A member learns which partitions it has, in a generation that may be over."""
        require((0 < s.syncing[m]) & (s.answered[m] == s.syncing[m]))
        s.assigned = each(lambda n, p: when(n == m, s.gets[n, p], s.assigned[n, p]))
        s.has = each(lambda n, p: s.has[n, p] & (n != m))
        newest = s.newest_answer(m)
        s.knows[m] = newest
        s.stamp[m] = newest
        s.idle[m] = False
        s.syncing[m] = 0

    @action
    def hear_nothing(s, m: Member):
        """A member learns that it has no partition in its generation."""
        require((0 < s.syncing[m]) & (s.nothing[m] == s.syncing[m]))
        s.syncing[m] = 0

    def newest_answer(s, m):
        """Return the generation in which the member was last given a partition."""
        return when(s.knows[m] < s.answered[m], s.answered[m], s.knows[m])

    @action(by="m", to="coordinator")
    def ask(s, m: Member, p: Partition):
        """A member sends OffsetFetch for a partition that it was assigned."""
        require(~s.idle[m] & s.assigned[m, p] & ~s.has[m, p] & (s.stage[m] == Stage.POLLING) & s.is_up(m))
        s.asked[m, p] = True

    @action(danger="reordering")
    def hear_offset(s, m: Member):
        """A member receives the answers to its OffsetFetch requests."""
        require(exists(Partition, lambda p: s.says[m, p]))
        s.hear_offsets(m)

    def hear_offsets(s, m):
        s.has = each(lambda n, p: s.has[n, p] | ((n == m) & s.says[n, p]))
        s.first = each(lambda n, p: when((n == m) & s.says[n, p], s.offset[n, p], s.first[n, p]))
        s.next = each(lambda n, p: when((n == m) & s.says[n, p], s.offset[n, p], s.next[n, p]))
        s.wait_no_more(m)

    def wait_no_more(s, m):
        s.asked = each(lambda n, p: s.asked[n, p] & (n != m))
        s.says = each(lambda n, p: s.says[n, p] & (n != m))

    @action
    def process(s, m: Member, p: Partition, i: Offset):
        """A member that waits for no OffsetFetch processes an input of a partition that it has."""
        require(~s.idle[m] & ~exists(Partition, lambda q: s.asked[m, q]))
        Shipped.process(s, m, p, i)

    def forget(s, m):
        Shipped.forget(s, m)
        s.wait_no_more(m)

    @action(fair="weak")
    def initialise(s, m: Member):
        """A member calls initTransactions, and one that lost its memory joins the group anew."""
        crashed = s.crashed[m]
        newest = when(crashed, s.newest_answer(m), s.knows[m])
        Shipped.initialise(s, m)
        s.knows[m] = newest
        s.stamp[m] = newest
        s.idle[m] = s.idle[m] | crashed
        s.joining[m] = s.joining[m] & ~crashed
        s.syncing[m] = when(crashed, 0, s.syncing[m])
        s.answered[m] = when(crashed, 0, s.answered[m])
