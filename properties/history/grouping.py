"""This module numbers rows that belong together, small enough to index a table, and finds what came before in a group.

Records, transactions, pairs and offsets are numbered from some start in every history, so most groups can be found by
arithmetic, without a sort; where the numbers of a history lie far apart they are ranked instead. Both give the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from fencepost.properties.history.pieces import BITS, bits_for, narrowed, ranked, sorted_stably, starts_of

NEVER = np.iinfo(np.int64).max  # of rows: later than every row
NONE = -1  # of rows: no row
Values = tuple[np.ndarray, ...]


def numbered(place: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a number from 0 for each row, equal where place and values are equal and ordered like them; and how many
    at most. `place` is ascending: the rows of one history after those of the one before. There are at most a few times
    as many numbers as rows, so that tables over them cost no more than the rows do."""
    if not len(place):
        return np.zeros(0, np.int64), 0
    limit = most_numbers(len(place))
    histories = int(place[-1]) + 1
    lows = [int(value.min()) for value in values]
    spans = [int(value.max()) - low + 1 for value, low in zip(values, lows, strict=True)]
    if histories * prod(spans) > limit:
        if max(spans) > limit:
            return _numbered_apart(place, values, limit)
        values, spans = zip(*map(_without_gaps, values, lows, spans), strict=True)
        lows = [0] * len(lows)
        if histories * prod(spans) > limit:
            return _numbered_apart(place, values, limit)
    number, size = place.astype(np.int64), histories * prod(spans)
    for value, low, span in zip(values, lows, spans, strict=True):
        number *= span
        number += value
        number -= low
    return number, size


def most_numbers(rows: int) -> int:
    return 4 * rows + 1024


def _without_gaps(value: np.ndarray, low: int, span: int) -> tuple[np.ndarray, int]:
    there = np.zeros(span, bool)
    there[value - low] = True
    rank = np.cumsum(there)
    return rank[value - low] - 1, int(rank[-1])


def _numbered_apart(place: np.ndarray, values: Sequence[np.ndarray], limit: int) -> tuple[np.ndarray, int]:
    starts = starts_of(place)
    lengths = np.diff(starts, append=len(place))
    capacity = np.ones(len(starts))  # in floating point, which does not wrap; exact where it is used
    lows, spans = [], []
    for value in values:
        low, high = (ends.reduceat(value, starts).astype(np.int64) for ends in (np.minimum, np.maximum))
        capacity *= (high - low).view(np.uint64).astype(float) + 1  # unsigned, a difference of int64 never wraps
        lows.append(low)
        spans.append(high - low + 1)
    if capacity.sum() > limit:
        return _ranked(place, values)
    number = np.zeros(len(place), np.int64)
    for value, low, span in zip(values, lows, spans, strict=True):
        number *= np.repeat(span, lengths)
        number += value - np.repeat(low, lengths)
    sizes = capacity.astype(np.int64)
    number += np.repeat(np.cumsum(sizes) - sizes, lengths)
    return number, int(sizes.sum())


