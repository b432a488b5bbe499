"""This module reads from brokers with Fetch and OffsetFetch, for `consumer.Reader`.

The broker's answer is passed on unchanged, aborted transactions and control batches included: the reader decides which
records the application gets, as in Kafka's client.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any

from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import AbortedTransaction, Batch, FetchResponse
from fencepost.reference_impl.kafka.record_batches import CONTROL, TRANSACTIONAL
from fencepost.reference_impl.live.tcp.brokers import GROUP, Brokers
from fencepost.reference_impl.live.tcp.connection import Unreadable, WireError
from fencepost.reference_impl.live.tcp.reading import build, milliseconds, part_about, reading
from fencepost.reference_impl.live.transactions.config import Names
from kio.records.readers import read_batch
from kio.serial.readers import read_signed_varint, read_signed_varlong

MAX_BYTES = 2**26
# Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, first and last time, producer id,
# epoch, base sequence, number of records.
HEADER = struct.Struct(">qiibIhiqqqhii")
LENGTH_FROM = 12  # the bytes in front of what the length counts
KEY = struct.Struct(">hh")  # of a control record: version and type
MAGIC = 2


class FetchedLog:
    """A `FetchedLog` is one data partition of a system, by its number there; offsets count from the place's start."""

    def __init__(self, brokers: Brokers, versions: dict[str, int], names: Names, partition: int) -> None:
        self.partition = partition
        self._brokers = brokers
        self._version = versions["fetch"]
        self._names = names

    def fetch(self, offset: int, committed: bool, most: int = 0) -> FetchResponse:
        """Return everything from `offset` to the last stable offset, or to the high watermark, as they are at the first
        of the requests that this needs (librdkafka's mock answers one batch at a time). With `most`, return only that
        many batches, each fetched with room for no more than one. Raise WireError if the broker's answer is unusable.
        """
        start = self._names.places[self.partition].start
        position, end = start + offset, -1
        asked = f"Fetch of {self._names.places[self.partition].topic} from {position}"
        batches: list[Batch] = []
        aborted: dict[AbortedTransaction, None] = {}
        while end < 0 or position < end:
            found = self._ask(position, committed, 1 if most else MAX_BYTES)
            if end < 0:
                end = int(found.last_stable_offset if committed else found.high_watermark)
            for each in (found.aborted_transactions or ()) if committed else ():
                producer_id = self._names.numbered_producer_id(int(each.producer_id))
                aborted[AbortedTransaction(producer_id, int(each.first_offset) - start)] = None
            with reading(asked, found):
                fresh = [each for each in parse(found.records or b"", position, self._names) if each.base_offset < end]
            if not fresh:
                break
            fresh = fresh[:1] if most else fresh
            batches += (batch._replace(base_offset=batch.base_offset - start) for batch in fresh)
            position = fresh[-1].base_offset + 1
            if most and len(batches) == most:
                end = min(end, position)
        return FetchResponse(end - start, tuple(batches), tuple(aborted))

    def _part_of(self, topics: str) -> Callable[[Any], Any]:
        place = self._names.places[self.partition if self.partition < len(self._names.places) else 0]
        return lambda answer: part_about(place.topic, place.partition, getattr(answer, topics))

    def _ask(self, offset: int, committed: bool, most_bytes: int) -> Any:
        """Return the answer to one Fetch; a broker always returns the whole first batch (KIP-74)."""
        place, version = self._names.places[self.partition], self._version
        partition = build(
            "fetch", version, "FetchPartition", partition=place.partition, fetch_offset=offset,
            partition_max_bytes=most_bytes,
        )  # fmt: skip
        request = build(
            "fetch", version, max_wait=milliseconds(0), min_bytes=0, max_bytes=MAX_BYTES,
            isolation_level=int(committed), forgotten_topics_data=(),
            topics=(build("fetch", version, "FetchTopic", topic=place.topic, partitions=(partition,)),),
        )  # fmt: skip
        what = f"fetch of {place.topic}-{place.partition} from {offset}"
        return self._brokers.ask_until(what, self._leader, request, self._part_of("responses"))[1]

    def _leader(self) -> int:
        place = self._names.places[self.partition]
        return self._brokers.leader(place.topic, place.partition)


