"""Rebalances as the herder's thread goes through them: let go, join, lead, sync, take what is assigned.

Eager: everything is stopped before joining. Cooperative: only tasks of sets that are no longer the newest are
(618.22), everything else runs on; what has to move is revoked in one rebalance and given out in the next (618.41).
"""

from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.herder.assignors import ASSIGNORS, Owned, TaskId
from fencepost.reference_impl.task_counts.herder.group import Group, Handed
from fencepost.reference_impl.task_counts.herder.herder_base import HerderBase
from fencepost.reference_impl.task_counts.herder.revisions import ASSIGNMENT
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script, Wait

if TYPE_CHECKING:
    from collections.abc import Iterable

NONE = -1


class Rebalancing(HerderBase):
    """The member's part, and the leader's."""

    @property
    def group(self) -> Group:
        """The group coordinator."""
        return self.env.group

    @property
    def is_eager(self) -> bool:
        """Whether everybody lets go of everything in every rebalance."""
        return self.env.config.protocol == "eager"

    def must_rejoin(self) -> bool:
        """Whether the next thing to do is a rebalance: asked for here, or heard of in a heartbeat."""
        if self.rejoin or self.wanted > self.offset:
            return True
        return self.group.must_rejoin(self.node) and self.has_noticed()

    def has_noticed(self) -> bool:
        """An expired member hears of it with its next heartbeat, all else at once."""
        interval_ms = self.env.config.heartbeat_ms
        if not interval_ms or self.expired_ms == NONE or self.node in self.group.members:
            return True
        return self.env.now_ms // interval_ms > self.expired_ms // interval_ms

    def rebalance(self) -> Script:
        """One try; what fails is tried again in the next tick."""
        self.rejoin = True
        yield from self.let_go()
        owned = Owned() if self.is_eager else Owned(self.owned_connectors, self.owned_tasks)
        try:
            request = yield self.operation("join", lambda: self.group.join(self.node, owned, self.view.position))
            yield Wait(lambda: request.answered)
            if request.void:
                return
            generation = request.generation
            self.expired_ms = NONE
            if self.group.leader == self.node:
                yield from self.lead(generation)
            yield Wait(lambda: self.group.is_assigned(self.node, generation))
            handed = yield self.operation("sync", lambda: self.group.sync(self.node, generation))
        except OperationError:
            return
        self.rejoin = False
        yield from self.take(handed)

    # Before joining

    def let_go(self) -> Script:
        """What has to stop before this worker may join."""
        if self.is_eager:
            yield from self.revoke(self.owned_tasks, self.owned_connectors)
        elif self.env.config.preemptive_stop:
            yield from self.stop_tasks(self.outdated())

    def outdated(self) -> list[TaskId]:
        """Running tasks of a set that is not the newest one, and of connectors that are gone."""
        state = self.view.state
        return [task.id for task in self.tasks.values() if not task.ended and task.set != state.set_place(task.id[0])]

    def revoke(self, tasks: "Iterable[TaskId]", connectors: "Iterable[str]") -> Script:
        """Stop what this worker no longer has."""
        tasks = sorted(tasks)
        for name in sorted(connectors):
            self.stop_connector(name)
        self.owned_connectors -= frozenset(connectors)
        yield from self.stop_tasks(tasks)
        self.owned_tasks -= frozenset(tasks)
        for name, task in tasks:
            self.env.emit(
                Kind.TASK_REVOKED, node=self.node, connector=self.env.numbers[name], task=task, member=self.generation
            )

    # The leader

    def lead(self, generation: int) -> Script:
        """Compute the assignment and hand it in; in A fence before that (618.8). Raises OperationError."""
        computed_from = self.view.position
        if self.env.revision.rounds_by == ASSIGNMENT and self.enabled:
            if self.privilege.must_claim and not (yield from self.claim()):
                raise OperationError("claim", reason="no assignment without the right to write")
            # The text does not say it: a leader that decides on what it read long ago counts less than there may be.
            yield self.operation("read", self.view.read_to_end)
            computed_from = self.view.position
            yield from self.rounds.in_assignment()
        yield self.operation("assign", lambda: self.assign(generation))
        # A: a set that was committed in between has not been fenced for.
        if self.env.revision.rounds_by == ASSIGNMENT and self.wanted > computed_from:
            self.submit(self.ask_for_another)

    def ask_for_another(self, request: object) -> Script:
        """One more rebalance after this one."""
        self.rejoin = True
        yield from ()

    def furthest(self) -> int:
        """How far the member that knows most has read the config topic."""
        return max((member.offset for member in self.group.members.values()), default=0)

    def assign(self, generation: int) -> None:
        """The assignment, made from the config topic up to where the leader has read; in A to its end (618.8)."""
        if self.env.revision.rounds_by == ASSIGNMENT or self.view.position < self.furthest():
            self.view.read_to_end()
        error = self.group.error(self.node, generation)
        if error:
            raise OperationError("assign", error, "the group has gone on")
        state = self.view.state
        tasks = [(name, task) for name in state.names() for task in range(state.tasks(name))]
        members = {worker: member.owned for worker, member in self.group.members.items()}
        result = ASSIGNORS[self.env.config.protocol](members, state.names(), tasks)
        self.group.assign(self.node, generation, result, self.view.position)

    # After the sync

    def take(self, handed: Handed) -> Script:
        """Take what is assigned: let go of the rest, become leader or not, catch up, start."""
        led, self.leader = self.is_leader, handed.leader
        self.generation, self.offset = handed.generation, handed.offset
        self.env.emit(
            Kind.ASSIGNED, node=self.node, member=handed.generation, offset=handed.offset, count=int(self.is_leader)
        )
        if led and not self.is_leader:
            self.env.emit(Kind.LEADERSHIP_LOST, node=self.node)
            self.privilege.fenced = False  # it was meant to be fenced; the producer goes with its next write
        if self.is_leader and self.privilege.must_claim:
            yield from self.claim()
        assignment = handed.assignment
        yield from self.revoke(
            self.owned_tasks - frozenset(assignment.tasks), self.owned_connectors - frozenset(assignment.connectors)
        )
        for name, task in sorted(frozenset(assignment.tasks) - self.owned_tasks):
            self.env.emit(
                Kind.TASK_ASSIGNED, node=self.node, connector=self.env.numbers[name], task=task,
                member=self.generation,
            )  # fmt: skip
        self.owned_connectors, self.owned_tasks = frozenset(assignment.connectors), frozenset(assignment.tasks)
        self.rejoin = self.rejoin or assignment.revokes
        if self.view.position < handed.offset:
            try:
                yield self.operation("read", self.view.read_to_end)
            except OperationError:
                self.rejoin = True  # without its configurations nothing can be started
                return
        if self.wanted > handed.offset:
            return  # the assignment knows less than the worker does: another one first
        yield from self.start_assigned()

    def start_assigned(self) -> Script:
        """Start what is assigned and does not run; what runs with an older set is stopped first."""
        state = self.view.state
        yield from self.stop_tasks(self.outdated())
        for name in sorted(self.owned_connectors):
            if name not in self.connectors:
                self.start_connector(name)
            else:
                self.connectors[name].rebalanced()
        for name, task in sorted(self.owned_tasks):
            there = self.tasks.get((name, task))
            current = there is not None and there.set == state.set_place(name)
            if there is None or not current or (there.ended and not there.failed):
                self.start_task(name, task)
