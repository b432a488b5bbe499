"""This module has the records of the config topic, what they mean to a worker that reads them all, and the session keys
that are among them."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

# Records of the config topic: keys and values as Kafka Connect writes them, made and read here and nowhere else.
#
# A key says the kind of record and what it is about; a value is JSON without a schema, or None, a tombstone:
#
#     connector-C        {"properties": {...}}                      a connector's configuration; tombstone: deleted
#     task-C-n           {"properties": {...}}                      one task's, of no effect before the commit record
#     commit-C           {"tasks": n}                               the set of n task configurations takes effect
# (618.3)
#     tasks-count-C      {"tasks": n}                               the task count record (618.1)
#     tasks-fencing-C    {"task-count": n}                          the same, as shipped
#     target-state-C     {"state": "...", "state.v2": "..."}        what a user wants: STARTED, PAUSED, STOPPED
#     session-key        {"key": "...", "algorithm": "...", "creation-timestamp": ms}
#
# Names may contain dashes: a task's number is what follows the last one. (KafkaConfigBackingStore.java)

CONNECTOR, TASK, COMMIT, COUNT = "connector", "task", "commit", "count"
TARGET_STATE, SESSION_KEY, OTHER = "target-state", "session-key", "other"

SHIPPED = "shipped"  # the mode whose count records have another key and field than the documents say
TARGET_STATES = ("STARTED", "PAUSED", "STOPPED")

Properties = Mapping[str, str]


class ConfigRecord(NamedTuple):
    """A `ConfigRecord` is one record of the config topic. ``value`` is JSON, or None for a tombstone."""

    key: str
    value: str | None


class Parsed(NamedTuple):
    """A `Parsed` is the content of a record. ``connector`` is empty and ``task`` is -1 where they do not apply;
    ``value`` is None for a tombstone."""

    kind: str
    connector: str
    task: int
    value: Mapping[str, Any] | None


def connector_record(connector: str, properties: Properties) -> ConfigRecord:
    return ConfigRecord(f"connector-{connector}", _encoded({"properties": dict(properties)}))


def connector_tombstone(connector: str) -> ConfigRecord:
    """Return the record that deletes a connector; the records of its task configurations and of its task count stay."""
    return ConfigRecord(f"connector-{connector}", None)


def task_record(connector: str, task: int, properties: Properties) -> ConfigRecord:
    return ConfigRecord(f"task-{connector}-{task}", _encoded({"properties": dict(properties)}))


def commit_record(connector: str, tasks: int) -> ConfigRecord:
    """Return the record by which the task configurations 0 to tasks - 1 take effect as a set (618.3)."""
    return ConfigRecord(f"commit-{connector}", _encoded({"tasks": tasks}))


def count_record(mode: str, connector: str, count: int) -> ConfigRecord:
    """Return the task count record: from then on, this many producers of the connector's tasks may be alive (618.1)."""
    if mode == SHIPPED:
        return ConfigRecord(f"tasks-fencing-{connector}", _encoded({"task-count": count}))
    return ConfigRecord(f"tasks-count-{connector}", _encoded({"tasks": count}))


def count_tombstone(mode: str, connector: str) -> ConfigRecord:
    """Return the tombstone of a task count record, after which nothing is known of the connector's producers. This is
    the rejected alternative of 618.38, which no revision writes."""
    return ConfigRecord(count_record(mode, connector, 0).key, None)


def target_state_record(connector: str, state: str) -> ConfigRecord:
    """Return the record with the target state that a user sets. Workers that do not know STOPPED read it as PAUSED.

    Raise ValueError for an unknown state.
    """
    if state not in TARGET_STATES:
        raise ValueError(
            f"target state {state!r} of connector {connector!r}: must be one of {', '.join(TARGET_STATES)}"
        )
    older = "PAUSED" if state == "STOPPED" else state
    return ConfigRecord(f"target-state-{connector}", _encoded({"state": older, "state.v2": state}))


def target_state_tombstone(connector: str) -> ConfigRecord:
    return ConfigRecord(f"target-state-{connector}", None)


def session_key_record(key_base64: str, algorithm: str, created_ms: int) -> ConfigRecord:
    value = {"key": key_base64, "algorithm": algorithm, "creation-timestamp": created_ms}
    return ConfigRecord("session-key", _encoded(value))


