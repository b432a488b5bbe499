"""This module has requests and responses for transactions, groups and producer ids, with the fields that matter."""

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
    """This is the InitProducerId request (api key 22). The producer id and epoch are (-1, -1), or the pair that the
    producer has and wants bumped (KIP-360)."""

    transactional_id: int
    transaction_timeout_ms: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class InitProducerIdResponse(NamedTuple):
    """This is the InitProducerId response, in which the pair is (-1, -1) on an error."""

    error_code: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class InitProducerIdRequestV6(NamedTuple):
    """This is the InitProducerId request since KIP-939, which is unstable: ``enable_2pc`` asks for transactions that no
    time-out ends, and ``keep_prepared_txn`` for an open one to be retained."""

    transactional_id: int
    transaction_timeout_ms: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    enable_2pc: bool = False
    keep_prepared_txn: bool = False


class InitProducerIdResponseV6(NamedTuple):
    """This is the response to `InitProducerIdRequestV6`, with the pair of the transaction that is retained, or (-1, -1)
    for none."""

    error_code: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    ongoing_txn_producer_id: int = NO_PRODUCER_ID
    ongoing_txn_producer_epoch: int = NO_PRODUCER_EPOCH


class AddPartitionsToTxnRequest(NamedTuple):
    """This is the AddPartitionsToTxn request (api key 24), from a client (v1) or from a partition's leader that
    verifies (v1-verified) or adds (v2)."""

    transactional_id: int
    producer_id: int
    producer_epoch: int
    partition: int
    verify_only: bool = False


class AddOffsetsToTxnRequest(NamedTuple):
    """This is the AddOffsetsToTxn request (api key 25), which adds the offsets partition of a group."""

    transactional_id: int
    producer_id: int
    producer_epoch: int
    group_id: int


class AddPartitionsToTxnResponse(NamedTuple):
    """This is the response to AddPartitionsToTxn and to AddOffsetsToTxn."""

    error_code: int


class EndTxnRequest(NamedTuple):
    """This is the EndTxn request (api key 26)."""

    transactional_id: int
    producer_id: int
    producer_epoch: int
    committed: bool


class EndTxnResponse(NamedTuple):
    """This is the EndTxn response. In v2 it has the pair for the next transaction. In v1, and on an error, the pair is
    (-1, -1)."""

    error_code: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class ProduceRequest(NamedTuple):
    """This is the Produce request (api key 0) with one batch. ``record`` is the number of the logical send, which is
    the content of the first record. ``more`` has the numbers of the following records, which take the next sequence
    numbers."""

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
    """This is the response to Produce and to TxnOffsetCommit (whose response in Kafka has no offset)."""

    error_code: int
    base_offset: int = -1


class TxnOffsetCommitRequest(NamedTuple):
    """This is the TxnOffsetCommit request (api key 28): offsets of a group that become visible with the transaction. It
    has no sequence number.

    ``record`` is the number of the logical send and stands for the committed offset. ``more`` has the numbers for
    further partitions of the group's input, in order.
    """

    transactional_id: int
    group_id: int
    producer_id: int
    producer_epoch: int
    record: int
    more: tuple[int, ...] = ()


class WriteTxnMarkersRequest(NamedTuple):
    """This is the WriteTxnMarkers request (api key 27) with one marker for one partition. ``transaction_result`` is
    True for a commit. Version 2 of the request is KIP-1228."""

    producer_id: int
    producer_epoch: int
    transaction_result: bool
    partition: int
    coordinator_epoch: int
    transaction_version: int = 0


class WriteTxnMarkersResponse(NamedTuple):
    """This is the WriteTxnMarkers response for one partition."""

    error_code: int


class Batch(NamedTuple):
    """A `Batch` is one record in a partition's log together with the header fields of its batch. A marker (0 abort, 1
    commit) is the control record of a batch of its own. ``place`` is the record's position in its batch.
    ``base_offset`` and ``base_sequence`` are the record's own, and equal those of the batch where ``place`` is 0."""

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
    """An `AbortedTransaction` in a fetch response makes the reader skip the producer's records from ``first_offset`` to
    its next abort marker."""

    producer_id: int
    first_offset: int


class FetchResponse(NamedTuple):
    """This is the Fetch response (api key 1): batches from the fetch offset up to ``upto`` (exclusive), including
    control batches.

    ``upto`` is the last stable offset for read_committed and the high watermark for read_uncommitted, or the end of the
    last batch that fits into the response. The first batch may begin before the fetch offset, which lies in it.
    ``aborted_transactions`` is empty for read_uncommitted.
    """

    upto: int
    batches: tuple[Batch, ...]
    aborted_transactions: tuple[AbortedTransaction, ...]


class RequestBody(NamedTuple):
    """A `RequestBody` is a request on the wire. ``check`` distinguishes the verification requests that a leader sends
    for one produce request."""

    number: int
    data: Any
    check: int = -1


class ResponseBody(NamedTuple):
    """A `ResponseBody` is a response on the wire. ``number`` and ``check`` are those of the request."""

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
    """This is ConsumerGroupMetadata. In the new protocol its generation is the member epoch."""

    generation: int = NO_GENERATION
    member: int = NO_MEMBER
    instance: int = NO_INSTANCE


class JoinGroupRequest(NamedTuple):
    """This is the JoinGroup request (api key 11)."""

    member: int
    instance: int


