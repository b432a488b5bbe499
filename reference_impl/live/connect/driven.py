"""This module has the Connect cluster of this process that is driven: it serves one system after the other.

Each system has connectors with names of their own, and the workers are awake, with the support of the cluster, when it
begins."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.reference_impl.live.clusters.ending import temporary
from fencepost.reference_impl.live.connect import config_topic
from fencepost.reference_impl.live.connect.cluster import ClusterError, ConnectCluster, archive
from fencepost.reference_impl.live.connect.install import BROKERS
from fencepost.reference_impl.live.connect.seen import CLUSTER
from fencepost.reference_impl.live.connect.stepping import PATIENCE_S, Gates
from fencepost.reference_impl.live.connect.worker import LOGS
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.tcp.reading import Patience

GRACEFUL_MS = 1_500
LONG_MS = 300_000
SETTINGS: Mapping[str, object] = {
    # Sessions end when the driver says so, and requests may be held for a while.
    "session.timeout.ms": LONG_MS, "rebalance.timeout.ms": LONG_MS, "request.timeout.ms": LONG_MS,
    "producer.request.timeout.ms": LONG_MS, "producer.delivery.timeout.ms": 2 * LONG_MS,
    "producer.max.block.ms": LONG_MS, "admin.request.timeout.ms": LONG_MS, "admin.default.api.timeout.ms": LONG_MS,
    # No client is silent for longer than `stepping.QUIET_S` and goes on by itself: those of tasks take no other ones.
    "worker.unsync.backoff.ms": 50, "consumer.fetch.max.wait.ms": 100,
    **{f"{client}retry.backoff.ms": 5 for client in ("", "admin.", "producer.", "consumer.")},
    **{f"{client}retry.backoff.max.ms": 50 for client in ("", "admin.", "producer.", "consumer.")},
    **{f"{client}reconnect.backoff.max.ms": 50 for client in ("", "admin.", "producer.", "consumer.")},
    "task.shutdown.graceful.timeout.ms": GRACEFUL_MS, "offset.flush.interval.ms": 60_000,
}  # fmt: skip
LEFT_S = 5.0
GONE = frozenset({404})


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
        given up the process before, for which the others would have to wait until its session ends."""
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
        folder = _OPEN.enter_context(temporary("fencepost-connect-"))
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
