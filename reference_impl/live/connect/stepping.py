"""This module lets nothing happen in a live Connect but what is stepped: requests of the workers' clients wait at their
proxies, and tasks that are about to poll at the control server, until each is released, refused or lost.

That nothing else is under way has to be waited for (`Gates.settle`): no request is without an answer but those that
wait here, no thread of any JVM runs or wants to, and all of it has been silent for a moment, or for long. Where that
does not come true, the call of the driver fails with what is under way (`NotAtRest`). A task that waits here can't see
that it is to stop; so when the group, the topic or a user has stirred, each gets an empty poll first.

A worker may be silent for longer, and go on by itself. Where nothing waits here but polls, `settle` waits for that too:

| what goes on by itself | what ends it |
|---|---|
| a task that starts, works, or closes its clients | each `task-thread-` of a JVM is about to poll |
| a herder that waits for such a task, and joins then (`DistributedHerder`) | who is awake has joined where one has |
| a worker that has to join, and has not heard of that | the same, but after a step, which rebalances do not overtake |
| a request of a worker or of a user for another worker (`RestClient`) | its answer |
| a refused set that its worker sends again, 250 ms later, then 500 ms, … | the time of the next try, up to `AGAIN_S` |

What is left takes less than `QUIET_S`, or a minute and more: by `driven.SETTINGS` and `worker.QUICK`, clients back off
for at most 50 ms, consumers read for at most 100 ms, and no rebalance is delayed; transactions and the committing of
offsets have a minute, sessions, rebalances, requests, metadata and session keys more. Two things are left to `advance`:
a leader whose write was refused tries again in 250 ms, and a herder gives up a task that does not stop, since an
operation of it waits here, in `GRACEFUL_MS`.

| operation | what waits |
|---|---|
| claim, open_producer, fence | InitProducerId of the leader, of a task's producer, of the admin client of a round |
| write, write_count | Produce of the leader; its EndTxn follows |
| poll | `SourceTask.poll` |
| commit | EndTxn of a task that commits |
| join, sync, assign | JoinGroup, once there is a member id; SyncGroup; that of the leader, with everyone's assignment |
| answer | what the leader answers to `PUT /connectors/C/fence` |
| stop | `SourceTask.stop` |

Those of the last three lines wait only where a program is to (`FURTHER`), as every rebalance takes two steps a worker
with them. The rest is too coarse to be held. An `ask` names neither the worker nor the task that asks, and a read to
the end (`start_round`, `check_round`, `check_after`) none of those who wait for it: its ListOffsets comes from the
same client, with the same content, and one serves several of them. The config topic is read by a request that is
always out, and comes back without records ten times a second, so that no `read` ends where a program wants it to.
"""

from __future__ import annotations

import contextlib
import http
import itertools
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.live.connect.cluster import ConnectCluster
from fencepost.reference_impl.live.connect.control import Call
from fencepost.reference_impl.live.connect.observing import Instance, Observer, Owner
from fencepost.reference_impl.live.connect.rest import Asked, Reply
from fencepost.reference_impl.live.connect.worker import Worker, threads_of
from fencepost.reference_impl.live.proxy.frames import Request, decoded
from fencepost.reference_impl.live.proxy.links import Exchange
from fencepost.reference_impl.live.proxy.rules import Gated, Lost, Meant, Met, Refused
from fencepost.reference_impl.live.tcp.connection import NoAnswer, WireError

