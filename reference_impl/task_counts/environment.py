"""What all workers of one cluster share: configuration, clock, events, brokers, config topic, group, threads."""

from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.simulation import Kernel
from fencepost.reference_impl.task_counts.brokers import CONFIG_TOPIC, SECOND_CONFIG_TOPIC, Brokers
from fencepost.reference_impl.task_counts.config import Config
from fencepost.reference_impl.task_counts.events import ConnectEventLog
from fencepost.reference_impl.task_counts.herder.group import Group
from fencepost.reference_impl.task_counts.herder.revisions import REVISIONS
from fencepost.reference_impl.task_counts.tasks.threads import Threads

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.parts import Parts
    from fencepost.reference_impl.task_counts.tasks.worker import Worker

Status = tuple[str, str]  # state, trace

# task.shutdown.graceful.timeout.ms and the like are virtual milliseconds, events have microseconds.
US_PER_MS = 1000


class Environment:
    """One per cluster of workers; `beside` is another one's, on whose Kafka this one is too."""

    def __init__(self, config: Config, parts: "Parts", beside: "Environment | None" = None) -> None:
        self.config = config
        self.parts = parts
        self.revision = REVISIONS[config.mode]
        self.kernel = Kernel(config.seed)
        self.log = ConnectEventLog(self.kernel)
        self.emit = self.log.emit
        self.threads = Threads()
        self.brokers: Brokers = Brokers(config) if beside is None else beside.brokers
        self.numbers = {name: number for number, name in enumerate(config.connector_names)}
        partition = CONFIG_TOPIC if beside is None else SECOND_CONFIG_TOPIC
        self.topic = parts.topic(self.brokers, self.log, self.numbers, partition)
        self.group = Group(self.log)
        self.workers: list[Worker] = []
        self.statuses: dict[tuple[str, int], Status] = {}  # the status topic; task -1 is the Connector
        self._instances = self._requests = self._revisions = 0

    @property
    def now_ms(self) -> int:
        """Virtual milliseconds."""
        return self.kernel.now // US_PER_MS

    def next_instance(self) -> int:
        """The number of a new task thread."""
        self._instances += 1
        return self._instances - 1

    def next_request(self) -> int:
        """The number of a new request for a round."""
        self._requests += 1
        return self._requests - 1

    def next_revision(self) -> int:
        """What makes a user's new configuration differ from every one before."""
        self._revisions += 1
        return self._revisions

    def put_status(self, connector: str, task: int, state: str, trace: str = "") -> None:
        """Write to the status topic."""
        self.statuses[connector, task] = (state, trace)

    def new(self, part: str, *arguments: Any) -> Any:
        """An object of a replaceable piece."""
        return getattr(self.parts, part)(*arguments)
