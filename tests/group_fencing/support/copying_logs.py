"""These are logs of live runs of the copying application, which tests edit and record.

`classic` is a run with faults, in which librdkafka members of the classic protocol were paused, stopped, killed and
left. `left-out` has a zombie whose offsets lack its group metadata. `ship_copying.py` made both.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from crc32c import crc32c
from fencepost.proofs.recording import Recorded, record_group
from fencepost.proofs.recording.logs.segments import CONTROL, CRC_FROM, Segment, read_segment
from fencepost.proofs.scale.replay import ReplayReport, replay

DATA = Path(__file__).parents[2] / "support" / "data" / "copying"  # made by ship_copying.py
LOG = Path("node-1") / "__consumer_offsets-0" / "00000000000000000000.log"
CRC_AT, PRODUCER_AT = 17, 43  # bytes from the start of a batch
Line = dict[str, Any]


class CopyingLogs:
    """`CopyingLogs` is an editable copy of a run's logs. `lines` has the lines of the members and the auditor, of which
    the first is the header, and `log` is the log of the group's offsets."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(DATA / name, folder / "logs")
        self.log = folder / "logs" / LOG
        text = (folder / "logs" / "clients.jsonl").read_text()
        self.lines: list[Line] = [json.loads(line) for line in text.splitlines()]

    @property
    def header(self) -> Line:
        return self.lines[0]

    def of(self, *kinds: str, **columns: Any) -> list[Line]:
        """Return the lines of these kinds whose columns have these values."""
        return [
            line for line in self.lines[1:]
            if line["kind"] in kinds and all(line.get(name) == value for name, value in columns.items())
        ]  # fmt: skip

    @property
    def segment(self) -> Segment:
        return read_segment(self.log, 0)

    def markers(self) -> list[int]:
        """Return the positions in the log of the batches that end transactions."""
        return np.flatnonzero(self.segment.headers["attributes"] & CONTROL).tolist()

    def patch(self, batch: int, change: Callable[[bytearray], None]) -> None:
        """Change the bytes of one batch of the log, and correct its checksum."""
        segment, content = self.segment, bytearray(self.log.read_bytes())
        start = int(segment.positions[batch])
        end = start + 12 + int(segment.headers["length"][batch])
        changed = content[start:end]
        change(changed)
        changed[CRC_AT:CRC_FROM] = crc32c(bytes(changed[CRC_FROM:])).to_bytes(4, "big")
        self.log.write_bytes(content[:start] + changed + content[end:])

    def cut(self, batch: int) -> None:
        """Remove one batch from the log, as a cleaner does."""
        segment, content = self.segment, self.log.read_bytes()
        start = int(segment.positions[batch])
        self.log.write_bytes(content[:start] + content[start + 12 + int(segment.headers["length"][batch]) :])

    def record(self, *, with_log: bool = True) -> Recorded:
        clients = self.folder / "clients.jsonl"
        clients.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        dirs = [self.folder / "logs" / "node-1"] if with_log else []
        return record_group(dirs, clients, self.folder / "out", kafka_version="4.3.1")

    def replay(self) -> ReplayReport:
        self.record()
        return replay(self.folder / "out", cores=1)


def another_producer(batch: bytearray) -> None:
    """Give the batch a producer id that does not exist."""
    batch[PRODUCER_AT : PRODUCER_AT + 8] = (999).to_bytes(8, "big")
