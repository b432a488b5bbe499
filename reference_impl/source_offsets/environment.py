"""The environment of one connector: configuration, clock, events, brokers, threads, and the sets of its tasks."""

from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.simulation import Kernel
from fencepost.reference_impl.simulation import environment as shared
from fencepost.reference_impl.simulation.environment import numbered
from fencepost.reference_impl.source_offsets.config import EXACTLY_ONCE, Config
from fencepost.reference_impl.source_offsets.events import SourceEventLog
from fencepost.reference_impl.source_offsets.kafka import Brokers
from fencepost.reference_impl.source_offsets.variants import MIGRATING
from fencepost.reference_impl.task_counts.tasks.threads import Threads

if TYPE_CHECKING:
    from fencepost.reference_impl.source_offsets.parts import Parts
    from fencepost.reference_impl.source_offsets.tasks.instance import Instance


class Environment(shared.Environment[Config]):
    """One per connector."""

    log_type = SourceEventLog
    next_instance = numbered("instance")  # runs of tasks
    next_owner = numbered("owner")  # runs of the Connector
    next_generation = numbered("generation")  # sets of tasks

    def __init__(self, config: Config, kernel: Kernel, parts: "Parts") -> None:
        super().__init__(config, kernel)
        self.parts = parts
        self.threads = Threads()
        self.brokers = Brokers(config, self.emit)
        self.generation = -1  # the newest set of tasks, how many it has, what they run on, where their offsets go
        self.tasks = 0
        self.runtime = EXACTLY_ONCE
        self.separate = config.separate
        self.instances: list[Instance] = []  # of all sets, as far as they have not ended
        self.assigned: dict[int, Instance] = {}  # of the newest set: the last instance of each task

    @property
    def topic(self) -> int:
        """The offsets topic of the newest set (618.29)."""
        config = self.config
        named = "" if config.implicit or not self.separate else "own-offsets"
        same_cluster = not (config.implicit and self.separate)
        return self.parts.choose(named, same_cluster, self.runtime).primary

    @property
    def merges(self) -> bool:
        """Whether both topics are read as one, as in the later text; in the earlier one what there is was copied."""
        return self.config.mode not in MIGRATING

    def newest(self, task: int) -> "Instance | None":
        """The newest instance of a task that has not ended."""
        return next((each for each in reversed(self.instances) if each.task == task and not each.ended), None)

    def is_assigned(self, instance: "Instance") -> bool:
        """Whether it is the one that its task has by now: a worker with an older one has lost the task."""
        return self.assigned.get(instance.task) is instance

    def lacks_instance(self, task: int) -> bool:
        """Whether a task of the newest set has none that runs, or one that ends."""
        instance = self.assigned.get(task)
        return instance is None or instance.ended or instance.stopping

    def partitions_of(self, task: int) -> list[int]:
        """The source partitions that a task of the newest set has."""
        return list(range(task, self.config.partitions, self.tasks))

    def new(self, part: str, *arguments: Any) -> Any:
        """An object of a replaceable piece."""
        return getattr(self.parts, part)(*arguments)
