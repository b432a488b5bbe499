"""This module is a source task on a real Connect cluster that is driven operation by operation, as
`properties/source_commits/interface` wants it: without exactly-once support as `shipped`, and with it as
`proposed-exactly-once`, though no release calls commit with offsets.

    system = own({"mode": "shipped", "partitions": 1, "records": 8, "batch": 2, "outputs": 1, "tolerance": "none"})

| operation | what waits |
|---|---|
| start, poll, tell | a call of `SourceTask`: start with its offsets, poll, commit |
| record | Produce of the task's producer with a record |
| offset | Produce of the worker's producer, or with transactions ("flush") of the task's, with source offsets |
| commit | EndTxn |

The committer stands in `commit` of the task until the next commit is due, as its interval is short. What it takes,
hands over and waits for is hidden, and so is the final wait. The upstream system forgets what the connector finds
stored when commit is called.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.reference_impl.live.connect.auditing import Auditor
from fencepost.reference_impl.live.connect.control import Call
from fencepost.reference_impl.live.connect.driven import LONG_MS, SETTINGS, Live, live
from fencepost.reference_impl.live.connect.observing import (
    AGAIN,
    Event,
    Instance,
    contents,
    is_map,
    is_task,
)
from fencepost.reference_impl.live.connect.sources import OF_TASKS, Source, SourceGates, records_in, written
from fencepost.reference_impl.live.proxy.frames import Request
from fencepost.reference_impl.live.tcp.reading import Patience

Thread = tuple[int, str, int, int, int]
ONCE = "proposed-exactly-once"
TASK, COMMITTER = 0, 1
OF_A_TASK = "task-thread"  # begins the name of the task's own thread
OWN_SETTINGS: Mapping[str, object] = {
    **SETTINGS, "offset.flush.interval.ms": 10,
    # Nothing is given up by the clock.
    "offset.flush.timeout.ms": LONG_MS, "task.shutdown.graceful.timeout.ms": LONG_MS,
}  # fmt: skip
CALLS = {"started": "start", "poll": "poll", "commit": "tell"}
STARTS_S = 30.0


@dataclass
class Work:
    """A `Work` is what one instance has done. Records and offsets are (partition, number)."""

    last: dict[int, int] = field(default_factory=dict)
    outcome: list[tuple[str, dict[str, int]]] = field(default_factory=list)  # what its transaction has, by kind
    polled: list[tuple[int, int]] = field(default_factory=list)  # since its last transaction ended
    thread: int = TASK  # which is in commit
    aborts: bool = False
    is_over: bool = False
    is_closing: bool = False


class Commits(Source):
    """A `Commits` has the events of one task, and of the topics that it writes to."""

    def __init__(self, live: Live, name: str, config: Mapping[str, Any], stored: Callable[[], dict[int, int]]) -> None:
        super().__init__(live, name, config)
        self.is_once = config["mode"] == ONCE
        self.wants_abort = False
        self.standing: Call | None = None  # the committer's call, until its commit is due
        self.is_due_at = ""  # the instance whose committer has been asked to commit
        self._stored, self._flushes, self._forgotten = stored, itertools.count(), dict[int, int]()
        self._work: dict[int, Work] = {}

    def work(self, instance: Instance) -> Work:
        return self._work.setdefault(instance.number, Work())

    def running(self) -> Instance | None:
        found = [each for each in self.instances if each.name and not (each.is_ended or self.work(each).is_over)]
        return found[-1] if found else None

    def emit(self, kind: str, instance: Instance, **columns: int) -> None:
        self.seen.append({"kind": kind, "instance": instance.number, **columns})

    def drained(self) -> list[Event]:
        for each in self.instances:
            if self.work(each).is_closing:
                self.ends("instance_stopped", each)
        found, self.seen = self.seen, []
        return found

    def ends(self, kind: str, instance: Instance) -> None:
        work = self.work(instance)
        if not work.is_over:
            self.emit(kind, instance)
        work.is_over, work.is_closing = True, False

    # -- what the control server sees

    def took(self, node: int, call: Call) -> str:
        instance = self.take(node, call)
        if instance is None:
            return ""
        if self.is_once and instance.producer_id < 0:  # asked to stop before it opens one, it ends at once
            instance.is_ended = True
            return ""
        work = self.work(instance)
        match call.name:
            case "start":
                self.emit("instance_started", instance)
            case "started":
                pairs = (pair.split(":") for pair in filter(None, call.fields["found"].split(",")))
                work.last = {int(partition): int(offset) for partition, offset in pairs}
            case "commitRecord":
                self._acknowledged(instance, call)
            case "commit":
                work.thread = TASK if call.fields["thread"].startswith(OF_A_TASK) else COMMITTER
                if work.thread == COMMITTER and self.is_due_at != call.instance:  # none has asked it to
                    self.emit("told", instance, thread=COMMITTER, entries=-1)
                    self.standing = call
            case "stop":
                work.is_closing = True
        return CALLS.get(call.name, "")

    def _acknowledged(self, instance: Instance, call: Call) -> None:
        partition, record = map(int, call.fields["record"].split(":"))
        columns = {"partition": partition, "record": record, "offset": record}
        if call.fields["at"]:
            self.emit("acknowledged", instance, **columns, output=0, position=int(call.fields["at"]))
        else:
            self.emit("given_up", instance, **columns)

    def is_due(self, instance: Instance, operation: str) -> bool:
        if operation == "tell":
            return (
                self.standing is None or self.standing.instance != instance.name or self.work(instance).thread == TASK
            )
        return operation != "poll" or bool(self.next_records(self.work(instance).last))

    def answer(self, instance: Instance, operation: str) -> Mapping[str, object]:
        work = self.work(instance)
        if operation == "start":
            for partition, offset in work.last.items():
                self.emit("resumed", instance, partition=partition, offset=offset)
        elif operation == "tell":
            self.emit_commit_called(instance)
        elif operation == "poll":
            return self._polls(instance)
        return {}

    def emit_commit_called(self, instance: Instance) -> None:
        """Note a call of commit, in which the connector looks up what is stored, and informs upstream."""
        self.emit("told", instance, thread=self.work(instance).thread, entries=-1)
        stored = self._stored()
        for partition in range(int(self.config["partitions"])):
            offset = stored.get(partition, 0)
            self.emit("looked_up", instance, partition=partition, offset=offset)
            if offset > self._forgotten.get(partition, 0):
                self._forgotten[partition] = offset
                self.emit("discarded", instance, partition=partition, offset=offset)

    def _polls(self, instance: Instance) -> Mapping[str, object]:
        work = self.work(instance)
        records = self.next_records(work.last)
        work.last |= dict(records)
        work.polled += records
        for partition, record in records:
            self.emit("polled", instance, partition=partition, record=record, offset=record)
        answer: dict[str, object] = {"records": ",".join(f"{partition}:1" for partition, _ in records)}
        if self.is_once:
            answer["boundary"] = "abort" if self.wants_abort else "commit"
            work.aborts, self.wants_abort = self.wants_abort, False
        return answer

    # -- what the proxies see

    def operation(self, node: int, request: Request) -> tuple[str, Instance] | None:
        if request.name == "Produce":
            records = contents(request)[1]
            instance = self._whose(records, request)
            own = "flush" if is_task(request.client_id) else "offset"
            return None if instance is None else ("record" if records_in(records) else own, instance)
        instance = self._ends(request)
        return None if instance is None or not request.payload.committed else ("commit", instance)

    def _ends(self, request: Request) -> Instance | None:
        """Return whose transaction a request ends."""
        if request.name != "EndTxn" or not is_task(request.client_id) or self.owner(request) is None:
            return None
        return self.of_pair(int(request.payload.producer_id), int(request.payload.producer_epoch))

    def _whose(self, records: Sequence[tuple[str, Any]], request: Request) -> Instance | None:
        """Return whose records or source offsets these are."""
        if records_in(records):
            name = next(value["instance"] for _, value in records if is_map(value) and "instance" in value)
            return next((each for each in self.instances if each.name == name), None)
        if not any(True for _ in self.offsets_in(records)):
            return None
        if is_task(request.client_id):
            return self.of_pair(*contents(request)[0])
        return next((each for each in reversed(self.instances) if each.name), None)

    def answered(self, node: int, request: Request, answer: Any) -> None:
        super().answered(node, request, answer)
        events = [*self.events]
        self.events.clear()
        if any(event["kind"] == "task_failed" for event in events):
            for each in self.instances:
                if each.node == node:
                    self.ends("instance_failed", each)
        if answer is None or request.payload is None:
            return
        if (ending := self._ends(request)) is not None:
            if int(answer.error_code) not in AGAIN:
                self._is_at_end(ending, bool(request.payload.committed), int(answer.error_code))
            return
        if (found := self.operation(node, request)) is None:
            return
        operation, instance = found
        if any(int(each.error_code) for topic in answer.responses for each in topic.partition_responses):
            return
        flush = next(self._flushes) if operation != "record" else -1
        for position, key, value in written(request, answer):
            for partition, record in records_in([(key, value)]):
                columns = {"partition": partition, "record": record, "offset": record, "output": 0}
                self._wrote("produced", instance, **columns, position=position)
            for partition, offset in self.offsets_in([(key, value)]):
                columns = {"partition": partition, "offset": offset, "flush": flush}
                self._wrote("offset_written", instance, **columns, position=position)

    def _wrote(self, kind: str, instance: Instance, **columns: int) -> None:
        """Note what counts from now on, or with transactions from the commit on."""
        if self.is_once:
            self.work(instance).outcome.append((kind, columns))
        else:
            self.emit(kind, instance, **columns)

    def _is_at_end(self, instance: Instance, committed: bool, error: int) -> None:
        work = self.work(instance)
        if not error and committed:
            self.emit("transaction_committed", instance)
            # Of its requests there is no order: all of them count at once.
            for kind, columns in sorted(work.outcome, key=lambda each: each[0] == "offset_written"):
                self.emit(kind, instance, **columns)
        elif not error and work.aborts:
            self.emit("transaction_aborted", instance, outcome=1)
            for partition, record in work.polled:  # no release calls commitRecord without metadata for them
                self.emit("given_up", instance, partition=partition, record=record, offset=record)
        work.outcome, work.polled, work.aborts = [], [], False


class CommitSystem:
    """A `CommitSystem` is a `fencepost.properties.source_commits.interface.System`."""

    def __init__(self, live: Live, config: Mapping[str, Any]) -> None:
        assert isinstance(live.gates, SourceGates)
        self._live, self._cluster, self._gates, self._config = live, live.cluster, live.gates, config
        (name,) = live.names(1)
        self._auditor, self._read, self._has_config = Auditor(live.cluster.kafka.bootstrap), 0, False
        self._commits = Commits(live, name, config, self._stored)
        live.gates.close(self._commits)

    def threads(self) -> Sequence[Thread]:
        return [
            (number, what, each.number, self._thread(what, each), -1) for number, what, each in self._gates.operations()
        ]

    def _thread(self, operation: str, instance: Instance) -> int:
        if operation in ("record", "offset"):
            return -1
        return self._commits.work(instance).thread if operation == "tell" else TASK

    def step(self, number: int, outcome: str = "ok") -> bool:
        found = next((each for each in self._gates.operations() if each[0] == number), None)
        if found is None:
            return False
        _, operation, instance = found
        if operation == "tell" and self._commits.work(instance).thread == COMMITTER and outcome == "ok":
            self._commits.emit_commit_called(instance)  # it stands there until the next commit is due
            self._commits.standing = next(call for call in self._cluster.control.held if call.instance == instance.name)
            self._commits.is_due_at = ""
            return True
        if operation == "tell" and outcome != "ok":
            self._commits.emit("telling_failed", instance, thread=self._commits.work(instance).thread)
            self._commits.is_due_at = ""
        self._gates.step(number, outcome)
        return True

    def commit_due(self) -> bool:
        standing = self._commits.standing
        running = self._commits.running()
        if standing is None or running is None or standing.instance != running.name:
            return False
        self._commits.standing, self._commits.is_due_at = None, standing.instance
        self._gates.begin(is_step=True)
        standing.answer()
        self._gates.settle()
        return True

    def start(self) -> bool:
        if self._commits.running() is not None or any(each[2].name for each in self._gates.operations()):
            return False
        worker = next(iter(self._cluster.workers.values()))
        was_down = worker.process is None
        if was_down:
            if self._commits.is_once:  # it reads offsets first, which lasts as long as a transaction is open
                self._auditor.time_out(f"{self._cluster.group}-{self._commits.name}-0")
            self._live.start(0, self._live.support)
            self._cluster.wait_until_ready()
        if not self._has_config:
            self._has_config = True
            number = next(self._live.sets)
            boundary = {"transaction__boundary": "connector"} if self._commits.is_once else {}
            tolerance = {"errors__tolerance": self._config.get("tolerance", "none")}
            config = self._cluster.configuration(
                self._commits.name, 1, number, partitions=self._config["partitions"], topic=self._topic, **OF_TASKS,
                **boundary, **tolerance,
            )  # fmt: skip
            self._ask("PUT", "/config", config)
        elif not was_down:  # it has failed
            self._ask("POST", "/tasks/0/restart")
        for _ in Patience(STARTS_S):
            self._gates.begin()
            self._gates.settle()
            if self._commits.running() is not None:
                return True
        return True

    def stop(self) -> bool:
        running = self._commits.running()
        if running is None or not self._has_config:
            return False
        self._has_config = False
        self._ask("DELETE", "")
        if (standing := self._commits.standing) is not None:  # nothing waits for the committer
            self._commits.standing = None
            standing.answer()
            self._gates.settle()
        return True

    def kill(self) -> bool:
        if (running := self._commits.running()) is None:
            return False
        self._commits.ends("instance_killed", running)
        self._live.crash(0)
        self._commits.crashed(0)
        self._commits.standing = None
        self._gates.settle()
        return True

    def abort(self) -> bool:
        if not self._commits.is_once or self._commits.running() is None:
            return False
        self._commits.wants_abort = True
        return True

    def audit(self) -> bool:
        for position, key, _ in self._auditor.committed(self._topic)[self._read :]:
            self._read += 1
            partition, record = map(int, key.split(":"))
            columns = {"output": 0, "position": position, "partition": partition, "record": record}
            self._commits.seen.append({"kind": "output_read", **columns})
        stored = self._stored()
        for partition in range(int(self._config["partitions"])):
            columns = {"partition": partition, "offset": stored.get(partition, 0)}
            self._commits.seen.append({"kind": "audited", **columns})
        return True

    def drain_events(self) -> Sequence[Event]:
        return self._commits.drained()

    @property
    def _topic(self) -> str:
        return f"{self._commits.name}-data"

    def _stored(self) -> dict[int, int]:
        rows = [(key, value) for _, key, value in self._auditor.committed(f"{self._cluster.group}-offsets")]
        return dict(self._commits.offsets_in(rows))

    def _ask(self, method: str, path: str, body: Any = None) -> None:
        """Ask the worker; the answer may have to wait for an operation."""
        worker = next(iter(self._cluster.workers.values()))
        self._gates.ask(worker, method, f"/connectors/{self._commits.name}{path}", body)


def own(config: Mapping[str, Any]) -> CommitSystem:
    """Return a system on a cluster of this process; ``cache`` is the folder of what is made once a machine. Raise
    WireError where that is not possible."""
    support = "enabled" if config["mode"] == ONCE else "disabled"
    return CommitSystem(live(config, 1, SourceGates, OWN_SETTINGS, support), config)
