"""This module is a proxy between clients and brokers on 127.0.0.1, which can hold, copy, delay and cut, one request at
a time.

    with Proxy("127.0.0.1:9092") as proxy:
        producer = Producer({"bootstrap.servers": proxy.bootstrap, "transactional.id": "t"})
        late = proxy.copy_next("EndTxn", "t")
        ...                                    # the transaction ends, the next one begins
        answer = late.send()                   # the broker gets the request a second time

Clients reach every broker through the proxy, because the addresses in answers are its own. A rule applies once, to the
next request that it covers; of several rules, the oldest applies. Every handle has `wait()` and `answer()`, which are
bounded. One thread accepts, connects, and lets the rules decide what passes when. The layers below are `links.py`
(connections), `rules.py` (handles), `addresses.py` (what is rewritten) and `frames.py` (the format); `sniffing.py`
makes events of what passes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from fencepost.reference_impl.live.proxy.addresses import Rewriting
from fencepost.reference_impl.live.proxy.frames import LARGEST, Request, framed
from fencepost.reference_impl.live.proxy.links import Exchange, Link, Pipe, now_us
from fencepost.reference_impl.live.proxy.rules import (
    Copied,
    Cut,
    Delayed,
    Gated,
    Held,
    HeldAnswer,
    Lost,
    Meant,
    Met,
    Refused,
    Where,
)
from fencepost.reference_impl.live.tcp.connection import WireError, parse_servers

Rule = TypeVar("Rule", bound=Met)


class Watcher(Protocol):
    """A `Watcher` observes requests and answers in the proxy's thread, and must not block."""

    def requested(self, exchange: Exchange) -> None:
        """Note that a request has arrived from a client."""

    def answered(self, exchange: Exchange, time_us: int) -> None:
        """Note that the answer goes to the client."""

    def lost(self, exchange: Exchange, time_us: int) -> None:
        """Note that the client's connection ended before the answer."""


