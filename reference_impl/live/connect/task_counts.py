"""This module is a real Connect cluster that is driven operation by operation, as `properties/task_counts/interface`
wants it.

    system = own({"workers": 3, "connectors": 1, "max_tasks": 2, "release": "4.3.1", "folder": "/tmp/connect"})

One cluster serves all the systems of a process that want one of this size and release, one after the other; each has
connectors with names of their own, and the workers are awake, and enabled, when it begins. Virtual time is short: what
takes a second or more of it takes the milliseconds in `REAL_MS`, for which the workers are configured. ``held`` names
operations that wait besides those that always do (`stepping.FURTHER`).
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.reference_impl.live.connect import config_topic
from fencepost.reference_impl.live.connect.cluster import ClusterError, ConnectCluster, archive
from fencepost.reference_impl.live.connect.install import BROKERS
from fencepost.reference_impl.live.connect.observing import Event, Observer, Owner
from fencepost.reference_impl.live.connect.rest import Reply
from fencepost.reference_impl.live.connect.seen import CLUSTER
from fencepost.reference_impl.live.connect.stepping import Gates, Thread
from fencepost.reference_impl.live.connect.worker import LOGS
from fencepost.reference_impl.live.tcp.connection import NoAnswer, WireError
from fencepost.reference_impl.live.tcp.reading import Patience

SUPPORT = {"disabled": 1, "preparing": 2, "enabled": 3}
GRACEFUL_MS = 1_500
LONG_MS = 300_000
SETTINGS: Mapping[str, object] = {
    # Sessions end when the driver says so, and requests may be held for a while.
    "session.timeout.ms": LONG_MS, "rebalance.timeout.ms": LONG_MS, "request.timeout.ms": LONG_MS,
    "producer.request.timeout.ms": LONG_MS, "producer.delivery.timeout.ms": 2 * LONG_MS,
    "producer.max.block.ms": LONG_MS, "admin.request.timeout.ms": LONG_MS, "admin.default.api.timeout.ms": LONG_MS,
    # Nothing is silent for longer than `stepping.QUIET_S` and goes on by itself.
    "worker.unsync.backoff.ms": 50, **{f"{client}.retry.backoff.ms": 5 for client in ("admin", "producer")},
    **{f"{client}.retry.backoff.max.ms": 50 for client in ("admin", "producer")},
    **{f"{client}.reconnect.backoff.max.ms": 50 for client in ("admin", "producer")},
    "task.shutdown.graceful.timeout.ms": GRACEFUL_MS, "offset.flush.interval.ms": 60_000,
}  # fmt: skip
REAL_MS = ((5_000, GRACEFUL_MS + 200), (1_000, 600), (0, 300))
"""That many real milliseconds stand for at least so many virtual ones: a task that does not stop is given up, and a
back-off is over."""
PATIENCE_S = 90.0
LEFT_S = 5.0
GONE = frozenset({404})


class ConnectSystem:
    """A `ConnectSystem` is a `fencepost.properties.task_counts.interface.System`."""

    def __init__(self, live: Live, config: Mapping[str, Any]) -> None:
        self._live, self._cluster, self._gates = live, live.cluster, live.gates
        self._heartbeat_ms = int(config.get("heartbeat_ms", 0))
        self._names = live.names(int(config["connectors"]))
        self._partitions = int(config.get("max_tasks", 1))
        self._observer = Observer(live.cluster.group, self._names, live.gates.numbers)
        self._workers = [*live.cluster.workers]
        live.gates.close(self._observer, config.get("held", ()))

    def threads(self) -> Sequence[Thread]:
        return self._gates.threads()

    def step(self, number: int, outcome: str = "ok") -> None:
        self._gates.step(number, outcome)

    # -- users

    def configure(self, worker: int, connector: int, tasks: int) -> bool:
        name, number = self._names[connector], next(self._live.sets)
        config = self._cluster.configuration(name, tasks, number, partitions=max(self._partitions, tasks))
        return self._ask(worker, connector, "PUT", "/config", config, asked=tasks)

    def delete(self, worker: int, connector: int) -> bool:
        return self._ask(worker, connector, "DELETE", "", asked=-1)

    def stop_connector(self, worker: int, connector: int) -> bool:
        return self._ask(worker, connector, "PUT", "/stop", asked=0)

    def restart_connector(self, worker: int, connector: int) -> bool:
        return self._ask(worker, connector, "POST", "/restart")

    def restart_task(self, worker: int, connector: int, task: int) -> bool:
        return self._ask(worker, connector, "POST", f"/tasks/{task}/restart")

    def _ask(
        self, worker: int, connector: int, method: str, path: str, body: Any = None, asked: int | None = None
    ) -> bool:
        """Return whether the request is not refused: it may wait for an operation of the leader."""
        to = self._cluster.workers[self._workers[worker]]
        if not to.is_awake:
            return False
        replies: list[Reply] = []

        def ask() -> None:
            with contextlib.suppress(NoAnswer):  # it may be carried out later
                replies.append(to.ask(method, f"/connectors/{self._names[connector]}{path}", body, PATIENCE_S))

        self._gates.begin()
        threading.Thread(target=ask, daemon=True).start()
        self._gates.settle()
        accepted = replies[0].is_done if replies else True
        if accepted and asked is not None:
            self._observer.note("asked", node=worker, connector=connector, count=asked)
        return accepted

    # -- faults

    def stall(self, worker: int) -> None:
        if self._cluster.workers[self._workers[worker]].is_awake:
            self._gates.stalled.add(worker)
            self._cluster.pause(self._workers[worker])
            self._observer.note("worker_stalled", node=worker)

    def resume(self, worker: int) -> None:
        if worker in self._gates.stalled:
            self._observer.note("worker_resumed", node=worker)
            self._live.resume(worker)
            self._gates.settle()

    def crash(self, worker: int) -> None:
        if self._cluster.workers[self._workers[worker]].process is not None:
            self._live.crash(worker)
            self._observer.crashed(worker)
            self._observer.note("worker_stopped", node=worker)
            self._gates.settle()

    def restart_worker(self, worker: int) -> None:
        self.set_support(worker, self._cluster.workers[self._workers[worker]].support)

    def set_support(self, worker: int, value: str) -> None:
        if value not in SUPPORT:
            raise ValueError(f"{self._cluster.release} has no support {value!r}; it has {', '.join(SUPPORT)}")
        self.crash(worker)
        self._observer.note("worker_started", node=worker, support=SUPPORT[value])
        self._live.start(worker, value)
        self._gates.settle()

    def expire(self, worker: int) -> None:
        if self._heartbeat_ms:
            self._gates.deaf.add(worker)
        self._gates.begin()
        with contextlib.suppress(ClusterError):  # it is no member
            self._cluster.expire(self._workers[worker])
        self._gates.settle()

    def write_foreign(self, kind: str, connector: int, count: int) -> None:
        record, of_count = {"set": ("commit", "tasks"), "count": ("tasks-fencing", "task-count")}[kind]
        key, value = f"{record}-{self._names[connector]}", {of_count: count}
        offset = config_topic.write(self._cluster.kafka, self._live.topic, key.encode(), json.dumps(value).encode())
        self._observer.foreign(key, value, offset)
        self._gates.settle()

    def set_fencing(self, connector: int, allowed: bool) -> None:
        change = self._gates.forbidden.discard if allowed else self._gates.forbidden.add
        change(self._names[connector])

    def compact(self) -> None:
        self._observer.note("compacted", offset=self._live.compact())
        self._gates.settle()

    def advance(self, ms: int) -> None:
        if ms >= self._heartbeat_ms:  # a paused worker has not heard by then
            self._gates.deaf &= self._gates.stalled
        self._gates.begin()
        waiting = LONG_MS if self._gates.are_holding else REAL_MS[1][0]  # else every task can stop
        time.sleep(next(real for least, real in REAL_MS if min(ms, waiting) >= least) / 1000)
        self._gates.settle()

    # -- what is seen

    def status(self, connector: int, task: int) -> tuple[str, str]:
        """Return what stands in the status topic, which is what REST reports."""
        return self._observer.statuses.get(Owner(self._names[connector], task), ("", ""))

    def found(self) -> Mapping[tuple[int, int], int]:
        """Return with which offset of its own source partition each (connector, task) began that polls now."""
        polls = {call.instance: call for call in [*self._cluster.control.held] if call.name == "poll"}
        started = [each for each in [*self._cluster.control.calls] if each.name == "started" and each.instance in polls]
        offsets = {
            (self._names.index(each.connector), each.task): dict(
                pair.split(":") for pair in each.fields["found"].split(",")
            )
            for each in started
            if each.connector in self._names
        }
        return {of: int(found[str(of[1])]) for of, found in offsets.items()}

    def drain_events(self) -> Sequence[Event]:
        events, self._observer.events = self._observer.events, []
        return events

    def sources(self, scratch: Path) -> Mapping[str, Any]:
        """Return what a recorder takes, of this system's connectors; what has to be copied is copied to `scratch`."""
        return {
            "log_dirs": self._live.log_dirs(scratch), "seen": self._cluster.seen.file,
            "worker_logs": [worker.folder for worker in self._cluster.workers.values()],
            "connectors": list(self._names),
        }  # fmt: skip


