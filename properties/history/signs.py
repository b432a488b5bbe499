"""This module has signs: events of a history that are evidence of a danger, and how often it occurred.

A `Sign` counts, over whole histories at once. It is no verdict: it counts how often a danger was exercised where
histories were found to satisfy their promises. A danger without a sign is one that the events do not reveal.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

Columns = Mapping[str, np.ndarray]


class Events:
    """`Events` are the columns of whole histories, sorted by (history, step), and how rows of them belong together."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def of(self, *kinds: IntEnum) -> np.ndarray:
        return np.isin(self["kind"], [int(kind) for kind in kinds]).nonzero()[0]

    def groups(self, rows: np.ndarray, *names: str) -> np.ndarray:
        """Return for each row the number of its group: those of one history that are equal in these columns."""
        return self.together((rows,), *names)[0]

    def together(self, several: Iterable[np.ndarray], *names: str) -> list[np.ndarray]:
        """Return the numbers of groups of several sets of rows, numbered alike."""
        parts = list(several)
        rows = np.concatenate(parts)
        if not len(rows):
            return [np.zeros(0, np.int64) for _ in parts]
        keys = np.stack([self[name][rows].astype(np.int64) for name in ("history", *names)])
        _, number = np.unique(keys, axis=1, return_inverse=True)
        return np.split(number.reshape(-1), np.cumsum([len(part) for part in parts])[:-1])

    def first(self, rows: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        """Return by group its first row; a row behind all others for a group without one."""
        table = np.full(count, len(self["kind"]), np.int64)
        np.minimum.at(table, groups, rows)
        return table

    def further(self, rows: np.ndarray, within: tuple[str, ...], *names: str) -> int:
        """Count the values of ``names`` beyond the first in each group of one history and ``within``."""
        if not len(rows):
            return 0
        each, wide = self.groups(rows, *within, *names), self.groups(rows, *within)
        return len(np.unique(each)) - len(np.unique(wide))

    def after(self, rows: np.ndarray, others: np.ndarray, *names: str) -> np.ndarray:
        """Return the rows before which one of the other rows stands, equal to it in these columns."""
        mine, theirs = self.together((rows, others), *names)
        count = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
        found: np.ndarray = rows[self.first(others, theirs, count)[mine] < rows]
        return found


@dataclass(frozen=True)
class Sign:
    """A `Sign` counts one thing, which ``says`` describes in words."""

    danger: str
    says: str
    count: Callable[[Events], int]


def events(danger: str, says: str, *kinds: IntEnum) -> Sign:
    return Sign(danger, says, lambda e: len(e.of(*kinds)))


def counted(signs: Iterable[Sign], columns: Columns) -> dict[str, int]:
    """Return how often each danger occurred; signs of one danger add up."""
    found = Events(columns)
    counts: dict[str, int] = {}
    for sign in signs:
        counts[sign.danger] = counts.get(sign.danger, 0) + sign.count(found)
    return counts
