"""These history properties state what the whole promises from the sources to the sink: each source offset once, in
order, none left out.

The first table is what a user relies on, whatever is in between. The second locates a loss: in the connectors' output
already, at a task's start, or on the way to the sink.
"""

from collections.abc import Mapping
from types import MappingProxyType

from fencepost.properties.end_to_end.events import AUDITOR, END_TO_END, TASKS, Kind
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.naming import Words
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, Event, Operation, declared, each, first, greatest, last, when
from fencepost.properties.history.spreading import BY_ITSELF
from fencepost.properties.seeded_violations import END, Seeded, SeededHistory, change, drop, put

PARTITION, RECORD = ("partition",), ("partition", "offset")
OF_INSTANCE = ("client", "partition")

saying = Words(END_TO_END, hidden=("connector", "task")).saying

IN_SINK = first(Kind.sink_read, by=RECORD)
SINK = greatest("offset", Kind.sink_read, by=PARTITION)
IN_OUTPUT = first(Kind.output_read, by=RECORD)
OUTPUT = greatest("offset", Kind.output_read, by=PARTITION)
POLLED = first(Kind.polled, by=RECORD)
BEFORE = last(Kind.resumed, Kind.polled, by=OF_INSTANCE)
GIVEN_UP = first(Kind.given_up, by=("client", *RECORD))


def offset_of(event: Event) -> Operation:
    """Return the offset of a related event, or 0 where there is none."""
    return when(event.missing, 0, event.offset)


PROMISES = (
    declared(
        "once_in_the_sink", "618.P2", "each source offset stands once in what a read_committed reader of the sink gets",
        each(Kind.sink_read, by=RECORD),
        (IN_SINK.topic != IT.topic) | (IN_SINK.position != IT.position), saying("the same record stands at"),
        explained=IN_SINK,
    ),
    declared(
        "none_left_out_of_the_sink", "618.P2",
        "no record stands in the sink unless all records before it of its source partition do",
        each(Kind.sink_read, by=PARTITION),
        IT.offset > offset_of(SINK) + 1,
        saying("records before it were left out after", "records before it were left out"), explained=SINK,
    ),
    declared(
        "arrives", "618.P2", "once faults stop, what was polled gets to the sink as long as its connector lives",
        each(Kind.owed, by=PARTITION),
        offset_of(SINK) < IT.offset, saying("the last one that got there is", "none got there"),
        explained=SINK, needs_quiet_end=True,
    ),
    declared(
        "was_polled", "618.P2", "what stands in the sink was read from the source",
        each(Kind.sink_read, by=RECORD),
        POLLED.missing | (POLLED.at > IT.at), saying("read only later, by", "never read"), explained=POLLED,
    ),
)  # fmt: skip

MECHANISMS = (
    declared(
        "once_in_the_output", "618.27", "each source offset stands once in the committed output of its connector",
        each(Kind.output_read, by=RECORD),
        (IN_OUTPUT.topic != IT.topic) | (IN_OUTPUT.position != IT.position), saying("the same record stands at"),
        explained=IN_OUTPUT,
    ),
    declared(
        "none_left_out_of_the_output", "618.27",
        "no record stands in the committed output unless all records before it of its source partition do",
        each(Kind.output_read, by=PARTITION),
        IT.offset > offset_of(OUTPUT) + 1,
        saying("records before it were left out after", "records before it were left out"), explained=OUTPUT,
    ),
    declared(
        "given_up_stays_out", "618.P2", "what an instance has given up never stands in the committed output",
        each(Kind.output_read, by=("client", *RECORD), where=IT.client >= 0),
        ~GIVEN_UP.missing, saying("given up by who sent it, which had not asked for its commit:"), explained=GIVEN_UP,
    ),
    declared(
        "resumes_at_the_output", "618.27", "no task begins behind a record that never gets to the output",
        each(Kind.resumed, by=RECORD, where=IT.offset > 0),
        IN_OUTPUT.missing, saying("that record is not in the output"), needs_quiet_end=True,
    ),
    declared(
        "polls_in_order", "618.P2", "an instance reads a partition record by record from where it began",
        each(Kind.polled, by=OF_INSTANCE),
        BEFORE.missing | (IT.offset != BEFORE.offset + 1), saying("not the one after", "it never began"),
        explained=BEFORE,
    ),
    declared(
        "copied_from_the_output", "447.P1", "what stands in the sink stood in the committed output before",
        each(Kind.sink_read, by=RECORD),
        IN_OUTPUT.missing | (IN_OUTPUT.at > IT.at), saying("committed only later, at", "it is not there"),
        explained=IN_OUTPUT,
    ),
)  # fmt: skip

RECORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"auditor": END_TO_END.observed_by(AUDITOR), "outside": END_TO_END.observed_by(TASKS, AUDITOR),
     "all": tuple(END_TO_END.codes)}
)  # fmt: skip
"""Each recording has these kinds of event."""


