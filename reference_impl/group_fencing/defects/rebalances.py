"""What can be wrong where one generation, or epoch, follows another: sessions that end, requests and answers of the one
before, and commits at the edge between two."""

from fencepost.reference_impl.group_fencing.brokers.classic_group import ClassicGroup, Member, State
from fencepost.reference_impl.group_fencing.brokers.group_coordinator import GroupCoordinator
from fencepost.reference_impl.group_fencing.brokers.modern_group import ModernGroup
from fencepost.reference_impl.group_fencing.errors import ErrorCode
from fencepost.reference_impl.group_fencing.messages import (
    ErrorResponse,
    GroupMetadata,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
)
from fencepost.reference_impl.simulation import Message


class SessionEndsQuietly(ClassicGroup):
    """A member whose session is over is forgotten, and the others are not asked to join again."""

    def session_expires(self, member: Member) -> None:
        waits = member.join is not None or member.sync is not None
        if self.members.get(member.member) is member and not waits and member.deadline <= self.env.now_ms:
            self.forget(member)
            self.store()


class EpochEndsQuietly(ModernGroup):
    """A member whose session is over is forgotten, and the group keeps its epoch and its target."""

    def session_expires(self, member: int) -> None:
        if member in self.members and self.deadlines[member] <= self.env.now_ms:
            self.tell_removed(self.members.pop(member))
            self.store()


class GenerationBeforeCommits(ClassicGroup):
    """A commit of the generation before is taken from who is still a member."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        error = super().commit_refused(metadata, partitions, transactional)
        is_before = metadata.generation == self.generation - 1
        return ErrorCode.NONE if error == ErrorCode.ILLEGAL_GENERATION and is_before else error


class FollowersFirst(ClassicGroup):
    """A follower that asks for its assignment before the leader has given it gets the one of the generation before."""

    def receive_sync(self, message: Message) -> None:
        request: SyncGroupRequest = message.body.data
        follows = self.state is State.COMPLETING_REBALANCE and request.member != self.leader
        if follows and not self.member_error(request.generation, request.member, request.instance):
            member = self.members[request.member]
            self.keep(member)
            self.answer(message, SyncGroupResponse(0, member.assignment))
        else:
            super().receive_sync(message)


class AnyLeadersAssignment(ClassicGroup):
    """SyncGroup is not held against the generation: the assignment of a former one is taken for the current."""

    def receive_sync(self, message: Message) -> None:
        request: SyncGroupRequest = message.body.data
        message.body = message.body._replace(data=request._replace(generation=self.generation))
        super().receive_sync(message)


class AnyGenerationLives(ClassicGroup):
    """A heartbeat is not held against the generation: a member that has missed one is not told so."""

    def receive_heartbeat(self, message: Message) -> None:
        request = message.body.data
        if request.generation != self.generation and not self.identity_error(request.member, request.instance):
            self.keep(self.members[request.member])
            self.answer(message, ErrorResponse(ErrorCode.NONE))
        else:
            super().receive_heartbeat(message)


class AnyMembersEpoch(ModernGroup):
    """A commit is taken under an epoch in which any of the members is."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        error = super().commit_refused(metadata, partitions, transactional)
        epochs = {member.epoch for member in self.members.values()}
        is_known = metadata.member in self.members and metadata.generation in epochs
        return ErrorCode.NONE if error == ErrorCode.STALE_MEMBER_EPOCH and is_known else error


class FirstPartitionCovered(ModernGroup):
    """Of a commit under an older epoch one partition is looked at."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return super().commit_refused(metadata, partitions[:1], transactional)


class GenerationBeforeInDraft(GroupCoordinator):
    """The repaired draft refuses what is older than the generation before."""

    def commit_refused_in_draft(self, commit: TxnOffsetCommitRequest) -> int:
        error = super().commit_refused_in_draft(commit)
        is_before = commit.metadata.generation == self.group.generation - 1
        return ErrorCode.NONE if error == ErrorCode.ILLEGAL_GENERATION and is_before else error