class Proxy:
    """A `Proxy` is used as `with Proxy(bootstrap) as proxy:`, and clients then use `proxy.bootstrap`.

    `bootstrap` is `host:port,…` of the brokers. `watch` observes what passes. `at_most` limits the versions that
    clients are offered, by Kafka's name of the API: `{"EndTxn": 4, "Produce": 11}` makes a client of
    transaction.version 2 one of version 1. `timeout_s` bounds every wait that has no bound of its own.

    In the rules, `api` is Kafka's name (EndTxn). A transactional id `txn`, a client id `client` and a predicate `where`
    on kio's request restrict the rule further.
    """

    def __init__(
        self,
        bootstrap: str,
        watch: Watcher | None = None,
        *,
        at_most: Mapping[str, int] | None = None,
        timeout_s: float = 15.0,
    ) -> None:
        self.timeout_s = timeout_s
        self._servers = parse_servers(bootstrap)
        self._watch = watch
        self.gate: Callable[[Exchange], Met | None] | None = None  # for requests that no rule meets; set before use
        self._rewriting = Rewriting(self._local_port, at_most or {})
        self._ports: dict[tuple[str, int], int] = {}
        self._rules: list[Met] = []
        self._met: dict[int, Met] = {}  # by exchange
        self._lock = threading.Lock()
        self._links: set[Link] = set()
        self._link_numbers, self._exchange_numbers = itertools.count(), itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers_open: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fencepost-proxy", daemon=True)

    def __enter__(self) -> Self:
        ports = [self._local_port(*server) for server in self._servers]
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(self.timeout_s)
            if self._thread.is_alive():
                raise WireError(f"the proxy's thread did not end within {self.timeout_s:g} s")

    # -- rules for what comes next

    def hold_next(
        self, api: str, txn: str | None = None, client: str | None = None, where: Where | None = None
    ) -> Held:
        """Hold the next such request back from the broker until it is released."""
        return self._add(Held(self, Meant(api, txn, client, where)))

    def gated(self, exchange: Exchange) -> Gated:
        """Return the handle of a request that a `gate` holds; the gate returns it in turn."""
        request = exchange.request
        return Gated(self, Meant(request.name, request.transactional_id, request.client_id))

    def refuse_next(self, api: str, code: int, txn: str | None = None, client: str | None = None) -> Refused:
        """Answer the next such request with this error code of Kafka's; the broker never gets it."""
        return self._add(Refused(self, Meant(api, txn, client), code))

    def lose_next(self, api: str, code: int, txn: str | None = None, client: str | None = None) -> Lost:
        """Let the next such request pass, and replace the broker's answer by one with this error code of Kafka's."""
        return self._add(Lost(self, Meant(api, txn, client), code))

    def hold_next_answer(
        self, api: str, txn: str | None = None, client: str | None = None, where: Where | None = None
    ) -> HeldAnswer:
        """Hold the answer to the next such request back from the client until it is released."""
        return self._add(HeldAnswer(self, Meant(api, txn, client, where)))

    def copy_next(
        self, api: str, txn: str | None = None, client: str | None = None, where: Where | None = None
    ) -> Copied:
        """Let the next such request pass, and store a copy that can be sent later, any number of times."""
        return self._add(Copied(self, Meant(api, txn, client, where)))

    def delay_next(
        self,
        api: str,
        delay_s: float,
        txn: str | None = None,
        client: str | None = None,
        where: Where | None = None,
    ) -> Met:
        """Let the next such request reach the broker `delay_s` later."""
        meant = Meant(api, txn, client, where)
        return self._add(Delayed(self, meant, lambda callback: self._later(delay_s, callback)))

    def cut_before(
        self, api: str, txn: str | None = None, client: str | None = None, where: Where | None = None
    ) -> Met:
        """End the connection of the next such request before the broker gets it."""
        return self._add(Cut(self, Meant(api, txn, client, where), is_before=True))

    def cut_after(self, api: str, txn: str | None = None, client: str | None = None, where: Where | None = None) -> Met:
        """End the connection of the next such request when it is answered; the client gets no answer."""
        return self._add(Cut(self, Meant(api, txn, client, where), is_before=False))

    def meet_next(self, api: str, txn: str | None = None, client: str | None = None, where: Where | None = None) -> Met:
        """Observe the next such request, and its answer, without changing anything."""
        return self._add(Met(self, Meant(api, txn, client, where)))

    def forget(self, rule: Met) -> None:
        """Remove a rule, so that it does not apply to a later request."""
        with self._lock, contextlib.suppress(ValueError):
            self._rules.remove(rule)

    def _add(self, rule: Rule) -> Rule:
        with self._lock:
            self._rules.append(rule)
        return rule

    # -- for handles

    def soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(callback)

    def send_afresh(self, address: tuple[str, int], request: Request, answered: Callable[[bytes | None], None]) -> None:
        self._start(self._ask(address, request, answered))

    # -- decisions, in the event loop

    def request_came(self, link: Link, request: Request) -> Exchange:
        exchange = Exchange(next(self._exchange_numbers), link.number, request, now_us())
        if self._watch is not None:
            self._watch.requested(exchange)
        rule = self._rule(request) if self._rules else None
        if rule is None and self.gate is not None:
            rule = self.gate(exchange)
        if rule is not None:
            self._met[exchange.number] = rule
            rule.meet(link, exchange)
        return exchange

    def _rule(self, request: Request) -> Met | None:
        with self._lock:
            rule = next((each for each in self._rules if each.meant.covers(request)), None)
            if rule is not None:
                self._rules.remove(rule)
        return rule

    def on_request(self, link: Link, exchange: Exchange) -> bool:
        refusal = self._rewriting.refusal(exchange.request)
        if refusal is not None and link.client is not None:
            link.client.write(refusal)
            link.asked.remove(exchange)
            exchange.give(None)
            return True
        rule = self._met.get(exchange.number)
        return rule is None or rule.at_request()

    def on_answer(self, link: Link, exchange: Exchange) -> bool:
        rule = self._met.get(exchange.number)
        return rule is None or rule.at_answer()

    def rewrite(self, exchange: Exchange, frame: bytes) -> bytes:
        return self._rewriting.answer(exchange.request, frame)

    def answered(self, exchange: Exchange) -> None:
        self._met.pop(exchange.number, None)
        if self._watch is not None:
            self._watch.answered(exchange, now_us())

    def closed(self, link: Link, unanswered: list[Exchange]) -> None:
        if self._watch is not None:
            for exchange in unanswered:
                self._watch.lost(exchange, now_us())

    # -- connections

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            for server in self._servers_open:
                server.close()
            for task in self._tasks:
                task.cancel()
            for link in list(self._links):
                link.cut()
            self._loop.run_until_complete(self._wind_up())
            self._loop.close()

    async def _wind_up(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # lets aborted sockets close

    def _later(self, delay_s: float, callback: Callable[[], None]) -> None:
        self._loop.call_later(delay_s, callback)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _local_port(self, host: str, port: int) -> int:
        """Return the port that stands for a broker; one is opened for a broker not met before."""
        address = host, port
        if address not in self._ports:
            listener = socket.create_server(("127.0.0.1", 0))
            self._ports[address] = int(listener.getsockname()[1])
            self._loop.call_soon_threadsafe(lambda: self._start(self._serve(listener, address)))
        return self._ports[address]

    async def _serve(self, listener: socket.socket, address: tuple[str, int]) -> None:
        def accept() -> Pipe:
            link = Link(next(self._link_numbers), self, address)
            link.client = Pipe(link.take, lambda: self._client_lost(link))
            self._links.add(link)
            self._start(self._connect(link))
            return link.client

        self._servers_open.append(await self._loop.create_server(accept, sock=listener))

    async def _connect(self, link: Link) -> None:
        """Connect to the broker; the connection of a client whose broker is down is cut."""
        pipe = Pipe(link.give, link.broker_lost)
        try:
            async with asyncio.timeout(self.timeout_s):
                await self._loop.create_connection(lambda: pipe, *link.address)
        except OSError:  # TimeoutError is one
            link.is_dead = True
            link.cut()
            return
        link.broker = pipe
        link.push()
        link.close_if_idle()

    def _client_lost(self, link: Link) -> None:
        link.client_lost()
        self._links.discard(link)

    async def _ask(self, address: tuple[str, int], request: Request, answered: Callable[[bytes | None], None]) -> None:
        answer = None
        try:
            async with asyncio.timeout(self.timeout_s):
                reader, writer = await asyncio.open_connection(*address)
                try:
                    writer.write(framed(request.frame))
                    (length,) = struct.unpack(">i", await reader.readexactly(4))
                    if 4 <= length <= LARGEST:
                        answer = await reader.readexactly(length)
                finally:
                    writer.close()
        except (OSError, asyncio.IncompleteReadError):
            answer = None
        finally:
            answered(answer)
