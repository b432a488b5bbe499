"""A stream of transactions as a cluster's logs, made fast: what arrives in each step of time, partition by partition.

Every producer of `producers` has one transaction in each round, of version 2: a batch in each of `spread` partitions,
and a commit marker there. The transaction log has, as from brokers, a record for each partition that is added, Prepare
and Complete. Batches are real ones, with their own CRC-32C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from checked_logs import COMPLETE_COMMIT, ONGOING, PREPARE_COMMIT, data, logged, mark
from crc32c import crc32c
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import HEADER, Segment
from fencepost.proofs.recording.transactions.transaction_log import TOPIC

FIELDS = {name: HEADER.fields[name][1] for name in ("base_offset", "crc", "base_time", "max_time", "producer_id", "epoch")}
NAME_AT, STATE_AT = 61 + 5 + 2 + 4, 0
Rows = tuple[np.ndarray, np.ndarray]


@dataclass
class Stream:
    """Chunks of so many rounds each. One chunk has `producers * rounds` transactions."""

    producers: int = 1000
    partitions: int = 20
    logs: int = 10
    spread: int = 2
    rounds: int = 5
    checksums: bool = True
    epoch: int = 0
    now_ms: int = 1_795_000_000_000
    ends: dict[Place, int] = field(default_factory=dict)

    @property
    def transactions(self) -> int:
        return self.producers * self.rounds

    def chunks(self, count: int) -> Iterator[list[tuple[Place, bytes]]]:
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
                    unit = logged(0, (0, 0), state, "id-00000000", topics=0 if state == COMPLETE_COMMIT else 1)
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
                key = unit.index(b"id-00000000")
                table[:, key + 3 : key + 11] = (ids[:, None] // 10 ** np.arange(7, -1, -1)) % 10 + ord("0")
                value = unit.index(b"\x00\x01", key + 11)  # its version, before the pair
                _put(table, value + 2, ids, ">i8")
                _put(table, value + 10, np.full(len(ids), epoch), ">i2")
            else:
                _put(table, FIELDS["producer_id"], ids, ">i8")
                _put(table, FIELDS["epoch"], np.full(len(ids), epoch), ">i2")
            if self.checksums:
                sums = [crc32c(row) for row in table[:, 21:]]
                _put(table, FIELDS["crc"], np.array(sums), ">u4")
            tables.append(table.tobytes())
        return b"".join(tables)


def _put(table: np.ndarray, at: int, values: np.ndarray, form: str) -> None:
    table[:, at : at + np.dtype(form).itemsize] = values.astype(form).view(np.uint8).reshape(len(table), -1)


def parsed(content: bytes, checksums: bool = True) -> Segment:
    """As `read_segment` reads a file."""
    from fencepost.proofs.recording.logs import segments as s

    file = Path("stream")
    whole = np.frombuffer(content, np.uint8)
    positions, end = s.walked(whole)
    headers = s._headers(whole, positions)
    assert end == len(whole)
    if checksums:
        s._check_sums(file, whole, positions, headers)
    return Segment(file, whole, positions, headers, None)
