"""Operations that every driven cluster has besides those of its protocol: on its messages, and on its events."""

from typing import Any, Generic, TypeVar

from fencepost.reference_impl.simulation.environment import Environment

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
