"""Short scripts on the plug: every thread goes on, oldest first, except what the script holds up.

script = Script(Parts(), mode="B", workers=3)
script.configure(0, tasks=2)             # a user asks; the set is written, fenced, and its tasks start
script.work()                            # every task that runs sends something, and commits it
script.until("open_producer", task=0)    # a thread is about to open task 0's producer: it is held up
script.configure(0, tasks=1)             # the others go on
script.go()                              # and now it
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from fencepost.reference_impl.simulation import scenarios
from fencepost.reference_impl.simulation.scenarios import Known
from fencepost.reference_impl.task_counts.defects.broken import REGISTRY
from fencepost.reference_impl.task_counts.parts import Parts
from fencepost.reference_impl.task_counts.system import System, build

AT_WORK = ("poll", "commit")  # what running tasks do for ever
PATIENCE_MS = 1_000  # back-offs are 250 ms
STEPS_MAX = 5_000  # a broken cluster may go round in circles


class Thread(NamedTuple):
    """A thread that waits for its operation; -1 where a column does not apply."""

    number: int
    operation: str
    worker: int
    connector: int
    task: int


class Script(scenarios.Script):
    """A cluster of these parts, or the one given, or of another implementation.  Exactly-once support is on unless the
    script says otherwise: off, which is the default, there is nothing to show."""

    SMALL = MappingProxyType({"seed": 0, "support": "enabled", "workers": 2})

    def __init__(self, parts: Parts | None = None, **config: Any) -> None:
        super().__init__(parts, **config)
        self.workers: int = self.config["workers"]
        self.settle()

    def build(self, config: Mapping[str, Any], parts: Parts | None) -> System:
        return build(config, parts or Parts())

    def threads(self, operation: str = "", worker: int = -1, connector: int = -1, task: int = -1) -> list[Thread]:
        """The threads that wait at an operation, held up or not; "" and -1 mean any."""
        return [
            thread
            for thread in (Thread(*row) for row in self.system.threads())
            if operation in ("", thread.operation)
            and worker in (-1, thread.worker)
            and connector in (-1, thread.connector)
            and task in (-1, thread.task)
        ]

    def free(self) -> list[Thread]:
        """The threads that may go on without a task having to work."""
        return [t for t in self.threads() if t.number not in self.held and t.operation not in AT_WORK]

    def step(self) -> bool:
        """The oldest thread that may go on does; False if there is none."""
        for thread in self.free():
            self.system.step(thread.number)
            return True
        return False

    def run(self, wanted: Callable[[], Any] = lambda: False, ms: int = PATIENCE_MS) -> bool:
        """Let everything happen, and time pass, until what is wanted holds; False if it never does."""
        passed = 0
        for _ in range(STEPS_MAX):
            if wanted():
                return True
            if not self.step():
                if passed >= ms:
                    return False
                passed += 50
                self.system.advance(50)
        return bool(wanted())

    def settle(self, ms: int = PATIENCE_MS) -> None:
        """Let everything happen that can, and time pass."""
        self.run(ms=ms)

    def until(self, operation: str, worker: int = -1, connector: int = -1, task: int = -1) -> Thread:
        """Let everything else happen until such a thread waits at this operation; hold it up. Raises if none does."""

        def fresh() -> list[Thread]:
            return [t for t in self.threads(operation, worker, connector, task) if t.number not in self.held]

        if not self.run(fresh):
            raise RuntimeError(f"no thread ever waits to {operation}: there are {self.system.threads()}")
        thread = fresh()[0]
        self.held.add(thread.number)
        return thread

    def go(self, thread: Thread | None = None) -> None:
        """Let a held thread go on (all of them without one named), and everything that follows."""
        self.held -= {thread.number} if thread else set(self.held)
        self.settle()

    def outcome(self, thread: Thread, outcome: str) -> None:
        """The operation of a held thread fails, or its answer is lost; the thread goes on."""
        self.held.discard(thread.number)
        self.system.step(thread.number, outcome)

    def ask(self, call: Callable[[int], bool]) -> int:
        """A user asks one worker after the other until one accepts; then everything settles. Raises if none does."""
        for worker in range(self.workers):
            if call(worker):
                self.settle()
                return worker
        raise RuntimeError(f"no worker accepts the request: there are {self.system.threads()}")

    def configure(self, connector: int, tasks: int) -> int:
        """A user creates or reconfigures a connector."""
        return self.ask(lambda worker: self.system.configure(worker, connector, tasks))

    def delete(self, connector: int) -> int:
        """A user deletes a connector."""
        return self.ask(lambda worker: self.system.delete(worker, connector))

    def restart_task(self, connector: int, task: int) -> int:
        """A user restarts a task."""
        return self.ask(lambda worker: self.system.restart_task(worker, connector, task))

    def zombie(self, worker: int) -> None:
        """A worker stalls, if it does not yet, and the group goes on without it."""
        self.system.stall(worker)
        self.system.expire(worker)
        self.settle()

    def resume(self, worker: int) -> None:
        """A stalled worker goes on; nothing of it has happened yet."""
        self.system.resume(worker)

    def alone(self, thread: Thread, *operations: str) -> None:
        """A held thread does its operation, and then those of these that it comes to, while everybody else waits."""
        self.outcome(thread, "ok")
        for operation in operations:
            for following in self.threads(operation, thread.worker, thread.connector, thread.task):
                if following.number == thread.number:
                    self.system.step(following.number)

    def work(self, worker: int = -1, connector: int = -1, task: int = -1) -> None:
        """Running tasks, of all workers or of one, send something and commit it."""
        for operation in AT_WORK:
            for thread in self.threads(operation, worker, connector, task):
                if thread.number not in self.held:
                    self.system.step(thread.number)
        self.settle()

    def owner(self, connector: int, task: int) -> int:
        """The worker that runs a task (the latest one to); -1 if none ever did."""
        running = [e for e in self.told() if e.kind == "task_running" and (e.connector, e.task) == (connector, task)]
        return running[-1].node if running else -1

    def leader(self) -> int:
        """The worker that claimed the config topic last; -1 if none ever did."""
        claims = [event.node for event in self.told() if event.kind == "topic_claimed"]
        return claims[-1] if claims else -1


KNOWN = Known(Script, REGISTRY, {"mode": "B", "workers": 3})
