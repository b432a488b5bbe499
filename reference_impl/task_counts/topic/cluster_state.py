"""State of a worker as read from the config topic, record by record: sets of task configurations, counts, and which
connectors need fencing.

Task configurations wait in a buffer until their commit record; a commit record whose buffer does not hold every task
from 0 (compaction took some away) applies nothing and marks the connector inconsistent. A commit record makes a
connector need a fencing round, a count record ends that (618.2, 618.4). Deleting a connector forgets its
configurations, never its count: tasks of the deleted one may still be alive (618.38).

Generations are counted here, by every worker for itself, and mean nothing to another one: after a compaction two
workers may count differently. Every rule is a method of its own. (ClusterConfigState, KafkaConfigBackingStore)
"""

from collections.abc import Iterable, Mapping
from typing import Any

from fencepost.reference_impl.task_counts.topic import records
from fencepost.reference_impl.task_counts.topic.records import ConfigRecord, Properties

NOTHING = -1  # for places in the topic: there is no such record


class ClusterConfigState:
    """One worker's view. `offset` is the place of the next record to read; places are offsets in the config topic."""

    __slots__ = (
        "applied", "buffered", "commits", "connectors", "counted", "counts", "generations", "inconsistent", "offset",
        "pending_fencing", "session_key", "sets", "target_states", "task_configs", "task_counts",
    )  # fmt: skip

    def __init__(self) -> None:
        self.offset = 0
        self.connectors: dict[str, Properties] = {}
        self.task_configs: dict[str, dict[int, Properties]] = {}
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
        """Take the record at `offset`, at or after the one expected (compaction leaves gaps). ValueError: before it."""
        if offset < self.offset:
            raise ValueError(f"config record {record.key!r} at offset {offset}: the next one to read is {self.offset}")
        kind, connector, task, value = records.parse(record)
        if kind == records.CONNECTOR:
            self.apply_connector(connector, value)
        elif kind == records.TASK:
            if value is not None:
                self.buffered.setdefault(connector, {})[task] = value.get("properties", {})
        elif kind == records.COMMIT:
            if value is not None:
                self.apply_commit(connector, records.count_in(value), offset)
        elif kind == records.COUNT:
            self.apply_count(connector, value, offset)
        elif kind == records.TARGET_STATE:
            self.apply_target_state(connector, value)
        elif kind == records.SESSION_KEY:
            self.session_key = value
        self.offset = offset + 1

    def apply_connector(self, connector: str, value: Mapping[str, Any] | None) -> None:
        """A connector's new configuration, or its deletion."""
        if value is None:
            self.forget(connector)
        else:
            self.connectors[connector] = value.get("properties", {})
            self.target_states.setdefault(connector, "STARTED")

    def forget(self, connector: str) -> None:
        """A deleted connector loses its configurations; count, generation and need of fencing stay (618.38, B34)."""
        known: tuple[dict[str, Any], ...] = (
            self.connectors, self.task_configs, self.buffered, self.task_counts, self.applied, self.sets,
        )  # fmt: skip
        for mapping in known:
            mapping.pop(connector, None)
        self.inconsistent.discard(connector)

    def apply_commit(self, connector: str, tasks: int, offset: int) -> None:
        """The buffered set takes effect (618.3), if it is whole; that of an unknown connector is left over: dropped."""
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
        """The newest set is this one. Without any buffer (no task was ever read) it counts as no new generation."""
        if buffer is not None:
            self.task_configs.setdefault(connector, {}).update(buffer)
            self.generations[connector] = self.generations.get(connector, -1) + 1
        self.sets[connector] = offset
        self.applied[connector] = self.connectors[connector]
        self.inconsistent.discard(connector)

    def is_complete(self, buffer: Mapping[int, Properties], tasks: int) -> bool:
        """Whether every task from 0 to tasks - 1 is there; tasks beyond are tolerated."""
        return all(task in buffer for task in range(tasks))

    def apply_count(self, connector: str, value: Mapping[str, Any] | None, offset: int) -> None:
        """As many producers may be alive; earlier sets need no fencing any more (618.2). No revision writes
        tombstones."""
        if value is None:
            self.counts.pop(connector, None)
            self.counted.pop(connector, None)
            return
        self.counts[connector] = records.count_in(value)
        self.counted[connector] = offset
        self.pending_fencing.discard(connector)

    def apply_target_state(self, connector: str, value: Mapping[str, Any] | None) -> None:
        """The target state that a user has set; STARTED without a record."""
        if value is None:
            self.target_states.pop(connector, None)
        else:
            self.target_states[connector] = value.get("state.v2", value.get("state", "STARTED"))

    # What workers ask

    def is_known(self, connector: str) -> bool:
        """Whether the connector exists."""
        return connector in self.connectors

    def names(self) -> list[str]:
        """The connectors that exist, in order of name."""
        return sorted(self.connectors)

    def tasks(self, connector: str) -> int:
        """How many tasks the newest set has; 0 while it is inconsistent."""
        return 0 if connector in self.inconsistent else self.task_counts.get(connector, 0)

    def task_properties(self, connector: str, task: int) -> Properties | None:
        """The configuration of one task of the newest set, None if it has none."""
        return self.task_configs.get(connector, {}).get(task) if task < self.tasks(connector) else None

    def target_state(self, connector: str) -> str:
        """STARTED, PAUSED or STOPPED."""
        return self.target_states.get(connector, "STARTED")

    def set_place(self, connector: str) -> int:
        """Where the commit record of the newest complete set stands, NOTHING if there is none: the set's name."""
        return self.sets.get(connector, NOTHING)

    def count(self, connector: str) -> int | None:
        """The count in the latest count record, None if there is none (618.6)."""
        return self.counts.get(connector)

    def count_place(self, connector: str) -> int:
        """Where the latest count record stands, NOTHING if there is none."""
        return self.counted.get(connector, NOTHING)

    def generation(self, connector: str) -> int:
        """The number of the newest set as this worker counts, -1 if there is none (618.19)."""
        return self.generations.get(connector, -1)

    def needs_fencing(self, connector: str) -> bool:
        """Whether a set stands after the latest count record (618.4)."""
        return connector in self.pending_fencing

    def may_run(self, connector: str) -> bool:
        """Whether the latest count record stands after the latest committed set (618.2)."""
        return connector in self.counts and not self.needs_fencing(connector)


Placed = tuple[int, ConfigRecord]


def compacted(log: Iterable[Placed], upto: int | None = None, keep_tombstones: bool = False) -> list[Placed]:
    """The records (offset, record) that compaction leaves: below `upto` (None: everywhere) the last of every key there.

    Offsets stay as they were, and so does the order of what is left; a key whose last record is a tombstone is gone,
    unless tombstones are still retained. What stands from `upto` on (the active segment) takes no part. (LogCleaner)
    """
    placed = list(log)
    end = upto if upto is not None else max((offset for offset, _ in placed), default=0) + 1
    last = {record.key: offset for offset, record in placed if offset < end}
    return [
        (offset, record)
        for offset, record in placed
        if offset >= end or (last[record.key] == offset and (record.value is not None or keep_tombstones))
    ]
