"""This module has the rules that tests give to the proxy: which request a rule applies to, and what becomes of it.

`Held`, `Copied` and `Met` are the handles that `Proxy` returns to tests; they may be used from any thread, and every
wait has a bound. Everything else runs in the proxy's event loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from fencepost.reference_impl.live.proxy.forging import forged
from fencepost.reference_impl.live.proxy.frames import Request, api_key, decoded
from fencepost.reference_impl.live.proxy.links import Exchange, Link
from fencepost.reference_impl.live.tcp.connection import WireError

Where = Callable[[Any], bool]
"""A `Where` is a predicate on kio's request, in the version that the client uses."""


@dataclass(frozen=True)
class Meant:
    """A `Meant` selects requests by Kafka's API name and, if given, by transactional id, client id, predicate."""

    api: str
    transactional_id: str | None = None
    client_id: str | None = None
    where: Where | None = None

    def __post_init__(self) -> None:
        api_key(self.api)  # a name that does not exist would never match

    def covers(self, request: Request) -> bool:
        return (
            request.api_key == api_key(self.api)
            and self.client_id in (None, request.client_id)
            and self.transactional_id in (None, request.transactional_id)
            and (self.where is None or (request.payload is not None and self.where(request.payload)))
        )

    def __str__(self) -> str:
        parts = (self.api, self.transactional_id, self.client_id)
        return " ".join(part for part in parts if part is not None)


class Loop(Protocol):
    """A `Loop` is a proxy, as far as its handles use it."""

    timeout_s: float

    def soon(self, callback: Callable[[], None]) -> None:
        """Have the callback called in the event loop."""

    def send_afresh(self, address: tuple[str, int], request: Request, answered: Callable[[bytes | None], None]) -> None:
        """Send a request over a connection of its own; this is called in the event loop."""


class Met:
    """A `Met` is one request that is expected: `wait` until it has arrived, `request` is its content."""

    def __init__(self, proxy: Loop, meant: Meant) -> None:
        self.meant = meant
        self._proxy = proxy
        self._came, self._answered = threading.Event(), threading.Event()
        self._exchange: Exchange | None = None
        self._link: Link | None = None
        self._answer: bytes | None = None

    def wait(self, timeout_s: float | None = None) -> Any:
        """Wait for the request and return it. Raise TimeoutError if it does not arrive in time."""
        self._await(self._came, timeout_s, "came")
        return self.request

    @property
    def has_come(self) -> bool:
        return self._came.is_set()

    @property
    def request(self) -> Any:
        return self._exchange.request.payload if self._exchange is not None else None

    def answer(self, timeout_s: float | None = None) -> Any:
        """Wait for the broker's answer and return it. Raise TimeoutError if it does not arrive in time, WireError if
        the connection was lost first."""
        self._await(self._answered, timeout_s, "was answered")
        if self._answer is None or self._exchange is None:
            raise WireError(f"the broker closed the connection before it answered {self.meant}")
        return decoded(self._exchange.request, self._answer)

    # -- in the event loop

    def meet(self, link: Link, exchange: Exchange) -> None:
        self._link, self._exchange = link, exchange
        exchange.answered_by.append(self._take)
        self._came.set()

    def at_answer(self) -> bool:
        return True

    def at_request(self) -> bool:
        return True

    def _take(self, answer: bytes | None) -> None:
        self._answer = answer
        self._answered.set()

    def _await(self, event: threading.Event, timeout_s: float | None, what: str) -> None:
        bound = self._proxy.timeout_s if timeout_s is None else timeout_s
        if not event.wait(bound):
            raise TimeoutError(f"no {self.meant} {what} within {bound:g} s")


class Held(Met):
    """A `Held` is a request that the proxy holds back from the broker, with everything behind it on that connection."""

    def release(self) -> None:
        """Let the request go to the broker, on its own connection or, if its client is gone, on a new one."""
        self._await(self._came, None, "came")
        self._proxy.soon(self._release)

    def drop(self) -> None:
        """Drop the request, so that the broker never gets it; what is behind it goes on."""
        self._await(self._came, None, "came")
        self._proxy.soon(self._drop)

    def at_request(self) -> bool:
        return False

    def _release(self) -> None:
        link, exchange = self._link, self._exchange
        if link is None or exchange is None:
            return
        if not link.is_dead:
            link.go_on(exchange)
        else:
            self._proxy.send_afresh(link.address, exchange.request, self._take)

    def _drop(self) -> None:
        if self._link is not None and self._exchange is not None:
            self._link.forget(self._exchange)