class FetchedOffsets(FetchedLog):
    """A `FetchedOffsets` has the offsets of a group; ``partition`` is its number after the data partitions."""

    def __init__(self, brokers: Brokers, versions: dict[str, int], names: Names, partition: int, group: int) -> None:
        super().__init__(brokers, versions, names, partition)
        self._group = names.group_id(group)
        self._offsets_version = versions["offset_fetch"]

    def fetch(self, offset: int, committed: bool, most: int = 0) -> FetchResponse:
        """Raise ValueError, because no consumer of an application reads __consumer_offsets."""
        raise ValueError(f"partition {self.partition} holds offsets, which are read by fetch_offset, not by read")

    def fetch_offset(self) -> tuple[int, int]:
        """Return (error, record); the error is 88 while an offset is pending (from version 7 on)."""
        place, version = self._names.places[0], self._offsets_version
        topic = build(
            "offset_fetch", version, "OffsetFetchRequestTopic", name=place.topic, partition_indexes=(place.partition,)
        )
        request = build(
            "offset_fetch", version, since=("require_stable",), group_id=self._group, topics=(topic,),
            require_stable=True,
        )  # fmt: skip
        error, found = self._brokers.ask_until(
            f"offset fetch of group {self._group}", lambda: self._brokers.coordinator(GROUP, self._group), request,
            self._part_of("topics"), also=(ErrorCode.UNSTABLE_OFFSET_COMMIT,),
        )  # fmt: skip
        return error, -1 if error else int(found.committed_offset)


def parse(data: bytes, start: int, names: Names) -> Iterator[Batch]:
    """Yield the batches from offset `start` on, one for each record, in the brokers' offsets. An incomplete last batch
    is dropped.

    Raise WireError for an invalid batch, and for a record that another program wrote, which would be taken for one of
    this system.
    """
    at = 0
    while at + HEADER.size <= len(data):
        base, length, leader_epoch, magic, _, attributes, *_ = header = HEADER.unpack_from(data, at)
        end = at + LENGTH_FROM + length
        if end > len(data):
            return
        if magic != MAGIC or length < HEADER.size - LENGTH_FROM:
            raise WireError(f"offset {base}: no record batch of format {MAGIC}: magic {magic}, length {length}")
        producer_id, epoch, sequence = names.numbered_producer_id(header[9]), header[10], header[11]
        batch = Batch(base, producer_id, epoch, sequence, -1, bool(attributes & TRANSACTIONAL), header[8], leader_epoch)
        if attributes & CONTROL:
            if base >= start:
                yield batch._replace(marker=_marker(data, at + HEADER.size))
        else:
            for delta, record in enumerate(_records(data, at, base, names)):
                if record[0] >= start:
                    numbered = sequence + delta if sequence >= 0 else sequence
                    yield batch._replace(base_offset=record[0], base_sequence=numbered, record=record[1])
        at = end


def _marker(data: bytes, at: int) -> int:
    """Return the type in a control record's key: 0 for abort, 1 for commit.

    The key is decoded without kio, because kio refuses a batch whose checksum is wrong, and librdkafka's mock writes 0
    there.
    """
    at += read_signed_varint(data, at)[1]  # the record's length
    at += 1  # its attributes
    at += read_signed_varlong(data, at)[1]  # its time, from the batch's
    at += read_signed_varint(data, at)[1]  # its offset, from the batch's
    length, size = read_signed_varint(data, at)
    if length < KEY.size:
        raise WireError(f"a control record with a key of {length} bytes: it must have a version and a type")
    return int(KEY.unpack_from(data, at + size)[1])


def _records(data: bytes, at: int, base: int, names: Names) -> Iterator[tuple[int, int]]:
    try:
        batch, _ = read_batch(data, at)
    except Exception as error:  # kio's, and whatever else comes of bytes that are no records
        raise Unreadable(f"offset {base}: a record batch that cannot be read: {error}") from error
    for record in batch.records:
        value = record.value or b""
        if record.key != names.record_key or not value.isdigit():
            raise WireError(
                f"offset {int(record.offset)}: another client's record, with key {record.key!r} and value {value!r}: "
                f"{names.name} must have its partitions to itself"
            )
        yield int(record.offset), int(value)
