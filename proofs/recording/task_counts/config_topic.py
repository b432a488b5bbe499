"""This module reads records of Connect's config topic as events. Of their text only numbers and connectors' names are
kept: configurations and session keys reach no history.

Source: KafkaConfigBackingStore (connect-runtime), which names the keys and fields."""

from __future__ import annotations

from typing import Any

import msgspec
from fencepost.proofs.recording.task_counts.log_records import Record
from fencepost.proofs.recording.task_counts.ordering import Event, Names
from fencepost.properties.task_counts.events import Kind

CONNECTOR, TASK, COMMIT, COUNT = "connector-", "task-", "commit-", "tasks-fencing-"
SET_NUMBER = "set"
"""A connector may number its sets in its tasks' configurations under this name, for `--seen` to say which one an
instance was started with."""


def event_of(record: Record, connectors: Names) -> tuple[Event, str] | None:
    """Return the event of a record, without the latest set, and the set's number if it is a task's configuration that
    has one. None stands for records of other kinds. Raise ValueError where the record is malformed."""
    key, value = record.key.decode(), _object(record.value)
    columns = {"offset": record.offset, "producer_id": record.producer_id, "epoch": record.epoch}
    number = ""
    if key.startswith(COUNT):
        kind = Kind.count_tombstoned if value is None else Kind.count_written
        name = key.removeprefix(COUNT)
        if value is not None:
            columns["count"] = int(value["task-count"])
    elif key.startswith(COMMIT):
        if value is None:
            return None
        kind, name = Kind.set_written, key.removeprefix(COMMIT)
        columns |= {"count": int(value["tasks"]), "set": record.offset}
    elif key.startswith(CONNECTOR):
        kind = Kind.connector_tombstoned if value is None else Kind.connector_written
        name = key.removeprefix(CONNECTOR)
    elif key.startswith(TASK):
        if value is None:
            return None
        kind, (name, _, task) = Kind.task_config_written, key.removeprefix(TASK).rpartition("-")
        columns["task"] = int(task)
        number = str((value.get("properties") or {}).get(SET_NUMBER, ""))
    else:
        return None
    return Event(kind, record.time_ms * 1000, columns | {"connector": connectors[name]}), number


def _object(value: bytes | None) -> dict[str, Any] | None:
    if value is None:
        return None
    decoded = msgspec.json.decode(value)
    if decoded is not None and not isinstance(decoded, dict):
        raise ValueError(f"a value is a {type(decoded).__name__} and no JSON object")
    return decoded