QUIET_S = 0.12
LOOKS, LOOK_S = 3, 0.004
SETTLED_S = 60.0
SILENT_S = 10.0
"""Where nothing was heard for so long, nothing works: on a crowded machine some thread always waits for a core, and one
that works has had a third of a second of it by then, at 30 threads for each core."""
PATIENCE_S = 90.0  # a user's
BUSY_S = 5.0  # an answer that takes longer waits for something else
AWAITED_S, AWAITED_BRIEFLY_S = 10.0, 1.5  # what has been silent for so long does not go on by itself
AGAIN_S = 2.0  # DistributedHerder.reconfigureConnectorTasksWithRetry has a minute
FIRST_AGAIN_S = 0.25
TASK = "task-thread-"  # WorkerTask.THREAD_NAME_PREFIX
TIMERS = ("kafka-coordinator-heartbeat", "ExpirationReaper", "VM Periodic Task")
"""The threads in `TIMERS` look at the clock, and run now and then; a heartbeat is seen at the proxies."""
SYNCED_S, HEARD_S = 0.15, 0.4  # after a rebalance: until the next one is heard of, and until it would have begun
REJOINING_S = 0.3  # the others learn by heartbeat that they have to join again; one of them may be held up
FOR_OTHERS = frozenset({"JoinGroup", "SyncGroup"})
BACKGROUND = frozenset({"Fetch", "Heartbeat", "GetTelemetrySubscriptions", "PushTelemetry"})
DENIED = 53  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED: no client tries again
FURTHER = frozenset({"join", "sync", "assign", "answer", "stop"})
ERRORS = dict.fromkeys(("write", "write_count"), 29)  # TOPIC_AUTHORIZATION_FAILED
ERRORS |= dict.fromkeys(("join", "sync", "assign"), 27)  # REBALANCE_IN_PROGRESS: the worker joins once more
UNAVAILABLE = 500  # HTTP's
BROKEN = "broken by the driver"
_FENCE = re.compile(r"/connectors/([^/]+)/fence")
_TASKS = re.compile(r"/connectors/([^/]+)/tasks")

Thread = tuple[int, str, int, int, int]
Actor = tuple[object, ...]


class NotAtRest(WireError):
    """A `NotAtRest` is raised when something else than what waits here is under way still. Its text says what; of the
    cluster nothing is known then."""


@dataclass(eq=False)
class Wait:
    """A `Wait` is a request that waits for the driver."""

    number: int
    operation: str
    node: int
    owner: Owner
    gated: Gated
    link: tuple[int, int]
    age: int


