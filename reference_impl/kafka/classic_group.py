"""This module has a group under the classic protocol: join, sync, heartbeat, leave, generations, and static members
(KIP-345).

A rebalance has two halves. In the first half all members join, those that do not join in time are removed, and a new
generation begins. In the second half the leader, a client, sends the assignment. Only then the group is stored, so a
coordinator that fails over in between knows the generation before. (ClassicGroup.java, GroupMetadataManager.java)
"""

from enum import Enum
from typing import NamedTuple

from fencepost.reference_impl.kafka.errors import GroupErrorCode
from fencepost.reference_impl.kafka.group_coordinator import GroupCoordinator, GroupState
from fencepost.reference_impl.kafka.group_environment import Kind
from fencepost.reference_impl.kafka.messages import (
    NO_INSTANCE,
    NO_MEMBER,
    ErrorResponse,
    GroupMetadata,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.reference_impl.simulation import Message


class State(Enum):
    """A `State` is one of Kafka's group states, without Dead, because the one group is never deleted."""

    EMPTY = 0
    PREPARING_REBALANCE = 1
    COMPLETING_REBALANCE = 2
    STABLE = 3


class Member:
    """A `Member` is one member. ``join`` and ``sync`` are its requests that wait for an answer."""

    __slots__ = ("assignment", "deadline", "instance", "join", "member", "sync")

    def __init__(self, member: int, instance: int, assignment: tuple[int, ...] = ()) -> None:
        self.member = member
        self.instance = instance
        self.assignment = assignment
        self.join: Message | None = None
        self.sync: Message | None = None
        self.deadline = 0


class Stored(NamedTuple):
    """A `Stored` is the group's record in the log, with (member, instance, assignment) of each member."""

    generation: int
    leader: int
    members: tuple[tuple[int, int, tuple[int, ...]], ...]


class ClassicGroup(GroupState):
    """A `ClassicGroup` is a group whose members join, sync and leave."""

    __slots__ = ("delayed", "generation", "leader", "pending", "phase", "state")

    members: dict[int, Member]
    generation: int

    def __init__(self, coordinator: GroupCoordinator) -> None:
        super().__init__(coordinator)
        stored: Stored = coordinator.stored or Stored(0, NO_MEMBER, ())
        self.generation = stored.generation
        self.leader = stored.leader
        self.pending: set[int] = set()  # ids given out to members that have not joined with them yet (KIP-394)
        self.state = State.STABLE if stored.members else State.EMPTY
        self.phase = 0  # half rebalances so far: a timer of an earlier one means nothing
        self.delayed = False  # whether the first members of an empty group wait for more
        for member, instance, assignment in stored.members:
            self.members[member] = Member(member, instance, assignment)
            self.keep(self.members[member])

    @property
    def is_known(self) -> bool:
        return self.generation > 0 or self.state is not State.EMPTY

    def receive(self, message: Message) -> None:
        handlers = {
            "join": self.receive_join, "sync": self.receive_sync, "heartbeat": self.receive_heartbeat,
            "leave": self.receive_leave,
        }  # fmt: skip
        handlers[message.kind](message)

    # Joining

    def receive_join(self, message: Message) -> None:
        """Handle JoinGroup, answered when all have joined, or at once if nothing has changed."""
        request: JoinGroupRequest = message.body.data
        if request.member == NO_MEMBER:
            if request.instance == NO_INSTANCE:
                self.ask_to_come_again(message)
            else:
                self.join_static(message, request)
        elif request.member in self.pending:
            self.pending.discard(request.member)
            self.add(Member(request.member, request.instance), message)
        elif error := self.identity_error(request.member, request.instance):
            self.answer(message, JoinGroupResponse(error))
        else:
            self.rejoin(self.members[request.member], message)

    def ask_to_come_again(self, message: Message) -> None:
        """Give a new member its id first, so that a repeated request does not make it two members (KIP-394)."""
        member = self.env.next_member()
        self.pending.add(member)
        self.later(self.env.options.session_timeout_ms, self.pending_expires, member)
        self.answer(message, JoinGroupResponse(GroupErrorCode.MEMBER_ID_REQUIRED, member=member))

    def join_static(self, message: Message, request: JoinGroupRequest) -> None:
        """Replace the static member with the same instance id, which is thereby fenced (KIP-345)."""
        before = self.of_instance(request.instance)
        member = self.env.next_member()
        if before is None:
            self.add(Member(member, request.instance), message)
            return
        for waiting, answer in ((before.join, JoinGroupResponse), (before.sync, SyncGroupResponse)):
            if waiting is not None:
                self.answer(waiting, answer(GroupErrorCode.FENCED_INSTANCE_ID))
        del self.members[before.member]
        successor = self.members[member] = Member(member, request.instance, before.assignment)
        if self.leader == before.member:
            self.leader = member
        self.keep(successor)
        if self.state is State.STABLE:
            self.store()
            self.answer_join(successor, message)
        else:
            successor.join = message
            self.prepare_rebalance()

    def add(self, member: Member, message: Message) -> None:
        self.members[member.member] = member
        member.join = message
        self.prepare_rebalance()

    def rejoin(self, member: Member, message: Message) -> None:
        """Answer a follower again that has lost its answer. In a stable group the leader's begins a rebalance."""
        self.keep(member)
        if self.state is State.PREPARING_REBALANCE:
            member.join = message
            self.complete_if_all_joined()
        elif self.state is State.COMPLETING_REBALANCE or member.member != self.leader:
            self.answer_join(member, message)
        else:
            member.join = message
            self.prepare_rebalance()

    def prepare_rebalance(self) -> None:
        """Begin a rebalance, and answer members that wait for their assignment accordingly."""
        if self.state is State.PREPARING_REBALANCE:
            self.complete_if_all_joined()
            return
        for member in self.members.values():
            if member.sync is not None:
                self.answer(member.sync, SyncGroupResponse(GroupErrorCode.REBALANCE_IN_PROGRESS))
                member.sync = None
        self.delayed = self.state is State.EMPTY and self.env.options.initial_delay_ms > 0
        self.state = State.PREPARING_REBALANCE
        self.phase += 1
        options = self.env.options
        self.later(options.initial_delay_ms if self.delayed else options.max_poll_ms, self.time_is_up, self.phase)
        self.complete_if_all_joined()

    def time_is_up(self, phase: int) -> None:
        """Complete the join at the rebalance time-out, or after the first delay of an empty group."""
        if phase == self.phase and self.state is State.PREPARING_REBALANCE:
            self.delayed = False
            self.complete_join()

    def complete_if_all_joined(self) -> None:
        all_joined = all(member.join is not None for member in self.members.values())
        if self.state is State.PREPARING_REBALANCE and not self.delayed and all_joined and not self.pending:
            self.complete_join()

    def complete_join(self) -> None:
        """Begin a new generation of the members that have joined, and of absent static members."""
        for member in list(self.members.values()):
            if member.join is None and member.instance == NO_INSTANCE:
                self.forget(member)
        joined = [member for member in self.members.values() if member.join is not None]
        if self.members and not joined:
            self.later(self.env.options.max_poll_ms, self.time_is_up, self.phase)
            return
        self.generation += 1
        self.phase += 1
        self.env.report(Kind.GENERATION_BEGUN, generation=self.generation)
        if not joined:
            self.state = State.EMPTY
            self.store()
            return
        self.state = State.COMPLETING_REBALANCE
        if self.leader not in {member.member for member in joined}:
            self.leader = joined[0].member
        for member in joined:
            message, member.join = member.join, None
            assert message is not None, "only those that have joined"
            self.keep(member)
            self.answer_join(member, message)
        self.later(self.env.options.max_poll_ms, self.sync_is_due, self.phase)

    def answer_join(self, member: Member, message: Message) -> None:
        members = tuple(sorted(self.members)) if member.member == self.leader else ()
        self.answer(message, JoinGroupResponse(0, self.generation, member.member, self.leader, members))

    # The second half

    def receive_sync(self, message: Message) -> None:
        request: SyncGroupRequest = message.body.data
        error = self.member_error(request.generation, request.member, request.instance)
        if not error and self.state is State.PREPARING_REBALANCE:
            error = GroupErrorCode.REBALANCE_IN_PROGRESS
        if error:
            self.answer(message, SyncGroupResponse(error))
            return
        member = self.members[request.member]
        self.keep(member)
        if self.state is State.STABLE:
            self.answer(message, SyncGroupResponse(0, member.assignment))
            return
        member.sync = message
        if request.member == self.leader:
            self.assign(request)

    def assign(self, request: SyncGroupRequest) -> None:
        self.state = State.STABLE
        for member in self.members.values():
            member.assignment = request.assignments.get(member.member, ())
        self.store()
        for member in self.members.values():
            if member.sync is not None:
                message, member.sync = member.sync, None
                self.keep(member)
                self.answer(message, SyncGroupResponse(0, member.assignment))

    def sync_is_due(self, phase: int) -> None:
        """Remove the members that have not sent SyncGroup within the rebalance time-out."""
        if phase == self.phase and self.state is State.COMPLETING_REBALANCE:
            for member in list(self.members.values()):
                if member.sync is None:
                    self.forget(member)
            self.prepare_rebalance()

    # Heartbeats, and the end of a membership

    def receive_heartbeat(self, message: Message) -> None:
        """Handle Heartbeat, by whose answer a member also learns that it must join again."""
        request: HeartbeatRequest = message.body.data
        error = self.member_error(request.generation, request.member, request.instance)
        if not error:
            self.keep(self.members[request.member])
            error = GroupErrorCode.REBALANCE_IN_PROGRESS if self.state is State.PREPARING_REBALANCE else 0
        self.answer(message, ErrorResponse(error))

    def receive_leave(self, message: Message) -> None:
        request: LeaveGroupRequest = message.body.data
        pending = request.member in self.pending
        self.pending.discard(request.member)
        error = 0 if pending else self.identity_error(request.member, request.instance)
        if not error and not pending:
            self.remove(self.members[request.member])
        self.answer(message, ErrorResponse(error))

    def remove(self, member: Member) -> None:
        self.forget(member)
        self.prepare_rebalance()

    def forget(self, member: Member) -> None:
        del self.members[member.member]
        self.env.report(Kind.MEMBER_REMOVED, member=member.member, instance=member.instance, generation=self.generation)

    def keep(self, member: Member) -> None:
        timeout_ms = self.env.options.session_timeout_ms
        member.deadline = self.env.now_ms + timeout_ms
        self.later(timeout_ms, self.session_expires, member)

    def session_expires(self, member: Member) -> None:
        """Remove a member whose session has expired, unless it waits for an answer itself."""
        waits = member.join is not None or member.sync is not None
        if self.members.get(member.member) is member and not waits and member.deadline <= self.env.now_ms:
            self.remove(member)

    def pending_expires(self, member: int) -> None:
        """Forget the id of a member that has not joined with it in time."""
        if member in self.pending:
            self.pending.discard(member)
            self.complete_if_all_joined()

    # Who may commit

    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        """Return the error for a commit, or 0 for none. Partitions are not checked.
        (ClassicGroup.validateOffsetCommit)"""
        generation, member, instance = metadata
        if generation < 0 and self.state is State.EMPTY:
            return GroupErrorCode.NONE
        if generation >= 0 or member != NO_MEMBER or instance != NO_INSTANCE:
            if error := self.member_error(generation, member, instance):
                return error
        elif not transactional:
            return GroupErrorCode.UNKNOWN_MEMBER_ID
        completing = self.state is State.COMPLETING_REBALANCE and not transactional
        return GroupErrorCode.REBALANCE_IN_PROGRESS if completing else GroupErrorCode.NONE

    def fetch_refused(self, metadata: GroupMetadata) -> int:
        return GroupErrorCode.NONE

    def member_error(self, generation: int, member: int, instance: int) -> int:
        """Return error 25, 82 or 22 for a client that is not a member of this generation, or 0."""
        error = self.identity_error(member, instance)
        return error or (GroupErrorCode.NONE if generation == self.generation else GroupErrorCode.ILLEGAL_GENERATION)

    def store(self) -> None:
        members = tuple((m.member, m.instance, m.assignment) for m in self.members.values())
        self.coordinator.stored = Stored(self.generation, self.leader, members)
