"""This module collects the implementations of task counts that are wrong in one way each, by name."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.reference_impl.connect.brokers import TransactionalProducer, of_task, task_transactional_id
from fencepost.reference_impl.connect.config_records import ClusterConfigState
from fencepost.reference_impl.connect.config_topic import Writes
from fencepost.reference_impl.connect.group import ASSIGNORS, Assignment, Group, Handed, Members, TaskId
from fencepost.reference_impl.connect.herder import Herder
from fencepost.reference_impl.connect.requests import Request
from fencepost.reference_impl.connect.source_task import Connector, SourceTask, TaskFailed
from fencepost.reference_impl.connect.threads import Script
from fencepost.reference_impl.defects import task_counts_rounds, task_counts_topic
from fencepost.reference_impl.defects.task_counts_rounds import MENDED, STANDS, AnswersForAnySet
from fencepost.reference_impl.defects.task_counts_topic import PlainFollowers
from fencepost.reference_impl.simulation.defects import CONFORMANCE, NOTHING, PROGRESS, PROMISE, defect, registry
from fencepost.reference_impl.systems.task_counts_cluster import Parts, build

if TYPE_CHECKING:
    from fencepost.reference_impl.connect.environment import Environment


# These are the defects of starts of source tasks, of herders, and of rebalances, by which tasks run where they are not
# assigned.

LOST = "a worker has a task of the newest set that does not run, and no fault or rebalance is to come"


# starts of tasks
@defect("618.15", PROMISE, mode="shipped")
class DoesNotAsk(SourceTask):
    """A task starts without asking the leader for a round of fencing (618.15)."""

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step != "ask")


@defect("618.16", PROMISE, mode="A")
class NoCheckBefore(SourceTask):
    """A task starts without checking that a count record follows the latest set (C02)."""

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step not in ("look", "await_count", "check_before"))


@defect("618.19", PROMISE)
class NoCheckAfter(SourceTask):
    """A task polls as soon as its producer is open, without the second check for a newer set (C04)."""

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step != "check_after")


@defect("618.19", PROMISE)
class CheckAfterBeforeProducer(SourceTask):
    """A task makes the second check for a newer set before it opens its producer (C05)."""

    def steps(self) -> tuple[str, ...]:
        steps = [step for step in super().steps() if step not in ("open_producer", "check_after")]
        return (*steps, "check_after", "open_producer")


@defect("618.19", PROMISE)
class CheckAfterStaleView(SourceTask):
    """The second check uses the worker's current view without reading the config topic to the end (C07)."""

    def check_generation(self) -> bool:
        view = self.herder.view
        read_to_end, view.read_to_end = view.read_to_end, lambda: None  # type: ignore[method-assign]
        try:
            return super().check_generation()
        finally:
            view.read_to_end = read_to_end  # type: ignore[method-assign]


@defect("618.19", PROMISE)
class CheckAfterCountOnly(SourceTask):
    """The second check is only whether a count record follows the latest set, as after another round (H4)."""

    def is_overtaken(self) -> bool:
        return not self.may_start()


@defect("618.19", PROMISE)
class MismatchIgnored(SourceTask):
    """A task that finds a newer set in its second check logs that and polls all the same (618.19)."""

    def is_overtaken(self) -> bool:
        super().is_overtaken()
        return False


@defect("618.18", PROMISE)
class PlainTaskProducer(SourceTask):
    """Every instance of a task has a transactional id of its own, so opening its producer fences no other instance, and
    no round fences it (618.6, 618.18)."""

    def open_producer(self) -> Script:
        name = f"{self.env.config.group_id}-{self.id[0]}-{self.id[1]}-{self.instance}"
        self.producer = TransactionalProducer(self.env.brokers, name, ())
        ending = yield from super().open_producer()
        return ending


