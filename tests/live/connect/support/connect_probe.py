"""A connector of the probe on a live cluster, as programs of findings use it: what its tasks poll, what became
committed, and a worker that is put out of its group and comes back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from fencepost.reference_impl.live.connect.cluster import TASK_TIMEOUT_MS, ClusterError, ConnectCluster
from fencepost.reference_impl.live.connect.control import Call, Holding, Instance
from fencepost.reference_impl.live.proxy.rules import Held
from real_client_reading import messages_to_end

PATIENT: Mapping[str, object] = {"session.timeout.ms": 60_000, "rebalance.timeout.ms": 60_000}
DUE_S = 60.0
REFUSED = (47, 90)  # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED
FENCED = ("InvalidProducerEpochException", "ProducerFencedException")


class Probe:
    """A `Probe` is one connector, whose records are in a topic of its name."""

    def __init__(self, cluster: ConnectCluster, name: str) -> None:
        self.cluster, self.name = cluster, name
        self.control, self.seen = cluster.control, cluster.seen
        self._out: list[str] = []
        self._holdings: list[Holding] = []
        self._further: list[Probe] = []

    def another(self, name: str) -> Probe:
        """A further connector, which ends with this one."""
        self._further.append(Probe(self.cluster, name))
        return self._further[-1]

    # -- sets and workers

    def configure(self, tasks: int, worker: str = "", **more: object) -> dict[int, Instance]:
        """As the cluster's; returns the tasks when each has polled."""
        self.ask(tasks, worker, **more)
        return self.cluster.wait_until_polled(self.name)

    def spread(self, each: int = 1, **more: object) -> dict[int, Instance]:
        """Configure so many tasks for each worker, and return them when all have polled and are spread evenly, so that
        no rebalance follows. Raise ClusterError where the assignor has it otherwise."""
        workers = Counter(dict.fromkeys(self.cluster.workers, each))
        self.ask(workers.total(), **more)

        def tasks() -> dict[int, Instance]:
            return {each.task: each for each in self.control.alive(self.name) if each.polls}

        try:
            self.cluster.wait_for("it", lambda: Counter(each.worker for each in tasks().values()) == workers, DUE_S)
        except TimeoutError as error:
            raise ClusterError(f"no even spread of {self.name}'s tasks within {DUE_S:g} s: {tasks()}") from error
        return tasks()

    def ask(self, tasks: int, worker: str = "", **more: object) -> int:
        """As `configure`, without waiting for the tasks; returns the first line of `seen` since then."""
        begun = len(self.seen.lines)
        self.cluster.configure(self.name, tasks, worker, **{"topic": self.name, **more})
        return begun

    def id(self, task: int) -> str:
        """The transactional id of a task."""
        return f"{self.cluster.group}-{self.name}-{task}"

    def others(self, worker: str) -> list[str]:
        """The workers but this one."""
        return [name for name in self.cluster.workers if name != worker]

    def owner(self) -> str:
        """The worker that runs the connector itself."""
        [found] = [each.worker for each in self.control.alive(self.name, connectors=True) if each.task < 0]
        return found

    def put_out(self, worker: str) -> str:
        """Pause it, and have the group remove it; returns who leads when the others have joined without it."""
        self._out.append(worker)
        if not self.cluster.workers[worker].is_paused:
            self.cluster.pause(worker)
        return self.expire(worker)

    def leaves(self, worker: str) -> None:
        """Pause it, and have the group remove it, without waiting for the others."""
        self._out.append(worker)
        self.cluster.pause(worker)
        self.cluster.expire(worker)

    def expire(self, worker: str) -> str:
        """Have the group remove it; returns who leads when the others have joined without it."""
        before = max(each.generation for each in self.cluster.watching.values())
        self.cluster.expire(worker)
        others = [self.cluster.watching[name] for name in self.others(worker)]
        self.cluster.wait_for(
            f"group without {worker}",
            lambda: len({each.generation for each in others}) == 1 and others[0].generation > before,
        )
        return self.cluster.leads()

    def come_back(self, worker: str) -> None:
        self._out.remove(worker)
        self.cluster.resume(worker)

    # -- tasks

    def hold_polls(self, covers: Callable[[Call], bool] = lambda _: True) -> Holding:
        """Hold the polls of its tasks of which `covers` is true."""
        holding = self.control.hold(lambda call: call.name == "poll" and call.connector == self.name and covers(call))
        self._holdings.append(holding)
        return holding

    def polls(self, timeout_s: float = DUE_S, **like: object) -> Call:
        """Wait for a poll that is held."""
        return self.control.wait_for("poll", timeout_s, held=True, connector=self.name, **like)  # type: ignore[arg-type]

    def commits(self, poll: Call, *records: str, **more: object) -> None:
        """Let a poll give records, "p:n" each, and wait until Connect reports that the transaction is committed."""
        poll.answer(**{"records": ",".join(f"{record.partition(':')[0]}:1" for record in records), **more})
        for record in records:
            self.control.wait_for("commitRecord", DUE_S, instance=poll.instance, record=record)

    def found(self, call: Call) -> str:
        """What the instance of a call found when it started: "p:n,…"."""
        return self.control.wait_for("started", DUE_S, instance=call.instance).fields["found"]

    def state(self, task: int, worker: str = "") -> tuple[str, str]:
        """REST's state of a task, and the trace of its failure."""
        status = self.cluster.status(self.name, worker) or {"tasks": []}
        states = {each["id"]: (str(each["state"]), str(each.get("trace", ""))) for each in status["tasks"]}
        return states.get(task, ("", ""))

    def fails(self, task: int, worker: str = "") -> str:
        """Wait until REST has that a task has failed, and return the trace."""
        self.cluster.wait_for(f"failure of task {task}", lambda: self.state(task, worker)[0] == "FAILED")
        return self.state(task, worker)[1]

    def settles(self, task: int) -> None:
        """Wait until a task of the newest set has polled or failed; one that has failed is restarted."""
        number, _ = self.cluster.sets[self.name]

        def ended() -> bool:
            mine = [each for each in self.control.alive(self.name) if (each.task, each.set) == (task, number)]
            return any(each.polls for each in mine) or self.state(task)[0] == "FAILED"

        self.cluster.wait_for(f"end of the start of task {task}", ended)
        if self.state(task)[0] == "FAILED":
            self.cluster.restart(self.name, task)

    def times(self, worker: str, text: str) -> int:
        """How many lines with this text a worker has written."""
        return sum(text in line for line in self.cluster.workers[worker].tail(1_000_000).splitlines())

    # -- topics

    def read(self, topic: str, committed: bool = True) -> list[tuple[str, Any]]:
        """The keys, and the values as JSON, of a topic of one partition."""
        messages, _ = messages_to_end(self.cluster.kafka.bootstrap, topic, 0, committed=committed, timeout_s=DUE_S)
        return [(_text(message.key()), _json(message.value())) for message in messages]

    def committed(self, record: str = "") -> list[Any]:
        """The committed copies of a record "p:n", each with the set and the instance that sent it; or of all."""
        return [value for key, value in self.read(self.name) if key == record or not record]

    def keys(self) -> list[str]:
        """All committed records, "p:n" each, in the order of the topic."""
        return [key for key, _ in self.read(self.name)]

    def offsets(self, topic: str = "", committed: bool = True) -> list[int]:
        """The offsets n that an offsets topic (by default the worker's) has of source partition 0, oldest first."""
        rows = self.read(topic or f"{self.cluster.group}-offsets", committed)
        return [value["n"] for key, value in rows if json.loads(key) == [self.name, {"p": "0"}]]

    def shows(self, what: Callable[[], Any], expected: Any) -> None:
        """Wait until a topic has what is expected: markers are written after a commit is acknowledged."""
        with suppress(TimeoutError):
            self.cluster.wait_for("what is expected", lambda: what() == expected, DUE_S)
        assert what() == expected

    def sets_and_counts(self) -> list[str]:
        """What the config topic has of it: "set of 2" for each set that is committed, "count 2" for each count."""
        wanted = {f"commit-{self.name}": "set of", f"tasks-fencing-{self.name}": "count"}
        rows = self.read(f"{self.cluster.group}-configs")
        return [
            f"{wanted[key]} {next(value[name] for name in ('tasks', 'task-count', 'task_count') if name in value)}"
            for key, value in rows
            if key in wanted and value
        ]

    def hold_fence(self, task: int, worker: str) -> Held:
        """Hold the next fencing of a task's id by a worker; it has not the time-out that every task's producer has."""

        def is_fence(request: Any) -> bool:
            return round(request.transaction_timeout.total_seconds() * 1000) != TASK_TIMEOUT_MS

        return self.cluster.proxies[worker].hold_next("InitProducerId", self.id(task), where=is_fence)

    def fences(self, begun: int) -> list[str]:
        """The ids of its tasks that were fenced since a line of `seen`, in order of their names."""
        opened = self.seen.since(begun, api="InitProducerId", error=0)
        ids = (line["transactional_id"] for line in opened if line["timeout_ms"] != TASK_TIMEOUT_MS)
        return sorted(each for each in ids if each.startswith(self.id(0)[:-1]))

    def let_go(self) -> None:
        """Hold no polls any more."""
        for holding in self._holdings:
            holding.end()

    def end(self) -> None:
        """Let go what is held, have everybody back, and delete it."""
        for each in (self, *self._further):
            each.let_go()
        for worker in list(self._out):
            self.come_back(worker)
        self.cluster.wait_for("group of all workers", self.cluster.is_whole)
        for each in (*self._further, self):
            if each.name in self.cluster.sets:
                self.cluster.delete(each.name)
            self.cluster.wait_until_over(each.name)