@dataclass
class Live:
    """A `Live` is a cluster that serves one system after the other."""

    cluster: ConnectCluster
    gates: Gates
    support: str = "enabled"
    sets: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _programs: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _used: list[str] = field(default_factory=list)
    _compacted: int = 0  # the config topic, below this offset

    @property
    def topic(self) -> str:
        return f"{self.cluster.group}-configs"

    def names(self, count: int) -> list[str]:
        """Return names of connectors that no system before has had, when nothing of those is left."""
        self._rest()
        program = next(self._programs)
        self._used = [f"p{program}c{number}" for number in range(count)]
        return self._used

    def compact(self) -> int:
        config_topic.store(self.cluster.kafka.log_dirs[0], self.topic, self._compacted, self._stored)
        self._compacted = config_topic.compact(self.cluster.kafka, self.topic)
        self.cluster.seen.note(CLUSTER, "compacted", offset=self._compacted)
        return self._compacted

    def log_dirs(self, scratch: Path) -> list[Path]:
        log_dir = self.cluster.kafka.log_dirs[0]
        if not self._compacted:
            return [log_dir]
        return [config_topic.uncompacted(log_dir, self.topic, self._compacted, self._stored, scratch / log_dir.name)]

    @property
    def _stored(self) -> Path:
        return self.cluster.folder / "stored"

    def resume(self, worker: int) -> None:
        self.gates.stalled.discard(worker)
        self.gates.begin()
        self.cluster.resume(self._name(worker))

    def crash(self, worker: int) -> None:
        self.gates.stalled.discard(worker)
        self.cluster.kill(self._name(worker))
        self.gates.crashed(worker)
        self.gates.begin()

    def start(self, worker: int, support: str) -> None:
        """Start a worker, and wait until it has asked the group in: it may have to wait there for others. The group has
        given up the process before, for which everybody would have to wait until its session ends."""
        name, before = self._name(worker), self.gates.joins[worker]
        with contextlib.suppress(ClusterError):  # it is no member any more
            self.cluster.expire(name)
        self.cluster.start_worker(name, support)
        self.cluster.wait_for(f"JoinGroup of {name}", lambda: self.gates.joins[worker] > before)

    def _rest(self) -> None:
        """Let everything go on, without the connectors that there were."""
        self.gates.open()
        for worker, name in enumerate(self.cluster.workers):
            if worker in self.gates.stalled:
                self.resume(worker)
            each = self.cluster.workers[name]
            if each.process is not None and each.support != self.support:
                self.crash(worker)
            if each.process is None:
                self.start(worker, self.support)
        self.cluster.wait_until_ready()
        for name in self._used:
            self._delete(name)
        self.gates.settle()

    def _delete(self, name: str) -> None:
        reply = None
        for _ in Patience(PATIENCE_S):
            known = [
                each.ask("GET", f"/connectors/{name}").status not in GONE for each in self.cluster.workers.values()
            ]
            if not any(known):
                with contextlib.suppress(TimeoutError):
                    return self.cluster.wait_until_over(name, LEFT_S)
                self.cluster.expire(self._name(0))  # a task may run on until another rebalance
                return self.cluster.wait_until_over(name)
            reply = self.cluster.ask("delete", name, "DELETE", "")
        raise WireError(f"connector {name} cannot be deleted within {PATIENCE_S:.0f} s: {reply}")

    def _name(self, worker: int) -> str:
        return [*self.cluster.workers][worker]


