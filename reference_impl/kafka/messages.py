"""Requests and responses, as far as they matter: of transactions, of consumer groups, and for producer id blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

# Messages between clients, coordinator and partitions: Kafka's requests and answers, fields named as in Kafka.
#
# Left out is what never varies here: topics (a partition is its number), throttle times, several partitions or batches
# in one request. Transactional ids are numbers from 0; -1 stands for "none". NamedTuples, because a history of any
# length makes them by the hundred thousand.
#
# A message's body is a `RequestBody` or a `ResponseBody`: the number in front is the correlation number of the header.

NO_TRANSACTIONAL_ID = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1

COMMIT, ABORT = 1, 0


class InitProducerIdRequest(NamedTuple):
    """Api key 22. The pair is (-1, -1), or the one the producer holds and wants bumped (KIP-360)."""

    transactional_id: int
    transaction_timeout_ms: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class InitProducerIdResponse(NamedTuple):
    """On an error the pair is (-1, -1)."""

    error_code: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class AddPartitionsToTxnRequest(NamedTuple):
    """Api key 24, from a client (v1) or a partition's leader: to verify (v1-verified) or to add (v2)."""

    transactional_id: int
    producer_id: int
    producer_epoch: int
    partition: int
    verify_only: bool = False


class AddOffsetsToTxnRequest(NamedTuple):
    """Api key 25: adds the offsets partition of a group."""

    transactional_id: int
    producer_id: int
    producer_epoch: int
    group_id: int


class AddPartitionsToTxnResponse(NamedTuple):
    """The answer to both ways of adding."""

    error_code: int


class EndTxnRequest(NamedTuple):
    """Api key 26."""

    transactional_id: int
    producer_id: int
    producer_epoch: int
    committed: bool


class EndTxnResponse(NamedTuple):
    """In v2 with the pair for the next transaction; in v1, and on an error, the pair is (-1, -1)."""

    error_code: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class ProduceRequest(NamedTuple):
    """Api key 0: one batch. `record` is the number of the logical send, its first record's content; `more`: those of
    the records behind it, which have the next sequence numbers."""

    transactional_id: int
    partition: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record: int
    is_transactional: bool = True
    more: tuple[int, ...] = ()

    @property
    def records(self) -> tuple[int, ...]:
        return (self.record, *self.more)


class ProduceResponse(NamedTuple):
    """The answer to ProduceRequest, and to TxnOffsetCommitRequest (whose answer in Kafka has no offset)."""

    error_code: int
    base_offset: int = -1


class TxnOffsetCommitRequest(NamedTuple):
    """Api key 28: offsets of a group, to become visible with the transaction. It has no sequence number.

    `record` is the number of the logical send and stands for the offset committed; `more`: those of further partitions
    of the group's input, in order.
    """

    transactional_id: int
    group_id: int
    producer_id: int
    producer_epoch: int
    record: int
    more: tuple[int, ...] = ()


class WriteTxnMarkersRequest(NamedTuple):
    """Api key 27: one marker for one partition. `transaction_result` true commits; version 2 of it is KIP-1228."""

    producer_id: int
    producer_epoch: int
    transaction_result: bool
    partition: int
    coordinator_epoch: int
    transaction_version: int = 0


class WriteTxnMarkersResponse(NamedTuple):
    """The answer for one partition."""

    error_code: int


class Batch(NamedTuple):
    """One record in a partition's log, with what the header of its batch says; a marker (0 abort, 1 commit) is the
    control record of a batch of its own. `place`: the record's position in its batch; `base_offset` and `base_sequence`
    are the record's own, and so those of the batch where it is 0."""

    base_offset: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record: int
    is_transactional: bool
    timestamp_ms: int
    leader_epoch: int
    marker: int = -1
    coordinator_epoch: int = -1
    place: int = 0


class AbortedTransaction(NamedTuple):
    """In a fetch answer: skip this producer's records from `first_offset` to its next abort marker."""

    producer_id: int
    first_offset: int


