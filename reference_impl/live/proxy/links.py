"""This module is one client's connection through the proxy, and the connection behind it: bytes in order, until it is
closed.

Everything in this module runs in the proxy's event loop. A request that is held delays what follows on its connection,
as a slow network would, and so does an answer that is held. When the client closes its connection, what was held can
still reach the broker: this makes it a late request.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from fencepost.reference_impl.live.proxy.frames import FrameBuffer, Request, correlation_of, framed


@dataclass(eq=False)
class Exchange:
    """An `Exchange` is a request on its way, and its answer. ``number`` counts the requests of the proxy, ``link`` its
    connections.

    The callbacks in ``answered_by`` are called with the broker's answer, or the one by which it is refused, or None if
    the broker gives none, whether or not the client gets it.
    """

    number: int
    link: int
    request: Request
    time_us: int
    answer: bytes | None = None
    is_refused: bool = False  # by a rule, and so without the broker
    answered_by: list[Callable[[bytes | None], None]] = field(default_factory=list)

    def give(self, answer: bytes | None) -> None:
        """Call the callbacks with the answer, or with None if there will be none; only the first call counts."""
        callbacks, self.answered_by = self.answered_by, []
        for callback in callbacks:
            callback(answer)


class Decisions(Protocol):
    """A `Decisions` decides what becomes of requests and answers."""

    def request_came(self, link: Link, request: Request) -> Exchange:
        """Handle a request that has arrived from a client."""

    def on_request(self, link: Link, exchange: Exchange) -> bool:
        """Return whether the next request may go to the broker, or stays until `link.go_on` is called."""

    def on_answer(self, link: Link, exchange: Exchange) -> bool:
        """Return whether the answer, which is the next one, may go to the client; if not, it stays held."""

    def rewrite(self, exchange: Exchange, frame: bytes) -> bytes:
        """Return the answer as the client gets it."""

    def answered(self, exchange: Exchange) -> None:
        """Note that the answer goes to the client."""

    def closed(self, link: Link, unanswered: list[Exchange]) -> None:
        """Note that the client has closed its connection, with these exchanges unanswered."""


def now_us() -> int:
    return time.time_ns() // 1000


class Pipe(asyncio.Protocol):
    """A `Pipe` is one socket of a link."""

    def __init__(self, got: Callable[[bytes], None], lost: Callable[[], None]) -> None:
        self.transport: asyncio.Transport | None = None
        self._frames = FrameBuffer()
        self._got, self._lost = got, lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                self._got(frame)
        except ValueError:  # not Kafka's: nothing that follows can be understood
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._lost()

    def write(self, frame: bytes) -> None:
        if self.transport is not None:
            self.transport.write(framed(frame))

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()


@dataclass(eq=False)
class Link:
    """A `Link` is a client's socket and that of the broker at ``address``."""

    number: int
    decisions: Decisions
    address: tuple[str, int]
    client: Pipe | None = None
    broker: Pipe | None = None
    asked: deque[Exchange] = field(default_factory=deque)  # not with the broker yet
    answered: deque[Exchange] = field(default_factory=deque)  # answered, and not with the client yet
    waiting: dict[int, Exchange] = field(default_factory=dict)  # with the broker, by correlation id
    is_held: bool = False
    is_answer_held: bool = False
    is_gone: bool = False  # the client
    is_dead: bool = False  # the connection to the broker, once there was one
    released: Exchange | None = None  # it was held, and is no more

    def take(self, frame: bytes) -> None:
        self.asked.append(self.decisions.request_came(self, Request.read(frame)))
        self.push()

    def push(self) -> None:
        while self.asked and not self.is_held and self.broker is not None:
            exchange = self.asked[0]
            if exchange is not self.released and not self.decisions.on_request(self, exchange):
                self.is_held = True
                return
            if exchange in self.asked:  # else it was answered, or forgotten, just now
                self.asked.remove(exchange)
                self.waiting[exchange.request.correlation_id] = exchange
                self.broker.write(exchange.request.frame)

    def go_on(self, exchange: Exchange) -> None:
        """Let the held request go to the broker, as soon as the broker is connected."""
        self.is_held, self.released = False, exchange
        self.push()

    def forget(self, exchange: Exchange) -> None:
        """Drop the held request, so that it never reaches the broker."""
        self.is_held = False
        if exchange in self.asked:
            self.asked.remove(exchange)
        self.push()
        self.close_if_idle()

    def refuse(self, exchange: Exchange, answer: bytes) -> None:
        """Give the client this answer to a request that waits, which never reaches the broker."""
        exchange.answer, exchange.is_refused = answer, True
        exchange.give(answer)
        self.answered.append(exchange)
        self.forget(exchange)
        self.pull()

    def give(self, frame: bytes) -> None:
        exchange = self.waiting.pop(correlation_of(frame), None)
        if exchange is None:
            raise ValueError("an answer to a request that was not made")
        exchange.answer = frame
        exchange.give(frame)
        refused = (n for n, each in enumerate(self.answered) if each.is_refused and each.number > exchange.number)
        self.answered.insert(next(refused, len(self.answered)), exchange)
        self.pull()

    def pull(self) -> None:
        while self.answered and not self.is_answer_held:
            exchange = self.answered[0]
            ahead = (*self.waiting.values(), *self.asked)
            if exchange.is_refused and any(each.number < exchange.number for each in ahead):
                return  # clients expect answers in the order of their requests
            if not self.decisions.on_answer(self, exchange):
                self.is_answer_held = True
                return
            self._deliver(exchange)
        self.close_if_idle()

    def _deliver(self, exchange: Exchange) -> None:
        self.answered.remove(exchange)
        assert exchange.answer is not None
        if self.client is not None and not self.is_gone:
            self.decisions.answered(exchange)
            self.client.write(self.decisions.rewrite(exchange, exchange.answer))

    def go_on_answering(self, exchange: Exchange) -> None:
        self.is_answer_held = False
        if exchange in self.answered:
            self._deliver(exchange)
        self.pull()

    def ask_again(self, exchange: Exchange) -> None:
        """Discard the held answer, which asks the client to try again later, and send the request once more."""
        if exchange in self.answered and self.broker is not None:
            self.answered.remove(exchange)
            self.is_answer_held = False
            self.waiting[exchange.request.correlation_id] = exchange
            self.broker.write(exchange.request.frame)
            self.pull()

    def client_lost(self) -> None:
        """Handle the client's closing: a held request stays, and one that was released before the broker was connected
        goes as soon as it is; requests that wait behind it are dropped."""
        if self.is_gone:
            return
        self.is_gone = True
        self.decisions.closed(self, [*self.answered, *self.waiting.values(), *self.asked])
        is_released = bool(self.asked) and self.asked[0] is self.released
        if self.asked and self.broker is None and not self.is_dead and not is_released:  # no rule was looked at yet
            self.is_held = not self.decisions.on_request(self, self.asked[0])
        while len(self.asked) > (self.is_held or is_released):
            self.asked.pop().give(None)
        self.close_if_idle()

    def broker_lost(self) -> None:
        """Handle the broker's closing: the client gets what has been answered, and is then closed too."""
        self.broker, self.is_dead = None, True
        for exchange in (*self.waiting.values(), *list(self.asked)[self.is_held :]):  # what is held can go elsewhere
            exchange.give(None)
        if self.client is not None and not self.is_answer_held:
            self.client.close()

    def cut(self) -> None:
        self.is_held = self.is_answer_held = False
        self.asked.clear()
        self.answered.clear()
        for pipe in (self.client, self.broker):
            if pipe is not None and pipe.transport is not None:
                pipe.transport.abort()

    def close_if_idle(self) -> None:
        """Close the broker's side if the client has closed its own, nothing is held, and the broker has answered."""
        is_idle = not self.is_held and not self.is_answer_held and not self.waiting
        if self.is_gone and is_idle and self.broker is not None:
            self.broker.close()
