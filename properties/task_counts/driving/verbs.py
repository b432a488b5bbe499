"""The verbs of scenarios on Connect clusters: what they do again and again, in a word each, and what is known."""

from typing import Any

from fencepost.properties.calls import Call as AnyCall
from fencepost.properties.driving import Made, read
from fencepost.properties.machine import Machine
from fencepost.properties.task_counts.driving.interface import AT_WORK, Thread
from fencepost.properties.task_counts.driving.programs import Call
from fencepost.properties.task_counts.driving.seen import Seen
from hypothesis import target

DELAY_MS = 400_000
"""Longer than an incremental rebalance waits for a worker to come back (shipped: 5 minutes)."""


class Verbs(Machine, steps={}):
    """``seen``: what events have shown; ``stalled``: workers that stand still."""

    call_type = Call
    seen: Seen
    stalled: set[int]

    def start(self, config: Any) -> None:
        self.seen, self.stalled = Seen(config), set()
        self.zombies = self.late = 0
        super().start(config)
        for made in self.run.made:
            self._note(made)

    def teardown(self) -> None:
        """The faults are over: those that are up get on by themselves; then those that are down come back, and what
        failed is started again."""
        if not hasattr(self, "run"):
            return
        if not self.run.over:
            target(float(sum(len(topic.sets) for topic in self.seen.topics.values())), label="sets")
            target(float(self.zombies), label="old tasks that ran on when a set was committed")
            target(float(self.late), label="operations of an old task after a newer set")
        self.get_on()
        for worker in sorted(self.seen.down):
            self.call("restart_worker", worker)
        self.call("finish")

    def make(self, call: AnyCall) -> Made | None:
        made = super().make(call)
        if made is not None:
            self._note(made)
        return made

    def _note(self, made: Made) -> None:
        match made.call.name:
            case "stall":
                self.stalled.add(made.call.get("worker"))
            case "resume" | "restart_worker" | "crash":
                self.stalled.discard(made.call.get("worker"))
            case "get_on" | "finish":
                self.stalled.clear()
        for event in made.events:
            self.seen.note(event)
            kind = read(event, "kind")
            if kind == "set_written":
                topic = self.seen.topics[read(event, "connector")]
                old = [i for i in self.seen.running(read(event, "connector")) if i.node in self.stalled]
                self.zombies += len([i for i in old if i.set < topic.newest])
            if kind == "producer_opened":
                self.late += read(event, "set", -1) < self.seen.topics[read(event, "connector")].newest

    def worker(self, number: int, other_than: int = -1) -> int:
        """One that is up, does not stall, and is not that other one, if there is such a worker."""
        workers = self.run.config["workers"]
        up = [w for w in range(workers) if w not in self.stalled | self.seen.down and w != other_than]
        return up[number % len(up)] if up else number % workers

    def connector(self, number: int) -> int:
        return self.index("connectors", number)

    def step(self, thread: Thread, outcome: str = "ok") -> None:
        self.send(thread, "step", outcome=outcome)

    def let(self, number: int, operations: int) -> None:
        """This thread, and no other, does so much."""
        for _ in range(operations):
            thread = next((t for t in self.waiting() if t[0] == number), None)
            if thread is None:
                return
            self.step(thread)

    def go(self, spared: str = "", **of: int) -> None:
        """Everything happens, but for what is spared."""
        self.call("run", spared, **of)

    def work(self, worker: int = -1) -> None:
        self.call("work", worker)

    def configure(self, connector: int, tasks: int, worker: int = 0, other_than: int = -1) -> None:
        """A user asks for so many tasks: one worker after the other, as long as it is refused."""
        asked = range(worker, worker + self.run.config["workers"])
        for one in dict.fromkeys(self.worker(number, other_than) for number in asked):
            if self.did("configure", one, connector, 1 + (tasks - 1) % self.run.config["max_tasks"]):
                return

    def brink(self, operation: str, connector: int, number: int, worker: int = -1) -> Thread | None:
        """Everything happens until a thread is about to do this for a connector; that thread, if it comes to it."""
        self.go(operation, connector=connector, worker=worker)
        found = self.waiting(operation, worker, connector)
        return found[number % len(found)] if found else None

    def at_work(self, connector: int) -> list[int]:
        """The workers on which a task of this connector runs."""
        return sorted({t[2] for t in self.waiting() if t[1] in AT_WORK and t[3] == connector})

    def all_up(self) -> None:
        """Who stands still goes on, and who is down comes back: a scenario needs everybody."""
        for worker in sorted(self.stalled):
            self.call("resume", worker)
        for worker in sorted(self.seen.down):
            self.call("restart_worker", worker)

    def get_on(self) -> None:
        """The faults are over for those that are up, and nobody waits for the others."""
        for worker in sorted(self.seen.down):
            self.call("expire", worker)
        self.call("get_on")

    def leave(self, worker: int) -> None:
        """A worker stands still, and the group goes on without it."""
        self.call("stall", worker)
        self.call("expire", worker)

    def fall(self, worker: int) -> None:
        """A worker is gone, and the group goes on without it."""
        self.call("crash", worker)
        self.call("expire", worker)

    def wait_for_the_group(self) -> None:
        """The rebalance that gives away the tasks of workers that have not come back."""
        self.go()
        self.call("advance", DELAY_MS)
        self.go()

    def back(self, worker: int) -> None:
        self.call("resume", worker)
