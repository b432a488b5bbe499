"""What every view of one piece has: rows by kind, and small numbers for the values of columns over all its histories.

A table is indexed by such a number and holds a row: the first at which something was sent, the latest that decided it.
The last entry of a table stands for "unknown", so that what nobody did needs no case of its own. NEVER, of a row, is
later than all, NONE is no row.
"""

from enum import IntEnum
from functools import cached_property
from typing import ClassVar

import numpy as np
from fencepost.properties.history.grouping import Numbers, numbered
from fencepost.properties.history.pieces import Columns, starts_of


class EventView:
    """Lazily computed parts of one piece. `columns` are sorted by (history, step) and hold whole histories."""

    last_kind: ClassVar[int]  # the greatest code that the protocol has

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.size = len(columns["history"])
        starts = starts_of(columns["history"])
        self.place = np.repeat(np.arange(len(starts)), np.diff(starts, append=self.size))
        self._rows: dict[tuple[IntEnum, ...], np.ndarray] = {}
        self._numbers: dict[tuple[str, ...], Numbers] = {}

    def rows_of(self, *kinds: IntEnum) -> np.ndarray:
        """Rows of these kinds, ascending."""
        if kinds not in self._rows:
            order, starts = self._by_kind
            chosen = [order[starts[kind] : starts[kind + 1]] for kind in kinds]
            self._rows[kinds] = chosen[0] if len(chosen) == 1 else np.sort(np.concatenate(chosen))
        return self._rows[kinds]

    @cached_property
    def _by_kind(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows by kind, and for each code the place at which its rows start."""
        kind = self.kinds()
        order = np.argsort(kind, kind="stable")
        codes = np.arange(self.last_kind + 2, dtype=np.int16)
        return order, np.searchsorted(kind[order], codes)

    def kinds(self) -> np.ndarray:
        """The kind of each row; 0 for one that is as if absent."""
        return self.columns["kind"]

    def at(self, column: str, rows: np.ndarray) -> np.ndarray:
        """The values of a column at `rows`, as int64."""
        values: np.ndarray = self.columns[column][rows].astype(np.int64)
        return values

    def fine(self, *kinds: IntEnum) -> np.ndarray:
        """Rows of these kinds without an error, ascending."""
        rows = self.rows_of(*kinds)
        fine: np.ndarray = rows[self.columns["error"][rows] == 0]
        return fine

    def numbers(self, rows: np.ndarray, *values: np.ndarray) -> Numbers:
        """Numbers of these rows, equal where history and values are; all other rows are unknown."""
        found, size = numbered(self.place[rows], *values)
        of = np.full(self.size, size)
        of[rows] = found
        return Numbers(of, size)

    def numbers_of(self, *columns: str) -> Numbers:
        """Numbers of all rows to which these columns apply, equal where history and columns are."""
        if columns not in self._numbers:
            applies = self.columns[columns[0]] >= 0
            for column in columns[1:]:
                applies &= self.columns[column] >= 0
            rows = np.flatnonzero(applies)
            self._numbers[columns] = self.numbers(rows, *(self.at(column, rows) for column in columns))
        return self._numbers[columns]