@lru_cache(maxsize=4096)  # every worker reads the same records
def parse(record: ConfigRecord) -> Parsed:
    """Return the content of a record by key and value. Keys of other kinds (a user's restart request, logger levels)
    are OTHER, as are task keys without a number. Raise ValueError for a value that is not a JSON object."""
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
    """Return the kind, the connector (or an empty string) and the task (or -1) of a key."""
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
    """Return the number in the value of a commit or count record. Raise ValueError if there is none."""
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


# A worker reads this state from the config topic, record by record: sets of task configurations, task counts, and which
# connectors need fencing.
#
# Task configurations wait in a buffer until their commit record; a commit record whose buffer lacks a task from 0 on
# (because of compaction) applies nothing and marks the connector inconsistent. After a commit record a connector needs
# a fencing round, and a count record ends that (618.2, 618.4). Deleting a connector removes its configurations, never
# its count, because tasks of the deleted connector may still be alive (618.38).
#
# Every worker counts generations for itself, and they mean nothing to another worker: after a compaction two workers
# may count differently. Every rule is a method of its own. (ClusterConfigState, KafkaConfigBackingStore)

NOTHING = -1  # for places in the topic: there is no such record


class ClusterConfigState:
    """A `ClusterConfigState` is one worker's view of the config topic. ``offset`` is the place of the next record to
    read; places are offsets in the config topic."""

    __slots__ = (
        "applied", "buffered", "commits", "configured", "connectors", "counted", "counts", "generations",
        "inconsistent", "offset", "pending_fencing", "session_key", "sets", "target_states", "task_configs",
        "task_counts",
    )  # fmt: skip

    def __init__(self) -> None:
        self.offset = 0
        self.connectors: dict[str, Properties] = {}
        self.task_configs: dict[str, dict[int, Properties]] = {}
        self.configured: dict[str, dict[int, int]] = {}  # place of the set that each of these configurations is of
        self.buffered: dict[str, dict[int, Properties]] = {}  # read, and not committed yet
        self.task_counts: dict[str, int] = {}  # from the latest commit record, complete or not
        self.target_states: dict[str, str] = {}
        self.inconsistent: set[str] = set()
        self.counts: dict[str, int] = {}  # from the latest count record
        self.counted: dict[str, int] = {}  # place of the latest count record
        self.generations: dict[str, int] = {}
        self.commits: dict[str, int] = {}  # place of the latest commit record, complete or not
        self.sets: dict[str, int] = {}  # place of the commit record of the newest complete set
        self.pending_fencing: set[str] = set()
        self.applied: dict[str, Properties] = {}  # the connector's configuration that its newest set was made from
        self.session_key: Mapping[str, Any] | None = None

    def apply(self, record: ConfigRecord, offset: int) -> None:
        """Apply the record at `offset`. Raise ValueError for an offset before the expected one."""
        if offset < self.offset:
            raise ValueError(f"config record {record.key!r} at offset {offset}: the next one to read is {self.offset}")
        kind, connector, task, value = parse(record)
        if kind == CONNECTOR:
            self.apply_connector(connector, value)
        elif kind == TASK:
            if value is not None:
                self.buffered.setdefault(connector, {})[task] = value.get("properties", {})
        elif kind == COMMIT:
            if value is not None:
                self.apply_commit(connector, count_in(value), offset)
        elif kind == COUNT:
            self.apply_count(connector, value, offset)
        elif kind == TARGET_STATE:
            self.apply_target_state(connector, value)
        elif kind == SESSION_KEY:
            self.session_key = value
        self.offset = offset + 1

    def apply_connector(self, connector: str, value: Mapping[str, Any] | None) -> None:
        if value is None:
            self.forget(connector)
        else:
            self.connectors[connector] = value.get("properties", {})
            self.target_states.setdefault(connector, "STARTED")

    def forget(self, connector: str) -> None:
        """Remove a deleted connector's configurations, but not its count and need of fencing (618.38, B34)."""
        known: tuple[dict[str, Any], ...] = (
            self.connectors, self.task_configs, self.configured, self.buffered, self.task_counts, self.applied,
            self.sets,
        )  # fmt: skip
        for mapping in known:
            mapping.pop(connector, None)
        self.inconsistent.discard(connector)

    def apply_commit(self, connector: str, tasks: int, offset: int) -> None:
        """Let the buffered set take effect if it is complete (618.3); drop that of an unknown connector."""
        if connector not in self.connectors:
            self.forget(connector)
            return
        buffer = self.buffered.get(connector)
        if not self.is_complete(buffer or {}, tasks):
            self.inconsistent.add(connector)
        else:
            self.take_effect(connector, buffer, offset)
        if buffer is not None:
            buffer.clear()
        self.task_counts[connector] = tasks
        self.commits[connector] = offset
        self.pending_fencing.add(connector)

    def take_effect(self, connector: str, buffer: Mapping[int, Properties] | None, offset: int) -> None:
        """Make this set the newest; it is a new generation unless no task was ever read."""
        if buffer is not None:
            self.task_configs.setdefault(connector, {}).update(buffer)
            self.configured.setdefault(connector, {}).update(dict.fromkeys(buffer, offset))
            self.generations[connector] = self.generations.get(connector, -1) + 1
        self.sets[connector] = offset
        self.applied[connector] = self.connectors[connector]
        self.inconsistent.discard(connector)

    def is_complete(self, buffer: Mapping[int, Properties], tasks: int) -> bool:
        """Return whether every task from 0 to tasks - 1 is in the buffer; further tasks are tolerated."""
        return all(task in buffer for task in range(tasks))

    def apply_count(self, connector: str, value: Mapping[str, Any] | None, offset: int) -> None:
        """Apply a task count record: this many producers may be alive, and earlier sets need no fencing any more
        (618.2). No revision writes tombstones."""
        if value is None:
            self.counts.pop(connector, None)
            self.counted.pop(connector, None)
            return
        self.counts[connector] = count_in(value)
        self.counted[connector] = offset
        self.pending_fencing.discard(connector)

    def apply_target_state(self, connector: str, value: Mapping[str, Any] | None) -> None:
        """Apply the target state that a user has set; without a record it is STARTED."""
        if value is None:
            self.target_states.pop(connector, None)
        else:
            self.target_states[connector] = value.get("state.v2", value.get("state", "STARTED"))

    # What workers ask

    def is_known(self, connector: str) -> bool:
        return connector in self.connectors

    def names(self) -> list[str]:
        return sorted(self.connectors)

    def tasks(self, connector: str) -> int:
        """Return how many tasks the newest set has; 0 while the set is inconsistent."""
        return 0 if connector in self.inconsistent else self.task_counts.get(connector, 0)

    def task_properties(self, connector: str, task: int) -> Properties | None:
        """Return the configuration of one task of the newest set, or None if the set has no such task."""
        return self.task_configs.get(connector, {}).get(task) if task < self.tasks(connector) else None

    def target_state(self, connector: str) -> str:
        return self.target_states.get(connector, "STARTED")

    def set_place(self, connector: str) -> int:
        """Return the place of the newest complete set's commit record, which identifies the set, or NOTHING."""
        return self.sets.get(connector, NOTHING)

    def count(self, connector: str) -> int | None:
        """Return the count in the latest task count record, or None if there is none (618.6)."""
        return self.counts.get(connector)

    def count_place(self, connector: str) -> int:
        return self.counted.get(connector, NOTHING)

    def generation(self, connector: str) -> int:
        """Return the number of the newest set as this worker counts the sets, or -1 if there is none (618.19)."""
        return self.generations.get(connector, -1)

    def needs_fencing(self, connector: str) -> bool:
        """Return whether a set stands after the latest count record (618.4)."""
        return connector in self.pending_fencing

    def may_run(self, connector: str) -> bool:
        """Return whether the latest count record stands after the latest committed set (618.2)."""
        return connector in self.counts and not self.needs_fencing(connector)


