"""This module is a real Connect cluster that is driven operation by operation, as `properties/task_counts/interface`
wants it.

    system = own({"workers": 3, "connectors": 1, "max_tasks": 2, "release": "4.3.1", "folder": "/tmp/connect"})

One cluster serves all the systems of a process that want one of this size and release, one after the other; each has
connectors with names of their own, and the workers are awake, and enabled, when it begins. Virtual time is short: what
takes a second or more of it takes the milliseconds in `REAL_MS`, for which the workers are configured. ``held`` names
operations that wait besides those that always do (`stepping.FURTHER`).
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fencepost.reference_impl.live.connect import config_topic
from fencepost.reference_impl.live.connect.cluster import ClusterError
from fencepost.reference_impl.live.connect.control import Call
from fencepost.reference_impl.live.connect.driven import GRACEFUL_MS, LONG_MS, Live, live
from fencepost.reference_impl.live.connect.observing import Event, Instance, Observer, Owner, is_task
from fencepost.reference_impl.live.connect.stepping import (
    BROKEN,
    ERRORS,
    FOR_OTHERS,
    UNAVAILABLE,
    Actor,
    Gates,
    Thread,
    Wait,
)
from fencepost.reference_impl.live.proxy.frames import Request

SUPPORT = {"disabled": 1, "preparing": 2, "enabled": 3}
REAL_MS = ((5_000, GRACEFUL_MS + 200), (1_000, 600), (0, 300))
"""That many real milliseconds stand for at least so many virtual ones: a task that does not stop is given up, and a
back-off is over."""


class TaskGates(Gates):
    """`TaskGates` are those at which the operations of `stepping` wait."""

    def operation(self, node: int, request: Request) -> tuple[str, Owner, Actor] | None:
        if self.observer is not None and request.name in FOR_OTHERS:
            return self._in_group(node, request)
        if self.observer is None or (owner := self.observer.owner(request)) is None:
            return None
        if not owner.connector:
            actor = "leader", node
            match request.name:
                case "InitProducerId":
                    return "claim", owner, actor
                case "Produce":
                    return "write_count" if b"tasks-fencing-" in request.frame else "write", owner, actor
                case "EndTxn":
                    return "end", owner, actor
        elif request.name == "InitProducerId" and is_task(request.client_id):
            return "open_producer", owner, _actor(self.observer.opening(node, owner))
        elif request.name == "InitProducerId":
            return "fence", owner, ("round", node, owner.connector)
        elif request.name == "EndTxn" and request.payload.committed:
            pair = int(request.payload.producer_id), int(request.payload.producer_epoch)
            instance = self.observer.of_pair(*pair)
            return "commit", owner, _actor(instance) if instance else ("producer", *pair)
        return None

    def _in_group(self, node: int, request: Request) -> tuple[str, Owner, Actor] | None:
        operation = "join" if request.name == "JoinGroup" else "assign" if request.payload.assignments else "sync"
        is_held = operation in self.further and request.payload.member_id
        return (operation, Owner(""), ("herder", node)) if is_held else None

    def takes(self, call: Call) -> bool:
        with self._lock:
            if self.observer is None or call.connector not in self.observer.names:
                return False
            node = self.nodes.get(call.worker, -1)
            number = int(call.fields.get("set", -1))
            self._last = time.monotonic()
            instance = self.observer.called(node, call.name, Owner(call.connector, call.task), call.instance, number)
            if instance is None or call.name not in {"poll", *self.further & {"stop"}}:
                return False
            self._calls[call.instance] = next(self._ages)
            return True

    def threads(self) -> list[Thread]:
        """Return what waits, the oldest first, without the threads of stalled workers."""
        self.catch_up()
        calls = self._held()
        with self._lock:
            if self.observer is None:
                return []
            found: list[tuple[int, Thread]] = [
                (wait.age, (wait.number, wait.operation, wait.node, self._connector(wait.owner), wait.owner.task))
                for wait in self._waits
                if wait.gated.is_next
            ]
            for call in calls:
                if (instance := self._instance(call)) is not None:
                    connector, task = self._connector(instance.owner), instance.owner.task
                    thread = self._number(_actor(instance)), call.name, instance.node, connector, task
                    found.append((self._calls[call.instance], thread))
            for asked in self._answered_rounds():
                if (answering := self._round(asked)) is not None:
                    found.append((self._calls[asked], answering))
            return [thread for _, thread in sorted(found) if thread[2] not in self.stalled]

    def given_up(self, wait: Wait) -> None:
        """A task whose worker has given it up says so itself."""

    def let(self, number: int, outcome: str) -> None:
        with self._lock:
            held = self._held()
            of = {self._number(_actor(found)): call for call in held if (found := self._instance(call)) is not None}
            rounds = {self._number(("asked", asked)): asked for asked in self._answered_rounds()}
        if number in rounds:
            rounds[number].instead = None if outcome == "ok" else UNAVAILABLE
            rounds[number].release()
        call = of.get(number)
        if call is None:
            return
        if outcome == "failed" or (outcome, call.name) == ("lost", "stop"):
            call.answer(throw=BROKEN)
            return
        if call.name == "stop":
            call.answer()
            return
        if outcome == "lost":
            proxy = self.cluster.proxies[call.worker]
            proxy.lose_next("Produce", ERRORS["write"], client=f"connector-producer-{call.connector}-{call.task}")
        call.answer(records=f"{call.task}:1")


def _actor(instance: Instance) -> Actor:
    return "task", instance.number


class ConnectSystem:
    """A `ConnectSystem` is a `fencepost.properties.task_counts.interface.System`."""

    def __init__(self, live: Live, config: Mapping[str, Any]) -> None:
        assert isinstance(live.gates, TaskGates)
        self._live, self._cluster, self._gates = live, live.cluster, live.gates
        self._heartbeat_ms = int(config.get("heartbeat_ms", 0))
        self._names = live.names(int(config["connectors"]))
        self._partitions = int(config.get("max_tasks", 1))
        self._observer = Observer(live.cluster.group, self._names, live.gates.numbers)
        self._workers = [*live.cluster.workers]
        live.gates.close(self._observer, config.get("held", ()))

    def threads(self) -> Sequence[Thread]:
        return self._gates.threads()

    def step(self, number: int, outcome: str = "ok") -> None:
        self._gates.step(number, outcome)

    # -- users

    def configure(self, worker: int, connector: int, tasks: int) -> bool:
        name, number = self._names[connector], next(self._live.sets)
        config = self._cluster.configuration(name, tasks, number, partitions=max(self._partitions, tasks))
        return self._ask(worker, connector, "PUT", "/config", config, asked=tasks)

    def delete(self, worker: int, connector: int) -> bool:
        return self._ask(worker, connector, "DELETE", "", asked=-1)

    def stop_connector(self, worker: int, connector: int) -> bool:
        return self._ask(worker, connector, "PUT", "/stop", asked=0)

    def restart_connector(self, worker: int, connector: int) -> bool:
        return self._ask(worker, connector, "POST", "/restart")

    def restart_task(self, worker: int, connector: int, task: int) -> bool:
        return self._ask(worker, connector, "POST", f"/tasks/{task}/restart")

    def _ask(
        self, worker: int, connector: int, method: str, path: str, body: Any = None, asked: int | None = None
    ) -> bool:
        """Return whether the request is not refused: it may wait for an operation of the leader."""
        to = self._cluster.workers[self._workers[worker]]
        if not to.is_awake:
            return False
        reply = self._gates.ask(to, method, f"/connectors/{self._names[connector]}{path}", body)
        accepted = reply is None or reply.is_done
        if accepted and asked is not None:
            self._observer.note("asked", node=worker, connector=connector, count=asked)
        return accepted

    # -- faults

    def stall(self, worker: int) -> None:
        if self._cluster.workers[self._workers[worker]].is_awake:
            self._gates.stalled.add(worker)
            self._cluster.pause(self._workers[worker])
            self._observer.note("worker_stalled", node=worker)

    def resume(self, worker: int) -> None:
        if worker in self._gates.stalled:
            self._observer.note("worker_resumed", node=worker)
            self._live.resume(worker)
            self._gates.settle()

    def crash(self, worker: int) -> None:
        if self._cluster.workers[self._workers[worker]].process is not None:
            self._live.crash(worker)
            self._observer.crashed(worker)
            self._observer.note("worker_stopped", node=worker)
            self._gates.settle()

    def restart_worker(self, worker: int) -> None:
        self.set_support(worker, self._cluster.workers[self._workers[worker]].support)

    def set_support(self, worker: int, value: str) -> None:
        if value not in SUPPORT:
            raise ValueError(f"{self._cluster.release} has no support {value!r}; it has {', '.join(SUPPORT)}")
        self.crash(worker)
        self._observer.note("worker_started", node=worker, support=SUPPORT[value])
        self._live.start(worker, value)
        self._gates.settle()

    def expire(self, worker: int) -> None:
        if self._heartbeat_ms:
            self._gates.deaf.add(worker)
        self._gates.begin()
        with contextlib.suppress(ClusterError):  # it is no member
            self._cluster.expire(self._workers[worker])
        self._gates.settle()

    def write_foreign(self, kind: str, connector: int, count: int) -> None:
        record, of_count = {"set": ("commit", "tasks"), "count": ("tasks-fencing", "task-count")}[kind]
        key, value = f"{record}-{self._names[connector]}", {of_count: count}
        offset = config_topic.write(self._cluster.kafka, self._live.topic, key.encode(), json.dumps(value).encode())
        self._observer.foreign(key, value, offset)
        self._gates.settle()

    def set_fencing(self, connector: int, allowed: bool) -> None:
        change = self._gates.forbidden.discard if allowed else self._gates.forbidden.add
        change(self._names[connector])

    def compact(self) -> None:
        self._observer.note("compacted", offset=self._live.compact())
        self._gates.settle()

    def advance(self, ms: int) -> None:
        if ms >= self._heartbeat_ms:  # a paused worker has not heard by then
            self._gates.deaf &= self._gates.stalled
        self._gates.begin()
        waiting = LONG_MS if self._gates.are_holding else REAL_MS[1][0]  # else every task can stop
        time.sleep(next(real for least, real in REAL_MS if min(ms, waiting) >= least) / 1000)
        self._gates.settle()

    # -- what is seen

    def status(self, connector: int, task: int) -> tuple[str, str]:
        """Return what stands in the status topic, which is what REST reports."""
        return self._observer.statuses.get(Owner(self._names[connector], task), ("", ""))

    def found(self) -> Mapping[tuple[int, int], int]:
        """Return with which offset of its own source partition each (connector, task) began that polls now."""
        polls = {call.instance: call for call in [*self._cluster.control.held] if call.name == "poll"}
        started = [each for each in [*self._cluster.control.calls] if each.name == "started" and each.instance in polls]
        offsets = {
            (self._names.index(each.connector), each.task): dict(
                pair.split(":") for pair in each.fields["found"].split(",")
            )
            for each in started
            if each.connector in self._names
        }
        return {of: int(found[str(of[1])]) for of, found in offsets.items()}

    def drain_events(self) -> Sequence[Event]:
        events, self._observer.events = self._observer.events, []
        return events

    def sources(self, scratch: Path) -> Mapping[str, Any]:
        """Return what a recorder takes, of this system's connectors; what has to be copied is copied to `scratch`."""
        return {
            "log_dirs": self._live.log_dirs(scratch), "seen": self._cluster.seen.file,
            "worker_logs": [worker.folder for worker in self._cluster.workers.values()],
            "connectors": list(self._names),
        }  # fmt: skip


def own(config: Mapping[str, Any]) -> ConnectSystem:
    """Return a system on a cluster of this process; ``cache`` is the folder of what is made once a machine. Raise
    WireError where that is not possible."""
    return ConnectSystem(live(config, int(config["workers"]), TaskGates), config)
