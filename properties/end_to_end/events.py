"""This module defines the end-to-end events of a whole system: the records that tasks read from their sources, where
tasks begin, and the records that a read_committed reader finds in the connectors' output and in the sink that a group
copies it to.

Codes and names are a file format: histories written years ago carry them. Add new ones at the end; never renumber.
Codes below 10 are of tasks, from 10 on of readers, and from 20 on of records that are owed at the end.

A source partition is numbered over all connectors, and a source offset counts the records up to and including its own:
the first record has 1, and a task that begins at 0 has read none. The events of the layers between are those of their
own protocols.
"""

from fencepost.properties.history.signs import Sign
from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary

SOURCE = "partition offset"
PLACE = f"connector {SOURCE} topic position"
TASK = f"client connector task {SOURCE}"

TASKS = "tasks"  # a task logs it
AUDITOR = "auditor"  # a reader of topics in read_committed


class Kind(EventKind):
    """A `Kind` of event has a code, columns, and the roles that observe it."""

    resumed = 1, TASK, TASKS  # an instance of a task begins to poll behind this offset of a partition; 0: at its start
    polled = 2, TASK, TASKS  # it has read the record, and sends it
    # it is over, with the record in a transaction of which it has never asked for the commit
    given_up = 3, TASK, TASKS

    output_read = 10, f"client {PLACE}", AUDITOR  # the record stands in the connectors' output, and is committed
    sink_read = 11, PLACE, AUDITOR  # its copy stands in the sink, and is committed

    # at the end: every record up to this one had been polled when faults stopped, and its connector lives
    owed = 20, f"connector {SOURCE}", AUDITOR


COLUMNS = (
    Column("client", "int64", "instance of a task, unique in its history: of a record in the output, that sent it"),
    Column("connector", "int32", "connector, numbered from 0"),
    Column("task", "int32", "task of its connector, numbered from 0"),
    Column("partition", "int32", "source partition, numbered over all connectors"),
    Column("offset", "int64", "source offset: the number of records of the partition up to and including this one"),
    Column("topic", "int32", "partition of the topic that was read"),
    Column("position", "int64", "place in it: in the output, among committed records; in the sink, its offset"),
)

END_TO_END = Vocabulary("end-to-end", Kind, COLUMNS, public=(AUDITOR,))


# These end-to-end events detect a danger; see `fencepost.properties.history.signs`. Faults of the layers below appear
# in their own events.

SIGNS = (
    Sign("client-crash", "instances beyond the first that poll a record",
         lambda e: e.further(e.of(Kind.polled), ("partition", "offset"), "client")),
)  # fmt: skip
