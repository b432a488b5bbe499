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
MARKER_TYPE_AT = 61 + 5 + 3  # behind the header, the record's first five bytes, and the key's first three
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


def marker(offset: int, producer: tuple[int, int], commit: bool, epoch: int = 0, **further: int) -> bytes:
    """A commit or abort marker by coordinator epoch 0."""
    entry = (struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0))
    return batch(offset, [entry], producer=producer, attributes=TRANSACTIONAL | CONTROL, epoch=epoch, **further)


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


def rewritten(file: Path, row: int, at: int, new: bytes) -> None:
    """Change bytes of one batch, counted from its start, in a way that its CRC fits, as a broker with a bug would."""
    content, begins = bytearray(file.read_bytes()), [*starts(file), file.stat().st_size]
    begin, end = begins[row], begins[row + 1]
    content[begin + at : begin + at + len(new)] = new
    struct.pack_into(">I", content, begin + 17, crc32c(bytes(content[begin + 21 : end])))
    file.write_bytes(content)


def turned_round(log_dirs: Sequence[Path], partition: str) -> None:
    """On every node the last marker of a partition says abort instead of commit, or the other way round."""
    for log_dir in log_dirs:
        file = max(each for each in (log_dir / partition).glob("*.log") if _has_markers(each))
        content, begins = file.read_bytes(), starts(file)
        row = max(row for row, at in enumerate(begins) if content[at + 22] & CONTROL)
        rewritten(file, row, MARKER_TYPE_AT, bytes([1 - content[begins[row] + MARKER_TYPE_AT]]))


def _has_markers(file: Path) -> bool:
    content = file.read_bytes()
    return any(content[at + 22] & CONTROL for at in starts(file))


def compacted(log_dirs: Sequence[Path], partition: str, count: int) -> None:
    """On every node the first batches of a partition are gone, as if by its log cleaner: the segment stays."""
    for log_dir in log_dirs:
        file = segment(log_dir, partition)
        content, topic, number = file.read_bytes(), *partition.rsplit("-", 1)
        file.write_bytes(content[starts(file)[count] :])
        checkpoint(log_dir, "cleaner-offset-checkpoint", {(topic, int(number)): first_offset(file)})


def deleted(log_dirs: Sequence[Path], partition: str, count: int) -> None:
    """On every node the first batches of a partition are gone, as if by its retention: the segment is another."""
    for log_dir in log_dirs:
        file = segment(log_dir, partition)
        content, topic, number = file.read_bytes(), *partition.rsplit("-", 1)
        file.write_bytes(content[starts(file)[count] :])
        first = first_offset(file)
        file.rename(segment(log_dir, partition, first))
        checkpoint(log_dir, "log-start-offset-checkpoint", {(topic, int(number)): first})


def first_offset(file: Path) -> int:
    """The offset with which the first batch of a segment begins."""
    return int.from_bytes(file.read_bytes()[:8], "big")
