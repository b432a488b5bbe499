"""What laying out histories in columns needs of NumPy: places among equals, the last of what came before, and small
numbers that are used again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


def ordinals(values: np.ndarray) -> np.ndarray:
    """How often the same value came before, for each."""
    order = np.argsort(values, kind="stable")
    found = np.empty(len(values), np.int64)
    found[order] = ordinals_of_sorted(values[order])
    return found


def recycled(lane: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The number of each life, from 0 in its lane: two that last at the same time have different ones, and there are
    as many as last at one time at most.

    A life has its ``lane``, and the rows in which it ``begins`` and ``ends``; it is over after the latter, which is a
    row after all others where it has no end.  A free number is taken by the life that begins next, and of several the
    one that has been free for longest.
    """
    count = len(lane)
    if not count:
        return np.zeros(0, np.int64)
    is_end = np.repeat([False, True], count)
    lanes, rows, lives = np.tile(lane, 2), np.concatenate((begins, ends)), np.tile(np.arange(count), 2)
    order = np.lexsort((is_end, rows, lanes))  # what ends in a row is over after it
    is_end, lanes, lives = is_end[order], lanes[order], lives[order]
    first = np.flatnonzero(np.concatenate(([True], lanes[1:] != lanes[:-1])))
    of_lane = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(lanes))))
    under_way = np.cumsum(np.where(is_end, -1, 1))  # no lane leaves anything: every life has its end among the rows
    spread = np.int64(count + 1)
    most = np.maximum.accumulate(under_way + of_lane * spread) - of_lane * spread
    before = np.concatenate(([0], most[:-1]))
    before[first] = 0
    fresh = ~is_end & (most > before)
    number = np.full(count, -1)
    number[lives[fresh]] = most[fresh] - 1
    ended = np.cumsum(is_end)
    ended -= ended[first][of_lane] - is_end[first][of_lane]
    again = np.cumsum(~is_end & ~fresh)
    again -= again[first][of_lane] - (~is_end & ~fresh)[first][of_lane]
    ends_at = np.flatnonzero(is_end)
    ends_of_lane = np.searchsorted(ends_at, first)
    takers = np.flatnonzero(~is_end & ~fresh)
    from_life = np.full(count, -1)
    from_life[lives[takers]] = lives[ends_at[ends_of_lane[of_lane[takers]] + again[takers] - 1]]
    while (left := np.flatnonzero(number < 0)).size:
        number[left] = number[from_life[left]]
        from_life[left] = from_life[from_life[left]]
    return number


