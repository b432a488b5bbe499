"""This module has the NumPy operations for laying out histories in columns: places among equal values, the last earlier
value, and small numbers that are reused."""

from collections.abc import Sequence

import numpy as np


def ordinals(values: np.ndarray) -> np.ndarray:
    """Return how often the same value occurred before, for each value."""
    order = np.argsort(values, kind="stable")
    found = np.empty(len(values), np.int64)
    found[order] = ordinals_of_sorted(values[order])
    return found


def recycled(lane: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the number of each life, from 0 in its lane. Two lives that overlap have different numbers, and there are
    at most as many numbers as lives at one time.

    A life has its ``lane``, and the rows in which it ``begins`` and ``ends``. It is over after the latter, which is a
    row after all others where it has no end. The life that begins next takes a free number, and of several the one that
    has been free for longest.
    """
    count = len(lane)
    if not count:
        return np.zeros(0, np.int64)
    is_end = np.repeat([False, True], count)
    lanes, rows, lives = np.tile(lane, 2), np.concatenate((begins, ends)), np.tile(np.arange(count), 2)
    order = np.lexsort((is_end, rows, lanes))  # a life that ends in a row is over after it
    is_end, lanes, lives = is_end[order], lanes[order], lives[order]
    first = np.flatnonzero(np.concatenate(([True], lanes[1:] != lanes[:-1])))
    of_lane = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(lanes))))
    under_way = np.cumsum(np.where(is_end, -1, 1))  # the lanes do not interfere: every life has its end among the rows
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
    """Return small numbers for names, from 0 in each lane; -1 for a name below 0.

    ``names`` has a row for each event, sorted by ``lane``, and a column for each place in which a name may stand.
    ``ends`` marks the events after which their names are no longer in use and may be reused for something new.
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
"""Numbers below this stay the same, since maps over what they name are as wide as the largest."""


def renumbered(names: np.ndarray) -> np.ndarray:
    """Return names as they are, or counted from 0 where one is large; -1 for those below 0."""
    if names.max(initial=0) < FEW:
        return names
    known, numbers = np.unique(np.maximum(names, -1), return_inverse=True)
    return numbers.reshape(names.shape) - int(known[0] < 0)


def one_of(kind: np.ndarray, kinds: Sequence[int]) -> np.ndarray:
    """Return which events are of these kinds."""
    chosen = np.zeros(1 << 16, bool)
    chosen[list(kinds)] = True
    found: np.ndarray = chosen[kind.astype(np.uint16)]
    return found


DENSE = 1 << 22
"""A table of this many entries is made without counting how many of them are in use."""


def dense(*columns: np.ndarray) -> tuple[np.ndarray, int]:
    """Return one number for each row, from 0, the same for rows that are equal in all columns, and the number of
    possible values."""
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
    """Return for each query the last source with the same code that is ``at`` an earlier place than ``when``; -1 if
    there is none."""
    if not len(sources) or not len(queries):
        return np.full(len(queries), -1)
    span = int(max(at.max(), when.max())) + 2
    keys = sources * span + at
    order = np.argsort(keys, kind="stable")
    found = np.searchsorted(keys[order], queries * span + when) - 1
    last = order[found]
    return np.where((found >= 0) & (sources[last] == queries), last, -1)


def ordinals_of_sorted(values: np.ndarray) -> np.ndarray:
    """Return how often the same value occurred before, for each of values that are sorted."""
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1]))) if len(values) else values
    found: np.ndarray = np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))
    return found
