"""Requests and answers on the wire: what is encoded is what kio reads back, in every version that a mode may use."""

from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
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
    WriteTxnMarkersRequest,
)
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.tcp.decoding import DescribeTransactionsResponse, TransactionState, decode
from fencepost.reference_impl.live.tcp.versions import MODES, OURS
from fencepost.reference_impl.live.transactions.config import Names, Place
from fencepost.reference_impl.live.transactions.requests import Codec
from kio.records.readers import read_batch
from kio.schema.consumer_group_heartbeat.v1.response import ConsumerGroupHeartbeatResponse
from kio.schema.describe_transactions.v0.response import DescribeTransactionsResponse as KioResponse
from kio.schema.errors import ErrorCode
from kio.schema.types import ProducerId, TransactionalId
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.serial.readers import read_uint32
from kio.static.primitive import i16, i32Timedelta, i64

PLACES = (Place("here", 3, 100), Place("there", 0, 0))
REAL_ID = 4711
REQUESTS = {
    "init_producer_id": InitProducerIdRequest(0, 60_000, 0, 5),
    "add_partitions_to_txn": AddPartitionsToTxnRequest(0, 0, 5, 0),
    "add_offsets_to_txn": AddOffsetsToTxnRequest(0, 0, 5, 1),
    "end_txn": EndTxnRequest(0, 0, 5, True),
    "produce": ProduceRequest(0, 0, 0, 5, 9, 42),
    "txn_offset_commit": TxnOffsetCommitRequest(0, 1, 0, 5, 42),
}
WITH_A_PAIR_IN_INIT = 3  # KIP-360


def codec(**versions: int) -> Codec:
    """A codec for the system named "mine"; producer id 0 has been seen as 4711."""
    names = Names("mine", PLACES)
    names.numbered_producer_id(REAL_ID)
    newest = {api: bounds.most for api, bounds in OURS.items()}
    return Codec(newest | versions, names, lambda asked: asked * 2, 1_500)


def versions(api: str) -> range:
    """Every version that some mode can come to."""
    bounds = [OURS[api], *(mode[api] for mode in MODES.values() if api in mode)]
    return range(min(each.least for each in bounds), max(each.most for each in bounds) + 1)


def on_the_wire(request: Any) -> Any:
    """Written as bytes, and read again."""
    with BytesIO() as buffer:
        entity_writer(type(request))(buffer, request)
        data = buffer.getvalue()
    read, size = entity_reader(type(request))(data, 0)
    assert size == len(data)
    return read


@pytest.mark.parametrize(
    ("api", "version"),
    [(api, version) for api in REQUESTS for version in versions(api)],
)
def test_requests_survive_the_wire(api: str, version: int) -> None:
    """The bytes of every request in every version are read back as the same request."""
    data = REQUESTS[api]
    if api == "init_producer_id" and version < WITH_A_PAIR_IN_INIT:
        with pytest.raises(TypeError, match="producer_id"):  # rather than losing the pair without a word
            codec(**{api: version}).encode(data)
        data = InitProducerIdRequest(0, 60_000)
    request = codec(**{api: version}).encode(data)
    assert int(request.__version__) == version
    assert on_the_wire(request) == request


def test_names_and_ids_are_the_brokers() -> None:
    """On the wire stand the system's own names, the real producer id, and the time-out that is asked for instead."""
    found = codec().encode(REQUESTS["init_producer_id"])
    assert found.transactional_id == "mine-0"
    assert (found.producer_id, found.producer_epoch) == (REAL_ID, 5)
    assert found.transaction_timeout.total_seconds() == 120
    found = codec().encode(InitProducerIdRequest(0, 60_000))
    assert (found.producer_id, found.producer_epoch) == (-1, -1)
    found = codec().encode(REQUESTS["add_partitions_to_txn"])
    assert found.v3_and_below_transactional_id == "mine-0"
    assert [(topic.name, topic.partitions) for topic in found.v3_and_below_topics] == [("here", (3,))]
    assert codec().encode(REQUESTS["add_offsets_to_txn"]).group_id == "mine-group-1"
    assert codec().encode(REQUESTS["end_txn"]).committed is True


def test_a_record_is_a_batch_of_its_own() -> None:
    """Produce: one transactional batch with id, epoch and sequence, its value a number, its key a name."""
    request = codec().encode(REQUESTS["produce"])
    assert (request.transactional_id, request.acks) == ("mine-0", -1)
    (topic,) = request.topic_data
    (partition,) = topic.partition_data
    assert (topic.name, partition.index) == ("here", 3)
    batch, size = read_batch(partition.records, 0)
    assert size == len(partition.records)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (REAL_ID, 5, 9)
    assert batch.attributes == 0x10
    assert [(record.key, record.value) for record in batch.records] == [(b"mine", b"42")]
    assert read_uint32(partition.records, 17)[0] == batch.crc


