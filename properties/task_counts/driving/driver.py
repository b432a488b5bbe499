"""Who drives a Connect cluster: calls on the plug through a session, and the smallest helpers."""

from collections.abc import Sequence
from typing import Any, ClassVar

from fencepost.properties.driving import Made, Run, Session, read
from fencepost.properties.task_counts.driving.interface import AT_WORK, Thread
from fencepost.properties.task_counts.driving.programs import Call, step_of, the_end
from fencepost.properties.task_counts.driving.seen import Seen
from hypothesis import target
from hypothesis.stateful import RuleBasedStateMachine

DELAY_MS = 400_000
"""Longer than an incremental rebalance waits for a worker to come back (shipped: 5 minutes)."""
BY_THE_LEADER = frozenset({"topic_claimed", "set_written", "count_written"})


class Driver(RuleBasedStateMachine):
    """Calls on the plug, and what the driver knows: who is up, who led last, and what it saw."""

    session: ClassVar[Session]
    mode: ClassVar[str]
    run: Run
    seen: Seen
    stalled: set[int]
    leader: int

    def start(self, config: dict[str, Any]) -> None:
        self.seen, self.stalled, self.leader = Seen(config), set(), 0
        self.zombies = self.late = 0
        self.run = self.session.start({**config, **self.session.config, "mode": self.mode})
        for made in self.run.made:
            self._note(made)

    def teardown(self) -> None:
        if not hasattr(self, "run"):
            return
        if not self.run.over:
            target(float(sum(len(topic.sets) for topic in self.seen.topics.values())), label="sets")
            target(float(self.zombies), label="old tasks that ran on when a set was committed")
            target(float(self.late), label="operations of an old task after a newer set")
        for worker in sorted(self.seen.down):
            self.call("restart_worker", worker=worker)
        self.session.call(self.run, the_end(self.run.config))

    def call(self, name: str, **arguments: Any) -> Made | None:
        return self._made(Call(name, **arguments))

    def _made(self, call: Call) -> Made | None:
        made = self.session.call(self.run, call)
        if made is not None:
            self._note(made)
        return made

    def _note(self, made: Made) -> None:
        match made.call.name:
            case "stall":
                self.stalled.add(made.call.worker)
            case "resume" | "restart_worker" | "crash":
                self.stalled.discard(made.call.worker)
        for event in made.events:
            self.seen.note(event)
            kind, node = read(event, "kind"), read(event, "node", -1)
            if kind in BY_THE_LEADER and node >= 0:
                self.leader = node
            if kind == "set_written":
                topic = self.seen.topics[read(event, "connector")]
                old = [i for i in self.seen.running(read(event, "connector")) if i.node in self.stalled]
                self.zombies += len([i for i in old if i.set < topic.newest])
            if kind == "producer_opened":
                self.late += read(event, "set", -1) < self.seen.topics[read(event, "connector")].newest

    @property
    def size(self) -> tuple[int, int, int]:
        config = self.run.config
        return config["workers"], config["connectors"], config["max_tasks"]

    def worker(self, number: int, other_than: int = -1) -> int:
        """One that is up, does not stall, and is not that other one, if there is such a worker."""
        up = [w for w in range(self.size[0]) if w not in self.stalled | self.seen.down and w != other_than]
        return up[number % len(up)] if up else number % self.size[0]

    def connector(self, number: int) -> int:
        return number % self.size[1]

    def threads(self) -> Sequence[Thread]:
        threads: Sequence[Thread] = () if self.run.over else self.run.system.threads()
        return threads

    def step(self, thread: Thread, outcome: str = "ok") -> None:
        self._made(step_of(thread, self.threads(), outcome))

    def let(self, number: int, operations: int) -> None:
        """This thread, and nobody else, does so much."""
        for _ in range(operations):
            thread = next((t for t in self.threads() if t[0] == number), None)
            if thread is None:
                return
            self.step(thread)

    def waiting(self, operation: str, worker: int = -1, connector: int = -1, task: int = -1) -> list[Thread]:
        """Threads that wait for this."""
        wanted = (worker, connector, task)
        return [
            t
            for t in self.threads()
            if t[1] == operation and all(w in (-1, i) for w, i in zip(wanted, t[2:], strict=True))
        ]

    def go(self, spared: str = "", **of: int) -> None:
        """Everything happens, but for what is spared."""
        self.call("run", operation=spared, **of)

    def work(self, worker: int = -1) -> None:
        self.call("work", worker=worker)

    def configure(self, connector: int, tasks: int, worker: int = 0, other_than: int = -1) -> None:
        """A user asks for so many tasks: one worker after the other, as long as it is refused."""
        asked = range(worker, worker + self.size[0])
        for one in dict.fromkeys(self.worker(number, other_than) for number in asked):
            made = self.call("configure", worker=one, connector=connector, value=1 + (tasks - 1) % self.size[2])
            if made is not None and made.result:
                return

    def brink(self, operation: str, connector: int, number: int, worker: int = -1) -> Thread | None:
        """Everything happens until somebody is about to do this for a connector; that thread, if it comes to it."""
        self.go(operation, connector=connector, worker=worker)
        found = self.waiting(operation, worker, connector)
        return found[number % len(found)] if found else None

    def all_up(self) -> None:
        """Who stands still goes on, and who is down comes back: a maneuver needs everybody."""
        for worker in sorted(self.stalled):
            self.call("resume", worker=worker)
        for worker in sorted(self.seen.down):
            self.call("restart_worker", worker=worker)

    def leave(self, worker: int) -> None:
        """A worker stands still, and the group goes on without it."""
        self.call("stall", worker=worker)
        self.call("expire", worker=worker)

    def wait_for_the_group(self) -> None:
        """The rebalance that gives away what nobody came back for."""
        self.go()
        self.call("advance", value=DELAY_MS)
        self.go()

    def back(self, worker: int) -> None:
        self.call("resume", worker=worker)

    def is_at_work(self, number: int) -> bool:
        return any(t[0] == number and t[1] in AT_WORK for t in self.threads())
