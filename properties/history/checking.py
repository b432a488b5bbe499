"""What a history property is, and what checking it on one piece of a directory yields.

A property is a function from a view of the piece to the rows at which it is violated: a few NumPy passes over all
histories of the piece at once. What comes back is small and adds up: counts are summed and the first witness is the
least (history, step), so that a report is the same in whatever order and on however many cores the pieces were checked.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

import numpy as np

View = TypeVar("View")


@dataclass(frozen=True, order=True)
class Violation:
    """One violation: where it became visible, and the events concerned told in one line."""

    history: int
    step: int
    property: str
    told: str


@dataclass(frozen=True)
class Finding:
    """A property's result on some histories: how many events it judged, how many of them violate it, and the first."""

    judged: int = 0
    violations: int = 0
    first: Violation | None = None

    def __add__(self, other: "Finding") -> "Finding":
        firsts = [first for first in (self.first, other.first) if first is not None]
        return Finding(self.judged + other.judged, self.violations + other.violations, min(firsts) if firsts else None)


@dataclass(frozen=True)
class Rows:
    """Rows of a piece that violate a property, each with another row that explains it (-1 if none), of `judged`."""

    judged: int
    at: np.ndarray
    other: np.ndarray


@dataclass(frozen=True)
class HistoryProperty(Generic[View]):
    """A property of histories: its rule, what it needs to be seen, and its kernel.

    `key` names the columns within whose values it can be judged on its own: events that differ there never matter to
    one another, so a history too long for one worker could be spread by them. `needs` are the kinds of event of which
    all must be recorded; `needs_grants` adds the kinds by which blocks come into being, which depend on the mode
    (KRaft, ZooKeeper or bridge); `needs_order` that steps are the real order across nodes. `tell` words a violation.
    """

    name: str
    rule: str
    meaning: str
    key: tuple[str, ...]
    kernel: Callable[[View], Rows]
    tell: Callable[[View, int, int], str]
    needs: frozenset[IntEnum]
    needs_grants: bool = False
    needs_order: bool = False

    def on(self, view: View, columns: Mapping[str, np.ndarray]) -> Finding:
        """The finding on one piece; `columns` are those the view was made of."""
        rows = self.kernel(view)
        if not len(rows.at):
            return Finding(rows.judged)
        least = int(np.argmin(rows.at))  # rows are sorted by (history, step), so the least row is the first witness
        at, other = int(rows.at[least]), int(rows.other[least])
        first = Violation(int(columns["history"][at]), int(columns["step"][at]), self.name, self.tell(view, at, other))
        return Finding(rows.judged, len(rows.at), first)


def merged(findings: Iterable[Mapping[str, Finding]]) -> dict[str, Finding]:
    """The findings on many pieces as one, by property; the order of the pieces does not matter."""
    sums: dict[str, Finding] = {}
    for of_piece in findings:
        for name, finding in of_piece.items():
            sums[name] = sums.get(name, Finding()) + finding
    return sums
