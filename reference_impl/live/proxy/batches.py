"""This module reads the content of a Produce or TxnOffsetCommit request: its records one by one, with numbers that stay
the same over retries.

A value of ASCII digits is the record's own number. Any other record is numbered from `UNNAMED` on by its partition,
producer id, epoch and sequence number. A committed offset counts as a record too: its number is the metadata if that is
digits, and otherwise the offset itself.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from kio.records.readers import read_batch

UNNAMED = 1_000_000_000
COMPRESSION = 0x07
_BATCH = struct.Struct(">qiibIhiqqqhii")  # base offset … base sequence, number of records


class Sent(NamedTuple):
    """A `Sent` record has a ``place``, (topic, partition) or (group,); ``behind`` counts within the batch."""

    place: tuple[str, int] | tuple[str]
    record: int
    producer_id: int
    epoch: int
    sequence: int
    behind: int


class Numbers:
    """`Numbers` has the record numbers of one recording."""

    def __init__(self) -> None:
        self._unnamed: dict[tuple[object, ...], int] = {}

    def produced(self, request: Any) -> Iterator[Sent]:
        for topic in request.topic_data:
            for partition in topic.partition_data:
                place = str(topic.name), int(partition.index)
                yield from self._batch(place, bytes(partition.records or b""))

    def _batch(self, place: tuple[str, int], batch: bytes) -> Iterator[Sent]:
        if len(batch) < _BATCH.size:
            return
        (_, _, _, magic, _, attributes, _, _, _, producer_id, epoch, sequence, count) = _BATCH.unpack_from(batch)
        if magic != 2:
            return
        values: list[bytes | None] = [None] * count
        if not attributes & COMPRESSION:
            values = [record.value for record in read_batch(batch, 0)[0].records]
        for index, value in enumerate(values):
            of_record = (sequence + index) & 0x7FFFFFFF  # sequence numbers wrap to 0
            number = self._number(value, (place, producer_id, epoch, of_record))
            yield Sent(place, number, producer_id, epoch, of_record, index)

    def _number(self, value: bytes | None, key: tuple[object, ...]) -> int:
        if value is not None and value.isdigit() and len(value) < 19:
            return int(value)
        return self._unnamed.setdefault(key, UNNAMED + len(self._unnamed))


def committed(request: Any) -> Iterator[Sent]:
    pair = int(request.producer_id), int(request.producer_epoch)
    for topic in request.topics:
        for index, partition in enumerate(topic.partitions):
            metadata = partition.committed_metadata or ""
            number = int(metadata) if metadata.isascii() and metadata.isdigit() else int(partition.committed_offset)
            yield Sent((str(request.group_id),), number, *pair, -1, index)


def produce_results(response: Any) -> dict[tuple[str, int], tuple[int, int]]:
    return {
        (str(topic.name), int(each.index)): (int(each.error_code), int(each.base_offset))
        for topic in response.responses
        for each in topic.partition_responses
    }


def commit_error(response: Any) -> int:
    """Return the first error of a TxnOffsetCommit's answer, which is the same for all partitions."""
    errors = [int(each.error_code) for topic in response.topics for each in topic.partitions]
    return next((error for error in errors if error), 0)
