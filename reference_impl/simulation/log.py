"""The event log: what happened, as rows of plain integers in one fixed column order.

A protocol derives its own log and gives it an `emit` with its columns (`id_blocks/events.py`). Rows are tuples because
a hundred million of them are written: a tuple of small integers costs a twelfth of a dict.
"""

from fencepost.reference_impl.simulation.kernel import Kernel

Row = tuple[int, ...]


class EventLog:
    """Rows in the order in which they happened; row[0] is the step (0, 1, 2, …), row[1] the virtual time in us."""

    __slots__ = ("_drained", "kernel", "rows")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.rows: list[Row] = []
        self._drained = 0

    def drain_rows(self) -> list[Row]:
        """The rows written since the last call; all of them stay in `rows`."""
        fresh = self.rows[self._drained :]
        self._drained = len(self.rows)
        return fresh
