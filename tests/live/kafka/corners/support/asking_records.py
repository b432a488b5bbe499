"""Record batches for raw requests: what is produced, and what a fetch brings back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO

from kio.records.readers import read_batch
from kio.records.schema import NewRecordBatch, Record, RecordBatch
from kio.records.writers import write_new_batch
from kio.static.primitive import Records, TZAwareMicros, i8, i16, i32, i64

TRANSACTIONAL, CONTROL = 0x10, 0x20  # bits of a batch's attributes


def data_batch(producer_id: int, epoch: int, sequence: int, values: list[str], transactional: bool) -> Records:
    """One batch as bytes; each value is a record's text."""
    now = TZAwareMicros.parse(datetime.fromtimestamp(int(time.time()), UTC))  # whole seconds, as kio reads them back
    records = tuple(
        Record(attributes=i8(0), timestamp=now, offset=i64(offset), key=None, value=value.encode(), headers=())
        for offset, value in enumerate(values)
    )
    batch = NewRecordBatch(
        producer_id=i64(producer_id),
        producer_epoch=i16(epoch),
        base_sequence=i32(sequence),
        records=records,
        attributes=i16(TRANSACTIONAL if transactional else 0),
    )
    with BytesIO() as buffer:
        write_new_batch(buffer, batch)
        return Records(buffer.getvalue())


def read_batches(data: bytes) -> Iterator[RecordBatch]:
    """Every whole batch; a fetch may end in the middle of one."""
    offset = 0
    while offset + 12 <= len(data):
        end = offset + 12 + int.from_bytes(data[offset + 8 : offset + 12], "big")
        if end > len(data):
            return
        yield read_batch(data, offset)[0]
        offset = end


def values(batch: RecordBatch) -> list[str]:
    """The records of a batch as texts; a control batch says COMMIT or ABORT."""
    if batch.attributes & CONTROL:
        return ["COMMIT" if int.from_bytes((record.key or b"")[2:4], "big") else "ABORT" for record in batch.records]
    return [(record.value or b"").decode() for record in batch.records]


def committed_values(batches: list[RecordBatch], aborted: list[tuple[int, int]]) -> list[str]:
    """The records that are left when aborted transactions, (producer id, first offset) each, are skipped."""
    waiting = sorted(aborted, key=lambda each: each[1])
    skipped: set[int] = set()
    texts: list[str] = []
    for batch in batches:
        while waiting and waiting[0][1] <= batch.base_offset:
            skipped.add(waiting.pop(0)[0])
        if batch.attributes & CONTROL:
            skipped.discard(batch.producer_id)
        elif batch.producer_id not in skipped or not batch.attributes & TRANSACTIONAL:
            texts += values(batch)
    return texts
