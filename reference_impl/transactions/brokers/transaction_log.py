"""The transaction log: the compacted topic from which every coordinator rebuilds what it knows (txn.19).

Records are durable or unfinished. Unfinished ones finish in the order in which they were appended, one by one, each
with or without success; a coordinator that goes away leaves them behind. (TransactionLog.java)
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from fencepost.reference_impl.transactions.brokers.states import TransactionLogValue

COMPACT_ABOVE = 256  # records; what is compacted away can never be missed, so only memory and loading time depend on it


class LogRecord(NamedTuple):
    """One record; a value of None is a tombstone: the transactional id is forgotten."""

    transactional_id: int
    value: TransactionLogValue | None


class Append(NamedTuple):
    """An unfinished append, and whom to tell how it went (True: durable)."""

    record: LogRecord
    done: Callable[[bool], object]


class TransactionLog:
    """One partition of the log, with a leader that is the coordinator."""

    __slots__ = ("records", "unfinished")

    def __init__(self) -> None:
        self.records: list[LogRecord] = []
        self.unfinished: deque[Append] = deque()

    def append(self, record: LogRecord, done: Callable[[bool], object]) -> None:
        """Start an append."""
        self.unfinished.append(Append(record, done))

    def finish(self, ok: bool) -> Append | None:
        """End the oldest append and return it, its record durable if `ok`; None if there is none."""
        if not self.unfinished:
            return None
        append = self.unfinished.popleft()
        if ok:
            self.records.append(append.record)
            if len(self.records) > COMPACT_ABOVE:
                self.compact()
        return append

    def compact(self) -> None:
        """Keep the last record of each id, in place, and no tombstones."""
        last = {record.transactional_id: position for position, record in enumerate(self.records)}
        self.records = [
            record
            for position, record in enumerate(self.records)
            if last[record.transactional_id] == position and record.value is not None
        ]

    def replay(self, to_the_end: bool = False) -> dict[int, TransactionLogValue]:
        """The state that the durable records amount to, or all: the last one wins. Ids in order of number."""
        uncovered = [append.record for append in self.unfinished] if to_the_end else []
        values = {record.transactional_id: record.value for record in (*self.records, *uncovered)}
        return {key: value for key in sorted(values) if (value := values[key]) is not None}
