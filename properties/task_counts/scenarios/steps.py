"""This module has steps of scenarios on Connect, and what a driver knows of the cluster meanwhile.

Events of a Connect cluster reveal the content of the config topic, running tasks, and producers that can commit.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.properties.calls import Call as AnyCall
from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.machine import Machine
from fencepost.properties.task_counts.interface import AT_WORK, MOST, Call, Thread
from hypothesis import currently_in_test_context, target

Key = tuple[int, int]
"""A `Key` is (producer id, -1) of a transactional id, or (connector, task) if that is not observed."""
Task = tuple[int, int]
"""A `Task` is (connector, task)."""
FAILING = ("task_failed", "transaction_refused")
"""A task fails with what is refused, also where its FAILED is not written over a status of a later generation
(KafkaStatusBackingStore.putSafe), so that nothing else reveals it outside of its worker."""


@dataclass
class Instance:
    """An `Instance` is a task's thread. ``set`` is the offset of the set of task configurations that it was started
    from, or -1 if that is unknown."""

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
    """A `Topic` is the content of the config topic for one connector, with ``count`` -1 if there is no count."""

    sets: dict[int, int] = field(default_factory=dict)  # place: tasks, in order
    count: int = -1
    deleted: bool = False
    polled: int = -1  # the newest set of which a task has polled

    @property
    def newest(self) -> int:
        return next(reversed(self.sets), -1)


class Seen:
    """A `Seen` tracks the cluster's state from its events, which must be noted in order."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self.topics: defaultdict[int, Topic] = defaultdict(Topic)
        self.instances: dict[int, Instance] = {}
        self.newest: dict[Key, int] = {}  # epoch of a transactional id
        self.down: set[int] = set()
        self.failed: dict[tuple[int, int, int], int] = {}  # (connector, task, set) of a task that failed: on which node
        self.assigned: dict[tuple[int, int, int], bool] = {}  # (node, connector, task): or taken away since
        self.leader = -1  # who wrote the last record that only a leader may write
        self.outside = ""  # something has happened about which nothing is promised
        support = config.get("support", "enabled")
        self.note_support([support] if isinstance(support, str) else support)

    def note_support(self, support: Iterable[Any]) -> None:
        if any(value not in ("enabled", 3) for value in support):
            self.outside = self.outside or "a worker without support (618.33)"

    def running(self, connector: int) -> Iterator[Instance]:
        """Yield the instances that can commit: they poll and hold the newest epoch of their transactional id."""
        for instance in self.instances.values():
            if instance.connector == connector and self.can_commit(instance):
                yield instance

    def can_commit(self, instance: Instance) -> bool:
        """Return whether the instance polls and its producer has the newest epoch of its id."""
        return instance.running and not instance.ended and self.newest.get(instance.key, -1) == instance.epoch

    def instance_of(self, event: Event) -> Instance:
        number = read(event, "instance", -1)
        found = self.instances.get(number)
        if found is None:
            columns = (read(event, name, -1) for name in ("node", "connector", "task", "set"))
            found = self.instances[number] = Instance(number, *columns)
        return found

    def lacking(self) -> Iterator[Task]:
        """Yield (connector, task) of each task of a newest set that does not poll."""
        polling = {(i.connector, i.task, i.set) for i in self.instances.values() if i.running and not i.ended}
        for connector, topic in self.topics.items():
            for task in range(topic.sets.get(topic.newest, 0) if not topic.deleted else 0):
                if (connector, task, topic.newest) not in polling:
                    yield connector, task

    def has_failed(self, connector: int, task: int) -> bool:
        """Return whether a start of this task from the newest set has failed on a worker that is still up."""
        return (connector, task, self.topics[connector].newest) in self.failed

    def is_foreign(self, event: Event) -> bool:
        """Return whether a task starts on a worker to which it was not assigned, if assignments are observed."""
        of = (read(event, "node", -1), read(event, "connector", -1), read(event, "task", -1))
        return bool(self.assigned) and not self.assigned.get(of, False)

    def note(self, event: Event) -> None:
        if read(event, "kind") in FAILING:
            of = (read(event, "connector", -1), read(event, "task", -1), read(event, "set", -1))
            self.failed[of] = read(event, "node", -1)
        kind, connector = read(event, "kind"), read(event, "connector", -1)
        match kind:
            case "worker_started":
                self.down.discard(read(event, "node"))
                self.note_support([read(event, "support", 3)])
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
        if read(event, "node", -1) < 0 and kind.endswith(("_written", "_tombstoned")):
            self.outside = self.outside or "a record that another client wrote (618.34)"
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


