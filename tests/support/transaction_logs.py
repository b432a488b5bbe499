"""Logs of brokers for the recorder's tests: copies of real ones to be doctored, and small ones made batch by batch."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

from crc32c import crc32c

REAL = Path(__file__).parent / "data" / "transactions-3-nodes"  # made by tests/live/kafka/support/ship_transactions.py
TOPIC = "fencepost-2aa327cb-topic-0"
CLUSTER = "ZmVuY2Vwb3N0LXRlc3RzLQ"
AFTER_CRC = struct.Struct(">hiqqqhii")
Entry = tuple[bytes | None, bytes | None]  # key, value


def real_logs(to: Path) -> list[Path]:
    """Copies of the three nodes' log directories."""
    return [Path(shutil.copytree(REAL / f"node-{node}", to / f"node-{node}")) for node in (1, 2, 3)]


def segment(log_dir: Path, partition: str, first: int = 0) -> Path:
    """One segment of a partition."""
    return log_dir / partition / f"{first:020}.log"


def varint(number: int) -> bytes:
    """Zigzag, as in records."""
    number = (number << 1) ^ (number >> 63)
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def record(delta: int, key: bytes | None, value: bytes | None) -> bytes:
    """One record of a batch."""
    body = b"\x00" + varint(0) + varint(delta)
    for part in (key, value):
        body += varint(-1) if part is None else varint(len(part)) + part
    body += varint(0)
    return varint(len(body)) + body


def batch(
    offset: int,
    entries: Sequence[Entry],
    *,
    producer: tuple[int, int] = (-1, -1),
    sequence: int = -1,
    attributes: int = 0,
    epoch: int = 0,
    time_ms: int = 1_795_000_000_000,
    records: bytes | None = None,
    last: int | None = None,
) -> bytes:
    """A record batch with these (key, value) entries; `records` instead of theirs, if it is compressed or broken.

    `last`: offset delta of the last record, where a cleaner has taken records out.
    """
    if records is None:
        records = b"".join(record(delta, *entry) for delta, entry in enumerate(entries))
    last = len(entries) - 1 if last is None else last
    rest = AFTER_CRC.pack(attributes, last, time_ms, time_ms, *producer, sequence, len(entries)) + records
    return struct.pack(">qiibI", offset, 9 + len(rest), epoch, 2, crc32c(rest)) + rest


TRANSACTIONAL, CONTROL = 0x10, 0x20


def sent(offset: int, producer: tuple[int, int], sequence: int, *values: bytes, epoch: int = 0) -> bytes:
    """A transactional batch of some records without keys."""
    entries = [(None, value) for value in values]
    return batch(offset, entries, producer=producer, sequence=sequence, attributes=TRANSACTIONAL, epoch=epoch)


def marker(offset: int, producer: tuple[int, int], commit: bool, epoch: int = 0) -> bytes:
    """A commit or abort marker by coordinator epoch 0."""
    entry = (struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0))
    return batch(offset, [entry], producer=producer, attributes=TRANSACTIONAL | CONTROL, epoch=epoch)


def state(offset: int, name: str, pair: tuple[int, int], status: int, *, version: int = 0) -> bytes:
    """A record of the transaction log, in the value's version 0; or 1, with the client's version as a tagged field."""
    value = struct.pack(">hqhib", version, *pair, 60_000, status)
    value += struct.pack(">i", -1) if version == 0 else b"\x00"
    value += struct.pack(">qq", 1_795_000_000_000, -1)
    value += b"" if version == 0 else b"\x01\x02\x02" + struct.pack(">h", 2)
    return batch(offset, [(id_key(name), value)])


def id_key(name: str) -> bytes:
    """The key of a transactional id in the transaction log."""
    return struct.pack(">hh", 0, len(name)) + name.encode()


def write_log(log_dir: Path, partition: str, batches: Sequence[bytes], *, node: int = 1, first: int = 0) -> Path:
    """A log directory with that partition (further calls add to it); returns the segment file."""
    file = segment(log_dir, partition, first)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(batches))
    (log_dir / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id={CLUSTER}\n")
    return file


def checkpoint(log_dir: Path, name: str, offsets: dict[tuple[str, int], int]) -> None:
    """One of the node's checkpoint files, such as replication-offset-checkpoint."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    (log_dir / name).write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")


def starts(file: Path) -> list[int]:
    """Where batches begin, told by their lengths alone."""
    content, at, found = file.read_bytes(), 0, []
    while at < len(content):
        found.append(at)
        at += 12 + struct.unpack_from(">i", content, at + 8)[0]
    return found
