"""This module is a source connector on a real Connect cluster that is driven operation by operation, as
`properties/source_offsets/interface` wants it.

    system = own({"mode": "shipped", "tasks": 2, "partitions": 2, "records": 8, "batch": 2, "boundary": "poll"})

| operation | what waits |
|---|---|
| open, commit, abort | InitProducerId and EndTxn of a task's producer |
| send, flush | its Produce with a record, and with source offsets alone |
| copy | Produce of a worker's own producer for the worker's offsets topic |
| ask_end, run, poll | a call of `SourceTask`: start before it asks for its offsets, start with them, poll |

Where the config has ``empty``, a connector ends a transaction as it is asked to with a poll that gives no records.

The other operations of the interface happen without waiting. A task stands still, or is gone, with its worker. Of
virtual time there are the transactions that time out, which the driver has the coordinator do. Each system has a
connector and topics of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.reference_impl.live.connect.auditing import Auditor
from fencepost.reference_impl.live.connect.cluster import ClusterError
from fencepost.reference_impl.live.connect.control import Call
from fencepost.reference_impl.live.connect.driven import Live, live
from fencepost.reference_impl.live.connect.observing import (
    AGAIN,
    Event,
    Instance,
    Owner,
    contents,
    is_task,
)
from fencepost.reference_impl.live.connect.rest import Reply
from fencepost.reference_impl.live.connect.sources import OF_TASKS, Source, SourceGates, records_in
from fencepost.reference_impl.live.connect.worker import Worker
from fencepost.reference_impl.live.proxy.frames import Request
from fencepost.reference_impl.live.tcp.connection import NoAnswer, WireError
from fencepost.reference_impl.live.tcp.reading import Patience

Thread = tuple[int, str, int, int]
SIZE = 2
WORKERS, OWN = 0, 1
"""The offsets topics: the worker's, and the connector's own."""
GIVEN, TAKEN = frozenset({"shipped-own-topic-later", "shipped-own-topic-taken"}), "shipped-own-topic-taken"
"""The variants in `GIVEN` have connectors that get an offsets topic of their own, and `TAKEN` has one that loses it."""
NONE, ALWAYS = "shipped", "shipped-own-topic-from-the-start"
CALLS = {"start": "ask_end", "started": "run", "poll": "poll"}
STARTS_S, MOVES_S = 20.0, 3.0
AUDIT_S = 20.0
COMMITS_EVERY = 2
"""Where the connector defines the boundaries, it wants that many batches in a transaction if not asked otherwise."""


@dataclass
class Work:
    """A `Work` is what one instance has done. Records are (partition, offset)."""

    generation: int = -1
    last: dict[int, int] = field(default_factory=dict)
    batch: set[tuple[int, int]] = field(default_factory=set)  # of its last poll, and not sent yet
    inside: list[tuple[int, int]] = field(default_factory=list)  # polled since its last transaction ended
    offsets: list[tuple[int, int]] = field(default_factory=list)  # in its transaction
    since: int = -1  # when its transaction began, -1 while there is none
    asked: str = ""  # for its next batch: commit or abort
    batches: int = 0
    aborts: bool = False  # as the connector wants
    is_closing: bool = False
    is_over: bool = False


class Tasks(Source):
    """A `Tasks` has the events of one connector, and what its instances have done."""

    def __init__(self, live: Live, name: str, config: Mapping[str, Any]) -> None:
        super().__init__(live, name, config)
        self.now = 0
        self.sets: dict[int, tuple[int, int, int]] = {}  # generation, tasks and topic, by the number of the set
        self._work: dict[int, Work] = {}
        self._newest = -1

    @property
    def topic(self) -> int:
        return max(self.sets.values())[2]

    @property
    def count(self) -> int:
        return max(self.sets.values())[1]

    def work(self, instance: Instance) -> Work:
        return self._work.setdefault(instance.number, Work())

    def alive(self) -> Iterator[Instance]:
        """Yield the instances that have asked for a producer and are not over, the newest first."""
        for each in reversed(self.instances):
            if not (each.is_ended or self.work(each).is_over):
                yield each

    def newest(self, task: int) -> Instance | None:
        return next((each for each in self.alive() if each.owner.task == task), None)

    def emit(self, kind: str, instance: Instance | None = None, **columns: int) -> None:
        own = {} if instance is None else {"task": instance.owner.task, "instance": instance.number}
        self.seen.append({"kind": kind, **own, **columns})

    def drained(self) -> list[Event]:
        found, self.seen = self.seen, []
        return found

    def stopped(self, *states: str) -> None:
        """Note which instances that stop have stopped in order: those whose task has one of these states, or (without)
        all of which no state is written any more, as they were left behind."""
        for each in self.instances:
            if self.work(each).is_closing and (not states or self.statuses.get(each.owner, ("",))[0] in states):
                self.ends("instance_stopped", each)

    def ends(self, kind: str, instance: Instance) -> None:
        work = self.work(instance)
        if not work.is_over and work.generation >= 0:
            self.emit(kind, instance, runtime=0)
        work.is_over, work.is_closing = True, False

    # -- what the control server sees

    def took(self, node: int, call: Call) -> str:
        instance = self.take(node, call)
        if instance is None:
            return ""
        if instance.producer_id < 0:  # asked to stop before it opens one, it starts all the same, and ends at once
            instance.is_ended = True
            return ""
        work = self.work(instance)
        if call.name == "start":
            self.stopped()
            work.generation, count, topic = self.sets[int(call.fields["set"])]
            if work.generation > self._newest:  # fenced is what was before
                self._newest = work.generation
                self.emit("configured", generation=work.generation, count=count, topic=topic, runtime=0)
            self.emit("instance_started", instance, generation=work.generation, runtime=0)
            self.emit("producer_opened", instance, producer_id=instance.producer_id, epoch=instance.epoch)
        elif call.name == "started":
            for pair in filter(None, call.fields["found"].split(",")):
                partition, offset = map(int, pair.split(":"))
                work.last[partition] = offset
                self.emit("offset_found", instance, partition=partition, offset=offset)
        elif call.name == "commit":
            self.emit("commit_called", instance)
        elif call.name == "stop":
            work.is_closing = True
        return CALLS.get(call.name, "")

    def is_due(self, instance: Instance, operation: str) -> bool:
        return operation != "poll" or self.ends_empty(instance) or bool(self.batch(instance))

    def answer(self, instance: Instance, operation: str) -> Mapping[str, object]:
        if operation == "poll":
            return self.polls(instance)
        if operation == "run":
            self.emit("instance_running", instance)
        return {}

    def ends_empty(self, instance: Instance) -> bool:
        """Return whether the next poll asks for the end of a transaction, and gives no records."""
        return bool(self.work(instance).asked and self.config.get("empty"))

    def batch(self, instance: Instance) -> list[tuple[int, int]]:
        return [] if self.ends_empty(instance) else self.next_records(self.work(instance).last)

    def polls(self, instance: Instance) -> dict[str, object]:
        """Note that a poll returns the next batch, and return the answer for it."""
        work, batch = self.work(instance), self.batch(instance)
        work.last |= dict(batch)
        work.batch, work.batches = set(batch), work.batches + bool(batch)
        work.inside += batch
        for partition, offset in batch:
            self.emit("polled", instance, partition=partition, round=0, offset=offset)
        answer: dict[str, object] = {"records": ",".join(f"{partition}:1" for partition, _ in batch)}
        if self.config["boundary"] == "connector":
            is_due = work.batches % COMMITS_EVERY == 0 or not self.batch(instance)
            if boundary := work.asked or ("commit" if is_due else ""):
                answer["boundary"] = boundary
                self.emit("boundary_asked", instance, outcome=int(boundary == "commit"))
            work.asked, work.aborts = "", boundary == "abort"
        return answer

    # -- what the proxies see

    def operation(self, node: int, request: Request) -> tuple[str, Instance] | None:
        owner, asked = self.owner(request), request.payload
        if owner is None:
            copier = self.copier(node, request) if request.name == "Produce" else None
            return None if copier is None else ("copy", copier)
        if not owner.connector or not is_task(request.client_id):
            return None
        if request.name == "InitProducerId":
            return "open", self.opening(node, owner)
        if request.name == "Produce":
            pair, records = contents(request)
            operation, instance = "send" if records_in(records) else "flush", self.of_pair(*pair)
        else:
            operation = "commit" if asked.committed else "abort"
            instance = self.of_pair(int(asked.producer_id), int(asked.producer_epoch))
        return None if instance is None else (operation, instance)

    def copier(self, node: int, request: Request) -> Instance | None:
        """Return whose source offset a worker sends to its own topic."""
        for partition, _ in self.offsets_in(contents(request)[1]):
            for each in self.alive():
                if each.node == node and partition in self.work(each).last:
                    return each
        return None

    def answered(self, node: int, request: Request, answer: Any) -> None:
        super().answered(node, request, answer)
        events = [*self.events]
        self.events.clear()
        for event in events:
            if event["kind"] == "task_failed":
                self._failed(node, Owner(self.name, event["task"]))
            elif event["kind"] == "producer_opened":  # what its predecessors had open is aborted
                for each in self.instances:
                    if each.owner.task == event["task"] and each.number != event["instance"]:
                        self.work(each).since = -1
        self.stopped("UNASSIGNED")
        if answer is None or request.payload is None:
            return
        owner = self.owner(request)
        if request.name == "Produce":
            errors = [int(p.error_code) for topic in answer.responses for p in topic.partition_responses]
            pair, records = contents(request)
            if owner is not None and is_task(request.client_id):
                instance = self.of_pair(*pair)
                if instance is not None and not any(errors):
                    self._wrote(instance, records)
            elif owner is None and (copier := self.copier(node, request)) is not None:
                self._copied(copier, records, next(filter(None, errors), 0))
        elif request.name == "EndTxn" and owner is not None and is_task(request.client_id):
            asked, error = request.payload, int(answer.error_code)
            instance = self.of_pair(int(asked.producer_id), int(asked.producer_epoch))
            if instance is not None and error not in AGAIN:
                self._is_at_end(instance, bool(asked.committed), error)

    def _failed(self, node: int, owner: Owner) -> None:
        for each in reversed(self.instances):
            if (each.node, each.owner) == (node, owner) and not self.work(each).is_over:
                self.ends("instance_failed", each)
                return

    def _wrote(self, instance: Instance, records: Sequence[tuple[str, Any]]) -> None:
        work, columns = self.work(instance), {"producer_id": instance.producer_id, "epoch": instance.epoch}
        if work.since < 0:
            work.since = self.now
            self.emit("txn_begun", instance, **columns)
        for record in records_in(records):
            self.emit("record_sent", instance, **columns, partition=record[0], round=0, offset=record[1])
            work.batch.discard(record)
            if not work.batch:
                self.emit("batch_ended", instance)
        work.offsets += self.offsets_in(records)

    def _copied(self, instance: Instance, records: Sequence[tuple[str, Any]], error: int) -> None:
        for partition, offset in self.offsets_in(records):
            self.emit("copy_sent", instance, topic=WORKERS, partition=partition, offset=offset)
            if not self.is_lost:
                self.emit("copy_told", instance, topic=WORKERS, partition=partition, offset=offset, error=error)

    def _is_at_end(self, instance: Instance, committed: bool, error: int) -> None:
        work = self.work(instance)
        pair = {"producer_id": instance.producer_id, "epoch": instance.epoch}
        topic = next(topic for number, _, topic in self.sets.values() if number == work.generation)
        for partition, offset in work.offsets:  # requests to several topics have no order but that of transactions
            self.emit("offset_sent", instance, **pair, topic=topic, partition=partition, offset=offset)
        self.emit("end_sent", instance, **pair, outcome=int(committed))
        if not self.is_lost:
            self.emit("end_told", instance, **pair, outcome=int(committed), error=error)
        work.offsets = []
        if error:
            return
        work.since = -1
        if not committed and work.aborts:
            for partition, offset in work.inside:
                self.emit("given_up", instance, partition=partition, round=0, offset=offset)
        work.inside, work.aborts = [], False


class SourceSystem:
    """A `SourceSystem` is a `fencepost.properties.source_offsets.interface.System`."""

    def __init__(self, live: Live, config: Mapping[str, Any]) -> None:
        assert isinstance(live.gates, SourceGates)
        self._live, self._cluster, self._gates, self._config = live, live.cluster, live.gates, config
        self._workers, self._mode = [*live.cluster.workers], str(config["mode"])
        (name,) = live.names(1)
        self._tasks = Tasks(live, name, config)
        self._auditor, self._read = Auditor(live.cluster.kafka.bootstrap), 0
        self._calm_s = -1.0
        live.gates.close(self._tasks)
        is_separate = self._mode == ALWAYS or (self._mode != NONE and bool(config["separate"]))
        if not self._configured(int(config["tasks"]), is_separate):
            raise WireError(f"connector {name} is not taken by any worker of {live.cluster.release}")

    def threads(self) -> Sequence[Thread]:
        return [(number, name, each.owner.task, each.number) for number, name, each in self._gates.operations()]

    def step(self, number: int, outcome: str = "ok") -> None:
        self._tasks.is_lost = outcome == "lost"
        self._gates.step(number, outcome)
        self._tasks.is_lost = False

    # -- operators

    def configure(self, tasks: int, separate: bool) -> bool:
        is_separate = self._tasks.topic == OWN
        if (separate and not is_separate and self._mode not in GIVEN) or (
            is_separate and not separate and self._mode != TAKEN
        ):
            return False
        return self._configured(tasks, separate)

    def restart(self, task: int) -> bool:
        if task >= self._tasks.count:
            return False
        before, newest = next(self._gates.numbers), self._tasks.newest(task)
        is_away = newest is None or newest.node in self._gates.stalled
        if not self._is_whole():
            return False
        if is_away:  # the group gives it to another worker
            self._until(lambda: self._started(before, task), MOVES_S)
        if not self._started(before, task):
            self._ask("POST", f"/tasks/{task}/restart")
            self._until(lambda: self._started(before, task))
        return True

    def kill(self, task: int) -> bool:
        instance = self._runs(task)
        if instance is None:
            return False
        for each in [*self._tasks.alive()]:
            if each.node == instance.node:
                self._tasks.ends("instance_killed", each)
        self._live.crash(instance.node)
        self._tasks.crashed(instance.node)
        self._gates.settle()
        return True

    def stall(self, task: int) -> bool:
        instance = self._runs(task)
        if instance is None or instance.node in self._gates.stalled:
            return False
        self._gates.stalled.add(instance.node)
        self._cluster.pause(self._workers[instance.node])
        self._tell_of("stalled", instance.node)
        return True

    def resume(self, task: int) -> bool:
        nodes = {each.node for each in self._tasks.alive() if each.owner.task == task} & self._gates.stalled
        for node in sorted(nodes):
            self._tell_of("resumed", node)
            self._live.resume(node)
            self._gates.settle()
        return bool(nodes)

    def ask_boundary(self, task: int, commit: bool) -> bool:
        instance = self._runs(task)
        if instance is None or self._config["boundary"] != "connector":
            return False
        self._tasks.work(instance).asked = "commit" if commit else "abort"
        return True

    # -- what no operator of a release does to one task, or to a cluster of one broker

    def stop(self, task: int) -> bool:
        return False

    def downgrade(self, hard: bool) -> bool:
        return False

    def upgrade(self) -> bool:
        return False

    def delete_topic(self) -> bool:
        return False

    def start_owner(self) -> bool:
        return False

    def stall_owner(self) -> bool:
        return False

    def resume_owners(self) -> bool:
        return False

    def fail_over(self) -> None:
        """Nothing, as there is no other broker."""

    def change_leader(self, topic: int) -> None:
        """Nothing, as there is no other broker."""

    def advance(self, ms: int) -> None:
        self._tasks.now += ms
        due = self._tasks.now - int(self._config["transaction_timeout_ms"])
        late = [each for each in self._tasks.instances if 0 <= self._tasks.work(each).since <= due]
        if not late and not self._gates.deaf and self._gates.stirred_s == self._calm_s:
            return  # nothing has happened since it was last waited for
        self._time_out(late)
        self._gates.hear()
        self._gates.begin()
        self._gates.settle()
        self._calm_s = self._gates.stirred_s

    # -- what is seen

    def status(self, _: int, task: int) -> tuple[str, str]:
        """Return what stands in the status topic, with the trace of a failure."""
        return self._tasks.statuses.get(Owner(self._tasks.name, task), ("", ""))

    def audit(self) -> bool:
        """Return whether no transaction is open, so that a worker could be asked where a restart resumes."""
        self._tasks.stopped()
        is_decided = self._auditor.is_decided(map(self._id, range(int(self._config["tasks"]))))
        for position, key, _ in self._auditor.committed(self._topic("data"))[self._read :]:
            self._read += 1
            partition, offset = map(int, key.split(":"))
            self._tasks.emit("output_read", position=position, partition=partition, round=0, offset=offset)
        stored = self._stored() if is_decided else None
        for partition in range(int(self._config["partitions"])) if stored is not None else ():
            offset = (stored or {}).get(partition, 0)
            self._tasks.emit("audited", partition=partition, round=0, offset=offset)
        return stored is not None

    def drain_events(self) -> Sequence[Event]:
        return self._tasks.drained()

    # -- on the cluster

    def _stored(self) -> dict[int, int] | None:
        """Return the offsets that a worker finds for the connector, None where none answers (before 3.6 none can)."""
        reply = None
        with contextlib.suppress(NoAnswer):
            reply = self._awake and self._awake.ask("GET", f"/connectors/{self._tasks.name}/offsets", None, AUDIT_S)
        if not isinstance(reply, Reply) or not reply.is_done:
            return None
        return {int(each["partition"]["p"]): int((each["offset"] or {}).get("n", 0)) for each in reply.body["offsets"]}

    def _configured(self, tasks: int, separate: bool) -> bool:
        if not self._is_whole():
            return False
        own = {"offsets__storage__topic": self._topic("offsets")} if separate else {}
        number, before = next(self._live.sets), next(self._gates.numbers)
        config = self._cluster.configuration(
            self._tasks.name, tasks, number, partitions=self._config["partitions"], topic=self._topic("data"),
            transaction__boundary=self._config["boundary"], **OF_TASKS, **own,
        )  # fmt: skip
        self._tasks.sets[number] = len(self._tasks.sets), tasks, OWN if separate else WORKERS
        reply = self._ask("PUT", "/config", config)
        if reply is not None and not reply.is_done:
            del self._tasks.sets[number]
            return False
        self._until(lambda: all(self._started(before, task) for task in range(tasks)))
        return True

    def _started(self, before: int, task: int) -> bool:
        return any(each.number > before and each.owner.task == task for each in self._tasks.instances)

    def _until(self, condition: Callable[[], bool], patience_s: float = STARTS_S) -> None:
        """Let the group go on until the condition is true; not for long, as another operation may be in its way."""
        for _ in Patience(patience_s):
            self._gates.begin()
            self._gates.settle()
            if condition():
                return

    def _is_whole(self) -> bool:
        """Put stalled workers out of the group, start those that are down, and return whether one is awake."""
        for node, name in enumerate(self._workers):
            worker = self._cluster.workers[name]
            if worker.process is None:  # it reads offsets first, which lasts as long as a transaction is open
                self._time_out(self._tasks.instances)
                self._live.start(node, worker.support)
            elif node in self._gates.stalled and node not in self._gates.deaf:
                self._gates.deaf.add(node)  # it goes on without news of that
                self._gates.begin()
                with contextlib.suppress(ClusterError):  # it is no member
                    self._cluster.expire(name)
        self._gates.settle()
        return any(worker.is_awake for worker in self._cluster.workers.values())

    def _time_out(self, instances: Iterable[Instance]) -> None:
        for each in instances:
            if self._tasks.work(each).since >= 0:
                self._tasks.work(each).since = -1
                self._auditor.time_out(self._id(each.owner.task))

    def _ask(self, method: str, path: str, body: Any = None) -> Reply | None:
        """Return the answer of the first worker that is awake, None while it waits for an operation."""
        to = self._awake
        return self._gates.ask(to, method, f"/connectors/{self._tasks.name}{path}", body) if to is not None else None

    @property
    def _awake(self) -> Worker | None:
        return next((each for each in self._cluster.workers.values() if each.is_awake), None)

    def _runs(self, task: int) -> Instance | None:
        found = self._tasks.newest(task)
        return found if found is not None and self._cluster.workers[self._workers[found.node]].process else None

    def _tell_of(self, kind: str, node: int) -> None:
        for each in self._tasks.alive():
            if each.node == node and self._tasks.work(each).generation >= 0:
                self._tasks.emit(kind, each)

    def _topic(self, name: str) -> str:
        return f"{self._tasks.name}-{name}"

    def _id(self, task: int) -> str:
        return f"{self._cluster.group}-{self._tasks.name}-{task}"


def own(config: Mapping[str, Any]) -> SourceSystem:
    """Return a system on a cluster of this process; ``cache`` is the folder of what is made once a machine. Raise
    WireError where that is not possible."""
    return SourceSystem(live(config, SIZE, SourceGates), config)
