"""This module writes a partition's log as the bytes of a real segment: record batches of magic 2, including control
batches.

A record's value is the number of its logical send in decimal. In an offsets partition each record also has a key,
because compaction removes records without a key. kio writes the format, and this module sets the fields.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from io import BytesIO

from fencepost.reference_impl.kafka.messages import Batch
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.schema.end_txn_marker.v0.data import EndTxnMarker
from kio.serial import entity_writer
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

TRANSACTIONAL, CONTROL = 0x10, 0x20  # bits of a batch's attributes

_write_marker = entity_writer(EndTxnMarker)


def encode(batches: Iterable[Batch], key: bytes | None = None) -> bytes:
    """Return the batches as bytes in order. ``key`` is the key of every data record."""
    with BytesIO() as buffer:
        for records in whole(batches):
            write_new_batch(buffer, _data(records, key) if records[0].marker < 0 else _control(records[0]))
        return buffer.getvalue()


def whole(records: Iterable[Batch]) -> Iterator[list[Batch]]:
    batch: list[Batch] = []
    for record in records:
        if batch and not record.place:
            yield batch
            batch = []
        batch.append(record)
    if batch:
        yield batch


def _data(records: list[Batch], key: bytes | None) -> NewRecordBatch:
    attributes = TRANSACTIONAL if records[0].is_transactional else 0
    return _batch(records[0], attributes, [_record(each, key, str(each.record).encode()) for each in records])


def _control(batch: Batch) -> NewRecordBatch:
    """Return a control batch: its key is (version 0, type), type 0 abort and 1 commit, and its value has the
    coordinator's epoch."""
    key = (0).to_bytes(2, "big") + batch.marker.to_bytes(2, "big")
    with BytesIO() as value:
        _write_marker(value, EndTxnMarker(coordinator_epoch=i32(batch.coordinator_epoch)))
        control = _record(batch, key, (0).to_bytes(2, "big") + value.getvalue())
        return _batch(batch, TRANSACTIONAL | CONTROL, [control])


def _record(batch: Batch, key: bytes | None, value: bytes) -> Record:
    time = TZAwareMicros.parse(datetime.fromtimestamp(batch.timestamp_ms / 1000, UTC))
    return Record(attributes=i8(0), timestamp=time, offset=i64(batch.base_offset), key=key, value=value, headers=())


def _batch(batch: Batch, attributes: int, records: list[Record]) -> NewRecordBatch:
    return NewRecordBatch(
        producer_id=i64(batch.producer_id),
        producer_epoch=i16(batch.producer_epoch),
        partition_leader_epoch=i32(batch.leader_epoch),
        base_sequence=i32(batch.base_sequence),
        records=tuple(records),
        attributes=i16(attributes),
    )
