"""This module runs one worker of Kafka Connect (`ConnectDistributed`) in a JVM of its own, on 127.0.0.1.

It can be killed, stopped, paused as a process (SIGSTOP: a zombie, once its session is over), and started again with
another release or another `exactly.once.source.support`. Its output is in `out.txt` of its folder, with a time, a level
and the thread's name in each line.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.reference_impl.live.clusters.ending import started
from fencepost.reference_impl.live.clusters.jars import ClusterError, java
from fencepost.reference_impl.live.clusters.properties import properties
from fencepost.reference_impl.live.connect.install import Installed
from fencepost.reference_impl.live.connect.rest import HOST, Reply, ask
from fencepost.reference_impl.live.tcp.connection import NoAnswer

MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
ARCHIVE = "worker.jsa"  # next to the jars

# Rebalances are learnt by heartbeats, so that their interval is the latency of everything.
QUICK: Mapping[str, object] = {
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 100,
    "rebalance.timeout.ms": 10_000,
    "scheduled.rebalance.max.delay.ms": 0,
    "task.shutdown.graceful.timeout.ms": 1_000,
    "offset.flush.interval.ms": 200,
    "offset.flush.timeout.ms": 2_000,
    "worker.sync.timeout.ms": 3_000,
    "worker.unsync.backoff.ms": 500,
    "retry.backoff.ms": 5,
    "reconnect.backoff.ms": 5,
    "reconnect.backoff.max.ms": 100,
    "fetch.max.wait.ms": 100,
    "connector.client.config.override.policy": "All",
}

_RUNTIME = "org.apache.kafka.connect."
LOGS: Mapping[str, str] = {
    f"{_RUNTIME}runtime.distributed.DistributedHerder": "TRACE",
    f"{_RUNTIME}runtime.distributed.WorkerCoordinator": "DEBUG",
    f"{_RUNTIME}runtime.Worker": "DEBUG",
    f"{_RUNTIME}runtime.ExactlyOnceWorkerSourceTask": "DEBUG",
    f"{_RUNTIME}runtime.rest.RestClient": "TRACE",
    f"{_RUNTIME}runtime.rest.RestServer": "INFO",
    f"{_RUNTIME}storage.KafkaConfigBackingStore": "DEBUG",
    f"{_RUNTIME}util.KafkaBasedLog": "TRACE",
    "org.apache.kafka.clients.producer.internals.TransactionManager": "INFO",
}
"""The loggers by which a worker reports the steps of which nothing else is seen, and their levels."""

TICKS = "(?s).*(Recording new|Completing current) tick thread stage.*"
"""The herder's thread reports with each of its turns what it is at: some 10 MB a minute, which no reader needs."""

PATTERN = "%d{yyyy-MM-dd HH:mm:ss.SSS} %-5p [%t] %c{1}: %m%n"


