"""The clients' side of the plug: what a cluster expects of its producers, readers and admins.

A role's constructor takes the environment and says who it is; producers and admins are nodes with an address
(`client-<slot>`, `admin-<n>`) that send requests and receive answers. All calls return at once.
"""

from typing import Protocol

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.messages import FetchResponse


class ProducerRole(Protocol):
    """One producer instance in a slot, with its transactional id; False means: not in this state, nothing happened."""

    name: str

    def arrive(self, message: Message, /) -> None: ...
    def crash(self) -> None: ...
    def init(self) -> bool: ...
    def begin(self) -> bool: ...
    def send(self, partition: int, count: int = 1, /) -> bool: ...
    def commit(self) -> bool: ...
    def abort(self) -> bool: ...


class AdminRole(Protocol):
    """One admin instance."""

    name: str

    def arrive(self, message: Message, /) -> None: ...
    def fence(self, transactional_id: int, /) -> bool: ...


class Fetchable(Protocol):
    """A partition, as far as readers use it."""

    partition: int

    def fetch(self, offset: int, committed: bool) -> FetchResponse: ...


class OffsetFetchable(Fetchable, Protocol):
    """A group's offsets partition, of which readers also ask the committed offset, as (error, record)."""

    def fetch_offset(self) -> tuple[int, int]: ...


class ReaderRole(Protocol):
    """One reader: remembers how far it has read each partition, and emits what it gets (client = 1000 + reader)."""

    def read(self, log: Fetchable, committed: bool, offset: int = 0, /) -> list[tuple[int, int]]: ...
    def fetch_offset(self, log: OffsetFetchable, /) -> tuple[int, int]: ...


class ProducerFactory(Protocol):
    """Makes the next instance of a slot; it emits client_started and client_stopped itself."""

    def __call__(self, env: Environment, slot: int, /) -> ProducerRole: ...


class AdminFactory(Protocol):
    """Makes admin `number` (0, 1, 2, …), whose address is `admin-<number>`."""

    def __call__(self, env: Environment, number: int, /) -> AdminRole: ...


class ReaderFactory(Protocol):
    """Makes reader `reader` (the driver's number)."""

    def __call__(self, env: Environment, reader: int, /) -> ReaderRole: ...
