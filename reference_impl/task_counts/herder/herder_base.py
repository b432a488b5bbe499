"""What the herder's single thread works with: its view, its assignment, its tasks and Connectors, and their life.

Everything here is memory of one life of a worker. Scripts (methods that yield) run on the herder's thread, one after
the other; requests of users, rounds and Connectors wait in a queue for their turn. (DistributedHerder, Worker)
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.herder.assignors import TaskId
from fencepost.reference_impl.task_counts.herder.connector import Connector
from fencepost.reference_impl.task_counts.herder.requests import Request
from fencepost.reference_impl.task_counts.herder.revisions import uses_transactions
from fencepost.reference_impl.task_counts.tasks.source_task import SourceTask
from fencepost.reference_impl.task_counts.tasks.threads import Operation, OperationError, Script, Wait
from fencepost.reference_impl.task_counts.topic import records
from fencepost.reference_impl.task_counts.topic.records import ConfigRecord, Parsed
from fencepost.reference_impl.task_counts.topic.view import View

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.environment import Environment
    from fencepost.reference_impl.task_counts.herder.herder import Herder

NONE = -1


class HerderBase:
    """One life of one worker."""

    def __init__(self, env: "Environment", node: int, support: str) -> None:
        herder: Herder = self  # type: ignore[assignment]
        self.env = env
        self.node = node
        self.support = support
        self.view = View(env, node, self.enabled, self.heard)
        self.privilege = env.parts.privilege(env, node, uses_transactions(env.revision, support))
        self.rounds = env.parts.rounds(herder)
        self.writes = env.parts.writes(herder)
        self.endpoint = env.parts.endpoint()
        self.requests: deque[Request] = deque()
        self.warnings: list[str] = []
        # The group
        self.leader = NONE
        self.generation = NONE
        self.offset = 0  # the assignment was made from what stands before it
        self.wanted = 0  # a rebalance is needed that knows what stands before this
        self.rejoin = True
        self.expired_ms = NONE
        self.owned_connectors: frozenset[str] = frozenset()
        self.owned_tasks: frozenset[TaskId] = frozenset()
        # What runs
        self.tasks: dict[TaskId, SourceTask] = {}
        self.connectors: dict[str, Connector] = {}
        self.targets: dict[str, str] = {}  # target states as last heard
        self.not_before_ms = 0  # of what is tried again

    @property
    def enabled(self) -> bool:
        """Whether source tasks run with exactly-once support."""
        return self.support == "enabled"

    @property
    def serves(self) -> bool:
        """Whether this version has the internal endpoint, whatever the flag says (618.10)."""
        return self.support != "none" and self.env.revision.signs

    @property
    def is_leader(self) -> bool:
        """Whether it takes itself for the leader."""
        return self.leader == self.node

    # Doing things

    def operation(
        self, name: str, act: Callable[[], Any], connector: str = "", task: int = NONE,
        interrupted: Callable[[], bool] | None = None,
    ) -> Operation:  # fmt: skip
        """An operation of one of this worker's threads."""
        return Operation(name, self.node, act, self.env.numbers.get(connector, NONE), task, interrupted)

    def submit(self, script: Callable[[Request], Script]) -> Request:
        """Something for the herder's thread to do in turn."""
        request = Request(script)
        self.requests.append(request)
        return request

    def write(self, batch: Sequence[ConfigRecord], connector: str = "", name: str = "write") -> Script:
        """One transaction on the config topic, and a read to its end. Raises OperationError; the privilege is gone."""

        def act() -> None:
            self.privilege.write(batch)
            self.view.read_to_end()

        try:
            yield self.operation(name, act, connector)
        except OperationError as error:
            self.privilege.lose()
            number = self.env.numbers.get(connector, NONE)
            self.env.emit(Kind.WRITE_REFUSED, node=self.node, connector=number, error=error.code)
            raise

    def claim(self) -> Script:
        """Open the leader's producer; if that fails, again after a while. Whether it is open."""
        if self.env.config.transactional_id:
            self.warnings.append(
                f"transactional.id={self.env.config.transactional_id} is ignored: the leader's producer has its own"
            )
        try:
            yield self.operation("claim", self.privilege.claim)
        except OperationError as error:
            self.privilege.lose()
            self.env.emit(Kind.CLAIM_FAILED, node=self.node, error=error.code)
            self.not_before_ms = self.env.now_ms + self.env.config.retry_backoff_ms
            return False
        return True

    # What the view says

    def heard(self, parsed: Parsed, offset: int, known: bool) -> None:
        """A record has been read, by whomever: connectors that come or go, and new sets, need a rebalance.

        An owned Connector is started again even if it has just come: it went before, and was created anew before
        this worker let go of it. (DistributedHerder: ConfigUpdateListener, processConnectorConfigUpdates)
        """
        name, exists = parsed.connector, parsed.value is not None
        if parsed.kind == records.CONNECTOR:
            if known != exists:
                self.wanted = offset + 1
            if exists and name in self.owned_connectors:
                self.submit(lambda request: self.restart_connector(name, request))
        elif parsed.kind == records.COMMIT and known:
            self.wanted = offset + 1
            if self.view.state.set_place(name) == offset:  # one that is not whole is no newer set
                self.rounds.overtake(name)
        elif parsed.kind == records.TARGET_STATE:
            target = self.view.state.target_state(name)
            if target != self.targets.get(name, "STARTED") and name in self.owned_connectors:
                self.submit(lambda request: self.restart_connector(name, request))
            self.targets[name] = target

    # Tasks

    def start_task(self, name: str, task: int) -> None:
        """A thread for a task of the newest set; none if that set has no such task."""
        if self.view.state.task_properties(name, task) is not None:
            herder: Herder = self  # type: ignore[assignment]
            started = self.env.parts.task(herder, name, task)
            self.tasks[name, task] = started
            self.env.threads.start(self.node, started.run())

    def stop_tasks(self, ids: Iterable[TaskId]) -> Script:
        """Stop these, side by side; those that take too long are left to themselves (618.23)."""
        stopping = [self.tasks[task] for task in sorted(ids) if task in self.tasks]
        for task in stopping:
            task.stopping = True
        deadline_ms = self.env.now_ms + self.env.config.graceful_shutdown_ms
        yield Wait(lambda: all(task.ended for task in stopping) or self.env.now_ms >= deadline_ms)
        for task in stopping:
            if not task.ended:
                task.leave_running()
            if self.tasks.get(task.id) is task:
                del self.tasks[task.id]
            if self.env.statuses.get(task.id, ("", ""))[0] == "RUNNING":
                self.env.put_status(*task.id, "UNASSIGNED")

    def restart_task(self, name: str, task: int, request: Request) -> Script:
        """A user's restart of one task."""
        yield from self.stop_tasks([(name, task)])
        if (name, task) in self.owned_tasks:
            self.start_task(name, task)
        request.finish()

    # Connectors

    def start_connector(self, name: str) -> None:
        """A thread for the Connector, which makes the tasks' configurations."""
        if self.view.state.is_known(name):
            herder: Herder = self  # type: ignore[assignment]
            started = self.env.parts.connector(herder, name)
            self.connectors[name] = started
            self.env.threads.start(self.node, started.run())

    def stop_connector(self, name: str) -> None:
        """Connectors stop at once here."""
        stopped = self.connectors.pop(name, None)
        if stopped is not None:
            stopped.stopping = True

    def restart_connector(self, name: str, request: Request) -> Script:
        """For a new configuration, a new target state, or because a user says so."""
        self.stop_connector(name)
        if name in self.owned_connectors:
            self.start_connector(name)
        request.finish()
        yield from ()
