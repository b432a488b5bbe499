"""The events of a history of one source connector's tasks: one row of integers each, in the order in which things
happened.

-1 stands in a column that does not apply, and 0 in `error`. A record of the source is known by `partition`, `round` and
`offset`, which is the number of records of its source partition up to and including it; an `offset` of 0 is none.
`topic` 0 is the worker's global offsets topic, 1 the connector's separate one.
"""

from collections import namedtuple

from fencepost.reference_impl.simulation import EventLog


class Kind:
    """Kinds of event; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    # Operators, and the fencing of a task's transactional id
    CONFIGURED, TOPIC_DELETED, FENCED = range(1, 4)
    # Instances of tasks
    (
        INSTANCE_STARTED, PRODUCER_OPENED, INSTANCE_CHECKED, INSTANCE_RUNNING, INSTANCE_STOPPED, INSTANCE_FAILED,
        INSTANCE_KILLED, STALLED, RESUMED,
    ) = range(10, 19)  # fmt: skip
    # What they read of the offsets topics
    END_ASKED, END_REACHED, OFFSET_FOUND = range(20, 23)
    # What they poll and write
    (
        POLLED, FILTERED, TXN_BEGUN, RECORD_SENT, BATCH_ENDED, BOUNDARY_ASKED, OFFSET_SENT, END_SENT, END_TOLD,
        GIVEN_UP, COMMIT_CALLED, COPY_SENT, COPY_TOLD,
    ) = range(30, 43)  # fmt: skip
    # What stands in the topics
    ENTRY_APPENDED, TOPIC_MARKED, RECORD_APPENDED, OUTPUT_MARKED = range(50, 54)
    # An auditor, who reads the output as far as it is committed, and where a restart would resume
    OUTPUT_READ, AUDITED = range(60, 62)
    # The migration of the earlier text
    OWNER_STARTED, LOOKED, MIGRATED, OWNER_DONE, OWNER_STALLED, OWNER_RESUMED = range(70, 76)


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple(
    "Event",
    "step time_us kind task instance generation owner topic position partition round offset producer_id epoch count "
    "runtime outcome error",
)  # fmt: skip


class SourceEventLog(EventLog, kinds=Kind, event=Event):
    """The log of one history of source tasks."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = SourceEventLog.kind_names
readable = SourceEventLog.readable
