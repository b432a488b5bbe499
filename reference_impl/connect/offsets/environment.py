"""This module has what all tasks of one connector share, and the process in which each instance of a task runs, which
may stall or die."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.connect.brokers import KafkaError, TransactionalProducer
from fencepost.reference_impl.connect.offsets.config import EXACTLY_ONCE, MIGRATING, Config, SourceEventLog
from fencepost.reference_impl.connect.offsets.kafka import Brokers
from fencepost.reference_impl.connect.threads import Operation, OperationError, Refused, Script, Threads
from fencepost.reference_impl.simulation import Kernel, environment
from fencepost.reference_impl.simulation.environment import numbered

if TYPE_CHECKING:
    from fencepost.reference_impl.connect.offsets.instances import Instance


class Environment(environment.Environment[Config]):
    log_type = SourceEventLog
    next_instance = numbered("instance")  # runs of tasks
    next_owner = numbered("owner")  # runs of the Connector
    next_generation = numbered("generation")  # sets of tasks

    def __init__(self, config: Config, kernel: Kernel, parts: Any) -> None:
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
        """Return the offsets topic of the newest set (618.29)."""
        config = self.config
        named = "" if config.implicit or not self.separate else "own-offsets"
        same_cluster = not (config.implicit and self.separate)
        primary: int = self.parts.choose(named, same_cluster, self.runtime).primary
        return primary

    @property
    def merges(self) -> bool:
        """Return whether both topics are read as one, as in the later text."""
        return self.config.mode not in MIGRATING

    def newest(self, task: int) -> "Instance | None":
        return next((each for each in reversed(self.instances) if each.task == task and not each.ended), None)

    def is_assigned(self, instance: "Instance") -> bool:
        """Return whether the instance is its task's current one, so that its worker still has the task."""
        return self.assigned.get(instance.task) is instance

    def lacks_instance(self, task: int) -> bool:
        """Return whether a task of the newest set has no running instance, or only one that is ending."""
        instance = self.assigned.get(task)
        return instance is None or instance.ended or instance.stopping

    def partitions_of(self, task: int) -> list[int]:
        return list(range(task, self.config.partitions, self.tasks))

    def new(self, part: str, *arguments: Any) -> Any:
        return getattr(self.parts, part)(*arguments)


# An instance of a task and a run of the Connector have this in common: a thread in a process of its own, which waits at
# each operation until it happens, and fails if the operation fails.

NONE = -1


class Failed(Refused):
    """A `Failed` ends the thread that it is raised in."""

    def __init__(self, trace: str, error: int = 0) -> None:
        super().__init__(trace)
        self.error = error


class Process:
    """A `Process` is one thread; ``process`` is its number, and that of all threads it starts."""

    def __init__(self, env: Environment, process: int, task: int = NONE) -> None:
        self.env = env
        self.process = process
        self.task = task
        self.producer: TransactionalProducer | None = None
        self.stopping = False
        self.ended = False

    def start(self) -> None:
        self.env.threads.start(self.process, self.run())

    def run(self) -> Script:
        raise NotImplementedError(f"{type(self).__name__} must have a thread: override run()")

    def operation(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Operation:
        return Operation(name, self.process, act, NONE, self.task, interrupted)

    def call(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Script:
        try:
            return (yield self.operation(name, act, interrupted))
        except (OperationError, KafkaError) as error:
            raise self.failure(error) from error

    def failure(self, error: Exception) -> Failed:
        return Failed(str(error), getattr(error, "code", 0))

    def must_stop(self) -> bool:
        return self.stopping

    def now_ms(self) -> int:
        return self.env.now_ms

    def close(self) -> None:
        """End the thread; a transaction that its producer has open stays open."""
        self.ended = True
        if self.producer is not None:
            self.producer.close()
