"""Brings up a real Apache Kafka cluster in KRaft mode on 127.0.0.1, kills and restarts its nodes, and takes it down.

Every node is broker and controller in one process: three Java processes instead of six fit a small machine, and a
killed active controller is still seen by two live brokers, which keep their blocks across the fail-over. What a
separate controller would add (a fail-over that no broker's memory is lost with) is thereby covered too.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from fencepost.reference_impl.wire.connection import Connection, WireError, find_brokers
from kio.schema.describe_quorum.v1.request import DescribeQuorumRequest, PartitionData, TopicData
from kio.schema.types import TopicName
from kio.static.primitive import i32

POM = Path(__file__).with_name("pom.xml")
CLUSTER_ID = "ZmVuY2Vwb3N0LXRlc3RzLQ"  # 16 bytes in base64, as StorageTool wants it

LOGGING = """\
status = error
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss.SSS} %-5p %c{1}: %m%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = OUT
"""

# Short time-outs, so that a fail-over takes about two seconds; small snapshots and segments, so that a run of two
# minutes has several of each; one partition and replica factor 1 for internal topics, which nobody here uses.
PROPERTIES = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{broker_port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker_port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
controller.quorum.election.timeout.ms=800
controller.quorum.fetch.timeout.ms=1500
metadata.log.max.record.bytes.between.snapshots={snapshot_bytes}
internal.metadata.log.segment.bytes={segment_bytes}
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.network.threads=2
num.io.threads=2
background.threads=2
log.cleaner.enable=false
"""


class ClusterError(Exception):
    """Kafka could not be had or did not do what was asked; the message ends with what the node printed last."""


@dataclass
class Node:
    """One process; `process` is None while it is down."""

    id: int
    folder: Path
    broker_port: int
    controller_port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def log_dir(self) -> Path:
        """The folder that holds `__cluster_metadata-0`."""
        return self.folder / "data"


def reason_to_skip() -> str | None:
    """Why no cluster can be started here, or None."""
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} not found on PATH: Apache Kafka cannot be fetched and run" if missing else None


def fetch_kafka(folder: Path, timeout_s: float = 300) -> Path:
    """Copy Kafka's jars into `folder` unless they are there; from the local Maven cache if it has them all."""
    if (folder / "complete").exists():
        return folder
    copy = [
        "mvn",
        "-B",
        "-q",
        "-Dstyle.color=never",
        "-f",
        str(POM),
        "dependency:copy-dependencies",
        f"-DoutputDirectory={folder}",
    ]
    for command in ([*copy, "-o"], copy):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"Maven did not fetch Apache Kafka within {timeout_s:.0f} s") from None
        if done.returncode == 0:
            (folder / "complete").touch()
            return folder
    lines = [line for line in done.stdout.splitlines() if "ERROR" in line]
    raise ClusterError("Maven cannot fetch Apache Kafka: " + (lines[0] if lines else f"exit code {done.returncode}"))


def kafka_version() -> str:
    """The version of Kafka that the pom names."""
    return POM.read_text().partition("<kafka.version>")[2].partition("<")[0]


