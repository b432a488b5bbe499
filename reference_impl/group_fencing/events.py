"""The events of a history of a consumer group that copies its input: one row of integers each, in the order in which
things happened.

All but the coordinator's are what a client or an auditor sees. -1 stands in a column that does not apply, and 0 in
`error`. `partition` and `offset` are of the input, `output` and `position` of the output; `generation` is a classic
group's generation, or a member epoch; `client` is the number of an instance of the application, or of an auditor, each
of which reads every output record once.
"""

from collections import namedtuple

from fencepost.reference_impl.simulation import EventLog


class Kind:
    """Kinds of event; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    # Instances of the application
    INSTANCE_STARTED, INSTANCE_STOPPED, INSTANCE_FAILED, PAUSED, RESUMED = range(1, 6)
    # Their consumers
    JOINED, ASSIGNED, REVOKED, LOST, OFFSET_FETCHED, CONSUMED, LEFT = range(10, 17)
    # Their producers
    INIT_TOLD, TXN_BEGUN, OUTPUT_SENT, OFFSET_SENT, END_SENT, END_TOLD, OFFSET_PUT = range(20, 27)
    # The group's coordinator
    GENERATION_BEGUN, MEMBER_REMOVED, OFFSET_TAKEN, OFFSET_REFUSED, FETCH_HELD, COORDINATOR_LOADED = range(40, 46)
    OFFSET_SETTLED, FETCH_ANSWERED, EPOCH_GIVEN, PARTITION_GIVEN = range(46, 50)
    # The transaction coordinator, where it knows of groups
    PRODUCER_FENCED, INIT_REFUSED = range(50, 52)
    # An auditor, who reads the output as far as it is committed, and the group's offsets
    OUTPUT_READ, AUDITED = range(60, 62)


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple(
    "Event",
    "step time_us kind slot client member generation instance partition offset output position txn producer_id epoch "
    "outcome error",
)  # fmt: skip


class GroupEventLog(EventLog, kinds=Kind, event=Event):
    """The log of one history of a consumer group."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = GroupEventLog.kind_names
readable = GroupEventLog.readable