class Refused(Met):
    """A `Refused` is a request that the broker never gets: its client is answered with an error code of Kafka's."""

    def __init__(self, proxy: Loop, meant: Meant, code: int) -> None:
        super().__init__(proxy, meant)
        self._code = code

    def at_request(self) -> bool:
        self._refuse(self._code)
        return True

    def _refuse(self, code: int) -> None:
        link, exchange = self._link, self._exchange
        if link is not None and exchange is not None and exchange in link.asked:
            link.refuse(exchange, forged(exchange.request, code))


class Lost(Met):
    """A `Lost` is a request of which the broker's answer is replaced by one with an error code of Kafka's."""

    def __init__(self, proxy: Loop, meant: Meant, code: int | None = None) -> None:
        super().__init__(proxy, meant)
        self._instead = code

    def at_answer(self) -> bool:
        if self._instead is not None and self._exchange is not None and not self._exchange.is_refused:
            self._exchange.answer = forged(self._exchange.request, self._instead)
        return True


class Gated(Held, Refused, Lost):
    """A `Gated` is a request that is held by itself, so that a gate may hold any number on one connection: it may be
    released before those ahead of it, and passes as soon as they do.

    Brokers answer in the order of a connection, so only the request that `is_next` has an effect at once.
    """

    def __init__(self, proxy: Loop, meant: Meant) -> None:
        Lost.__init__(self, proxy, meant)
        self.is_open = False

    @property
    def is_next(self) -> bool:
        """Return whether no other request is ahead of it."""
        link = self._link
        return link is None or self._exchange in [*link.asked][:1]

    @property
    def is_gone(self) -> bool:
        """Return whether its client has closed the connection."""
        return self._link is not None and self._link.is_gone

    def refuse(self, code: int) -> None:
        """Have the client answered with this error code; the broker never gets the request."""
        self._await(self._came, None, "came")
        self._proxy.soon(lambda: self._refuse(code))

    def lose(self, code: int) -> None:
        """Let the request go to the broker, and have the client answered with this error code."""
        self._instead = code
        self.release()

    def at_request(self) -> bool:
        return self.is_open

    def _release(self) -> None:
        self.is_open, link = True, self._link
        if link is None or link.is_dead or self.is_next:
            super()._release()
        else:
            link.is_held = False
            link.push()


class HeldAnswer(Met):
    """A `HeldAnswer` is a request whose answer is held back from the client, with every answer behind it."""

    def release(self) -> None:
        self._await(self._answered, None, "was answered")
        self._proxy.soon(self._release)

    def at_answer(self) -> bool:
        return False

    def _release(self) -> None:
        if self._link is not None and self._exchange is not None:
            self._link.go_on_answering(self._exchange)


class Copied(Met):
    """A `Copied` is a request that passed, and of which the proxy has a copy."""

    def send(self, timeout_s: float | None = None) -> Any:
        """Send the copy to the same broker over a connection of its own, after the original was answered.

        Return the broker's answer to the copy, which the client never gets. Raise TimeoutError or WireError if there is
        none.
        """
        self._await(self._answered, timeout_s, "was answered")
        return self.send_now(timeout_s)

    def send_now(self, timeout_s: float | None = None) -> Any:
        """Send the copy now, without waiting for the original's answer."""
        self._await(self._came, timeout_s, "came")
        link, exchange = self._link, self._exchange
        assert link is not None
        assert exchange is not None
        answers: list[bytes | None] = []
        done = threading.Event()

        def answered(answer: bytes | None) -> None:
            answers.append(answer)
            done.set()

        self._proxy.soon(lambda: self._proxy.send_afresh(link.address, exchange.request, answered))
        self._await(done, timeout_s, "was answered (the copy)")
        if answers[0] is None:
            raise WireError(f"the broker closed the connection before it answered a copy of {self.meant}")
        return decoded(exchange.request, answers[0])


class Delayed(Met):
    """A `Delayed` is a request that reaches the broker later; ``later`` calls back in the event loop."""

    def __init__(self, proxy: Loop, meant: Meant, later: Callable[[Callable[[], None]], None]) -> None:
        super().__init__(proxy, meant)
        self._later = later

    def at_request(self) -> bool:
        link, exchange = self._link, self._exchange
        if link is not None and exchange is not None:
            self._later(lambda: link.go_on(exchange))
        return False


class Cut(Met):
    """A `Cut` is a request at which the connection ends: before the broker gets it, or when the broker has answered."""

    def __init__(self, proxy: Loop, meant: Meant, is_before: bool) -> None:
        super().__init__(proxy, meant)
        self._is_before = is_before

    def at_request(self) -> bool:
        if self._is_before:
            self._cut()
        return not self._is_before

    def at_answer(self) -> bool:
        self._cut()
        return False

    def _cut(self) -> None:
        if self._link is not None:
            self._link.cut()
