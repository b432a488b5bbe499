"""A partition's log as the bytes of a real segment: record batches of magic 2, control batches included.

A record's value is the number of its logical send, in decimal; in an offsets partition the key is there too, as
nothing without a key survives its compaction. kio writes the format; here is only what the fields are.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from io import BytesIO

from fencepost.reference_impl.transactions.messages import Batch
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.schema.end_txn_marker.v0.data import EndTxnMarker
from kio.serial import entity_writer
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

TRANSACTIONAL, CONTROL = 0x10, 0x20  # bits of a batch's attributes

_write_marker = entity_writer(EndTxnMarker)


def encode(batches: Iterable[Batch], key: bytes | None = None) -> bytes:
    """The batches as bytes, one after the other; `key` is that of every data record."""
    with BytesIO() as buffer:
        for batch in batches:
            write_new_batch(buffer, _data(batch, key) if batch.marker < 0 else _control(batch))
        return buffer.getvalue()


def _data(batch: Batch, key: bytes | None) -> NewRecordBatch:
    attributes = TRANSACTIONAL if batch.is_transactional else 0
    return _batch(batch, attributes, key, str(batch.record).encode())


def _control(batch: Batch) -> NewRecordBatch:
    """The key is (version 0, type), type 0 abort and 1 commit; the value carries the coordinator's epoch."""
    key = (0).to_bytes(2, "big") + batch.marker.to_bytes(2, "big")
    with BytesIO() as value:
        _write_marker(value, EndTxnMarker(coordinator_epoch=i32(batch.coordinator_epoch)))
        return _batch(batch, TRANSACTIONAL | CONTROL, key, (0).to_bytes(2, "big") + value.getvalue())


def _batch(batch: Batch, attributes: int, key: bytes | None, value: bytes) -> NewRecordBatch:
    time = TZAwareMicros.parse(datetime.fromtimestamp(batch.timestamp_ms / 1000, UTC))
    record = Record(attributes=i8(0), timestamp=time, offset=i64(batch.base_offset), key=key, value=value, headers=())
    return NewRecordBatch(
        producer_id=i64(batch.producer_id),
        producer_epoch=i16(batch.producer_epoch),
        partition_leader_epoch=i32(batch.leader_epoch),
        base_sequence=i32(batch.base_sequence),
        records=(record,),
        attributes=i16(attributes),
    )
