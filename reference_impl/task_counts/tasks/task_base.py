"""Under a source task's thread: what an instance is, how it does one thing, and how it ends.

A task that was told to stop looks between two operations, as Kafka's does; one that its worker has left running no
longer looks, except that as shipped its producer is closed. (WorkerTask)
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.herder.assignors import TaskId
from fencepost.reference_impl.task_counts.tasks.producers import KafkaError, TransactionalProducer
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Refused, Script

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.herder.herder import Herder

NONE = -1


class TaskFailed(Refused):
    """The start, or a poll, has failed; `trace` is what the status will say."""

    def __init__(self, trace: str, error: int = NONE) -> None:
        super().__init__(trace)
        self.error = error


class TaskBase:
    """One start of one task: an instance. `set` and `generation` are those it starts from."""

    def __init__(self, herder: "Herder", name: str, task: int) -> None:
        self.herder = herder
        self.env = herder.env
        self.id: TaskId = (name, task)
        self.instance = herder.env.next_instance()
        self.set = NONE
        self.generation = NONE
        self.producer: TransactionalProducer | None = None
        self.stopping = False
        self.left_running = False
        self.ended = False
        self.failed = False
        self.polls = 0
        self.start_from_newest_set()

    def start_from_newest_set(self) -> None:
        """What the worker knows now is what this instance starts from (gen0, 618.19)."""
        state = self.herder.view.state
        self.set = state.set_place(self.id[0])
        self.generation = state.generation(self.id[0])

    def must_stop(self) -> bool:
        """Whether to look no further: told to stop, and not left to itself since."""
        return self.stopping and not self.left_running

    # Ends

    def stop(self) -> Script:
        """Told to, and doing so; False if the task does not get to it ("failed"): it polls on."""
        try:
            yield self.herder.operation("stop", lambda: self.end(Kind.TASK_STOPPED), *self.id)
        except OperationError:
            return self.ended
        return True

    def leave_running(self) -> None:
        """It did not stop in time: nobody waits for it any more (618.23); as shipped, its producer is closed."""
        self.left_running = True
        self.emit(Kind.TASK_LEFT_RUNNING)
        if self.env.revision.cancels and self.producer is not None:
            self.producer.close()

    def fail(self, failure: TaskFailed) -> None:
        """FAILED, with a trace; a task that is being stopped only logs it."""
        self.failed = True
        if self.stopping:
            self.end(Kind.TASK_STOPPED, error=failure.error)
        else:
            self.end(Kind.TASK_FAILED, "FAILED", str(failure), failure.error)

    def end(self, kind: int, state: str = "", trace: str = "", error: int = 0) -> None:
        """The thread is over; an open transaction stays open."""
        self.ended = True
        self.emit(kind, error=error)
        if self.producer is not None:
            self.producer.close()
        if state:
            self.put_status(state, trace)

    def put_status(self, state: str, trace: str = "") -> None:
        """Only the instance that its worker counts as the task's."""
        if not self.left_running:
            self.env.put_status(*self.id, state, trace)

    def attempt(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Script:
        """One operation, whose failure is the task's."""
        try:
            return (yield self.herder.operation(name, act, *self.id, interrupted))
        except OperationError as error:
            raise TaskFailed(f"TimeoutException: {error}", error.code) from error
        except KafkaError as error:
            raise TaskFailed(str(error), error.code) from error

    def emit(self, kind: int, status: int = NONE, error: int = 0, pair: tuple[int, int] | None = None) -> None:
        """An event of this instance."""
        name, task = self.id
        producer_id, epoch = pair or (
            (NONE, NONE) if self.producer is None else (self.producer.producer_id, self.producer.epoch)
        )
        self.env.emit(
            kind, node=self.herder.node, connector=self.env.numbers[name], task=task, instance=self.instance,
            set=self.set, producer_id=producer_id, epoch=epoch, status=status, error=error,
        )  # fmt: skip