_LIVE: dict[tuple[str, int, type[Gates], str], Live] = {}
_OPEN = contextlib.ExitStack()
atexit.register(_OPEN.close)


def own(config: Mapping[str, Any]) -> ConnectSystem:
    """Return a system on a cluster of this process; ``cache`` is the folder of what is made once a machine. Raise
    WireError where that is not possible."""
    return ConnectSystem(live(config, int(config["workers"]), Gates), config)


def live(
    config: Mapping[str, Any], size: int, gates: type[Gates], settings: Mapping[str, object] = SETTINGS,
    support: str = "enabled",
) -> Live:  # fmt: skip
    """Return the cluster of this process with so many workers and such gates, which is started for the first system.
    Raise WireError where that is not possible."""
    release = str(config.get("release", BROKERS))
    key = release, size, gates, support
    if key not in _LIVE:
        end()
        folder = Path(_OPEN.enter_context(tempfile.TemporaryDirectory(prefix="fencepost-connect-")))
        cache = Path(config.get("cache") or Path(tempfile.gettempdir()) / "fencepost-connect")
        try:
            archive(cache, folder / "archive", release)
            cluster = ConnectCluster(
                cache, folder / "cluster", release, size, support=support, settings=settings,
                broker_settings=config_topic.CLEANING, logs=LOGS,
            )  # fmt: skip
            _OPEN.enter_context(cluster)
        except ClusterError as error:
            raise WireError(f"no cluster of Kafka Connect {release} can be started: {error}") from error
        _LIVE[key] = Live(cluster, gates(cluster), support)
    return _LIVE[key]


def end() -> None:
    """End the clusters of this process."""
    _LIVE.clear()
    _OPEN.close()
