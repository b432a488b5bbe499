"""This module has sorted sets of packed states, and the operations on them that a search uses.

A set is one ascending column of words. For states of several words it has as many columns: a key and all words but the
highest. The key mixes all words so that equal keys are rare, and the highest word can be recovered from it. Sets are
exact, because the other words decide where keys coincide.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_, xor
from typing import Literal

import numpy as np
from fencepost.proofs.engines.explore.packing import Words
from numpy.typing import NDArray

Column = NDArray[np.uint64]
# Odd, so that multiplication can be undone; from splitmix64's and Knuth's constants.
A, B = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9
UNDO_B = pow(B, -1, 2**64)
_MIX_B, _UNDO_B = np.uint64(B), np.uint64(UNDO_B)


def _mixed(low: Words) -> Column:
    """Return the contribution of the lower words to the key, each multiplied by an odd number of its own."""
    return reduce(xor, (word * np.uint64(pow(A, i, 2**64)) for i, word in enumerate(low, 1)))


def to_set_order(words: Words) -> Words:
    """Return packed words as set columns."""
    if len(words) == 1:
        return words
    *low, high = words
    return (high ^ _mixed(tuple(low))) * _MIX_B, *low


def to_words(columns: Words) -> Words:
    """Return set columns as packed words."""
    if len(columns) == 1:
        return columns
    key, *low = columns
    return *low, (key * _UNDO_B) ^ _mixed(tuple(low))


def size(columns: Words) -> int:
    return int(columns[0].size)


def part(columns: Words, start: int, stop: int) -> Words:
    return tuple(c[start:stop] for c in columns)


def pick(columns: Words, rows: NDArray[np.int64]) -> Words:
    return tuple(c.take(rows) for c in columns)


def join(sets: Sequence[Words]) -> Words:
    return sets[0] if len(sets) == 1 else tuple(np.concatenate(columns) for columns in zip(*sets, strict=True))


def sort_unique(columns: Words, parts: int = 0) -> Words:
    """Return the set of these states, in new arrays, perhaps reordering the given ones. ``parts`` is the number of
    sorted sets that they were joined from, if any."""
    if size(columns) <= 1:
        return tuple(c.copy() for c in columns)
    # A stable sort is good at merging a few sorted parts. Otherwise the vectorised sort is twice as fast.
    kind: Literal["stable"] | None = "stable" if 0 < parts <= 6 else None
    if len(columns) == 1:
        states = columns[0]
        states.sort(kind=kind)
        fresh = states[1:] != states[:-1]
    else:
        columns = _sort_rows(columns, kind)
        fresh = _differ(columns)
    rows = np.concatenate(([True], fresh)).nonzero()[0]
    return pick(columns, rows)


def _differ(columns: Sequence[Column]) -> NDArray[np.bool_]:
    return reduce(or_, (c[1:] != c[:-1] for c in columns))


def _sort_rows(columns: Words, kind: Literal["stable"] | None) -> Words:
    order = columns[0].argsort(kind=kind)
    made = pick(columns, order)
    same = made[0][1:] == made[0][:-1]
    # The order of two states with one key must not depend on the sort.
    return pick(columns, order_of(columns)) if np.any(same & _differ(made[1:])) else made


def order_of(columns: Words) -> NDArray[np.int64]:
    return np.lexsort(tuple(reversed(columns))) if len(columns) > 1 else columns[0].argsort()


def merge(a: Words, b: Words) -> Words:
    """Return the union of two disjoint sets."""
    if len(a) == 1:
        states = np.concatenate((a[0], b[0]))
        states.sort(kind="stable")
        return (states,)
    return _sort_rows(join([a, b]), "stable")


def subtract(states: Words, seen: Words) -> Words:
    """Return the states that are not in ``seen``."""
    if size(states) == 0 or size(seen) == 0:
        return states
    at = seen[0].searchsorted(states[0])
    absent = seen[0].take(at, mode="clip") != states[0]
    if len(states) > 1:
        for mine, others in zip(states[1:], seen[1:], strict=True):
            absent |= others.take(at, mode="clip") != mine
        _look_further(states, seen, at, absent)
    return pick(states, absent.nonzero()[0])


def _look_further(states: Words, seen: Words, at: NDArray[np.int64], absent: NDArray[np.bool_]) -> None:
    """Correct ``absent`` where the first of several equal keys is another state, by looking at the next ones."""
    last = size(seen) - 1
    doubtful = (absent & (seen[0].take(at, mode="clip") == states[0])).nonzero()[0]
    step = 1
    while doubtful.size:
        here = np.minimum(at[doubtful] + step, last)
        same_key = (at[doubtful] + step <= last) & (seen[0][here] == states[0][doubtful])
        found = same_key.copy()
        for mine, others in zip(states[1:], seen[1:], strict=True):
            found &= others[here] == mine[doubtful]
        absent[doubtful[found]] = False
        doubtful, step = doubtful[same_key & ~found], step + 1


def position(states: Words, one: Words) -> int | None:
    """Return the index of a single state in a set, or None if it is not in the set."""
    start = int(states[0].searchsorted(one[0][0]))
    while start < size(states) and states[0][start] == one[0][0]:
        if all(c[start] == o[0] for c, o in zip(states, one, strict=True)):
            return start
        start += 1
    return None


def pivots(states: Words, ranges: int) -> Column:
    """Return keys that cut a set into ``ranges`` ranges of about equal size."""
    rows = np.linspace(0, size(states), ranges + 1)[1:-1].astype(np.int64)
    return np.unique(states[0].take(rows))


def cuts(states: Words, keys: Column) -> list[int]:
    """Return the ends of the ranges of a set between pivots. Equal keys stay together."""
    return [0, *states[0].searchsorted(keys).tolist(), size(states)]
