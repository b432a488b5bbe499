"""Edits of a history: puts an event in, changes, moves or drops one, or exchanges two.

An edit names events by kind and by how many of that kind come before it in the history as it was written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.history.vocabulary import Vocabulary

Event = tuple[IntEnum, int]
Row = Mapping[str, int]


@dataclass(frozen=True)
class Written:
    """One history: by event, its kind and the columns that say something."""

    vocabulary: Vocabulary
    rows: Sequence[Row]

    def columns(self, history: int = 0) -> dict[str, np.ndarray]:
        """The columns of the history, under a number; an event every tenth of a millisecond."""
        columns = absent_columns(self.vocabulary, len(self.rows))
        columns["history"][:] = history
        columns["step"] = np.arange(len(self.rows), dtype=np.int32)
        columns["time_us"] = np.arange(len(self.rows)) * 100
        for step, row in enumerate(self.rows):
            for name, value in row.items():
                columns[name][step] = value
        return columns


@dataclass(frozen=True)
class Edit:
    """One change: `values` put in or changed; the `other` event exchanged, or the one that comes next."""

    what: Literal["put", "change", "swap", "move", "drop"]
    event: Event | None
    values: Mapping[str, int]
    other: Event | None = None


@dataclass(frozen=True)
class Plant:
    """Edits, and the number of violations of each property that they make."""

    edits: tuple[Edit, ...]
    found: Mapping[str, int]


END = None
"""The place behind all events."""


def put(before: Event | None, kind: IntEnum, **values: int) -> Edit:
    """One event more, before another or at the `END`."""
    return Edit("put", None, {"kind": kind, **values}, before)


def change(kind: IntEnum, nth: int, **values: int) -> Edit:
    """Columns of an event changed."""
    return Edit("change", (kind, nth), values)


def swap(one: Event, other: Event) -> Edit:
    return Edit("swap", one, {}, other)


def move(event: Event, before: Event | None) -> Edit:
    """An event in another place."""
    return Edit("move", event, {}, before)


def drop(kind: IntEnum, nth: int) -> Edit:
    return Edit("drop", (kind, nth), {})


def bent_by(history: Written, plant: Plant) -> Written:
    """`history` after the edits of `plant`."""
    of_kind: dict[int, list[dict[str, int]]] = {}
    rows = [dict(row) for row in history.rows]
    for row in rows:
        of_kind.setdefault(row["kind"], []).append(row)

    def at(event: Event | None) -> int:
        if event is END:
            return len(rows)
        meant = of_kind[event[0]][event[1]]
        return next(place for place, row in enumerate(rows) if row is meant)

    for edit in plant.edits:
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
