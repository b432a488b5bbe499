"""The events of a history of one source task: one row of integers each, in the order in which things happened.

`partition` is a source partition, `record` the place of a record in it (from 1), `offset` a source offset (0: none),
`output` and `position` are of the topics that records are sent to; `position` of an `offset_written` is that in the
offsets topic. -1 stands in a column that does not apply.
"""

from collections import namedtuple

from fencepost.reference_impl.simulation import EventLog


class Kind:
    """Kinds of event; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    # Instances of the task
    INSTANCE_STARTED, RESUMED, STOPPING, INSTANCE_STOPPED, INSTANCE_FAILED, INSTANCE_KILLED = range(1, 7)
    # What becomes of records
    POLLED, FILTERED, SUBMITTED, DROPPED, PRODUCED, ACKNOWLEDGED, GIVEN_UP, SEND_FAILED = range(10, 18)
    # What becomes of offsets
    COMMITTABLE, SNAPSHOT_TAKEN, FLUSH_BEGUN, FLUSH_ENTRY, OFFSET_WRITTEN, FLUSH_ENDED, FLUSH_REFUSED = range(20, 27)
    DRAINED = 27
    # What the connector is told of them
    TOLD, TOLD_OFFSET, LOOKED_UP, TELLING_FAILED = range(30, 34)
    # The upstream system
    DISCARDED = 40
    # Transactions of an exactly-once task
    TRANSACTION_BEGUN, TRANSACTION_COMMITTED, TRANSACTION_ABORTED = range(50, 53)
    # An auditor, who reads the committed output and the stored offsets
    OUTPUT_READ, AUDITED = range(60, 62)


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple(
    "Event",
    "step time_us kind instance thread partition record offset output position flush entries outcome",
)


class SourceEventLog(EventLog, kinds=Kind, event=Event):
    """The log of one history of a source task."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = SourceEventLog.kind_names
readable = SourceEventLog.readable
