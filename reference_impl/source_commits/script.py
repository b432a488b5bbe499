"""The script of scenarios on a source task: threads and requests that go on one by one, and stand still where it
matters.

script = Script(Parts(), mode="proposed")
script.begin()                      # the first instance has read its offsets
script.until("polled")
script.arrive("record", nth=1)      # the second record is acknowledged, the first is still in flight
script.commit("told")               # the committer runs until then
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fencepost.reference_impl.simulation import scenarios
from fencepost.reference_impl.simulation.scenarios import STEPS_MAX, Known
from fencepost.reference_impl.source_commits.defects.broken import REGISTRY
from fencepost.reference_impl.source_commits.parts import Parts
from fencepost.reference_impl.source_commits.system import System, Waiting, build

TASK, COMMITTER = 0, 1
REQUESTS = ("record", "offset")


class Script(scenarios.Script):
    """A task of these parts, or of another implementation: one source partition, two outputs."""

    SMALL = MappingProxyType({"seed": 0, "partitions": 1, "records": 6, "outputs": 2, "batch": 2})

    def build(self, config: Mapping[str, Any], parts: Parts | None) -> System:
        return build(config, parts or Parts())

    def waiting(self, *operations: str, thread: int = -1, instance: int = -1) -> list[Waiting]:
        """What waits, oldest first: before these operations (of this thread, of this instance)."""
        return [
            waiting
            for waiting in self.system.threads()
            if (not operations or waiting[1] in operations)
            and thread in (-1, waiting[3])
            and instance in (-1, waiting[2])
        ]

    def count(self, kind: str) -> int:
        """How often something of this kind has happened."""
        return len(self.kinds(kind))

    def begin(self) -> None:
        """An instance is started, and has read its offsets."""
        self.system.start()
        self.thread("resumed")

    def one(self, thread: int, outcome: str = "ok", instance: int = -1) -> bool:
        """One operation of a thread of the newest instance; False if it has to wait, or there is none."""
        waits = [w for w in self.waiting(thread=thread, instance=instance) if w[1] not in REQUESTS]
        return bool(waits) and bool(self.system.step(waits[-1][0], outcome))

    def thread(self, kind: str, thread: int = TASK, instance: int = -1, times: int = 1) -> None:
        """A thread goes on until something of this kind happens, so many times. Raises RuntimeError if it never
        does."""
        before = self.count(kind)
        for _ in range(STEPS_MAX):
            if self.count(kind) >= before + times:
                return
            if not self.one(thread, instance=instance):
                break
        raise RuntimeError(f"{kind} never happens: what waits is {self.system.threads()}")

    def before(self, operation: str, thread: int = TASK) -> None:
        """A thread goes on until it stands before this operation. Raises RuntimeError if it never does."""
        for _ in range(STEPS_MAX):
            if self.waiting(operation, thread=thread):
                return
            if not self.one(thread):
                break
        raise RuntimeError(f"thread {thread} never comes to {operation}: what waits is {self.system.threads()}")

    def arrive(self, what: str = "record", nth: int = 0, outcome: str = "ok") -> None:
        """A request comes to its broker: the nth of those that can."""
        self.system.step(self.waiting(what)[nth][0], outcome)

    def all_arrive(self, *what: str) -> None:
        """Everything in flight does."""
        while waits := self.waiting(*(what or REQUESTS)):
            self.system.step(waits[0][0])

    def commit(self, kind: str = "told") -> None:
        """The committer begins, and goes on until something of this kind happens; what it writes arrives."""
        self.system.commit_due()
        before = self.count(kind)
        for _ in range(STEPS_MAX):
            if self.count(kind) > before:
                return
            if not self.one(COMMITTER):
                self.all_arrive("offset")
                if not self.one(COMMITTER):
                    break
        raise RuntimeError(f"{kind} never happens: what waits is {self.system.threads()}")

    def poll(self, times: int = 1) -> None:
        """So many batches are polled and sent, and what became committable before is taken off the queues."""
        for _ in range(times):
            self.before("poll")
            self.one(TASK)
            self.before("update")
            self.one(TASK)

    def go_on(self) -> None:
        """Everything happens, until nothing is left to happen."""
        idle = 0
        while idle < 4:
            before = self.told()[:]
            for number, *_ in self.system.threads():
                if any(number == each for each, *_ in self.system.threads()):
                    self.system.step(number)
            fresh = self.told()[len(before) :]
            idle = 0 if any(event.kind != "told" for event in fresh) else idle + 1

    def crash(self) -> None:
        """The process is gone, and another instance goes on from what is stored; an auditor looks."""
        self.system.kill()
        self.begin()
        self.go_on()
        self.system.audit()


KNOWN = Known(Script, REGISTRY)
