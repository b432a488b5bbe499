"""This module carries one application's requests to the brokers. Most requests are answered at once; a member that
joins waits for the other members, so a request of that kind has a connection of its own for as long as it takes."""

from collections.abc import Callable
from typing import Any

from fencepost.reference_impl.kafka.messages import JoinGroupRequest, RequestBody, SyncGroupRequest
from fencepost.reference_impl.live.group_fencing.requests import GroupCodec, Request
from fencepost.reference_impl.live.tcp.brokers import GROUP
from fencepost.reference_impl.live.tcp.connection import Connection, NoAnswer
from fencepost.reference_impl.live.tcp.reading import Patience
from fencepost.reference_impl.live.transactions.remote import Line, Remote
from fencepost.reference_impl.simulation import Message, Network

WAITED_FOR = JoinGroupRequest | SyncGroupRequest
AT_ONCE_S = 0.05
"""The answer to such a request may take this long where the broker need not wait for another member."""


class GroupLine(Line):
    """A `GroupLine` is one application's way to the brokers; ``asked`` has the transactional ids it has used."""

    codec: GroupCodec

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked: set[int] = set()

    def _broker(self, data: Any) -> int:
        if isinstance(data, Request):
            return self.brokers.coordinator(GROUP, self.codec.names.group)
        self.asked.add(data.transactional_id)
        return super()._broker(data)

    def connection(self, data: Any, timeout_s: float) -> Connection:
        return self.brokers.connection(self._broker(data), timeout_s)


class Outstanding:
    """`Outstanding` has the requests that wait for other members, each on a connection of its own."""

    def __init__(self, line: GroupLine, timeout_s: float, arrived: Callable[[Message, Any], None]) -> None:
        self._line = line
        self._timeout_s = timeout_s
        self._arrived = arrived
        self._waiting: list[tuple[Message, Any, Connection]] = []

    def send(self, message: Message) -> None:
        """Send a request, and take its answer if it arrives at once; an absent broker leaves it unanswered."""
        data = message.body.data
        try:
            connection = self._line.connection(data, self._timeout_s)
            request = self._line.codec.encode(data)
            connection.send(request)
        except NoAnswer:
            self._line.brokers.forget()
            return
        self._waiting.append((message, request, connection))
        for _ in Patience(AT_ONCE_S):
            self.collect()
            if all(connection is not each for _, _, each in self._waiting):
                break

    def collect(self) -> None:
        for waiting in tuple(self._waiting):
            message, request, connection = waiting
            if connection.is_answered():
                self._waiting.remove(waiting)
                try:
                    answer = connection.receive(type(request))
                except NoAnswer:
                    self._line.brokers.forget()
                    continue
                finally:
                    connection.close()
                self._arrived(message, self._line.codec.decode(message.body.data, answer))

    def close(self) -> None:
        for _, _, connection in self._waiting:
            connection.close()
        self._waiting.clear()


class GroupRemote(Remote):
    """A `GroupRemote` is the address of a broker, for requests that are answered at once and for those that wait."""

    def __init__(
        self, name: str, network: Network, carry: Callable[[RequestBody], Any], outstanding: Outstanding
    ) -> None:
        super().__init__(name, network, carry)
        self._outstanding = outstanding

    def arrive(self, message: Message) -> None:
        if isinstance(message.body.data, WAITED_FOR):
            self._outstanding.send(message)
        else:
            super().arrive(message)
