"""This module has what every view of one piece shares: rows by kind, and small numbers for the values of columns over
all its histories.

A table is indexed by such a number and has a row: the first at which something was sent, the latest that decided it.
The last entry of a table stands for "unknown", so that what did not happen needs no case of its own. As a row, NEVER is
later than all, and NONE is no row.
"""

from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from fencepost.properties.history.grouping import Groups, Numbers, most_numbers, numbered
from fencepost.properties.history.pieces import Columns, starts_of
from fencepost.properties.history.timelines import Timeline

NO_CONFIG: Mapping[str, Any] = MappingProxyType({})


class EventView:
    """An `EventView` has lazily computed parts of one piece. `columns` are sorted by (history, step) and have whole
    histories; `config` is that of their manifest."""

    def __init__(self, columns: Columns, config: Mapping[str, Any] = NO_CONFIG) -> None:
        self.columns, self.config = columns, config
        self.size = len(columns["history"])
        starts = starts_of(columns["history"])
        self.histories = len(starts)
        self.place = np.repeat(np.arange(self.histories), np.diff(starts, append=self.size))
        self._rows: dict[tuple[IntEnum, ...], np.ndarray] = {}
        self._numbers: dict[tuple[str, ...], Numbers] = {}
        self._groups: dict[tuple[Any, ...], Groups] = {}
        self._timelines: dict[tuple[tuple[str, ...], tuple[IntEnum, ...]], Timeline] = {}
        self.related: dict[Any, Any] = {}  # what is known of related events, and to several kernels

    @cached_property
    def scratch(self) -> np.ndarray:
        """Return an array with a value for each row, and one for no row, to be overwritten: fresh memory for each use
        would cost more."""
        return np.empty(self.size + 1, np.int64)

    def setting(self, name: str) -> Any:
        return getattr(self, name) if hasattr(self, name) else self.config[name]

    def rows_of(self, *kinds: IntEnum) -> np.ndarray:
        """Return the rows of these kinds, ascending."""
        if kinds not in self._rows:
            none = np.zeros(0, np.intp)
            chosen = [self._by_kind.get(kind, none) for kind in kinds]
            self._rows[kinds] = chosen[0] if len(chosen) == 1 else np.sort(np.concatenate(chosen), kind="stable")
        return self._rows[kinds]

    @cached_property
    def _by_kind(self) -> dict[int, np.ndarray]:
        order = np.argsort(self.kinds, kind="stable")
        ordered = self.kinds[order]
        starts = starts_of(ordered)
        return dict(zip(ordered[starts].tolist(), np.split(order, starts[1:]), strict=True)) if self.size else {}

    @cached_property
    def kinds(self) -> np.ndarray:
        """Return the kind of each row; 0 for a row that counts as absent."""
        return self.columns["kind"]

    def at(self, column: str, rows: np.ndarray) -> np.ndarray:
        values: np.ndarray = self.columns[column][rows].astype(np.int64, copy=False)
        return values

    def fine(self, *kinds: IntEnum) -> np.ndarray:
        """Return the rows of these kinds without an error, ascending."""
        rows = self.rows_of(*kinds)
        fine: np.ndarray = rows[self.columns["error"][rows] == 0]
        return fine

    def numbers(self, rows: np.ndarray, *values: np.ndarray) -> Numbers:
        """Number these rows, equal where history and values are; all other rows are unknown."""
        found, size = numbered(self.place[rows], *values)
        of = np.full(self.size, size)
        of[rows] = found
        return Numbers(of, size)

    def numbers_of(self, *columns: str) -> Numbers:
        """Number all rows to which these columns apply, equal where history and columns are."""
        if columns not in self._numbers:
            applies = np.ones(self.size, bool)
            for column in columns:
                applies &= self.columns[column] >= 0
            self._numbers[columns] = self._in_one_range(columns, applies) or self._where(columns, applies)
        return self._numbers[columns]

    def _in_one_range(self, columns: tuple[str, ...], applies: np.ndarray) -> Numbers | None:
        """Number by a few passes over all rows, if the columns apply to many, in the same range in every history."""
        many = int(np.count_nonzero(applies))
        spans = [int(self.columns[column].max(initial=0)) + 1 for column in columns]
        size = self.histories * prod(spans)
        if 4 * many < self.size or size > most_numbers(many):
            return None
        of = self.place.astype(np.int64)
        for column, span in zip(columns, spans, strict=True):
            of *= span
            of += self.columns[column]
        np.putmask(of, ~applies, size)
        return Numbers(of, size)

    def _where(self, columns: tuple[str, ...], applies: np.ndarray) -> Numbers:
        rows = np.flatnonzero(applies)
        return self.numbers(rows, *(self.at(column, rows) for column in columns))

    def applying(self, columns: tuple[str, ...], *kinds: IntEnum) -> np.ndarray:
        """Return the rows of these kinds to which these columns apply, ascending."""
        rows, numbers = self.rows_of(*kinds), self.numbers_of(*columns)
        applying: np.ndarray = rows[numbers.of[rows] < numbers.size]
        return applying

    def timeline(self, columns: tuple[str, ...], *kinds: IntEnum) -> Timeline:
        """Return the timeline of rows of these kinds to which these columns apply, by their values."""
        key = (columns, kinds)
        if key not in self._timelines:
            self._timelines[key] = self.timeline_of(columns, self.rows_of(*kinds))
        return self._timelines[key]

    def timeline_of(self, columns: tuple[str, ...], rows: np.ndarray) -> Timeline:
        """Return the timeline of rows that the caller chose, ascending."""
        numbers = self.numbers_of(*columns)
        rows = rows[numbers.of[rows] < numbers.size]
        return Timeline(rows, numbers.of[rows], self.size)

    def numbered_rows(
        self, kinds: tuple[IntEnum, ...], columns: tuple[str, ...], blank: bool
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the rows of these kinds, ascending; numbers for them, equal where history and columns are; and how
        many at most. Without `blank` only those rows to which all columns apply."""
        if columns and not blank:
            rows, numbers = self.applying(columns, *kinds), self.numbers_of(*columns)
            return rows, numbers.of[rows], numbers.size
        rows = self.rows_of(*kinds)
        return rows, *numbered(self.place[rows], *(self.at(column, rows) for column in columns))

    def groups_of(self, kinds: tuple[IntEnum, ...], columns: tuple[str, ...], blank: bool, along: str) -> Groups:
        """Return the numbered rows of these kinds as groups, in the order of the column `along`, if it names one."""
        key = (kinds, columns, blank, along)
        if key not in self._groups:
            rows, number, _ = self.numbered_rows(kinds, columns, blank)
            self._groups[key] = Groups(rows, number, by=self.at(along, rows) if along else None)
        return self._groups[key]
