"""The script of scenarios on source tasks: tasks that go on until they wait for an operation, and stand still there.

script = Script(tasks=2, partitions=2)
script.until(0, "commit")                # task 0 has sent its records and offsets
script.system.stall(0)
script.system.restart(0)
script.go_on()                           # its successor, and everybody else
script.audit()
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fencepost.reference_impl.simulation import scenarios
from fencepost.reference_impl.simulation.scenarios import STEPS_MAX, Known
from fencepost.reference_impl.source_offsets.defects.broken import REGISTRY
from fencepost.reference_impl.source_offsets.parts import Parts
from fencepost.reference_impl.source_offsets.system import System, build

OWNER = -1
"""The task of an owner's threads."""
AFTER_TRANSACTION_MS = 75_000  # longer than transaction.timeout.ms, and an interval of looking for it
STEP_MS = 5_000


class Script(scenarios.Script):
    """A connector of these parts, or of another implementation: a task with a source partition of four records, of
    which one poll returns one, unless it says more."""

    SMALL = MappingProxyType({"seed": 0, "tasks": 1, "partitions": 1, "records": 4, "batch": 1})

    def build(self, config: Mapping[str, Any], parts: Parts | None) -> System:
        return build(config, parts)

    def threads(self, task: int) -> list[tuple[int, str, int, int]]:
        """Those of a task, oldest first."""
        return [thread for thread in self.system.threads() if thread[2] == task and thread[0] not in self.held]

    def until(self, task: int, operation: str, times: int = 1) -> int:
        """The task's threads go on, oldest first, until one of them waits for this operation, for the so-manieth time;
        its number. Raises RuntimeError if none ever does."""
        for _ in range(STEPS_MAX):
            found = next((number for number, name, *_ in self.threads(task) if name == operation), None)
            if found is not None:
                times -= 1
                if not times:
                    return found
            if not self.walk(task):
                break
        raise RuntimeError(f"task {task} never comes to {operation}: {self.system.threads()}")

    def walk(self, task: int, steps: int = 1) -> bool:
        """So many operations of the task's threads; False if there are not so many."""
        for _ in range(steps):
            threads = self.threads(task)
            if not threads:
                return False
            self.system.step(threads[0][0])
        return True

    def then(self, task: int, operation: str, outcome: str = "ok") -> None:
        """The task goes on until this operation, which happens, or does not, as `outcome` says."""
        self.system.step(self.until(task, operation), outcome)

    def hold(self, task: int, operation: str) -> int:
        """A thread of the task that waits for this stands still from now on; its number."""
        number = self.until(task, operation)
        self.held.add(number)
        return number

    def release(self, number: int) -> None:
        """It does what it waits for."""
        self.held.discard(number)
        self.system.step(number)

    def go_on(self, *tasks: int) -> None:
        """These tasks do all they can, or everybody."""
        for _ in range(STEPS_MAX):
            ready = [thread for thread in self.system.threads() if thread[0] not in self.held]
            number = next((each[0] for each in ready if not tasks or each[2] in tasks), None)
            if number is None:
                return
            self.system.step(number)

    def audit(self) -> None:
        """All goes on, transactions time out, and an auditor looks."""
        self.held.clear()
        self.go_on()
        for _ in range(0, AFTER_TRANSACTION_MS, STEP_MS):
            self.system.advance(STEP_MS)
            self.go_on()
        self.system.audit()


KNOWN = Known(Script, REGISTRY)
