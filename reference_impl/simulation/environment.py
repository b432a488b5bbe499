"""What every cluster has: configuration, clock, event log and numbers; and what a driver does to any of them."""

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from fencepost.reference_impl.simulation.kernel import Kernel
from fencepost.reference_impl.simulation.log import EventLog
from fencepost.reference_impl.simulation.network import Network

# The environment that all nodes of one simulated cluster share: configuration, clock, event log, and the numbers that
# are given out once.

C = TypeVar("C")

US_PER_MS = 1000
"""Configurations and Kafka have milliseconds, the kernel and the events microseconds."""


class Environment(Generic[C]):
    """One per cluster; a protocol adds what its nodes share besides. `log_type` is the protocol's event log."""

    __slots__ = ("_given", "config", "emit", "kernel", "log")

    log_type: ClassVar[type[EventLog]]

    network: Network
    """Only where the nodes send messages; the protocol sets it."""

    def __init__(self, config: C, kernel: Kernel) -> None:
        self.config = config
        self.kernel = kernel
        self.log = self.log_type(kernel)
        self.emit = self.log.emit
        self._given: dict[str, int] = {}

    @property
    def now_ms(self) -> int:
        """Virtual milliseconds, the unit of every time that Kafka stores."""
        return self.kernel.now // US_PER_MS

    def number(self, what: str, first: int = 0) -> int:
        """A number for something of this kind that no other of this history has had: `first`, and one more at every
        call."""
        number = self._given.get(what, first)
        self._given[what] = number + 1
        return number


def numbered(what: str, first: int = 0) -> Callable[[Any], int]:
    """A method of an environment that numbers the things of one kind: `next_client = numbered("client")`."""

    def following(env: Environment[Any]) -> int:
        given = env._given  # as `number`, without the call
        number = given.get(what, first)
        given[what] = number + 1
        return number

    return following


# Operations that every driven cluster has besides those of its protocol: on its messages, and on its events.

E = TypeVar("E", bound=Environment[Any])


class DrivenSystem(Generic[E]):
    """A cluster whose deliveries and events are a driver's. `env` has the protocol's log and, where the nodes send
    messages, a network."""

    env: E

    def deliver(self, number: int, keep: bool = False) -> None:
        """Deliver a message now; `keep` leaves a copy in flight. Raises KeyError if there is no such message."""
        self.env.network.deliver(number, keep)

    def drop(self, number: int) -> None:
        """Lose a message. Raises KeyError if there is no such message."""
        self.env.network.drop(number)

    def drain_events(self) -> list[Any]:
        """The events since the last call, in order: named tuples of the protocol's columns."""
        log = self.env.log
        return [type(log).readable(row) for row in log.drain_rows()]