class FetchResponse(NamedTuple):
    """Api key 1: batches from the fetch offset up to, not including, `upto`; control batches are among them.

    `upto` is the last stable offset for read_committed and the high watermark for read_uncommitted, or where the last
    batch ends of which there was room in the answer. The first batch may begin before the offset, which lies in it.
    `aborted_transactions` is empty for read_uncommitted.
    """

    upto: int
    batches: tuple[Batch, ...]
    aborted_transactions: tuple[AbortedTransaction, ...]


class RequestBody(NamedTuple):
    """A request on the wire. `check` distinguishes the questions that a leader asks for one produce request."""

    number: int
    data: Any
    check: int = -1


class ResponseBody(NamedTuple):
    """A response on the wire; `number` and `check` are those of the request."""

    number: int
    data: Any
    check: int = -1


# Messages between the members of a group and its coordinator: Kafka's requests and answers, fields named as in Kafka.
#
# Member ids and group instance ids are numbers, -1 for none; there is one group, and one input topic, so that a
# partition is its number. What never varies here is left out.

NO_MEMBER = -1
NO_INSTANCE = -1
NO_GENERATION = -1
NO_OFFSET = -1


class GroupMetadata(NamedTuple):
    """ConsumerGroupMetadata: what a consumer passes to its producer. The generation is the member epoch where the
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


class GroupTxnOffsetCommitRequest(NamedTuple):
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
        return (self.record, *self.more)


class OffsetCommitRequest(NamedTuple):
    """Api key 8: offsets by input partition, committed at once."""

    metadata: GroupMetadata
    offsets: Mapping[int, int]


class OffsetFetchRequest(NamedTuple):
    """Api key 9. `require_stable` came with KIP-447; a client that does not know of it may be given an offset that is
    about to change."""

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


# Messages and stored records: the RPC of KIP-730, its metadata record, and the block of ids between them.
#
# The field trap of this protocol: the block's *start* and *length* travel (730.4), the record holds the *next free id*
# (730.7), and ZooKeeper's node holds the *last id* of the block, inclusive (730.15). `Block` is where they meet.


@dataclass(frozen=True, slots=True)
class AllocateProducerIdsRequest:
    """AllocateProducerIds, api key 67, version 0 (AllocateProducerIdsRequest.json). Needs CLUSTER_ACTION."""

    broker_id: int
    broker_epoch: int = -1


@dataclass(frozen=True, slots=True)
class AllocateProducerIdsResponse:
    """The answer: ids `producer_id_start` (inclusive) and on, `producer_id_len` of them, or an error and no ids."""

    throttle_time_ms: int
    error_code: int
    producer_id_start: int = -1
    producer_id_len: int = 0


@dataclass(frozen=True, slots=True)
class ProducerIdsRecord:
    """The metadata record, api key 15, version 0: who got the block before `next_producer_id` (ProducerIdsRecord.json).

    The KIP calls the field ProducerIdEnd and 3.0 documented it as "the highest id": it always was the first id of the
    *next* block. A snapshot writes broker -1, epoch -1.
    """

    broker_id: int
    broker_epoch: int
    next_producer_id: int


@dataclass(frozen=True, slots=True)
class IdRequestBody:
    """A request on the wire: the correlation number stands in the header, not in the request."""

    number: int
    data: AllocateProducerIdsRequest


@dataclass(frozen=True, slots=True)
class IdResponseBody:
    """A response on the wire. `grant` is written for the observer only: no broker may read it to decide anything."""

    number: int
    data: AllocateProducerIdsResponse
    grant: int


class Block:
    """Consecutive ids and the cursor that claims them: one cursor per block, for ever (ProducerIdsBlock.java)."""

    __slots__ = ("first", "length", "unclaimed")

    def __init__(self, first: int, length: int) -> None:
        self.first = first
        self.length = length
        self.unclaimed = first

    @property
    def last(self) -> int:
        """The last id, inclusive; -1 for the empty block (-1, 0)."""
        return self.first + self.length - 1 if self.length else self.first

    @property
    def next_first(self) -> int:
        return self.first + self.length

    def claim(self) -> int:
        """The next id, each at most once; -1 when the block is used up."""
        claimed = self.unclaimed
        if claimed >= self.first + self.length:
            return -1
        self.unclaimed = claimed + 1
        return claimed


def empty_block() -> Block:
    """The block of a broker that has none: every claim fails, and any start above -1 is above its last id."""
    return Block(-1, 0)
