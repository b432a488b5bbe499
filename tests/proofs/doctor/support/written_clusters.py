"""One node's directories, batch by batch, as `fencepost doctor --logs` is given them."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Sequence
from pathlib import Path

from transaction_logs import batch, checkpoint, id_key, write_log

NOW = int(time.time() * 1000)
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)


def state(
    offset: int, name: str, pair: tuple[int, int], status: int, at_ms: int, partitions: Sequence[int] = (),
    start_ms: int = -1, version: int = 2, topic: str = "payments", timeout_ms: int = 60_000,
) -> bytes:  # fmt: skip
    """A record of the transaction log, of a client of that version, with partitions of a topic."""
    value = struct.pack(">hqhib", 1, *pair, timeout_ms, status)
    if partitions:
        numbers = b"".join(struct.pack(">i", each) for each in partitions)
        value += bytes([2, len(topic) + 1]) + topic.encode() + bytes([len(partitions) + 1]) + numbers + b"\x00"
    else:
        value += b"\x01"
    value += struct.pack(">qq", at_ms, start_ms) + b"\x01\x02\x02" + struct.pack(">h", version)
    return batch(offset, [(id_key(name), value)], time_ms=at_ms)


def write_cluster(folder: Path, data: Sequence[Sequence[bytes]], log: Sequence[bytes], topic: str = "payments") -> Path:
    """One node with some partitions of payments, and the transaction log."""
    for number, batches in enumerate(data):
        write_log(folder, f"{topic}-{number}", batches)
    write_log(folder, "__transaction_state-0", log)
    ends = {(topic, number): len(batches) for number, batches in enumerate(data)}
    checkpoint(folder, "replication-offset-checkpoint", ends | {("__transaction_state", 0): len(log)})
    os.utime(folder / "replication-offset-checkpoint", (NOW / 1000 + 1,) * 2)  # a second later the node was alive
    return folder
