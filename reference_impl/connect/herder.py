"""This module has a worker and its herder: the one thread in which the worker decides, one thing after another."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.brokers import missing_topics
from fencepost.reference_impl.connect.config import SUPPORT_CODES, Kind
from fencepost.reference_impl.connect.config_records import ConfigRecord, Parsed, key_in, needs_new_key, new_key
from fencepost.reference_impl.connect.config_topic import View
from fencepost.reference_impl.connect.group import (
    ASSIGNMENT,
    ASSIGNORS,
    Assignment,
    Group,
    Handed,
    Members,
    Owned,
    TaskId,
    uses_transactions,
)
from fencepost.reference_impl.connect.incremental import IncrementalAssignor
from fencepost.reference_impl.connect.requests import Request
from fencepost.reference_impl.connect.source_task import Connector, SourceTask
from fencepost.reference_impl.connect.threads import Operation, OperationError, Script, Wait

if TYPE_CHECKING:
    from fencepost.reference_impl.connect.environment import Environment


# The herder is one thread of a worker that does one thing at a time, with its view, assignment, tasks and Connectors.
#
# In each tick (DistributedHerder.tick) it handles first the group, then the right to write, then a session key if a new
# one is due, then the requests of users, rounds and Connectors, in order. Scripts (methods that yield) run on the
# herder's thread, one after another. All of this is in the worker's memory and is lost when it stops.
#
# The thread goes through a rebalance in these steps: let go, join, lead, sync, take what is assigned. Eager: everything
# is stopped before joining. Cooperative: only tasks of sets that are no longer the newest are stopped (618.22), and
# everything else runs on; what has to move is revoked in one rebalance and given out in the next (618.41).
# (DistributedHerder, Worker)

NONE = -1


@dataclass(eq=False, slots=True)
class Forward:
    """A `Forward` is one exchange with the leader that the forwarding thread makes, with its result when it is done."""

    exchange: Script
    done: bool = False
    result: Any = None


class Herder:
    """A `Herder` is the herder of one worker between a start and the next stop."""

    assignor_type = IncrementalAssignor

    def __init__(self, env: "Environment", node: int, support: str) -> None:
        self.env = env
        self.node = node
        self.support = support
        self.view = View(env, node, self.reads_committed, self.heard)
        self.privilege = env.parts.privilege(env, node, uses_transactions(env.revision, support))
        self.rounds = env.parts.rounds(self)
        self.writes = env.parts.writes(self)
        self.endpoint = env.parts.endpoint()
        self.requests: deque[Request] = deque()
        self.forwards: deque[Forward] = deque()  # that wait for the forwarding thread, if there is one
        self.warnings: list[str] = []
        # The group
        self.leader = NONE
        self.generation = NONE
        self.offset = 0  # the assignment was made from what stands before it
        self.wanted = 0  # a rebalance is needed that knows what stands before this
        self.rejoin = True
        self.rejoin_ms = NONE  # when the rebalance is due for which the assignment asked
        self.assignor = self.assignor_type(env.config.rebalance_delay_ms, env.config.member_order)
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
        return self.support == "enabled"

    @property
    def reads_committed(self) -> bool:
        """Return whether the worker skips aborted records of the config topic. It does not do so while it is
        `preparing`, although it may lead and then writes in transactions
        (KafkaConfigBackingStore.setupAndCreateKafkaBasedLog)."""
        return self.enabled

    @property
    def serves(self) -> bool:
        """Return whether this version has the internal endpoint, with the feature on or off (618.10)."""
        return self.support != "none" and self.env.revision.signs

    @property
    def is_leader(self) -> bool:
        return self.leader == self.node

    @property
    def starts_removed_tasks(self) -> bool:
        """Return whether an assigned task is started that the newest set lacks and some set had (618.52)."""
        return self.env.config.starts_removed_tasks

    @property
    def group(self) -> Group:
        return self.env.group

    @property
    def is_eager(self) -> bool:
        """Return whether every member gives up everything in every rebalance."""
        return self.env.config.protocol == "eager"

    # The thread

    def run(self) -> Script:
        while True:
            yield Wait(self.has_work)
            if self.must_rejoin():
                yield from self.rebalance()
            elif self.must_claim():
                yield from self.claim()
            elif self.must_make_key():
                yield from self.make_key()
            else:
                request = self.requests.popleft()
                yield from request.script(request)

    def has_work(self) -> bool:
        if self.must_rejoin():
            return True
        if self.must_claim():  # until it is leader in deed too, a leader does nothing else
            return self.env.now_ms >= self.not_before_ms
        if self.must_make_key() and self.env.now_ms >= self.not_before_ms:
            return True
        return bool(self.requests)

    def must_claim(self) -> bool:
        """Return whether this leader was fenced, or could not open its producer, and has to claim again (618.26)."""
        return self.leader == self.node and self.privilege.fenced

    def must_make_key(self) -> bool:
        if self.leader != self.node or not self.env.revision.signs:
            return False
        now_ms = self.env.now_ms
        return now_ms >= self.not_before_ms and needs_new_key(key_in(self.view.state.session_key), now_ms)

    def make_key(self) -> Script:
        """Write a new session key; if that fails, wait and read to the end before the next try."""
        key = new_key(self.env.kernel.random, self.env.now_ms)
        try:
            yield from self.write([key.record()])
        except OperationError:
            self.not_before_ms = self.env.now_ms + self.env.config.retry_backoff_ms

    # Doing things

    def operation(
        self, name: str, act: Callable[[], Any], connector: str = "", task: int = NONE,
        interrupted: Callable[[], bool] | None = None,
    ) -> Operation:  # fmt: skip
        return Operation(name, self.node, act, self.env.numbers.get(connector, NONE), task, interrupted)

    def submit(self, script: Callable[[Request], Script]) -> Request:
        request = Request(script)
        self.requests.append(request)
        return request

    # Requests to other workers

    @property
    def forwards_in_turn(self) -> bool:
        """Return whether a request to the leader would wait for the earlier ones of this worker."""
        return self.env.config.one_forwarder and not self.is_leader

    def forwarded(self, exchange: Callable[[Callable[[], bool]], Script], given_up: Callable[[], bool]) -> Script:
        """Make an exchange with the leader, on the caller's thread or in its turn on the one forwarding thread, and
        return its result; None if the caller has ``given_up`` before its end, which the exchange does not notice."""
        if not self.forwards_in_turn:
            return (yield from exchange(given_up))
        forward = Forward(exchange(lambda: False))
        self.forwards.append(forward)
        yield Wait(lambda: forward.done or given_up())
        return forward.result

    def forward(self) -> Script:
        """Make one exchange after another, for as long as each takes (DistributedHerder.forwardRequestExecutor)."""
        while True:
            yield Wait(lambda: bool(self.forwards))
            forward = self.forwards.popleft()
            forward.result = yield from forward.exchange
            forward.done = True

    def idle_deadline(self, leader: int) -> float:
        """Return when a request that is sent now to this worker has been idle for too long (RestClient)."""
        idle_ms = self.env.config.rest_idle_ms
        return self.env.now_ms + idle_ms if idle_ms and leader != self.node else inf

    def write(self, batch: Sequence[ConfigRecord], connector: str = "", name: str = "write") -> Script:
        """Write one transaction to the config topic, and read the topic to its end. Raise OperationError if this fails,
        with the privilege given up."""

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
        """Open the leader's producer and return whether that succeeded; a failure is retried after a while."""
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
        """Handle a record that was read, on this thread or another: a connector that is new or deleted, and a new set,
        need a rebalance.

        An owned Connector is started again even if it is new: it was deleted, and was created anew before this worker
        gave it up. (DistributedHerder: ConfigUpdateListener, processConnectorConfigUpdates)
        """
        name, exists = parsed.connector, parsed.value is not None
        if parsed.kind == config_records.CONNECTOR:
            if known != exists:
                self.wanted = offset + 1
            if exists and name in self.owned_connectors:
                self.submit(lambda request: self.restart_connector(name, request))
        elif parsed.kind == config_records.COMMIT and known:
            self.wanted = offset + 1
            if self.view.state.set_place(name) == offset:  # one that is not whole is no newer set
                self.rounds.overtake(name)
        elif parsed.kind == config_records.TARGET_STATE:
            target = self.view.state.target_state(name)
            if target != self.targets.get(name, "STARTED") and name in self.owned_connectors:
                self.submit(lambda request: self.restart_connector(name, request))
            self.targets[name] = target

    # Tasks

    def start_task(self, name: str, task: int) -> None:
        """Start a thread for a task of the newest set, unless that set has no such task."""
        if self.may_start(name, task):
            started = self.env.parts.task(self, name, task)
            self.tasks[name, task] = started
            self.env.threads.start(self.node, started.run())

    def may_start(self, name: str, task: int) -> bool:
        """Return whether the newest set has such a task (618.52)."""
        if self.starts_removed_tasks:
            return task in self.view.state.task_configs.get(name, {})
        return self.view.state.task_properties(name, task) is not None

    def stop_tasks(self, ids: Iterable[TaskId]) -> Script:
        """Stop these tasks in parallel; those that take too long are left running (618.23)."""
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
                self.put_status(*task.id, "UNASSIGNED")

    def put_status(self, name: str, task: int, state: str, trace: str = "") -> None:
        """Write the status of a task, or (-1) of a Connector, in this worker's generation."""
        self.env.put_status(name, task, state, trace, self.node, self.generation)

    def restart_task(self, name: str, task: int, request: Request) -> Script:
        yield from self.stop_tasks([(name, task)])
        if (name, task) in self.owned_tasks:
            self.start_task(name, task)
        request.finish()

    # Connectors

    def start_connector(self, name: str) -> None:
        """Start a thread for the Connector, which makes the tasks' configurations."""
        if self.view.state.is_known(name):
            started = self.env.parts.connector(self, name)
            self.connectors[name] = started
            self.env.threads.start(self.node, started.run())

    def stop_connector(self, name: str) -> None:
        stopped = self.connectors.pop(name, None)
        if stopped is not None:
            stopped.stopping = True

    def restart_connector(self, name: str, request: Request) -> Script:
        """Restart the Connector for a new configuration, a new target state, or on a user's request."""
        self.stop_connector(name)
        if name in self.owned_connectors:
            self.start_connector(name)
        request.finish()
        yield from ()

    # A rebalance

    def must_rejoin(self) -> bool:
        """Return whether a rebalance is next, on this worker's own request or after a heartbeat."""
        if self.rejoin or self.wanted > self.offset or NONE < self.rejoin_ms <= self.env.now_ms:
            return True
        return self.env.group.must_rejoin(self.node) and self.has_noticed()

    def has_noticed(self) -> bool:
        """Return whether this worker knows of the rebalance; if it was expired, the next heartbeat reveals it."""
        interval_ms = self.env.config.heartbeat_ms
        if not interval_ms or self.expired_ms == NONE or self.node in self.group.members:
            return True
        return self.env.now_ms // interval_ms > self.expired_ms // interval_ms

    def rebalance(self) -> Script:
        """Try one rebalance; a failed try is repeated in the next tick."""
        self.rejoin, self.rejoin_ms = True, NONE
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

    # A rebalance: before joining

    def let_go(self) -> Script:
        """Stop what has to stop before joining: everything in an eager group, otherwise tasks of old sets."""
        if self.is_eager:
            yield from self.revoke(self.owned_tasks, self.owned_connectors)
        elif self.env.config.preemptive_stop:
            yield from self.stop_tasks(self.outdated())

    def outdated(self) -> list[TaskId]:
        """Return the running tasks of sets that are not the newest, and of deleted connectors."""
        return [task.id for task in self.tasks.values() if not task.ended and not self.may_stay(task)]

    def may_stay(self, task: SourceTask) -> bool:
        """Return whether a task need not stop for a newer set. As released, a set without tasks stops none, and neither
        does the deletion of the connector: they stop where they are revoked (618.53;
        KafkaConfigBackingStore.processTasksCommitRecord, DistributedHerder.processTaskConfigUpdates…)."""
        state, name = self.view.state, task.id[0]
        return task.set == state.set_place(name) or (self.starts_removed_tasks and not state.tasks(name))

    def revoke(self, tasks: Iterable[TaskId], connectors: Iterable[str]) -> Script:
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

    # A rebalance: the leader's part

    def lead(self, generation: int) -> Script:
        """Compute the assignment, in revision A after fencing (618.8). Raise OperationError if this fails."""
        computed_from = self.view.position
        if self.env.revision.rounds_by == ASSIGNMENT and self.enabled:
            if self.privilege.must_claim and not (yield from self.claim()):
                raise OperationError("claim", reason="no assignment without the right to write")
            # The text does not require this read, but a leader that decides on an old view may count fewer producers
            # than there are.
            yield self.operation("read", self.view.read_to_end)
            computed_from = self.view.position
            yield from self.rounds.in_assignment()
        yield self.operation("assign", lambda: self.assign(generation))
        # In A, a set that was committed in between has not been fenced for.
        if self.env.revision.rounds_by == ASSIGNMENT and self.wanted > computed_from:
            self.submit(self.ask_for_another)

    def ask_for_another(self, request: object) -> Script:
        self.rejoin = True
        yield from ()

    def furthest(self) -> int:
        return max((member.offset for member in self.group.members.values()), default=0)

    def assign(self, generation: int) -> None:
        """Make the assignment from what the leader has read; in A, from the whole config topic (618.8)."""
        if self.env.revision.rounds_by == ASSIGNMENT or self.view.position < self.furthest():
            self.view.read_to_end()
        error = self.group.error(self.node, generation)
        if error:
            raise OperationError("assign", error, "the group has gone on")
        state = self.view.state
        tasks = [(name, task) for name in state.names() for task in range(state.tasks(name))]
        members = {worker: member.owned for worker, member in self.group.members.items()}
        result = self.distribute(members, state.names(), tasks, generation)
        self.group.assign(self.node, generation, result, self.view.position)

    def distribute(
        self, members: Members, connectors: Iterable[str], tasks: Iterable[TaskId], generation: int
    ) -> dict[int, Assignment]:
        """Distribute connectors and tasks of the newest sets; revoke everything else (618.53), or as released what this
        leader itself assigned last."""
        if self.is_eager or self.env.config.assignor == "balanced":
            return ASSIGNORS[self.env.config.protocol](members, connectors, tasks)
        sessions = {worker: self.group.member_id(worker) for worker in sorted(members, key=self.group.place)}
        return self.assignor.assign(members, sessions, connectors, tasks, self.generation, generation, self.env.now_ms)

    # A rebalance: after the sync

    def take(self, handed: Handed) -> Script:
        """Apply this worker's assignment: give up the rest, lead or not, catch up, and start what is assigned."""
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
        self.rejoin_ms = self.env.now_ms + assignment.delay_ms if assignment.delay_ms else NONE
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
        """Start what is assigned and does not run; what runs with an older set is stopped first.

        A task that failed is not started as long as this worker has it (DistributedHerder.startWork starts what is not
        in `runningAssignment`, and the task is). So it stays failed in this case: a worker fell out of the group, its
        task was fenced by the worker that got the task, and that worker is gone before the first is back.
        WorkerCoordinator keeps `assignmentSnapshot` and claims the task in `metadata`, and
        IncrementalCooperativeAssignor revokes only what two members claim.
        """
        yield from self.stop_tasks(self.outdated())
        for name in sorted(self.owned_connectors):
            if name not in self.connectors:
                self.start_connector(name)
            else:
                self.connectors[name].rebalanced()
        for name, task in sorted(self.owned_tasks):
            there = self.tasks.get((name, task))
            current = there is not None and self.may_stay(there)
            if there is None or not current or (there.ended and not there.failed):
                self.start_task(name, task)


