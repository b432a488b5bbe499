"""Bends a told history: puts another event in the place of one, changes one, exchanges two, or drops one.

An edit names events by kind and by how many of that kind come before, in the story as it was told. What is dropped
leaves an event that means nothing to any property, so that steps stay as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from fencepost.properties.history.transaction_events import Kind
from fencepost.properties.history.transaction_story import Story

Event = tuple[Kind, int]


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


def put(place: Event, kind: Kind, **values: int) -> Edit:
    """Another event in that place."""
    return Edit("put", place, {"kind": kind, **values})


def change(kind: Kind, nth: int, **values: int) -> Edit:
    """Columns of an event changed."""
    return Edit("change", (kind, nth), values)


def swap(one: Event, other: Event) -> Edit:
    """Two events exchanged; steps and times stay."""
    return Edit("swap", one, {}, other)


def drop(kind: Kind, nth: int) -> Edit:
    """An event less."""
    return Edit("drop", (kind, nth), {})


def bent_by(story: Story, plant: Plant) -> dict[str, np.ndarray]:
    """The columns of `story` after the edits of `plant`."""
    columns = story.columns()
    for edit in plant.edits:
        row = _row(story, edit.event)
        if edit.what in ("put", "drop"):
            for column, value in _meaningless().items():
                columns[column][row] = value
        if edit.other is not None:
            other = _row(story, edit.other)
            for column, values in columns.items():
                if column not in ("history", "step", "time_us"):
                    values[[row, other]] = values[[other, row]]
        for column, number in edit.values.items():
            columns[column][row] = number
    return columns


def _row(story: Story, event: Event) -> int:
    kind, nth = event
    return [step for step, row in enumerate(story.rows) if row["kind"] == kind][nth]


def _meaningless() -> dict[str, int]:
    story = Story()
    story.spare()
    return {name: values[0] for name, values in story.columns().items() if name not in ("history", "step", "time_us")}