class Gates(ABC):
    """`Gates` are those of one cluster, which are open until a program begins.

    ``stalled`` workers take no step. Those in ``deaf`` learn late that their session is over: each heartbeat is
    answered as if nothing had changed. So is each that comes with a step, after an operation has come up, or right
    after a rebalance: the next one begins when the driver lets time pass or does something else, and overtakes nothing.
    Rounds may not fence the tasks of the connectors in ``forbidden``.
    """

    def __init__(self, cluster: ConnectCluster) -> None:
        self.cluster, self.nodes = cluster, {name: number for number, name in enumerate(cluster.workers)}
        self.observer: Observer | None = None
        self.stalled: set[int] = set()
        self.deaf: set[int] = set()
        self.forbidden: set[str] = set()
        self.further: frozenset[str] = frozenset()
        self.joins = [0] * len(self.nodes)  # how often each worker has asked the group in
        self._lock = threading.RLock()
        self._waits: list[Wait] = []
        self._out: dict[tuple[int, int], tuple[str, float, int]] = {}  # without an answer: since when, on which link
        self._rejoining: set[int] = set()
        self._losing: set[int] = set()  # workers whose leader's next EndTxn is lost
        self._numbers, self._of_actor, self._ages = itertools.count(1), dict[Actor, int](), itertools.count()
        self._calls: dict[object, int] = {}  # ages of polls and stops, by the probe's instance, and of answers
        self._users: list[threading.Thread] = []
        self._again: dict[str, tuple[int, float]] = {}  # by connector: how often it was refused, and when it is tried
        self._last, self._stirred, self._is_step, self._begun = time.monotonic(), False, False, 0
        self._synced = self._last
        cluster.control.hold(self.takes)  # once for each call
        for name, node in self.nodes.items():
            cluster.proxies[name].gate = partial(self._came, node)
        self._answers = [each.hold(self._is_answer, answers=True) for each in cluster.rest.values()]
        for rest in cluster.rest.values():
            rest.ended = self._asked

    @property
    def numbers(self) -> Iterator[int]:
        return self._numbers

    def close(self, observer: Observer, further: Iterable[str] = ()) -> None:
        """Hold the requests that are about the observer's connectors from now on, and those operations of `FURTHER`.
        Raise ValueError for others."""
        if unknown := {*further} - FURTHER:
            raise ValueError(f"{', '.join(sorted(unknown))} cannot wait; these can: {', '.join(sorted(FURTHER))}")
        with self._lock:
            self.observer, self.further = observer, frozenset(further)

    def open(self) -> None:
        """Let everything go on that waits, and hold nothing."""
        with self._lock:
            self.observer, waits = None, [*self._waits]
            self.deaf.clear()
            self.forbidden.clear()
            self._losing.clear()
            self._waits.clear()
        for wait in waits:
            wait.gated.release()
        for call in self._held():
            call.answer()
        for asked in self._answered_rounds():
            asked.release()

    # -- what waits: the hooks of those that derive from this

    @abstractmethod
    def operation(self, node: int, request: Request) -> tuple[str, Owner, Actor] | None:
        """Return what a request does, for whom, and who of the worker does it, None where it does not wait; "end" is
        what follows a leader's write."""

    @abstractmethod
    def takes(self, call: Call) -> bool:
        """Note a call, and return whether it waits."""

    @abstractmethod
    def let(self, number: int, outcome: str) -> None:
        """Let the call happen, fail, or get lost that waits under this number, if there is one."""

    @abstractmethod
    def given_up(self, wait: Wait) -> None:
        """Note that nothing comes of a request."""

    # -- what comes, in the threads of proxies and of the control server

    def _came(self, node: int, exchange: Exchange) -> Met | None:
        request = exchange.request
        proxy, meant = self.cluster.proxies[self._name(node)], Meant(request.name)
        with self._lock:
            if request.name == "Heartbeat" and (node in self.deaf or self._is_hushed):
                return Refused(proxy, meant, 0)
            if request.name not in BACKGROUND:
                self._out[node, exchange.number] = request.name, time.monotonic(), exchange.link
                self._last = time.monotonic()
            self.joins[node] += request.name == "JoinGroup"
            exchange.answered_by.append(partial(self._answered, node, exchange))
            operation, owner, actor = self.operation(node, request) or ("", Owner(""), ())
            if operation == "fence" and owner.connector in self.forbidden:
                return Refused(proxy, meant, DENIED)
            if operation == "end":
                lost = node in self._losing
                self._losing.discard(node)
                return Lost(proxy, meant, DENIED) if lost else None
            if not operation:
                return None
            gated, number = proxy.gated(exchange), self._number(actor)
            link = node, exchange.link
            self._waits.append(Wait(number, operation, node, owner, gated, link, next(self._ages)))
            return gated

    def _is_answer(self, asked: Asked) -> bool:
        with self._lock:
            self._last, self._calls[asked] = time.monotonic(), next(self._ages)
            return "answer" in self.further and self._round(asked) is not None

    def _asked(self, asked: Asked) -> None:
        matched = _TASKS.fullmatch(asked.path)
        with self._lock:
            self._last = time.monotonic()
            if matched is None or asked.method != "POST":
                return
            tries, _ = self._again.pop(matched[1], (0, 0.0))
            if asked.status is None or asked.status >= http.HTTPStatus.BAD_REQUEST:
                self._again[matched[1]] = tries + 1, self._last + FIRST_AGAIN_S * 2**tries

    def _round(self, asked: Asked) -> Thread | None:
        """Return the thread that answers the request for a round, and None for any other request."""
        matched = _FENCE.fullmatch(asked.path)
        if matched is None or self.observer is None or matched[1] not in self.observer.names:
            return None
        connector, node = self.observer.names[matched[1]], self.nodes[asked.worker]
        return self._number(("asked", asked)), "answer", node, connector, -1

    def _answered(self, node: int, exchange: Exchange, frame: bytes | None) -> None:
        request = exchange.request
        with self._lock:
            if self._out.pop((node, exchange.number), None) is not None:
                self._last = time.monotonic()
            if request.name in BACKGROUND and request.name != "Heartbeat":
                return
            answer = decoded(request, frame) if frame is not None else None
            if request.name == "JoinGroup" and answer is not None and not answer.error_code:
                self.deaf.discard(node)
            if request.name == "Heartbeat":
                self._beaten(node, int(answer.error_code) if answer is not None else 0)
            if request.name in FOR_OTHERS:
                self._stirred, self._synced = True, time.monotonic()
                self._rejoining -= {node} if request.name == "SyncGroup" else set()
            if self.observer is not None:
                self._stirred |= request.name == "EndTxn" and self.observer.owner(request) == Owner("")
                self.observer.answered(node, request, answer)

    def _beaten(self, node: int, error: int) -> None:
        """Note that a worker has to join again, which one whose herder waits learns anew at each heartbeat."""
        if error and node not in self._rejoining:
            self._rejoining.add(node)
            self._stirred, self._last = True, time.monotonic()
        elif not error:
            self._rejoining.discard(node)

    # -- what the driver does

    @property
    def _is_hushed(self) -> bool:
        ages = [wait.age for wait in self._waits] + [self._calls[asked] for asked in self._answered_rounds()]
        ages += [self._calls[call.instance] for call in self._held() if call.name == "stop"]
        is_early = time.monotonic() - self._synced < SYNCED_S or any(age >= self._begun for age in ages)
        return self.observer is not None and (self._is_step or is_early)

    @property
    def stirred_s(self) -> float:
        """When something but reading and heartbeats was last seen, or the driver last did something."""
        return self._last

    def begin(self, is_step: bool = False) -> None:
        """Note that a call of the driver begins. But for a step, it may make a worker stop its tasks."""
        with self._lock:
            self._is_step, self._begun = is_step, next(self._ages)
            self._stirred |= not is_step
            self._last = time.monotonic()

    def ask(self, worker: Worker, method: str, path: str, body: Any = None) -> Reply | None:
        """Have a user ask a worker, wait for what follows, and return the answer, None while there is none: it may need
        an operation that waits here, and the worker may carry it out later."""
        replies: list[Reply] = []

        def ask() -> None:
            with contextlib.suppress(NoAnswer):
                replies.append(worker.ask(method, path, body, PATIENCE_S))

        self.begin()
        self._users = [*(each for each in self._users if each.is_alive()), threading.Thread(target=ask, daemon=True)]
        self._users[-1].start()
        self.settle()
        return replies[0] if replies else None

    def crashed(self, node: int) -> None:
        """Forget what a worker's clients wait for, as its process has ended."""
        with self._lock:
            self._waits = [wait for wait in self._waits if wait.node != node]
            self._out = {key: since for key, since in self._out.items() if key[0] != node}
            self.deaf.discard(node)
            self._rejoining.discard(node)

    @property
    def are_holding(self) -> bool:
        """Return whether something waits here besides polls."""
        return bool(self._waits or self._answered_rounds()) or any(call.name != "poll" for call in self._held())

    def step(self, number: int, outcome: str) -> None:
        """Let the thread's operation happen, fail, or get lost, and wait until nothing else happens."""
        self.begin(is_step=True)
        with self._lock:
            wait = next((each for each in self._waits if each.number == number and each.gated.is_next), None)
            if wait is not None:
                self._waits.remove(wait)
        if wait is None:
            self.let(number, outcome)
        elif outcome == "failed":
            wait.gated.refuse(ERRORS.get(wait.operation, DENIED))
        elif outcome == "lost" and wait.operation.startswith("write"):  # the records are committed with it
            self._losing.add(wait.node)
            wait.gated.release()
        elif outcome == "lost":
            wait.gated.lose(ERRORS.get(wait.operation, DENIED))
        else:
            wait.gated.release()
        self.settle()

    def settle(self, timeout_s: float | None = None) -> None:
        """Wait until nothing is under way but what waits here. Raise NotAtRest after this time, `SETTLED_S` if none is
        given."""
        timeout_s = SETTLED_S if timeout_s is None else timeout_s
        deadline, looks, silent, why = time.monotonic() + timeout_s, 0, 0.0, ""
        while time.monotonic() < deadline:
            busy = self._sounds() or (self._runs() if time.monotonic() - self._last < SILENT_S else "")
            looks = 0 if busy else looks + 1
            if looks >= LOOKS:
                looks, silent = 0, silent or time.monotonic()
                busy = self._nudged() or self._goes_on(silent)
                if not busy:
                    return
            why = busy or why
            time.sleep(LOOK_S)
        raise NotAtRest(f"Connect {self.cluster.release} is not at rest after {timeout_s:g} s: {why}")

    def catch_up(self) -> None:
        """Wait for what follows where a client has given up what waited here; the next call of the driver does where
        that takes longer."""
        if self._has_forgotten():
            with contextlib.suppress(NotAtRest):
                self.settle()

    def _has_forgotten(self) -> bool:
        with self._lock:
            gone = [wait for wait in self._waits if wait.gated.is_gone]
            for wait in gone:
                self._waits.remove(wait)
                self.given_up(wait)
                self._last, self._stirred = time.monotonic(), True
            return bool(gone)

    def _goes_on(self, since: float) -> str:
        """Return what goes on by itself although all was silent, "" if nothing does; tasks may have to stop for it."""
        with self._lock:
            patience_s = AWAITED_BRIEFLY_S if self._is_step or self.stalled else AWAITED_S
            if self.are_holding or time.monotonic() - since > patience_s:
                return ""
            goes_on = self._starts() or self._asks() or ("" if self._is_step else self._joins())
            self._stirred |= bool(goes_on)
            return goes_on

    def _starts(self) -> str:
        """Return which worker has a thread of a task that starts, works or ends, and is not about to poll."""
        mine = self.observer.names if self.observer is not None else {}
        polls = {call.instance for call in [*self.cluster.control.held] if call.name == "poll"}
        known = [each for each in [*self.cluster.control.instances.values()] if each.polls and not each.is_over]
        known = [each for each in known if each.name in polls or each.connector not in mine]
        with contextlib.suppress(OSError):  # a process that ends
            return ", ".join(
                f"a task of {name} starts, works or ends"
                for name, worker in self.cluster.workers.items()
                if worker.process is not None and worker.is_awake
                if sum(thread.startswith(TASK) for thread, _ in threads_of(worker.process.pid))
                > sum(each.worker == name and each.task >= 0 for each in known)
            )
        return "a worker ends"

    def _asks(self) -> str:
        """Return what waits for an answer, of a worker or a user, or is about to be asked again."""
        asked = [each for rest in self.cluster.rest.values() for each in [*rest.under_way]]
        now = time.monotonic()
        found = [f"{each.method} {each.path}" for each in asked if self.nodes[each.worker] not in self.stalled]
        found += ["the request of a user" for each in self._users if each.is_alive()]
        found += [f"tasks of {name}" for name, (_, at) in self._again.items() if now < at + QUIET_S < now + AGAIN_S]
        return f"without an answer: {', '.join(found)}" if found else ""

    def _joins(self) -> str:
        """Return which workers can and have to join the others, or will hear of that."""
        joined = {node for (node, _), (name, *_) in self._out.items() if name in FOR_OTHERS}
        awake = {node for name, node in self.nodes.items() if self.cluster.workers[name].is_awake} - self.deaf
        has_to = (joined | self._rejoining) & awake and awake - joined
        return f"to join the group: {', '.join(map(self._name, has_to))}" if has_to else ""

    def _sounds(self) -> str:
        """Return what was heard a moment ago."""
        with self._lock:
            self._has_forgotten()
            now, held = time.monotonic(), {wait.link for wait in self._waits}
            out = [
                f"{name} of {self._name(node)}"
                for (node, _), (name, since, link) in self._out.items()
                if (node, link) not in held and node not in self.stalled
                if now - since < (REJOINING_S if name in FOR_OTHERS else BUSY_S)
            ]
            if out:
                return f"without an answer: {', '.join(out)}"
            is_silent = now - self._last > QUIET_S and now - self._synced > HEARD_S
            return "" if is_silent else "requests come, and are answered"

    def _runs(self) -> str:
        """Return which threads run, or want to."""
        processes = {name: worker.process for name, worker in self.cluster.workers.items()}
        processes |= {f"broker {number}": node.process for number, node in self.cluster.kafka.nodes.items()}
        with contextlib.suppress(OSError):
            return ", ".join(
                f"{thread!r} of {name} runs"
                for name, process in processes.items()
                if process is not None
                for thread, state in threads_of(process.pid)
                if state in "RD" and not any(timer.startswith(thread) for timer in TIMERS)
            )
        return "a process ends"

    def _nudged(self) -> str:
        """Let the tasks that are about to poll see whether they have to stop, if they may have to."""
        with self._lock:
            stirred, self._stirred = self._stirred, False
            calls = [c for c in self._held() if c.name == "poll" and self.nodes.get(c.worker) not in self.stalled]
            if not stirred or not calls:
                return ""
            self._last = time.monotonic()
        for call in calls:
            call.answer()
        return "tasks see whether they have to stop"

    def _held(self) -> list[Call]:
        return [call for call in [*self.cluster.control.held] if call.instance in self._calls]

    def _answered_rounds(self) -> list[Asked]:
        return [asked for each in self._answers for asked in [*each.waiting]]

    def _instance(self, call: Call) -> Instance | None:
        found = self.observer.instances if self.observer is not None else []
        return next((each for each in found if each.name == call.instance), None)

    def _number(self, actor: Actor) -> int:
        if actor not in self._of_actor:
            self._of_actor[actor] = next(self._numbers)
        return self._of_actor[actor]

    def _connector(self, owner: Owner) -> int:
        assert self.observer is not None
        return self.observer.names.get(owner.connector, -1)

    def _name(self, node: int) -> str:
        return next(name for name, number in self.nodes.items() if number == node)