class JoinGroupResponse(NamedTuple):
    """This is the JoinGroup response. ``members`` is filled only for the leader, which assigns partitions."""

    error_code: int
    generation: int = NO_GENERATION
    member: int = NO_MEMBER
    leader: int = NO_MEMBER
    members: tuple[int, ...] = ()


class SyncGroupRequest(NamedTuple):
    """This is the SyncGroup request (api key 14). Only the leader sends ``assignments``, by member."""

    generation: int
    member: int
    instance: int
    assignments: Mapping[int, tuple[int, ...]]


class SyncGroupResponse(NamedTuple):
    """This is the SyncGroup response with the partitions of one member."""

    error_code: int
    assignment: tuple[int, ...] = ()


class HeartbeatRequest(NamedTuple):
    """This is the Heartbeat request (api key 12)."""

    generation: int
    member: int
    instance: int


class LeaveGroupRequest(NamedTuple):
    """This is the LeaveGroup request (api key 13)."""

    member: int
    instance: int


class ErrorResponse(NamedTuple):
    """An `ErrorResponse` has nothing but an error code."""

    error_code: int


class GroupTxnOffsetCommitRequest(NamedTuple):
    """This is the TxnOffsetCommit request (api key 28) of a producer that knows the group. ``record`` and ``more`` are
    the logical sends, each of which stands for an offset. Before version 3 the request has neither generation nor
    member (KIP-447 added them). From version 6 on it names topics by id, and two more errors are known (KIP-1319)."""

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
    """This is the OffsetCommit request (api key 8): offsets by input partition that are committed at once."""

    metadata: GroupMetadata
    offsets: Mapping[int, int]


class OffsetFetchRequest(NamedTuple):
    """This is the OffsetFetch request (api key 9). ``require_stable`` came with KIP-447. A client that does not know it
    may get an offset that is about to change."""

    metadata: GroupMetadata
    partitions: tuple[int, ...]
    require_stable: bool


class OffsetFetchResponse(NamedTuple):
    """This is the OffsetFetch response with (error, offset) for each requested partition in order. The offset is -1
    where nothing is committed."""

    error_code: int
    offsets: tuple[tuple[int, int], ...] = ()


class GroupHeartbeatRequest(NamedTuple):
    """This is the ConsumerGroupHeartbeat request (api key 68). Epoch 0 joins, -1 leaves, and -2 leaves temporarily
    (static members). ``owned`` is None if it has not changed. ``full`` requests the assignment whether or not it has
    changed."""

    member: int
    epoch: int
    instance: int
    owned: tuple[int, ...] | None = None
    full: bool = False


class GroupHeartbeatResponse(NamedTuple):
    """This is the ConsumerGroupHeartbeat response. ``assignment`` is None if it has not changed."""

    error_code: int
    member: int = NO_MEMBER
    epoch: int = NO_GENERATION
    assignment: tuple[int, ...] | None = None


class GroupInitProducerIdRequest(NamedTuple):
    """This is the InitProducerId request (api key 22) of KIP-447's draft, with the generation of the one group and the
    assigned partitions. It names no pair, so a producer that was fenced because its partitions have moved begins anew
    with it."""

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
    """This is the AllocateProducerIds request, api key 67, version 0 (AllocateProducerIdsRequest.json). It needs
    CLUSTER_ACTION."""

    broker_id: int
    broker_epoch: int = -1


@dataclass(frozen=True, slots=True)
class AllocateProducerIdsResponse:
    """This is the AllocateProducerIds response: ``producer_id_len`` ids from ``producer_id_start`` (inclusive) on, or
    an error and no ids."""

    throttle_time_ms: int
    error_code: int
    producer_id_start: int = -1
    producer_id_len: int = 0


@dataclass(frozen=True, slots=True)
class ProducerIdsRecord:
    """This is the metadata record (api key 15, version 0) of the broker that got the block before ``next_producer_id``
    (ProducerIdsRecord.json).

    The KIP calls the field ProducerIdEnd, and 3.0 documented it as "the highest id", but it always was the first id of
    the *next* block. A snapshot writes broker -1, epoch -1.
    """

    broker_id: int
    broker_epoch: int
    next_producer_id: int


@dataclass(frozen=True, slots=True)
class IdRequestBody:
    """An `IdRequestBody` is a request on the wire, whose correlation number is in the header."""

    number: int
    data: AllocateProducerIdsRequest


@dataclass(frozen=True, slots=True)
class IdResponseBody:
    """An `IdResponseBody` is a response on the wire. ``grant`` is for the observer, not for brokers."""

    number: int
    data: AllocateProducerIdsResponse
    grant: int


class Block:
    """A `Block` has consecutive ids and the one cursor that claims them (ProducerIdsBlock.java)."""

    __slots__ = ("first", "length", "unclaimed")

    def __init__(self, first: int, length: int) -> None:
        self.first = first
        self.length = length
        self.unclaimed = first

    @property
    def last(self) -> int:
        """Return the last id, inclusive, or -1 for the empty block (-1, 0)."""
        return self.first + self.length - 1 if self.length else self.first

    @property
    def next_first(self) -> int:
        return self.first + self.length

    def claim(self) -> int:
        """Return the next id, each at most once, or -1 when the block is used up."""
        claimed = self.unclaimed
        if claimed >= self.first + self.length:
            return -1
        self.unclaimed = claimed + 1
        return claimed


def empty_block() -> Block:
    """Return the block of a broker that has none. Every claim fails, and any start above -1 is above its last id."""
    return Block(-1, 0)
