"""This module collects the implementations of group fencing that are wrong in one way each, by name."""

from typing import Any

from fencepost.reference_impl.defects import group_fencing_clients
from fencepost.reference_impl.kafka.classic_group import ClassicGroup, State, Stored
from fencepost.reference_impl.kafka.classic_group import Member as ClassicMember
from fencepost.reference_impl.kafka.errors import GroupErrorCode
from fencepost.reference_impl.kafka.group_coordinator import GroupCoordinator, GroupOffsetsLog
from fencepost.reference_impl.kafka.group_transactions import GroupAwareCoordinator
from fencepost.reference_impl.kafka.log import ProducerEntry
from fencepost.reference_impl.kafka.messages import (
    Batch,
    ErrorResponse,
    GroupInitProducerIdRequest,
    GroupMetadata,
    GroupTxnOffsetCommitRequest,
    InitProducerIdRequest,
    ProduceResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    WriteTxnMarkersResponse,
)
from fencepost.reference_impl.kafka.modern_group import Member, ModernGroup
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.simulation.defects import NOTHING, PROGRESS, PROMISE, by_config, defect, registry
from fencepost.reference_impl.systems.group_fencing import Parts, build

# These are the defects of a group: its members, its memory, the commits that it accepts, the change from one generation
# or epoch to the next, and what a coordinator that takes over finds in the log.
#
# A transaction time-out of 1.5 s is longer than a rebalance takes in a free-running history. With sessions of 1.5 s no
# rebalance waits as long as a session. With one record per fetch each poll gets records of several partitions.


# 447.16: commits are checked against the group
@defect("447.16", PROMISE)
class AnyGenerationCommits(ClassicGroup):
    """The group takes every commit without checking its member and generation."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return 0


@defect(
    "447.16",
    NOTHING,
    "a member id is never given twice, and a member takes the newest generation as it polls",
    harmless=("shipped", "447.16", "member_alone"),
)
class GenerationUnchecked(ClassicGroup):
    """The group takes a member's commit whatever its generation."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        error = super().commit_refused(metadata, partitions, transactional)
        return 0 if error == GroupErrorCode.ILLEGAL_GENERATION else error


@defect("447.16", PROMISE, static=True, identities=2, stable_ids=False)
class InstanceUnchecked(ClassicGroup):
    """The group takes a commit of the current generation from any member."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return 0 if metadata.generation == self.generation else GroupErrorCode.ILLEGAL_GENERATION


@defect("447.16", PROMISE)
class GroupStoredOnce(ClassicGroup):
    """The coordinator stores the group when it is first stable, and not after later rebalances."""

    def store(self) -> None:
        before: Stored | None = self.coordinator.stored
        if before is None or not before.members:
            super().store()


@defect("447.P3", PROGRESS)
class SessionsLast(ClassicGroup):
    """A member whose session has expired stays in the group."""

    def session_expires(self, member: Any) -> None:
        pass

    def time_is_up(self, phase: int) -> None:
        if self.delayed:
            super().time_is_up(phase)


# 447.21: the new protocol
@defect("447.21", PROMISE, mode="new-protocol-relaxed", metadata_at="poll", listener=False)
class AnyEpochCommits(ModernGroup):
    """A member may commit under any member epoch."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return 0 if metadata.member in self.members else GroupErrorCode.UNKNOWN_MEMBER_ID


@defect("447.21", PROMISE, mode="new-protocol-relaxed", metadata_at="poll", listener=False)
class OthersPartitionsCovered(ModernGroup):
    """A member may commit under an older epoch for partitions that it does not have any more."""

    def covers(self, member: Member, partition: int, epoch: int) -> bool:
        held = partition in member.assigned or partition in member.revoking
        return not held or super().covers(member, partition, epoch)


@defect("447.21", PROMISE, mode="new-protocol-relaxed", metadata_at="poll", listener=False)
class AssignmentEpochIgnored(ModernGroup):
    """A member may commit under an older epoch for every partition that it has, however late it was assigned."""

    def covers(self, member: Member, partition: int, epoch: int) -> bool:
        return partition in member.assigned or partition in member.revoking


