"""The configuration of the whole system: keys, defaults, ranges and reasons.

Each layer has a configuration of its own, which is made from this one; what is not here has that layer's default.
Times are virtual milliseconds, short enough for histories of a few thousand events.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from fencepost.reference_impl.group_fencing import config as copying
from fencepost.reference_impl.id_blocks.config import Config as IdBlocksConfig
from fencepost.reference_impl.simulation.config import AtLeast, AtMost, Configuration, Positive
from fencepost.reference_impl.source_offsets.kafka import SEPARATE_TOPIC
from fencepost.reference_impl.task_counts import config as connect
from fencepost.reference_impl.task_counts.brokers import OUTPUT_TOPIC
from fencepost.reference_impl.transactions.config import EPOCH_MAX
from fencepost.reference_impl.transactions.config import Config as TransactionsConfig

FIRST_OWN = SEPARATE_TOPIC + 1
"""Partitions up to here are those of Connect and of its source tasks."""
Needs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class CopyingConfig(copying.Config):
    """The group that copies; its brokers are those of the whole system."""

    brokers: TransactionsConfig = field(default_factory=TransactionsConfig)

    @property
    def below(self) -> TransactionsConfig:
        return self.brokers


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """One system."""

    seed: int = 0
    # The Connect cluster, whose tasks read the sources
    workers: Positive = 3
    connectors: Positive = 2
    max_tasks: Positive = 3
    sources: Positive = 3  # source partitions of each connector
    batch: Positive = 2  # records that a poll returns
    boundaries: tuple[str, ...] = ("interval", "poll")  # transaction.boundary, of one connector after the other
    interval_ms: Positive = 15  # transaction.boundary.interval.ms
    graceful_shutdown_ms: Positive = 30
    retry_backoff_ms: Positive = 20
    rest_timeout_ms: Positive = 300
    # Kafka: the topic that tasks write to, and the one that the group writes to
    inputs: Positive = 4  # partitions of the first, the group's input: more than members, some of which have several
    outputs: Positive = 2  # partitions of the second, which is the sink
    transaction_timeout_ms: Positive = 1_000
    request_timeout_ms: Positive = 100
    timeout_check_ms: Positive = 100
    expiration_ms: Positive = 4_000  # of idle transactional ids
    expiration_check_ms: Positive = 500
    # small, so that ids run out of epochs, and of themselves
    max_epoch: Annotated[int, AtLeast(1), AtMost(EPOCH_MAX, "epochs are int16")] = 40
    block_size: Positive = 10  # of producer ids
    controllers: Positive = 3
    # The group that copies
    members: Positive = 3
    max_poll_records: Positive = 6
    session_timeout_ms: Positive = 300
    heartbeat_ms: Positive = 60
    max_poll_ms: Positive = 1_000
    initial_delay_ms: Positive = 30

    @property
    def input_partitions(self) -> list[int]:
        """The numbers, among all partitions, of those that tasks write to: Connect's own output topic first."""
        return [OUTPUT_TOPIC, *range(FIRST_OWN, FIRST_OWN + self.inputs - 1)]

    @property
    def sink_partitions(self) -> list[int]:
        """The numbers, among all partitions, of those that the group writes to."""
        first = FIRST_OWN + self.inputs - 1
        return list(range(first, first + self.outputs))

    @property
    def brokers(self) -> TransactionsConfig:
        """Kafka, as it should be."""
        return TransactionsConfig(
            seed=self.seed, mode="v2", clients=1, partitions=FIRST_OWN + self.inputs - 1 + self.outputs,
            groups=1, keys=self.inputs, transaction_timeout_ms=self.transaction_timeout_ms, max_epoch=self.max_epoch,
            request_timeout_ms=self.request_timeout_ms, timeout_check_ms=self.timeout_check_ms,
            expiration_ms=self.expiration_ms, expiration_check_ms=self.expiration_check_ms,
        )  # fmt: skip

    def of_brokers(self, needs: Needs) -> TransactionsConfig:
        """Kafka; `needs`: what a defect cannot show without, by layer and key."""
        return replace(self.brokers, **needs.get("transactions", {}))

    def of_group(self, needs: Needs) -> CopyingConfig:
        """The group and its applications."""
        brokers = self.of_brokers(needs)
        return CopyingConfig(
            **{
                "seed": self.seed, "members": self.members, "inputs": self.inputs, "outputs": self.outputs,
                "max_poll_records": self.max_poll_records, "session_timeout_ms": self.session_timeout_ms,
                "heartbeat_ms": self.heartbeat_ms, "max_poll_ms": self.max_poll_ms,
                "initial_delay_ms": self.initial_delay_ms, "transaction_timeout_ms": self.transaction_timeout_ms,
                "request_timeout_ms": self.request_timeout_ms, "timeout_check_ms": self.timeout_check_ms,
                "transactions": brokers.mode, "brokers": brokers, **needs.get("group-fencing", {}),
            }
        )  # fmt: skip

    def of_connect(self, needs: Needs) -> connect.Config:
        """The Connect cluster."""
        return connect.Config(
            **{
                "seed": self.seed, "workers": self.workers, "connectors": self.connectors, "max_tasks": self.max_tasks,
                "support": "enabled", "graceful_shutdown_ms": self.graceful_shutdown_ms,
                "retry_backoff_ms": self.retry_backoff_ms, "rest_timeout_ms": self.rest_timeout_ms,
                "transaction_timeout_ms": self.transaction_timeout_ms,
                "transactions": self.of_brokers(needs).mode, **needs.get("task-counts", {}),
            }
        )  # fmt: skip

    def of_ids(self, needs: Needs) -> IdBlocksConfig:
        """The controllers, and the brokers as those who give out producer ids."""
        return IdBlocksConfig(
            **{
                "seed": self.seed, "brokers": 3, "controllers": self.controllers, "block_size": self.block_size,
                "controller_discovery": "at_sending", **needs.get("id-blocks", {}),
            }
        )  # fmt: skip
