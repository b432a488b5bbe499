"""This module converts the clients' requests, and the answers, between NamedTuples of `transactions.messages` and kio's
classes.

    codec = Codec(versions, names, timeout_ms=...)
    request = codec.encode(EndTxnRequest(0, 0, 3, committed=True))
    EndTxnResponse(...) == codec.decode(EndTxnRequest(...), answer)

A record's value is its number in decimal, and its key is the system's name; a committed offset is the record's number.
"""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from fencepost.reference_impl.kafka.errors import error_text
from fencepost.reference_impl.kafka.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
    TxnOffsetCommitRequest,
)
from fencepost.reference_impl.kafka.record_batches import TRANSACTIONAL
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.tcp.reading import build, milliseconds, only, reading
from fencepost.reference_impl.live.transactions.config import Names
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

ALL_IN_SYNC = -1  # acks
FORBIDDEN = frozenset({29, 30, 31, 53, 58})  # topics, groups, clusters, transactional ids, and who is not known
Data = (
    InitProducerIdRequest
    | AddPartitionsToTxnRequest
    | AddOffsetsToTxnRequest
    | EndTxnRequest
    | ProduceRequest
    | TxnOffsetCommitRequest
)
Answer = InitProducerIdResponse | AddPartitionsToTxnResponse | EndTxnResponse | ProduceResponse


