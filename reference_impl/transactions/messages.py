"""Messages between clients, coordinator and partitions: Kafka's requests and answers, fields named as in Kafka.

Left out is what never varies here: topics (a partition is its number), throttle times, several partitions or batches
in one request. Transactional ids are numbers from 0; -1 stands for "none". NamedTuples, because a history of any
length makes them by the hundred thousand.

A message's body is a `RequestBody` or a `ResponseBody`: the number in front is the correlation number of the header.
"""

from typing import Any, NamedTuple

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
        """All of the batch, in order."""
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
    """A request on the wire. `check` tells apart the questions that a leader asks for one produce request."""

    number: int
    data: Any
    check: int = -1


class ResponseBody(NamedTuple):
    """A response on the wire; `number` and `check` are those of the request."""

    number: int
    data: Any
    check: int = -1