@defect("618.18", PROMISE)
class FencedTaskGoesOn(SourceTask):
    """A task whose producer was fenced opens another one and polls on without any check (618.18)."""

    def send_records(self) -> None:
        try:
            super().send_records()
        except TaskFailed:
            self.open_another()
            super().send_records()

    def commit(self) -> None:
        try:
            super().commit()
        except TaskFailed:
            self.open_another()
            super().send_records()
            super().commit()

    def open_another(self) -> None:
        """Open a new producer under the task's transactional id."""
        name = task_transactional_id(self.env.config.group_id, *self.id)
        self.producer = TransactionalProducer(self.env.brokers, name, of_task(self.env.config.group_id, *self.id))
        self.open()


# These are the defects of released Kafka by which a worker may go on with a task that the newest set does not have.
#
# A worker that was out of its group claims the task. The leader looks for removed tasks only among those that it
# assigned last, so the task stays with that worker until the next rebalance. The worker finds its configuration, which
# no worker drops, and starts it under the newest generation, for which nothing has to be fenced, and with a fresh
# epoch. Any one of three repairs prevents that: no such start (618.52), no such claim (618.53), no such configuration.
# (IncrementalCooperativeAssignor.performTaskAssignment: `deleted`, `previousAssignment`; DistributedHerder.startTask,
# verifyTaskGenerationAndOwnership; KafkaConfigBackingStore.processTasksCommitRecord. Seen live on 3.3.2 to 4.4.0.)
#
# The assignor here balances over all tasks that members have, as that of 3.3.2 does. Later ones count the configured
# tasks, and just as often revoke a task of the newest set instead: config assignor="released".
class KeepsRemovedTasks(Herder):
    """A leader revokes a task that the newest set lacks only if this leader itself assigned the task last (618.53)."""

    def __init__(self, env: "Environment", node: int, support: str) -> None:
        super().__init__(env, node, support)
        self.handed_out: tuple[int, frozenset[TaskId]] = self.generation, frozenset()  # in that generation

    def distribute(
        self, members: Members, connectors: Iterable[str], tasks: Iterable[TaskId], generation: int
    ) -> dict[int, Assignment]:
        last, previous = self.handed_out
        claimed = frozenset().union(*(owned.tasks for owned in members.values()))
        stored = claimed - (previous if last == self.generation else frozenset())
        result = super().distribute(members, connectors, {*tasks, *stored}, generation)
        self.handed_out = generation, frozenset(task for mine in result.values() for task in mine.tasks)
        return result


@defect("618.53", PROMISE, also=(AnswersForAnySet,), mode="shipped")
@defect("618.52", PROMISE, name="starts_removed_tasks", mode="shipped")
class AsReleased(KeepsRemovedTasks):
    """The herder makes both mistakes of released Kafka: it leaves removed tasks assigned and starts them."""

    @property
    def starts_removed_tasks(self) -> bool:
        return True


# herders
@defect(
    "618.22",
    NOTHING,
    "what runs on is fenced by the round, or by its successor (C29)",
    harmless=("core-shipped", "", ""),
)
class NoPreemptiveStop(Herder):
    """Tasks of older sets run on while the group rebalances (C29), which is a control."""

    def let_go(self) -> Script:
        if self.is_eager:
            yield from super().let_go()


@defect(
    "618.8",
    PROGRESS,
    "a start that does not see the count record waits for the next rebalance, which nothing brings about",
    mode="A",
)
class AssignmentOffsetIgnored(Herder):
    """A worker starts an assigned task from what it has read, even if the leader had read further (618.8)."""

    def take(self, handed: Handed) -> Script:
        yield from super().take(replace(handed, offset=min(handed.offset, self.view.position)))


class AnybodyWrites(Writes):
    """Every worker may write, whether or not it leads."""

    def may_write(self) -> bool:
        return True


class SelfMade(Connector):
    """This connector's own worker writes its set, whether or not that worker leads."""

    def hand_to_leader(self, configs: list[dict[str, str]]) -> Request | None:
        writes, name = self.herder.writes, self.name
        return self.herder.submit(lambda request: writes.serve(name, lambda w: w.put_tasks(name, configs), request))

    def is_over(self, request: Request, leader: int, life: int) -> bool:
        """Return whether the request is done or the connector, which lives as long as its worker, stops."""
        return request.done or self.stopping