def figures(view: EventView) -> dict[str, int]:
    """Return how many records of one piece reached each place; the figures of several pieces add up."""
    kinds = {
        "instances_begun": Kind.resumed, "polled": Kind.polled, "in_output": Kind.output_read,
        "in_sink": Kind.sink_read, "owed": Kind.owed,
    }  # fmt: skip
    return {name: len(view.rows_of(kind)) for name, kind in kinds.items()}


HISTORY = HistoryProperties(
    END_TO_END,
    in_a_table(*PROMISES, *MECHANISMS),
    mode="whole",
    figures=figures,
    spread_of_figures=BY_ITSELF,
)


# These are the faults that an end-to-end history can have, and what each property must then report.
#
# The history is written by hand, as a correct system reports it: it has two source partitions of one connector, whose
# task is started anew after three records, one of which it had polled and gives up.

Row = tuple[int, ...]


def rows() -> list[Row]:
    """Return the rows of a small history, in the order of the columns."""
    made: list[Row] = []

    def task(kind: Kind, client: int, partition: int, offset: int) -> None:
        made.append((len(made), 1000 * len(made), int(kind), client, 0, 0, partition, offset, -1, -1))

    def reader(kind: Kind, partition: int, offset: int, position: int = -1, client: int = -1) -> None:
        topic = -1 if kind is Kind.owed else partition
        made.append((len(made), 1000 * len(made), int(kind), client, 0, -1, partition, offset, topic, position))

    for partition in (0, 1):
        task(Kind.resumed, 0, partition, 0)
    for offset in (1, 2):
        for partition in (0, 1):
            task(Kind.polled, 0, partition, offset)
            reader(Kind.output_read, partition, offset, offset - 1, 0)
    task(Kind.polled, 0, 0, 3)
    task(Kind.given_up, 0, 0, 3)
    for partition in (0, 1):
        reader(Kind.sink_read, partition, 1, 0)
        task(Kind.resumed, 1, partition, 2)
    for offset in (3, 4):
        for partition in (0, 1):
            task(Kind.polled, 1, partition, offset)
            reader(Kind.output_read, partition, offset, offset - 1, 1)
    for partition in (0, 1):
        for offset in (2, 3, 4):
            reader(Kind.sink_read, partition, offset, offset)
    for partition in (0, 1):
        reader(Kind.owed, partition, 4)
    return made


_SINK = {"connector": 0, "partition": 0, "topic": 0}

VIOLATIONS = {
    "copied twice": Seeded(
        (put(END, Kind.sink_read, **_SINK, offset=3, position=99),), {"once_in_the_sink": 1},
    ),
    "one left out of the sink": Seeded(
        (drop(Kind.sink_read, 3),), {"none_left_out_of_the_sink": 1},
    ),
    "the last one not there": Seeded(
        (drop(Kind.sink_read, 4),), {"arrives": 1},
    ),
    "never read from the source": Seeded(
        (
            put((Kind.owed, 0), Kind.output_read, **_SINK, offset=5, position=4),
            put((Kind.owed, 0), Kind.sink_read, **_SINK, offset=5, position=98),
        ),
        {"was_polled": 1},
    ),
    "committed twice": Seeded(
        (put(END, Kind.output_read, **_SINK, offset=4, position=9),), {"once_in_the_output": 1},
    ),
    "one left out of the output": Seeded(
        (
            put((Kind.owed, 0), Kind.polled, client=1, connector=0, task=0, partition=0, offset=5),
            put((Kind.owed, 0), Kind.polled, client=1, connector=0, task=0, partition=0, offset=6),
            put((Kind.owed, 0), Kind.output_read, **_SINK, offset=6, position=4),
        ),
        {"none_left_out_of_the_output": 1},
    ),
    "committed by who gave it up": Seeded(
        (change(Kind.output_read, 4, client=0),), {"given_up_stays_out": 1},
    ),
    "begins behind what is lost": Seeded(
        (put(END, Kind.resumed, client=2, connector=0, task=0, partition=1, offset=7),),
        {"resumes_at_the_output": 1},
    ),
    "skips in the source": Seeded(
        (
            put(END, Kind.polled, client=1, connector=0, task=0, partition=1, offset=6),
        ),
        {"polls_in_order": 1},
    ),
    "copied before it is committed": Seeded(
        (
            drop(Kind.output_read, 6),
            put(END, Kind.output_read, **_SINK, offset=4, position=3),
        ),
        {"copied_from_the_output": 1},
    ),
}  # fmt: skip

EXAMPLE = "fencepost.properties.end_to_end.histories:rows"
SEEDED_HISTORY = SeededHistory(END_TO_END, EXAMPLE, VIOLATIONS, {"quiet_end": True}, shifted=())
simulate_many = SEEDED_HISTORY.simulate_many
