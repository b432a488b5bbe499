"""This module puts real clients behind the adapter interface: their producers, readers, and the tool that fences
producers."""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fencepost.reference_impl.kafka.environment import Event as Row
from fencepost.reference_impl.live.proxy.links import Exchange
from fencepost.reference_impl.live.proxy.proxy import Proxy
from fencepost.reference_impl.live.tcp.brokers import TRANSACTION
from fencepost.reference_impl.live.tcp.connection import Connection, WireError, find_brokers
from fencepost.reference_impl.live.tcp.reading import build, milliseconds
from fencepost.reference_impl.live.transactions.clients.real_client import ClientError, RealProducer
from fencepost.reference_impl.live.transactions.clients.real_client_messages import KINDS, Messages, Observed
from fencepost.reference_impl.live.transactions.clients.real_client_slots import ABORT, COMMIT, Can, Slot
from fencepost.reference_impl.live.transactions.clients.sniffing import Sniffer, Where, errors_of, partition_of
from fencepost.reference_impl.live.transactions.over_tcp import over_tcp

# This is Admin.fenceProducers of one transactional id, by raw requests, because neither library has it.
#
# It sends InitProducerId without a producer id and epoch, and repeats this while the answer only means "later"
# (FenceProducersHandler.java).

RETRIED = frozenset({14, 15, 16, 51})
PAUSE_S = 0.02
VERSION = 1  # nothing of later ones is needed here, and every broker has it
FENCE_TIMEOUT_MS = 60_000


def fence(bootstrap: str, txn_id: str, client_id: str, timeout_s: float) -> None:
    """Start to fence, and return at once. The outcome appears in the requests and answers."""
    work = threading.Thread(
        target=_fence, args=(bootstrap, txn_id, client_id, timeout_s), name=f"fencepost-{client_id}", daemon=True
    )
    work.start()


def _fence(bootstrap: str, txn_id: str, client_id: str, timeout_s: float) -> None:
    request = build(
        "init_producer_id", VERSION, transactional_id=txn_id, transaction_timeout=milliseconds(FENCE_TIMEOUT_MS)
    )
    deadline = time.monotonic() + timeout_s
    error = -1
    while error and time.monotonic() < deadline:
        try:
            host, port = _coordinator(bootstrap, txn_id)
            with Connection(host, port, timeout_s, client_id) as connection:
                while (error := int(connection.call(request).error_code)) in RETRIED:
                    time.sleep(PAUSE_S)
        except WireError:  # its connection was cut: it asks again
            time.sleep(PAUSE_S)
        else:
            return


def _coordinator(bootstrap: str, txn_id: str) -> tuple[str, int]:
    first = find_brokers(bootstrap)[0]
    with Connection(first.host, first.port) as connection:
        answer = connection.call(build("find_coordinator", 1, key=txn_id, key_type=TRANSACTION))
    return str(answer.host), int(answer.port)


# This is the adapter with real clients: libraries and brokers that know nothing of it, with a proxy between them.
#
# Every request and every answer is stopped in the proxy until the driver delivers it, so a driver controls the clients'
# timing as it does with `over_tcp`. What the library does by itself it does in real time: `advance` waits for it.
# Partitions, names and readers are those of a system of `over_tcp` whose own clients stay silent.

FIRST_S, NEXT_S, QUIET_S = 5.0, 0.6, 0.003
"""These are the longest times until a call makes its first request and until an instance makes its next one, and the
time that a finished instance is given to do nothing."""
CALL_S = 120.0  # a library's own bound: longer than a driver lets it wait
COORDINATOR_KINDS = frozenset({22, 24, 25, 26})
FROM_COORDINATOR = frozenset({"init_taken", "fence_told", "add_taken", "end_told"})
INVALID_PRODUCER_EPOCH, PRODUCER_FENCED = 47, 90
"""Before InitProducerId 4, AddPartitionsToTxn 2 and EndTxn 2 a coordinator answers the first error where it means the
second, and answers it in no other case (TransactionCoordinator, KIP-588)."""
SEEN_BY_READERS = frozenset({"fetched", "record_read", "record_seen", "offset_fetched"})
Make = Callable[[str, str, str, float], RealProducer]
"""This function makes a producer for bootstrap servers, transactional id, client id, and time-out in seconds."""


