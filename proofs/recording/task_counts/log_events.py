"""This module makes events of the lines of workers' logs: `LogEvents`.

A task's thread asks for a round by its worker's herder. If that worker does not lead, its request goes on to the
leader, whose log has it as submitted. Each herder performs requests in the order in which it was asked. A round begins
with what the leader reads of the config topic; if it fences, the leader's next reading is the look before the count.

What a worker read is known by the offset of its reading, so it came after what was committed below that offset, and
before what was committed above it. A task whose producer is being opened was answered with success before.

Source: DistributedHerder of Kafka 4.3 (doFenceZombieSourceTasks, ZombieFencing, verifyTaskGenerationAndOwnership)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fencepost.proofs.recording.task_counts.broker_logs import LEADER, Brokers
from fencepost.proofs.recording.task_counts.instances import Instance, Instances
from fencepost.proofs.recording.task_counts.ordering import Event, Names
from fencepost.proofs.recording.task_counts.worker_logs import Line
from fencepost.properties.task_counts.events import Kind

PASSED, CONFLICT = 200, 409
NOTHING: Mapping[str, int] = {}
OF_WORKER = MappingProxyType({"herder_stopped": Kind.worker_stopped, "write_refused": Kind.write_refused})
OF_TASK = MappingProxyType({
    "running": Kind.task_running, "stopped": Kind.task_stopped, "left_running": Kind.task_left_running,
    "failed": Kind.task_failed,
})  # fmt: skip
"""By the name of a text, what it says of the latest instance of a task."""


@dataclass(eq=False)
class Ask:
    """An `Ask` is a request for a round in one herder's queue. `asked` is the request of the worker that forwarded it,
    once that is known."""

    number: int
    connector: int
    time_us: int
    asked: Ask | None = None
    events: list[Event] = field(default_factory=list)

    @property
    def request(self) -> int:
        return self.number if self.asked is None else self.asked.number


@dataclass(eq=False)
class Round:
    """A `Round` is one that fences, until its count is written."""

    ask: Ask
    started: Event
    look: Event | None = None


@dataclass
class LogEvents:
    """A `LogEvents` gathers the events of all logs. `rounds` are those that fence, in order of time; `writings` are the
    counts that leaders say they write, each with the event before it."""

    brokers: Brokers
    instances: Instances
    nodes: Names
    events: list[Event] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    writings: list[tuple[tuple[int, int, int], Event]] = field(default_factory=list)  # node, connector, count
    asks: list[Ask] = field(default_factory=list)
    forwarded: list[Ask] = field(default_factory=list)
    submitted: list[Ask] = field(default_factory=list)

    def read(self, worker: str, lines: Iterable[Line]) -> None:
        reader = _Reader(self, worker)
        for line in lines:
            reader.read(line)
        self.events += reader.chain

    def finish(self) -> None:
        """Number the requests: one that was forwarded is that which its leader was submitted next."""
        for submitted in sorted(self.submitted, key=lambda ask: ask.time_us):
            for ask in self.forwarded:
                if ask.connector == submitted.connector and ask.time_us <= submitted.time_us:
                    submitted.asked = ask
                    self.forwarded.remove(ask)
                    break
        for ask in self.asks:
            for event in ask.events:
                event.columns["request"] = ask.request

    def ask(self, connector: int, time_us: int) -> Ask:
        self.asks.append(Ask(len(self.asks), connector, time_us))
        return self.asks[-1]


class _Reader:
    """A `_Reader` reads one worker's log, line by line. A method `_NAME` reads the lines of the text of that name."""

    def __init__(self, found: LogEvents, worker: str) -> None:
        self.found, self.brokers, self.worker, self.node = found, found.brokers, worker, found.nodes[worker]
        self.chain: list[Event] = []
        self.next_after: list[Event] = []
        self.leads = False
        self._reset()

    def _reset(self) -> None:
        self.offset = -1  # that the worker has read the config topic to
        self.asks: defaultdict[int, deque[Ask]] = defaultdict(deque)
        self.performing: Ask | None = None
        self.reading = -1  # the offset that the herder read to for the request that it performs
        self.active: dict[int, Round] = {}
        self.looking: dict[tuple[int, int], Instance] = {}
        self.invoked: list[Event] = []  # what came before the leader's producer was opened

    def read(self, line: Line) -> None:
        """Read a line. `connector`, `task` and `instance`, its latest, are those that it names, or that wrote it."""
        self.line, self.instance = line, None
        if "connector" in line.fields:
            self.connector = self.brokers.connectors[line.fields["connector"]]
        if "task" in line.fields:
            self.task = int(line.fields["task"])
            self.instance = self._latest(self.connector, self.task)
        if line.name in OF_WORKER:
            self._event(OF_WORKER[line.name])
        elif line.name in OF_TASK:
            # A task that had to stop before its producer was opened never polls.
            if self.instance and (line.name != "running" or Kind.task_checked_again in self.instance.marks):
                self._of_instance(OF_TASK[line.name], self.instance)
        elif reads := getattr(self, f"_{line.name}", None):
            reads()

    def _latest(self, connector: int, task: int) -> Instance | None:
        return next(self.found.instances.of(self.node, connector, task), None)

    def _event(self, kind: Kind, columns: Mapping[str, int] = NOTHING, ask: Ask | None = None) -> Event:
        event = Event(kind, self.line.time_us, {"node": self.node, **columns}, [*self.next_after, *self.chain[-1:]])
        self.next_after = []
        if ask is not None:
            ask.events.append(event)
        self.chain.append(event)
        return event

    def _of_instance(self, kind: Kind, instance: Instance, columns: Mapping[str, int] = NOTHING) -> Event:
        instance.marks[kind] = self._event(kind, {**instance.columns, **columns})
        return instance.marks[kind]

    def _herder_starting(self) -> None:
        self._reset()
        self._event(Kind.worker_started)

    def _joined(self) -> None:
        leader = self.line.fields["leader"]
        leads = self.brokers.clients.get(leader, leader.rpartition("-")[0]) == self.worker
        generation, offset = int(self.line.fields["generation"]), int(self.line.fields["offset"])
        self._event(Kind.assigned, {"member": generation, "offset": offset, "count": int(leads)})
        if self.leads and not leads:
            self._event(Kind.leadership_lost)
        self.leads = leads

    def _starting_at(self) -> None:
        self.offset = max(self.offset, int(self.line.fields["offset"]))

    def _task_starting(self) -> None:
        latest = self.brokers.latest_set(self.connector, self.offset)
        instance = self.found.instances.start(self.node, self.connector, self.task, self.line.time_us, latest)
        self._of_instance(Kind.task_starting, instance)

    def _asking(self) -> None:
        ask = self._submit()
        if self.instance is not None:
            self.instance.request = ask.number
            self._event(Kind.round_asked, {"connector": self.connector, "task": self.task}, ask)

    def _submitted(self) -> None:
        self.found.submitted.append(self._submit())

    def _submit(self) -> Ask:
        self.asks[self.connector].append(self.found.ask(self.connector, self.line.time_us))
        return self.asks[self.connector][-1]

    def _performing(self) -> None:
        waiting = self.asks[self.connector]
        self.performing = waiting.popleft() if waiting else self.found.ask(self.connector, self.line.time_us)
        self.reading = -1

    def _forwarding(self) -> None:
        self.found.forwarded += [self.performing] if self.performing is not None else []
        self.performing = None

    def _read_to_end(self) -> None:
        """Read a task's look after its producer was opened, or what the herder reads for a round: first to start it,
        then to look whether the set that it fences for is still the latest."""
        offset = int(self.line.fields["offset"])
        self.offset = max(self.offset, offset)
        if self.line.by_task:
            instance = self.looking.pop((self.connector, self.task), None)
            if instance is not None:
                self.brokers.saw(self._of_instance(Kind.task_checked_again, instance, {"status": PASSED}), offset)
        elif self.performing is not None and self.reading < 0:
            self.reading = offset
        elif fencing := next((each for each in self.active.values() if each.look is None), None):
            connector = fencing.ask.connector
            latest = self.brokers.latest_set(connector, offset)
            status = PASSED if latest == fencing.started["set"] else CONFLICT
            columns = {"connector": connector, "set": latest, "status": status}
            fencing.look = self.brokers.saw(self._event(Kind.round_checked, columns, fencing.ask), offset)
            if status == CONFLICT:
                del self.active[connector]

    def _skipping(self) -> Event | None:
        """Read the start of a round, which fences `count` ids."""
        ask, count = self.performing, int(self.line.fields.get("count", 0))
        if ask is None or ask.connector != self.connector:
            return None
        columns = {"connector": self.connector, "set": self.brokers.latest_set(self.connector, self.reading)}
        return self.brokers.saw(self._event(Kind.round_started, columns | {"count": count}, ask), self.reading)

    def _fencing(self) -> None:
        failed = self.active.pop(self.connector, None)  # a herder has one round of a connector at a time
        if failed is not None:
            columns = {"connector": self.connector, "set": failed.started["set"]}
            self._event(Kind.round_failed, columns, failed.ask)
        started = self._skipping()
        if started is not None and self.performing is not None:
            self.active[self.connector] = Round(self.performing, started)
            self.found.rounds.append(self.active[self.connector])

    def _writing_count(self) -> None:
        self.active.pop(self.connector, None)
        what = self.node, self.connector, int(self.line.fields["count"])
        self.found.writings += [(what, event) for event in self.chain[-1:]]

    def _opening(self) -> None:
        if self.line.fields["id"] == f"{LEADER}{self.brokers.group}":
            self.invoked = self.chain[-1:]
        elif (instance := self._owner()) is not None and instance.request >= 0:
            columns = {name: instance.columns[name] for name in ("connector", "task", "set")} | {"status": PASSED}
            answer = self._event(Kind.round_answered, columns, self.found.asks[instance.request])
            instance.marks[Kind.round_answered] = answer

    def _opened(self) -> None:
        pair = int(self.line.fields["producer_id"]), int(self.line.fields["epoch"])
        given = self.brokers.given.get(pair)
        if given is None:
            return
        given.columns["node"] = self.node
        if self.brokers.task_of(self.line.fields["id"]) is None:
            given.after += self.invoked
        elif (instance := self._owner()) is not None:
            instance.producer = pair
            given.after += [instance.marks[Kind.round_answered]] if Kind.round_answered in instance.marks else []
        self.next_after.append(given)

    def _owner(self) -> Instance | None:
        """Return the latest instance of the task that has this transactional id."""
        task = self.brokers.task_of(self.line.fields["id"])
        return self._latest(*task) if task is not None else None

    def _looking_again(self) -> None:
        if self.instance is not None:
            self.looking[self.connector, self.task] = self.instance

    def _refused_again(self) -> None:
        """Read that the herder has compared. An instance that did not stop in time is refused after the next one has
        started, and before that one looks, as its round is a later request to the herder."""
        again = Kind.task_checked_again
        looks = (each.marks.get(again) for each in self.found.instances.of(self.node, self.connector, self.task))
        if look := next(filter(None, looks), None):
            look.columns["status"] = CONFLICT