@dataclass
class Worker:
    """A `Worker` is one worker; ``name`` is its `client.id`, and ``process`` is None while it is down.

    ``port`` is where its REST server listens, ``advertised_port`` what other workers are given. ``settings`` win over
    all others, ``logs`` are levels by logger.
    """

    name: str
    installed: Installed
    folder: Path
    bootstrap: str
    group: str
    port: int
    advertised_port: int
    support: str = "enabled"
    settings: Mapping[str, object] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)
    replicas: int = 1
    heap_mb: int = 192
    process: subprocess.Popen[bytes] | None = None
    is_paused: bool = False
    generation: int = 0

    @property
    def url(self) -> str:
        """Where its own REST server listens, behind the proxy."""
        return f"http://{HOST}:{self.port}"

    @property
    def id(self) -> str:
        """Kafka's `worker_id` in statuses."""
        return f"{HOST}:{self.advertised_port}"

    @property
    def is_awake(self) -> bool:
        return self.process is not None and not self.is_paused

    def start(self, archive_to: Path | None = None) -> None:
        """Start it, to be called in the main thread; returns at once. ClusterError if it runs."""
        if self.process is not None:
            raise ClusterError(f"worker {self.name} runs already; kill or stop it first")
        self.folder.mkdir(parents=True, exist_ok=True)
        config, logging = self.folder / "worker.properties", self.folder / "log4j2.properties"
        config.write_text(worker_properties(self))
        logging.write_text(log4j2(self.logs))
        command = java(
            self.installed.jars, logging, self.heap_mb, MAIN, str(config), archive_to=archive_to, archive=ARCHIVE,
            options=("-Xss512k",),
        )  # fmt: skip
        self.generation += 1
        with (self.folder / "out.txt").open("ab") as out:
            # A group of its own: an interrupted run must not signal the workers before it stops them.
            self.process = started(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)

    def is_ready(self) -> bool:
        """Return whether REST answers: it has joined the group, and read its topics. ClusterError if it has ended."""
        process = self._running("asked")
        if (code := process.poll()) is not None:
            raise ClusterError(f"worker {self.name} ended with {code}:\n{self.tail()}")
        try:
            return self.ask("GET", "/connectors", timeout_s=5).is_done
        except NoAnswer:
            return False

    def wait_until_ready(self, timeout_s: float = 120.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not self.is_ready():
            if time.monotonic() > deadline:
                raise ClusterError(f"worker {self.name} did not answer within {timeout_s:.0f} s:\n{self.tail()}")
            time.sleep(0.03)

    def ask(self, method: str, path: str, body: Any = None, timeout_s: float = 30.0) -> Reply:
        """Send a request to its REST server, not by the proxy. Raise NoAnswer."""
        return ask(self.url, method, path, body, timeout_s)

    def kill(self) -> None:
        """SIGKILL: neither the group nor a coordinator hears of it."""
        process = self._running("killed")
        process.kill()
        self._ended(process)

    def stop(self, patience_s: float = 30.0) -> bool:
        """SIGTERM: it leaves the group and stops its tasks, which waits for polls. Killed, and False, if it takes too
        long."""
        process = self._running("stopped")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        is_stopped = True
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            is_stopped = False
        self._ended(process)
        return is_stopped

    def pause(self, timeout_s: float = 30.0) -> None:
        """SIGSTOP; returns when every thread stands still. Raise TimeoutError."""
        process = self._running("paused")
        process.send_signal(signal.SIGSTOP)
        self.is_paused = True
        deadline = time.monotonic() + timeout_s
        while any(state != "T" for _, state in threads_of(process.pid)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"worker {self.name} did not stand still within {timeout_s:g} s")
            time.sleep(0.002)

    def resume(self) -> None:
        """SIGCONT: it does not know that time went by."""
        self._running("resumed").send_signal(signal.SIGCONT)
        self.is_paused = False

    def tail(self, lines: int = 20) -> str:
        """The last lines that it wrote."""
        out = self.folder / "out.txt"
        return "\n".join(out.read_text(errors="replace").splitlines()[-lines:]) if out.exists() else "(no output)"

    def _running(self, verb: str) -> subprocess.Popen[bytes]:
        if self.process is None:
            raise ClusterError(f"worker {self.name} is not running, so it cannot be {verb}; start it first")
        return self.process

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self.process, self.is_paused = None, False


def threads_of(pid: int) -> list[tuple[str, str]]:
    """Return the name of each thread of a process, its first 15 bytes, and its state as Linux names it: R runs, S
    sleeps, T is stopped. Raise OSError if the process has ended."""
    found, folder = [], f"/proc/{pid}/task/"
    for task in os.listdir(folder):
        try:
            stat = os.open(f"{folder}{task}/stat", os.O_RDONLY)  # pathlib takes three times as long
        except FileNotFoundError:  # it has ended meanwhile
            continue
        try:
            before, _, after = os.read(stat, 256).rpartition(b") ")
            found.append((before.partition(b"(")[2].decode(errors="replace"), after[:1].decode()))
        except ProcessLookupError:
            continue
        finally:
            os.close(stat)
    return found


def worker_properties(worker: Worker) -> str:
    """Return the text of the file that the worker is started with."""
    topics = {name: f"{worker.group}-{name}s" for name in ("config", "offset")} | {"status": f"{worker.group}-status"}
    converter = "org.apache.kafka.connect.storage.StringConverter"
    return properties(
        {
            "bootstrap.servers": worker.bootstrap,
            "group.id": worker.group,
            "client.id": worker.name,
            **{f"{name}.storage.topic": topic for name, topic in topics.items()},
            **{f"{name}.storage.replication.factor": worker.replicas for name in topics},
            "offset.storage.partitions": 1,
            "status.storage.partitions": 1,
            "key.converter": converter,
            "value.converter": converter,
            "listeners": worker.url,
            "rest.advertised.host.name": HOST,
            "rest.advertised.port": worker.advertised_port,
            "plugin.path": worker.installed.plugins,
            "plugin.discovery": "service_load",
            "exactly.once.source.support": worker.support,
            **QUICK,
            **worker.settings,
        }
    )


def log4j2(logs: Mapping[str, str]) -> str:
    own: dict[str, object] = {}
    for number, (logger, level) in enumerate(logs.items()):
        own |= {f"logger.l{number}.name": logger, f"logger.l{number}.level": level}
    return properties(
        {
            "status": "error",
            "filter.ticks.type": "RegexFilter",
            "filter.ticks.regex": TICKS,
            "filter.ticks.onMatch": "DENY",
            "filter.ticks.onMismatch": "NEUTRAL",
            "appender.out.type": "Console",
            "appender.out.name": "OUT",
            "appender.out.layout.type": "PatternLayout",
            "appender.out.layout.pattern": PATTERN,
            "rootLogger.level": "warn",
            "rootLogger.appenderRef.out.ref": "OUT",
            **own,
        }
    )
