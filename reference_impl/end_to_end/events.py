"""The end-to-end events of the whole system: what sources give, what stands in the sink, and what a restart resumes
from.

`partition` and `offset` are of the source: partitions are numbered over all connectors, and an offset is the number of
records up to and including this one. `position` is a place in the committed part of a Kafka partition.
"""

from collections import namedtuple

from fencepost.reference_impl.simulation import EventLog


class Kind:
    """Kinds of event; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    RESUMED, POLLED, GIVEN_UP = 1, 2, 3
    OUTPUT_READ, SINK_READ = 10, 11
    OWED = 20


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple("Event", "step time_us kind client connector task partition offset topic position")


class EndToEndLog(EventLog, kinds=Kind, event=Event):
    """The log of one history, end to end."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = EndToEndLog.kind_names
readable = EndToEndLog.readable
