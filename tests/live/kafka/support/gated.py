"""Three brokers with a gate before each, and before the controller: a broker can be cut off the controller alone.

It is fenced then, and others take over what it coordinated and led; it does not hear of it, and goes on. The controller
is on node 1, which is never cut off.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fencepost.reference_impl.live.clusters.ending import Entering
from fencepost.reference_impl.live.clusters.kafka import ClusterError, KafkaCluster
from fencepost.reference_impl.live.tcp.connection import Connection
from fencepost.reference_impl.live.tcp.reading import build, milliseconds
from gate import BROKER_HEARTBEAT, FETCH, Gate

SIZE, CONTROLLER = 3, 1
QUORUM = {"controller.quorum.fetch.timeout.ms": 120_000}  # who hears nothing of the controller asks for no election


class GatedCluster(Entering):
    """`with GatedCluster(jars, folder, level):` starts it with that transaction.version; its cluster is `cluster`."""

    def __init__(self, jars: Path, folder: Path, level: int, **settings: object) -> None:
        self.cluster = KafkaCluster(
            jars, folder, SIZE, features={"transaction.version": level}, settings={**QUORUM, **settings}, controllers=1
        )
        self.brokers = {number: Gate(self.cluster.internal_address(number)) for number in self.cluster.nodes}
        self.controller = Gate(self.cluster.controller_address(CONTROLLER))

    def _start(self, stack: ExitStack) -> None:
        for number, gate in self.brokers.items():
            self.cluster.advertised_internal[number] = stack.enter_context(gate).address
        self.cluster.advertised_controller[CONTROLLER] = stack.enter_context(self.controller).address
        stack.enter_context(self.cluster)

    def create(self, topic: str, *replicas: tuple[int, ...], **configs: str) -> None:
        """A topic, one partition on the nodes of each tuple; a configuration's dots are written as underscores."""
        version = 5
        each = [
            build("create_topics", version, "CreatableReplicaAssignment", partition_index=partition, broker_ids=nodes)
            for partition, nodes in enumerate(replicas)
        ]
        wanted = [
            build("create_topics", version, "CreatableTopicConfig", name=name.replace("_", "."), value=value)
            for name, value in configs.items()
        ]
        made = build(
            "create_topics", version, "CreatableTopic", name=topic, num_partitions=-1, replication_factor=-1,
            assignments=tuple(each), configs=tuple(wanted),
        )  # fmt: skip
        request = build("create_topics", version, topics=(made,), timeout=milliseconds(10_000), validate_only=False)
        if error := self._ask(request).topics[0].error_code:
            raise ClusterError(f"topic {topic}: {error!r}")

    def leader(self, topic: str, partition: int = 0) -> int:
        """Who leads as the controller's node knows it, -1 for none."""
        asked = build("metadata", 8, "MetadataRequestTopic", name=topic)
        answer = self._ask(
            build(
                "metadata", 8, topics=(asked,), allow_auto_topic_creation=False,
                include_cluster_authorized_operations=False, include_topic_authorized_operations=False,
            )
        )  # fmt: skip
        found = {int(each.partition_index): int(each.leader_id) for each in answer.topics[0].partitions}
        return found[partition]

    def hear_nothing(self, number: int) -> None:
        """From now on the node gets no metadata: it knows the leaders there were. It is not fenced for that."""
        self.controller.hold(FETCH, client=_raft(number))
        self.controller.wait_for(FETCH, client=_raft(number))  # what was on its way before is answered by then

    def fence(self, number: int) -> None:
        """From now on the controller gets no heartbeat of it: after its session others lead."""
        self.controller.hold(BROKER_HEARTBEAT, client=str(number))

    def heal(self) -> None:
        """Every node hears and is heard again."""
        for number in self.cluster.nodes:
            self.controller.release(FETCH, client=_raft(number))
            self.controller.release(BROKER_HEARTBEAT, client=str(number))

    def _ask(self, request: Any) -> Any:
        host, _, port = self.cluster.address(CONTROLLER).rpartition(":")
        with Connection(host, int(port), 20) as connection:
            return connection.call(request)


def _raft(number: int) -> str:
    return f"raft-client-{number}"
