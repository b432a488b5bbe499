"""This module has a group of the new protocol (KIP-848): its assignment, and the heartbeats that carry it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from fencepost.reference_impl.kafka.errors import GroupErrorCode
from fencepost.reference_impl.kafka.group_coordinator import GroupCoordinator, GroupState
from fencepost.reference_impl.kafka.group_environment import RELAXED, Kind
from fencepost.reference_impl.kafka.messages import (
    NO_GENERATION,
    NO_INSTANCE,
    NO_MEMBER,
    GroupHeartbeatRequest,
    GroupHeartbeatResponse,
    GroupMetadata,
)
from fencepost.reference_impl.simulation import Message

# A member of the new protocol moves to its target in steps, and revokes partitions before others are assigned.
#
# A member's partitions carry the epoch at which they were added to it: its *assignment epochs* (KIP-1251). `reconciled`
# is one step of the member, with its reported partitions. (CurrentAssignmentBuilder.java, ConsumerGroupMember.java)

STATIC_LEFT = -2  # the epoch of a static member that has left for a while
LEFT = -1
JOINING = 0


class Reconciliation(Enum):
    """A `Reconciliation` is one of Kafka's states of a member."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # it must give up partitions first
    UNRELEASED_PARTITIONS = 2  # others must


class Member(NamedTuple):
    """A `Member` is a stored member. ``assigned`` and ``revoking`` have each partition's assignment epoch."""

    member: int
    instance: int
    epoch: int = 0
    previous_epoch: int = 0
    state: Reconciliation = Reconciliation.STABLE
    assigned: Mapping[int, int] = {}
    revoking: Mapping[int, int] = {}

    @property
    def held(self) -> set[int]:
        """Return the partitions that no other member may be assigned."""
        return self.assigned.keys() | self.revoking.keys()

    def at(self, epoch: int) -> "Member":
        """Return the member at an epoch, with its current epoch as the previous one if the two differ."""
        return self._replace(epoch=epoch, previous_epoch=self.epoch if epoch != self.epoch else self.previous_epoch)


def reconciled(
    member: Member, target: Collection[int], epoch: int, owned: Collection[int] | None, is_free: Callable[[int], bool]
) -> Member:
    """Return the member after its next step towards the target of this epoch. ``owned`` is what the member reports to
    own, None if it reports nothing. ``is_free`` returns whether no other member has a partition."""
    if member.state is Reconciliation.STABLE and member.epoch == epoch:
        return member
    if member.state is Reconciliation.UNREVOKED_PARTITIONS and still_owns(owned, member.revoking):
        return member
    remaining = {partition: at for partition, at in member.assigned.items() if partition in target}
    revoking = {partition: at for partition, at in member.assigned.items() if partition not in target}
    if revoking and still_owns(owned, revoking):
        state = Reconciliation.UNREVOKED_PARTITIONS
        return member._replace(state=state, assigned=remaining, revoking=revoking)
    wanted = sorted(partition for partition in target if partition not in remaining)
    free = [partition for partition in wanted if is_free(partition)]
    state = Reconciliation.STABLE if free == wanted else Reconciliation.UNRELEASED_PARTITIONS
    return member.at(epoch)._replace(state=state, assigned={**remaining, **dict.fromkeys(free, epoch)}, revoking={})


def still_owns(owned: Collection[int] | None, revoking: Iterable[int]) -> bool:
    """Return whether the member owns some of the partitions to revoke, as it may if it reports nothing."""
    return owned is None or any(partition in owned for partition in revoking)


