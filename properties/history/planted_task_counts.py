"""Histories of source connectors with violations planted at known places: what a check that has teeth must find, and
count.

Not a simulation: every history is one story, shifted to producer ids of its own, so that millions of events a second
can be made. In some histories one thing is bent; `planted` says what each property must then report, to the last
violation. `PLANTS` is the table: what is edited, and what must be found. Each property has a plant of its own.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from fencepost.properties.history.bends import bent_by
from fencepost.properties.history.task_count_plants import PLANTS
from fencepost.properties.history.task_count_story import TaskCountStory

Planted = tuple[dict[str, np.ndarray], dict[str, int]]


def example() -> TaskCountStory:
    """Two tasks become one and two again, a worker stands still, another leads, a connector goes and comes back."""
    story = TaskCountStory(workers=3)
    story.lead(0)
    story.configure(0, tasks=2)
    first = story.run(1, 0, 0)
    stalled = story.run(2, 0, 1)
    story.commit(first)
    story.commit(stalled)
    story.configure(1, tasks=1)
    alone = story.run(1, 1, 0)
    story.commit(alone)
    story.spare(4)
    story.configure(0, tasks=1)  # two tasks become one: both ids are fenced
    story.stop(first)
    story.commit(stalled)  # it may: the count of before still covers it
    second = story.run(1, 0, 0)
    story.commit(second)
    story.refuse(stalled)
    story.lead(1)
    story.spare(4)
    story.configure(1, tasks=1)  # one task stays one: nothing is fenced
    story.stop(alone)
    alone = story.run(0, 1, 0)
    story.commit(alone)
    story.delete(1)
    story.stop(alone)
    story.configure(1, tasks=2)
    story.commit(story.run(0, 1, 0))
    story.commit(story.run(1, 1, 1))
    story.configure(0, tasks=2)
    story.stop(second)
    story.commit(story.run(0, 0, 0))
    story.commit(story.run(1, 0, 1))
    story.rebalance()
    story.spare(4)
    return story


@lru_cache(maxsize=1)
def _patterns() -> Mapping[str, dict[str, np.ndarray]]:
    """Columns of the example as it is, under the empty name, and bent by each plant."""
    return {"": example().columns()} | {name: bent_by(example(), plant) for name, plant in PLANTS.items()}


def planted(seed: int, first_history: int, histories: int, *, bent: float = 0.001,
            plants: Sequence[str] = tuple(PLANTS)) -> Planted:  # fmt: skip
    """Columns of `histories` whole histories in mode B, and the violations that each property must report on them.

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
