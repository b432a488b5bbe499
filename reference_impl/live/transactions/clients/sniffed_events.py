"""Events of a recording as they come: instances of clients and their transactions, each with a number of its own.

Events that do not show on the wire are added here by the program that runs the clients.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from fencepost.reference_impl.live.proxy.links import Exchange, now_us

Event = dict[str, Any]
Pair = tuple[int, int]
Where = tuple[str, int] | tuple[str]  # a partition, or a group


class Instance:
    """One client, as far as its requests tell. `txn`: the transaction under way, -1 for none."""

    def __init__(self, number: int, txn_id: int) -> None:
        self.number = number
        self.txn_id = txn_id
        self.txn = -1
        self.pair: Pair = (-1, -1)
        self.latest: dict[int, tuple[int, int, int]] = {}  # by record: its request, transaction and partition
        self.txn_of: dict[tuple[object, ...], int] = {}  # by record, producer id and epoch: retries come late


class Recorded:
    """The events of one recording. The arguments are those of `Sniffer`."""

    def __init__(self, places: Sequence[Where], admins: Collection[str], txn_ids: Sequence[str]) -> None:
        self.numbers: dict[int, int] = {}  # by exchange: the request that it is in the events, the first if several
        self._partitions = {place: number for number, place in enumerate(places)}
        self._admins = admins
        self._txn_ids = {name: number for number, name in enumerate(txn_ids)}
        self._instances: dict[str, Instance] = {}
        self._events: deque[Event] = deque()
        self._requests, self._txns = itertools.count(), itertools.count()

    def drain(self) -> list[Event]:
        """The events since the last call."""
        events = []
        while self._events:
            events.append(self._events.popleft())
        return events

    def tell(self, kind: str, **columns: int) -> None:
        """An event that does not show on the wire, now."""
        self._events.append({"time_us": now_us(), "kind": kind, **columns})

    def start(self, client_id: str, txn_id: str) -> int:
        """An instance starts that has not asked for anything yet; its number."""
        return self._known(client_id, txn_id, now_us()).number

    def begin(self, client_id: str) -> None:
        """beginTransaction() has returned; no request leaves for it."""
        client = self._instances[client_id]
        self._begin(client, now_us(), client.pair)

    def end(self, client_id: str, outcome: int) -> None:
        """The end of a transaction has returned; if EndTxn was not needed for that, nothing else shows it."""
        client = self._instances[client_id]
        if client.txn >= 0:
            self._emit(now_us(), "end_told", client, -1, client.pair, txn=client.txn, outcome=outcome)
            client.txn = -1

    def fail(self, client_id: str, record: int, error: int) -> None:
        """The library has given a record up. One that has never left is not recorded."""
        client = self._instances[client_id]
        if record in client.latest:
            request, txn, partition = client.latest[record]
            self._emit(
                now_us(), "record_failed", client, request, txn=txn, partition=partition, record=record, error=error
            )

    def partition(self, place: Where) -> int:
        """The number of a partition, or group; -1 if it has none."""
        return self._partitions.get(place, -1)

    def client(self, client_id: str) -> int:
        """The number of a client that has been seen. Raises KeyError if it has not."""
        return self._instances[client_id].number

    # -- in short

    def _known(self, client_id: str, txn_id: str, time_us: int) -> Instance:
        if client_id not in self._instances:
            number = self._txn_ids.setdefault(txn_id, len(self._txn_ids))
            instance = self._instances[client_id] = Instance(len(self._instances), number)
            if client_id not in self._admins:
                self._emit(time_us, "client_started", instance, txn_id=number)
        return self._instances[client_id]

    def _begin(self, client: Instance, time_us: int, pair: Pair) -> None:
        if client.txn < 0:
            client.txn = next(self._txns)
            self._emit(time_us, "txn_begun", client, -1, pair, txn_id=client.txn_id, txn=client.txn)

    def _number(self, exchange: Exchange) -> int:
        number = next(self._requests)
        self.numbers.setdefault(exchange.number, number)
        return number

    def _shows(self, place: Where) -> bool:
        return place in self._partitions

    def _emit(
        self, time_us: int, kind: str, client: Instance, request: int = -1, pair: Pair | None = None, **columns: int
    ) -> None:
        event: Event = {"time_us": time_us, "kind": kind, "client": client.number}
        if request >= 0:
            event["request"] = request
        if pair is not None:
            event["producer_id"], event["epoch"] = pair
        for name, value in columns.items():
            if value != (0 if name == "error" else -1):  # columns that do not apply are left out
                event[name] = value
        self._events.append(event)