def balanced(members: Iterable[int], inputs: int, before: Mapping[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """Return a target in which no member has two partitions more than another, and as many partitions as possible stay
    where they are. (UniformAssignor.java)"""
    ids = sorted(members)
    if not ids:
        return {}
    least, more = divmod(inputs, len(ids))
    target: dict[int, set[int]] = {}
    taken: set[int] = set()
    for member in sorted(ids, key=lambda m: (-len(before.get(m, ())), m)):
        room = least + (1 if more else 0)
        remaining = [partition for partition in sorted(before.get(member, ())) if partition not in taken][:room]
        more -= len(remaining) > least
        target[member] = set(remaining)
        taken.update(remaining)
    for partition in range(inputs):
        if partition not in taken:
            target[min(ids, key=lambda m: (len(target[m]), m))].add(partition)
    return {member: frozenset(partitions) for member, partitions in target.items()}


# A group under the new protocol (KIP-848): members heartbeat with their epoch, the coordinator assigns.
#
# Every change of the membership raises the group's epoch and makes a new target, at once or some time after the one
# before; each member is led to it by itself.
# Everything is stored as it happens, so that a coordinator which fails over goes on where the one before was, but for
# the sessions, which begin anew. (GroupMetadataManager.consumerGroupHeartbeat, ConsumerGroup.java)


class Stored(NamedTuple):
    """A `Stored` has the group's records in the log."""

    epoch: int
    members: tuple[Member, ...]
    target: tuple[tuple[int, frozenset[int]], ...]
    target_epoch: int
    targeted_ms: int | None


class ModernGroup(GroupState):
    """A `ModernGroup` is a group whose members only send heartbeats."""

    __slots__ = ("deadlines", "epoch", "target", "target_epoch", "targeted_ms")

    members: dict[int, Member]

    def __init__(self, coordinator: GroupCoordinator) -> None:
        super().__init__(coordinator)
        stored: Stored = coordinator.stored or Stored(0, (), (), 0, None)
        self.epoch = stored.epoch
        self.members = {member.member: self.loaded(member) for member in stored.members}
        self.target: dict[int, frozenset[int]] = dict(stored.target)
        self.target_epoch = stored.target_epoch  # of the group, when it got this target
        self.targeted_ms = stored.targeted_ms  # and when that was
        self.deadlines: dict[int, int] = {}  # when each session is over
        for member in self.members.values():
            self.keep(member.member)
            self.watch_revocation(member)

    def loaded(self, member: Member) -> Member:
        return member

    @property
    def is_known(self) -> bool:
        return self.epoch > 0

    @property
    def generation(self) -> int:
        return self.epoch

    # Heartbeats

    def receive(self, message: Message) -> None:
        """Handle ConsumerGroupHeartbeat. An assignment is sent once, in the answer to the request that changes it. If
        that request is a late copy, its answer is dropped, and the member learns its partitions only when they change
        again or when it sends a full request."""
        request: GroupHeartbeatRequest = message.body.data
        if request.epoch in (LEFT, STATIC_LEFT):
            error = self.identity_error(request.member, request.instance)
            if not error:
                self.leave(self.members[request.member], request.epoch)
            self.answer(message, GroupHeartbeatResponse(error, request.member, request.epoch))
            return
        error = self.join_error(request) if request.epoch == JOINING else self.epoch_error(request)
        if error:
            self.answer(message, GroupHeartbeatResponse(error))
            return
        if request.epoch == JOINING:
            self.join(request)
        before = self.members[request.member]
        self.keep(request.member)
        self.maybe_target()
        member = self.reconcile(before, request.owned)
        answers = request.epoch == JOINING or request.full or member.assigned.keys() != before.assigned.keys()
        partitions = tuple(sorted(member.assigned)) if answers else None
        answer = GroupHeartbeatResponse(0, member.member, member.epoch, partitions)
        if answers:
            self.env.assignments[member.member] = answer
        self.answer(message, answer)

    def join_error(self, request: GroupHeartbeatRequest) -> int:
        """Return an error if a static member that has not left still has the instance id, or else 0."""
        holder = self.of_instance(request.instance)
        released = holder is None or holder.epoch == STATIC_LEFT
        return GroupErrorCode.NONE if released else GroupErrorCode.UNRELEASED_INSTANCE_ID

    def epoch_error(self, request: GroupHeartbeatRequest) -> int:
        """Return error 25, 82 or 110, or 0 for none. The epoch before the current one is accepted from a member that
        has missed the answer to its last heartbeat and owns nothing that is not its own."""
        if error := self.identity_error(request.member, request.instance):
            return error
        member = self.members[request.member]
        if request.epoch == member.epoch:
            return GroupErrorCode.NONE
        is_subset = request.owned is not None and member.assigned.keys() >= set(request.owned)
        missed = request.epoch < member.epoch and request.epoch == member.previous_epoch and is_subset
        return GroupErrorCode.NONE if missed else GroupErrorCode.FENCED_MEMBER_EPOCH

    # Membership

    def join(self, request: GroupHeartbeatRequest) -> None:
        """Add a new member, restart a known one, or let a static one replace the one before it."""
        holder = self.of_instance(request.instance)
        if holder is not None:
            del self.members[holder.member]
            self.deadlines.pop(holder.member, None)
            if holder.member != request.member:
                self.report_removed(holder)
            self.members[request.member] = holder._replace(member=request.member, epoch=0, previous_epoch=0)
            self.target[request.member] = self.target.pop(holder.member, frozenset())
            self.store()
        elif request.member not in self.members:
            self.members[request.member] = Member(request.member, request.instance)
            self.bump()

    def leave(self, member: Member, epoch: int) -> None:
        """Remove a member. A static one's partitions stay for its successor, except those being revoked."""
        if epoch == STATIC_LEFT:
            away = member._replace(epoch=STATIC_LEFT, assigned=dict.fromkeys(member.assigned, 0), revoking={})
            self.members[member.member] = away
            self.env.report(Kind.EPOCH_GIVEN, member=member.member, generation=STATIC_LEFT)
            for partition in sorted(member.revoking):
                self.report_partition(member.member, partition, STATIC_LEFT, 0)
            self.store()
        else:
            self.remove(member)

    def remove(self, member: Member) -> None:
        del self.members[member.member]
        self.deadlines.pop(member.member, None)
        self.target.pop(member.member, None)
        self.report_removed(member)
        self.bump()

    def report_removed(self, member: Member) -> None:
        self.env.report(Kind.MEMBER_REMOVED, member=member.member, instance=member.instance, generation=member.epoch)

    def bump(self) -> None:
        """Begin a new group epoch and compute a new target, unless it is too early for one."""
        self.epoch += 1
        self.env.report(Kind.GENERATION_BEGUN, generation=self.epoch)
        self.store()
        self.maybe_target()

    def maybe_target(self) -> None:
        """Compute a new target if the group has changed since the last one and the assignment interval is over. Until
        then members join in the epoch of the old target, even one that they were in before.
        (canComputeNextTargetAssignment)"""
        interval_ms = self.env.options.assignment_interval_ms
        early = self.targeted_ms is not None and self.env.now_ms < self.targeted_ms + interval_ms
        if self.target_epoch == self.epoch or early:
            return
        self.target = balanced(self.members, self.env.options.inputs, self.target)
        self.target_epoch, self.targeted_ms = self.epoch, self.env.now_ms
        self.store()

    # Reconciliation

    def reconcile(self, member: Member, owned: tuple[int, ...] | None) -> Member:
        def is_free(partition: int) -> bool:
            return self.is_free(partition, member)

        target = self.target.get(member.member, frozenset())
        after = reconciled(member, target, self.target_epoch, owned, is_free)
        if after != member:
            self.members[member.member] = after
            self.report_moved(member, after)
            self.store()
            if after.state is not member.state:
                self.watch_revocation(after)
        return after

    def report_moved(self, before: Member, after: Member) -> None:
        """Report the changes of a member's record: removed partitions, its epoch, and added partitions. A partition
        that returns to the member at once has another assignment epoch."""
        had, has = ({**member.revoking, **member.assigned} for member in (before, after))
        for partition in sorted(had.keys() - has.keys() | {p for p in had.keys() & has.keys() if had[p] != has[p]}):
            self.report_partition(after.member, partition, after.epoch, 0)
        if after.epoch != before.epoch:
            self.env.report(Kind.EPOCH_GIVEN, member=after.member, generation=after.epoch)
        for partition in sorted(p for p, since in has.items() if had.get(p) != since):
            self.report_partition(after.member, partition, has[partition], 1)

    def report_partition(self, member: int, partition: int, generation: int, outcome: int) -> None:
        self.env.report(
            Kind.PARTITION_GIVEN, member=member, partition=partition, generation=generation, outcome=outcome
        )

    def is_free(self, partition: int, asking: Member) -> bool:
        return not any(partition in m.held for m in self.members.values() if m.member != asking.member)

    def watch_revocation(self, member: Member) -> None:
        """Remove the member if it does not revoke its partitions within the rebalance time-out."""
        if member.state is not Reconciliation.UNREVOKED_PARTITIONS:
            return

        def check(_: object) -> None:
            now = self.members.get(member.member)
            if now is not None and (now.epoch, now.state) == (member.epoch, member.state):
                self.remove(now)

        self.later(self.env.options.max_poll_ms, check)

    def keep(self, member: int) -> None:
        timeout_ms = self.env.options.session_timeout_ms
        self.deadlines[member] = self.env.now_ms + timeout_ms
        self.later(timeout_ms, lambda _: self.session_expires(member))

    def session_expires(self, member: int) -> None:
        if member in self.members and self.deadlines[member] <= self.env.now_ms:
            self.remove(self.members[member])

    # Who may commit, and fetch

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        """Return the error for a commit, or 0 for none. Instance ids are not checked.
        (ConsumerGroup.validateOffsetCommit)"""
        if metadata.generation < 0 and not self.members:
            return GroupErrorCode.NONE
        if transactional and metadata == (NO_GENERATION, NO_MEMBER, NO_INSTANCE):
            return GroupErrorCode.NONE
        member = self.members.get(metadata.member)
        if member is None:
            return GroupErrorCode.UNKNOWN_MEMBER_ID
        if metadata.generation == member.epoch:
            return self.equal_epoch_refused(member, partitions)
        if metadata.generation > member.epoch or self.env.options.mode != RELAXED:
            return GroupErrorCode.STALE_MEMBER_EPOCH
        covered = all(self.covers(member, partition, metadata.generation) for partition in partitions)
        return GroupErrorCode.NONE if covered else GroupErrorCode.STALE_MEMBER_EPOCH

    def equal_epoch_refused(self, member: Member, partitions: tuple[int, ...]) -> int:
        """Return 0, because the current epoch may commit any partition, even another member's."""
        return GroupErrorCode.NONE

    def covers(self, member: Member, partition: int, epoch: int) -> bool:
        """Return whether the member has the partition since this older epoch, or revokes it (KIP-1251)."""
        since = member.assigned.get(partition, member.revoking.get(partition))
        return since is not None and since <= epoch

    def fetch_refused(self, metadata: GroupMetadata) -> int:
        """Return an error unless the member's epoch is the current one."""
        if metadata.member == NO_MEMBER and metadata.generation < 0:
            return GroupErrorCode.NONE
        member = self.members.get(metadata.member)
        if member is None:
            return GroupErrorCode.UNKNOWN_MEMBER_ID
        return GroupErrorCode.NONE if member.epoch == metadata.generation else GroupErrorCode.STALE_MEMBER_EPOCH

    def store(self) -> None:
        self.coordinator.stored = Stored(
            self.epoch, tuple(self.members.values()), tuple(self.target.items()), self.target_epoch, self.targeted_ms
        )  # fmt: skip