@defect("447.21", PROMISE, mode="new-protocol-relaxed", metadata_at="poll", listener=False)
class AssignmentEpochsNotStored(ModernGroup):
    """After a failover every partition counts as assigned since the first epoch."""

    def loaded(self, member: Member) -> Member:
        return member._replace(assigned=dict.fromkeys(member.assigned, 0), revoking=dict.fromkeys(member.revoking, 0))


@defect("447.21", PROMISE, mode="new-protocol-relaxed")
class AssignsBeforeRevoked(ModernGroup):
    """The group assigns a partition while another member still has it."""

    def is_free(self, partition: int, asking: Member) -> bool:
        return True


by_config("no_listener", "447.21", PROMISE, mode="new-protocol", listener=False, metadata_at="send")


@defect(
    "447.21",
    PROMISE,
    "what a member has lost and has again is its own, whenever it polled what it commits",
    mode="new-protocol",
    listener=False,
    metadata_at="send",
)
class OwnershipChecked(ModernGroup):
    """The current epoch commits only what the member has. This is a repair of 447.21 that is not enough, and not a
    defect of Kafka."""

    def equal_epoch_refused(self, member: Member, partitions: tuple[int, ...]) -> int:
        owned = all(partition in member.held for partition in partitions)
        return GroupErrorCode.NONE if owned else GroupErrorCode.STALE_MEMBER_EPOCH


# A coordinator that takes over
@defect("447.16", PROMISE, static=True)
class TakeoverUnstored(ClassicGroup):
    """The coordinator does not store that a static member has replaced another when no rebalance follows, so the next
    coordinator knows the replaced member under the instance id."""

    def join_static(self, message: Message, request: Any) -> None:
        stored = self.coordinator.stored
        super().join_static(message, request)
        if self.state is State.STABLE:
            self.coordinator.stored = stored


@defect("447.9", PROMISE, fetch_records=1, transaction_timeout_ms=1_500)
class OneOffsetLoaded(GroupOffsetsLog):
    """A load takes up only the last of the offsets that a transaction has pending."""

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> "OneOffsetLoaded":
        fresh = super().rebuilt(leader_epoch, restart)
        for producer, offsets in fresh.pending.items():
            newest = max(offsets, key=lambda key: offsets[key].base_offset)
            fresh.pending[producer] = {newest: offsets[newest]}
        return fresh


@defect("447.9", PROMISE, transaction_timeout_ms=1_500)
class OpennessNotLoaded(GroupOffsetsLog):
    """After a load, markers find the pending offsets but fetches do not wait for them."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.unheld: set[int] = set()

    def rebuilt(self, leader_epoch: int, restart: bool = False) -> "OpennessNotLoaded":
        fresh = super().rebuilt(leader_epoch, restart)
        fresh.unheld = set(fresh.pending)
        return fresh

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        super().apply_data(entry, batch)
        self.unheld.discard(batch.producer_id)

    def is_stable(self, key: int = 0) -> bool:
        return not any(key in offsets for producer, offsets in self.pending.items() if producer not in self.unheld)


@defect("447.P3", PROGRESS)
class MarkerTakenWhileLoading(GroupCoordinator):
    """A marker that arrives before the partition is loaded is answered as if it were written, and is dropped."""

    def answer_loading(self, message: Message) -> None:
        if message.kind == "marker":
            self.reply(message, WriteTxnMarkersResponse(GroupErrorCode.NONE))
        else:
            super().answer_loading(message)


@defect("447.P4", PROMISE)
class SecondCommitFails(GroupCoordinator):
    """A second commit of a producer with pending offsets fails, although it should count (nisshi PR 716)."""

    def commit_refused(self, commit: GroupTxnOffsetCommitRequest) -> int:
        if self.log.pending.get(commit.producer_id):
            return GroupErrorCode.UNKNOWN_SERVER_ERROR
        return super().commit_refused(commit)


@defect("447.P4", PROMISE)
class LoadingIsUnexpected(GroupCoordinator):
    """A commit that arrives before the partition is loaded is refused with an error that clients take for fatal."""

    def answer_loading(self, message: Message) -> None:
        if message.kind == "produce":
            self.reply(message, ProduceResponse(GroupErrorCode.UNKNOWN_SERVER_ERROR))
        else:
            super().answer_loading(message)


@defect("447.P3", PROGRESS)
class MembersLoadedForEver(ClassicGroup):
    """Members loaded from the log have no session until they send a request."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self.is_loaded = False
        super().__init__(coordinator)
        self.is_loaded = True

    def keep(self, member: ClassicMember) -> None:
        if self.is_loaded:
            super().keep(member)


