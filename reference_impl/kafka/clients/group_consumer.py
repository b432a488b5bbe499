"""This module has a consumer of a group, as far as both protocols share it, and a member under the classic protocol."""

from collections.abc import Callable, Iterable
from enum import Enum

from fencepost.reference_impl.kafka.clients.sends import RETRY_BACKOFF_US, CoordinatorCall, Question
from fencepost.reference_impl.kafka.errors import RETRIABLE, RETRIED, GroupErrorCode
from fencepost.reference_impl.kafka.group_environment import Environment, Kind, Place, consumer_name
from fencepost.reference_impl.kafka.messages import (
    NO_GENERATION,
    NO_INSTANCE,
    NO_MEMBER,
    ErrorResponse,
    GroupMetadata,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.reference_impl.simulation import Message, Node

# What the consumers of both protocols share: positions, the offsets they begin with, and the records they hand out.
#
# The application's thread is in `poll` or elsewhere; answers arrive at any time, and heartbeats leave by themselves.
# (ConsumerCoordinator.java, AsyncKafkaConsumer.java, SubscriptionState.java)


class Listener:
    """A `Listener` is a ConsumerRebalanceListener. Its methods are called in `poll` only."""

    def on_assigned(self, partitions: tuple[int, ...]) -> None:
        """These partitions are added to the consumer's assignment."""

    def on_revoked(self, partitions: tuple[int, ...]) -> None:
        """These partitions are about to be revoked."""

    def on_lost(self, partitions: tuple[int, ...]) -> None:
        """These partitions may be another member's already."""


class Consumer(Node):
    """A `Consumer` is one consumer. ``error`` is the error that its next `poll` throws, 0 for none."""

    def __init__(self, env: Environment, slot: int, client: int, old: bool, listener: Listener | None) -> None:
        super().__init__(consumer_name(slot), env.kernel)
        self.env = env
        self.slot = slot
        self.client = client
        self.instance = env.options.identity_of(slot) if env.options.static else NO_INSTANCE
        self.old = old
        self.listener = listener
        self.member = NO_MEMBER
        self.error = 0
        self.blocked = False  # the listener has not returned yet
        self.assignment: tuple[int, ...] = ()
        self.positions: dict[int, int] = {}
        self.polled_ms = env.now_ms
        self.calls: list[CoordinatorCall] = []
        self.fetching = self.new_call()
        self.committing = self.new_call()
        env.network.nodes[self.name] = self

    # What the application calls

    def poll(self) -> list[Place]:
        """Return records of the partitions whose position is known, and advance everything else."""
        if self.error or self.blocked:
            return []
        self.polled_ms = self.env.now_ms
        self.take_part()
        if self.blocked:
            return []
        self.find_positions()
        return self.hand_out()

    def take_part(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} must say what poll() does for the membership")

    def is_unaware(self) -> bool:
        """Return whether the answer with the member's partitions was lost, which is not repeated."""
        return False

    def leave(self) -> None:
        """Leave the group, because the application does not poll or closes the consumer."""
        raise NotImplementedError(f"{type(self).__name__} must say how it leaves")

    def group_metadata(self) -> GroupMetadata:
        raise NotImplementedError(f"{type(self).__name__} must say when its metadata changes")

    def seek_to_committed(self, partitions: Iterable[int]) -> None:
        """Reset the positions of these partitions to their committed offsets, if they are still assigned."""
        for partition in partitions:
            self.positions.pop(partition, None)
        self.fetching.finish()

    def commit(self, offsets: dict[int, int]) -> None:
        """Call commitAsync(), which is not part of any transaction."""
        metadata = self.group_metadata()

        def ask(request: int) -> OffsetCommitRequest:
            for partition, offset in offsets.items():
                self.report(Kind.OFFSET_PUT, partition=partition, offset=offset, generation=metadata.generation)
            return OffsetCommitRequest(metadata, offsets)

        if not self.committing.outstanding:
            self.committing.start(Question("offset_commit", ask, lambda *_: self.committing.finish()))

    # Positions

    def find_positions(self) -> None:
        if not self.fetching.outstanding and self.without_position():
            self.fetching.start(Question("offset_fetch", self.ask_offsets, self.offsets_answered))

    def without_position(self) -> tuple[int, ...]:
        return tuple(partition for partition in self.assignment if partition not in self.positions)

    def ask_offsets(self, request: int) -> OffsetFetchRequest:
        return OffsetFetchRequest(self.fetch_metadata(), self.without_position(), self.waits_for_stable())

    def fetch_metadata(self) -> GroupMetadata:
        """Return the metadata for OffsetFetch, which are empty for classic members."""
        return GroupMetadata()

    def waits_for_stable(self) -> bool:
        """Return require_stable, which since KIP-447 goes with isolation level read_committed."""
        return not self.old

    def offsets_answered(self, request: int, answer: OffsetFetchResponse) -> None:
        if answer.error_code in RETRIED or any(error for error, _ in answer.offsets):
            for partition, (error, _) in zip(self.without_position(), answer.offsets, strict=False):
                if error:
                    self.report(Kind.OFFSET_FETCHED, partition=partition, error=error)
            self.fetching.retry(RETRY_BACKOFF_US)
            return
        asked = self.without_position()
        self.fetching.finish()
        if answer.error_code:  # the membership is over, or about to change: ask again when it has
            return
        for partition, (_, offset) in zip(asked, answer.offsets, strict=True):
            self.positions[partition] = max(offset, 0)  # auto.offset.reset=earliest
            self.report(Kind.OFFSET_FETCHED, partition=partition, offset=offset)

    def hand_out(self) -> list[Place]:
        """Return up to max.poll.records records from the positions on, with one fetch of each partition in turn.
        (FetchCollector.collectFetch)"""
        options, found = self.env.options, list[Place]()
        partitions = list(self.assignment)
        while partitions and len(found) < options.max_poll_records:
            partition = partitions.pop(0)
            most = min(options.fetch_records, options.max_poll_records - len(found))
            fetched = [self.take(partition) for _ in range(most)]
            found.extend(place for place in fetched if place is not None)
            if None not in fetched:
                partitions.append(partition)
        return found

    def take(self, partition: int) -> Place | None:
        end = self.env.input_end(partition)
        offset = self.positions.get(partition, end)
        if offset >= end:
            return None
        self.positions[partition] = offset + 1
        self.report(Kind.CONSUMED, partition=partition, offset=offset, generation=self.group_metadata().generation)
        return self.env.input_place(partition, offset)

    # The assignment

    def assign(self, partitions: tuple[int, ...], generation: int) -> None:
        """Take these partitions as the assignment, with the known positions of those that were assigned before."""
        added = tuple(partition for partition in partitions if partition not in self.assignment)
        self.assignment = partitions
        self.fetching.finish()
        for partition in added:
            self.report(Kind.ASSIGNED, partition=partition, generation=generation)
        if self.listener is not None:
            self.listener.on_assigned(added)

    def give_up(self, partitions: tuple[int, ...], lost: bool) -> None:
        """Give up partitions that the group has revoked or that are lost."""
        if self.listener is not None and partitions:
            (self.listener.on_lost if lost else self.listener.on_revoked)(partitions)
        self.assignment = tuple(partition for partition in self.assignment if partition not in partitions)
        self.fetching.finish()
        for partition in partitions:
            self.positions.pop(partition, None)
            self.report(Kind.LOST if lost else Kind.REVOKED, partition=partition)

    # Plumbing

    def new_call(self) -> CoordinatorCall:
        call = CoordinatorCall(self.env, self, self.env.group_address)
        self.calls.append(call)
        return call

    def receive(self, message: Message) -> None:
        for call in self.calls:
            call.answer(message.body)

    def every(self, ms: int, act: Callable[[], object]) -> None:
        def again(_: object) -> None:
            act()
            self.after(ms * 1000, again)

        self.after(ms * 1000, again)

    def report(self, kind: int, **columns: int) -> None:
        self.env.report(kind, slot=self.slot, client=self.client, **columns)


# A consumer under the classic protocol, with an eager assignor: all partitions are given up before each rebalance.
#
# What changes the assignment and the group metadata happens in `poll` only; the heartbeat thread notices that the
# generation is over, and, where the application does not poll for too long, leaves the group.
# (AbstractCoordinator.java, ConsumerCoordinator.java)


class MemberState(Enum):
    """A `MemberState` is one of Kafka's states of a classic member."""

    UNJOINED = 0
    PREPARING_REBALANCE = 1
    COMPLETING_REBALANCE = 2
    STABLE = 3


class ClassicConsumer(Consumer):
    """A `ClassicConsumer` is a member of a classic group, or a consumer that is about to join."""

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
        if self.synced is not None:
            partitions, self.synced = self.synced, None
            self.metadata = GroupMetadata(self.generation, self.member, self.instance)
            self.report(Kind.JOINED, generation=self.generation, member=self.member, instance=self.instance)
            self.assign(partitions, self.generation)
        elif self.rejoin_needed and not self.joining.outstanding:
            self.give_up(self.assignment, lost=self.generation == NO_GENERATION)
            self.join()

    # Joining

    def join(self) -> None:
        self.rejoin_needed = False
        self.state = MemberState.PREPARING_REBALANCE
        self.joining.start(Question("join", self.ask_join, self.join_answered))

    def ask_join(self, request: int) -> JoinGroupRequest:
        return JoinGroupRequest(self.member, self.instance)

    def join_answered(self, request: int, answer: JoinGroupResponse) -> None:
        error = answer.error_code
        if error in RETRIABLE:
            self.joining.retry(RETRY_BACKOFF_US)
            return
        self.joining.finish()
        if error == GroupErrorCode.MEMBER_ID_REQUIRED:
            self.member = answer.member
            self.join()
        elif error:
            self.rebalance_failed(error)
        else:
            self.generation, self.member, self.members = answer.generation, answer.member, answer.members
            self.state = MemberState.COMPLETING_REBALANCE
            self.joining.start(Question("sync", self.ask_sync, self.sync_answered))

    def ask_sync(self, request: int) -> SyncGroupRequest:
        return SyncGroupRequest(self.generation, self.member, self.instance, self.assignments())

    def assignments(self) -> dict[int, tuple[int, ...]]:
        """Return the leader's assignment in ranges, by member id. (RangeAssignor.java)"""
        found: dict[int, tuple[int, ...]] = {}
        first = 0
        for number, member in enumerate(self.members):
            each, more = divmod(self.env.options.inputs, len(self.members))
            end = first + each + (number < more)
            found[member] = tuple(range(first, end))
            first = end
        return found

    def sync_answered(self, request: int, answer: SyncGroupResponse) -> None:
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
        """Begin the rebalance again at the next poll, or fail if another member has the instance id."""
        if error == GroupErrorCode.FENCED_INSTANCE_ID:
            self.error = error
        elif error in (GroupErrorCode.UNKNOWN_MEMBER_ID, GroupErrorCode.ILLEGAL_GENERATION):
            self.reset(forget_member=error == GroupErrorCode.UNKNOWN_MEMBER_ID)
        self.state = MemberState.UNJOINED
        self.rejoin_needed = True

    # The heartbeat thread

    def beat(self) -> None:
        """Send a heartbeat, or leave if the application has not polled for too long."""
        in_group = self.state is not MemberState.UNJOINED
        if in_group and self.env.now_ms - self.polled_ms > self.env.options.max_poll_ms:
            self.leave()
        elif self.state in (MemberState.COMPLETING_REBALANCE, MemberState.STABLE) and not self.beating.outstanding:
            self.beating.start(Question("heartbeat", self.ask_beat, self.heartbeat_answered))

    def ask_beat(self, request: int) -> HeartbeatRequest:
        self.asked_as = self.generation, self.member
        return HeartbeatRequest(self.generation, self.member, self.instance)

    def heartbeat_answered(self, request: int, answer: ErrorResponse) -> None:
        self.beating.finish()
        error = answer.error_code
        if self.asked_as != (self.generation, self.member) or self.state is not MemberState.STABLE:
            return
        if error == GroupErrorCode.REBALANCE_IN_PROGRESS:
            self.rejoin_needed = True
        elif error == GroupErrorCode.FENCED_INSTANCE_ID:
            self.error = error
        elif error in (GroupErrorCode.UNKNOWN_MEMBER_ID, GroupErrorCode.ILLEGAL_GENERATION):
            self.reset(forget_member=error == GroupErrorCode.UNKNOWN_MEMBER_ID)

    def leave(self) -> None:
        """Leave the group. A static member sends no request for that."""
        if self.instance == NO_INSTANCE and self.member != NO_MEMBER and not self.leaving.outstanding:
            gone = LeaveGroupRequest(self.member, self.instance)
            self.leaving.start(Question("leave", lambda _: gone, lambda *_: self.leaving.finish()))
        self.report(Kind.LEFT, generation=self.generation, member=self.member, instance=self.instance)
        self.joining.finish()
        self.reset(forget_member=True)

    def reset(self, forget_member: bool) -> None:
        """Forget the generation. The member's metadata stays until a poll changes it."""
        self.generation = NO_GENERATION
        if forget_member:
            self.member = NO_MEMBER
        self.state = MemberState.UNJOINED
        self.synced = None
        self.rejoin_needed = True
