"""The thread that a runtime and its stores are part of: an instance of a task here, or one of a Connect worker's."""

from collections.abc import Callable
from typing import Any, Protocol

from fencepost.reference_impl.task_counts.tasks.threads import Operation, Script


class Host(Protocol):
    """What they need of it. `process` is the process that it runs in, by the number that its threads have."""

    process: int

    def operation(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Operation:
        """Something that happens outside of the thread, when the driver says so."""

    def call(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Script:
        """An operation whose failure is the task's."""

    def failure(self, error: Exception) -> Exception:
        """The task's failure, for what has gone wrong in an operation."""

    def tell(self, kind: int, **columns: int) -> None:
        """An event of the task."""

    def must_stop(self) -> bool:
        """Whether the task was asked to stop."""

    def now_ms(self) -> int:
        """The time."""
