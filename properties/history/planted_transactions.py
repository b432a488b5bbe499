"""Histories of transactions with violations planted at known places: what a check that has teeth must find, and count.

Not a simulation: every history is one `Story`, shifted to producer ids of its own, so that millions of events a second
can be made. In some histories one thing is bent; `planted` says what each property must then report, to the last
violation. `PLANTS` is the table: what is edited, and what must be found. Each property has a plant of its own.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from fencepost.properties.history.bends import bent_by
from fencepost.properties.history.transaction_events import ABORT, COMMIT
from fencepost.properties.history.transaction_plants import PLANTS
from fencepost.properties.history.transaction_story import Story

Planted = tuple[dict[str, np.ndarray], dict[str, int]]


def example() -> Story:
    """Four instances in turn: commits, an abort, a duplicate, a fence amid a transaction, an end left untold."""
    story = Story("v2")
    story.init(1)
    for outcome in (COMMIT, ABORT, COMMIT):
        story.begin(1)
        for partition in (0, 1, 0, story.offsets_partition):
            story.send(1, partition)
        story.end(1, outcome)
        read_all(story)
    story.begin(1)
    story.send(1, 0)
    story.spare()
    story.init(2)
    story.spare(4)
    story.begin(2)
    story.repeat(story.send(2, 1))
    story.send(2, 0)
    story.end(2, COMMIT, told=False)
    read_all(story)
    story.fence(3)
    story.init(4)
    for _ in range(2):
        story.begin(4)
        for partition in (0, 1, story.offsets_partition):
            story.send(4, partition)
        story.end(4, COMMIT)
    read_all(story)
    story.see(1001, 0)
    story.spare(4)
    return story


def read_all(story: Story) -> None:
    """A reader reads both data partitions to the end, and fetches the group's offset."""
    story.read(1000, 0)
    story.read(1000, 1)
    story.fetch_offset(1000)


@lru_cache(maxsize=1)
def _patterns() -> Mapping[str, dict[str, np.ndarray]]:
    """Columns of the example as it is, under the empty name, and bent by each plant."""
    return {"": example().columns()} | {name: bent_by(example(), plant) for name, plant in PLANTS.items()}


def planted(seed: int, first_history: int, histories: int, *, bent: float = 0.001,
            plants: Sequence[str] = tuple(PLANTS)) -> Planted:  # fmt: skip
    """Columns of `histories` whole histories in mode v2, and the violations that each property must report on them.

    A share of `bent` histories has one of the `plants`, drawn with `seed`. Producer ids differ a little by history.
    """
    patterns = _patterns()
    events = len(patterns[""]["kind"])
    columns = {name: np.tile(values, histories) for name, values in patterns[""].items()}
    number = np.repeat(np.arange(first_history, first_history + histories), events)
    rng = np.random.default_rng([seed, first_history])
    expected: dict[str, int] = {}
    for place in np.flatnonzero(rng.random(histories) < bent):
        plant = plants[int(rng.integers(len(plants)))]
        for name, values in columns.items():
            values[place * events : (place + 1) * events] = patterns[plant][name]
        for broken, count in PLANTS[plant].found.items():
            expected[broken] = expected.get(broken, 0) + count
    columns["history"] = number
    columns["producer_id"] = np.where(columns["producer_id"] >= 0, columns["producer_id"] + number % 997, -1)
    return columns, expected


def simulate_many(seed: int, first_history: int, histories: int, config: Mapping[str, Any]) -> Planted:
    """`planted` as a simulator of many histories at once; what is planted is reported as the faults injected.

    Of `config` the keys `bent` and `plants` matter.
    """
    return planted(seed, first_history, histories, **{key: config[key] for key in ("bent", "plants") if key in config})
