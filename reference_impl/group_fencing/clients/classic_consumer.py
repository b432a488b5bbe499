"""A consumer under the classic protocol, with an eager assignor: all partitions are given up before each rebalance.

What changes the assignment and the group metadata happens in `poll` only; the heartbeat thread notices that the
generation is over, and, where the application does not poll for too long, leaves the group.
(AbstractCoordinator.java, ConsumerCoordinator.java)
"""

from enum import Enum

from fencepost.reference_impl.group_fencing.clients.consumer import Consumer, Listener
from fencepost.reference_impl.group_fencing.environment import Environment
from fencepost.reference_impl.group_fencing.errors import ErrorCode
from fencepost.reference_impl.group_fencing.events import Kind
from fencepost.reference_impl.group_fencing.messages import (
    NO_GENERATION,
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
from fencepost.reference_impl.transactions.clients.coordinator_call import RETRY_BACKOFF_US, Question
from fencepost.reference_impl.transactions.errors import RETRIABLE


class MemberState(Enum):
    """Kafka's names."""

    UNJOINED = 0
    PREPARING_REBALANCE = 1
    COMPLETING_REBALANCE = 2
    STABLE = 3


class ClassicConsumer(Consumer):
    """One member, or one that wants to be."""

    def __init__(self, env: Environment, slot: int, client: int, old: bool, listener: Listener | None) -> None:
        super().__init__(env, slot, client, old, listener)
        self.state = MemberState.UNJOINED
        self.generation = NO_GENERATION
        self.rejoin_needed = True
        self.members: tuple[int, ...] = ()  # of the generation, if this is its leader
        self.synced: tuple[int, ...] | None = None  # the assignment that the next poll will make known
        self.metadata = GroupMetadata(instance=self.instance)
        self.asked_as = self.generation, self.member  # in the heartbeat that is outstanding
        self.joining = self.new_call()
        self.beating = self.new_call()
        self.leaving = self.new_call()
        self.every(env.options.heartbeat_ms, self.beat)

    def group_metadata(self) -> GroupMetadata:
        return self.metadata

    def take_part(self) -> None:
        """Complete a rebalance whose answers are there, or begin the one that is needed."""
        if self.synced is not None:
            partitions, self.synced = self.synced, None
            self.metadata = GroupMetadata(self.generation, self.member, self.instance)
            self.tell(Kind.JOINED, generation=self.generation, member=self.member, instance=self.instance)
            self.assign(partitions, self.generation)
        elif self.rejoin_needed and not self.joining.outstanding:
            self.give_up(self.assignment, lost=self.generation == NO_GENERATION)
            self.join()

    # Joining

    def join(self) -> None:
        """Ask to be in the next generation."""
        self.rejoin_needed = False
        self.state = MemberState.PREPARING_REBALANCE
        self.joining.start(Question("join", self.ask_join, self.told_join))

    def ask_join(self, request: int) -> JoinGroupRequest:
        return JoinGroupRequest(self.member, self.instance)

    def told_join(self, request: int, answer: JoinGroupResponse) -> None:
        error = answer.error_code
        if error in RETRIABLE:
            self.joining.retry(RETRY_BACKOFF_US)
            return
        self.joining.finish()
        if error == ErrorCode.MEMBER_ID_REQUIRED:
            self.member = answer.member
            self.join()
        elif error:
            self.rebalance_failed(error)
        else:
            self.generation, self.member, self.members = answer.generation, answer.member, answer.members
            self.state = MemberState.COMPLETING_REBALANCE
            self.joining.start(Question("sync", self.ask_sync, self.told_sync))

    def ask_sync(self, request: int) -> SyncGroupRequest:
        return SyncGroupRequest(self.generation, self.member, self.instance, self.assignments())

    def assignments(self) -> dict[int, tuple[int, ...]]:
        """The leader's decision: ranges, by member id. (RangeAssignor.java)"""
        found: dict[int, tuple[int, ...]] = {}
        first = 0
        for number, member in enumerate(self.members):
            each, more = divmod(self.env.options.inputs, len(self.members))
            end = first + each + (number < more)
            found[member] = tuple(range(first, end))
            first = end
        return found

    def told_sync(self, request: int, answer: SyncGroupResponse) -> None:
        error = answer.error_code
        if error in RETRIABLE:
            self.joining.retry(RETRY_BACKOFF_US)
            return
        self.joining.finish()
        if error:
            self.rebalance_failed(error)
        else:
            self.state = MemberState.STABLE
            self.synced = answer.assignment

    def rebalance_failed(self, error: int) -> None:
        """The rebalance is to be begun again, by the next poll; or the instance id is somebody else's."""
        if error == ErrorCode.FENCED_INSTANCE_ID:
            self.error = error
        elif error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self.reset(forget_member=error == ErrorCode.UNKNOWN_MEMBER_ID)
        self.state = MemberState.UNJOINED
        self.rejoin_needed = True

    # The heartbeat thread

    def beat(self) -> None:
        """Say that the member lives, or leave if its application seems not to."""
        in_group = self.state is not MemberState.UNJOINED
        if in_group and self.env.now_ms - self.polled_ms > self.env.options.max_poll_ms:
            self.leave()
        elif self.state in (MemberState.COMPLETING_REBALANCE, MemberState.STABLE) and not self.beating.outstanding:
            self.beating.start(Question("heartbeat", self.ask_beat, self.told_beat))

    def ask_beat(self, request: int) -> HeartbeatRequest:
        self.asked_as = self.generation, self.member
        return HeartbeatRequest(self.generation, self.member, self.instance)

    def told_beat(self, request: int, answer: ErrorResponse) -> None:
        self.beating.finish()
        error = answer.error_code
        if self.asked_as != (self.generation, self.member) or self.state is not MemberState.STABLE:
            return
        if error == ErrorCode.REBALANCE_IN_PROGRESS:
            self.rejoin_needed = True
        elif error == ErrorCode.FENCED_INSTANCE_ID:
            self.error = error
        elif error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self.reset(forget_member=error == ErrorCode.UNKNOWN_MEMBER_ID)

    def leave(self) -> None:
        """Out of the group: a static member only falls silent."""
        if self.instance == NO_INSTANCE and self.member != NO_MEMBER and not self.leaving.outstanding:
            gone = LeaveGroupRequest(self.member, self.instance)
            self.leaving.start(Question("leave", lambda _: gone, lambda *_: self.leaving.finish()))
        self.tell(Kind.LEFT, generation=self.generation, member=self.member, instance=self.instance)
        self.joining.finish()
        self.reset(forget_member=True)

    def reset(self, forget_member: bool) -> None:
        """The generation is over for this member; its metadata stays, until a poll says otherwise."""
        self.generation = NO_GENERATION
        if forget_member:
            self.member = NO_MEMBER
        self.state = MemberState.UNJOINED
        self.synced = None
        self.rejoin_needed = True
