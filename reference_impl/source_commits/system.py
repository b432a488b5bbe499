"""The plug: one source task with its upstream system and its topics behind the few operations by which a driver moves
it, step by step.

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

Nothing happens between two calls: operations of threads, arrivals of requests and commit intervals are the driver's.
`Parts` are the pieces that a broken implementation replaces.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.reference_impl.simulation import Kernel
from fencepost.reference_impl.simulation.system import DrivenSystem
from fencepost.reference_impl.source_commits.config import Config
from fencepost.reference_impl.source_commits.environment import Environment
from fencepost.reference_impl.source_commits.events import Kind
from fencepost.reference_impl.source_commits.kafka import Request
from fencepost.reference_impl.source_commits.parts import Parts
from fencepost.reference_impl.source_commits.runtime.exactly_once import ExactlyOnceTask
from fencepost.reference_impl.source_commits.runtime.task import Task, WorkerSourceTask
from fencepost.reference_impl.source_commits.runtime.threads import IDLE, OK, OffsetCommit

IDLE_ROUNDS = 4
"""A task polls for ever: after so many rounds of all that waits in which nothing happens, nothing will."""

Waiting = tuple[int, str, int, int, int]


class System(DrivenSystem[Environment]):
    """One source task. `instances` are those of which anything can still happen, the newest last."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.instances: list[Task] = []

    # What waits

    def threads(self) -> list[Waiting]:
        """What waits: (number, operation, instance, thread, partition), oldest first."""
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
        """The threads of an instance that stand before an operation."""
        return (thread for thread in (task.thread, task.committer) if thread is not None and thread.doing != IDLE)

    def step(self, number: int, outcome: str = OK) -> bool:
        """The operation happens, or does not, as `outcome` says; False, and nothing happens, where it has to wait.
        Raises KeyError if nothing of that number waits."""
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
        """The oldest request of its lane comes to its broker, or does not."""
        sender = task.producer if request.flush < 0 else task.offsets
        sender.lanes[request.lane].popleft()
        task.receive(request, outcome)

    # The task's life

    @property
    def current(self) -> Task | None:
        """The newest instance, while it runs."""
        newest = self.instances[-1] if self.instances else None
        return newest if newest is not None and newest.running else None

    def start(self) -> bool:
        """Another instance is started; False while there is one, unless instances may be left behind."""
        if self.current is not None and not self.env.config.zombies:
            return False
        self.instances.append(self.env.parts.new_task(self.env))
        return True

    def commit_due(self) -> bool:
        """The committer begins to commit offsets; False where it is still at it, or there is none."""
        task = self.current
        return isinstance(task, WorkerSourceTask) and task.commit_due()

    def stop(self) -> bool:
        """The instance is asked to stop; False where none runs, or it is stopping."""
        task = self.current
        if task is None or task.stop_asked or task.leaving:
            return False
        task.stop_asked = True
        return True

    def kill(self) -> bool:
        """Its process is gone; False where there is none."""
        task = self.current
        if task is None:
            return False
        task.kill()
        self.forget_ended()
        return True

    def abort(self) -> bool:
        """The connector asks for its transaction to be aborted when the batch is sent; False where it has none."""
        task = self.current
        return isinstance(task, ExactlyOnceTask) and task.ask_for_abort()

    def forget_ended(self) -> None:
        """Instances of which nothing can happen any more."""
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
        """What a read_committed reader of the whole output sees, as far as this was not read before: (source partition,
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
    """A driven task made of these parts."""
    checked = Config.parse(config)
    return System(Environment(checked, Kernel(checked.seed), parts))


def reference(config: Mapping[str, Any]) -> System:
    """The reference implementation as a driven task; keys of `config`: `config.Config`. Raises ValueError."""
    return build(config, Parts())
