"""This module reads the events of first violations from the directory: those that violate, and those that explain them.

Row groups are read bit by bit, and no further than to the last event that is needed, so that it also works for
histories that are cut, or too large for a worker."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from fencepost.properties.history import HistoryDirectory
from fencepost.properties.history.checking import Violation
from fencepost.properties.history.grouping import NONE
from fencepost.properties.history.reader import slices

ROWS = 1 << 16
"""Row groups are read this many rows at a time."""

Place = tuple[int, int]
"""A `Place` is a history and a step in it."""


@dataclass(frozen=True)
class SeenEvent:
    """A `SeenEvent` is one event. ``filled`` has the columns that apply to the event; ``time_us`` is as in the
    history."""

    kind: str
    step: int
    time_us: int
    filled: Mapping[str, int]


@dataclass(frozen=True)
class Witness:
    """A `Witness` is the event that violates, the one that explains it, if there is one, and when the history began."""

    event: SeenEvent
    explained_by: SeenEvent | None
    began_us: int


def witnesses(opened: HistoryDirectory, firsts: Iterable[Violation]) -> dict[str, Witness]:
    """Return, by property, the events of its violation. Raise HistoryError where the events cannot be read."""
    firsts = tuple(firsts)
    places = {(first.history, step): None for first in firsts for step in (0, first.step, first.explained_by)}
    found = _events(opened, {place for place in places if place[1] != NONE})
    return {
        first.property: Witness(
            found[first.history, first.step],
            found.get((first.history, first.explained_by)),
            found[first.history, 0].time_us,
        )
        for first in firsts
    }


def _events(opened: HistoryDirectory, wanted: set[Place]) -> dict[Place, SeenEvent]:
    found: dict[Place, SeenEvent] = {}
    for piece in (*opened.pieces, *opened.parts):
        last = piece.rows + piece.first_step
        mine = {
            (history, step)
            for history, step in wanted - found.keys()
            if piece.first_history <= history <= piece.last_history and piece.first_step <= step < last
        }
        parts = slices(piece, opened.vocabulary, opened.vocabulary.schema.names, ROWS) if mine else ()
        for columns in parts:
            found |= _among(opened, columns, mine)
            if mine <= found.keys():
                break
    return found


def _among(opened: HistoryDirectory, columns: Mapping[str, np.ndarray], wanted: set[Place]) -> dict[Place, SeenEvent]:
    histories, steps = ({place[part] for place in wanted} for part in range(2))
    near = np.isin(columns["history"], [*histories]) & np.isin(columns["step"], [*steps])
    rows = {(int(columns["history"][row]), int(columns["step"][row])): row for row in np.flatnonzero(near).tolist()}
    return {place: _event(opened, columns, rows[place]) for place in wanted & rows.keys()}


def _event(opened: HistoryDirectory, columns: Mapping[str, np.ndarray], row: int) -> SeenEvent:
    vocabulary, code = opened.vocabulary, int(columns["kind"][row])
    kind = next((known.name for known in vocabulary.kinds if known == code), f"kind {code}, which is unknown")
    filled = vocabulary.filled(kind, lambda name: columns[name][row])
    return SeenEvent(kind, int(columns["step"][row]), int(columns["time_us"][row]), filled)
