"""Violations are seeded into an example history by edits, and each property of histories must report exactly those.

Each protocol has one example history, which an implementation wrote and in which every promise holds, and a table of
edits that break something. An edit puts an event in, changes, moves or drops one, or exchanges two. It names events by
kind and by how many of that kind come before it in the example. The histories made here are copies of the example,
edited or not, with producer ids of their own, so that millions of events a second can be made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np
from fencepost.properties.history.pieces import filled_columns
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.registry import Found

Columns = dict[str, np.ndarray]
ID_SHIFTS = 997  # histories whose producer ids differ, from one to the next
Event = tuple[IntEnum, int]
Row = Mapping[str, int]


@dataclass(frozen=True)
class Written:
    """A `Written` is one history: of each event its kind and the columns that are filled."""

    vocabulary: Vocabulary
    rows: Sequence[Row]

    def columns(self, history: int = 0) -> dict[str, np.ndarray]:
        """Return the columns of the history, under a number, with an event every tenth of a millisecond."""
        columns = filled_columns(self.vocabulary, self.rows)
        columns["history"][:] = history
        columns["time_us"] = np.arange(len(self.rows)) * 100
        return columns


@dataclass(frozen=True)
class Edit:
    """An `Edit` puts in or changes `values`; `other` is the event that is exchanged, or the one that follows."""

    what: Literal["put", "change", "swap", "move", "drop"]
    event: Event | None
    values: Mapping[str, int]
    other: Event | None = None


@dataclass(frozen=True)
class Seeded:
    """A `Seeded` has edits, and the number of violations of each property that they make."""

    edits: tuple[Edit, ...]
    found: Mapping[str, int]


END = None
"""`END` is the place after all events."""


def put(before: Event | None, kind: IntEnum, **values: int) -> Edit:
    return Edit("put", None, {"kind": kind, **values}, before)


def change(kind: IntEnum, nth: int, **values: int) -> Edit:
    return Edit("change", (kind, nth), values)


def swap(one: Event, other: Event) -> Edit:
    return Edit("swap", one, {}, other)


def move(event: Event, before: Event | None) -> Edit:
    return Edit("move", event, {}, before)


def drop(kind: IntEnum, nth: int) -> Edit:
    return Edit("drop", (kind, nth), {})


def edited(history: Written, violation: Seeded) -> Written:
    """Return `history` after the edits of `violation`."""
    of_kind: dict[int, list[dict[str, int]]] = {}
    rows = [dict(row) for row in history.rows]
    for row in rows:
        of_kind.setdefault(row["kind"], []).append(row)

    def at(event: Event | None) -> int:
        if event is END:
            return len(rows)
        meant = of_kind[event[0]][event[1]]
        return next(place for place, row in enumerate(rows) if row is meant)

    for edit in violation.edits:
        if edit.what == "put":
            rows.insert(at(edit.other), dict(edit.values))
        elif edit.what == "change":
            rows[at(edit.event)].update(edit.values)
        elif edit.what == "swap":
            one, other = at(edit.event), at(edit.other)
            rows[one], rows[other] = rows[other], rows[one]
        else:
            moved = rows.pop(at(edit.event))
            if edit.what == "move":
                rows.insert(at(edit.other), moved)
    return Written(history.vocabulary, rows)


@cache
def written(vocabulary: Vocabulary, name: str) -> Written:
    """Return the history whose rows the function `name` (module:function) returns as integers, in the order of the
    vocabulary's columns."""
    module, _, function = name.partition(":")
    columns = {column.name: column.absent for column in vocabulary.columns}
    rows = []
    for _, _, kind, *values in getattr(import_module(module), function)():
        given = {n: value for (n, absent), value in zip(columns.items(), values, strict=True) if value != absent}
        rows.append({"kind": kind, **given})
    return Written(vocabulary, rows)


@dataclass(frozen=True, eq=False)
class SeededHistory:
    """A `SeededHistory` is an example history with the violations that can be seeded into it, by name. ``example`` is
    the module:function that writes it, ``config`` is what its checks need, and ``shifted`` names the columns that
    differ from history to history."""

    vocabulary: Vocabulary
    example: str
    violations: Mapping[str, Seeded]
    config: Mapping[str, Any] = field(default_factory=dict)
    shifted: tuple[str, ...] = ("producer_id",)

    @property
    def history(self) -> Written:
        return written(self.vocabulary, self.example)

    def edited(self, name: str) -> Columns:
        """Return the columns of the history with a violation, or as it is for the empty name."""
        return (edited(self.history, self.violations[name]) if name else self.history).columns()

    @cached_property
    def _patterns(self) -> tuple[Columns, np.ndarray, Mapping[str, int]]:
        """Return the columns of the history as it is and with each violation, one after the other; the row at which
        each begins; and the number of each."""
        names = ("", *self.violations)
        each = [self.edited(name) for name in names]
        begins = np.cumsum([0, *(len(columns["kind"]) for columns in each)])
        table = {name: np.concatenate([columns[name] for columns in each]) for name in each[0]}
        return table, begins, {name: number for number, name in enumerate(names)}

    def seeded(
        self, seed: int, first_history: int, histories: int, *, share: float = 0.001, violations: Sequence[str] = ()
    ) -> tuple[Columns, dict[str, int]]:
        """Return columns of `histories` whole histories, and the violations that each property must report on them.

        A share of `share` histories has one of the `violations` (of all, if none is named), drawn with `seed`.
        """
        names = violations or tuple(self.violations)
        table, begins, numbers = self._patterns
        rng = np.random.default_rng([seed, first_history])
        pattern = np.zeros(histories, np.int64)
        expected: dict[str, int] = {}
        for place in np.flatnonzero(rng.random(histories) < share):
            name = names[int(rng.integers(len(names)))]
            pattern[place] = numbers[name]
            for broken, count in self.violations[name].found.items():
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
        """Make histories as a simulator does: `seeded` with the keys `share` and `violations` of `config`, and what is
        seeded is reported as the faults injected."""
        chosen = {key: config[key] for key in ("share", "violations") if key in config}
        return self.seeded(seed, first_history, histories, **chosen)


SEEDED_HISTORIES: Found[SeededHistory] = Found(("histories.properties", "histories"), "SEEDED_HISTORY")
"""`SEEDED_HISTORIES` has them by protocol."""
