"""Tasks that the newest set has not, as released: a worker that comes back may go on with one.

A worker that was out of its group says that it has the task. The leader looks for what was deleted among what it handed
out last alone, so that the task stays with that worker until the next rebalance; the worker finds its configuration,
which nobody drops, and starts it: with the newest generation, for which nothing has to be fenced, and a fresh epoch.
Any one of three mends keeps it from that: no such start (618.52), no such claim (618.53), no such configuration.
(IncrementalCooperativeAssignor.performTaskAssignment: `deleted`, `previousAssignment`; DistributedHerder.startTask,
verifyTaskGenerationAndOwnership; KafkaConfigBackingStore.processTasksCommitRecord. Seen live on 3.3.2 to 4.4.0.)
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.herder.assignors import Assignment, Members, TaskId
from fencepost.reference_impl.task_counts.herder.herder import Herder
from fencepost.reference_impl.task_counts.tasks.source_task import SourceTask
from fencepost.reference_impl.task_counts.topic.cluster_state import ClusterConfigState
from fencepost.reference_impl.task_counts.topic.records import Properties

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.environment import Environment


class RemembersSets(ClusterConfigState):
    """For what is shown alone: of which set the configuration of a task is that a worker has."""

    def __init__(self) -> None:
        super().__init__()
        self.configured: dict[TaskId, int] = {}  # place of that set

    def take_effect(self, connector: str, buffer: Mapping[int, Properties] | None, offset: int) -> None:
        super().take_effect(connector, buffer, offset)
        self.configured |= {(connector, task): offset for task in buffer or {}}


class DropsRemovedConfigurations(RemembersSets):
    """A mend: with a set's commit record what was configured beyond its tasks is forgotten."""

    def apply_commit(self, connector: str, tasks: int, offset: int) -> None:
        super().apply_commit(connector, tasks, offset)
        configs = self.task_configs.get(connector, {})
        for task in [task for task in configs if task >= self.tasks(connector)]:
            del configs[task]


class KeepsRemovedTasks(Herder):
    """A leader revokes a task that the newest set has not only if it has itself handed it out last (618.53).

    Load is balanced over all that members have, as 3.3.2 does; later releases count what is configured, and as often
    revoke a task of the newest set for it.
    """

    def __init__(self, env: "Environment", node: int, support: str) -> None:
        super().__init__(env, node, support)
        self.handed_out: tuple[int, frozenset[TaskId]] = self.generation, frozenset()  # in that generation

    def distribute(
        self, members: Members, connectors: Iterable[str], tasks: Iterable[TaskId], generation: int
    ) -> dict[int, Assignment]:
        last, previous = self.handed_out
        claimed = frozenset().union(*(owned.tasks for owned in members.values()))
        kept = claimed - (previous if last == self.generation else frozenset())
        result = super().distribute(members, connectors, {*tasks, *kept}, generation)
        self.handed_out = generation, frozenset(task for mine in result.values() for task in mine.tasks)
        return result


class StartsRemovedTasks(Herder):
    """A worker starts whatever it is assigned and has a configuration of, be that of an older set (618.52)."""

    def may_start(self, name: str, task: int) -> bool:
        return task in self.view.state.task_configs.get(name, {})


class AsReleased(KeepsRemovedTasks, StartsRemovedTasks):
    """Both, as Kafka has it."""


class OfItsConfiguration(SourceTask):
    """A task that shows the set that its configuration is of."""

    def start_from_newest_set(self) -> None:
        super().start_from_newest_set()
        state = self.herder.view.state
        if isinstance(state, RemembersSets):
            self.configured_by = state.configured.get(self.id, self.set)
