"""This module is the interface of source commits, by which a driver moves one source task, with its replaceable parts
and free runs.

The protocol, how a source task of Connect learns of committed offsets (SourceTask.commit), is in `connect/commits`.
Left out are several tasks of one connector, and which of them may run (`task_counts`); two offsets topics (their merge
belongs to another protocol); boundaries of transactions other than a batch; offsets that a user alters; pausing; and
topics that must be created first.

>>> system = reference({"partitions": 1, "records": 1, "outputs": 1})
>>> system.start()
True
>>> system.threads()  # the task's thread is about to read its stored offsets
[(0, 'start', 0, 0, -1)]
>>> system.go_on()  # everything happens, until nothing is left to happen
>>> system.commit_due()
True
>>> system.go_on()
>>> [(event.partition, event.offset) for event in system.drain_events() if event.kind == "discarded"]
[(0, 1)]
>>> system.audit()  # what is committed: the records in the output, and the stored source offsets
([(0, 1)], [1])

Nothing happens between two calls: the driver controls operations of threads, arrivals of requests and commit intervals.
`Parts` are the pieces that a broken implementation replaces.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.connect.commits.config import COLUMNS, Config, Kind
from fencepost.reference_impl.connect.commits.connector import Connector
from fencepost.reference_impl.connect.commits.environment import Environment, Request, Sender
from fencepost.reference_impl.connect.commits.exactly_once import ExactlyOnceTask, TransactionThread
from fencepost.reference_impl.connect.commits.records import OffsetStorageWriter, SubmittedRecords
from fencepost.reference_impl.connect.commits.task import (
    FAILED,
    IDLE,
    LOST,
    OK,
    Committer,
    OffsetCommit,
    Task,
    TaskThread,
    WorkerSourceTask,
)
from fencepost.reference_impl.simulation import Kernel, free_run
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.environment import DrivenSystem
from fencepost.reference_impl.simulation.free_run import NodeFaults
from fencepost.reference_impl.simulation.free_run import Run as AnyRun


@dataclass(frozen=True, slots=True)
class Parts:
    """`Parts` has the replaceable pieces of a task; the defaults are the correct ones."""

    connector: type[Connector] = Connector
    records: type[SubmittedRecords] = SubmittedRecords
    writer: type[OffsetStorageWriter] = OffsetStorageWriter
    task: type[WorkerSourceTask] = WorkerSourceTask
    thread: type[TaskThread] = TaskThread
    committer: type[Committer] = Committer
    exactly_once: type[ExactlyOnceTask] = ExactlyOnceTask
    transaction_thread: type[TransactionThread] = TransactionThread

    def new_task(self, env: Environment) -> Task:
        return self.exactly_once(env) if env.config.is_transactional else self.task(env)


IDLE_ROUNDS = 4
"""After this many rounds without an effect nothing more will happen, although a task polls for ever."""

Waiting = tuple[int, str, int, int, int]


class System(DrivenSystem[Environment]):
    """A `System` is one source task. ``instances`` are those for which anything can still happen, the newest last."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.instances: list[Task] = []

    # What waits

    def threads(self) -> list[Waiting]:
        """Return what waits, as (number, operation, instance, thread, partition), oldest first."""
        found = [
            (thread.number, thread.doing, task.number, thread.thread, -1)
            for task in self.instances
            for thread in self.awake(task)
        ]
        for task in self.instances:
            found += [(r.number, "record", task.number, -1, r.partition) for r in task.producer.heads()]
            found += [(r.number, "offset", task.number, -1, r.partition) for r in task.offsets.heads()]
        return sorted(found)

    def awake(self, task: Task) -> Iterator[OffsetCommit]:
        return (thread for thread in (task.thread, task.committer) if thread is not None and thread.doing != IDLE)

    def step(self, number: int, outcome: str = OK) -> bool:
        """Let the operation happen, or not, as `outcome` requires; return False, with nothing done, if it has to wait.
        Raise KeyError if nothing with that number waits."""
        for task in self.instances:
            for thread in self.awake(task):
                if thread.number == number:
                    done = thread.step(outcome)
                    self.forget_ended()
                    return done
            for request in (*task.producer.heads(), *task.offsets.heads()):
                if request.number == number:
                    self.arrive(task, request, outcome)
                    return True
        raise KeyError(f"nothing of number {number} waits: {self.threads()}")

    def arrive(self, task: Task, request: Request, outcome: str = OK) -> None:
        sender = task.producer if request.flush < 0 else task.offsets
        sender.lanes[request.lane].popleft()
        task.receive(request, outcome)

    # The task's life

    @property
    def current(self) -> Task | None:
        newest = self.instances[-1] if self.instances else None
        return newest if newest is not None and newest.running else None

    def start(self) -> bool:
        """Start another instance; return False while one runs, unless instances may be left behind."""
        if self.current is not None and not self.env.config.zombies:
            return False
        self.instances.append(self.env.parts.new_task(self.env))
        return True

    def commit_due(self) -> bool:
        """Let the committer begin to commit offsets; return False if it is still committing, or there is none."""
        task = self.current
        return isinstance(task, WorkerSourceTask) and task.commit_due()

    def stop(self) -> bool:
        """Ask the instance to stop; return False if none runs, or it is stopping already."""
        task = self.current
        if task is None or task.stop_asked or task.leaving:
            return False
        task.stop_asked = True
        return True

    def kill(self) -> bool:
        """Kill the process of the instance; return False if there is none."""
        task = self.current
        if task is None:
            return False
        task.kill()
        self.forget_ended()
        return True

    def abort(self) -> bool:
        """Let the connector ask to abort its transaction after the batch; return False if it has none."""
        task = self.current
        return isinstance(task, ExactlyOnceTask) and task.ask_for_abort()

    def forget_ended(self) -> None:
        self.instances = [t for t in self.instances if t.running or t.producer.in_flight or t.offsets.in_flight]

    def go_on(self) -> None:
        """Let everything happen, oldest first, until nothing is left but polls that find nothing."""
        idle = 0
        while idle < IDLE_ROUNDS:
            before = len(self.env.log.rows)
            for number, *_ in self.threads():
                if any(number == each for each, *_ in self.threads()):
                    self.step(number)
            rows = self.env.log.rows[before:]
            idle = 0 if any(row[2] != Kind.TOLD for row in rows) else idle + 1

    # An auditor

    def audit(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Return what a read_committed reader of the whole output finds that was not read before, as (source partition,
        record); and the stored source offset of each source partition, 0 for none."""
        topics, emit = self.env.topics, self.env.emit
        found = []
        for output, log in enumerate(topics.outputs):
            for position in range(topics.read[output], len(log)):
                partition, record = log[position]
                emit(Kind.OUTPUT_READ, output=output, position=position, partition=partition, record=record)
                found.append((partition, record))
            topics.read[output] = len(log)
        for partition, offset in enumerate(topics.stored):
            emit(Kind.AUDITED, partition=partition, offset=offset)
        return found, list(topics.stored)


def build(config: Mapping[str, Any], parts: Parts) -> System:
    checked = Config.parse(config)
    return System(Environment(checked, Kernel(checked.seed), parts))


def reference(config: Mapping[str, Any]) -> System:
    """Return the reference implementation as a driven task; the keys of `config` are those of `config.Config`. Raise
    ValueError for an invalid configuration."""
    return build(config, Parts())


# This section has the faults of a free-running history of a source task: how often they occur, and how long they last.


@dataclass(frozen=True, slots=True)
class Run(AnyRun):
    """A `Run` has the rates of faults, and the pace of everything. Durations are means, in virtual microseconds."""

    request_failure: Rate = 0.02  # per request: it fails, or its answer is lost
    delay: Rate = 0.05  # per request: it takes `delay_us`, perhaps longer than the time-out
    refusal: Rate = 0.005  # per operation of a thread: it fails at once
    refused_last: Rate = 0.2  # per record that is sent when its task is asked to stop: it is refused
    abort_last: Rate = 0.5  # per history that has a `quiet_end`: what is sent then is aborted at the connector's wish
    linger: Rate = 0.005  # per operation of a thread: it stands still for `delay_us` before
    kill: Rate = 0.02  # per poll: the process is gone
    stop: Rate = 0.02  # per poll: the task is asked to stop
    abort: Rate = 0.02  # per poll: the connector has its transaction aborted
    leave_behind: Rate = 0.02  # per poll: the instance is taken for dead and another one begins, where that may be
    poll_us: Natural = 2_000
    think_us: Natural = 300
    latency_us: Natural = 2_000
    delay_us: Natural = 60_000
    timeout_us: Natural = 50_000  # offset.flush.timeout.ms
    interval_us: Natural = 15_000  # offset.flush.interval.ms
    down_us: Natural = 5_000
    audit_us: Natural = 200_000
    # After `events` there are no faults, and the history goes on until everything is committed, or could have been.
    quiet_end: bool = False


class Faults(NodeFaults[Run, System]):
    """`Faults` has the faults in a task's life; they strike the newest instance."""

    names = ("kill", "stop", "abort", "leave_behind")

    def kill(self, _: int) -> bool:
        return self.system.kill()

    def stop(self, _: int) -> bool:
        return self.system.stop()

    def abort(self, _: int) -> bool:
        return self.system.abort()

    def leave_behind(self, _: int) -> bool:
        return self.system.env.config.zombies and self.system.start()


# This section has free-running histories of one source task: `simulate(7, {"mode": "proposed", "events": 400, "kill":
# 0.01})`.
#
# At most one fault of the task's life is drawn before each poll, so that rates are "per poll" in histories of any
# length. Faults of requests are "per request".

WAITS = frozenset({"snapshot", "begin", "finish", "drain", "commit"})
"""These operations may have to wait, and give up after a time-out."""
REFUSED = {"send": (FAILED, LOST), "start": (FAILED,), "poll": (FAILED,), "tell": (FAILED,), "flush": (FAILED,)}
"""This table has the outcomes with which operations of threads fail by themselves."""
LOOKS, LOOK_US = 40, 60_000
"""At the end of a history there are this many checks whether anything happens, and each waits this long beyond a
time-out and the longest delay. If nothing happens in one of them, nothing will."""
POLLED_RECORD = COLUMNS.index("record")
WAITING = frozenset({Kind.TOLD, Kind.FLUSH_BEGUN, Kind.AUDITED})
"""Events of these kinds happen by themselves when there is nothing to be done."""


class FreeRun(free_run.FreeRun[Run, Config]):
    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    cluster_defaults = {"records": 0, "batch": 3, "filtered": 5}  # noqa: RUF012
    defects = "fencepost.reference_impl.defects.source_commits"

    def begin(self, parts: Any) -> None:
        env = Environment(self.config, self.kernel, parts)
        self.rows = env.log.rows
        self.system = System(env)
        self.nodes = Faults(self.system, self.run, self.kernel, self.faults)
        self.calm = False
        self.scheduled: set[int] = set()  # lanes and threads of which something is queued, by identity
        self.deadlines: dict[int, int] = {}  # until when a waiting operation waits, by its number
        self.start()
        self.kernel.after(self.run.interval_us, self.commit_due)
        self.kernel.after(self.run.audit_us, self.audit)

    def settle(self) -> None:
        self.calm = True
        polled = (row[POLLED_RECORD] for row in self.rows if row[2] == Kind.POLLED)
        self.system.env.upstream.records = max(polled, default=1)  # there is no more to be read
        if self.random() < self.run.abort_last:
            self.system.abort()
        for _ in range(LOOKS):
            before = len(self.rows)
            self.kernel.advance(LOOK_US + self.run.timeout_us + 2 * self.run.delay_us)
            if WAITING.issuperset(row[2] for row in self.rows[before:]):
                break
        self.system.audit()

    # What happens by itself

    def start(self, _: object = None) -> None:
        if self.system.current is None and self.system.start():
            self.follow(self.system.instances[-1])

    def follow(self, task: Task) -> None:
        if not task.running:
            if not (task.producer.in_flight or task.offsets.in_flight):
                return
        else:
            self.follow_thread(task.thread)
            if task.committer is not None:
                self.follow_thread(task.committer)
        self.follow_requests(task, task.producer)
        self.follow_requests(task, task.offsets)

    def follow_thread(self, thread: OffsetCommit) -> None:
        if thread.doing and id(thread) not in self.scheduled:
            self.scheduled.add(id(thread))
            mean = self.run.poll_us if thread.doing == "poll" else self.run.think_us
            if not self.calm and self.random() < self.run.linger:
                mean = self.run.delay_us
            self.kernel.after(int(self.random() * 2 * mean), self.act, thread)

    def follow_requests(self, task: Task, sender: Sender) -> None:
        for lane in sender.lanes:
            if lane and id(lane) not in self.scheduled:
                self.scheduled.add(id(lane))
                slow = not self.calm and self.random() < self.run.delay
                mean = self.run.delay_us if slow else self.run.latency_us
                self.kernel.after(int(self.random() * 2 * mean), self.arrive, (task, sender, lane))

    def arrive(self, what: tuple[Task, Sender, Any]) -> None:
        task, _, lane = what
        self.scheduled.discard(id(lane))
        if lane:
            outcome = OK
            if not self.calm:
                luck = self.random()
                if luck < self.run.request_failure:
                    outcome = FAILED if self.random() < 0.5 else LOST
                    self.faults.count("request_failure")
            self.system.arrive(task, lane[0], outcome)
        self.follow(task)
        if not task.running:
            self.system.forget_ended()

    def act(self, thread: OffsetCommit) -> None:
        self.scheduled.discard(id(thread))
        task, operation = thread.task, thread.doing
        if not operation or not task.running:
            return
        if operation == "poll" and not self.calm:
            self.nodes.draw()
            for each in self.system.instances[-1:]:  # which may have begun now
                self.follow(each)
            if not task.running:
                self.system.forget_ended()
                self.restart()
                return
        if thread.step(self.outcome_of(thread, operation)):
            if not task.running:
                self.system.forget_ended()
                self.restart()
        elif operation in WAITS:
            self.scheduled.add(id(thread))
            self.kernel.after(self.run.think_us * 4, self.act, thread)
            return
        self.follow(task)

    def outcome_of(self, thread: OffsetCommit, operation: str) -> str:
        """Return how an operation ends: it is refused at times, and an operation that waits for long gives up."""
        if operation in WAITS:
            deadline = self.deadlines.setdefault(thread.number, self.kernel.now + self.run.timeout_us)
            if self.kernel.now < deadline:
                return OK
            self.faults.count("time_out")
            return FAILED
        refusal = self.run.refused_last if operation == "send" and thread.task.stop_asked else self.run.refusal
        if operation in REFUSED and not self.calm and self.random() < refusal:
            ways = REFUSED[operation]
            self.faults.count("refusal")
            return ways[int(self.random() * len(ways) * 0.75)] if len(ways) > 1 else ways[0]
        return OK

    def restart(self) -> None:
        self.kernel.after(int(self.random() * 2 * self.run.down_us), self.start)

    def commit_due(self, _: object) -> None:
        task = self.system.current
        if isinstance(task, WorkerSourceTask) and task.commit_due():
            self.follow(task)
        self.kernel.after(self.run.interval_us, self.commit_due)


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats
