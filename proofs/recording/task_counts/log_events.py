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

from fencepost.proofs.recording.task_counts.broker_logs import LEADER, Brokers
from fencepost.proofs.recording.task_counts.instances import Instance, Instances
from fencepost.proofs.recording.task_counts.ordering import Event, Names
from fencepost.proofs.recording.task_counts.worker_logs import Line
from fencepost.properties.task_counts.events import Kind

PASSED, CONFLICT, SUCCESS = 200, 409, 200
NOTHING: Mapping[str, int] = {}


@dataclass(eq=False)
class Ask:
    """An `Ask` is a request for a round in one herder's queue. `asked` is the request of the worker that forwarded it,
    once that is known."""

    number: int
    connector: int
    time_us: int
    asked: Ask | None = None

    @property
    def request(self) -> int:
        return self.number if self.asked is None else self.asked.number


@dataclass(eq=False)
class Round:
    """A `Round` is one that fences, until its count is written."""

    ask: Ask
    node: int
    started: Event
    size: int
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
    writings: list[tuple[int, int, int, Event]] = field(default_factory=list)  # node, connector, count, event before
    unanswered: int = 0  # starts that opened a producer, without a known request
    _asks: list[Ask] = field(default_factory=list)
    _numbered: list[tuple[Event, Ask]] = field(default_factory=list)
    _forwarded: list[Ask] = field(default_factory=list)
    _submitted: list[Ask] = field(default_factory=list)

    def read(self, worker: str, lines: Iterable[Line]) -> None:
        reader = _Reader(self, worker)
        for line in lines:
            teller = getattr(reader, f"_{line.name}", None)
            if teller is not None:
                teller(line)
        self.events += reader.chain

    def finish(self) -> None:
        """Number the requests: one that was forwarded is that which its leader was submitted next."""
        for submitted in sorted(self._submitted, key=lambda ask: ask.time_us):
            for ask in self._forwarded:
                if ask.connector == submitted.connector and ask.time_us <= submitted.time_us:
                    submitted.asked = ask
                    self._forwarded.remove(ask)
                    break
        for event, ask in self._numbered:
            event.columns["request"] = ask.request

    def ask(self, connector: int, time_us: int) -> Ask:
        self._asks.append(Ask(len(self._asks), connector, time_us))
        return self._asks[-1]