@defect("447.P3", PROGRESS, mode="new-protocol")
class EpochsLoadedForEver(ModernGroup):
    """Members of the new protocol that are loaded from the log have no session until they send a request."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self.is_loaded = False
        super().__init__(coordinator)
        self.is_loaded = True

    def keep(self, member: int) -> None:
        if self.is_loaded:
            super().keep(member)


@defect("447.P3", PROGRESS, mode="new-protocol")
class TargetNotLoaded(ModernGroup):
    """A new coordinator does not load the target assignment of the group."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        super().__init__(coordinator)
        self.target = {}


# The change from one generation to the next
@defect("447.P3", PROGRESS)
class SessionEndsQuietly(ClassicGroup):
    """A member whose session has expired is removed, and the other members are not asked to rejoin."""

    def session_expires(self, member: ClassicMember) -> None:
        waits = member.join is not None or member.sync is not None
        if self.members.get(member.member) is member and not waits and member.deadline <= self.env.now_ms:
            self.forget(member)
            self.store()


@defect("447.P3", PROGRESS, mode="new-protocol")
class EpochEndsQuietly(ModernGroup):
    """A member whose session has expired is removed, but the group does not change its epoch and target assignment."""

    def session_expires(self, member: int) -> None:
        if member in self.members and self.deadlines[member] <= self.env.now_ms:
            self.report_removed(self.members.pop(member))
            self.store()


@defect("447.16", PROMISE, static=True, session_timeout_ms=1_500, max_poll_ms=1_000)
class GenerationBeforeCommits(ClassicGroup):
    """The group takes a commit of the previous generation from a current member."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        error = super().commit_refused(metadata, partitions, transactional)
        is_before = metadata.generation == self.generation - 1
        return GroupErrorCode.NONE if error == GroupErrorCode.ILLEGAL_GENERATION and is_before else error


@defect("447.P2", PROMISE)
class FollowersFirst(ClassicGroup):
    """A follower that syncs before the leader gets the assignment of the previous generation."""

    def receive_sync(self, message: Message) -> None:
        request: SyncGroupRequest = message.body.data
        follows = self.state is State.COMPLETING_REBALANCE and request.member != self.leader
        if follows and not self.member_error(request.generation, request.member, request.instance):
            member = self.members[request.member]
            self.keep(member)
            self.answer(message, SyncGroupResponse(0, member.assignment))
        else:
            super().receive_sync(message)


@defect("447.P3", PROGRESS)
class AnyLeadersAssignment(ClassicGroup):
    """SyncGroup does not check the generation, so a former assignment may be taken for the current one."""

    def receive_sync(self, message: Message) -> None:
        request: SyncGroupRequest = message.body.data
        message.body = message.body._replace(data=request._replace(generation=self.generation))
        super().receive_sync(message)


@defect("447.P3", PROGRESS, static=True, session_timeout_ms=1_500, max_poll_ms=1_000)
class AnyGenerationLives(ClassicGroup):
    """Heartbeat does not check the generation, so a member that has missed one does not learn of it."""

    def receive_heartbeat(self, message: Message) -> None:
        request = message.body.data
        if request.generation != self.generation and not self.identity_error(request.member, request.instance):
            self.keep(self.members[request.member])
            self.answer(message, ErrorResponse(GroupErrorCode.NONE))
        else:
            super().receive_heartbeat(message)


@defect("447.21", PROMISE, mode="new-protocol-relaxed", metadata_at="poll", listener=False)
class AnyMembersEpoch(ModernGroup):
    """The group takes a commit under the epoch of any of its members."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        error = super().commit_refused(metadata, partitions, transactional)
        epochs = {member.epoch for member in self.members.values()}
        is_known = metadata.member in self.members and metadata.generation in epochs
        return GroupErrorCode.NONE if error == GroupErrorCode.STALE_MEMBER_EPOCH and is_known else error