# This class tracks whether nothing has gone wrong in a cluster, which limits the restarts on which 618.P4 relies.
#
# A round of fencing fails by a fault (an operation that fails, a worker that is away, a leader that changes), by a
# newer set, or by an answer that is the same however often it is requested (a permission). While an older transaction
# ends, the coordinator answers CONCURRENT_TRANSACTIONS (51), and the admin client of the leader asks again, up to its
# time-out (FenceProducersHandler.handleError; Worker.fenceZombies, 90 s). A round that is over is soon removed from
# those under way, whatever its result (DistributedHerder.ZombieFencing.start), and a request for a newer set gets a new
# round. So where there was no fault, no task has to be restarted.
#
# A user must not be hasty either: a task of a newer set that asks while the round of an older set is under way joins
# that round, and is answered 409 with the others (DistributedHerder.doFenceZombieSourceTasks, onZombieFencingSuccess).
# A task that need not be fenced, of a set of one task after a count of one, does not join it. Then the older round,
# which may have to wait for a transaction to end, fences the new task while it runs, and the task stays failed.

HARMLESS = frozenset({"run", "do", "work", "configure", "restart_task", "restart_connector", "status"})
"""The calls in `HARMLESS` cause no fault. Each other call may be the reason of a failure or of a wait: faults, and the
deletion of a connector."""
PATIENCE_MS = 60_000
"""At most `PATIENCE_MS` may pass in all, because a request for a round that is held up is given up after 90 s
(RestServer.DEFAULT_REST_REQUEST_TIMEOUT_MS)."""


USERS = frozenset({"configure", "restart_task", "restart_connector"})


class Undisturbed:
    """An `Undisturbed` takes note of every call of a run. ``still`` holds while nothing has gone wrong, and ``asked``
    is how often a user was served since the cluster was last at rest."""

    def __init__(self, seen: Seen) -> None:
        self.seen, self.still, self.passed_ms, self.asked = seen, True, 0, 0

    def note(self, made: Made) -> None:
        self.passed_ms += made.call.get("ms", 0)
        self.asked += made.call.name in USERS and bool(made.result)
        self.still = self.still and not self.seen.outside and self._is_harmless(made)

    def _is_harmless(self, made: Made) -> bool:
        match made.call.name:
            case "step":
                return bool(made.call.get("outcome") == "ok")
            case "advance":
                return self.passed_ms <= PATIENCE_MS
        return made.call.name in HARMLESS

    def starved(self, made: Made, messages: Sequence[Message]) -> Sequence[Task]:
        """Return (connector, task) of each task of a newest set that does not poll, or has failed, although the cluster
        has come to rest and nothing has gone wrong."""
        if not self.still or not _rests(made, messages):
            return ()
        starved = sorted({*self.seen.lacking(), *self._failed()})
        self.still = not starved and self.asked < 2
        if self.asked > 1:  # an older round may still be under way, which nothing need show
            starved = []
        self.asked = 0
        return starved

    def _failed(self) -> Iterator[Task]:
        """Yield the tasks that failed, although another instance may poll by now."""
        for connector, task, of in self.seen.failed:
            topic = self.seen.topics[connector]
            if of == topic.newest and not topic.deleted:
                yield connector, task


def _rests(made: Made, messages: Sequence[Message]) -> bool:
    """Return whether nothing is under way after this call, except that a task may be about to commit."""
    if made.call.name != "run" or made.call.get("spared") or made.result is None or made.result >= MOST:
        return False
    return all(message[1] == "poll" for message in messages)


DELAY_MS = 400_000
"""`DELAY_MS` is longer than an incremental rebalance waits for a worker to come back (shipped: 5 minutes)."""