class Zombie:
    """A task whose worker is out of the group, and hears neither of that nor of newer sets when it goes on. Starts of
    the task on other workers wait before they open a producer: `starts` are those that do."""

    def __init__(self, probe: Probe, task: Instance) -> None:
        self.probe, self.task = probe, task
        probe.hold_polls(lambda call: call.instance == task.name)
        self.poll = probe.polls(instance=task.name)
        own = probe.cluster.proxies[task.worker]
        if probe.cluster.release.startswith("3.3."):
            pytest.skip("the workers' own consumers have no client ids to tell them by (KAFKA-14098)")
        self.beat = own.hold_next("Heartbeat", client=task.worker)
        self.read = own.hold_next_answer("Fetch", client=f"connect-{task.worker}-configs")
        self.beat.wait()
        self.read.wait()
        others = [probe.cluster.proxies[name] for name in probe.others(task.worker)]
        client = f"connector-producer-{probe.name}-{task.task}"
        self._opens = [
            (proxy, proxy.hold_next("InitProducerId", probe.id(task.task), client))
            for proxy in others for _ in range(2)
        ]  # fmt: skip
        probe.put_out(task.worker)

    def starts(self, count: int) -> list[Held]:
        """Wait for so many starts of the task, and return them in the order in which they came."""
        came = list[Held]()

        def enough() -> bool:
            came.extend(each for _, each in self._opens if each.has_come and each not in came)
            return len(came) == count

        self.probe.cluster.wait_for(f"{count} starts", enough)
        return came

    def goes_on(self) -> int:
        """Have its poll give a record, and return the error with which its transaction ends."""
        begun, own_id = len(self.probe.seen.lines), self.probe.id(self.task.task)
        self.poll.answer(records=f"{self.task.task}:1")
        self.probe.come_back(self.task.worker)
        ends = self.probe.seen.wait_for(
            "end", lambda line: line["error"] in REFUSED or (line["api"], line["error"]) == ("EndTxn", 0), DUE_S, begun,
            source="kafka", worker=self.task.worker, transactional_id=own_id, event="answered",
        )  # fmt: skip
        return int(ends["error"])

    def ends(self) -> None:
        """Its worker hears of everything, and later starts do not wait."""
        for proxy, each in self._opens:
            proxy.forget(each)
        self.beat.release()
        self.read.release()
        self.probe.let_go()
        self.probe.cluster.wait_for("group of all workers", self.probe.cluster.is_whole)


def writes(text: str) -> Callable[[Any], bool]:
    """Whether a Produce request has a record with this text."""

    def is_it(request: Any) -> bool:
        return any(
            text.encode() in bytes(p.records or b"") for topic in request.topic_data for p in topic.partition_data
        )

    return is_it


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else ""


def _json(value: object) -> Any:
    return json.loads(value) if isinstance(value, bytes) else None
