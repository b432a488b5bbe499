"""What can be wrong in an end-to-end history, and what each property must then report.

The history is written by hand, as a right system tells it: two source partitions of one connector, whose task is
started anew after three records, one of which it had polled and gives up.
"""

from fencepost.properties.end_to_end.events import END_TO_END, Kind
from fencepost.properties.planting.beds import Bed
from fencepost.properties.planting.bends import END, Plant, change, drop, put

Row = tuple[int, ...]


def rows() -> list[Row]:
    """Its rows, in the order of the columns."""
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

PLANTS = {
    "copied twice": Plant(
        (put(END, Kind.sink_read, **_SINK, offset=3, position=99),), {"once_in_the_sink": 1},
    ),
    "one left out of the sink": Plant(
        (drop(Kind.sink_read, 3),), {"none_left_out_of_the_sink": 1},
    ),
    "the last one not there": Plant(
        (drop(Kind.sink_read, 4),), {"arrives": 1},
    ),
    "never read from the source": Plant(
        (
            put((Kind.owed, 0), Kind.output_read, **_SINK, offset=5, position=4),
            put((Kind.owed, 0), Kind.sink_read, **_SINK, offset=5, position=98),
        ),
        {"was_polled": 1},
    ),
    "committed twice": Plant(
        (put(END, Kind.output_read, **_SINK, offset=4, position=9),), {"once_in_the_output": 1},
    ),
    "one left out of the output": Plant(
        (
            put((Kind.owed, 0), Kind.polled, client=1, connector=0, task=0, partition=0, offset=5),
            put((Kind.owed, 0), Kind.polled, client=1, connector=0, task=0, partition=0, offset=6),
            put((Kind.owed, 0), Kind.output_read, **_SINK, offset=6, position=4),
        ),
        {"none_left_out_of_the_output": 1},
    ),
    "committed by who gave it up": Plant(
        (change(Kind.output_read, 4, client=0),), {"given_up_stays_out": 1},
    ),
    "begins behind what is lost": Plant(
        (put(END, Kind.resumed, client=2, connector=0, task=0, partition=1, offset=7),),
        {"resumes_at_the_output": 1},
    ),
    "skips in the source": Plant(
        (
            put(END, Kind.polled, client=1, connector=0, task=0, partition=1, offset=6),
        ),
        {"polls_in_order": 1},
    ),
    "copied before it is committed": Plant(
        (
            drop(Kind.output_read, 6),
            put(END, Kind.output_read, **_SINK, offset=4, position=3),
        ),
        {"copied_from_the_output": 1},
    ),
}  # fmt: skip

EXAMPLE = "fencepost.properties.end_to_end.planted:rows"
BED = Bed(END_TO_END, EXAMPLE, PLANTS, {"quiet_end": True}, shifted=())
simulate_many = BED.simulate_many