class Verbs(Machine, steps={}):
    """`Verbs` has the steps of scenarios. ``seen`` is what events revealed, ``stalled`` the workers that stall."""

    call_type = Call
    seen: Seen
    stalled: set[int]

    def start(self, config: Any) -> None:
        self.seen, self.stalled = Seen(config), set()
        self.zombies = self.late = 0
        super().start(config)
        for made in self.run.made:
            self._note(made)

    def teardown(self) -> None:
        """End the faults: the workers that are up go on, those that are down come back, failed tasks are restarted."""
        if not hasattr(self, "run"):
            return
        if not self.run.over and currently_in_test_context():
            target(float(sum(len(topic.sets) for topic in self.seen.topics.values())), label="sets")
            target(float(self.zombies), label="old tasks that ran on when a set was committed")
            target(float(self.late), label="operations of an old task after a newer set")
        self.end(self.get_on())

    def end(self, alone: Made | None) -> None:
        """Bring back what is down, and restart what failed, after a look at the workers that are up."""
        for worker in sorted(self.seen.down):
            self.call("restart_worker", worker)
        self.call("finish")

    def make(self, call: AnyCall) -> Made | None:
        made = super().make(call)
        if made is not None:
            self._note(made)
        return made

    def _note(self, made: Made) -> None:
        match made.call.name:
            case "stall":
                self.stalled.add(made.call.get("worker"))
            case "resume" | "restart_worker" | "crash":
                self.stalled.discard(made.call.get("worker"))
            case "get_on" | "finish":
                self.stalled.clear()
        for event in made.events:
            self.seen.note(event)
            kind = read(event, "kind")
            if kind == "set_written":
                topic = self.seen.topics[read(event, "connector")]
                old = [i for i in self.seen.running(read(event, "connector")) if i.node in self.stalled]
                self.zombies += len([i for i in old if i.set < topic.newest])
            if kind == "producer_opened":
                self.late += read(event, "set", -1) < self.seen.topics[read(event, "connector")].newest

    def worker(self, number: int, other_than: int = -1) -> int:
        """Return a worker that is up, does not stall, and is not ``other_than``, if there is such a worker."""
        workers = self.run.config["workers"]
        up = [w for w in range(workers) if w not in self.stalled | self.seen.down and w != other_than]
        return up[number % len(up)] if up else number % workers

    def connector(self, number: int) -> int:
        return self.index("connectors", number)

    def step(self, thread: Thread, outcome: str = "ok") -> None:
        self.send(thread, "step", outcome=outcome)

    def let(self, number: int, operations: int) -> None:
        for _ in range(operations):
            thread = next((t for t in self.waiting() if t[0] == number), None)
            if thread is None:
                return
            self.step(thread)

    def go(self, spared: str = "", **of: int) -> None:
        self.call("run", spared, **of)

    def work(self, worker: int = -1) -> None:
        self.call("work", worker)

    def configure(self, connector: int, tasks: int, worker: int = 0, other_than: int = -1) -> None:
        """Ask for that many tasks as a user, one worker after the other while the request is refused."""
        asked = range(worker, worker + self.run.config["workers"])
        for one in dict.fromkeys(self.worker(number, other_than) for number in asked):
            if self.did("configure", one, connector, 1 + (tasks - 1) % self.run.config["max_tasks"]):
                return

    def brink(self, operation: str, connector: int, number: int, worker: int = -1) -> Thread | None:
        """Let everything happen until a thread is about to do this operation for a connector, and return that thread,
        or None if there is none."""
        self.go(operation, connector=connector, worker=worker)
        found = self.waiting(operation, worker, connector)
        return found[number % len(found)] if found else None

    def at_work(self, connector: int) -> list[int]:
        return sorted({t[2] for t in self.waiting() if t[1] in AT_WORK and t[3] == connector})

    def all_up(self) -> None:
        """Resume every stalled worker and restart every worker that is down, because a scenario needs all of them."""
        for worker in sorted(self.stalled):
            self.call("resume", worker)
        for worker in sorted(self.seen.down):
            self.call("restart_worker", worker)

    def get_on(self) -> Made | None:
        """End the faults for the workers that are up, without any worker waiting for the others."""
        for worker in sorted(self.seen.down):
            self.call("expire", worker)
        return self.call("get_on")

    def leave(self, worker: int) -> None:
        self.call("stall", worker)
        self.call("expire", worker)

    def fall(self, worker: int) -> None:
        self.call("crash", worker)
        self.call("expire", worker)

    def wait_for_the_group(self) -> None:
        """Let the rebalance happen that reassigns the tasks of workers that have not come back."""
        self.go()
        self.call("advance", DELAY_MS)
        self.go()

    def back(self, worker: int) -> None:
        self.call("resume", worker)
