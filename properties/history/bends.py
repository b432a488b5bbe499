"""Bends a told history: puts another event in the place of one, changes one, exchanges two, or drops one.

An edit names events by kind and by how many of that kind come before, in the story as it was told. What is dropped
leaves an event that means nothing to any property, so that steps stay as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
from fencepost.properties.history.told import Told

Event = tuple[IntEnum, int]


@dataclass(frozen=True)
class Edit:
    """One change: `values` put there, or changed; the `other` event exchanged."""

    what: Literal["put", "change", "swap", "drop"]
    event: Event
    values: Mapping[str, int]
    other: Event | None = None


@dataclass(frozen=True)
class Plant:
    """Edits, and the number of violations of each property that they make."""

    edits: tuple[Edit, ...]
    found: Mapping[str, int]


def put(place: Event, kind: IntEnum, **values: int) -> Edit:
    """Another event in that place."""
    return Edit("put", place, {"kind": kind, **values})


def change(kind: IntEnum, nth: int, **values: int) -> Edit:
    """Columns of an event changed."""
    return Edit("change", (kind, nth), values)


def swap(one: Event, other: Event) -> Edit:
    """Two events exchanged; steps and times stay."""
    return Edit("swap", one, {}, other)


def drop(kind: IntEnum, nth: int) -> Edit:
    """An event less."""
    return Edit("drop", (kind, nth), {})


def bent_by(story: Told, plant: Plant) -> dict[str, np.ndarray]:
    """The columns of `story` after the edits of `plant`."""
    columns = story.columns()
    for edit in plant.edits:
        row = _row(story, edit.event)
        if edit.what in ("put", "drop"):
            for absent in story.vocabulary.columns:
                columns[absent.name][row] = absent.absent
            for name, value in story.meaningless().items():
                columns[name][row] = value
        if edit.other is not None:
            other = _row(story, edit.other)
            for column, values in columns.items():
                if column not in ("history", "step", "time_us"):
                    values[[row, other]] = values[[other, row]]
        for column, number in edit.values.items():
            columns[column][row] = number
    return columns


def _row(story: Told, event: Event) -> int:
    kind, nth = event
    return [step for step, row in enumerate(story.rows) if row["kind"] == kind][nth]
