"""Metadata logs for the recorder's tests: copies of real ones, doctored as a test needs, and small made ones."""

from __future__ import annotations

import io
import json
import shutil
import struct
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from crc32c import crc32c
from fencepost.proofs.recording.logs.log import TOPIC
from fencepost.proofs.recording.logs.segments import BEFORE_LENGTH_COUNTS, CRC_FROM, LENGTH_AT
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.schema.leader_change_message.v1.data import LeaderChangeMessage, Voter
from kio.schema.types import BrokerId
from kio.serial import entity_writer
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

REAL = Path(__file__).parent / "data" / "kraft-3-nodes"  # made by tests/live/kafka/support/ship.py
NOOP = b"\x01\x14\x00\x00"  # frame version 1, record type 20, version 0, no tagged fields
VOTERS = (1, 2, 3)
Entry = tuple[int, bytes | None, bytes]  # epoch, key (control batches have one), value
WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def real_logs(folder: Path) -> list[Path]:
    """A copy of the real cluster's three log directories, to be doctored; its clients are in `folder`/clients.jsonl."""
    shutil.copytree(REAL, folder, dirs_exist_ok=True)
    return [folder / f"node-{node}" for node in VOTERS]


def segment(directory: Path, index: int = -1) -> Path:
    """One of a node's segments, the last one by default."""
    return sorted((directory / TOPIC).glob("*.log"))[index]


def positions(file: Path) -> list[int]:
    """Where each batch of a segment begins."""
    content, found, at = file.read_bytes(), [], 0
    while at < len(content):
        found.append(at)
        at += BEFORE_LENGTH_COUNTS + struct.unpack_from(">i", content, at + LENGTH_AT)[0]
    return found


def replace(file: Path, old: bytes, new: bytes) -> int:
    """Replace `old` where it stands, CRC included, as a writer with a bug would have written it; returns how often."""
    content, changed = bytearray(file.read_bytes()), 0
    for at in positions(file):
        end = at + BEFORE_LENGTH_COUNTS + struct.unpack_from(">i", content, at + LENGTH_AT)[0]
        if old in content[at:end]:
            content[at:end] = content[at:end].replace(old, new)
            struct.pack_into(">I", content, at + 17, crc32c(bytes(content[at + CRC_FROM : end])))
            changed += 1
    file.write_bytes(content)
    return changed


def noop(epoch: int) -> Entry:
    """An entry without meaning."""
    return epoch, None, NOOP


def block(epoch: int, broker: int, next_id: int) -> Entry:
    """A ProducerIdsRecord, of broker epoch 7."""
    return epoch, None, b"\x01\x0f\x00" + struct.pack(">iqq", broker, 7, next_id) + b"\x00"


def elected(epoch: int, node: int, voters: Sequence[int] = VOTERS) -> Entry:
    """The control record with which a leader begins its epoch."""
    reported = tuple(Voter(voter_id=i32(voter), voter_directory_id=None) for voter in voters)
    message = LeaderChangeMessage(version=i16(1), leader_id=BrokerId(node), voters=reported, granting_voters=reported)
    out = io.BytesIO()
    entity_writer(LeaderChangeMessage)(out, message)
    return epoch, struct.pack(">hh", 0, 2), out.getvalue()


def write_log(folder: Path, node: int, entries: Sequence[Entry], *, start: int = 0, cluster: str = "made") -> Path:
    """A node's log directory with one batch per entry, the first at offset `start`; returns the directory."""
    directory = folder / f"node-{node}"
    (directory / TOPIC).mkdir(parents=True, exist_ok=True)
    (directory / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id={cluster}\n")
    state = {"leaderEpoch": max((epoch for epoch, _, _ in entries), default=0), "data_version": 0}
    state["currentVoters"] = [{"voterId": voter} for voter in VOTERS]  # type: ignore[assignment]
    (directory / TOPIC / "quorum-state").write_text(json.dumps(state))
    content = b"".join(batch(offset, *entry) for offset, entry in enumerate(entries, start))
    (directory / TOPIC / f"{start:020d}.log").write_bytes(content)
    return directory


def write_snapshot(directory: Path, end: int, epoch: int, entries: Sequence[Entry]) -> Path:
    """A snapshot of everything below offset `end`, whose last record has `epoch`."""
    file = directory / TOPIC / f"{end:020d}-{epoch:010d}.checkpoint"
    file.write_bytes(b"".join(batch(offset, *entry) for offset, entry in enumerate(entries)))
    return file


def batch(offset: int, epoch: int, key: bytes | None, value: bytes) -> bytes:
    """The bytes of one batch with one record; with a key it is a control batch."""
    record = Record(
        attributes=i8(0), timestamp=TZAwareMicros.parse(WHEN), offset=i64(offset), key=key, value=value, headers=()
    )
    out = io.BytesIO()
    made = NewRecordBatch(
        producer_id=i64(-1),
        producer_epoch=i16(-1),
        partition_leader_epoch=i32(epoch),
        base_sequence=i32(-1),
        records=(record,),
        attributes=i16(0 if key is None else 0x20),
    )
    write_new_batch(out, made)
    return out.getvalue()
