"""This module reads the committed part of one small partition as records in order of offset, markers among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.record_columns import records_of
from fencepost.proofs.recording.logs.replicas import Committed
from fencepost.proofs.recording.logs.segments import CONTROL, TRANSACTIONAL
from fencepost.proofs.recording.transactions.partition_events import committed_batches


class Record(NamedTuple):
    """A `Record` is one record. Its time is its batch's; `control` is true of a transaction's marker."""

    offset: int
    time_ms: int
    producer_id: int
    epoch: int
    transactional: bool
    control: bool
    key: bytes
    value: bytes | None


def records_in(part: Committed) -> Iterator[Record]:
    for segment, batches in committed_batches(part):
        records = records_of(segment, np.sort(batches))
        for row, batch in enumerate(records.batch.tolist()):
            header = segment.headers[batch]
            attributes = int(header["attributes"])
            yield Record(
                int(header["base_offset"]) + int(records.delta[row]), int(header["max_time"]),
                int(header["producer_id"]), int(header["epoch"]),
                bool(attributes & TRANSACTIONAL), bool(attributes & CONTROL),
                records.key_of(row), records.value_of(row),
            )  # fmt: skip


def strange(part: Committed, record: Record, log: str, error: str) -> RecordingError:
    """Return the error of a record that is not what Kafka writes to this log."""
    what = f"the record at offset {record.offset} is not of the {log}: {error}"
    return RecordingError(what, part.replica.folder, "the file is another topic's, or of a Kafka newer than 4.4")