@dataclass
class KafkaCluster:
    """`with KafkaCluster(jars, folder) as cluster:` starts the nodes 1..`size`, and stops all of them in the end.

    `snapshot_bytes`, `segment_bytes`: metadata records between two snapshots, and size of a metadata log segment.
    """

    jars: Path
    folder: Path
    size: int = 3
    heap_mb: int = 256
    snapshot_bytes: int = 4096
    segment_bytes: int = 8192
    nodes: dict[int, Node] = field(default_factory=dict)

    def __enter__(self) -> KafkaCluster:
        self.folder.mkdir(parents=True, exist_ok=True)
        ports = free_ports(2 * self.size)
        for number in range(1, self.size + 1):
            self.nodes[number] = Node(number, self.folder / f"node-{number}", ports.pop(), ports.pop())
        try:
            for node in self.nodes.values():
                self._format(node)
            for number in self.nodes:
                self.start(number)
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """`host:port,…` of every node's broker."""
        return ",".join(map(self.address, self.nodes))

    @property
    def log_dirs(self) -> list[Path]:
        """Every node's log directory, by ascending node."""
        return [node.log_dir for node in self.nodes.values()]

    def address(self, number: int) -> str:
        """`host:port` of one node's broker."""
        return f"127.0.0.1:{self.nodes[number].broker_port}"

    def start(self, number: int) -> None:
        """Start a node that is down; returns at once."""
        node = self.nodes[number]
        with (node.folder / "out.txt").open("ab") as out:
            command = self._java("kafka.Kafka", str(node.folder / "server.properties"))
            # A group of its own: an interrupted test run must not signal the nodes before stop() does.
            node.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)

    def kill(self, number: int) -> None:
        """SIGKILL: the node has no chance to tell anybody, and its memory is gone."""
        process = self.nodes[number].process
        if process is None:
            raise ClusterError(f"node {number} is not running, so it cannot be killed; start({number}) first")
        process.kill()
        process.wait()
        self.nodes[number].process = None

    def stop(self, patience_s: float = 20) -> None:
        """Stop every node cleanly, and kill those that take too long."""
        running = [node.process for node in self.nodes.values() if node.process is not None]
        for process in running:
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + patience_s
        for process in running:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for node in self.nodes.values():
            node.process = None

    def wait_until_ready(self, timeout_s: float = 90) -> None:
        """Wait until there is an active controller and every running node's broker is unfenced."""
        running = {number for number, node in self.nodes.items() if node.process is not None}
        deadline = time.monotonic() + timeout_s
        last: object = "no node answered"
        while time.monotonic() < deadline:
            for number in sorted(running):
                process = self.nodes[number].process
                if process is not None and process.poll() is not None:
                    raise ClusterError(f"node {number} ended with {process.returncode}:\n{self.tail(number)}")
            try:
                # Every node must say so itself: the others keep a killed broker on their lists until its session ends.
                last = [{broker.id for broker in find_brokers(self.address(number))} for number in sorted(running)]
                if all(seen == running for seen in last) and self.active_controller() in running:
                    return
            except (WireError, ClusterError) as error:
                last = error
            time.sleep(0.2)
        tails = "\n".join(self.tail(number) for number in sorted(running))
        raise ClusterError(f"not ready within {timeout_s:.0f} s: wanted nodes {sorted(running)}, saw {last}\n{tails}")

    def active_controller(self) -> int:
        """The quorum's leader, asked of every running broker in turn, which forwards the question to that leader."""
        partitions = (PartitionData(partition_index=i32(0)),)
        question = DescribeQuorumRequest(
            topics=(TopicData(topic_name=TopicName("__cluster_metadata"), partitions=partitions),)
        )
        for node in self.nodes.values():
            if node.process is None:
                continue
            try:
                with Connection("127.0.0.1", node.broker_port, 3) as connection:
                    (topic,) = connection.call(question).topics or (None,)
            except WireError:
                continue
            if topic is not None and int(topic.partitions[0].leader_id) >= 0:
                return int(topic.partitions[0].leader_id)
        raise ClusterError("no running broker knows an active controller")

    def tail(self, number: int, lines: int = 15) -> str:
        """The last lines that the node wrote."""
        out = self.nodes[number].folder / "out.txt"
        return "\n".join(out.read_text(errors="replace").splitlines()[-lines:]) if out.exists() else "(no output)"

    def _format(self, node: Node) -> None:
        node.folder.mkdir(parents=True, exist_ok=True)
        voters = ",".join(f"{each.id}@127.0.0.1:{each.controller_port}" for each in self.nodes.values())
        text = PROPERTIES.format(
            node=node.id, voters=voters, broker_port=node.broker_port, controller_port=node.controller_port,
            data=node.log_dir, snapshot_bytes=self.snapshot_bytes, segment_bytes=self.segment_bytes,
        )  # fmt: skip
        config = node.folder / "server.properties"
        config.write_text(text)
        (self.folder / "log4j2.properties").write_text(LOGGING)
        command = self._java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(config))
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise ClusterError(f"node {node.id} cannot be formatted: {done.stdout}{done.stderr}")

    def _java(self, main: str, *arguments: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        tuning = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Xmx{self.heap_mb}m"]  # start-up is what costs here
        return ["java", *tuning, logging, "-cp", f"{self.jars}{os.sep}*", main, *arguments]


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that were free just now; held open together so that none comes twice."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
