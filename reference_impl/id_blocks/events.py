"""The events of an id-blocks history: twenty-three kinds, one row of integers each.

`COLUMNS` is the column order of every row that the reference implementation writes; -1 stands where a column does not
apply, except in `error`: there 0 is "none", because -1 is an error code (UNKNOWN_SERVER_ERROR). `Event` is the readable
form of the same row, with the kind by name.
"""

from typing import NamedTuple

from fencepost.reference_impl.simulation import EventLog
from fencepost.reference_impl.simulation.log import Row

COLUMNS = (
    "step", "time_us", "kind", "node", "broker", "broker_epoch",
    "request", "grant", "first", "length", "producer_id", "error",
)  # fmt: skip


class Kind:
    """What happened; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    BROKER_STARTED = 1
    BROKER_STOPPED = 2
    REQUEST_SENT = 3
    BLOCK_RECORDED = 4
    BLOCK_COMMITTED = 5
    ANSWER_SENT = 6
    ANSWER_TAKEN = 7
    ANSWER_DROPPED = 8
    ANSWER_REFUSED = 9
    ANSWER_FAILED = 10
    REQUEST_TIMED_OUT = 11
    BLOCK_INSTALLED = 12
    ID_HANDED_OUT = 13
    ID_REFUSED = 14
    BACKOFF_OVER = 15
    CONTROLLER_ELECTED = 16
    SNAPSHOT_TAKEN = 17
    ZK_READ = 18
    ZK_WRITTEN = 19
    ZK_CONFLICT = 20
    MIGRATED = 21
    BROKER_UPGRADED = 22
    REQUEST_REFUSED = 23


class Event(NamedTuple):
    """One row, readable. `kind` is the lower-case name; all other columns are integers, -1 where not applicable."""

    step: int
    time_us: int
    kind: str
    node: int
    broker: int
    broker_epoch: int
    request: int
    grant: int
    first: int
    length: int
    producer_id: int
    error: int


KIND_NAMES: dict[int, str] = {code: name.lower() for name, code in vars(Kind).items() if name.isupper()}


def readable(row: Row) -> Event:
    """The event of one row."""
    step, time_us, kind, *rest = row
    return Event(step, time_us, KIND_NAMES[kind], *rest)


class IdBlockLog(EventLog):
    """The log of one id-blocks history."""

    __slots__ = ()

    def emit(
        self,
        kind: int,
        node: int = -1,
        broker: int = -1,
        broker_epoch: int = -1,
        request: int = -1,
        grant: int = -1,
        first: int = -1,
        length: int = -1,
        producer_id: int = -1,
        error: int = 0,
    ) -> None:
        """Append one row; columns not given do not apply."""
        rows = self.rows
        rows.append((
            len(rows), self.kernel.now, kind, node, broker, broker_epoch,
            request, grant, first, length, producer_id, error,
        ))  # fmt: skip