def numbered(names: np.ndarray, lane: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Small numbers for names, from 0 in each lane; -1 for a name below 0.

    ``names``: a row for each event, sorted by ``lane``, and a column for each place in which one may stand; ``ends``:
    the events after which their names stand for nothing any more, and the next of them for something new.
    """
    row, place = np.nonzero(names >= 0)
    found = np.full(names.shape, -1, np.int64)
    if not len(row):
        return found
    name = names[row, place]
    order = np.lexsort((row, name, lane[row]))
    row, place, name = row[order], place[order], name[order]
    changes = (lane[row][1:] != lane[row][:-1]) | (name[1:] != name[:-1])
    changes |= ends[row][:-1] & (row[1:] != row[:-1])
    starts = np.concatenate(([True], changes))
    life = np.cumsum(starts) - 1
    begins = row[starts]
    lasts = row[np.append(np.flatnonzero(starts)[1:] - 1, len(row) - 1)]
    over = np.where(ends[lasts], lasts, len(lane))
    found[row, place] = recycled(lane[begins], begins, over)[life]
    return found


FEW = 1024
"""Numbers below that stay what they are: maps over what they name are as wide as the largest."""


def renumbered(names: np.ndarray) -> np.ndarray:
    """Names as they are, or counted from 0 on where one is large; -1 for those below 0."""
    if names.max(initial=0) < FEW:
        return names
    known, numbers = np.unique(np.maximum(names, -1), return_inverse=True)
    return numbers.reshape(names.shape) - int(known[0] < 0)


def one_of(kind: np.ndarray, kinds: Sequence[int]) -> np.ndarray:
    """Which events are of these kinds."""
    chosen = np.zeros(1 << 16, bool)
    chosen[list(kinds)] = True
    found: np.ndarray = chosen[kind.astype(np.uint16)]
    return found


DENSE = 1 << 22
"""A table of so many entries is made without asking how many of them are in use."""


def dense(*columns: np.ndarray) -> tuple[np.ndarray, int]:
    """One number for each row, the same for rows that are equal in all columns, from 0; and how many there may be."""
    rows = len(columns[0])
    code, count = np.zeros(rows, np.int64), 1
    if not rows:
        return code, count
    most = max(DENSE, 8 * rows)
    for given in columns:
        column, span = given - int(given.min()), int(given.max()) - int(given.min()) + 1
        if count * span > most:
            column = np.unique(given, return_inverse=True)[1].reshape(-1)
            span = int(column.max()) + 1
        code = code * span + column
        count *= span
        if count > most:
            code = np.unique(code, return_inverse=True)[1].reshape(-1)
            count = int(code.max()) + 1
    return code, count


def before(sources: np.ndarray, at: np.ndarray, queries: np.ndarray, when: np.ndarray) -> np.ndarray:
    """For each query the last source with the same code that is ``at`` an earlier place than ``when``; -1 if there is
    none."""
    if not len(sources) or not len(queries):
        return np.full(len(queries), -1)
    span = int(max(at.max(), when.max())) + 2
    keys = sources * span + at
    order = np.argsort(keys, kind="stable")
    found = np.searchsorted(keys[order], queries * span + when) - 1
    last = order[found]
    return np.where((found >= 0) & (sources[last] == queries), last, -1)


class Lanes:
    """Events that are sorted by ``lane``: what came last, and what comes next, in the lane of each."""

    def __init__(self, lane: np.ndarray) -> None:
        self.lane, self.count = lane, len(lane)
        self.places = np.arange(self.count)
        changes = np.flatnonzero(lane[1:] != lane[:-1]) + 1
        self.starts = np.concatenate(([0], changes)) if self.count else np.zeros(0, np.int64)
        lengths = np.diff(np.append(self.starts, self.count))
        self.start, self.end = np.repeat(self.starts, lengths), np.repeat(self.starts + lengths, lengths)

    def last(self, chosen: np.ndarray) -> np.ndarray:
        """The last event before each that is chosen; -1 if there is none."""
        found = np.full(self.count, -1)
        found[1:] = np.maximum.accumulate(np.where(chosen, self.places, -1))[:-1]
        return np.where(found >= self.start, found, -1)

    def next(self, chosen: np.ndarray) -> np.ndarray:
        """The next event after each that is chosen; -1 if there is none."""
        found = np.full(self.count, self.count)
        found[:-1] = np.minimum.accumulate(np.where(chosen, self.places, self.count)[::-1])[::-1][1:]
        return np.where(found < self.end, found, -1)


def sums_before(group: np.ndarray, rows: np.ndarray, change: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """For each row that is ``asked`` of, what the rows of its group before it add up to by their ``change``; ``group``:
    of the rows, and then of those that are asked of."""
    groups, sums = group[: len(rows)], np.zeros(len(rows) + 1, np.int64)
    order = np.argsort(groups, kind="stable")
    total = np.cumsum(change[order])
    sums[order] = total - (total - change[order])[Lanes(groups[order]).start]
    summed: np.ndarray = sums[before(groups, rows, group[len(rows) :], asked)]
    return summed


def first_seen(lane: np.ndarray, value: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers for values, from 0 in each lane in the order in which they are first seen, and where each is first seen.

    ``at``: where a value is seen, larger in a later lane; a negative ``at`` asks for a value without seeing it, and the
    number is -1 if it never is.
    """
    never = np.iinfo(np.int64).max
    code, count = dense(lane, value)
    seen = at >= 0
    first = np.full(count, never)
    np.minimum.at(first, code[seen], at[seen])
    lanes = np.zeros(count, np.int64)
    lanes[code] = lane
    there = np.flatnonzero(first < never)
    there = there[np.argsort(first[there])]
    number = np.full(count, -1)
    number[there] = ordinals_of_sorted(lanes[there])
    return number[code], first[code]


def ordinals_of_sorted(values: np.ndarray) -> np.ndarray:
    """How often the same value came before, for each of values in which equal ones stand together."""
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1]))) if len(values) else values
    found: np.ndarray = np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))
    return found


