"""What can be wrong with a group: who is in it, what it remembers, and which commits it takes for its members'."""

from typing import Any

from fencepost.reference_impl.group_fencing.brokers.assignment import Member
from fencepost.reference_impl.group_fencing.brokers.classic_group import ClassicGroup, Stored
from fencepost.reference_impl.group_fencing.brokers.modern_group import ModernGroup
from fencepost.reference_impl.group_fencing.errors import ErrorCode
from fencepost.reference_impl.group_fencing.messages import GroupMetadata


class AnyGenerationCommits(ClassicGroup):
    """A commit is not held against the group."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return 0


class GenerationUnchecked(ClassicGroup):
    """A commit of a member is taken whatever its generation."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        error = super().commit_refused(metadata, partitions, transactional)
        return 0 if error == ErrorCode.ILLEGAL_GENERATION else error


class MemberUnchecked(ClassicGroup):
    """A commit of the generation is taken whosesoever it is."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return 0 if metadata.generation == self.generation else ErrorCode.ILLEGAL_GENERATION


class NeverStoredAgain(ClassicGroup):
    """The group is stored when it is first stable, and not after later rebalances."""

    def store(self) -> None:
        before: Stored | None = self.coordinator.stored
        if before is None or not before.members:
            super().store()


class SessionsLast(ClassicGroup):
    """A member that says nothing any more stays in the group."""

    def session_expires(self, member: Any) -> None:
        pass

    def time_is_up(self, phase: int) -> None:
        if self.delayed:
            super().time_is_up(phase)


class AnyEpochCommits(ModernGroup):
    """A member may commit under any of its epochs."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return 0 if metadata.member in self.members else ErrorCode.UNKNOWN_MEMBER_ID


class OthersPartitionsCovered(ModernGroup):
    """An older epoch may commit what the member does not have any more."""

    def covers(self, member: Member, partition: int, epoch: int) -> bool:
        held = partition in member.assigned or partition in member.revoking
        return not held or super().covers(member, partition, epoch)


class AssignmentEpochIgnored(ModernGroup):
    """An older epoch may commit what the member has, since whenever it has it."""

    def covers(self, member: Member, partition: int, epoch: int) -> bool:
        return partition in member.assigned or partition in member.revoking


class AssignmentEpochsNotStored(ModernGroup):
    """After a fail-over every partition counts as assigned from the first epoch on."""

    def loaded(self, member: Member) -> Member:
        return member._replace(assigned=dict.fromkeys(member.assigned, 0), revoking=dict.fromkeys(member.revoking, 0))


class AssignsBeforeRevoked(ModernGroup):
    """A partition is assigned while another member still has it."""

    def is_free(self, partition: int, asking: Member) -> bool:
        return True


class OwnershipChecked(ModernGroup):
    """The current epoch commits only what the member has: not a defect of Kafka's, but a repair of 447.21 that is not
    enough."""

    def equal_epoch_refused(self, member: Member, partitions: tuple[int, ...]) -> int:
        owned = all(partition in member.held for partition in partitions)
        return ErrorCode.NONE if owned else ErrorCode.STALE_MEMBER_EPOCH
