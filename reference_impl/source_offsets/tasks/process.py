"""What an instance of a task and one of the Connector have in common: a thread in a process of its own, which waits at
each operation until it happens, and fails with it."""

from collections.abc import Callable
from typing import Any

from fencepost.reference_impl.source_offsets.environment import Environment
from fencepost.reference_impl.task_counts.tasks.producers import KafkaError, TransactionalProducer
from fencepost.reference_impl.task_counts.tasks.threads import Operation, OperationError, Refused, Script

NONE = -1


class Failed(Refused):
    """The thread is over."""

    def __init__(self, trace: str, error: int = 0) -> None:
        super().__init__(trace)
        self.error = error


class Process:
    """One thread; `process` is its number, and that of all it starts."""

    def __init__(self, env: Environment, process: int, task: int = NONE) -> None:
        self.env = env
        self.process = process
        self.task = task
        self.producer: TransactionalProducer | None = None
        self.stopping = False
        self.ended = False

    def start(self) -> None:
        """It runs, until it waits for the first time."""
        self.env.threads.start(self.process, self.run())

    def run(self) -> Script:
        """The thread."""
        raise NotImplementedError(f"{type(self).__name__} must have a thread: override run()")

    def operation(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Operation:
        """Something that happens outside of the thread."""
        return Operation(name, self.process, act, NONE, self.task, interrupted)

    def call(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Script:
        """An operation whose failure is that of the thread."""
        try:
            return (yield self.operation(name, act, interrupted))
        except (OperationError, KafkaError) as error:
            raise self.failure(error) from error

    def failure(self, error: Exception) -> Failed:
        """What has gone wrong in an operation, as the thread's failure."""
        return Failed(str(error), getattr(error, "code", 0))

    def must_stop(self) -> bool:
        """Whether it was asked to stop."""
        return self.stopping

    def now_ms(self) -> int:
        """The time."""
        return self.env.now_ms

    def close(self) -> None:
        """The thread is over: what its producer has open stays open."""
        self.ended = True
        if self.producer is not None:
            self.producer.close()