PLACES = 4
"""In which an event may name values, at most."""


@dataclass(frozen=True)
class Said:
    """Values that events name in one place, -1 for none; ``at``: the events.  An event may name values in several
    places: those of 0 come first, then those of 1, and so on."""

    at: np.ndarray
    place: int
    values: np.ndarray


class Names:
    """Numbers for the values that are ``said`` in the events of lanes, from 0 in each lane in the order in which they
    are.  ``asked``: values of which it is asked whether they were named by then, place 0 of that event included: where
    they were, ``known`` is their number, else -1."""

    def __init__(self, lane: np.ndarray, said: Sequence[Said], asked: Said | None = None) -> None:
        every = list(said) if asked is None else [*said, asked]
        at = [one.at * PLACES + one.place for one in said]
        at += [] if asked is None else [np.full(len(asked.at), -1)]
        values = np.concatenate([one.values for one in every])
        named, lanes = np.concatenate(at), lane[np.concatenate([one.at for one in every])]
        numbers, first = np.full(len(values), -1), np.full(len(values), -1)
        there = np.flatnonzero(values >= 0)
        numbers[there], first[there] = first_seen(lanes[there], values[there], named[there])
        self._numbers = np.split(numbers, np.cumsum([len(one.values) for one in every])[:-1])
        self._values, self._lanes, self._all, self._named = values, lanes, numbers, named
        self.known = np.full(0, -1)
        if asked is not None:
            by_then = first[len(values) - len(asked.values) :] <= asked.at * PLACES
            self.known = np.where(by_then & (asked.values >= 0), self._numbers[-1], -1)

    def __getitem__(self, place: int) -> np.ndarray:
        """The numbers of what was said in the order in which it was given; -1 where nothing was."""
        return self._numbers[place]

    def first_beyond(self, most: int) -> np.ndarray:
        """Events at which there is one more than ``most`` in a lane."""
        return self._named[(self._all >= most) & (self._named >= 0)] // PLACES

    def of_lane(self, lane: int, upto: int) -> dict[int, int]:
        """Name by number, of those in a lane that are named before event ``upto``."""
        chosen = (self._lanes == lane) & (self._all >= 0) & (self._named >= 0) & (self._named < upto * PLACES)
        return dict(sorted(zip(self._all[chosen].tolist(), self._values[chosen].tolist(), strict=True)))


class Stops:
    """Where lanes are followed no further: the first event of each that is left out, and why; an empty reason is that
    the history ends there."""

    def __init__(self, lane: np.ndarray) -> None:
        self._lane = lane
        self._first: dict[int, tuple[int, int, str]] = {}  # event, place of the reason in it, reason

    def add(self, events: Iterable[int], order: int, reason: str) -> None:
        """``order``: of several reasons at one event the least counts."""
        for at in map(int, events):
            lane, stop = int(self._lane[at]), (at, order, reason)
            self._first[lane] = min(self._first.get(lane, stop), stop)

    def by_event(self) -> np.ndarray:
        """The event at which the lane of each stops."""
        table = np.full(int(self._lane.max(initial=-1)) + 1, len(self._lane))
        table[list(self._first)] = [at for at, _, _ in self._first.values()]
        found: np.ndarray = table[self._lane]
        return found

    def reasons(self) -> dict[int, str]:
        """By lane, of those that are not decided to their end."""
        return {lane: reason for lane, (_, _, reason) in sorted(self._first.items()) if reason}
