"""A proxy between clients and brokers on 127.0.0.1: it can hold, copy, delay and cut, one request at a time.

    with Proxy("127.0.0.1:9092") as proxy:
        producer = Producer({"bootstrap.servers": proxy.bootstrap, "transactional.id": "t"})
        late = proxy.copy_next("EndTxn", "t")
        ...                                    # the transaction ends, the next one begins
        answer = late.send()                   # the broker gets the request a second time

Clients find every broker through it, since their addresses in answers are its own. A rule meets the next request that
it covers, once; of several the oldest. Every handle says `wait()` and `answer()`, with a bound. Below it lie
`proxy_loop.py` (the event loop), `proxy_links.py` (connections), `proxy_rules.py` (handles), `proxy_addresses.py`
(what is rewritten) and `proxy_frames.py` (the format). `sniffing.py` makes events of what passes.
"""

from __future__ import annotations

import contextlib
from typing import TypeVar

from fencepost.reference_impl.live.proxy.loop import ProxyLoop
from fencepost.reference_impl.live.proxy.rules import (
    Copied,
    Cut,
    Delayed,
    Held,
    HeldAnswer,
    Meant,
    Met,
    Where,
)

Rule = TypeVar("Rule", bound=Met)


class Proxy(ProxyLoop):
    """`with Proxy(bootstrap) as proxy:`, then clients use `proxy.bootstrap`. The arguments are those of `ProxyLoop`.

    In what follows `api` is Kafka's name (EndTxn); `txn` a transactional id, `client` a client id and `where` a
    predicate on kio's request narrow it down.
    """

    def hold_next(
        self, api: str, txn: str | None = None, client: str | None = None, where: Where | None = None
    ) -> Held:
        """Keep the next such request from the broker until it is released."""
        return self._add(Held(self, Meant(api, txn, client, where)))

    def hold_next_answer(
        self, api: str, txn: str | None = None, client: str | None = None, where: Where | None = None
    ) -> HeldAnswer:
        """Keep the answer to the next such request from the client until it is released."""
        return self._add(HeldAnswer(self, Meant(api, txn, client, where)))

    def copy_next(
        self, api: str, txn: str | None = None, client: str | None = None, where: Where | None = None
    ) -> Copied:
        """Let the next such request pass, and keep a copy that can be sent later, any number of times."""
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
        """End it when the broker has answered: the client never learns what."""
        return self._add(Cut(self, Meant(api, txn, client, where), is_before=False))

    def meet_next(self, api: str, txn: str | None = None, client: str | None = None, where: Where | None = None) -> Met:
        """Change nothing: only see the next such request, and its answer."""
        return self._add(Met(self, Meant(api, txn, client, where)))

    def forget(self, rule: Met) -> None:
        """Do not wait for that request any longer."""
        with self._lock, contextlib.suppress(ValueError):
            self._rules.remove(rule)

    def _add(self, rule: Rule) -> Rule:
        with self._lock:
            self._rules.append(rule)
        return rule
