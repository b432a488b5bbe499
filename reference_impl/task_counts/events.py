"""The events of a history of Connect workers: one row of integers each, in the order in which things happened.

-1 stands in a column that does not apply, and 0 in `error`.
"""

from collections import namedtuple

from fencepost.reference_impl.simulation import EventLog

SUPPORT_CODES = {"none": 0, "disabled": 1, "preparing": 2, "enabled": 3}


class Kind:
    """Kinds of event; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    # Workers and their users
    WORKER_STARTED, WORKER_STOPPED, WORKER_STALLED, WORKER_RESUMED, ASKED = range(1, 6)
    # The group
    JOINED, MEMBER_EXPIRED, ASSIGNMENT_MADE, ASSIGNED, TASK_ASSIGNED, TASK_REVOKED = range(10, 16)
    # The config topic
    (
        TOPIC_CLAIMED, CLAIM_FAILED, LEADERSHIP_LOST, CONNECTOR_WRITTEN, CONNECTOR_TOMBSTONED, TASK_CONFIG_WRITTEN,
        SET_WRITTEN, COUNT_WRITTEN, COUNT_TOMBSTONED, WRITE_REFUSED, TOPIC_READ, COMPACTED,
    ) = range(20, 32)  # fmt: skip
    # Rounds
    ROUND_ASKED, ROUND_STARTED, ID_FENCED, ROUND_CHECKED, ROUND_FAILED, ROUND_ANSWERED = range(40, 46)
    # Task threads
    (
        TASK_STARTING, TASK_CHECKED, PRODUCER_OPENED, TASK_CHECKED_AGAIN, TASK_RUNNING, TASK_ABANDONED, TASK_FAILED,
        TASK_STOPPED, TASK_LEFT_RUNNING,
    ) = range(50, 59)  # fmt: skip
    # What their producers write
    RECORDS_SENT, TRANSACTION_COMMITTED, TRANSACTION_REFUSED = range(60, 63)


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple(
    "Event",
    "step time_us kind node connector task instance set count offset member producer_id epoch request support "
    "status error",
)  # fmt: skip


class ConnectEventLog(EventLog, kinds=Kind, event=Event):
    """The log of one history of Connect workers."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = ConnectEventLog.kind_names
readable = ConnectEventLog.readable