def test_an_offset_is_the_number_of_its_record() -> None:
    """TxnOffsetCommit commits the record's number, for a group without members."""
    request = codec().encode(REQUESTS["txn_offset_commit"])
    assert (request.group_id, request.generation_id, request.member_id) == ("mine-group-1", -1, "")
    assert request.topics[0].partitions[0].committed_offset == 42


def test_what_no_client_sends_is_refused() -> None:
    """Markers are between brokers."""
    with pytest.raises(TypeError, match="no request of a client"):
        codec().encode(WriteTxnMarkersRequest(0, 0, True, 0, 0))  # type: ignore[arg-type]


class Stated:
    """An answer with these fields, as kio would read it."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def test_answers_are_renamed() -> None:
    """Ids come back numbered, in order of appearance; offsets count from the system's start."""
    ours = codec()
    init, end, produce = REQUESTS["init_producer_id"], REQUESTS["end_txn"], REQUESTS["produce"]
    fresh = Stated(error_code=ErrorCode.none, producer_id=9, producer_epoch=0)
    assert ours.decode(init, fresh) == InitProducerIdResponse(0, 1, 0)
    again = Stated(error_code=ErrorCode.none, producer_id=REAL_ID, producer_epoch=6)
    assert ours.decode(end, again) == EndTxnResponse(0, 0, 6)
    assert ours.decode(end, Stated(error_code=ErrorCode.none)) == EndTxnResponse(0)
    written = Stated(index=PLACES[0].partition, error_code=ErrorCode.none, base_offset=107)
    answer = Stated(responses=(Stated(name=PLACES[0].topic, partition_responses=(written,)),))
    assert ours.decode(produce, answer) == ProduceResponse(0, 7)


def test_errors_come_without_anything_else() -> None:
    """An error has no pair and no offset, whatever the broker puts there."""
    ours, fenced = codec(), ErrorCode.producer_fenced
    reported = Stated(error_code=fenced, producer_id=77, producer_epoch=3)
    assert ours.decode(REQUESTS["init_producer_id"], reported) == InitProducerIdResponse(90)
    assert ours.decode(REQUESTS["end_txn"], reported) == EndTxnResponse(90)
    assert ours.decode(REQUESTS["add_offsets_to_txn"], reported) == AddPartitionsToTxnResponse(90)
    written = Stated(index=PLACES[0].partition, error_code=fenced, base_offset=-1)
    refused = Stated(responses=(Stated(name=PLACES[0].topic, partition_responses=(written,)),))
    assert ours.decode(REQUESTS["produce"], refused) == ProduceResponse(90)
    assert ours.names.numbered_producer_id(5) == 1, "the 77 of the errors has no number"


def test_an_answer_without_an_answer_is_an_error() -> None:
    """A broker that leaves out the partition that it was asked about did not speak Kafka."""
    for empty in (Stated(responses=()), Stated(responses=(Stated(name=PLACES[0].topic, partition_responses=()),))):
        with pytest.raises(WireError, match=r"an answer that cannot be read .*it speaks of 0 .*ProduceRequest"):
            codec().decode(REQUESTS["produce"], empty)


HEARTBEAT_ANSWER = bytes.fromhex("00000000 0000 00 026f 00000002 00001388")  # no error, member "o", epoch 2, every 5 s


@pytest.mark.parametrize(
    ("bytes_of_it", "owned"),
    [("ff 00", None), ("01 01 00 00", ()), (f"01 02 {'00' * 15}07 03 00000000 00000002 00 00 00", (0, 2))],
)
def test_a_structure_that_may_be_null_says_whether_it_is(bytes_of_it: str, owned: tuple[int, ...] | None) -> None:
    """The answer to a heartbeat names an assignment, an empty one, or none, in the byte before it (KIP-893)."""
    payload = HEARTBEAT_ANSWER + bytes.fromhex(bytes_of_it)
    answer, end = decode(ConsumerGroupHeartbeatResponse, payload)
    assert end == len(payload)
    topics = None if answer.assignment is None else answer.assignment.topic_partitions
    assert owned == (None if topics is None else tuple(each for topic in topics for each in topic.partitions))


def test_a_transaction_without_a_start_is_read() -> None:
    """DescribeTransactions of an idle id, start -1, is read back as it was; kio's own reader refuses it."""
    state = TransactionState(
        error_code=ErrorCode.none,
        transactional_id=TransactionalId("idle"),
        transaction_state="Empty",
        transaction_timeout=i32Timedelta.parse(timedelta(minutes=1)),
        transaction_start_time=i64(-1),
        producer_id=ProducerId(7),
        producer_epoch=i16(3),
        topics=(),
    )
    answer = DescribeTransactionsResponse(throttle_time=i32Timedelta.parse(timedelta(0)), transaction_states=(state,))
    with BytesIO() as buffer:
        entity_writer(DescribeTransactionsResponse)(buffer, answer)
        sent = buffer.getvalue()
    assert entity_reader(DescribeTransactionsResponse)(sent, 0) == (answer, len(sent))
    with pytest.raises(SerialError, match="negative timestamp"):
        entity_reader(KioResponse)(sent, 0)
