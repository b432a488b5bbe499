"""The connector: sets of tasks, one after another, each of which starts when the transactional ids of the one before it
are fenced (618.7, 618.P1), and the runs of the Connector that look after its separate topic in the earlier text.

Instances of an older set are left behind, as a worker that stands still has them; a set that runs without this feature
is stopped in order, since nothing could fence it.
"""

from typing import TYPE_CHECKING

from fencepost.reference_impl.source_offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.source_offsets.events import Kind
from fencepost.reference_impl.source_offsets.kafka import SEPARATE
from fencepost.reference_impl.source_offsets.tasks.instance import Instance, transactional_id
from fencepost.reference_impl.source_offsets.tasks.owner import Owner

if TYPE_CHECKING:
    from fencepost.reference_impl.source_offsets.environment import Environment

STEPS_MAX = 10_000
"""Of one stop in order."""


class Connector:
    """One connector."""

    def __init__(self, env: "Environment") -> None:
        self.env = env
        self.owners: list[Owner] = []

    def configure(self, tasks: int, separate: bool, runtime: int = EXACTLY_ONCE) -> None:
        """The next set of tasks."""
        env = self.env
        if runtime != EXACTLY_ONCE or env.runtime != EXACTLY_ONCE:
            self.stop_all()
        if env.runtime == EXACTLY_ONCE:
            self.fence()
        env.generation = env.next_generation()
        env.assigned.clear()
        env.tasks, env.separate, env.runtime = tasks, separate, runtime
        env.emit(
            Kind.CONFIGURED, generation=env.generation, count=tasks, topic=env.topic, runtime=runtime
        )  # fmt: skip
        if env.topic == SEPARATE and not env.merges:
            self.start_owner()
        for task in range(tasks):
            self.start(task)

    def fence(self) -> None:
        """The ids of the set before, by an admin."""
        for task in range(self.env.tasks):
            fenced = self.env.brokers.fence(transactional_id(task))
            self.env.emit(Kind.FENCED, task=task, producer_id=fenced.producer_id, epoch=fenced.epoch)

    def start(self, task: int) -> None:
        """A new instance of a task."""
        instance: Instance = self.env.new("instance", self.env, task)
        self.env.instances.append(instance)
        self.env.assigned[task] = instance
        instance.start()
        self.env.threads.settle()

    def stop_all(self) -> None:
        """All instances end in order, one after another; those that stand still are killed."""
        for instance in list(self.env.instances):
            if instance.process in self.env.threads.stalled:
                instance.kill()
                continue
            instance.stopping = True
            self.env.threads.settle()
            for _ in range(STEPS_MAX):
                if instance.ended:
                    break
                waiting = [each[0] for each in self.env.threads.waiting() if each[2] == instance.process]
                if not waiting:
                    instance.kill()
                    break
                self.env.threads.step(waiting[0], "ok")
            else:
                raise RuntimeError(f"instance {instance.process} does not stop: {self.env.threads.waiting()}")

    # The Connector itself

    def start_owner(self) -> None:
        """Another worker has the Connector."""
        owner: Owner = self.env.new("owner", self.env)
        self.owners.append(owner)
        owner.start()
        self.env.threads.settle()
