"""This module starts and steers a cluster of Kafka Connect: brokers, workers, a proxy of each worker's Kafka
clients and another of its REST server, and the control server of the probe connector.

    with ConnectCluster(cache, folder) as cluster:                  # one broker, workers w0 and w1, of 4.3.1
        cluster.configure("c", tasks=2)
        cluster.wait_until_polled("c")                              # each task of the newest set has polled
        claim = cluster.proxies["w1"].hold_next("InitProducerId", "connect-cluster-connect")
        cluster.pause("w0")
        cluster.expire("w0")                                        # it is a zombie now
        claim.wait()                                                # w1 is about to lead

What is seen is in `cluster.seen` and its file (`seen.jsonl` in the folder, in the format of the module `seen`): calls
on the connector (`control`), answers of brokers (`watching`), requests between workers (`rest`), and what was done to
it. Everything listens on 127.0.0.1, and ends with the context or, where this process is killed, with it. A context is
entered, and workers are started, in the main thread.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fencepost.reference_impl.kafka.errors import error_text
from fencepost.reference_impl.live.clusters.ending import Entering
from fencepost.reference_impl.live.clusters.jars import ARCHIVE, ClusterError, reason_to_skip
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster, free_ports
from fencepost.reference_impl.live.connect import worker as workers
from fencepost.reference_impl.live.connect.control import Control, Instance
from fencepost.reference_impl.live.connect.install import BROKERS, CONNECTOR, Installed, install, locked
from fencepost.reference_impl.live.connect.rest import Reply, RestProxy
from fencepost.reference_impl.live.connect.seen import CLUSTER, DRIVER, Seen
from fencepost.reference_impl.live.connect.watching import Watching
from fencepost.reference_impl.live.connect.worker import Worker
from fencepost.reference_impl.live.proxy.proxy import Proxy
from fencepost.reference_impl.live.tcp.brokers import GROUP, Brokers
from fencepost.reference_impl.live.tcp.connection import NoAnswer
from fencepost.reference_impl.live.tcp.reading import Patience, build

__all__ = ["ClusterError", "ConnectCluster", "archive", "reason_to_skip"]

BROKER_SETTINGS: Mapping[str, object] = {"auto.create.topics.enable": True, "group.min.session.timeout.ms": 250}
TASK_TIMEOUT_MS = 61_234
"""The transaction time-out of every task's producer, and of no other client; brokers' logs have it with each start."""
MOST_TASKS = 9  # tasks.max: with a lower one, tasks of the set before fail in their start (3.8 and later)
AGAIN = frozenset({409, 500})  # a rebalance is under way, or the leader has changed: later it may be otherwise
NOT_KNOWN = 404
PATIENCE_S = 120.0
NOTHING: Mapping[str, object] = {}
T = TypeVar("T")


@dataclass
class ConnectCluster(Entering):
    """A `ConnectCluster` is used as a context manager, and its workers are called w0, w1, ….

    `cache` is the folder for what is made once a machine, `folder` that of this cluster. `release` is the workers',
    `broker_release` the brokers' ("": the same). `support` is `exactly.once.source.support`, of all workers or of each.
    `features` are levels of brokers, such as {"transaction.version": 0}; `settings` are the workers' and
    `broker_settings` the brokers', and win over the defaults. With `logs` (levels by logger, such as `worker.LOGS`)
    workers report their steps in `out.txt`. With `leader` the worker of that name starts before the others.
    `archive_to` is for `archive`.

    Of each worker there are `workers[name]`, `proxies[name]` (the proxy of its Kafka clients), `rest[name]` (that of
    its REST server) and `watching[name]`; `kafka` has the brokers.
    """

    cache: Path
    folder: Path
    release: str = BROKERS
    size: int = 2
    brokers: int = 1
    broker_release: str = BROKERS
    support: str | Sequence[str] = "enabled"
    group: str = "connect"
    features: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    broker_settings: Mapping[str, object] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)
    leader: str = ""
    archive_to: Path | None = None
    workers: dict[str, Worker] = field(init=False, default_factory=dict)
    proxies: dict[str, Proxy] = field(init=False, default_factory=dict)
    rest: dict[str, RestProxy] = field(init=False, default_factory=dict)
    watching: dict[str, Watching] = field(init=False, default_factory=dict)
    sets: dict[str, tuple[int, int]] = field(init=False, default_factory=dict)
    """By connector: the number of the set that was asked for last, and how many tasks it has."""

    # -- workers

    def start_worker(self, name: str, support: str = "", release: str = "") -> None:
        """Start a worker that is down, with another support or release if they are given; returns at once."""
        worker = self.workers[name]
        worker.support = support or worker.support
        if release:
            worker.installed = install(self.cache, release)
        worker.start(self.archive_to and self.archive_to / workers.ARCHIVE)
        assert worker.process is not None
        self._names[worker.process.pid] = name
        self._note(
            "worker_started", worker=name, pid=worker.process.pid, release=worker.installed.release,
            support=worker.support, generation=worker.generation,
        )  # fmt: skip

    def wait_until_ready(self, *names: str, timeout_s: float = PATIENCE_S) -> None:
        """Wait until the REST server of each of these workers (none: of all that are awake) answers."""
        for name in names or [name for name, worker in self.workers.items() if worker.is_awake]:
            self.workers[name].wait_until_ready(timeout_s)
            self._note("worker_ready", worker=name)

    def kill(self, name: str) -> None:
        """SIGKILL a worker."""
        self.workers[name].kill()
        self._note("worker_killed", worker=name)

    def stop(self, name: str, patience_s: float = 30.0) -> None:
        """SIGTERM a worker: it leaves the group, and stops its tasks; it is killed if that takes too long."""
        is_stopped = self.workers[name].stop(patience_s)
        self._note("worker_stopped" if is_stopped else "worker_killed", worker=name)

    def pause(self, name: str) -> None:
        """SIGSTOP a worker."""
        self.workers[name].pause()
        self._note("worker_paused", worker=name)

    def resume(self, name: str) -> None:
        """SIGCONT a worker."""
        self._note("worker_resumed", worker=name)  # before its own lines
        self.workers[name].resume()

    def expire(self, name: str, timeout_s: float = PATIENCE_S) -> None:
        """Have the group remove a worker at once, by a LeaveGroup for its member id, as it would when its session is
        over. A worker that is awake joins again by itself. Raise ClusterError if it is no member."""
        member = self.watching[name].member
        leaving = build("leave_group", 3, "MemberIdentity", member_id=member, group_instance_id=None)
        asking = Brokers(self.kafka.bootstrap, 10.0)
        try:
            for _ in Patience(timeout_s):
                with contextlib.suppress(NoAnswer):
                    coordinator = asking.coordinator(GROUP, self.group)
                    request = build("leave_group", 3, group_id=self.group, members=(leaving,))
                    answer = asking.ask(coordinator, request)
                    if not answer.error_code:
                        break
                asking.forget()
            else:
                raise ClusterError(f"no coordinator of group {self.group} removed worker {name} in {timeout_s:g} s")
        finally:
            asking.close()
        if error := answer.members[0].error_code:
            raise ClusterError(f"worker {name} is no member of group {self.group} as {member!r}: {error_text(error)}")
        self._note("member_expired", worker=name, member=member)

    def leads(self) -> str:
        """Return the worker that leads the group, as the workers' newest JoinGroup answer names it, or ""."""
        newest = max(self.watching.values(), key=lambda each: each.generation)
        return next((name for name, each in self.watching.items() if each.member == newest.leader != ""), "")

    def is_whole(self) -> bool:
        """Return whether the workers that are awake are in one generation of the group, as JoinGroup answered them."""
        generations = {self.watching[name].generation for name, worker in self.workers.items() if worker.is_awake}
        return len(generations) == 1 and generations != {-1} and bool(self.leads())

    # -- connectors

    def configure(self, connector: str, tasks: int, worker: str = "", **more: object) -> int:
        """Create a connector or give it a new configuration, with which it has this number of tasks, and return the
        number of its set. Raise ClusterError if it is refused, or after two minutes.

        `worker` is the one that is asked (by default the first that is awake). `more` are settings of the connector,
        with two underscores for a dot; the probe's own are `topic` ("data") and `partitions` (as many as tasks).
        """
        number = next(self._set_numbers)
        config = self.configuration(connector, tasks, number, **more)
        self.sets[connector] = number, tasks
        self._ask("configure", connector, "PUT", "/config", config, worker, tasks=tasks, set=number)
        return number

    def configuration(self, connector: str, tasks: int, number: int, **more: object) -> dict[str, str]:
        """Return the probe's configuration with set number `number`; `more` as in `configure`."""
        values = {
            "connector.class": CONNECTOR, "name": connector, "tasks.max": MOST_TASKS, "topic": "data",
            "control": self.control.address, "tasks": tasks, "set": number, "partitions": tasks,
            "producer.override.transaction.timeout.ms": TASK_TIMEOUT_MS,
            **{name.replace("__", "."): value for name, value in more.items()},
        }  # fmt: skip
        return {name: str(value) for name, value in values.items()}

    def delete(self, connector: str, worker: str = "") -> None:
        self._ask("delete", connector, "DELETE", "", None, worker)
        self.sets.pop(connector, None)

    def stop_connector(self, connector: str, worker: str = "") -> None:
        """Have it and its tasks stopped, and its set made empty (3.5 and later)."""
        self._ask("stop", connector, "PUT", "/stop", None, worker)

    def resume_connector(self, connector: str, worker: str = "") -> None:
        self._ask("resume", connector, "PUT", "/resume", None, worker)

    def restart(self, connector: str, task: int | None = None, worker: str = "") -> None:
        """Restart the connector alone, or one of its tasks."""
        if task is None:
            self._ask("restart", connector, "POST", "/restart", None, worker)
        else:
            self._ask("restart_task", connector, "POST", f"/tasks/{task}/restart", None, worker, task=task)

    def status(self, connector: str, worker: str = "") -> Any:
        """Return REST's status, or None where the connector is not known. What it says of tasks may be old."""
        reply = self.workers[worker or self._awake()].ask("GET", f"/connectors/{connector}/status")
        return reply.body if reply.is_done else None

    def ask(
        self, what: str, connector: str, method: str, path: str, body: Any = None, worker: str = "",
        timeout_s: float = PATIENCE_S, noted: Mapping[str, object] = NOTHING,
    ) -> Reply | None:  # fmt: skip
        """Ask a worker once, at `path` below the connector; None if it gives no answer in time. It and the answer are
        noted as `what`, with the fields of `noted`."""
        name = worker or self._awake()
        line = self.seen.note(DRIVER, "asked", worker=name, what=what, connector=connector, **noted)
        reply = None
        with contextlib.suppress(NoAnswer):
            reply = self.workers[name].ask(method, f"/connectors/{connector}{path}", body, timeout_s)
        self.seen.note(DRIVER, "answered", asked=line, status=reply.status if reply else None)
        return reply

    # -- waiting

    def wait_for(self, what: str, condition: Callable[[], T], timeout_s: float = PATIENCE_S) -> T:
        """Wait until `condition` is true, and return its value. Raise TimeoutError, which names `what`."""
        for _ in Patience(timeout_s):
            if value := condition():
                return value
        raise TimeoutError(f"no {what} within {timeout_s:g} s; the last that was seen: {self.seen.lines[-3:]}")

    def wait_until_polled(self, connector: str, timeout_s: float = PATIENCE_S) -> dict[int, Instance]:
        """Wait until each task of the newest set that was asked for has polled, and return its instances by task. Of a
        set without tasks: until those of earlier sets are over."""
        number, tasks = self.sets[connector]

        def polled() -> dict[int, Instance]:
            alive = self.control.alive(connector)
            return {each.task: each for each in alive if not tasks or (each.set == number and each.polls)}

        what = f"poll of each of the {tasks} tasks of set {number} of {connector}"
        self.wait_for(what, lambda: len(polled()) == tasks, timeout_s)
        return polled()

    def wait_until_over(self, connector: str, timeout_s: float = PATIENCE_S) -> None:
        """Wait until no instance of the connector or of a task of it is left."""
        self.wait_for(f"end of {connector}", lambda: not self.control.alive(connector, connectors=True), timeout_s)

    def _start(self, stack: ExitStack) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.seen = Seen(self.folder / "seen.jsonl")
        stack.callback(self.seen.close)
        installed = install(self.cache, self.release)
        brokers = install(self.cache, self.broker_release or self.release)
        self._names: dict[int, str] = {}
        self._set_numbers = itertools.count(1)
        settings = {**BROKER_SETTINGS, **self.broker_settings}
        self.kafka = KafkaCluster(
            brokers.jars, self.folder / "kafka", self.brokers, features=self.features, settings=settings,
            archive_to=self.archive_to and self.archive_to / ARCHIVE,
        )  # fmt: skip
        stack.enter_context(self.kafka)
        self.control = stack.enter_context(Control(self.seen, lambda pid: self._names.get(pid, str(pid))))
        supports = [self.support] * self.size if isinstance(self.support, str) else self.support
        for number, support in enumerate(supports):
            self._add(f"w{number}", installed, support, stack)
        stack.callback(self._kill_all)
        self._note(
            "began", group=self.group, release=self.release, brokers=brokers.release, features=dict(self.features),
            workers=list(self.workers), topics=[f"{self.group}-{name}" for name in ("configs", "offsets", "status")],
        )  # fmt: skip
        if self.leader:
            self.start_worker(self.leader)
            self.wait_until_ready(self.leader)
        for name, worker in self.workers.items():
            if worker.process is None:
                self.start_worker(name)
        self.wait_until_ready(*(name for name in self.workers if name != self.leader))
        self.wait_for("group of all workers", self.is_whole)

    def _add(self, name: str, installed: Installed, support: str, stack: ExitStack) -> None:
        watching = self.watching[name] = Watching(name, self.group, f"{self.group}-configs", self.seen)
        proxy = self.proxies[name] = stack.enter_context(Proxy(self.kafka.bootstrap, watching, timeout_s=PATIENCE_S))
        (port,) = free_ports(1)
        rest = self.rest[name] = stack.enter_context(RestProxy(name, port, self.seen))
        self.workers[name] = Worker(
            name, installed, self.folder / name, proxy.bootstrap, self.group, port, rest.port, support,
            self.settings, self.logs, self.brokers,
        )  # fmt: skip

    def _ask(self, what: str, connector: str, method: str, path: str, body: Any, worker: str, **fields: object) -> None:
        """Repeat a request until it is done, or refused for good."""
        reply: Reply | None = None
        for again in Patience(PATIENCE_S):
            reply = self.ask(what, connector, method, path, body, worker, noted=fields)
            if reply is not None and (reply.is_done or (what == "delete" and again and reply.status == NOT_KNOWN)):
                return
            if reply is not None and reply.status not in AGAIN:
                break
        answer = "no answer" if reply is None else f"{reply.status}: {reply.body}"
        raise ClusterError(f"{what} of connector {connector} was not done: {answer}")

    def _awake(self) -> str:
        for name, worker in self.workers.items():
            if worker.is_awake:
                return name
        raise ClusterError("no worker is awake; start or resume one first")

    def _kill_all(self) -> None:
        for worker in self.workers.values():
            if worker.process is not None:
                worker.kill()

    def _note(self, event: str, **fields: object) -> None:
        self.seen.note(CLUSTER, event, **fields)


def archive(cache: Path, folder: Path, release: str = BROKERS) -> Installed:
    """Install a release, and store the classes that its broker and its worker load next to the jars: a worker starts in
    half the CPU time then. It takes half a minute, once a machine; `folder` is for the cluster that runs for it."""
    installed = install(cache, release)
    targets = [installed.jars / name for name in (ARCHIVE, workers.ARCHIVE)]
    with locked(installed.jars / "archives"):
        if all(target.exists() for target in targets):
            return installed
        with ConnectCluster(cache, folder, release, size=1, broker_release="", archive_to=folder) as cluster:
            cluster.configure("archived", tasks=2)
            cluster.wait_until_polled("archived")
            cluster.stop("w0", 120)
            cluster.kafka.stop(120)
        for target in targets:
            if (folder / target.name).exists():
                shutil.move(folder / target.name, target)
    return installed
