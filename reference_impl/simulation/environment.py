"""This module has what every cluster has (configuration, clock, event log and numbers) and what a driver can do to any
cluster."""

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from fencepost.reference_impl.simulation.kernel import Kernel
from fencepost.reference_impl.simulation.log import EventLog
from fencepost.reference_impl.simulation.network import Network

C = TypeVar("C")

US_PER_MS = 1000
"""Configurations and Kafka measure time in milliseconds; the kernel and the events measure it in microseconds."""


class Environment(Generic[C]):
    """An `Environment` is shared by all nodes of one simulated cluster; a protocol adds what else its nodes share.
    ``log_type`` is the class of the protocol's event log."""

    __slots__ = ("_given", "config", "emit", "kernel", "log")

    log_type: ClassVar[type[EventLog]]

    network: Network
    """The protocol sets the network, only where its nodes send messages."""

    def __init__(self, config: C, kernel: Kernel) -> None:
        self.config = config
        self.kernel = kernel
        self.log = self.log_type(kernel)
        self.emit = self.log.emit
        self._given: dict[str, int] = {}

    @property
    def now_ms(self) -> int:
        """Return the virtual time in milliseconds, the unit of every time that Kafka stores."""
        return self.kernel.now // US_PER_MS

    def number(self, what: str, first: int = 0) -> int:
        """Return a number that is unique for its kind in this history: `first`, and one more at every call."""
        number = self._given.get(what, first)
        self._given[what] = number + 1
        return number


def numbered(what: str, first: int = 0) -> Callable[[Any], int]:
    """Return a method that numbers the things of one kind, as in `next_client = numbered("client")`."""

    def following(env: Environment[Any]) -> int:
        given = env._given  # as `number`, without the call
        number = given.get(what, first)
        given[what] = number + 1
        return number

    return following


# Every driven cluster has these operations on its messages and events, in addition to those of its protocol.

E = TypeVar("E", bound=Environment[Any])


class DrivenSystem(Generic[E]):
    """A `DrivenSystem` is a cluster whose messages a driver delivers and whose events it reads. ``env`` has the
    protocol's log and, where the nodes send messages, a network."""

    env: E

    def deliver(self, number: int, keep: bool = False) -> None:
        """Deliver a message now; with `keep` a copy stays in flight. Raise KeyError if there is no such message."""
        self.env.network.deliver(number, keep)

    def drop(self, number: int) -> None:
        """Lose a message. Raise KeyError if there is no such message."""
        self.env.network.drop(number)

    def drain_events(self) -> list[Any]:
        """Return the events since the last call, in order, as named tuples of the protocol's columns."""
        log = self.env.log
        return [type(log).readable(row) for row in log.drain_rows()]
