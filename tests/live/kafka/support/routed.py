"""Asks a cluster of several nodes as `asking.py` asks one: finds coordinators and leaders, and can be patient."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from asking import GROUP, PARTITIONS, TRANSACTION, Answer, Asker
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.tcp.connection import Connection, NoAnswer
from fencepost.reference_impl.live.tcp.reading import build, milliseconds
from kio.schema.errors import ErrorCode

TRANSACTIONS = {"init_producer_id", "add_partitions_to_txn", "add_offsets_to_txn", "end_txn", "describe_transactions"}
OFFSETS = {"txn_offset_commit", "offset_fetch"}
AGAIN = tuple(map(ErrorCode, (3, 5, 6, 7, 13, 14, 15, 16, 19, 20, 51)))  # may be otherwise in a moment
PATIENCE_S = 60.0


class RoutedAsker(Asker):
    """`replicas`: the nodes of every partition of the topic; without it the cluster decides."""

    def __init__(
        self, cluster: KafkaCluster, name: str, *, replicas: tuple[int, ...] = (), names: dict[int, str] | None = None
    ) -> None:
        self.cluster, self.replicas = cluster, replicas
        self.connections: dict[object, Connection] = {}
        super().__init__(cluster.bootstrap, name, names={} if names is None else names)

    def reconnect(self) -> None:
        """Forget where everything was."""
        for connection in self.connections.values():
            connection.close()
        self.connections.clear()

    def prepare(self) -> None:
        """Create the topic, and wait until leaders and coordinators are there."""
        self.patiently(lambda: self.create_topic() not in (0, 36) and ErrorCode(3))
        for partition in range(PARTITIONS):
            self.patiently(self.log, partition)
        self.patiently(self.described)

    def patiently(self, request: Callable[..., Answer], *arguments: Any, **options: Any) -> Answer:
        """Repeat a request, the very same, until its answer is final. Raises TimeoutError."""
        deadline = time.monotonic() + PATIENCE_S
        answer: Answer = "none"
        while time.monotonic() < deadline:
            try:
                answer = request(*arguments, **options)
                if not isinstance(answer, ErrorCode) or answer not in AGAIN:
                    return answer
            except NoAnswer as failure:
                answer = failure
            self.reconnect()
            time.sleep(0.05)
        raise TimeoutError(f"{self.name}: still {answer!r} after {PATIENCE_S:.0f} s")

    def send(self, api: str, version: int | None, **fields: Any) -> Any:
        """To the node that is responsible, as far as that is known now."""
        place = self._place(api, fields)
        if place not in self.connections:
            host, port = self._find(place)
            self.connections[place] = Connection(host, port, 5)
        try:
            return self.connections[place].call(
                build(api, self.versions[api] if version is None else version, **fields)
            )
        except NoAnswer:
            self.connections.pop(place).close()
            raise

    def create_topic(self) -> ErrorCode:
        """On the replicas asked for."""
        if not self.replicas:
            return super().create_topic()
        each = [
            build("create_topics", 5, "CreatableReplicaAssignment", partition_index=partition, broker_ids=self.replicas)
            for partition in range(PARTITIONS)
        ]
        topic = build(
            "create_topics", 5, "CreatableTopic", name=self.name, num_partitions=-1, replication_factor=-1,
            assignments=tuple(each), configs=(),
        )  # fmt: skip
        return self.send("create_topics", 5, topics=(topic,), timeout=milliseconds(10_000)).topics[0].error_code

    def coordinator(self, kind: int = TRANSACTION) -> int:
        """The node that coordinates."""
        return int(self._coordinator(kind).node_id)

    def leader(self, partition: int, topic: str = "") -> int:
        """The node that leads a partition of the topic, or of another one, -1 for none."""
        answer = self._metadata(topic or self.name)
        return next(int(each.leader_id) for each in answer.topics[0].partitions if each.partition_index == partition)

    def _place(self, api: str, fields: dict[str, Any]) -> object:
        if api in TRANSACTIONS:
            return TRANSACTION
        if api in OFFSETS:
            return GROUP
        if api == "produce":
            return "leader", fields["topic_data"][0].partition_data[0].index
        if api == "fetch":
            of = fields["topics"][0]  # a follower would answer too, with what it knows to be committed
            return "leader", of.partitions[0].partition, of.topic
        if api == "describe_producers":
            return "leader", fields["topics"][0].partition_indexes[0]
        return "anybody"

    def _find(self, place: object) -> tuple[str, int]:
        if place in (TRANSACTION, GROUP):
            found = self._coordinator(int(place == TRANSACTION))
            return found.host, int(found.port)
        node = next(number for number, node in self.cluster.nodes.items() if node.awake)
        if isinstance(place, tuple):
            node = self.leader(*place[1:])
        if node not in self.cluster.nodes:
            raise NoAnswer(f"{self.name}: {place} is nowhere")
        host, _, port = self.cluster.address(node).rpartition(":")
        return host, int(port)

    def _coordinator(self, kind: int) -> Any:
        found = self.send("find_coordinator", 3, key=self.txn if kind == TRANSACTION else self.name, key_type=kind)
        if found.error_code:
            raise NoAnswer(f"{self.name}: no coordinator yet: {found.error_code!r}")
        return found

    def _metadata(self, topic: str) -> Any:
        asked = build("metadata", 8, "MetadataRequestTopic", name=topic)
        answer = self.send(
            "metadata", 8, topics=(asked,), allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False, include_topic_authorized_operations=False,
        )  # fmt: skip
        if answer.topics[0].error_code:
            raise NoAnswer(f"{self.name}: not known yet: {answer.topics[0].error_code!r}")
        return answer
