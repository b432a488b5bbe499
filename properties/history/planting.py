"""Very many told histories at once, some of them bent: what a check that has teeth must find, to the last violation.

Not a simulation: every history is one story, shifted to producer ids of its own, so that millions of events a second
can be made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from fencepost.properties.history.bends import Plant, bent_by
from fencepost.properties.history.told import Told
from fencepost.properties.registry import Found

Columns = dict[str, np.ndarray]
ID_SHIFTS = 997  # histories whose producer ids differ, from one to the next


@dataclass(frozen=True, eq=False)
class Planting:
    """A story, told anew at each call, and what can be bent in it, by name."""

    example: Callable[[], Told]
    plants: Mapping[str, Plant]

    @cached_property
    def patterns(self) -> Mapping[str, Columns]:
        """Columns of the story as it is, under the empty name, and bent by each plant."""
        return {"": self.example().columns()} | {n: bent_by(self.example(), plant) for n, plant in self.plants.items()}

    def planted(
        self, seed: int, first_history: int, histories: int, *, bent: float = 0.001, plants: Sequence[str] = ()
    ) -> tuple[Columns, dict[str, int]]:
        """Columns of `histories` whole histories, and the violations that each property must report on them.

        A share of `bent` histories has one of the `plants` (of all, if none is named), drawn with `seed`.
        """
        names = plants or tuple(self.plants)
        patterns = self.patterns
        events = len(patterns[""]["kind"])
        columns = {name: np.tile(values, histories) for name, values in patterns[""].items()}
        number = np.repeat(np.arange(first_history, first_history + histories), events)
        rng = np.random.default_rng([seed, first_history])
        expected: dict[str, int] = {}
        for place in np.flatnonzero(rng.random(histories) < bent):
            name = names[int(rng.integers(len(names)))]
            for column, values in columns.items():
                values[place * events : (place + 1) * events] = patterns[name][column]
            for broken, count in self.plants[name].found.items():
                expected[broken] = expected.get(broken, 0) + count
        columns["history"] = number
        shifted = columns["producer_id"] + number % ID_SHIFTS
        columns["producer_id"] = np.where(columns["producer_id"] >= 0, shifted, -1)
        return columns, expected

    def simulate_many(
        self, seed: int, first_history: int, histories: int, config: Mapping[str, Any]
    ) -> tuple[Columns, dict[str, int]]:
        """`planted` as a simulator; what is planted is reported as the faults injected.

        Of `config` the keys `bent` and `plants` matter.
        """
        chosen = {key: config[key] for key in ("bent", "plants") if key in config}
        return self.planted(seed, first_history, histories, **chosen)


@dataclass(frozen=True)
class Bed:
    """How histories of a protocol are planted: its plants by name, and the config that its checks need."""

    planted: Callable[..., tuple[Columns, dict[str, int]]]
    plants: tuple[str, ...]
    config: Mapping[str, Any] = field(default_factory=dict)

    def simulate_many(
        self, seed: int, first_history: int, histories: int, config: Mapping[str, Any]
    ) -> tuple[Columns, dict[str, int]]:
        """`planted` as a simulator of many histories at once; what is planted is reported as the faults injected."""
        return self.planted(seed, first_history, histories, **config)


BEDS: Found[Bed] = Found("history.planted", "BED")
"""By protocol."""