def _ranked(place: np.ndarray, values: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    return ranked(joined(place, *values))


def joined(*columns: np.ndarray) -> np.ndarray:
    """Return one non-negative int64 per row that orders rows like the tuples of their values, whatever these are."""
    key, used = np.zeros(len(columns[0]), np.int64), 0
    for column in columns:
        (small,), bits = narrowed([column], BITS // 2)
        if used + bits > BITS:
            key, count = ranked(key)
            used = bits_for(count)
        key, used = (key << bits) | small, used + bits
    return key


def first_rows(number: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """Return for each number the first of its `rows`, which are ascending; NEVER where it has none."""
    table = np.full(size, NEVER)
    table[number[::-1]] = rows[::-1]  # of repeated indices, the last assignment counts
    return table


def last_rows(number: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """Return for each number the last of its `rows`, which are ascending; NONE where it has none."""
    table = np.full(size, NONE, np.int64)
    table[number] = rows
    return table


@dataclass(frozen=True)
class Numbers:
    """`Numbers` has in `of` a number from 0 for each row of the piece; `size`, which no value has, stands for
    unknown."""

    of: np.ndarray
    size: int

    def first(self, rows: np.ndarray) -> np.ndarray:
        """Return for each number, and for unknown, the first of the ascending `rows`; NEVER where there is none."""
        table = first_rows(self.of[rows], rows, self.size + 1)
        table[self.size] = NEVER
        return table


def first_equal(place: np.ndarray, rows: np.ndarray, wanted: Values, among: np.ndarray, values: Values) -> np.ndarray:
    """Return, for each of `rows`, the first of `among` in the same history with values equal to those wanted; or NEVER.
    `place` has the history of any row; `among` is ascending."""
    both = np.concatenate([rows, among])
    order = np.argsort(place[both], kind="stable")
    stacked = [np.concatenate(pair)[order] for pair in zip(wanted, values, strict=True)]
    number = np.empty(len(both), np.int64)
    number[order], size = numbered(place[both][order], *stacked)
    first: np.ndarray = first_rows(number[len(rows) :], among, size)[number[: len(rows)]]
    return first


class Groups:
    """`Groups` are rows in order of their group's number, and within a group in the order given."""

    def __init__(self, rows: np.ndarray, number: np.ndarray, by: np.ndarray | None = None) -> None:
        """Sort the rows: `number` has the group of each; within a group rows are ordered by `by`, else stay as they
        are."""
        order, self.number = sorted_stably(number)
        if by is not None:
            value = by[order]
            if ((value[1:] < value[:-1]) & (self.number[1:] == self.number[:-1])).any():
                order = np.lexsort((by, number))
        self.order, self.rows = order, rows[order]

    @cached_property
    def same(self) -> np.ndarray:
        return np.append(False, self.number[1:] == self.number[:-1])[: len(self.rows)]

    @cached_property
    def start(self) -> np.ndarray:
        start: np.ndarray = np.maximum.accumulate(np.where(self.same, 0, np.arange(len(self.rows))))
        return start

    def before(self, chosen: np.ndarray) -> np.ndarray:
        """Return, for each row, the place of the nearest chosen one before it in its group; NONE where there
        is none."""
        latest = np.maximum.accumulate(np.where(chosen, np.arange(len(chosen)), NONE))
        earlier = np.append(NONE, latest[:-1])[: len(chosen)]
        return np.where(earlier >= self.start, earlier, NONE)

    def after(self, chosen: np.ndarray) -> np.ndarray:
        """Return, for each row, the place of the nearest chosen one after it in its group; NONE where there is none."""
        size = len(chosen)
        next_ = np.minimum.accumulate(np.where(chosen, np.arange(size), size)[::-1])[::-1]
        later = np.append(next_[1:], size)[:size]
        last = np.append(self.number[1:] != self.number[:-1], True)[:size]
        end = np.minimum.accumulate(np.where(last, np.arange(size), size)[::-1])[::-1]
        return np.where(later <= end, later, NONE)

    def greatest(self, value: np.ndarray) -> np.ndarray:
        """Return the running maximum within each group; values fit into int32."""
        lift = np.cumsum(~self.same) << 32
        greatest: np.ndarray = np.maximum.accumulate(value + lift) - lift
        return greatest

    def reached(self, greatest: np.ndarray) -> np.ndarray:
        """Return, for each row, the place at which its group reached the running maximum."""
        rises = np.append(True, greatest[1:] > greatest[:-1])[: len(greatest)]
        reached: np.ndarray = np.maximum.accumulate(np.where(rises | ~self.same, np.arange(len(greatest)), 0))
        return reached


def looked_up(wanted: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return, for each key wanted, the place of the last of the ascending `keys` that is at or below it; NONE if none
    is."""
    return np.searchsorted(keys, wanted, side="right") - 1


def contained(wanted: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return whether each key wanted, none negative, is among `keys`."""
    if not len(keys):
        return np.zeros(len(wanted), bool)
    size = int(keys.max()) + 1
    if size <= 16 * (len(wanted) + len(keys)) + 1024:
        table = np.zeros(size + 1, bool)
        table[keys] = True
        there: np.ndarray = table[np.minimum(wanted, size)]
        return there
    ordered = np.sort(keys, kind="stable")
    found = looked_up(wanted, ordered)
    there = (found >= 0) & (ordered[found] == wanted)
    return there
