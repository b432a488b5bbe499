"""What the properties of task counts look at: sets and counts of each connector, claims, rounds and starts, in order.

A set is known to everybody by the offset of its commit record. What came last before a row is asked of a `Timeline`.
"""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
from fencepost.properties.history import related
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import NONE, Groups, Values, joined, looked_up
from fencepost.properties.history.packing import ranked
from fencepost.properties.history.pieces import Columns
from fencepost.properties.history.timelines import Timeline, taken
from fencepost.properties.task_counts.history.events import SUPPORT, Kind

OK, CONFLICT = 200, 409
NEEDED = {"A": SUPPORT["enabled"], "M": SUPPORT["disabled"], "B": SUPPORT["disabled"]}
"""From which support on a leader writes in transactions; as shipped from `preparing` on (618.24)."""

SETS = frozenset({Kind.set_written, Kind.connector_written, Kind.connector_tombstoned})
declared = partial(related.declared, implied={Kind.set_written: SETS})
"""A set that is written when its connector was deleted is as if absent, so that deletions must be recorded with it."""


class TaskCountView(EventView):
    """Lazily computed parts of one piece. `columns` are sorted by (history, step) and hold whole histories.

    `config` is that of the manifest: mode (shipped if it does not say).
    """

    reads_always = ("connector",)

    def __init__(self, columns: Columns, config: Mapping[str, Any]) -> None:
        super().__init__(columns, config)
        self.mode = str(config.get("mode", "shipped"))

    @cached_property
    def kinds(self) -> np.ndarray:
        """Without the sets that were written when their connector was deleted: nobody takes note of them."""
        kind, numbers = self.columns["kind"], self.numbers_of("connector")
        there = np.flatnonzero((kind == Kind.connector_written) | (kind == Kind.connector_tombstoned))
        sets = np.flatnonzero(kind == Kind.set_written)
        there, sets = (rows[numbers.of[rows] < numbers.size] for rows in (there, sets))
        last = Timeline(there, numbers.of[there], self.size).before(numbers.of[sets], sets)
        kinds = kind.copy()
        kinds[sets[taken(kind, last) == Kind.connector_tombstoned]] = 0
        return kinds

    def last(self, rows: np.ndarray, columns: tuple[str, ...], *kinds: Kind) -> np.ndarray:
        """For rows, the last of these kinds before with the same values of these columns; NONE if there is none."""
        return self.timeline(columns, *kinds).before(self.numbers_of(*columns).of[rows], rows)

    def last_like(self, rows: np.ndarray, wanted: Values, among: np.ndarray, values: Values) -> np.ndarray:
        """For rows, the last of `among` before, in the same history, with values equal to those wanted; or NONE."""
        both = np.concatenate([rows, among])
        stacked = [np.concatenate(pair) for pair in zip(wanted, values, strict=True)]
        number, _ = ranked(joined(self.place[both], *stacked))
        return Timeline(among, number[len(rows) :], self.size).before(number[: len(rows)], rows)

    def last_below(self, rows: np.ndarray, limit: np.ndarray, kind: Kind) -> np.ndarray:
        """For rows that name a connector, the row of this kind with the greatest offset below `limit`; or NONE."""
        numbers, among = self.numbers_of("connector"), self.applying(("connector",), kind)
        offset = np.maximum(self.at("offset", among), 0)
        wide = 2 + max(int(offset.max(initial=0)), int(limit.max(initial=0)))
        key = numbers.of[among] * wide + offset
        order = np.argsort(key, kind="stable")
        place = looked_up(numbers.of[rows] * wide + limit - 1, key[order])
        found = taken(among[order], place)
        same = (found != NONE) & (numbers.of[found] == numbers.of[rows])
        return np.where(same, found, NONE)

    def value(self, column: str, rows: np.ndarray, missing: int = NONE) -> np.ndarray:
        """The values of a column, and `missing` for no row."""
        return taken(self.columns[column], rows, missing)

    @cached_property
    def topic(self) -> Groups:
        """Sets, counts and deletions of each connector, in order of offset."""
        rows = self.applying(("connector",), Kind.set_written, Kind.count_written, Kind.connector_tombstoned)
        return Groups(rows, self.numbers_of("connector").of[rows], by=self.at("offset", rows))

    @cached_property
    def newest_set(self) -> np.ndarray:
        """By row, for `Kind`s that name a connector: the row of the latest set before; NONE if there is none."""
        rows = np.flatnonzero(self.numbers_of("connector").of < self.numbers_of("connector").size)
        newest = np.full(self.size, NONE)
        newest[rows] = self.last(rows, ("connector",), Kind.set_written)
        return newest

    @cached_property
    def counts(self) -> Timeline:
        """Counts of each connector, in order of row; a tombstone counts nothing."""
        return self.timeline(("connector",), Kind.count_written, Kind.count_tombstoned)

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """For count rows: the count, 0 for a tombstone; NONE for no row."""
        tombstone = self.value("kind", rows) == Kind.count_tombstoned
        return np.where(tombstone, 0, self.value("count", rows))

    def latest_count(self, rows: np.ndarray) -> np.ndarray:
        """For rows that name a connector: the row of the latest count before; NONE if there is none or a tombstone."""
        found = self.last(rows, ("connector",), Kind.count_written, Kind.count_tombstoned)
        return np.where(self.value("kind", found) == Kind.count_tombstoned, NONE, found)

    @cached_property
    def writes(self) -> np.ndarray:
        """Rows at which a record that only the leader may write was committed, but for those of workers that do not
        write in transactions yet."""
        kind = self.columns["kind"]
        rows = np.flatnonzero((kind >= Kind.connector_written) & (kind <= Kind.count_tombstoned))
        started = self.last(rows, ("node",), Kind.worker_started)
        support = self.value("support", started, missing=SUPPORT["enabled"])
        writes: np.ndarray = rows[(support < 0) | (support >= NEEDED.get(self.mode, SUPPORT["preparing"]))]
        return writes
