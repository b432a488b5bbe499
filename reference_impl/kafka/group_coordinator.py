"""This module has the coordinator of a consumer group, with its offsets partition and the checks of commits."""

from abc import abstractmethod
from collections.abc import Collection, Iterable
from typing import Any

from fencepost.reference_impl.kafka.errors import GroupErrorCode
from fencepost.reference_impl.kafka.group_environment import Environment, Kind, Place
from fencepost.reference_impl.kafka.leader import OffsetsLeader, Waiting
from fencepost.reference_impl.kafka.log import NO_GUARD, OffsetsLog, PartitionLog, ProducerEntry
from fencepost.reference_impl.kafka.messages import (
    NO_INSTANCE,
    NO_OFFSET,
    Batch,
    ErrorResponse,
    GroupMetadata,
    GroupTxnOffsetCommitRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    ProduceRequest,
    ProduceResponse,
    ResponseBody,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from fencepost.reference_impl.simulation import Message

# The offsets partition, whose commits name the partitions of the input that they are of.
#
# The transactions below handle pending, committed and aborted offsets. This part adds the contents of a record and the
# commit without a transaction. (OffsetMetadataManager.java)


class GroupOffsetsLog(OffsetsLog):
    """A `GroupOffsetsLog` is the partition with the group's offsets."""

    __slots__ = ()

    env: Environment

    def key_of(self, batch: Batch) -> int:
        return self.env.contents[batch.record].partition

    def apply_data(self, entry: ProducerEntry, batch: Batch) -> None:
        """Apply an offset, which counts at once outside a transaction."""
        if batch.is_transactional:
            super().apply_data(entry, batch)
        else:
            PartitionLog.apply_data(self, entry, batch)
            self.committed[self.key_of(batch)] = batch
            if self.env.contents[batch.record].offset == NO_OFFSET:
                self.forget_pending(self.key_of(batch))

    def forget_pending(self, partition: int) -> None:
        for offsets in self.pending.values():
            offsets.pop(partition, None)

    def expirable(self) -> list[int]:
        """Return the partitions whose offset may be deleted, which no transaction may still change."""
        return [partition for partition in sorted(self.committed) if self.is_stable(partition)]

    def committed_offset(self, partition: int) -> int:
        batch = self.committed.get(partition)
        return NO_OFFSET if batch is None else self.env.contents[batch.record].offset


# The group coordinator leads the offsets partition, stores the group, and checks commits against it.
#
# A commit in a transaction is first verified with (or added by) the transaction coordinator, and then checked against
# the group's state at that moment (CoordinatorRuntime.scheduleTransactionalWriteOperation). `stored` survives
# a failover, and the coordinator's memory does not. (GroupCoordinatorService.java, OffsetMetadataManager.java)

SINCE_TOPIC_IDS = (GroupErrorCode.STALE_MEMBER_EPOCH, GroupErrorCode.GROUP_ID_NOT_FOUND)
"""Older versions of TxnOffsetCommit do not know these errors and answer 22 instead (KIP-1319)."""
WITH_TOPIC_IDS = 6
WITH_METADATA = 3  # the version of TxnOffsetCommit that brought member and generation, in KIP-447's release


class GroupState:
    """A `GroupState` is a group under one protocol in one coordinator's memory. ``members`` are by id."""

    __slots__ = ("coordinator", "env", "members")

    def __init__(self, coordinator: "GroupCoordinator") -> None:
        self.coordinator = coordinator
        self.env = coordinator.env
        self.members: dict[int, Any] = {}

    @property
    @abstractmethod
    def is_known(self) -> bool:
        """Return whether such a group exists or has existed."""

    @property
    @abstractmethod
    def generation(self) -> int:
        """Return the current generation, or the group's epoch."""

    @abstractmethod
    def receive(self, message: Message) -> None:
        """Handle a member's request."""

    @abstractmethod
    def remove(self, member: Any) -> None:
        """Remove the member from the group."""

    @abstractmethod
    def commit_refused(self, metadata: GroupMetadata, partitions: tuple[int, ...], transactional: bool) -> int:
        """Return the error for a commit of offsets of these partitions, or 0 for none."""

    @abstractmethod
    def fetch_refused(self, metadata: GroupMetadata) -> int:
        """Return the error for a fetch of offsets, or 0 for none."""

    def expire(self, member: int) -> bool:
        """End the session of a member. Return False if there is no such member."""
        if member not in self.members:
            return False
        self.remove(self.members[member])
        return True

    def identity_error(self, member: int, instance: int) -> int:
        """Return error 25 for an unknown member, 82 if another member has the instance id, or 0."""
        if instance != NO_INSTANCE:
            holder = self.of_instance(instance)
            if holder is None:
                return GroupErrorCode.UNKNOWN_MEMBER_ID
            if holder.member != member:
                return GroupErrorCode.FENCED_INSTANCE_ID
        return GroupErrorCode.NONE if member in self.members else GroupErrorCode.UNKNOWN_MEMBER_ID

    def of_instance(self, instance: int) -> Any:
        found = (member for member in self.members.values() if member.instance == instance != NO_INSTANCE)
        return next(found, None)

    def answer(self, message: Message, data: Any) -> None:
        self.coordinator.reply(message, data)

    def later(self, ms: int, handler: Any, argument: Any = None) -> None:
        """Set a timer of this group, which the next coordinator ignores."""

        def fire(_: object) -> None:
            if self.coordinator.group is self and not self.coordinator.loading:
                handler(argument)

        self.coordinator.after(ms * 1000, fire)


class OffsetsBatch(ProduceRequest):
    """An `OffsetsBatch` is the batch of a commit together with its request."""

    commit: GroupTxnOffsetCommitRequest


class GroupCoordinator(OffsetsLeader):
    """A `GroupCoordinator` is the leader of the group's offsets partition."""

    __slots__ = ("contributors", "group", "load_ms", "loading", "stored")

    env: Environment
    log: GroupOffsetsLog

    def __init__(self, env: Environment, log: GroupOffsetsLog) -> None:
        super().__init__(env, log)
        self.stored: Any = None  # the group's latest record, whatever its protocol writes
        # In the draft: who committed last for each partition of the input, as (producer id, generation); the records of
        # commits have both, so that it survives a fail-over (447.8).
        self.contributors: dict[int, tuple[int, int]] = {}
        self.loading = False
        self.load_ms = 0  # how long the next coordinator takes to load, if a driver sets it
        self.group: GroupState = env.parts.new_group(self)

    def receive(self, message: Message) -> None:
        kind = message.kind
        if kind == "check_answer":
            self.receive_check_answer(message)
        elif self.loading:
            self.answer_loading(message)
        elif kind == "marker":
            self.receive_marker(message)
        elif kind == "produce":
            self.receive_commit(message)
        elif kind == "offset_fetch":
            self.receive_fetch(message)
        elif kind == "offset_commit":
            self.receive_plain_commit(message)
        else:
            self.group.receive(message)

    # One reign

    def change(self, restart: bool = False) -> None:
        """Make another broker the coordinator, or the same one after a restart. It loads the partition first."""
        super().change(restart)
        self.loading = True
        leader_epoch = self.log.leader_epoch

        def load(_: object) -> None:
            if leader_epoch == self.log.leader_epoch:  # no other one has followed meanwhile
                self.load(_)

        if self.load_ms:
            self.after(self.load_ms * 1000, load)
        else:
            self.env.pace.load_later(self, load)

    def load(self, _: object) -> None:
        self.group = self.env.parts.new_group(self)
        self.loading = False
        self.env.report(Kind.COORDINATOR_LOADED, generation=self.group.generation)

    def answer_loading(self, message: Message) -> None:
        """Answer a request before the partition is loaded. A transaction coordinator gets another code than clients."""
        answers: dict[str, Any] = {
            "marker": WriteTxnMarkersResponse(GroupErrorCode.NOT_LEADER_OR_FOLLOWER),
            "produce": ProduceResponse(GroupErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
            "offset_fetch": OffsetFetchResponse(GroupErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        }
        self.reply(message, answers.get(message.kind, ErrorResponse(GroupErrorCode.COORDINATOR_LOAD_IN_PROGRESS)))

    def reply(self, message: Message, data: Any) -> None:
        self.env.network.send(
            f"{message.kind}_answer", self.name, message.source, ResponseBody(message.body.number, data)
        )

    # Commits in a transaction

    def receive_commit(self, message: Message) -> None:
        """Handle TxnOffsetCommit, whose version with a generation a broker from before KIP-447 does not know. Topics
        are looked up first, by name or by id (KafkaApis.handleTxnOffsetCommitRequest)."""
        commit: GroupTxnOffsetCommitRequest = message.body.data
        if self.env.options.old_brokers and commit.version >= WITH_METADATA:
            self.reply(message, ProduceResponse(GroupErrorCode.UNSUPPORTED_VERSION))
        elif self.env.hidden:
            by_id = commit.version >= WITH_TOPIC_IDS
            error = GroupErrorCode.UNKNOWN_TOPIC_ID if by_id else GroupErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            self.reply(message, ProduceResponse(error))
        else:
            self.receive_produce(message)

    def batch_of(self, data: Any) -> ProduceRequest:
        batch = OffsetsBatch(
            data.transactional_id, self.log.partition, data.producer_id, data.producer_epoch, -1, data.record,
            more=data.more,
        )  # fmt: skip
        batch.commit = data
        return batch

    def append(self, waiting: Waiting) -> None:
        """Append a commit if the group accepts it, once the transaction coordinator has accepted it."""
        assert isinstance(waiting.request, OffsetsBatch), "what producers send here are commits"
        error = self.commit_refused(waiting.request.commit)
        if error:
            self.refuse(waiting, error)
            return
        before = len(self.log.batches)
        super().append(waiting)
        if len(self.log.batches) > before:
            self.taken(waiting.request.commit)

    def commit_refused(self, commit: GroupTxnOffsetCommitRequest) -> int:
        """Return the error for a commit in a transaction as its version knows it (KIP-1319), or 0 for none."""
        if self.env.options.is_draft:
            return self.commit_refused_in_draft(commit)
        if self.group.is_known:
            error = self.group.commit_refused(commit.metadata, self.partitions_of(commit), True)
        else:
            error = GroupErrorCode.NONE if commit.metadata.generation < 0 else GroupErrorCode.GROUP_ID_NOT_FOUND
        return (
            GroupErrorCode.ILLEGAL_GENERATION if error in SINCE_TOPIC_IDS and commit.version < WITH_TOPIC_IDS else error
        )

    def commit_refused_in_draft(self, commit: GroupTxnOffsetCommitRequest) -> int:
        """Return the draft's error for a commit, which is checked against the last committer, and not against the group
        unless the draft is repaired by generation (447.8)."""
        generation = commit.metadata.generation
        if any(self.is_overtaken(commit, partition) for partition in self.partitions_of(commit)):
            return GroupErrorCode.CONCURRENT_PRODUCER_COMMIT
        if generation >= 0 and self.env.options.fences_by_generation and generation != self.group.generation:
            return GroupErrorCode.ILLEGAL_GENERATION
        return GroupErrorCode.NONE

    def is_overtaken(self, commit: GroupTxnOffsetCommitRequest, partition: int) -> bool:
        """Return whether another producer has committed in a later generation, or in any if this has none."""
        producer_id, generation = self.contributors.get(partition, (commit.producer_id, 0))
        return producer_id != commit.producer_id and commit.metadata.generation < max(generation, 0)

    def partitions_of(self, commit: GroupTxnOffsetCommitRequest) -> tuple[int, ...]:
        return tuple(self.env.contents[record].partition for record in commit.records)

    def taken(self, commit: GroupTxnOffsetCommitRequest) -> None:
        generation = commit.metadata.generation
        self.contributors |= dict.fromkeys(self.partitions_of(commit), (commit.producer_id, generation))
        for record in commit.records:
            self.report_offset(Kind.OFFSET_TAKEN, commit, self.env.contents[record], 0)

    def refuse(self, waiting: Waiting, error: int) -> None:
        assert isinstance(waiting.request, OffsetsBatch), "what producers send here are commits"
        for record in waiting.request.commit.records:
            self.report_offset(Kind.OFFSET_REFUSED, waiting.request.commit, self.env.contents[record], error)
        super().refuse(waiting, error)

    def report_offset(self, kind: int, commit: GroupTxnOffsetCommitRequest, place: Place, error: int) -> None:
        self.env.report(
            kind, generation=commit.metadata.generation, member=commit.metadata.member,
            instance=commit.metadata.instance, partition=place.partition, offset=place.offset,
            producer_id=commit.producer_id, epoch=commit.producer_epoch, error=error,
        )  # fmt: skip

    def receive_marker(self, message: Message) -> None:
        """Handle the end of a transaction, which commits or drops its pending offsets."""
        request: WriteTxnMarkersRequest = message.body.data
        pending = self.log.pending.get(request.producer_id, {})
        super().receive_marker(message)
        if request.producer_id not in self.log.pending:
            for partition, batch in pending.items():
                self.env.report(
                    Kind.OFFSET_SETTLED, partition=partition, offset=self.env.contents[batch.record].offset,
                    producer_id=batch.producer_id, epoch=batch.producer_epoch,
                    outcome=int(request.transaction_result),
                )  # fmt: skip

    # Commits in none, and fetches

    def receive_plain_commit(self, message: Message) -> None:
        request: OffsetCommitRequest = message.body.data
        error = self.group.commit_refused(request.metadata, tuple(request.offsets), False)
        if not error:
            self.write_plainly(Place(partition, offset) for partition, offset in request.offsets.items())
        self.reply(message, ErrorResponse(error))

    def write_plainly(self, places: Iterable[Place]) -> None:
        self.env.writing.extend(places)
        records = [self.env.next_record() for _ in tuple(self.env.writing)]
        batch = ProduceRequest(-1, self.log.partition, -1, -1, -1, records[0], False, tuple(records[1:]))
        self.log.append(batch, NO_GUARD)

    def expire_offsets(self, among: Collection[int]) -> bool:
        """Delete expired offsets (offsets.retention.minutes) of a group without members. Return False if there is
        nothing to delete, the group has a member, or it is not loaded."""
        spared = bool(self.loading or self.group.members)
        expired = [] if spared else [p for p in self.log.expirable() if p in among]
        if expired:
            self.write_plainly(Place(partition, NO_OFFSET) for partition in expired)
        return bool(expired)

    def receive_fetch(self, message: Message) -> None:
        request: OffsetFetchRequest = message.body.data
        error = self.group.fetch_refused(request.metadata)
        offsets = () if error else tuple(self.fetched(partition, request) for partition in request.partitions)
        self.reply(message, OffsetFetchResponse(error, offsets))

    def fetched(self, partition: int, request: OffsetFetchRequest) -> tuple[int, int]:
        """Return one partition's (error, offset), no offset while it may still change (447.9, 447.16)."""
        error = 0 if self.log.is_stable(partition) else self.unstable(request)
        if error:
            self.env.report(Kind.FETCH_HELD, partition=partition, error=error)
            return error, NO_OFFSET
        offset = self.log.committed_offset(partition)
        self.env.report(
            Kind.FETCH_ANSWERED, partition=partition, offset=offset, outcome=int(request.require_stable),
            generation=request.metadata.generation, member=request.metadata.member,
        )  # fmt: skip
        return 0, offset

    def unstable(self, request: OffsetFetchRequest) -> int:
        """Return the error while offsets are pending, or 0 to ignore them. A client that does not know the draft's new
        error gets a retriable one that it knows."""
        if self.env.options.is_draft:
            new = request.require_stable
            return GroupErrorCode.PENDING_TRANSACTION if new else GroupErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return GroupErrorCode.UNSTABLE_OFFSET_COMMIT if request.require_stable else 0
