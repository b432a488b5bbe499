"""TxnOffsetCommit 6 (KIP-1319), which kio does not have yet: topics go by id instead of name, all else is as in 5.

Source: TxnOffsetCommitRequest.json and TxnOffsetCommitResponse.json of Kafka 4.4. (Annotations are evaluated here, as
kio and the decoder look at them.)
"""

from dataclasses import dataclass, field
from typing import ClassVar
from uuid import UUID

from fencepost.reference_impl.live.tcp.decoding import MENDED
from kio.schema.txn_offset_commit.v5 import request as asked
from kio.schema.txn_offset_commit.v5 import response as answered
from kio.static.primitive import i16

SIX = i16(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTopic:
    """A topic of the request."""

    __type__: ClassVar = asked.TxnOffsetCommitRequestTopic.__type__
    __version__: ClassVar[i16] = SIX
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = asked.TxnOffsetCommitRequestTopic.__api_key__
    __header_schema__: ClassVar = asked.TxnOffsetCommitRequestTopic.__header_schema__
    topic_id: UUID | None = field(metadata={"kafka_type": "uuid"})
    partitions: tuple[asked.TxnOffsetCommitRequestPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitRequest(asked.TxnOffsetCommitRequest):
    """The request."""

    __version__: ClassVar[i16] = SIX
    topics: tuple[RequestTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseTopic:
    """A topic of the answer."""

    __type__: ClassVar = answered.TxnOffsetCommitResponseTopic.__type__
    __version__: ClassVar[i16] = SIX
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = answered.TxnOffsetCommitResponseTopic.__api_key__
    __header_schema__: ClassVar = answered.TxnOffsetCommitResponseTopic.__header_schema__
    topic_id: UUID | None = field(metadata={"kafka_type": "uuid"})
    partitions: tuple[answered.TxnOffsetCommitResponsePartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResponse(answered.TxnOffsetCommitResponse):
    """The answer."""

    __version__: ClassVar[i16] = SIX
    topics: tuple[ResponseTopic, ...]


MENDED[TxnOffsetCommitRequest] = TxnOffsetCommitResponse
