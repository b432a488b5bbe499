"""Messages between the members of a group and its coordinator: Kafka's requests and answers, fields named as in Kafka.

Member ids and group instance ids are numbers, -1 for none; there is one group, and one input topic, so that a partition
is its number. What never varies here is left out.
"""

from collections.abc import Mapping
from typing import NamedTuple

NO_MEMBER = -1
NO_INSTANCE = -1
NO_GENERATION = -1
NO_OFFSET = -1


class GroupMetadata(NamedTuple):
    """ConsumerGroupMetadata: what a consumer tells its producer of itself. The generation is the member epoch where the
    protocol is the new one."""

    generation: int = NO_GENERATION
    member: int = NO_MEMBER
    instance: int = NO_INSTANCE


class JoinGroupRequest(NamedTuple):
    """Api key 11."""

    member: int
    instance: int


class JoinGroupResponse(NamedTuple):
    """`members` is for the leader only, who assigns."""

    error_code: int
    generation: int = NO_GENERATION
    member: int = NO_MEMBER
    leader: int = NO_MEMBER
    members: tuple[int, ...] = ()


class SyncGroupRequest(NamedTuple):
    """Api key 14; `assignments` by member, of the leader only."""

    generation: int
    member: int
    instance: int
    assignments: Mapping[int, tuple[int, ...]]


class SyncGroupResponse(NamedTuple):
    """The partitions of one member."""

    error_code: int
    assignment: tuple[int, ...] = ()


class HeartbeatRequest(NamedTuple):
    """Api key 12."""

    generation: int
    member: int
    instance: int


class LeaveGroupRequest(NamedTuple):
    """Api key 13."""

    member: int
    instance: int


class ErrorResponse(NamedTuple):
    """The answer that is an error code and no more."""

    error_code: int


class TxnOffsetCommitRequest(NamedTuple):
    """Api key 28. `record` and `more` are the logical sends that stand for an offset each. Before version 3 there are
    neither generation nor member (KIP-447 brought them); from version 6 on topics go by id, and two errors are known
    more (KIP-1319)."""

    transactional_id: int
    group_id: int
    producer_id: int
    producer_epoch: int
    record: int
    more: tuple[int, ...]
    metadata: GroupMetadata
    version: int

    @property
    def records(self) -> tuple[int, ...]:
        """All of its sends, in order."""
        return (self.record, *self.more)


class OffsetCommitRequest(NamedTuple):
    """Api key 8: offsets by input partition, committed at once."""

    metadata: GroupMetadata
    offsets: Mapping[int, int]


class OffsetFetchRequest(NamedTuple):
    """Api key 9. `require_stable` came with KIP-447; who does not know of it may be told an offset that is about to
    change."""

    metadata: GroupMetadata
    partitions: tuple[int, ...]
    require_stable: bool


class OffsetFetchResponse(NamedTuple):
    """Per partition asked for, in order: (error, offset); -1 where nothing is committed."""

    error_code: int
    offsets: tuple[tuple[int, int], ...] = ()


class GroupHeartbeatRequest(NamedTuple):
    """Api key 68 (ConsumerGroupHeartbeat). Epoch 0 joins, -1 leaves, -2 leaves for a while (static members). `owned` is
    None where nothing has changed; `full` asks for the assignment whether or not it has."""

    member: int
    epoch: int
    instance: int
    owned: tuple[int, ...] | None = None
    full: bool = False


class GroupHeartbeatResponse(NamedTuple):
    """`assignment` is None where it has not changed."""

    error_code: int
    member: int = NO_MEMBER
    epoch: int = NO_GENERATION
    assignment: tuple[int, ...] | None = None


class GroupInitProducerIdRequest(NamedTuple):
    """Api key 22 as KIP-447's draft has it: with the group (there is one), its generation, and the partitions assigned.
    It names no pair: who was fenced because its partitions have moved begins anew with this."""

    transactional_id: int
    transaction_timeout_ms: int
    generation: int
    partitions: tuple[int, ...]
    producer_id: int = -1
    producer_epoch: int = -1
