"""Names on the brokers, all fresh, and the numbers of what they name in one system.

So the same program gives the same events on any broker, also one that has been used before.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fencepost.reference_impl.transactions.messages import NO_PRODUCER_ID


class Place(NamedTuple):
    """A partition of the brokers that one system has to itself, from the offset `start` on."""

    topic: str
    partition: int
    start: int


class Names:
    """`name` is the system's own, in all its ids and as the key of its records; `places` are its data partitions."""

    def __init__(self, name: str, places: Sequence[Place]) -> None:
        self.name = name
        self.places = tuple(places)
        self._real: list[int] = []
        self._shown: dict[int, int] = {}

    @property
    def record_key(self) -> bytes:
        """The key of every record of this system."""
        return self.name.encode()

    def transactional_id(self, number: int) -> str:
        """Transactional ids are numbered from 0."""
        return f"{self.name}-{number}"

    def group_id(self, group: int) -> str:
        """Groups are numbered from 0, behind the data partitions."""
        return f"{self.name}-group-{group}"

    def shown_producer_id(self, real: int) -> int:
        """Producer ids are numbered in order of appearance; one that a broker gives twice keeps its number."""
        if real < 0:
            return NO_PRODUCER_ID
        shown = self._shown.get(real)
        if shown is None:
            shown = self._shown[real] = len(self._real)
            self._real.append(real)
        return shown

    def real_producer_id(self, shown: int) -> int:
        """The brokers' name for a producer id that some answer has shown."""
        return shown if shown < 0 else self._real[shown]
