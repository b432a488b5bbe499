"""This module reads the committed part of one small partition as records, and those of the config topic as events.

Of the text of configurations only numbers and connectors' names become events: configurations and session keys reach
no history. Source: KafkaConfigBackingStore (connect-runtime), which names the keys and fields."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.record_columns import records_of
from fencepost.proofs.recording.logs.replicas import Committed
from fencepost.proofs.recording.logs.segments import CONTROL, TRANSACTIONAL
from fencepost.proofs.recording.task_counts.ordering import Event, Names
from fencepost.proofs.recording.transactions.partition_events import committed_batches
from fencepost.properties.task_counts.events import Kind

KINDS = MappingProxyType({
    "connector-": (Kind.connector_written, Kind.connector_tombstoned),
    "task-": (Kind.task_config_written, None),
    "commit-": (Kind.set_written, None),
    "tasks-fencing-": (Kind.count_written, Kind.count_tombstoned),
})  # fmt: skip
"""By the beginning of a key, the event of its record, and that of its tombstone."""
SET_NUMBER = "set"
"""A connector may number its sets in its tasks' configurations under this name, for `--seen` to say which one an
instance was started with."""


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


def event_of(record: Record, connectors: Names) -> Event | None:
    """Return the event of a record of the config topic, without the latest set; None for records of other kinds. Raise
    ValueError, KeyError or TypeError where the record is malformed."""
    key = record.key.decode()
    value: Any = None if record.value is None else msgspec.json.decode(record.value)
    start = next((each for each in KINDS if key.startswith(each)), "")
    kind = KINDS[start][value is None] if start else None
    if kind is None:
        return None
    columns = {"offset": record.offset, "producer_id": record.producer_id, "epoch": record.epoch}
    event, name = Event(kind, record.time_ms * 1000, columns), key.removeprefix(start)
    if kind == Kind.task_config_written:
        name, _, task = name.rpartition("-")
        columns["task"] = int(task)
        event.number = str(value["properties"].get(SET_NUMBER, ""))
    elif kind == Kind.set_written:
        columns |= {"count": int(value["tasks"]), "set": record.offset}
    elif kind == Kind.count_written:
        columns["count"] = int(value["task-count"])
    columns["connector"] = connectors[name]
    return event