class RealClientSystem:
    """A `RealClientSystem` has real producers with one transactional id."""

    def __init__(self, make: Make, library: str, config: Mapping[str, Any]) -> None:
        if config["mode"] == "v2":
            raise ValueError(
                f"{library} does not speak transaction.version 2: use mode v1 or v1-verified, or raw requests"
            )
        self._make = make
        self._side = over_tcp(dict(config) | {"clients": 1})
        self._side.drain_events()
        names, partitions = self._side.names, int(config["partitions"])
        self._places = [(place.topic, place.partition) for place in names.places]
        self._groups = [names.group_id(group) for group in range(int(config.get("groups", 0)))]
        self._admins: dict[str, str] = {}  # by client id: their names
        self._clients: dict[str, Slot] = {}  # by client id, gone ones too
        places: list[Where] = [*self._places, *((group,) for group in self._groups)]
        self._sniffer = Sniffer(places, admins=self._admins, records_failures=False)
        self._proxy = Proxy(str(config["bootstrap"]), self._sniffer, timeout_s=CALL_S / 4)
        self._proxy.__enter__()
        # Nothing that the proxy refers to may refer to the system, because a caller that drives many systems closes
        # none of them.
        self._finalizer = weakref.finalize(self, _throw_away, self._clients, self._proxy)
        names_of = partial(name_request, self._sniffer, self._clients, self._admins)
        self._messages = Messages(self._proxy, names_of, errors_of, bool(config.get("collapse", False)))
        self._partitions = partitions
        self._instances, self._records = itertools.count(), itertools.count()
        self._producer_ids: dict[int, int] = {}
        self._slots = [self._new(slot) for slot in range(int(config["clients"]))]

    def close(self) -> None:
        """Discard everything; this is safe to repeat, and happens by itself when the system is garbage-collected."""
        self._finalizer()
        self._side.close()

    # -- messages

    def messages(self) -> list[Observed]:
        return self._messages.observed()

    def deliver(self, number: int, keep: bool = False) -> None:
        """Deliver a message and wait until the broker has answered, or the client asks for more or is done."""
        message = next(each for each in self.messages() if each[0] == number)
        self._messages.deliver(number, keep)
        if message[1].endswith("_answer"):
            self._rest(message[3], NEXT_S)

    def drop(self, number: int) -> None:
        """Break the connection that a message is on; a copy just vanishes."""
        message = next(each for each in self.messages() if each[0] == number)
        self._messages.drop(number)
        client = message[3] if message[1].endswith("_answer") else message[2]
        self._rest(client, NEXT_S)

    # -- clients

    def init(self, slot: int) -> bool:
        return self._call(slot, Can.INIT, Slot.init)

    def begin(self, slot: int) -> bool:
        of = self._slots[slot]
        return of.can is Can.BEGIN and not of.is_busy and of.begin()

    def send(self, slot: int, partition: int) -> bool:
        of = self._slots[slot]
        if of.can is not Can.SEND or of.is_busy:
            return False
        record = next(self._records)
        if partition >= self._partitions:
            of.send_offset(self._groups[partition - self._partitions], *self._places[0], record)
            self._rest(of.name, FIRST_S)
            return True
        if not of.post(*self._places[partition], partition, record, self._side.names.record_key):
            return False
        self._rest(of.name, FIRST_S)
        return True

    def commit(self, slot: int) -> bool:
        return self._call(slot, Can.SEND, lambda of: of.end(COMMIT))

    def abort(self, slot: int) -> bool:
        return self._call(slot, Can.SEND, lambda of: of.end(ABORT)) or self._call(
            slot, Can.ABORT, lambda of: of.end(ABORT)
        )

    def restart_client(self, slot: int) -> None:
        self._slots[slot].crash()
        self._slots[slot] = self._new(slot)

    def fence(self) -> bool:
        name = f"admin-{len(self._admins)}"
        client_id = f"{self._side.names.name}-{name}"
        self._admins[client_id] = name
        self._sniffer.start(client_id, self._txn_id)
        fence(self._proxy.bootstrap, self._txn_id, client_id, CALL_S)
        self._messages.wait(lambda: self._messages.has(client_id), FIRST_S)
        return True

    # -- what is the brokers' own

    def log_append(self, ok: bool = True) -> bool:
        return False

    def fail_over(self, durable: bool = True) -> None:
        """Do nothing, because this system cannot move the brokers."""

    def change_leader(self, partition: int) -> None:
        """Do nothing, because this system cannot move the leaders."""

    def advance(self, ms: int) -> None:
        """Wait for an instance that is about to ask again, if there is one."""
        for slot in self._slots:
            if slot.is_waiting and not self._messages.has(slot.client_id):
                self._rest(slot.name, min(ms / 1000, NEXT_S))

    # -- readers and events

    def read(self, reader: int, partition: int, committed: bool = True) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = self._read(lambda: self._side.read(reader, partition, committed))
        return found

    def fetch_offset(self, reader: int, partition: int) -> tuple[int, int]:
        found: tuple[int, int] = self._read(lambda: self._side.fetch_offset(reader, partition))
        return found

    def drain_events(self) -> list[dict[str, Any]]:
        """Return the events since the last call. Producer ids are numbered as they appear, offsets count from where the
        system's partitions begin, and coordinators' errors are those of the newest versions."""
        return [self._numbered(event) for event in self._sniffer.drain()]

    # -- in short

    @property
    def _txn_id(self) -> str:
        return self._side.names.transactional_id(0)

    def _new(self, slot: int) -> Slot:
        client_id = f"{self._side.names.name}-{next(self._instances)}"
        try:
            producer = self._make(self._proxy.bootstrap, self._txn_id, client_id, CALL_S)
        except ClientError as error:
            raise WireError(str(error)) from error
        self._sniffer.start(client_id, self._txn_id)
        self._clients[client_id] = found = Slot(f"client-{slot}", client_id, producer, self._sniffer)
        return found

    def _call(self, slot: int, can: Can, call: Callable[[Slot], None]) -> bool:
        of = self._slots[slot]
        if of.can is not can or of.is_busy:
            return False
        call(of)
        self._rest(of.name, FIRST_S)
        return True

    def _rest(self, name: str, timeout_s: float) -> None:
        slots = [slot for slot in self._slots if slot.name == name]

        def rests() -> bool:
            return all(self._messages.has(slot.client_id) or not slot.is_waiting for slot in slots)

        self._messages.wait(rests, timeout_s)
        time.sleep(QUIET_S)

    def _read(self, read: Callable[[], Any]) -> Any:
        self._side.line.unsettled = True  # what others have asked for may be under way
        self._side.drain_timed_events()
        found = read()
        for _, row in self._side.drain_timed_events():
            if row.kind in SEEN_BY_READERS:
                self._sniffer.report(row.kind, **_columns(row))
        return found

    def _numbered(self, event: dict[str, Any]) -> dict[str, Any]:
        producer_id = event.get("producer_id", -1)
        if producer_id >= 0:
            event["producer_id"] = self._producer_ids.setdefault(producer_id, len(self._producer_ids))
        if event["kind"] in FROM_COORDINATOR and event.get("error", 0) == INVALID_PRODUCER_EPOCH:
            event["error"] = PRODUCER_FENCED
        if event["kind"] == "record_acked" and event.get("offset", -1) >= 0:
            event["offset"] -= self._side.names.places[event["partition"]].start
        return event


def _throw_away(clients: Mapping[str, Slot], proxy: Proxy) -> None:
    for slot in clients.values():
        slot.close()
    proxy.close()


def name_request(
    sniffer: Sniffer, clients: Mapping[str, Slot], admins: Mapping[str, str], exchange: Exchange
) -> tuple[str, str, str, int] | None:
    """Return the kind, client, target and number of a request's message, or None if it is none."""
    request = exchange.request
    slot, admin = clients.get(request.client_id), admins.get(request.client_id)
    if (slot is None and admin is None) or exchange.number not in sniffer.numbers:
        return None
    target = "coordinator"
    if request.api_key not in COORDINATOR_KINDS:
        target = f"partition-{partition_of(sniffer, request)}"
    name = slot.name if slot is not None else str(admin)
    return KINDS[request.api_key], name, target, sniffer.numbers[exchange.number]


def _columns(row: Row) -> dict[str, int]:
    names = ("client", "partition", "offset", "upto", "record", "error")
    found = {name: int(getattr(row, name)) for name in names}
    return {name: value for name, value in found.items() if value != (0 if name == "error" else -1)}
