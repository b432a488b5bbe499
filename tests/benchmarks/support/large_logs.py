"""Logs of many gigabytes, written fast: batches of some 16 KB with their own offsets, numbers and checksums."""

from __future__ import annotations

from pathlib import Path
from struct import pack_into

from crc32c import crc32c
from fencepost.proofs.recording.logs.segments import CRC_FROM
from prepared_stream import FIELDS
from transaction_logs import batch, checkpoint, segment, write_log

RECORDS, SEGMENT = 16, 1 << 28
PRODUCERS = 100


def large_logs(node: Path, partitions: int, size: int) -> int:
    """A node with so many partitions of some `size` bytes each; returns the bytes in all. One batch stands twice."""
    ends: dict[tuple[str, int], int] = {}
    whole = 0
    for number in range(partitions):
        unit = bytearray(batch(0, [(None, b"%01000d" % n) for n in range(RECORDS)], producer=(0, 0), sequence=0))
        offset, rounds, written = 0, size // (PRODUCERS * len(unit)), 0
        file = write_log(node, f"large-{number}", [])
        opened = file.open("wb")
        for turn in range(rounds):
            if written >= SEGMENT:
                opened.close()
                written, opened = 0, segment(node, f"large-{number}", offset).open("wb")
            for producer in range(PRODUCERS):
                sequence = max(0, turn - (number == producer == 1 and turn == rounds - 1)) * RECORDS
                for name, form, value in (
                    ("base_offset", ">q", offset), ("producer_id", ">q", producer), ("base_sequence", ">i", sequence)
                ):  # fmt: skip
                    pack_into(form, unit, FIELDS[name], value)
                pack_into(">I", unit, FIELDS["crc"], crc32c(memoryview(unit)[CRC_FROM:]))
                opened.write(unit)
                offset, written, whole = offset + RECORDS, written + len(unit), whole + len(unit)
        opened.close()
        ends["large", number] = offset
    checkpoint(node, "replication-offset-checkpoint", ends)
    return whole