@defect("618.34", PROMISE, also=(PlainFollowers, AnybodyWrites), mode="B")
class FollowersWrite(Herder):
    """Followers write the sets of their connectors themselves with an ordinary producer (C18, 618.34)."""

    def start_connector(self, name: str) -> None:
        if self.view.state.is_known(name):
            self.connectors[name] = SelfMade(self, name)
            self.env.threads.start(self.node, self.connectors[name].run())


# workers
@defect("618.19", PROMISE, mode="B")
class GenerationTakenAtTheProducer(SourceTask):
    """The second check compares with the newest set at the producer's opening (618.19)."""

    def open(self) -> None:
        super().open()
        self.generation = self.herder.view.state.generation(self.id[0])


class AsksUnlessRestarted(SourceTask):
    """This task does not ask for a round when `RestartDoesNotAsk` restarts it."""

    def __init__(self, herder: Herder, name: str, task: int) -> None:
        super().__init__(herder, name, task)
        self.restarted = isinstance(herder, RestartDoesNotAsk) and herder.restarting

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step != "ask" or not self.restarted)


@defect("618.15", PROMISE, also=(AsksUnlessRestarted,), mode="shipped")
class RestartDoesNotAsk(Herder):
    """A task that a user restarts does not ask for a round (618.15)."""

    restarting = False

    def restart_task(self, name: str, task: int, request: Request) -> Script:
        self.restarting = True
        yield from super().restart_task(name, task, request)
        self.restarting = False


@defect("618.26", PROGRESS, STANDS)
class FencedLeaderNeverClaims(Herder):
    """A leader that was fenced assumes that another one leads, and does not claim again (618.26)."""

    def must_claim(self) -> bool:
        return False


@defect("618.41", PROGRESS, STANDS)
class NoSecondRebalance(Herder):
    """A cooperative rebalance that has only revoked tasks is not followed by one that assigns them (618.41)."""

    def take(self, handed: Handed) -> Script:
        yield from super().take(handed)
        if handed.assignment.revokes and self.wanted <= self.offset:
            self.rejoin = False


# who runs what after a rebalance
class OwnershipNotCompared(SourceTask):
    """The second check compares the generation but not the ownership, which the herders in `also` need."""

    def check_generation(self) -> bool:
        herder = self.herder
        owned, herder.owned_tasks = herder.owned_tasks, herder.owned_tasks | {self.id}
        try:
            return super().check_generation()
        finally:
            herder.owned_tasks = owned


@defect(
    "618.41",
    CONFORMANCE,
    "the task that it fences is one that failed, which a user starts again",
    also=(OwnershipNotCompared,),
    mode="shipped",
)
class RestartsAnywhere(Herder):
    """A restart starts a task on the worker that got the request, even if it has lost the task (618.41)."""

    def restart_task(self, name: str, task: int, request: Request) -> Script:
        yield from self.stop_tasks([(name, task)])
        self.start_task(name, task)
        request.finish()


@defect("618.41", PROGRESS, MENDED, also=(OwnershipNotCompared,), mode="shipped")
class StartsForItsConnectors(Herder):
    """A worker starts all tasks of its connectors, including those that other workers have (618.41)."""

    def start_assigned(self) -> Script:
        yield from super().start_assigned()
        for name in sorted(self.owned_connectors):
            for task in range(self.view.state.tasks(name)):
                if (name, task) not in self.tasks:
                    self.start_task(name, task)