Placed = tuple[int, ConfigRecord]


def compacted(log: Iterable[Placed], upto: int | None = None, keep_tombstones: bool = False) -> list[Placed]:
    """Return the pairs (offset, record) that compaction leaves: below `upto` (None: everywhere), the last record of
    every key there.

    Offsets and the order of the remaining records do not change. A key whose last record is a tombstone is gone, unless
    tombstones are still retained. What stands from `upto` on (the active segment) takes no part. (LogCleaner)
    """
    placed = list(log)
    end = upto if upto is not None else max((offset for offset, _ in placed), default=0) + 1
    last = {record.key: offset for offset, record in placed if offset < end}
    return [
        (offset, record)
        for offset, record in placed
        if offset >= end or (last[record.key] == offset and (record.value is not None or keep_tombstones))
    ]


# This section has session keys and signatures of requests between workers (KIP-507).
#
# The leader makes a key, writes it to the config topic, and replaces it when it is older than its time to live or has
# another algorithm or size than configured; the other workers read it from the topic. A request carries the algorithm
# and the MAC of its *body* under the sender's key: path and receiver are not covered, as in Kafka. Kafka verifies only
# under the cooperative protocol ("sessioned"); this implementation always does, because 618.10 has no such condition.

ALGORITHM = "HmacSHA256"  # inter.worker.key.generation.algorithm, inter.worker.signature.algorithm
ALGORITHMS = {"HmacSHA256": hashlib.sha256, "HmacSHA512": hashlib.sha512, "HmacSHA1": hashlib.sha1}
VERIFIED = (ALGORITHM,)  # inter.worker.verification.algorithms
KEY_BYTES = 32  # inter.worker.key.size
TTL_MS = 3_600_000  # inter.worker.key.ttl.ms

