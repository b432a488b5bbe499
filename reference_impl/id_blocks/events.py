"""The events of an id-blocks history: twenty-three kinds, one row of integers each.

-1 stands in a column that does not apply, and 0 in `error`.
"""

from collections import namedtuple

from fencepost.reference_impl.simulation import EventLog


class Kind:
    """Kinds of event; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    (
        BROKER_STARTED, BROKER_STOPPED, REQUEST_SENT, BLOCK_RECORDED, BLOCK_COMMITTED, ANSWER_SENT, ANSWER_TAKEN,
        ANSWER_DROPPED, ANSWER_REFUSED, ANSWER_FAILED, REQUEST_TIMED_OUT, BLOCK_INSTALLED, ID_HANDED_OUT, ID_REFUSED,
        BACKOFF_OVER, CONTROLLER_ELECTED, SNAPSHOT_TAKEN, ZK_READ, ZK_WRITTEN, ZK_CONFLICT, MIGRATED, BROKER_UPGRADED,
        REQUEST_REFUSED,
    ) = range(1, 24)  # fmt: skip


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple("Event", "step time_us kind node broker broker_epoch request grant first length producer_id error")


class IdBlockLog(EventLog, kinds=Kind, event=Event):
    """The log of one id-blocks history."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = IdBlockLog.kind_names
readable = IdBlockLog.readable
