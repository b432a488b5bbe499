"""The events of a history of transactions: one row of integers each, in the order in which things happened.

`COLUMNS` is the column order of every row that the reference implementation writes; -1 stands where a column does not
apply, except in `error`: there 0 is "none", because -1 is an error code (UNKNOWN_SERVER_ERROR). `Event` is the readable
form of the same row, with the kind by name.
"""

from typing import NamedTuple

from fencepost.reference_impl.simulation import EventLog
from fencepost.reference_impl.simulation.log import Row

COLUMNS = (
    "step", "time_us", "kind", "node", "client", "txn_id", "producer_id", "epoch", "txn", "record", "partition",
    "offset", "sequence", "request", "outcome", "state", "coordinator_epoch", "upto", "error",
)  # fmt: skip


class Kind:
    """What happened; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    CLIENT_STARTED = 1
    CLIENT_STOPPED = 2
    INIT_SENT = 3
    INIT_TAKEN = 4
    TXN_BEGUN = 5
    ADD_SENT = 6
    ADD_TAKEN = 7
    RECORD_SENT = 8
    RECORD_ACKED = 9
    RECORD_FAILED = 10
    END_SENT = 11
    END_TOLD = 12
    CLIENT_FAILED = 13
    FENCE_TOLD = 14
    INIT_HANDLED = 20
    ADD_HANDLED = 21
    END_HANDLED = 22
    TXN_LOGGED = 23
    APPEND_FAILED = 24
    TIMED_OUT = 25
    COORDINATOR_LOADED = 26
    PARTITION_CHECKED = 27
    MARKER_ACKED = 28
    ID_EXPIRED = 29
    BATCH_APPENDED = 40
    BATCH_DUPLICATE = 41
    BATCH_REFUSED = 42
    MARKER_APPENDED = 43
    MARKER_REFUSED = 44
    CHECK_ASKED = 45
    LEADER_CHANGED = 46
    STABLE_MOVED = 47
    FETCHED = 50
    RECORD_READ = 51
    RECORD_SEEN = 52
    OFFSET_FETCHED = 53


class Event(NamedTuple):
    """One row, readable. `kind` is the lower-case name; all other columns are integers, -1 where not applicable."""

    step: int
    time_us: int
    kind: str
    node: int
    client: int
    txn_id: int
    producer_id: int
    epoch: int
    txn: int
    record: int
    partition: int
    offset: int
    sequence: int
    request: int
    outcome: int
    state: int
    coordinator_epoch: int
    upto: int
    error: int


KIND_NAMES: dict[int, str] = {code: name.lower() for name, code in vars(Kind).items() if name.isupper()}


def readable(row: Row) -> Event:
    """The event of one row."""
    step, time_us, kind, *rest = row
    return Event(step, time_us, KIND_NAMES[kind], *rest)


class TransactionEventLog(EventLog):
    """The log of one history of transactions."""

    __slots__ = ()

    def emit(
        self,
        kind: int,
        node: int = -1,
        client: int = -1,
        txn_id: int = -1,
        producer_id: int = -1,
        epoch: int = -1,
        txn: int = -1,
        record: int = -1,
        partition: int = -1,
        offset: int = -1,
        sequence: int = -1,
        request: int = -1,
        outcome: int = -1,
        state: int = -1,
        coordinator_epoch: int = -1,
        upto: int = -1,
        error: int = 0,
    ) -> None:
        """Append one row; columns not given do not apply."""
        rows = self.rows
        rows.append((
            len(rows), self.kernel.now, kind, node, client, txn_id, producer_id, epoch, txn, record, partition,
            offset, sequence, request, outcome, state, coordinator_epoch, upto, error,
        ))  # fmt: skip
