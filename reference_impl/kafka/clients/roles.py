"""This module has what a driver needs of clients, whatever implements them, and the client side of a cluster."""

from typing import Protocol

from fencepost.reference_impl.kafka.environment import Environment, client_name
from fencepost.reference_impl.kafka.messages import FetchResponse
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.simulation.environment import US_PER_MS, DrivenSystem

# These protocols are what a cluster expects of its producers, readers and admins.
#
# A role's constructor takes the environment and the role's number. Producers and admins are nodes with an address
# (`client-<slot>`, `admin-<n>`) that send requests and receive answers. All calls return at once.


class ProducerRole(Protocol):
    """A `ProducerRole` is one producer instance. A call returns False if it is not possible in this state."""

    name: str

    def arrive(self, message: Message, /) -> None: ...
    def crash(self) -> None: ...
    def init(self) -> bool: ...
    def begin(self) -> bool: ...
    def send(self, partition: int, count: int = 1, /) -> bool: ...
    def commit(self) -> bool: ...
    def abort(self) -> bool: ...


class AdminRole(Protocol):
    """An `AdminRole` is one admin instance."""

    name: str

    def arrive(self, message: Message, /) -> None: ...
    def fence(self, transactional_id: int, /) -> bool: ...


class Fetchable(Protocol):
    """A `Fetchable` is a partition as far as readers use it."""

    partition: int

    def fetch(self, offset: int, committed: bool) -> FetchResponse: ...


class OffsetFetchable(Fetchable, Protocol):
    """An `OffsetFetchable` is a group's offsets partition with its committed offset as (error, record)."""

    def fetch_offset(self) -> tuple[int, int]: ...


class ReaderRole(Protocol):
    """A `ReaderRole` has a position in each partition and emits what it reads (client = 1000 + reader)."""

    def read(self, log: Fetchable, committed: bool, offset: int = 0, /) -> list[tuple[int, int]]: ...
    def fetch_offset(self, log: OffsetFetchable, /) -> tuple[int, int]: ...


class ProducerFactory(Protocol):
    """A `ProducerFactory` makes the next instance of a slot, which emits client_started and client_stopped itself."""

    def __call__(self, env: Environment, slot: int, /) -> ProducerRole: ...


class AdminFactory(Protocol):
    """An `AdminFactory` makes admin `number` (0, 1, 2, …), whose address is `admin-<number>`."""

    def __call__(self, env: Environment, number: int, /) -> AdminRole: ...


class ReaderFactory(Protocol):
    """A `ReaderFactory` makes the reader with the driver's number."""

    def __call__(self, env: Environment, reader: int, /) -> ReaderRole: ...


# The clients' half of a driven cluster: producers, admins and readers on one network.
#
# `System` adds the reference implementation's own coordinator and partitions, and `reference_impl.live` real brokers.


class ClientSide(DrivenSystem[Environment]):
    """A `ClientSide` has a driver's operations on clients and on messages in flight. Slots are numbered from 0."""

    def __init__(self, env: Environment, producer: ProducerFactory, admin: AdminFactory, reader: ReaderFactory) -> None:
        self.env = env
        self._producer_factory = producer
        self._admin_factory = admin
        self._reader_factory = reader
        self.producers: list[ProducerRole] = []
        self.readers: dict[int, ReaderRole] = {}
        self.admins = 0

    def messages(self) -> list[tuple[int, str, str, str, int]]:
        """Return the messages in flight as (number, kind, source, target, request), oldest first."""
        flying = self.env.network.in_flight.values()
        return [(m.number, m.kind, m.source, m.target, m.body.number) for m in flying]

    def init(self, slot: int) -> bool:
        return self.producers[slot].init()

    def begin(self, slot: int) -> bool:
        return self.producers[slot].begin()

    def send(self, slot: int, partition: int) -> bool:
        """Call send() for one record, or sendOffsetsToTransaction() for an offsets partition."""
        return self.producers[slot].send(partition)

    def commit(self, slot: int) -> bool:
        return self.producers[slot].commit()

    def abort(self, slot: int) -> bool:
        return self.producers[slot].abort()

    def restart_client(self, slot: int) -> None:
        """Crash the client and put a new instance into the slot. Sent messages stay in flight."""
        self.producers[slot].crash()
        self.producers[slot] = self._new_producer(slot)

    def fence(self) -> bool:
        """Call Admin.fenceProducers([id 0]) by a fresh admin instance (txn.22)."""
        return self.fence_id(0)

    def fence_id(self, txn_id: int) -> bool:
        """Call Admin.fenceProducers for one transactional id."""
        admin = self._admin_factory(self.env, self.admins)
        self.env.network.nodes[admin.name] = admin
        self.admins += 1
        return admin.fence(txn_id)

    def advance(self, ms: int) -> None:
        """Advance the virtual time: requests and transactions time out, markers are resent, ids expire."""
        self.env.kernel.advance(ms * US_PER_MS)

    def _new_producers(self) -> None:
        self.producers = [self._new_producer(slot) for slot in range(self.env.config.clients)]

    def _new_producer(self, slot: int) -> ProducerRole:
        producer = self._producer_factory(self.env, slot)
        self.env.network.nodes[client_name(slot)] = producer
        return producer

    def _reader(self, reader: int) -> ReaderRole:
        if reader not in self.readers:
            self.readers[reader] = self._reader_factory(self.env, reader)
        return self.readers[reader]
