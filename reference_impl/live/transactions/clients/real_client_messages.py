"""This module has the messages of real clients: their requests and answers, stopped in the proxy until a driver
delivers them.

Each request of the transaction protocol becomes a message, and so does its answer. What waits behind another message on
the same connection is not a message yet, because no network delivers it first. A copy is sent over a connection of its
own.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.live.proxy.frames import decoded
from fencepost.reference_impl.live.proxy.links import Exchange
from fencepost.reference_impl.live.proxy.proxy import Proxy
from fencepost.reference_impl.live.proxy.rules import Meant, Met
from fencepost.reference_impl.live.tcp.connection import NoAnswer

Observed = tuple[int, str, str, str, int]  # number, kind, source, target, request
Errors = Callable[[Any], list[int]]

REQUEST, ANSWER, COPY = range(3)
KINDS = {0: "produce", 22: "init", 24: "add", 25: "add", 26: "end", 28: "produce"}
COLLAPSED = frozenset({3, 6, 14, 15, 16, 19, 51})  # "try again", and nothing else
COLLAPSE_S, PAUSE_S = 10.0, 0.01


@dataclass(eq=False)
class Message:
    """A `Message` is one message in flight; ``what`` is REQUEST, ANSWER or COPY."""

    number: int
    what: int
    passing: Passing

    def observed(self) -> Observed:
        kind, client, broker, request = self.passing.names
        if self.what == ANSWER:
            return self.number, f"{kind}_answer", broker, client, request
        return self.number, kind, client, broker, request


class Passing(Met):
    """A `Passing` is one request and its answer, both of which are stopped in the proxy."""

    def __init__(self, messages: Messages, exchange: Exchange, names: tuple[str, str, str, int]) -> None:
        super().__init__(messages.proxy, Meant(exchange.request.name))
        self.names = names
        self.client_id = exchange.request.client_id
        self._messages = messages

    @property
    def link_number(self) -> int:
        return self._link.number if self._link is not None else -1

    @property
    def is_connected(self) -> bool:
        return self._link is not None and not self._link.is_gone

    # -- from the driver's thread

    def send(self, collapse: bool) -> bool:
        """Send the request to the broker, and return whether there is an answer for the client."""
        self._proxy.soon(self._go)
        deadline = time.monotonic() + COLLAPSE_S
        while True:
            self._await(self._answered, None, "was answered")
            later = collapse and self._is_later() and self.is_connected and time.monotonic() < deadline
            if not later:
                return self._answer is not None and self.is_connected
            time.sleep(PAUSE_S)
            self._answered.clear()
            self._proxy.soon(self._again)

    def send_copy(self) -> None:
        done = threading.Event()
        link, exchange = self._link, self._exchange
        assert link is not None
        assert exchange is not None
        self._proxy.soon(lambda: self._proxy.send_afresh(link.address, exchange.request, lambda _: done.set()))
        self._await(done, None, "was answered (the copy)")

    def pass_answer(self) -> None:
        done = threading.Event()
        self._proxy.soon(lambda: self._pass(done))
        self._await(done, None, "was passed on")

    def cut(self) -> None:
        """Break the connection, by which the client learns that nothing more will arrive."""
        done = threading.Event()
        self._proxy.soon(lambda: self._cut(done))
        self._await(done, None, "was cut")

    # -- in the event loop

    def meet(self, link: Any, exchange: Exchange) -> None:
        super().meet(link, exchange)
        self._messages.came(self)

    def at_request(self) -> bool:
        return False

    def at_answer(self) -> bool:
        return False

    def _go(self) -> None:
        assert self._link is not None
        assert self._exchange is not None
        if not self._link.is_dead and self._exchange in self._link.asked:
            self._link.go_on(self._exchange)
        else:
            self._proxy.send_afresh(self._link.address, self._exchange.request, self._take)

    def _again(self) -> None:
        assert self._link is not None
        assert self._exchange is not None
        self._exchange.answered_by.append(self._take)
        self._link.ask_again(self._exchange)

    def _pass(self, done: threading.Event) -> None:
        if self._link is not None and self._exchange is not None:
            self._link.go_on_answering(self._exchange)
        done.set()

    def _cut(self, done: threading.Event) -> None:
        if self._link is not None:
            self._link.cut()
        done.set()

    def _is_later(self) -> bool:
        if self._answer is None or self._exchange is None:
            return False
        errors = self._messages.errors(decoded(self._exchange.request, self._answer))
        return any(errors) and all(error in COLLAPSED for error in errors if error)


class Messages:
    """`Messages` has everything in flight between real clients and brokers. ``names`` returns the kind, client, broker
    and request number of a request, or None if it is to pass at once; ``errors`` returns the errors in an answer."""

    def __init__(
        self,
        proxy: Proxy,
        names: Callable[[Exchange], tuple[str, str, str, int] | None],
        errors: Errors,
        collapse: bool,
    ) -> None:
        self.proxy = proxy
        self.errors = errors
        self._names = names
        self._collapse = collapse
        self._numbers = itertools.count()
        self._flying: dict[int, Message] = {}
        self._moved = threading.Condition()
        proxy.gate = self._stop

    def observed(self) -> list[Observed]:
        """Return the messages that can be delivered, oldest first."""
        with self._moved:
            return [message.observed() for message in self._first()]

    def has(self, client_id: str) -> bool:
        """Return whether a message of a client instance can be delivered, in either direction."""
        with self._moved:
            return any(each.what != COPY and each.passing.client_id == client_id for each in self._flying.values())

    def wait(self, is_there: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until a condition holds; it is checked whenever a message arrives, and every few milliseconds."""
        deadline = time.monotonic() + timeout_s
        while not is_there():
            if time.monotonic() > deadline:
                return False
            with self._moved:
                self._moved.wait(PAUSE_S)
        return True

    def deliver(self, number: int, keep: bool) -> None:
        """Deliver a message; with `keep`, a copy of a request stays in flight. Raise KeyError if there is no such
        message, NoAnswer if the broker is away."""
        message = self._taken(number)
        passing = message.passing
        if keep and message.what != ANSWER:
            self._add(COPY, passing)
        if message.what == COPY:
            passing.send_copy()
        elif message.what == ANSWER:
            passing.pass_answer()
        else:
            try:
                is_answered = passing.send(self._collapse)
            except TimeoutError as error:
                raise NoAnswer(str(error)) from None
            if is_answered:
                self._add(ANSWER, passing)

    def drop(self, number: int) -> None:
        """Lose a message, which breaks its connection. Raise KeyError if there is no such message."""
        message = self._taken(number)
        if message.what == COPY:
            return
        message.passing.cut()
        with self._moved:
            for other in list(self._flying.values()):
                if other.what == ANSWER and other.passing.link_number == message.passing.link_number:
                    del self._flying[other.number]

    # -- in the event loop

    def came(self, passing: Passing) -> None:
        self._add(REQUEST, passing)

    def _stop(self, exchange: Exchange) -> Met | None:
        if exchange.request.api_key not in KINDS:
            return None
        names = self._names(exchange)
        return Passing(self, exchange, names) if names is not None else None

    # -- in any thread

    def _add(self, what: int, passing: Passing) -> None:
        with self._moved:
            number = next(self._numbers)
            self._flying[number] = Message(number, what, passing)
            self._moved.notify_all()

    def _taken(self, number: int) -> Message:
        with self._moved:
            return self._flying.pop(number)

    def _first(self) -> list[Message]:
        """Return the first request and the first answer of every connection, and all copies."""
        seen: set[tuple[int, int]] = set()
        first = []
        for message in self._flying.values():
            place = message.what, message.passing.link_number
            if message.what == COPY or place not in seen:
                first.append(message)
            seen.add(place)
        return first