# A worker is a process that is started, stalls, crashes and is restarted, with its herder and its other threads.

INTERNAL_TOPICS = ("connect-configs", "connect-offsets", "connect-status")


class Worker:
    """A `Worker` is one worker process; ``lives`` counts its starts, ``herder`` is None while it is down, and
    ``failure`` is why its start failed."""

    def __init__(self, env: "Environment", node: int, support: str) -> None:
        self.env = env
        self.node = node
        self.support = support
        self.lives = 0
        self.failure = ""
        self.herder: Herder | None = None

    @property
    def is_stalled(self) -> bool:
        return self.node in self.env.threads.stalled

    def start(self) -> None:
        """Start the worker anew; it stops at once if its internal topics are missing (618.54)."""
        self.lives += 1
        self.failure = ""
        self.env.emit(Kind.WORKER_STARTED, node=self.node, support=SUPPORT_CODES[self.support])
        missing = self.missing()
        if missing:
            self.failure = missing_topics(missing)
            self.env.emit(Kind.WORKER_STOPPED, node=self.node)
            return
        self.herder = self.env.parts.herder(self.env, self.node, self.support)
        self.env.threads.start(self.node, self.herder.run())
        self.env.threads.start(self.node, self.herder.view.background())
        if self.env.config.one_forwarder:
            self.env.threads.start(self.node, self.herder.forward())

    def missing(self) -> list[str]:
        """Return the internal topics of the workers that do not exist; the list is empty where workers create them."""
        if self.env.config.creates_internal_topics:
            return []
        return [topic for topic in INTERNAL_TOPICS if topic not in self.env.brokers.internal]

    def crash(self) -> None:
        """Kill the process at once; a second crash has no further effect."""
        if self.herder is not None:
            self.env.threads.kill(self.node)
            self.env.threads.stalled.discard(self.node)
            self.herder = None
            self.env.emit(Kind.WORKER_STOPPED, node=self.node)
