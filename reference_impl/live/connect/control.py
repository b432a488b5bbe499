"""This module is the control server: the connector and the tasks of `java/probe` report each call to it, and go on when
they get the answer.

    with Control(seen) as control:
        polls = control.hold(lambda call: call.name == "poll")      # from now on, polls wait
        call = control.wait_for("poll", connector="c", task=0)
        call.answer(records="0:2")                                  # the next two records of source partition 0
        polls.end()                                                 # those that wait get the usual answer

Answers are the fields that `ProbeTask.poll` and `ProbeConnector.taskConfigs` document; `throw` makes any call throw a
ConnectException with that text. An answer is a mapping, and values are written as they print.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from fencepost.reference_impl.live.clusters.ending import Entering
from fencepost.reference_impl.live.connect.seen import CONTROL, Seen

Answer = Mapping[str, object]
NOTHING: Answer = {}
IDLE: Answer = {"pause": 50}  # milliseconds: a task that has nothing polls twenty times a second
CONNECTOR = -1
HOST = "127.0.0.1"


@dataclass(eq=False)
class Call:
    """A `Call` is one call of Connect on a connector (``task`` is -1) or a task.

    ``name`` is the method's, or `started` for the end of a task's `start`; ``line`` is its line in `Seen`, which has
    the further fields; ``worker`` is the name of the worker, or its process id where that is not known.
    """

    name: str
    connector: str
    task: int
    instance: str
    worker: str
    line: int
    fields: Mapping[str, str]
    _control: Control = field(repr=False)
    _socket: socket.socket = field(repr=False)
    is_open: bool = True

    def answer(self, **fields: object) -> None:
        """Let the call return, with these fields. Only the first answer counts."""
        self._control.answer(self, fields)


@dataclass
class Instance:
    """An `Instance` is one connector (``task`` is -1) or task in a worker, from its `start` on. ``set`` is the
    number of its set, ``polls`` how often it has polled; it ``is_over`` once it has stopped or is lost."""

    name: str
    connector: str
    task: int
    worker: str
    set: int
    polls: int = 0
    is_over: bool = False


class Holding:
    """A `Holding` holds the calls that its predicate covers, until `end`."""

    def __init__(self, control: Control, covers: Callable[[Call], bool]) -> None:
        self.covers = covers
        self._control = control

    @property
    def calls(self) -> list[Call]:
        """The calls that wait here, the oldest first."""
        return [call for call in self._control.held if self.covers(call)]

    def release(self) -> None:
        """Give the calls that wait their usual answer; later ones are held again."""
        for call in self.calls:
            call.answer(**self._control.usual(call))

    def end(self) -> None:
        """Hold no more, and release what waits."""
        self._control.stop_holding(self)
        self.release()


class Control(Entering):
    """A `Control` listens on 127.0.0.1 from its making until `close`; `address` is its `host:port`.

    `answers` decides what a call that is not held is answered, in a thread of its own; by default polls give nothing
    and every other call goes on. `worker_of` gives the name of a worker by the process id of its JVM.
    """

    def __init__(self, seen: Seen, worker_of: Callable[[int], str] = str) -> None:
        self.answers: Callable[[Call], Answer] = usual
        self.held: list[Call] = []
        self.calls: list[Call] = []
        self.instances: dict[str, Instance] = {}
        self._seen, self._worker_of = seen, worker_of
        self._holdings: list[Holding] = []
        self._changed = threading.Condition(threading.RLock())
        self._server = socket.create_server((HOST, 0))
        self.address = f"{HOST}:{self._server.getsockname()[1]}"
        self._connections: set[socket.socket] = set()
        threading.Thread(target=self._accept, name="fencepost-control", daemon=True).start()

    def _start(self, stack: ExitStack) -> None:
        stack.callback(self.close)

    def close(self) -> None:
        """End every connection: the calls that wait throw a ConnectException in their workers."""
        with self._changed:
            every = [self._server, *self._connections]
        for each in every:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def hold(self, covers: Callable[[Call], bool]) -> Holding:
        """Hold every later call of which `covers` is true, until the holding ends."""
        holding = Holding(self, covers)
        with self._changed:
            self._holdings.append(holding)
        return holding

    def alive(self, connector: str, *, connectors: bool = False) -> list[Instance]:
        """Return the instances of the connector's tasks, or with `connectors` also its own, that are not over."""
        with self._changed:
            found = [each for each in self.instances.values() if each.connector == connector and not each.is_over]
        return [each for each in found if connectors or each.task != CONNECTOR]

    def stop_holding(self, holding: Holding) -> None:
        with self._changed, contextlib.suppress(ValueError):
            self._holdings.remove(holding)

    def usual(self, call: Call) -> Answer:
        """What a call is answered that is not held."""
        return self.answers(call)

    def answer(self, call: Call, answer: Answer) -> None:
        """Let a call return with this answer; only the first counts."""
        with self._changed:
            if not call.is_open:
                return
            call.is_open = False
            if call in self.held:
                self.held.remove(call)
            if answer is not NOTHING and answer is not IDLE:
                self._seen.note(CONTROL, "answered", called=call.line, answer={k: str(v) for k, v in answer.items()})
            parts = [f"number={call.fields['number']}", *(f"{name}={value}" for name, value in answer.items())]
            with contextlib.suppress(OSError):  # its worker is gone
                call._socket.sendall(("\t".join(parts) + "\n").encode())

    def wait_for(
        self, name: str, timeout_s: float = 60.0, *, held: bool = False, since: int = 0, **like: object
    ) -> Call:
        """Wait for the first call of this name from line `since` on, and with `held` the first that waits now, of which
        each of `like` is equal: `connector`, `task`, `instance`, `worker`, or a field as text. Raise TimeoutError."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            looked = bisect_left(self.calls, since, key=lambda call: call.line)
            while True:
                for call in self.held if held else self.calls[looked:]:
                    if call.name == name and call.line >= since and _is_like(call, like):
                        return call
                looked = len(self.calls)
                if not self._changed.wait(deadline - time.monotonic()):
                    last = [f"{each.name} of {each.connector}-{each.task}" for each in self.calls[-5:]]
                    wanted = "".join(f" {key}={value}" for key, value in like.items())
                    raise TimeoutError(f"no{' held' * held} {name}{wanted} within {timeout_s:g} s; the last: {last}")

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:  # closed
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self._connections.add(client)
            threading.Thread(target=self._serve, args=(client,), name="fencepost-probe", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        instance = ""
        try:
            with contextlib.suppress(OSError), client.makefile("r", encoding="utf-8", newline="\n") as lines:
                for line in lines:
                    if not line.endswith("\n"):  # its worker was killed while it wrote
                        break
                    call, is_held = self._called(client, line)
                    instance = call.instance
                    if not is_held:
                        self.answer(call, self.usual(call))
        finally:  # also where `answers` raises: the call throws in its worker then
            client.close()
            self._lost(client, instance)

    def _lost(self, client: socket.socket, instance: str) -> None:
        with self._changed:
            self.held = [call for call in self.held if call._socket is not client]
            self._connections.discard(client)
            if instance:
                self.instances[instance].is_over = True
                self._seen.note(CONTROL, "lost", instance=instance)
            self._changed.notify_all()

    def _called(self, client: socket.socket, line: str) -> tuple[Call, bool]:
        """Return the call, and whether it is held."""
        given = dict(part.split("=", 1) for part in line.rstrip("\n").split("\t"))
        name, task, worker = given.pop("call"), int(given.pop("task")), self._worker_of(int(given.pop("pid")))
        connector, instance = given.pop("connector"), given.pop("instance")
        with self._changed:
            call = Call(name, connector, task, instance, worker, len(self._seen.lines), given, self, client)
            is_held = any(each.covers(call) for each in self._holdings)
            call.line = self._seen.note(
                CONTROL, "called", call=name, connector=connector, task=task, instance=instance, worker=worker,
                **({"held": True} if is_held else {}), **given,
            )  # fmt: skip
            self.calls.append(call)
            self._follow(call)
            if is_held:
                self.held.append(call)
            self._changed.notify_all()
            return call, is_held

    def _follow(self, call: Call) -> None:
        if call.name == "start":
            number = int(call.fields["set"])
            self.instances[call.instance] = Instance(call.instance, call.connector, call.task, call.worker, number)
        elif call.name in ("poll", "stop"):
            known = self.instances[call.instance]
            known.polls += call.name == "poll"
            known.is_over |= call.name == "stop"


def usual(call: Call) -> Answer:
    """Polls give nothing, and every other call goes on."""
    return IDLE if call.name == "poll" else NOTHING


def _is_like(call: Call, like: Mapping[str, Any]) -> bool:
    return all(
        getattr(call, name) == value if name in ("connector", "task", "instance", "worker")
        else call.fields.get(name) == str(value)
        for name, value in like.items()
    )  # fmt: skip
