"""What an implementation of the lock offers: ``factory(config)`` makes one, for ``clients`` clients."""

from typing import Annotated, Any, Protocol

from fencepost.properties.roles import Index

Client = Annotated[int, Index("clients")]


class System(Protocol):
    """A service and a store.  Each call says whether it did anything."""

    def acquire(self, client: Client) -> bool:
        """The client asks for the lock, and is given a lease if it is free."""

    def expire(self) -> bool:
        """Time passes: the lease that runs ends."""

    def write(self, client: Client) -> bool:
        """The client writes under the lease that it believes to have."""

    def drain_events(self) -> list[dict[str, Any]]:
        """The events since the last call, in order."""