@defect("447.21", PROMISE, mode="new-protocol-relaxed", metadata_at="poll", listener=False, fetch_records=1)
class FirstPartitionCovered(ModernGroup):
    """Of a commit under an older epoch, only the first partition is checked."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return super().commit_refused(metadata, partitions[:1], transactional)


@defect("447.8", PROMISE, mode="draft-repaired-by-generation")
class GenerationBeforeInDraft(GroupCoordinator):
    """The repaired draft also takes commits of the previous generation."""

    def commit_refused_in_draft(self, commit: GroupTxnOffsetCommitRequest) -> int:
        error = super().commit_refused_in_draft(commit)
        is_before = commit.metadata.generation == self.group.generation - 1
        return GroupErrorCode.NONE if error == GroupErrorCode.ILLEGAL_GENERATION and is_before else error


# Defects of the interface: the contents of a group's requests and the error codes of the answers.


@defect("447.1", NOTHING, interface=True)
class InitialisesOnce(GroupAwareCoordinator):
    """InitProducerId is refused for a producer that already has an assignment."""

    def group_init_refused(self, request: GroupInitProducerIdRequest) -> int:
        again = request.transactional_id in self.assignments and not self.is_completing(request)
        return super().group_init_refused(request) or (GroupErrorCode.INVALID_REQUEST if again else 0)


@defect("447.4", NOTHING, interface=True)
class GroupRequired(GroupAwareCoordinator):
    """InitProducerId with a transactional id and without a group is refused."""

    def init_refused(self, request: InitProducerIdRequest) -> int:
        alone = not isinstance(request, GroupInitProducerIdRequest)
        return super().init_refused(request) or (GroupErrorCode.INVALID_REQUEST if alone else 0)


class MembersNotRead(ClassicGroup):
    """The group does not read the generation and member of a commit."""

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        return super().commit_refused(GroupMetadata(), partitions, transactional)


@defect("447.7", NOTHING, interface=True, also=(MembersNotRead,))
class MetadataNotRead(GroupCoordinator):
    """The coordinator reads neither generation nor member of a commit in a transaction."""

    def commit_refused(self, commit: GroupTxnOffsetCommitRequest) -> int:
        return super().commit_refused(commit._replace(metadata=GroupMetadata()))


@defect("447.11", NOTHING, interface=True)
class OlderBrokersTakeGroups(GroupAwareCoordinator):
    """A broker from before KIP-447 accepts InitProducerId with a group."""

    def group_init_refused(self, request: GroupInitProducerIdRequest) -> int:
        error = super().group_init_refused(request)
        return 0 if error == GroupErrorCode.UNSUPPORTED_VERSION else error


@defect("447.11", NOTHING, interface=True)
class OlderBrokersTakeGenerations(GroupCoordinator):
    """A broker from before KIP-447 accepts TxnOffsetCommit with a generation."""

    def receive_commit(self, message: Message) -> None:
        self.receive_produce(message)


@defect("447.22", NOTHING, interface=True)
class OldWordsForAll(GroupCoordinator):
    """Every version of TxnOffsetCommit gets old error codes: 22 for a stale epoch and an unknown group."""

    def commit_refused(self, commit: GroupTxnOffsetCommitRequest) -> int:
        return super().commit_refused(commit._replace(version=min(commit.version, 5)))


@defect("447.22", NOTHING, interface=True)
class TopicsByName(GroupCoordinator):
    """An unknown topic is reported as an unknown topic name in every version."""

    def receive_commit(self, message: Message) -> None:
        commit: GroupTxnOffsetCommitRequest = message.body.data
        older = message.body._replace(data=commit._replace(version=min(commit.version, 5)))
        super().receive_commit(Message(message.number, message.kind, message.source, message.target, older))


# The kind of damage that each defect does is in `breaks`: with PROMISE some input is copied twice or never, and with
# PROGRESS something stays unresolved for ever, though faults have stopped.

REGISTRY = registry(Parts, build, __name__, group_fencing_clients)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