AUTHORIZATION_HEADER = "X-Connect-Authorization"
ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"

OK, BAD_REQUEST, FORBIDDEN, UNAVAILABLE = 200, 400, 403, 503


class SessionKey(NamedTuple):
    """A `SessionKey` is a key with its algorithm and the time at which it was made (virtual milliseconds)."""

    secret: bytes
    algorithm: str
    created_ms: int

    def record(self) -> ConfigRecord:
        return session_key_record(base64.b64encode(self.secret).decode(), self.algorithm, self.created_ms)


class Signature(NamedTuple):
    """A `Signature` is the content of the headers that a signed request carries in addition to its body."""

    algorithm: str
    mac: bytes

    def headers(self) -> dict[str, str]:
        return {ALGORITHM_HEADER: self.algorithm, AUTHORIZATION_HEADER: base64.b64encode(self.mac).decode()}


def new_key(random: Random, now_ms: int) -> SessionKey:
    return SessionKey(random.randbytes(KEY_BYTES), ALGORITHM, now_ms)


def key_in(value: Mapping[str, Any] | None) -> SessionKey | None:
    if value is None:
        return None
    return SessionKey(_decoded(value["key"]), value["algorithm"], value["creation-timestamp"])


_decoded = lru_cache(maxsize=64)(base64.b64decode)  # a leader asks before all that it does whether its key is too old


def needs_new_key(key: SessionKey | None, now_ms: int, ttl_ms: int = TTL_MS) -> bool:
    """Return whether the leader has to make a key: there is none, it has expired, or its algorithm or size differs."""
    if key is None or key.algorithm != ALGORITHM or len(key.secret) != KEY_BYTES:
        return True
    return ttl_ms > 0 and key.created_ms + ttl_ms <= now_ms


def sign(key: SessionKey | None, body: bytes, algorithm: str = ALGORITHM) -> Signature | None:
    """Return the signature of a request's body, or None (an unsigned request) as long as the sender knows no key."""
    return None if key is None else Signature(algorithm, _mac(key, body, algorithm))


def signature_status(signature: Signature | None, body: bytes, key: SessionKey | None) -> int:
    """Return the HTTP status with which a request is answered for its signature alone.

    The status is 400 if the request is unsigned, or signed in a way that is not accepted; 503 if the receiver knows no
    key yet; 403 if it is signed under another key, or for another body; 200 if it may be served.
    """
    if signature is None or signature.algorithm not in VERIFIED:
        return BAD_REQUEST
    if key is None:
        return UNAVAILABLE
    if not hmac.compare_digest(signature.mac, _mac(key, body, signature.algorithm)):
        return FORBIDDEN
    return OK


def _mac(key: SessionKey, body: bytes, algorithm: str) -> bytes:
    return hmac.digest(key.secret, body, ALGORITHMS[algorithm])
