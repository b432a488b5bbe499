"""This module starts Apache Kafka in KRaft mode on 127.0.0.1, kills and restarts its nodes, and stops it.

Every node is broker and controller in one process: three Java processes instead of six fit a small machine, and a
killed active controller is still seen by two live brokers, which keep their blocks across the fail-over. What a
separate controller would add (a fail-over that no broker's memory is lost with) is thereby covered too.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import socket
import subprocess
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.reference_impl.live.clusters.ending import Entering, started
from fencepost.reference_impl.live.clusters.jars import (
    ARCHIVE,
    LOGGING,
    ClusterError,
    features_of,
    fetch_kafka,
    java,
    kafka_version,
    reason_to_skip,
)
from fencepost.reference_impl.live.clusters.properties import Addresses, server_properties
from fencepost.reference_impl.live.tcp.connection import Connection, WireError, find_brokers
from kio.schema.api_versions.v4.request import ApiVersionsRequest
from kio.schema.describe_quorum.v1.request import DescribeQuorumRequest, PartitionData, TopicData
from kio.schema.types import TopicName
from kio.schema.update_features.v1.request import FeatureUpdateKey, UpdateFeaturesRequest
from kio.static.primitive import i8, i16, i32

__all__ = ["ClusterError", "KafkaCluster", "Node", "fetch_kafka", "free_ports", "kafka_version", "reason_to_skip"]

CLUSTER_ID = "ZmVuY2Vwb3N0LXRlc3RzLQ"  # 16 bytes in base64, as StorageTool wants it
HOST = "127.0.0.1"
PORTS = (15_000, 32_000)


@dataclass
class Node:
    """One process; `process` is None while it is down."""

    id: int
    folder: Path
    broker_port: int
    internal_port: int
    controller_port: int
    process: subprocess.Popen[bytes] | None = None
    paused: bool = False

    @property
    def log_dir(self) -> Path:
        """The folder that holds `__cluster_metadata-0`."""
        return self.folder / "data"

    @property
    def awake(self) -> bool:
        """Whether it can answer."""
        return self.process is not None and not self.paused


@dataclass
class KafkaCluster(Entering):
    """`with KafkaCluster(jars, folder) as cluster:` starts the nodes 1..`size`, and kills all of them in the end:
    `stop` comes before any reading of their logs.

    With three nodes internal topics have three replicas, and two must have a write. `features` are set when the storage
    is formatted (levels by name, such as {"transaction.version": 0}), `settings` go into every server.properties.
    Ports are known from the start, so a proxy can be put before `address(n)` or `internal_address(n)` and its own
    address be given to the others: `advertised[n]` to clients, `advertised_internal[n]` to brokers (both `host:port`),
    and `advertised_controller[n]` to those that look for the controller. The first
    `controllers` nodes (0: all of them) are controllers too, and the others are brokers only.
    """

    jars: Path
    folder: Path
    size: int = 3
    heap_mb: int = 256
    features: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    advertised: dict[int, str] = field(default_factory=dict)
    advertised_internal: dict[int, str] = field(default_factory=dict)
    advertised_controller: dict[int, str] = field(default_factory=dict)
    controllers: int = 0
    archive_to: Path | None = None
    nodes: dict[int, Node] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        ports = free_ports(3 * self.size)
        for number in range(1, self.size + 1):
            self.nodes[number] = Node(number, self.folder / f"node-{number}", ports.pop(), ports.pop(), ports.pop())

    def _start(self, stack: ExitStack) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "log4j2.properties").write_text(LOGGING)
        stack.callback(self._kill_all)
        self._format()
        for number in self.nodes:
            self.start(number)
        self.wait_until_ready()

    @property
    def bootstrap(self) -> str:
        """`host:port,…` of every node's broker, as clients get it."""
        return ",".join(self.advertised.get(number, self.address(number)) for number in self.nodes)

    @property
    def log_dirs(self) -> list[Path]:
        """Every node's log directory, by ascending node."""
        return [node.log_dir for node in self.nodes.values()]

    def address(self, number: int) -> str:
        """`host:port` where one node listens for clients."""
        return f"{HOST}:{self.nodes[number].broker_port}"

    def internal_address(self, number: int) -> str:
        """`host:port` where one node listens for other brokers, and for itself."""
        return f"{HOST}:{self.nodes[number].internal_port}"

    def controller_address(self, number: int) -> str:
        """`host:port` where one node listens as a controller."""
        return f"{HOST}:{self.nodes[number].controller_port}"

    def start(self, number: int) -> None:
        """Start a node that is down, with the advertised addresses as they are now; returns at once."""
        node = self.nodes[number]
        config = self._configure(node)
        with (node.folder / "out.txt").open("ab") as out:
            command = self._java("kafka.Kafka", str(config), archive_to=self.archive_to)
            # A group of its own: an interrupted test run must not signal the nodes before stop() does.
            node.process = started(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)

    def kill(self, number: int) -> None:
        """SIGKILL: no other node hears of it, and its memory is gone."""
        self._process(number, "killed").kill()
        self._process(number, "killed").wait()
        self.nodes[number].process = None
        self.nodes[number].paused = False

    def pause(self, number: int) -> None:
        """SIGSTOP: the node says nothing and keeps everything, until `resume`."""
        self._process(number, "paused").send_signal(signal.SIGSTOP)
        self.nodes[number].paused = True

    def resume(self, number: int) -> None:
        """SIGCONT: the node goes on from where it was, and does not know that time went by."""
        self._process(number, "resumed").send_signal(signal.SIGCONT)
        self.nodes[number].paused = False

    def stop(self, patience_s: float = 20) -> None:
        """Stop every node cleanly, and kill those that take too long."""
        running = [node.process for node in self.nodes.values() if node.process is not None]
        for process in running:
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
        deadline = time.monotonic() + patience_s
        for process in running:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for node in self.nodes.values():
            node.process = None
            node.paused = False

    def _kill_all(self) -> None:
        for number, node in self.nodes.items():
            if node.process is not None:
                self.kill(number)

    def wait_until_ready(self, timeout_s: float = 90) -> None:
        """Wait until there is an active controller and the broker of every node that is awake is unfenced."""
        awake = {number for number, node in self.nodes.items() if node.awake}
        paused = {number for number, node in self.nodes.items() if node.paused}
        deadline = time.monotonic() + timeout_s
        last: object = "no node answered"
        while time.monotonic() < deadline:
            for number in sorted(awake):
                if (code := self._process(number, "asked").poll()) is not None:
                    raise ClusterError(f"node {number} ended with {code}:\n{self.tail(number)}")
            try:
                # Every node must say so itself: the others keep a killed broker on their lists until its session ends.
                last = [
                    {broker.id for broker in find_brokers(self.address(number))} - paused for number in sorted(awake)
                ]
                if all(seen == awake for seen in last) and self.active_controller() in awake:
                    return
            except (WireError, ClusterError) as error:
                last = error
            time.sleep(0.05)
        tails = "\n".join(self.tail(number) for number in sorted(awake))
        raise ClusterError(f"not ready within {timeout_s:.0f} s: wanted nodes {sorted(awake)}, saw {last}\n{tails}")

    def active_controller(self) -> int:
        """The quorum's leader, asked of every waking broker in turn, which forwards the question to that leader."""
        partitions = (PartitionData(partition_index=i32(0)),)
        question = DescribeQuorumRequest(
            topics=(TopicData(topic_name=TopicName("__cluster_metadata"), partitions=partitions),)
        )
        for node in self.nodes.values():
            if not node.awake:
                continue
            try:
                with Connection(HOST, node.broker_port, 3) as connection:
                    (topic,) = connection.call(question).topics or (None,)
            except WireError:
                continue
            if topic is not None and int(topic.partitions[0].leader_id) >= 0:
                return int(topic.partitions[0].leader_id)
        raise ClusterError("no running broker knows an active controller")

    def feature(self, name: str, number: int) -> int:
        """The level of a feature that one node knows, 0 if it is not finalized."""
        with Connection(HOST, self.nodes[number].broker_port) as connection:
            answer = connection.call(ApiVersionsRequest(client_software_name="fencepost", client_software_version="1"))
        return next((int(each.max_version_level) for each in answer.finalized_features if each.name == name), 0)

    def set_feature(self, name: str, level: int, timeout_s: float = 20) -> None:
        """Finalize a feature at another level while the cluster runs, up or down; every waking node knows it then.

        ClusterError if it is refused.
        """
        awake = [number for number, node in self.nodes.items() if node.awake]
        for kind in (1, 2):  # upgrade, safe downgrade: each is refused where the other is meant
            update = FeatureUpdateKey(feature=name, max_version_level=i16(level), upgrade_type=i8(kind))
            with Connection(HOST, self.nodes[awake[0]].broker_port) as connection:
                answer = connection.call(UpdateFeaturesRequest(feature_updates=(update,)))
            if not answer.error_code:
                break
        else:
            raise ClusterError(f"{name}={level} was refused: {answer.error_message or answer.error_code}")
        deadline = time.monotonic() + timeout_s
        while any(self.feature(name, number) != level for number in awake):
            if time.monotonic() > deadline:
                raise ClusterError(f"{name}={level} did not reach every node within {timeout_s:.0f} s")
            time.sleep(0.02)

    def tail(self, number: int, lines: int = 15) -> str:
        """The last lines that the node wrote."""
        out = self.nodes[number].folder / "out.txt"
        return "\n".join(out.read_text(errors="replace").splitlines()[-lines:]) if out.exists() else "(no output)"

    def _process(self, number: int, verb: str) -> subprocess.Popen[bytes]:
        process = self.nodes[number].process
        if process is None:
            raise ClusterError(f"node {number} is not running, so it cannot be {verb}; start({number}) first")
        return process

    def _configure(self, node: Node) -> Path:
        node.folder.mkdir(parents=True, exist_ok=True)
        clients, internal = self.address(node.id), self.internal_address(node.id)
        addresses = Addresses(
            clients,
            internal,
            self.controller_address(node.id) if node.id in self._voters else "",
            self.advertised.get(node.id, clients),
            self.advertised_internal.get(node.id, internal),
            self.advertised_controller.get(node.id, ""),
        )
        voters = ",".join(
            f"{number}@{self.advertised_controller.get(number, self.controller_address(number))}"
            for number in self._voters
        )
        config = node.folder / "server.properties"
        config.write_text(server_properties(node.id, node.log_dir, self.size, voters, addresses, self.settings))
        return config

    @property
    def _voters(self) -> list[int]:
        return list(self.nodes)[: self.controllers or self.size]

    def _format(self) -> None:
        """As Kafka's tool does it. It runs once a machine for each kind of node: what it writes is copied after that,
        under another node's id."""
        features = features_of(self.jars, self.features)
        for node in self.nodes.values():
            config = self._configure(node)
            role = "controller" if node.id in self._voters else "broker"
            kind = [role, *(f"{name}={level}" for name, level in features.items())]
            formatted = self.jars / f"formatted-{'-'.join(kind)}"
            if not formatted.exists():
                self._run_storage_tool(config, features)
                fresh = node.folder / "formatted"
                shutil.copytree(node.log_dir, fresh)
                with contextlib.suppress(OSError):  # another process was quicker
                    fresh.rename(formatted)
                continue
            shutil.copytree(formatted, node.log_dir)
            own = {"node.id": node.id, "directory.id": urlsafe_b64encode(b"node" + random.randbytes(12)).decode()[:22]}
            file = node.log_dir / "meta.properties"
            lines = [line.partition("=") for line in file.read_text().splitlines()]
            file.write_text("".join(f"{name}{equals}{own.get(name, value)}\n" for name, equals, value in lines))

    def _run_storage_tool(self, config: Path, features: Mapping[str, int]) -> None:
        levels = [part for name, level in features.items() for part in ("--feature", f"{name}={level}")]
        command = self._java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(config), *levels)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise ClusterError(f"{config} cannot be formatted: {done.stdout}{done.stderr}")

    def _java(self, main: str, *arguments: str, archive_to: Path | None = None) -> list[str]:
        logging = self.folder / "log4j2.properties"
        return java(self.jars, logging, self.heap_mb, main, *arguments, archive_to=archive_to)


