"""What the model of transactions cannot follow in a history, though it may be right: why, and how it is noticed.

The model has one record for all of a transaction's in a partition, one memory for all producer ids there, and no
question of a leader that outlives a marker.  Of these only the last can come about in v2.  And it remembers two things
that Kafka's coordinator does not: the pair that InitProducerId named where the id had been forgotten, and how the last
transaction ended once a retry of InitProducerId was written to the log (as Empty).
"""

from collections.abc import Mapping
from typing import Any

LATE_RECORD = "v1: a record comes after the end of its transaction, of which another record was there in time"
OLD_ID = "v1: a record of an earlier producer id comes late"
LATE_QUESTION = "v2: a leader's question reaches the coordinator after a marker has ended it there"
UNTOLD = "a coordinator resigned, and nobody was told which of several partitions it had added"
FORGOTTEN = "a retry names an epoch of before its transactional id was forgotten, which the model remembers"
ERASED = "a retry of InitProducerId erased how the last transaction ended, which the model remembers"
CUT_OFF = "the history ends before the answer"
TOO_MANY = "one transactional id has more {} than {}"
MOST = {"clients": 256, "transactions": 256, "partitions": 64, "pairs": 1024, "fail_overs": 64}
"""Of one transactional id in one history: how far it is followed."""


class Undecidable(Exception):
    """The model has no answer from here on; the message says why."""


class Partitions:
    """What of partitions decides whether the next record or question can be followed."""

    def __init__(self, *, bumps: bool) -> None:
        self.bumps = bumps
        self.known: dict[int, int] = {}
        self.open: dict[int, set[int]] = {}
        self.over: set[tuple[int, int]] = set()  # transactions by partition, where they were open and are no more
        self.records: set[int] = set()
        self.asked: dict[tuple[int, int], bool] = {}  # by transaction and partition: has no marker come since?

    def ask(self, event: Mapping[str, Any]) -> None:
        """A leader asks."""
        self.asked[event["txn"], event["partition"]] = True

    def add(self, event: Mapping[str, Any]) -> None:
        """The coordinator adds a partition.  Raises `Undecidable`."""
        if self.bumps and not self.asked.get((event["txn"], event["partition"]), True):
            raise Undecidable(LATE_QUESTION)

    def append(self, event: Mapping[str, Any], record: int) -> None:
        """``record``: -1 if it may be written twice.  Raises `Undecidable`."""
        txn, partition, number, next_base = (event[name] for name in ("txn", "partition", "number", "next_base"))
        known, again = self.known.get(partition, 0), record in self.records
        if record >= 0:
            self.records.add(record)
        if self.bumps or again or number < known < next_base:
            return  # it can be followed, if only to be found wrong
        if (txn, partition) in self.over:
            raise Undecidable(LATE_RECORD)
        if next_base <= known:
            raise Undecidable(OLD_ID)
        self.known[partition] = number
        self.open.setdefault(partition, set()).add(txn)

    def mark(self, event: Mapping[str, Any]) -> None:
        """A marker is written."""
        partition = event["partition"]
        if event["next_base"] <= self.known.get(partition, 0):
            return  # of an earlier producer id
        self.known[partition] = event["number"]
        self.asked.update((key, False) for key in self.asked if key[1] == partition)
        self.over |= {(txn, partition) for txn in self.open.pop(partition, ())}
