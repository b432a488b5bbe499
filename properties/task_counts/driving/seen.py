"""What anybody can know of a Connect cluster from its events: what stands in the config topic, which tasks run, and
whose producers can still commit."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.properties.driving import Event, read

Key = tuple[int, int]
"""Of a transactional id: (its producer id, -1), or (connector, task) where no producer id is shown."""
Task = tuple[int, int]
"""(connector, task)."""


@dataclass
class Instance:
    """A task's thread.  ``set``: the place of the set of task configurations that it was started from; -1: unknown."""

    number: int
    node: int
    connector: int
    task: int
    set: int
    key: Key = (-1, -1)
    epoch: int = -1
    running: bool = False
    ended: bool = False

    def __str__(self) -> str:
        return f"task {self.task} of connector {self.connector} from the set at {self.set} (instance {self.number})"


@dataclass
class Topic:
    """What the config topic says of one connector.  ``count``: the latest; -1 if there is none."""

    sets: dict[int, int] = field(default_factory=dict)  # place: tasks, in order
    count: int = -1
    deleted: bool = False
    polled: int = -1  # the newest set of which a task has polled

    @property
    def newest(self) -> int:
        """The place of the newest set; -1 if there is none."""
        return next(reversed(self.sets), -1)


class Seen:
    """Feed it events in order."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self.topics: defaultdict[int, Topic] = defaultdict(Topic)
        self.instances: dict[int, Instance] = {}
        self.newest: dict[Key, int] = {}  # epoch of a transactional id
        self.down: set[int] = set()
        self.failed: dict[tuple[int, int, int], int] = {}  # (connector, task, set) of a task that failed: on which node
        self.assigned: dict[tuple[int, int, int], bool] = {}  # (node, connector, task): or taken away since
        self.leader = -1  # who wrote the last record that only a leader may write
        self.outside = ""  # what nobody promises anything about has happened
        support = config.get("support", "enabled")
        self.told([support] if isinstance(support, str) else support)

    def told(self, support: Iterable[Any]) -> None:
        """Some workers have this support."""
        if any(value not in ("enabled", 3) for value in support):
            self.outside = self.outside or "a worker without support (618.33)"

    def running(self, connector: int) -> Iterator[Instance]:
        """Those that can commit: they poll, and hold the newest epoch of their transactional id."""
        for instance in self.instances.values():
            if instance.connector == connector and self.can_commit(instance):
                yield instance

    def can_commit(self, instance: Instance) -> bool:
        """Does it poll, and is its producer the newest of its id?"""
        return instance.running and not instance.ended and self.newest.get(instance.key, -1) == instance.epoch

    def instance_of(self, event: Event) -> Instance:
        """The thread that an event is of."""
        number = read(event, "instance", -1)
        found = self.instances.get(number)
        if found is None:
            columns = (read(event, name, -1) for name in ("node", "connector", "task", "set"))
            found = self.instances[number] = Instance(number, *columns)
        return found

    def lacking(self) -> Iterator[Task]:
        """(connector, task) of each task of a newest set that does not poll."""
        polling = {(i.connector, i.task, i.set) for i in self.instances.values() if i.running and not i.ended}
        for connector, topic in self.topics.items():
            for task in range(topic.sets.get(topic.newest, 0) if not topic.deleted else 0):
                if (connector, task, topic.newest) not in polling:
                    yield connector, task

    def has_failed(self, connector: int, task: int) -> bool:
        """Has a start of this task from the newest set failed, on a worker that is still up?"""
        return (connector, task, self.topics[connector].newest) in self.failed

    def is_foreign(self, event: Event) -> bool:
        """Is a task started on a worker that has not been assigned it, where assignments are shown at all?"""
        of = (read(event, "node", -1), read(event, "connector", -1), read(event, "task", -1))
        return bool(self.assigned) and not self.assigned.get(of, False)

    def note(self, event: Event) -> None:
        """Take an event in."""
        if read(event, "kind") == "task_failed":
            of = (read(event, "connector", -1), read(event, "task", -1), read(event, "set", -1))
            self.failed[of] = read(event, "node", -1)
        kind, connector = read(event, "kind"), read(event, "connector", -1)
        match kind:
            case "worker_started":
                self.down.discard(read(event, "node"))
                self.told([read(event, "support", 3)])
            case "task_assigned" | "task_revoked":
                self.assigned[read(event, "node", -1), connector, read(event, "task", -1)] = kind == "task_assigned"
            case "worker_stopped":
                self._gone(read(event, "node"))
            case "producer_opened" | "task_running":
                self._opened(self.instance_of(event), event, kind == "task_running")
            case "task_stopped" | "task_failed" | "transaction_refused":
                if read(event, "instance", -1) in self.instances:
                    self.instance_of(event).ended = True
            case "id_fenced" if not read(event, "error", 0):
                self._bumped(_key(event), read(event, "epoch", -1))
            case _ if connector >= 0:
                self._stands(self.topics[connector], kind, event)

    def _gone(self, node: int) -> None:
        self.down.add(node)
        self.failed = {of: where for of, where in self.failed.items() if where != node}
        self.assigned = {of: has and of[0] != node for of, has in self.assigned.items()}
        for instance in self.instances.values():
            instance.ended |= instance.node == node

    def _opened(self, instance: Instance, event: Event, running: bool) -> None:
        if not running:
            instance.key, instance.epoch = _key(event), read(event, "epoch", -1)
            self._bumped(instance.key, instance.epoch)
        instance.set = read(event, "set", instance.set)
        instance.running = instance.running or running
        if running:
            topic = self.topics[instance.connector]
            topic.polled = max(topic.polled, instance.set)

    def _bumped(self, key: Key, epoch: int) -> None:
        self.newest[key] = max(self.newest.get(key, -1), epoch)

    def _stands(self, topic: Topic, kind: str, event: Event) -> None:
        """A record is committed in the config topic."""
        if read(event, "node", -1) < 0 and kind.endswith(("_written", "_tombstoned")):
            self.outside = self.outside or "a record that somebody else wrote (618.34)"
        if kind in ("set_written", "count_written"):
            self.leader = read(event, "node", -1)
        match kind:
            case "connector_written":
                topic.deleted = False
            case "connector_tombstoned":
                topic.deleted = True
            case "set_written":
                topic.sets[read(event, "set")] = read(event, "count")
            case "count_written":
                topic.count = read(event, "count")
            case "count_tombstoned":
                topic.count = -1


def _key(event: Event) -> Key:
    producer_id = read(event, "producer_id", -1)
    return (producer_id, -1) if producer_id >= 0 else (read(event, "connector"), read(event, "task"))
