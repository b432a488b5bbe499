"""This module runs threads that a driver moves: each runs until its next operation on the outside, and waits there for
its turn.

A thread is a generator. It yields an `Operation` (something that happens outside of it, when the driver lets it, and
whose result or exception comes back from the `yield`) or a `Wait` (for something inside the worker; the thread goes on
by itself as soon as the condition holds and it is not stalled).

    config = yield Operation("check_after", worker, act=read_to_end)
    yield Wait(lambda: request.done)

The order is fixed by the numbers of the threads, so that the same calls give the same events.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

OK, FAILED, LOST = "ok", "failed", "lost"
OUTCOMES = (OK, FAILED, LOST)
NONE = -1


class Refused(Exception):
    """A `Refused` is an error that an operation may raise into its thread; any other is a programming error."""


class OperationError(Refused):
    """An `OperationError` is a failure with Kafka's ``code``, by default 7 (REQUEST_TIMED_OUT)."""

    def __init__(self, operation: str, code: int = 7, reason: str = "timed out") -> None:
        super().__init__(f"{operation}: {reason}")
        self.code = code


class Operation(NamedTuple):
    """An `Operation` is a thread's next visible step; if ``interrupted`` holds, the thread turns back before."""

    name: str
    worker: int
    act: Callable[[], Any]
    connector: int = NONE
    task: int = NONE
    interrupted: Callable[[], bool] | None = None


class Wait(NamedTuple):
    """A `Wait` lets the thread wait until its condition holds."""

    until: Callable[[], bool]


def at_once() -> bool:
    return True


INTERRUPTED = object()  # what a thread gets from a `yield` that it has turned back from

Script = Generator[Operation | Wait, Any, Any]  # what a script returns is for the one that it is part of


@dataclass(slots=True)
class Thread:
    """A `Thread` is one thread; ``at`` is what it waits at, and is None once it has ended."""

    number: int
    worker: int
    script: Script
    at: Operation | Wait | None = None
    may_go_on: Callable[[], bool] | None = None  # asked over and over; None: never without the driver
    begun: bool = field(default=False)


class Threads:
    """`Threads` has all threads of a cluster. ``stalled`` are the workers whose threads are paused."""

    def __init__(self) -> None:
        self.threads: dict[int, Thread] = {}
        self.stalled: set[int] = set()
        self._started = 0

    def start(self, worker: int, script: Script) -> int:
        """Start a new thread, which runs as soon as the running one waits, and return its number."""
        number = self._started
        self._started += 1
        self.threads[number] = Thread(number, worker, script, None, at_once)
        return number

    def kill(self, worker: int) -> None:
        """Kill the process of this worker, with all its threads."""
        for thread in [thread for thread in self.threads.values() if thread.worker == worker]:
            del self.threads[thread.number]
            thread.at = None

    def ready(self) -> Iterator[tuple[Thread, Operation]]:
        """Yield the threads that a driver can let go on, with their next operation, oldest thread first."""
        stalled = self.stalled
        for thread in self.threads.values():
            at = thread.at
            if type(at) is Operation and thread.worker not in stalled:
                yield thread, at

    def waiting(self) -> list[tuple[int, str, int, int, int]]:
        """Return (number, operation, worker, connector, task) of what can happen, oldest thread first."""
        return [(thread.number, at.name, thread.worker, at.connector, at.task) for thread, at in self.ready()]

    def step(self, number: int, outcome: str) -> None:
        """Let the operation of a thread happen with this outcome. With `failed`, it does not happen and the thread gets
        an error; with `lost`, it happens and the thread gets the same error. Raise KeyError for a thread that has no
        operation now, ValueError for an unknown outcome."""
        if outcome not in OUTCOMES:
            raise ValueError(f"outcome={outcome!r}: must be one of {', '.join(OUTCOMES)}")
        thread = self.threads.get(number)
        if thread is None or not isinstance(thread.at, Operation) or thread.worker in self.stalled:
            raise KeyError(f"thread {number} has no operation now: {[waiting[0] for waiting in self.waiting()]} have")
        operation = thread.at
        result: Any = None
        error: Exception | None = None
        if outcome != FAILED:
            try:
                result = operation.act()
            except Refused as refused:
                error = refused
        if outcome != OK:
            error = OperationError(operation.name)
        self.run(thread, result, error)
        self.settle()

    def act_alone(self, number: int) -> None:
        """Do the operation of a thread without a result for the thread, whose process is about to end."""
        operation = self.threads[number].at
        assert isinstance(operation, Operation), "it waits for its operation"
        with suppress(Refused):
            operation.act()

    def settle(self) -> None:
        """Let every thread go on that need not wait any more, lowest number first, until none can."""
        while (thread := self._next()) is not None:
            self.run(thread, INTERRUPTED if isinstance(thread.at, Operation) else None)

    def run(self, thread: Thread, result: Any = None, error: Exception | None = None) -> None:
        thread.at, thread.may_go_on = None, at_once
        try:
            if error is not None:
                thread.at = thread.script.throw(error)
            else:
                thread.at = thread.script.send(result if thread.begun else None)
                thread.begun = True
        except StopIteration:
            self.threads.pop(thread.number, None)
            return
        at = thread.at
        thread.may_go_on = at.until if type(at) is Wait else at.interrupted if type(at) is Operation else at_once

    def _next(self) -> Thread | None:
        stalled = self.stalled
        for thread in self.threads.values():  # after every step: the innermost loop of every history
            may_go_on = thread.may_go_on
            if may_go_on is not None and thread.worker not in stalled and may_go_on():
                return thread
        return None
