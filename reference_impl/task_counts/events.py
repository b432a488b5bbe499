"""The events of a history of Connect workers: one row of integers each, in the order in which things happened.

`COLUMNS` is the column order of every row; -1 stands where a column does not apply, except in `error`: there 0 is
"none", because -1 is an error code (UNKNOWN_SERVER_ERROR). `Event` is the readable form of a row, its kind by name.
"""

from typing import NamedTuple

from fencepost.reference_impl.simulation import EventLog
from fencepost.reference_impl.simulation.log import Row

COLUMNS = (
    "step", "time_us", "kind", "node", "connector", "task", "instance", "set", "count", "offset", "member",
    "producer_id", "epoch", "request", "support", "status", "error",
)  # fmt: skip

SUPPORT_CODES = {"none": 0, "disabled": 1, "preparing": 2, "enabled": 3}


class Kind:
    """What happened; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    # Workers and their users
    WORKER_STARTED = 1
    WORKER_STOPPED = 2
    WORKER_STALLED = 3
    WORKER_RESUMED = 4
    ASKED = 5
    # The group
    JOINED = 10
    MEMBER_EXPIRED = 11
    ASSIGNMENT_MADE = 12
    ASSIGNED = 13
    TASK_ASSIGNED = 14
    TASK_REVOKED = 15
    # The config topic
    TOPIC_CLAIMED = 20
    CLAIM_FAILED = 21
    LEADERSHIP_LOST = 22
    CONNECTOR_WRITTEN = 23
    CONNECTOR_TOMBSTONED = 24
    TASK_CONFIG_WRITTEN = 25
    SET_WRITTEN = 26
    COUNT_WRITTEN = 27
    COUNT_TOMBSTONED = 28
    WRITE_REFUSED = 29
    TOPIC_READ = 30
    COMPACTED = 31
    # Rounds
    ROUND_ASKED = 40
    ROUND_STARTED = 41
    ID_FENCED = 42
    ROUND_CHECKED = 43
    ROUND_FAILED = 44
    ROUND_ANSWERED = 45
    # Task threads
    TASK_STARTING = 50
    TASK_CHECKED = 51
    PRODUCER_OPENED = 52
    TASK_CHECKED_AGAIN = 53
    TASK_RUNNING = 54
    TASK_ABANDONED = 55
    TASK_FAILED = 56
    TASK_STOPPED = 57
    TASK_LEFT_RUNNING = 58
    # What their producers write
    RECORDS_SENT = 60
    TRANSACTION_COMMITTED = 61
    TRANSACTION_REFUSED = 62


class Event(NamedTuple):
    """One row, readable. `kind` is the lower-case name; all other columns are integers."""

    step: int
    time_us: int
    kind: str
    node: int
    connector: int
    task: int
    instance: int
    set: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks for
    offset: int
    member: int
    producer_id: int
    epoch: int
    request: int
    support: int
    status: int
    error: int


KIND_NAMES: dict[int, str] = {code: name.lower() for name, code in vars(Kind).items() if name.isupper()}


def readable(row: Row) -> Event:
    """The event of one row."""
    step, time_us, kind, *rest = row
    return Event(step, time_us, KIND_NAMES[kind], *rest)


class ConnectEventLog(EventLog):
    """The log of one history of Connect workers."""

    __slots__ = ()

    def emit(
        self,
        kind: int,
        node: int = -1,
        connector: int = -1,
        task: int = -1,
        instance: int = -1,
        set: int = -1,
        count: int = -1,
        offset: int = -1,
        member: int = -1,
        producer_id: int = -1,
        epoch: int = -1,
        request: int = -1,
        support: int = -1,
        status: int = -1,
        error: int = 0,
    ) -> None:
        """Append one row; columns not given do not apply."""
        rows = self.rows
        rows.append((
            len(rows), self.kernel.now, kind, node, connector, task, instance, set, count, offset, member,
            producer_id, epoch, request, support, status, error,
        ))  # fmt: skip