@defect("618.41", PROGRESS, STANDS, mode="shipped")
class ClaimsGrow(Herder):
    """A worker stops the tasks that a rebalance takes from it, but still claims them (618.41)."""

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
    """An `EarlyGroup` gives members another assignment until the leader has sent its own."""

    def __init__(self, group: Group, instead: Assignment, offset: int) -> None:
        self.group, self.instead, self.offset = group, instead, offset

    def __getattr__(self, name: str) -> object:
        return getattr(self.group, name)

    def is_assigned(self, worker: int, generation: int) -> bool:
        """Return True for every member but the leader, which alone waits."""
        return worker != self.group.leader or self.group.is_assigned(worker, generation)

    def sync(self, worker: int, generation: int) -> Handed:
        """Return the leader's assignment if it is there, or else the other assignment."""
        if self.group.assignments is not None:
            return self.group.sync(worker, generation)
        self.group.check(worker, generation, "sync")
        return Handed(generation, self.group.leader, self.offset, self.instead)


@defect("618.41", PROGRESS, LOST)
class TakesFormerAssignment(Herder):
    """A member whose SyncGroup arrives before the leader's goes on with its former assignment (618.41)."""

    @property
    def group(self) -> Group:
        had = Assignment(tuple(sorted(self.owned_connectors)), tuple(sorted(self.owned_tasks)))
        return EarlyGroup(self.env.group, had, self.offset)  # type: ignore[return-value]


@defect("618.41", PROGRESS, LOST)
class TakesNothing(Herder):
    """A member whose SyncGroup arrives before the leader's gets an empty assignment and does not ask again (618.41)."""

    @property
    def group(self) -> Group:
        return EarlyGroup(self.env.group, Assignment(), self.view.position)  # type: ignore[return-value]


@defect("618.8", PROGRESS, LOST)
class CatchesUpOrNot(Herder):
    """A worker that cannot read up to the assignment's offset waits for the next rebalance (618.8)."""

    def take(self, handed: Handed) -> Script:
        behind = self.view.position < handed.offset
        yield from super().take(handed)
        if behind and self.view.position < handed.offset and not handed.assignment.revokes:
            self.rejoin = False


@defect("618.41", PROGRESS, LOST)
class DisputedIsNobodys(Herder):
    """A task that two members claim is assigned to neither, and neither is asked to revoke it (618.41)."""

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


@defect("618.50", PROGRESS, STANDS, mode="shipped")
class SkipsTheFirstRecord(Herder):
    """A worker that restarts begins reading the config topic after its first record (618.50)."""

    def __init__(self, env: "Environment", node: int, support: str) -> None:
        super().__init__(env, node, support)
        first = env.topic.read(0, self.reads_committed)
        if env.workers[node].lives > 1 and first is not None:
            self.view.position = env.topic.position(first[0] + 1, self.reads_committed)


@defect("618.2", PROGRESS, LOST, mode="shipped")
class FailedStaysFailed(Herder):
    """A new set does not start those of a worker's tasks that failed in an older set (618.2)."""

    def start_task(self, name: str, task: int) -> None:
        there = self.tasks.get((name, task))
        if there is None or not there.failed:
            super().start_task(name, task)


class DropsRemovedConfigurations(ClusterConfigState):
    """This repaired view drops the configurations beyond a set's tasks when it reads the set's commit record."""

    def apply_commit(self, connector: str, tasks: int, offset: int) -> None:
        super().apply_commit(connector, tasks, offset)
        configs = self.task_configs.get(connector, {})
        for task in [task for task in configs if task >= self.tasks(connector)]:
            del configs[task]


# The kind of damage that each defect does is in `breaks`:
#
# - PROMISE: 618.P1 fails: a producer of an older set commits after a task of a newer one ran;
# - CONFORMANCE: every promise holds, but there are events that no correct implementation emits;
# - PROGRESS: some task does not run, though faults have stopped and users restart what failed, or fails where there was
#   no fault (618.P4);
# - NOTHING: a control, harmless as long as everything else is right.
#
# `as_released` is released Kafka (3.3.2 to 4.4.0) with both of its mistakes, which the correct implementation repairs.

REGISTRY = registry(Parts, build, task_counts_rounds, __name__, task_counts_topic)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
