"""Readers that lose track of where they are.  `broken.py` says what each of them breaks."""

from fencepost.reference_impl.transactions.clients.consumer import Reader
from fencepost.reference_impl.transactions.clients.roles import Fetchable


class PositionByCount(Reader):
    """A reader goes on after as many offsets as it got records: markers and what is skipped have none (txn.17)."""

    def read(self, log: Fetchable, committed: bool, offset: int = 0) -> list[tuple[int, int]]:
        position = self.positions.get((log.partition, committed), offset)
        found = super().read(log, committed, offset)
        self.positions[log.partition, committed] = position + len(found)
        return found
