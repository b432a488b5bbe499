"""The events of a history of transactions: one row of integers each, in the order in which things happened.

-1 stands in a column that does not apply, and 0 in `error`.
"""

from collections import namedtuple

from fencepost.reference_impl.simulation import EventLog


class Kind:
    """Kinds of event; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    # Clients
    (
        CLIENT_STARTED, CLIENT_STOPPED, INIT_SENT, INIT_TAKEN, TXN_BEGUN, ADD_SENT, ADD_TAKEN, RECORD_SENT,
        RECORD_ACKED, RECORD_FAILED, END_SENT, END_TOLD, CLIENT_FAILED, FENCE_TOLD,
    ) = range(1, 15)  # fmt: skip
    # The coordinator of a transactional id
    (
        INIT_HANDLED, ADD_HANDLED, END_HANDLED, TXN_LOGGED, APPEND_FAILED, TIMED_OUT, COORDINATOR_LOADED,
        PARTITION_CHECKED, MARKER_ACKED, ID_EXPIRED,
    ) = range(20, 30)  # fmt: skip
    # Leaders of partitions
    (
        BATCH_APPENDED, BATCH_DUPLICATE, BATCH_REFUSED, MARKER_APPENDED, MARKER_REFUSED, CHECK_ASKED, LEADER_CHANGED,
        STABLE_MOVED,
    ) = range(40, 48)  # fmt: skip
    # Readers
    FETCHED, RECORD_READ, RECORD_SEEN, OFFSET_FETCHED = range(50, 54)


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple(
    "Event",
    "step time_us kind node client txn_id producer_id epoch txn record partition offset sequence request outcome "
    "state coordinator_epoch upto error",
)  # fmt: skip


class TransactionEventLog(EventLog, kinds=Kind, event=Event):
    """The log of one history of transactions."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = TransactionEventLog.kind_names
readable = TransactionEventLog.readable
