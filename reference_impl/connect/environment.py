"""This module has the environment that all workers of one cluster share: configuration, clock, events, brokers, config
topic, group and threads."""

from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.connect.brokers import CONFIG_TOPIC, SECOND_CONFIG_TOPIC, Brokers
from fencepost.reference_impl.connect.config import Config, ConnectEventLog
from fencepost.reference_impl.connect.group import REVISIONS, Group
from fencepost.reference_impl.connect.threads import Threads
from fencepost.reference_impl.simulation import Kernel, environment
from fencepost.reference_impl.simulation.environment import numbered

if TYPE_CHECKING:
    from fencepost.reference_impl.connect.herder import Worker


Status = tuple[str, str]  # state, trace
YIELDING = ("FAILED", "UNASSIGNED")
"""A worker does not write these states over what another worker wrote in a later generation."""


class Environment(environment.Environment[Config]):
    """There is one `Environment` per cluster of workers. ``sibling`` is the environment of another cluster on whose
    Kafka this cluster runs too; alternatively, ``brokers`` is the Kafka cluster."""

    log_type = ConnectEventLog
    log: ConnectEventLog
    next_instance = numbered("instance")  # task threads
    next_request = numbered("request")  # requests for a round
    next_revision = numbered("revision", 1)  # makes a new configuration differ from every one before

    def __init__(
        self,
        config: Config,
        kernel: Kernel,
        parts: Any,
        sibling: "Environment | None" = None,
        brokers: Brokers | None = None,
    ) -> None:
        super().__init__(config, kernel)
        self.parts = parts
        self.revision = REVISIONS[config.mode]
        self.threads = Threads()
        self.brokers: Brokers = brokers or (parts.brokers(config) if sibling is None else sibling.brokers)
        self.numbers = {name: number for number, name in enumerate(config.connector_names)}
        partition = CONFIG_TOPIC if sibling is None else SECOND_CONFIG_TOPIC
        self.topic = parts.topic(self.brokers, self.log, self.numbers, partition)
        self.group = Group(self.log, config.member_order)
        self.workers: list[Worker] = []
        self.statuses: dict[tuple[str, int], Status] = {}  # the status topic; task -1 is the Connector
        self.written_by: dict[tuple[str, int], tuple[int, int]] = {}  # worker, and generation of its assignment

    def put_status(self, connector: str, task: int, state: str, trace: str, node: int, generation: int) -> None:
        """Write a status to the status topic. A worker that is out of the group, whose task fails because another
        worker has it by now, does not write this: REST goes on reporting RUNNING. (KafkaStatusBackingStore.putSafe,
        canWriteSafely)"""
        writer, written = self.written_by.get((connector, task), (node, generation))
        if state in YIELDING and writer != node and written > generation:
            return
        self.statuses[connector, task] = (state, trace)
        self.written_by[connector, task] = node, generation

    def new(self, part: str, *arguments: Any) -> Any:
        return getattr(self.parts, part)(*arguments)