def archive_classes(jars: Path, folder: Path) -> None:
    """Run one node once, and store its classes next to the jars in a form that starts in half the time (7 s, once)."""
    if not (jars / ARCHIVE).exists():
        fresh = folder / ARCHIVE
        with KafkaCluster(jars, folder, size=1, archive_to=fresh) as cluster:
            cluster.stop(patience_s=180)  # to write the archive takes a loaded machine longer than to stop
        if fresh.exists():
            fresh.rename(jars / ARCHIVE)


_RESERVED: list[socket.socket] = []


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that are free, below those that the system gives out by itself, so that no client gets one. No
    other process is given one of them here, as long as this process runs."""
    ports: set[int] = set()
    chance = random.SystemRandom()  # what seeds the other one does so in other processes too
    for _ in range(100 * count):
        if len(ports) == count:
            return list(ports)
        port, reserved = chance.randrange(*PORTS), socket.socket(socket.AF_UNIX)
        try:
            with socket.create_server((HOST, port)):
                reserved.bind(f"\0fencepost-port-{port}")  # Linux frees an abstract name with its process
        except OSError:
            reserved.close()
            continue
        ports.add(port)
        _RESERVED.append(reserved)
    raise ClusterError(f"no {count} free ports of 127.0.0.1 between {PORTS[0]} and {PORTS[1]} were found")
