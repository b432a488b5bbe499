"""Workers that take part in a rebalance with one thing wrong each: a task is run where it is not assigned, or nowhere.
`broken.py` says what each of them breaks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.herder.assignors import (
    ASSIGNORS,
    Assignment,
    Members,
    TaskId,
)
from fencepost.reference_impl.task_counts.herder.group import Group, Handed
from fencepost.reference_impl.task_counts.herder.herder import Herder
from fencepost.reference_impl.task_counts.herder.requests import Request
from fencepost.reference_impl.task_counts.tasks.source_task import SourceTask
from fencepost.reference_impl.task_counts.tasks.threads import Script

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.environment import Environment


class OwnershipNotCompared(SourceTask):
    """The last look is at the generation alone: what the three herders below need."""

    def check_generation(self) -> bool:
        herder = self.herder
        owned, herder.owned_tasks = herder.owned_tasks, herder.owned_tasks | {self.id}
        try:
            return super().check_generation()
        finally:
            herder.owned_tasks = owned


class RestartsAnywhere(Herder):
    """A user's restart starts a task on the worker that has the request, which may have lost it since (618.41)."""

    def restart_task(self, name: str, task: int, request: Request) -> Script:
        yield from self.stop_tasks([(name, task)])
        self.start_task(name, task)
        request.finish()


class StartsForItsConnectors(Herder):
    """A worker that comes back with a connector whose tasks others have starts these too (618.41)."""

    def start_assigned(self) -> Script:
        yield from super().start_assigned()
        for name in sorted(self.owned_connectors):
            for task in range(self.view.state.tasks(name)):
                if (name, task) not in self.tasks:
                    self.start_task(name, task)


class ClaimsGrow(Herder):
    """What a rebalance takes from a worker is stopped, and stays in its list of what it has (618.41)."""

    def __init__(self, env: "Environment", node: int, support: str) -> None:
        super().__init__(env, node, support)
        self.had: frozenset[TaskId] = frozenset()

    def revoke(self, tasks: Iterable[TaskId], connectors: Iterable[str]) -> Script:
        self.had |= frozenset(tasks)
        yield from super().revoke(tasks, connectors)

    def start_assigned(self) -> Script:
        self.owned_tasks |= self.had
        yield from super().start_assigned()


class EarlyGroup:
    """A group whose members need not wait for their leader's assignment: until it is there they get another one."""

    def __init__(self, group: Group, instead: Assignment, offset: int) -> None:
        self.group, self.instead, self.offset = group, instead, offset

    def __getattr__(self, name: str) -> object:
        return getattr(self.group, name)

    def is_assigned(self, worker: int, generation: int) -> bool:
        """Nothing is waited for, but by the leader."""
        return worker != self.group.leader or self.group.is_assigned(worker, generation)

    def sync(self, worker: int, generation: int) -> Handed:
        """The assignment, or what there is instead."""
        if self.group.assignments is not None:
            return self.group.sync(worker, generation)
        self.group.check(worker, generation, "sync")
        return Handed(generation, self.group.leader, self.offset, self.instead)


class TakesFormerAssignment(Herder):
    """A member whose sync comes before the leader's goes on with what it had (618.41)."""

    @property
    def group(self) -> Group:
        had = Assignment(tuple(sorted(self.owned_connectors)), tuple(sorted(self.owned_tasks)))
        return EarlyGroup(self.env.group, had, self.offset)  # type: ignore[return-value]


class TakesNothing(Herder):
    """A member whose sync comes before the leader's is handed nothing, and asks no more (618.41)."""

    @property
    def group(self) -> Group:
        return EarlyGroup(self.env.group, Assignment(), self.view.position)  # type: ignore[return-value]


class CatchesUpOrNot(Herder):
    """A worker that could not read on to where the assignment was made starts nothing, and waits for the next rebalance
    (618.8)."""

    def take(self, handed: Handed) -> Script:
        behind = self.view.position < handed.offset
        yield from super().take(handed)
        if behind and self.view.position < handed.offset and not handed.assignment.revokes:
            self.rejoin = False


class DisputedIsNobodys(Herder):
    """A task that two members claim is given to neither, and neither is asked to let go of it (618.41)."""

    def distribute(
        self, members: Members, connectors: Iterable[str], tasks: Iterable[TaskId], generation: int
    ) -> dict[int, Assignment]:
        result = ASSIGNORS[self.env.config.protocol](members, connectors, tasks)
        claims = [task for owned in members.values() for task in owned.tasks]
        disputed = {task for task in claims if claims.count(task) > 1}
        return {
            member: mine._replace(revoked_tasks=tuple(t for t in mine.revoked_tasks if t not in disputed))
            for member, mine in result.items()
        }


class SkipsTheFirstRecord(Herder):
    """A worker that comes back seeks to the first record of the config topic, and reads on after it (618.50)."""

    def __init__(self, env: "Environment", node: int, support: str) -> None:
        super().__init__(env, node, support)
        first = env.topic.read(0, self.reads_committed)
        if env.workers[node].lives > 1 and first is not None:
            self.view.position = env.topic.position(first[0] + 1, self.reads_committed)


class FailedStaysFailed(Herder):
    """A new set starts every task that a worker has but those that failed in an older one (618.2)."""

    def start_task(self, name: str, task: int) -> None:
        there = self.tasks.get((name, task))
        if there is None or not there.failed:
            super().start_task(name, task)
