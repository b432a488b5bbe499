"""This module is a cluster of Connect workers with its Kafka, behind the few operations by which a driver moves it step
by step, and its replaceable parts.

>>> system = reference({"seed": 1, "mode": "shipped", "workers": 1, "support": "enabled"})
>>> system.threads()  # the worker wants to join the group
[(0, 'join', 0, -1, -1)]
>>> for operation in ("join", "assign", "sync", "claim", "write"):  # the last one is the session key
...     assert system.threads()[0][1] == operation
...     system.step(0)
>>> system.configure(worker=0, connector=0, tasks=1)
True
>>> system.threads()  # the leader writes the connector's configuration
[(0, 'write', 0, 0, -1)]

Nothing happens between two calls: every thread waits at its next operation. `Parts` are the pieces that a broken
implementation replaces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.brokers import (
    CONNECTOR_ADMIN,
    TRANSACTIONAL_ID,
    WRITE,
    Brokers,
    Permission,
    task_transactional_id,
)
from fencepost.reference_impl.connect.config import Config, Kind, check_support
from fencepost.reference_impl.connect.config_records import ClusterConfigState, Placed
from fencepost.reference_impl.connect.config_topic import ConfigTopic, Job, WritePrivilege, Writes
from fencepost.reference_impl.connect.environment import Environment, Status
from fencepost.reference_impl.connect.herder import Herder, Worker
from fencepost.reference_impl.connect.requests import FenceEndpoint
from fencepost.reference_impl.connect.rounds import Rounds
from fencepost.reference_impl.connect.source_task import REVISION, TASKS_MAX, Connector, SourceTask
from fencepost.reference_impl.simulation import Kernel
from fencepost.reference_impl.simulation.environment import US_PER_MS, DrivenSystem


@dataclass(frozen=True, slots=True)
class Parts:
    """`Parts` has the classes of one implementation, whose methods are the rules; the defaults are the correct ones."""

    state: type[ClusterConfigState] = ClusterConfigState  # what records mean
    topic: type[ConfigTopic] = ConfigTopic  # reading, compaction
    privilege: type[WritePrivilege] = WritePrivilege  # who may write
    writes: type[Writes] = Writes  # what leaders write for users and Connectors
    endpoint: type[FenceEndpoint] = FenceEndpoint  # who may ask for a round
    rounds: type[Rounds] = Rounds  # what is fenced, checked and counted
    herder: type[Herder] = Herder  # the single thread: rebalances, starts and stops
    connector: type[Connector] = Connector  # publishes sets, and in M asks for rounds
    task: type[SourceTask] = SourceTask  # the start-up's steps, polling
    config: type[Config] = Config  # keys and their defaults
    brokers: type[Brokers] = Brokers  # the Kafka below


class System(DrivenSystem[Environment]):
    """A `System` is one cluster. Workers and connectors are numbered from 0."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.names = env.config.connector_names
        env.workers.extend(Worker(env, node, support) for node, support in enumerate(env.config.support_of_workers))
        for worker in env.workers:
            worker.start()
        env.threads.settle()

    # Threads

    def threads(self) -> list[tuple[int, str, int, int, int]]:
        """Return (number, operation, worker, connector, task) of what can happen now, oldest thread first."""
        return self.env.threads.waiting()

    def step(self, number: int, outcome: str = "ok") -> None:
        """Let the thread's operation happen, and run the thread to its next one. With `failed`, the operation does not
        happen and the thread gets a time-out; with `lost`, it happens and the thread gets a time-out. Raise KeyError
        for a thread that has no operation now, ValueError for an unknown outcome."""
        self.env.threads.step(number, outcome)

    # Users

    def configure(self, worker: int, connector: int, tasks: int) -> bool:
        """Create or reconfigure a connector with `tasks` tasks; return False if no worker accepts it."""
        if not 1 <= tasks <= self.env.config.max_tasks:
            raise ValueError(f"configure with tasks={tasks}: must be 1 to max_tasks={self.env.config.max_tasks}")
        properties = {TASKS_MAX: str(tasks), REVISION: str(self.env.next_revision())}
        name = self.names[connector]
        return self._ask(worker, connector, tasks, lambda writes: writes.put_connector(name, properties))

    def delete(self, worker: int, connector: int) -> bool:
        """Delete a connector; return False if the worker knows none, or no worker takes the request."""
        name = self.names[connector]
        return self._knows(worker, name) and self._ask(worker, connector, -1, lambda writes: writes.delete(name))

    def stop_connector(self, worker: int, connector: int) -> bool:
        """Stop a connector with a set of 0 tasks; return False if this is impossible or no worker accepts it."""
        name = self.names[connector]
        possible = self.env.revision.stops_connectors and self._knows(worker, name)
        return possible and self._ask(worker, connector, 0, lambda writes: writes.stop(name))

    def restart_connector(self, worker: int, connector: int) -> bool:
        """Restart the Connector where it is assigned; return False if it is not, or no worker accepts it."""
        name = self.names[connector]
        owners = [h for h in self._herders() if name in h.owned_connectors]
        if self._running(worker) is None or not owners:
            return False
        owners[0].submit(partial(owners[0].restart_connector, name))
        self.env.threads.settle()
        return True

    def restart_task(self, worker: int, connector: int, task: int) -> bool:
        """Restart a task where it is assigned; return False if it is not, or no worker accepts it."""
        name = self.names[connector]
        owners = [h for h in self._herders() if (name, task) in h.owned_tasks]
        if self._running(worker) is None or not owners:
            return False
        owners[0].submit(partial(owners[0].restart_task, name, task))
        self.env.threads.settle()
        return True

    # Workers

    def stall(self, worker: int) -> None:
        """Stall the worker's threads, wherever they are; nothing is lost."""
        if self._running(worker) is not None:
            self.env.threads.stalled.add(worker)
            self.env.emit(Kind.WORKER_STALLED, node=worker)

    def resume(self, worker: int) -> None:
        """Resume the worker with what it knew."""
        if worker in self.env.threads.stalled:
            self.env.threads.stalled.discard(worker)
            self.env.emit(Kind.WORKER_RESUMED, node=worker)
            self._note_expiry(worker)
            self.env.threads.settle()

    def crash(self, worker: int) -> None:
        """Kill the worker; the group learns of this when its session expires."""
        self.env.workers[worker].crash()
        self.env.threads.settle()

    def crash_in_write(self, number: int) -> None:
        """Let the thread's write to the config topic get as far as its records, and kill the process before it commits:
        the records stay in the open transaction until the next leader's claim, or the time-out, aborts them. Raise
        KeyError or ValueError if the thread has no such write."""
        waiting = {at[0]: at for at in self.threads()}
        _, operation, worker, _, _ = waiting[number]
        herder = self.env.workers[worker].herder
        if herder is None or operation not in ("write", "write_count") or herder.privilege.producer is None:
            raise ValueError(f"thread {number} waits to {operation}: must be a leader's write in a transaction")
        herder.privilege.commits = False
        self.env.threads.act_alone(number)
        self.crash(worker)

    def restart_worker(self, worker: int) -> None:
        """Restart the worker as a new member, after a crash if it still runs; the session of the old member is over."""
        self.env.workers[worker].crash()
        self.env.group.expire(worker)
        self.env.workers[worker].start()
        self.env.threads.settle()

    def expire(self, worker: int) -> None:
        """End the worker's group session: the other workers rebalance without it."""
        if self.env.group.expire(worker):
            self._note_expiry(worker)
        self.env.threads.settle()

    def set_support(self, worker: int, value: str) -> None:
        """Restart the worker with exactly.once.source.support "disabled", "preparing" or "enabled", or without this
        feature ("none"). Raise ValueError for another value."""
        check_support(self.env.config.mode, value)
        self.env.workers[worker].support = value
        self.restart_worker(worker)

    # What surrounds them

    def write_foreign(self, kind: str, connector: int, count: int) -> None:
        """Let a program that is no worker write to the config topic: a complete "set" of this many tasks, or a "count"
        record (618.34)."""
        name, topic = self.names[connector], self.env.topic
        if kind == "set":
            properties = {REVISION: f"foreign-{self.env.next_revision()}"}
            for task in range(count):
                topic.append_plainly(config_records.task_record(name, task, {"task": str(task), **properties}))
            topic.append_plainly(config_records.commit_record(name, count))
        elif kind == "count":
            topic.append_plainly(config_records.count_record(self.env.config.mode, name, count))
        else:
            raise ValueError(f"write_foreign of kind {kind!r}: must be set or count")
        self.env.threads.settle()

    def set_fencing(self, connector: int, allowed: bool) -> None:
        """Grant the connector's admin principal Write on the transactional ids of its tasks, or revoke it: without it
        every id of a round is refused (618.12, 618.47)."""
        config, acls = self.env.config, self.env.brokers.acls
        for task in range(config.max_tasks):
            transactional_id = task_transactional_id(config.group_id, self.names[connector], task)
            permission = Permission(CONNECTOR_ADMIN, WRITE, TRANSACTIONAL_ID, transactional_id)
            (acls.allow if allowed else acls.deny)(permission)

    def compact(self) -> None:
        self.env.topic.compact()
        self.env.threads.settle()

    def advance(self, ms: int) -> None:
        self.env.kernel.advance(ms * US_PER_MS)
        self.env.brokers.advance(ms)
        self.env.threads.settle()

    # Looking

    def config_topic(self) -> list[Placed]:
        return list(self.env.topic.records())

    def status(self, connector: int, task: int) -> Status:
        """Return (state, trace) of a task or (-1) the Connector from the status topic, or empty strings."""
        return self.env.statuses.get((self.names[connector], task), ("", ""))

    def _ask(self, worker: int, connector: int, count: int, job: Job) -> bool:
        herder = self._running(worker)
        leader = None if herder is None or herder.leader < 0 else self.env.workers[herder.leader].herder
        if leader is None:
            return False
        self.env.emit(Kind.ASKED, node=worker, connector=connector, count=count)
        name = self.names[connector]
        leader.submit(lambda request: leader.writes.serve(name, job, request))
        self.env.threads.settle()
        return True

    def _running(self, worker: int) -> Herder | None:
        there = self.env.workers[worker]
        return None if there.is_stalled else there.herder

    def _knows(self, worker: int, name: str) -> bool:
        herder = self._running(worker)
        return herder is not None and herder.view.state.is_known(name)

    def _herders(self) -> list[Herder]:
        return [worker.herder for worker in self.env.workers if worker.herder is not None]

    def _note_expiry(self, worker: int) -> None:
        herder = self.env.workers[worker].herder
        if herder is not None and worker not in self.env.group.members:
            herder.expired_ms = self.env.now_ms


def build(config: Mapping[str, Any], parts: Parts) -> System:
    checked = parts.config.parse(config)
    return System(Environment(checked, Kernel(checked.seed), parts))


def second_cluster(system: System, config: Mapping[str, Any]) -> System:
    """Return a second cluster of workers on the same Kafka, with common transactional ids (618.49)."""
    checked = Config.parse(config)
    return System(Environment(checked, Kernel(checked.seed), Parts(), system.env))


def reference(config: Mapping[str, Any]) -> System:
    """Return the reference implementation as a driven cluster; the keys of `config` are those of `config.Config`. Raise
    ValueError for an invalid configuration."""
    return build(config, Parts())


RELEASED = {
    "assignor": "released", "rebalance_delay_ms": 300_000, "starts_removed_tasks": True, "one_forwarder": True,
    "rest_idle_ms": 30_000,
}  # fmt: skip
"""These are the keys in which Kafka 3.5 to 4.4 differs from the defaults here; CONNECT.md has what differs further."""


def released(config: Mapping[str, Any]) -> System:
    """Return the reference implementation as Kafka behaves by default where it can; a removed task may start again."""
    return build({**RELEASED, **config}, Parts())
