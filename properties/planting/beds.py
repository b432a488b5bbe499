"""Histories with violations seeded at known places: what a check that has teeth must find, to the last violation.

A protocol has one history that an implementation wrote, in which every promise holds, and a table of edits that break
something. Not a simulation: every history is that one, as it is or bent, shifted to producer ids of its own, so that
millions of events a second can be made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.planting.edits import Plant, Written, bent_by
from fencepost.properties.registry import Found

Columns = dict[str, np.ndarray]
ID_SHIFTS = 997  # histories whose producer ids differ, from one to the next


@cache
def written(vocabulary: Vocabulary, name: str) -> Written:
    """The history of which `name`, a module:function, gives the rows: integers in the order of the vocabulary's
    columns."""
    module, _, function = name.partition(":")
    columns = {column.name: column.absent for column in vocabulary.columns}
    rows = []
    for _, _, kind, *values in getattr(import_module(module), function)():
        given = {n: value for (n, absent), value in zip(columns.items(), values, strict=True) if value != absent}
        rows.append({"kind": kind, **given})
    return Written(vocabulary, rows)


@dataclass(frozen=True, eq=False)
class Bed:
    """What can be wrong in a history, by name. ``example``: the module:function that writes it; ``config`` that its
    checks need; ``shifted``: the columns that differ from history to history."""

    vocabulary: Vocabulary
    example: str
    plants: Mapping[str, Plant]
    config: Mapping[str, Any] = field(default_factory=dict)
    shifted: tuple[str, ...] = ("producer_id",)

    @property
    def history(self) -> Written:
        return written(self.vocabulary, self.example)

    def bent(self, name: str) -> Columns:
        """The columns of the history with a plant; as it is for the empty name."""
        return (bent_by(self.history, self.plants[name]) if name else self.history).columns()

    @cached_property
    def _patterns(self) -> tuple[Columns, np.ndarray, Mapping[str, int]]:
        """Columns of the history as it is and bent by each plant, one after the other; where each begins; and the
        number of each."""
        names = ("", *self.plants)
        each = [self.bent(name) for name in names]
        begins = np.cumsum([0, *(len(columns["kind"]) for columns in each)])
        table = {name: np.concatenate([columns[name] for columns in each]) for name in each[0]}
        return table, begins, {name: number for number, name in enumerate(names)}

    def seeded(
        self, seed: int, first_history: int, histories: int, *, bent: float = 0.001, plants: Sequence[str] = ()
    ) -> tuple[Columns, dict[str, int]]:
        """Columns of `histories` whole histories, and the violations that each property must report on them.

        A share of `bent` histories has one of the `plants` (of all, if none is named), drawn with `seed`.
        """
        names = plants or tuple(self.plants)
        table, begins, numbers = self._patterns
        rng = np.random.default_rng([seed, first_history])
        pattern = np.zeros(histories, np.int64)
        expected: dict[str, int] = {}
        for place in np.flatnonzero(rng.random(histories) < bent):
            name = names[int(rng.integers(len(names)))]
            pattern[place] = numbers[name]
            for broken, count in self.plants[name].found.items():
                expected[broken] = expected.get(broken, 0) + count
        lengths = np.diff(begins)[pattern]
        row = np.arange(int(lengths.sum())) + np.repeat(begins[pattern] - (np.cumsum(lengths) - lengths), lengths)
        columns = {name: values[row] for name, values in table.items()}
        columns["history"] = np.repeat(np.arange(first_history, first_history + histories), lengths)
        for name in self.shifted:
            there = columns[name] >= 0
            columns[name] = np.where(there, columns[name] + columns["history"] % ID_SHIFTS, columns[name])
        return columns, expected

    def simulate_many(
        self, seed: int, first_history: int, histories: int, config: Mapping[str, Any]
    ) -> tuple[Columns, dict[str, int]]:
        """`seeded` as a simulator; what is seeded is reported as the faults injected.

        Of `config` the keys `bent` and `plants` matter.
        """
        chosen = {key: config[key] for key in ("bent", "plants") if key in config}
        return self.seeded(seed, first_history, histories, **chosen)


BEDS: Found[Bed] = Found(("histories.properties", "histories"), "BED")
"""By protocol."""