class _Reader:
    """A `_Reader` reads one worker's log, line by line. A method `_NAME` reads the lines of the text of that name."""

    def __init__(self, found: LogEvents, worker: str) -> None:
        self.found, self.worker, self.node = found, worker, found.nodes[worker]
        self.chain: list[Event] = []
        self._next_after: list[Event] = []
        self._reset()
        self._leads = False

    def _reset(self) -> None:
        self.offset = -1
        self.asks: defaultdict[int, deque[Ask]] = defaultdict(deque)
        self.performing: Ask | None = None
        self.is_read = True
        self.reading = -1  # the offset that the herder read to for the request that it performs
        self.active: dict[int, Round] = {}
        self.looking: dict[tuple[int, int], Instance] = {}
        self.invoked: Event | None = None  # what came before the leader's producer was opened

    def _event(self, kind: Kind, line: Line, columns: Mapping[str, int] = NOTHING, ask: Ask | None = None) -> Event:
        event = Event(kind, line.time_us, {"node": self.node, **columns}, self._next_after)
        self._next_after = []
        if self.chain:
            event.after.append(self.chain[-1])
        if ask is not None:
            self.found._numbered.append((event, ask))
        self.chain.append(event)
        return event

    def _of(self, line: Line) -> Instance | None:
        connector, task = self._task(line)
        return self.found.instances.latest(self.node, connector, task)

    def _task(self, line: Line) -> tuple[int, int]:
        return self.found.brokers.connectors[line.fields["connector"]], int(line.fields["task"])

    def _connector(self, line: Line) -> int:
        return self.found.brokers.connectors[line.fields["connector"]]

    def _saw(self, event: Event, offset: int) -> None:
        """Note that a reading ended at an offset: after what stands below it, before what stands above."""
        below, above = self.found.brokers.around(offset)
        if below is not None:
            event.after.append(below)
        if above is not None:
            above.after.append(event)

    def _herder_starting(self, line: Line) -> None:
        self._reset()
        self._event(Kind.worker_started, line)

    def _herder_stopped(self, line: Line) -> None:
        self._event(Kind.worker_stopped, line)

    def _joined(self, line: Line) -> None:
        generation = int(line.fields["generation"])
        members = {
            member: client for each in self.found.brokers.generations for member, (client, _) in each.members.items()
        }
        leader = line.fields["leader"]
        leads = members.get(leader, leader.rpartition("-")[0] if leader not in members else "") == self.worker
        columns = {"member": generation, "offset": int(line.fields["offset"])}
        self._event(Kind.assigned, line, columns | {"count": int(leads)})
        if self._leads and not leads:
            self._event(Kind.leadership_lost, line)
        self._leads = leads

    def _starting_at(self, line: Line) -> None:
        self.offset = max(self.offset, int(line.fields["offset"]))

    def _task_starting(self, line: Line) -> None:
        connector, task = self._task(line)
        latest = self.found.brokers.latest_set(connector, self.offset)
        instance = self.found.instances.start(self.node, connector, task, line.time_us, latest)
        instance.marks["start"] = self._event(Kind.task_starting, line, instance.columns)

    def _asking(self, line: Line) -> None:
        connector, task = self._task(line)
        ask = self.found.ask(connector, line.time_us)
        instance = self._of(line)
        if instance is not None:
            instance.request = ask.number
            self._event(Kind.round_asked, line, {"connector": connector, "task": task}, ask)
        self.asks[connector].append(ask)

    def _submitted(self, line: Line) -> None:
        connector = self._connector(line)
        ask = self.found.ask(connector, line.time_us)
        self.found._submitted.append(ask)
        self.asks[connector].append(ask)

    def _performing(self, line: Line) -> None:
        connector = self._connector(line)
        waiting = self.asks[connector]
        self.performing = waiting.popleft() if waiting else self.found.ask(connector, line.time_us)
        self.is_read, self.reading = False, -1

    def _forwarding(self, line: Line) -> None:
        if self.performing is not None:
            self.found._forwarded.append(self.performing)
        self.performing = None

    def _read_to_end(self, line: Line) -> None:
        offset = int(line.fields["offset"])
        self.offset = max(self.offset, offset)
        if line.by_task:
            instance = self.looking.pop(self._task(line), None)
            if instance is not None:
                event = self._event(Kind.task_checked_again, line, instance.columns | {"status": PASSED})
                instance.marks["look"] = event
                self._saw(event, offset)
        elif self.performing is not None and not self.is_read:
            self.is_read, self.reading = True, offset
        else:
            self._look(line, offset)

    def _look(self, line: Line, offset: int) -> None:
        """Read the look of the round that fences, which fails if the set is no longer the latest."""
        fencing = next((each for each in self.active.values() if each.look is None), None)
        if fencing is None:
            return
        connector = fencing.ask.connector
        latest = self.found.brokers.latest_set(connector, offset)
        status = PASSED if latest == fencing.started["set"] else CONFLICT
        columns = {"connector": connector, "set": latest, "status": status}
        fencing.look = self._event(Kind.round_checked, line, columns, fencing.ask)
        self._saw(fencing.look, offset)
        if status == CONFLICT:
            del self.active[connector]

    def _start(self, line: Line, count: int) -> Event | None:
        connector, ask = self._connector(line), self.performing
        if ask is None or ask.connector != connector:
            return None
        latest = self.found.brokers.latest_set(connector, self.reading)
        event = self._event(Kind.round_started, line, {"connector": connector, "set": latest, "count": count}, ask)
        self._saw(event, self.reading)
        return event

    def _skipping(self, line: Line) -> None:
        self._start(line, 0)

    def _fencing(self, line: Line) -> None:
        size = int(line.fields["count"])
        failed = self.active.pop(self._connector(line), None)  # a herder has one round of a connector at a time
        if failed is not None:
            self._event(
                Kind.round_failed, line, {"connector": failed.ask.connector, "set": failed.started["set"]}, failed.ask
            )
        started = self._start(line, size)
        if started is not None and self.performing is not None:
            fencing = Round(self.performing, self.node, started, size)
            self.active[started["connector"]] = fencing
            self.found.rounds.append(fencing)

    def _writing_count(self, line: Line) -> None:
        connector = self._connector(line)
        self.active.pop(connector, None)
        if self.chain:
            self.found.writings.append((self.node, connector, int(line.fields["count"]), self.chain[-1]))

    def _opening(self, line: Line) -> None:
        if line.fields["id"] == f"{LEADER}{self.found.brokers.group}":
            self.invoked = self.chain[-1] if self.chain else None
            return
        task = self.found.brokers.task_of(line.fields["id"])
        instance = self.found.instances.latest(self.node, *task) if task is not None else None
        if instance is None or task is None:
            return
        if instance.request < 0:
            self.found.unanswered += 1
            return
        ask = self.found._asks[instance.request]
        columns = {"connector": task[0], "task": task[1], "set": instance.set, "status": SUCCESS}
        instance.marks["answer"] = self._event(Kind.round_answered, line, columns, ask)

    def _opened(self, line: Line) -> None:
        pair = int(line.fields["producer_id"]), int(line.fields["epoch"])
        given = self.found.brokers.given.get(pair)
        if given is None:
            return
        given.columns["node"] = self.node
        task = self.found.brokers.task_of(line.fields["id"])
        if task is None:
            given.after += [self.invoked] if self.invoked is not None else []
        else:
            instance = self.found.instances.latest(self.node, *task)
            if instance is not None:
                instance.producer = pair
                given.after += [instance.marks["answer"]] if "answer" in instance.marks else []
        self._next_after.append(given)

    def _looking_again(self, line: Line) -> None:
        instance = self._of(line)
        if instance is not None:
            self.looking[self._task(line)] = instance

    def _refused_again(self, line: Line) -> None:
        instance = self._of(line)
        if instance is not None and "look" in instance.marks:
            instance.marks["look"].columns["status"] = CONFLICT

    def _running(self, line: Line) -> None:
        """Note that a task runs, unless it had to stop before its producer was opened: then it never polls."""
        instance = self._of(line)
        if instance is not None and "look" in instance.marks:
            self._now(Kind.task_running, "running", line)

    def _stopped(self, line: Line) -> None:
        self._now(Kind.task_stopped, "stop", line)

    def _left_running(self, line: Line) -> None:
        event = self._now(Kind.task_left_running, "left", line)
        instance = self._of(line)
        if event is not None and instance is not None:
            instance.is_left = True

    def _failed(self, line: Line) -> None:
        if line.by_task:
            self._now(Kind.task_failed, "failed", line)

    def _now(self, kind: Kind, mark: str, line: Line) -> Event | None:
        """Note what a task's latest instance does, or, where that is left running and failed, the one before it."""
        instance = self._of(line)
        if instance is None:
            return None
        instance.marks[mark] = self._event(kind, line, instance.columns)
        return instance.marks[mark]

    def _write_refused(self, line: Line) -> None:
        self._event(Kind.write_refused, line)
