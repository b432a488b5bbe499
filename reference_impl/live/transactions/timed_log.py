"""The event log of a system that lives in real time: every row knows when it was written, on the wall's clock."""

import time
from typing import Any

from fencepost.reference_impl.transactions.events import Event, TransactionEventLog, readable


class TimedLog(TransactionEventLog):
    """`times_us[i]` is when row i was written, in microseconds since 1970; column `time_us` stays the virtual time."""

    __slots__ = ("_timed", "times_us")

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel)
        self.times_us: list[int] = []
        self._timed = 0

    def emit(self, kind: int, *columns: int, **named: int) -> None:
        """Append one row."""
        super().emit(kind, *columns, **named)
        self.times_us.append(time.time_ns() // 1000)

    def drain_timed(self) -> list[tuple[int, Event]]:
        """(wall-clock time in us, event) of the rows since the last call of this method; `drain_rows` is apart."""
        fresh = range(self._timed, len(self.rows))
        self._timed = len(self.rows)
        return [(self.times_us[row], readable(self.rows[row])) for row in fresh]
