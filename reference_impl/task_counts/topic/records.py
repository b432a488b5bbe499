"""Records of the config topic: keys and values as Kafka Connect writes them, made and read here and nowhere else.

A key says the kind of record and what it is about; a value is JSON without a schema, or None, a tombstone:

    connector-C        {"properties": {...}}                      a connector's configuration; tombstone: deleted
    task-C-n           {"properties": {...}}                      one task's, of no effect before the commit record
    commit-C           {"tasks": n}                               the set of n task configurations takes effect (618.3)
    tasks-count-C      {"tasks": n}                               the task count record (618.1)
    tasks-fencing-C    {"task-count": n}                          the same, as shipped
    target-state-C     {"state": "...", "state.v2": "..."}        what a user wants: STARTED, PAUSED, STOPPED
    session-key        {"key": "...", "algorithm": "...", "creation-timestamp": ms}

Names may contain dashes: a task's number is what follows the last one. (KafkaConfigBackingStore.java)
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

CONNECTOR, TASK, COMMIT, COUNT = "connector", "task", "commit", "count"
TARGET_STATE, SESSION_KEY, OTHER = "target-state", "session-key", "other"

SHIPPED = "shipped"  # the mode whose count records have another key and field than the documents say
TARGET_STATES = ("STARTED", "PAUSED", "STOPPED")

Properties = Mapping[str, str]


class ConfigRecord(NamedTuple):
    """One record as it stands in the topic. `value` is JSON, or None: a tombstone."""

    key: str
    value: str | None


class Parsed(NamedTuple):
    """The content of a record. `connector` is "" and `task` is -1 where they do not apply; `value` None: a
    tombstone."""

    kind: str
    connector: str
    task: int
    value: Mapping[str, Any] | None


def connector_record(connector: str, properties: Properties) -> ConfigRecord:
    """A connector's configuration."""
    return ConfigRecord(f"connector-{connector}", _encoded({"properties": dict(properties)}))


def connector_tombstone(connector: str) -> ConfigRecord:
    """The connector is deleted. What is known of its tasks and their count keeps its records."""
    return ConfigRecord(f"connector-{connector}", None)


def task_record(connector: str, task: int, properties: Properties) -> ConfigRecord:
    """The configuration of one task, numbered from 0."""
    return ConfigRecord(f"task-{connector}-{task}", _encoded({"properties": dict(properties)}))


def commit_record(connector: str, tasks: int) -> ConfigRecord:
    """The set of the task configurations 0 to tasks - 1 written before takes effect (618.3)."""
    return ConfigRecord(f"commit-{connector}", _encoded({"tasks": tasks}))


def count_record(mode: str, connector: str, count: int) -> ConfigRecord:
    """As many producers of this connector's tasks may be alive from now on (618.1)."""
    if mode == SHIPPED:
        return ConfigRecord(f"tasks-fencing-{connector}", _encoded({"task-count": count}))
    return ConfigRecord(f"tasks-count-{connector}", _encoded({"tasks": count}))


def count_tombstone(mode: str, connector: str) -> ConfigRecord:
    """Nothing is known of this connector's producers: the rejected alternative of 618.38, which no revision writes."""
    return ConfigRecord(count_record(mode, connector, 0).key, None)


def target_state_record(connector: str, state: str) -> ConfigRecord:
    """The target state that a user sets. Workers that do not know STOPPED read it as PAUSED.

    Raises ValueError for a state that there is none of.
    """
    if state not in TARGET_STATES:
        raise ValueError(
            f"target state {state!r} of connector {connector!r}: must be one of {', '.join(TARGET_STATES)}"
        )
    older = "PAUSED" if state == "STOPPED" else state
    return ConfigRecord(f"target-state-{connector}", _encoded({"state": older, "state.v2": state}))


def target_state_tombstone(connector: str) -> ConfigRecord:
    """Written together with the connector's own tombstone."""
    return ConfigRecord(f"target-state-{connector}", None)


def session_key_record(key_base64: str, algorithm: str, created_ms: int) -> ConfigRecord:
    """The leader's new session key (KIP-507)."""
    value = {"key": key_base64, "algorithm": algorithm, "creation-timestamp": created_ms}
    return ConfigRecord("session-key", _encoded(value))


@lru_cache(maxsize=4096)  # every worker reads the same records
def parse(record: ConfigRecord) -> Parsed:
    """The content of a record by key and value. Keys of other kinds (a user's restart request, logger levels) are
    OTHER, as are task keys without a number. Raises ValueError for a value that is not a JSON object."""
    kind, connector, task = parse_key(record.key)
    if record.value is None:
        return Parsed(kind, connector, task, None)
    try:
        value = json.loads(record.value)
    except json.JSONDecodeError as error:
        raise ValueError(f"config record {record.key!r}: value {record.value!r} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"config record {record.key!r}: value {record.value!r} must be a JSON object")
    return Parsed(kind, connector, task, value)


def parse_key(key: str) -> tuple[str, str, int]:
    """(kind, connector or "", task or -1) of a key."""
    if key == "session-key":
        return SESSION_KEY, "", -1
    for prefix, kind in _PREFIXES:
        if key.startswith(prefix) and len(key) > len(prefix):
            name = key.removeprefix(prefix)
            if kind != TASK:
                return kind, name, -1
            connector, _, number = name.rpartition("-")
            if connector and number.isascii() and number.isdigit():
                return TASK, connector, int(number)
    return OTHER, "", -1


def count_in(value: Mapping[str, Any]) -> int:
    """The number in a commit record's or a count record's value, under either name. Raises ValueError without one."""
    count = value.get("tasks", value.get("task-count"))
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ValueError(f"config value {dict(value)}: needs `tasks` or `task-count`, a whole number from 0")
    return count


_PREFIXES = (
    ("target-state-", TARGET_STATE),
    ("connector-", CONNECTOR),
    ("task-", TASK),
    ("commit-", COMMIT),
    ("tasks-count-", COUNT),
    ("tasks-fencing-", COUNT),
)


def _encoded(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))
