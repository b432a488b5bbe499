"""This module finds what came last before, or first after: rows by group, asked of other rows of the same piece, all at
once."""

import numpy as np
from fencepost.properties.history.grouping import NEVER, NONE, Groups, looked_up


class Timeline:
    """A `Timeline` has rows by the number of their group, in order of row; `size` is that of the piece."""

    def __init__(self, rows: np.ndarray, number: np.ndarray, size: int) -> None:
        self._groups = Groups(rows, number)
        self._width = size + 1
        self._key = self._groups.number * self._width + self._groups.rows
        self.rows = self._groups.rows

    def place_before(self, number: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return for each (group, row) the place of the last that comes before; NONE if none does."""
        place = looked_up(number * self._width + row - 1, self._key)
        if not len(self._key):
            return place
        same = (place >= 0) & (self._groups.number[place] == number)
        found: np.ndarray = np.where(same, place, NONE)
        return found

    def before(self, number: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return for each (group, row) the last row that comes before; NONE if none does."""
        return taken(self.rows, self.place_before(number, row))

    def after(self, number: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return for each (group, row) the first row that comes after; NEVER if none does."""
        place = np.searchsorted(self._key, number * self._width + row, side="right")
        there = place < len(self._key)
        there[there] &= self._groups.number[place[there]] == number[there]
        found = np.full(len(place), NEVER)
        found[there] = self.rows[place[there]]
        return found

    def greatest(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return by place the greatest of a column up to and with it in its group, and the row that reached it. Values
        fit into int32."""
        greatest = self._groups.greatest(values[self.rows].astype(np.int64))
        return greatest, self.rows[self._groups.reached(greatest)]


def taken(values: np.ndarray, places: np.ndarray, missing: int = NONE) -> np.ndarray:
    """Return `values[places]`, and `missing` where a place is NONE or NEVER."""
    if not len(values):
        return np.full(len(places), missing, np.int64)
    away = places.view(np.uint64) >= len(values)  # both are greater than any place
    found: np.ndarray = values.take(places, mode="clip").astype(np.int64, copy=False)
    if away.any():
        found[away] = missing
    return found


def expanded(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for n counts, which of the n each pair (one, 0 … count - 1) belongs to, and its second part."""
    counts = np.maximum(counts, 0)
    one = np.repeat(np.arange(len(counts)), counts)
    return one, np.arange(len(one)) - np.repeat(np.cumsum(counts) - counts, counts)


class LeastOf:
    """A `LeastOf` finds the least of a run of values, for many runs at once: windows of powers of two, two of which
    cover any run."""

    def __init__(self, values: np.ndarray) -> None:
        self._levels = [values]
        while 2 ** len(self._levels) <= len(values):
            below, half = self._levels[-1], 2 ** (len(self._levels) - 1)
            self._levels.append(np.minimum(below[:-half], below[half:]))

    def of(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Return the least of values[first … last], both ends included and first at or below last."""
        level = np.frexp((last - first + 1).astype(float))[1] - 1
        least = np.zeros(len(first), np.int64)
        for height in np.unique(level).tolist():
            here, window = level == height, self._levels[height]
            least[here] = np.minimum(window[first[here]], window[last[here] - 2**height + 1])
        return least
