"""Requests that a worker's herder thread does in turn, and the answers of one worker to another."""

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.reference_impl.task_counts.tasks.threads import Script


@dataclass(eq=False, slots=True)
class Request:
    """One thing to do on the herder's thread. `error`: why it was not done, "" if it was."""

    script: Callable[["Request"], Script]
    done: bool = False
    error: str = ""

    def finish(self, error: str = "") -> None:
        """It is over."""
        self.done = True
        self.error = error


@dataclass(eq=False, slots=True)
class Reply:
    """The reply that the asker of a round waits for: an HTTP status, 0 as long as there is none, and the trace of a
    failure."""

    status: int = 0
    trace: str = ""

    def settle(self, status: int, trace: str = "") -> None:
        """The first answer counts."""
        if not self.status:
            self.status = status
            self.trace = trace
