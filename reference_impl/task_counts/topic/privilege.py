"""The leader's right to write to the config topic: its transactional producer `connect-cluster-<group>` (618.24).

The worker that opened it last holds it; the one before is refused with its next write, drops its producer, and may
claim again in its next tick if it still takes itself for the leader (618.26). Leaders without the feature write
plainly.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.permissions import leader_transactional_id, of_leader
from fencepost.reference_impl.task_counts.tasks.producers import KafkaError, TransactionalProducer
from fencepost.reference_impl.task_counts.tasks.threads import OperationError
from fencepost.reference_impl.task_counts.topic.config_topic import NAME
from fencepost.reference_impl.task_counts.topic.records import ConfigRecord

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.environment import Environment

ILLEGAL_STATE = -1  # IllegalStateException: no code of Kafka's


class WritePrivilege:
    """Of one life of one worker. `fenced`: a write was refused, or its outcome is unknown: claim again. `commits`: its
    process lives to the end of a write."""

    def __init__(self, env: "Environment", node: int, transactional: bool) -> None:
        self.env = env
        self.node = node
        self.transactional = transactional
        self.producer: TransactionalProducer | None = None
        self.fenced = False
        self.commits = True  # else a write ends before its commit

    @property
    def must_claim(self) -> bool:
        """Whether a leader has to open a producer before it may write; one that is still held is kept."""
        return self.transactional and (self.fenced or self.producer is None)

    def claim(self) -> None:
        """Open the producer, which fences every leader before. Raises OperationError."""
        group = self.env.config.group_id
        self.drop()
        producer = TransactionalProducer(self.env.brokers, leader_transactional_id(group), of_leader(group, NAME))
        try:
            producer.open()
        except KafkaError as error:
            raise OperationError("claim", error.code, str(error)) from error
        self.producer = producer
        self.fenced = False
        self.env.emit(Kind.TOPIC_CLAIMED, node=self.node, producer_id=producer.producer_id, epoch=producer.epoch)

    def drop(self) -> None:
        """Close the producer: the next one is new."""
        if self.producer is not None:
            self.producer.close()
        self.producer = None

    def lose(self) -> None:
        """A write was refused, or its outcome is not known (PrivilegedWriteException)."""
        self.drop()
        self.fenced = self.transactional

    def write(self, records: Iterable[ConfigRecord]) -> None:
        """One transaction with these records. Raises OperationError: fenced, not allowed, or without a producer."""
        if not self.transactional:
            for record in records:
                self.env.topic.append_plainly(record, self.node)
            return
        producer = self.producer
        if producer is None:
            raise OperationError("write", ILLEGAL_STATE, "no producer: the write privilege is not held")
        topic = self.env.topic
        start = len(self.env.brokers.log(topic.partition).batches)
        pair = producer.producer_id, producer.epoch
        try:
            producer.begin()
            for record in records:
                producer.send(topic.partition, record)
            if not self.commits:
                raise OperationError("write", reason="the process is gone")
            producer.commit()
        except KafkaError as error:
            self.lose()
            topic.announce(start, self.node, *pair)  # it may be committed, though the producer was not told
            raise OperationError("write", error.code, str(error)) from error
        topic.announce(start, self.node, *pair)
