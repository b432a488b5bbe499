"""Records of the config topic that settle more than they should, or less.  `broken.py` says what each breaks."""

from collections.abc import Mapping
from typing import Any

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.permissions import leader_transactional_id, of_leader
from fencepost.reference_impl.task_counts.tasks.producers import KafkaError, TransactionalProducer
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script
from fencepost.reference_impl.task_counts.topic import records
from fencepost.reference_impl.task_counts.topic.cluster_state import ClusterConfigState
from fencepost.reference_impl.task_counts.topic.config_topic import NAME
from fencepost.reference_impl.task_counts.topic.privilege import WritePrivilege
from fencepost.reference_impl.task_counts.topic.writes import Writes


class CountSettlesEveryConnector(ClusterConfigState):
    """A count record ends the need of fencing of every connector (618.4, 618.9)."""

    def apply_count(self, connector: str, value: Mapping[str, Any] | None, offset: int) -> None:
        super().apply_count(connector, value, offset)
        if value is not None:
            self.pending_fencing.clear()


class ShrunkSetKeepsItsTasks(ClusterConfigState):
    """A set has as many tasks as there are configurations of the connector, those of larger sets included (618.3)."""

    def tasks(self, connector: str) -> int:
        known = self.task_configs.get(connector, {})
        return max(super().tasks(connector), len(known)) if super().tasks(connector) else 0


class DeletionTombstonesTheCount(Writes):
    """With a connector its count record goes, and nothing is fenced for that (618.38)."""

    def delete(self, connector: str) -> Script:
        known = self.herder.view.state.is_known(connector)
        yield from super().delete(connector)
        if known:
            mode = self.herder.env.config.mode
            yield from self.transactions([records.count_tombstone(mode, connector)], connector)


class OwnIdOfEveryLeader(WritePrivilege):
    """The transactional id of the leader's producer is the worker's own, so that no leader fences another (618.24)."""

    def claim(self) -> None:
        group = self.env.config.group_id
        self.drop()
        name = f"{leader_transactional_id(group)}-{self.node}"
        producer = TransactionalProducer(self.env.brokers, name, of_leader(group, NAME))
        try:
            producer.open()
        except KafkaError as error:
            raise OperationError("claim", error.code, str(error)) from error
        self.producer, self.fenced = producer, False
        self.env.emit(Kind.TOPIC_CLAIMED, node=self.node, producer_id=producer.producer_id, epoch=producer.epoch)
