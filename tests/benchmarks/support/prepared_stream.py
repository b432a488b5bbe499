"""A stream of transactions as a cluster's logs, made fast: what arrives in each step of time, partition by partition.

Every producer of `producers` has one transaction in each round, of version 2: a batch in each of `spread` partitions,
and a commit marker there. The transaction log has, as from brokers, a record for each partition that is added, Prepare
and Complete. Batches are real ones, with their own CRC-32C.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from checked_logs import COMPLETE_COMMIT, ONGOING, PREPARE_COMMIT, data, logged, mark
from crc32c import crc32c
from fencepost.proofs.doctor.source import Active, Listed
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import (
    BEFORE_LENGTH_COUNTS,
    CONTROL,
    CRC_FROM,
    HEADER,
    LENGTH_AT,
    Segment,
    checked_headers,
    walked,
)
from fencepost.proofs.recording.transactions.transaction_log import TOPIC
from transaction_logs import MARKER_TYPE_AT

FIELDS = {name: at for name, (_, at, *_) in (HEADER.fields or {}).items()}
NAME = b"id-00000000"
Chunk = list[tuple[Place, bytes]]


@dataclass
class Stream:
    """Chunks of so many rounds each. One chunk has `transactions`, and `batches` of its own and of the log."""

    producers: int = 1000
    partitions: int = 20
    logs: int = 10
    spread: int = 2
    rounds: int = 5
    epoch: int = 0
    now_ms: int = 1_795_000_000_000
    ends: dict[Place, int] = field(default_factory=dict)

    @property
    def transactions(self) -> int:
        return self.producers * self.rounds

    @property
    def batches(self) -> int:
        return self.transactions * (3 * self.spread + 2)

    def chunks(self, count: int) -> Iterator[Chunk]:
        """Partitions first, then the transaction log."""
        for _ in range(count):
            yield [*self._data(), *self._logs()]
            self.epoch += self.rounds
            self.now_ms += self.rounds

    def _data(self) -> Iterator[tuple[Place, bytes]]:
        ids = np.arange(self.producers)
        unit, marker = data(0, (0, 0), 0), mark(0, (0, 0), 1)
        for partition in range(self.partitions):
            parts = []
            for turn in range(self.rounds):
                # A producer's partitions move on with every transaction.
                first = (ids + self.epoch + turn) % self.partitions
                mine = ids[(partition - first) % self.partitions < self.spread]
                parts.append((unit, mine, self.epoch + turn))
                parts.append((marker, mine, self.epoch + turn + 1))
            yield Place("t", partition), self._written(Place("t", partition), parts)

    def _logs(self) -> Iterator[tuple[Place, bytes]]:
        ids = np.arange(self.producers)
        for number in range(self.logs):
            mine, parts = ids[ids % self.logs == number], []
            for turn in range(self.rounds):
                states = [*[(ONGOING, 0)] * self.spread, (PREPARE_COMMIT, 1), (COMPLETE_COMMIT, 1)]
                for state, bump in states:
                    unit = logged(0, (0, 0), state, NAME.decode(), topics=0 if state == COMPLETE_COMMIT else 1)
                    parts.append((unit, mine, self.epoch + turn + bump))
            place = Place(TOPIC, number)
            yield place, self._written(place, parts, named=True)

    def _written(self, place: Place, parts: list[tuple[bytes, np.ndarray, int]], named: bool = False) -> bytes:
        """Copies of these batches, each with its offset, producers, epoch and checksum."""
        tables = []
        for unit, ids, epoch in parts:
            table = np.tile(np.frombuffer(unit, np.uint8), (len(ids), 1))
            base = self.ends.get(place, 0)
            self.ends[place] = base + len(ids)
            _put(table, FIELDS["base_offset"], base + np.arange(len(ids)), ">i8")
            for name in ("base_time", "max_time"):
                _put(table, FIELDS[name], np.full(len(ids), self.now_ms), ">i8")
            if named:
                key = unit.index(NAME)
                table[:, key + 3 : key + 11] = (ids[:, None] // 10 ** np.arange(7, -1, -1)) % 10 + ord("0")
                value = unit.index(b"\x00\x01", key + 11)  # its version, before the pair
                _put(table, value + 2, ids, ">i8")
                _put(table, value + 10, np.full(len(ids), epoch), ">i2")
            else:
                _put(table, FIELDS["producer_id"], ids, ">i8")
                _put(table, FIELDS["epoch"], np.full(len(ids), epoch), ">i2")
            _put(table, FIELDS["crc"], np.array([crc32c(row) for row in table[:, CRC_FROM:]]), ">u4")
            tables.append(table.tobytes())
        return b"".join(tables)


def _put(table: np.ndarray, at: int, values: np.ndarray, form: str) -> None:
    table[:, at : at + np.dtype(form).itemsize] = values.astype(form).view(np.uint8).reshape(len(table), -1)


def parsed(place: Place, content: bytes) -> Segment:
    """As what a broker answers is read."""
    whole, file = np.frombuffer(content, np.uint8), Path(str(place))
    positions, _ = walked(whole)
    return Segment(file, whole, positions, checked_headers(file, whole, positions, 0), None)


def planted(chunk: Chunk) -> Chunk:
    """The chunk with a first batch that begins at number 7, and a first marker that says abort."""
    (place, content), *others = chunk
    positions, _ = walked(np.frombuffer(content, np.uint8))
    wrong, (mark_at, *_) = bytearray(content), [at for at in positions.tolist() if content[at + 22] & CONTROL]
    _change(wrong, 0, FIELDS["base_sequence"], (7).to_bytes(4))
    _change(wrong, mark_at, MARKER_TYPE_AT, b"\x00")
    return [(place, bytes(wrong)), *others]


def _change(content: bytearray, at: int, field: int, new: bytes) -> None:
    end = at + BEFORE_LENGTH_COUNTS + int.from_bytes(content[at + LENGTH_AT : at + LENGTH_AT + 4])
    content[at + field : at + field + len(new)] = new
    content[at + FIELDS["crc"] : at + CRC_FROM] = crc32c(bytes(content[at + CRC_FROM : end])).to_bytes(4)


class Prepared:
    """A source that has the next chunk at each round, or when it is `due`, one after every so many seconds of a core of
    its own: `now` counts processor time, and what would be waited."""

    name = "prepared"
    lag_s = 0.0

    def __init__(self, stream: Stream, chunks: Iterable[Chunk], every_s: float = 0.0) -> None:
        self.stream, self._chunks = stream, iter(chunks)
        self.away: dict[Place, str] = {}
        self.high: dict[Place, int] = {}
        self.over = False
        self.due: list[float] = []
        self._every_s, self._waited = every_s, 0.0
        self._began = self.now

    @property
    def now(self) -> float:
        return time.process_time() + self._waited

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        return {}

    def places(self, topics: Collection[str]) -> Sequence[Place]:
        if TOPIC in topics:
            return [Place(TOPIC, number) for number in range(self.stream.logs)]
        return [Place("t", number) for number in range(self.stream.partitions)]

    def poll(self, starts: Mapping[Place, int], wait_ms: int = 500) -> Iterator[tuple[Place, Segment]]:
        chunk = next(self._chunks, None)
        self.over = chunk is None
        self.due.append(self._began + self._every_s * (len(self.due) + 1))
        self._waited += max(0.0, self.due[-1] - self.now) if self._every_s else 0
        for place, content in chunk or ():
            segment = parsed(place, content)
            self.high[place] = int(segment.last_offsets[-1]) + 1
            yield place, segment

    def ends(self, place: Place) -> tuple[int, int, int]:
        end = self.stream.ends.get(place, 0)
        return 0, end, end

    def segments(self, place: Place, since_ms: int = -1, start: int = -1) -> Iterator[Segment]:
        return iter(())

    def listed(self, transactional_ids: Collection[str]) -> Sequence[Listed]:
        return []

    def active(self, place: Place) -> Sequence[Active]:
        return []

    def releases(self) -> Mapping[str, str]:
        return {}

    def now_ms(self) -> int:
        return self.stream.now_ms

    def close(self) -> None: ...