class Codec:
    """A `Codec` converts one system's requests. ``versions`` are by api; ``timeout_ms`` maps the transaction time-out
    that a client asks for to the one that is sent; ``append_ms`` is how long a leader may wait for its followers."""

    def __init__(
        self, versions: Mapping[str, int], names: Names, timeout_ms: Callable[[int], int], append_ms: int
    ) -> None:
        self.versions = versions
        self.names = names
        self._timeout_ms = timeout_ms
        self._append_ms = append_ms

    def encode(self, data: Data) -> Any:
        """Return the request as kio has it. Raise TypeError for what no client sends."""
        match data:
            case InitProducerIdRequest():
                return self._init(data)
            case AddPartitionsToTxnRequest():
                return self._add_partition(data)
            case AddOffsetsToTxnRequest():
                group = self.names.group_id(data.group_id)
                return self._build("add_offsets_to_txn", group_id=group, **self._producer(data))
            case EndTxnRequest():
                return self._build("end_txn", committed=data.committed, **self._producer(data))
            case ProduceRequest():
                return self._produce(data)
            case TxnOffsetCommitRequest():
                return self._commit_offset(data)
        raise TypeError(f"{data} is no request of a client")

    def decode(self, data: Data, answer: Any) -> Answer:
        """Return the answer to `data`; an error's other fields are those of Kafka's errors, not those that the broker
        sent.

        Raise `Unreadable` for an answer that has no content for this request, such as one about no partition, or about
        another one, and WireError where the brokers' owner does not allow the request.
        """
        with reading(data, answer):
            decoded = self._decode(data, answer)
        if decoded.error_code in FORBIDDEN:
            raise WireError(
                f"{type(data).__name__} is not allowed here: {error_text(decoded.error_code)}; give the principal that "
                "asks the permissions on topics, groups and transactional ids whose names begin with fencepost-"
            )
        return decoded

    def _decode(self, data: Data, answer: Any) -> Answer:
        match data:
            case InitProducerIdRequest():
                error = int(answer.error_code)
                return InitProducerIdResponse(error) if error else InitProducerIdResponse(0, *self._pair(answer))
            case AddPartitionsToTxnRequest():
                found = self._of_place(answer.results_by_topic_v3_and_below, "results_by_partition", data.partition)
                return AddPartitionsToTxnResponse(int(found.partition_error_code))
            case AddOffsetsToTxnRequest():
                return AddPartitionsToTxnResponse(int(answer.error_code))
            case EndTxnRequest():
                error = int(answer.error_code)
                if error or not hasattr(answer, "producer_epoch"):
                    return EndTxnResponse(error)
                return EndTxnResponse(0, *self._pair(answer))
            case ProduceRequest():
                written = self._of_place(answer.responses, "partition_responses", data.partition)
                error, offset = int(written.error_code), int(written.base_offset)
                start = self.names.places[data.partition].start
                return ProduceResponse(error, offset - start if offset >= 0 and not error else -1)
            case TxnOffsetCommitRequest():
                return ProduceResponse(int(self._of_place(answer.topics, "partitions", 0).error_code))
        raise TypeError(f"{data} is no request of a client")

    def _of_place(self, topics: Any, inner: str, partition: int) -> Any:
        place = self.names.places[partition]
        topic = only(topics, "topics", lambda each: each.name == place.topic)
        return only(getattr(topic, inner), "partitions", lambda each: _index(each) == place.partition)

    def _init(self, data: InitProducerIdRequest) -> Any:
        since = () if data.producer_epoch >= 0 else ("producer_id", "producer_epoch")  # of version 3 (KIP-360)
        return self._build(
            "init_producer_id", since, transactional_id=self.names.transactional_id(data.transactional_id),
            transaction_timeout=milliseconds(self._timeout_ms(data.transaction_timeout_ms)),
            producer_id=self.names.real_producer_id(data.producer_id), producer_epoch=data.producer_epoch,
        )  # fmt: skip

    def _add_partition(self, data: AddPartitionsToTxnRequest) -> Any:
        place = self.names.places[data.partition]
        topic = self._part(
            "add_partitions_to_txn", "AddPartitionsToTxnTopic", name=place.topic, partitions=(place.partition,)
        )
        producer = {f"v3_and_below_{name}": value for name, value in self._producer(data).items()}
        return self._build("add_partitions_to_txn", v3_and_below_topics=(topic,), **producer)

    def _produce(self, data: ProduceRequest) -> Any:
        place = self.names.places[data.partition]
        partition = self._part("produce", "PartitionProduceData", index=place.partition, records=self._batch(data))
        topic = self._part("produce", "TopicProduceData", name=place.topic, partition_data=(partition,))
        name = self.names.transactional_id(data.transactional_id) if data.is_transactional else None
        return self._build(
            "produce", transactional_id=name, acks=ALL_IN_SYNC, timeout=milliseconds(self._append_ms),
            topic_data=(topic,),
        )  # fmt: skip

    def _batch(self, data: ProduceRequest) -> bytes:
        now = TZAwareMicros.parse(datetime.fromtimestamp(int(time.time()), UTC))
        record = Record(
            attributes=i8(0), timestamp=now, offset=i64(0), key=self.names.record_key,
            value=str(data.record).encode(), headers=(),
        )  # fmt: skip
        batch = NewRecordBatch(
            producer_id=i64(self.names.real_producer_id(data.producer_id)), producer_epoch=i16(data.producer_epoch),
            base_sequence=i32(data.base_sequence), records=(record,),
            attributes=i16(TRANSACTIONAL if data.is_transactional else 0),
        )  # fmt: skip
        with BytesIO() as buffer:
            write_new_batch(buffer, batch)
            return buffer.getvalue()

    def _commit_offset(self, data: TxnOffsetCommitRequest) -> Any:
        place = self.names.places[0]
        partition = self._part(
            "txn_offset_commit", "TxnOffsetCommitRequestPartition", partition_index=place.partition,
            committed_offset=data.record, committed_metadata="",
        )  # fmt: skip
        topic = self._part(
            "txn_offset_commit", "TxnOffsetCommitRequestTopic", name=place.topic, partitions=(partition,)
        )
        group = self.names.group_id(data.group_id)
        return self._build("txn_offset_commit", group_id=group, topics=(topic,), **self._producer(data))

    def _producer(self, data: Any) -> dict[str, Any]:
        return {
            "transactional_id": self.names.transactional_id(data.transactional_id),
            "producer_id": self.names.real_producer_id(data.producer_id),
            "producer_epoch": data.producer_epoch,
        }

    def _pair(self, answer: Any) -> tuple[int, int]:
        return self.names.numbered_producer_id(int(answer.producer_id)), int(answer.producer_epoch)

    def _build(self, api: str, since: tuple[str, ...] = (), /, **fields: Any) -> Any:
        return build(api, self.versions[api], since=since, **fields)

    def _part(self, api: str, part: str, /, **fields: Any) -> Any:
        return build(api, self.versions[api], part, **fields)


def _index(partition: Any) -> int:
    return int(partition.index if hasattr(partition, "index") else partition.partition_index)
