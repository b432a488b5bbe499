"""This module defines history properties, and the result of checking one on one piece of a directory.

A property is a function from a view of the piece to the rows at which it is violated: a few NumPy passes over all
histories of the piece at once. The result is small and adds up: counts are summed and the first witness is the least
(history, step), so that a report is the same in whatever order and on however many cores the pieces were checked.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, TypeVar

import numpy as np
from fencepost.properties.history.cuts import Left, cuts_of
from fencepost.properties.history.grouping import NEVER, NONE
from fencepost.properties.history.manifest import Manifest
from fencepost.properties.history.spreading import Spread

View = TypeVar("View")

HIDDEN = "the histories do not show "
"""A reason that begins so goes on with the kinds of event that are missing."""
AT_REST = "where all had come to rest before the end, record or generate them with --config quiet_end=true"


@dataclass(frozen=True, order=True)
class Violation:
    """A `Violation` has the place where it became visible, the events concerned in one line, and the step of the other
    event that explains it (-1: there is none)."""

    history: int
    step: int
    property: str
    told: str
    explained_by: int = field(default=NONE, repr=False)


@dataclass(frozen=True)
class Finding:
    """A `Finding` is a property's result on some histories: how many events it judged, how many of them violate it, and
    the first. `predicted` has further ones that the documents predict, by what excuses them; they are no violations."""

    judged: int = 0
    violations: int = 0
    first: Violation | None = None
    predicted: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Finding") -> "Finding":
        firsts = [first for first in (self.first, other.first) if first is not None]
        predicted = dict(Counter(self.predicted) + Counter(other.predicted))
        first = min(firsts) if firsts else None
        return Finding(self.judged + other.judged, self.violations + other.violations, first, predicted)


@dataclass(frozen=True)
class Rows:
    """`Rows` are the rows of a piece that violate a property, each with another row that explains it (-1 if none), of
    `judged`."""

    judged: int
    at: np.ndarray
    other: np.ndarray


def found(judged: np.ndarray, bad: np.ndarray, other: np.ndarray) -> Rows:
    """Return the judged rows that are bad, with the rows that explain them (NEVER or -1: there is none)."""
    explained = other[bad]
    return Rows(len(judged), judged[bad], np.where(explained == NEVER, NONE, explained))


@dataclass(frozen=True)
class HistoryProperty(Generic[View]):
    """A `HistoryProperty` has its rule, what must be recorded for it, and its kernel.

    `key` names the columns within whose values it can be judged on its own: events that differ there have no effect on
    one another. `describe` words a violation. `spread` describes how a history too long for one worker is distributed,
    where the key and the kinds that are needed are not enough (see `spreading`).

    `needs` are the kinds of event of which all must be recorded, `needs_in` further ones by the mode that the config of
    the manifest names (in a mode it does not name, all of them). `needs_order` is whether steps must be the real order
    across nodes. `needs_quiet_end` is whether the config must have `quiet_end`, that is, a history ends when nothing is
    left to happen. `modes` are the only modes that promise it, if not every one does. `left` is why it can be judged on
    what is left of a log of which something is gone; without it, the property is unknown there.
    """

    name: str
    rule: str
    meaning: str
    key: tuple[str, ...]
    kernel: Callable[[View], Rows]
    describe: Callable[[View, int, int], str]
    needs: frozenset[IntEnum]
    needs_in: Mapping[str, frozenset[IntEnum]] = field(default_factory=dict)
    needs_order: bool = False
    needs_quiet_end: bool = False
    modes: tuple[str, ...] = ()
    spread: Spread | None = None
    left: Left | None = None

    def on(self, view: View, columns: Mapping[str, np.ndarray]) -> Finding:
        return self.finding(self.kernel(view), view, columns)

    def finding(self, rows: Rows, view: View, columns: Mapping[str, np.ndarray]) -> Finding:
        if not len(rows.at):
            return Finding(rows.judged)
        least = int(np.argmin(rows.at))  # rows are sorted by (history, step), so the least row is the first witness
        at, other = int(rows.at[least]), int(rows.other[least])
        explained_by = NONE if other == NONE else int(columns["step"][other])
        history, step = int(columns["history"][at]), int(columns["step"][at])
        first = Violation(history, step, self.name, self.describe(view, at, other), explained_by)
        return Finding(rows.judged, len(rows.at), first)

    def not_promised(self, mode: str) -> str | None:
        """Return why the property is not asked of histories of this mode; None if it is."""
        return f"mode {mode} does not promise it" if self.modes and mode not in self.modes else None

    def needed(self, mode: str) -> frozenset[IntEnum]:
        return self.needs | self.needs_in.get(mode, frozenset().union(*self.needs_in.values()))

    def gone(self, manifest: Manifest, mode: str) -> str:
        """Return what is gone of the logs with events that the property judges; empty if nothing is."""
        kinds = {kind.name for kind in self.needed(mode) | (self.spread.kinds if self.spread is not None else set())}
        return "; ".join(cut.why for cut in cuts_of(manifest.config) if kinds & {*cut.kinds})

    def undecidable(self, manifest: Manifest, mode: str) -> str | None:
        """Return why histories like these, of this mode, cannot answer the property although it is promised; None if
        they can.

        A recorder has three entries of its own in the config: `undecidable`, reasons by property, for what its input
        hides although every event is there; `ordered_among`, kinds that stand in their real order among themselves; and
        `cuts`, the logs of which something is gone (see `cuts.py`).
        """
        reason: str | None = manifest.config.get("undecidable", {}).get(self.name)
        needed, gone = self.needed(mode), self.gone(manifest, mode)
        lost = {kind for cut in cuts_of(manifest.config) for kind in cut.kinds}
        missing = sorted({kind.name for kind in needed} - {*manifest.observable})
        if self.not_promised(mode):
            return None
        if missing and {*missing} <= lost:
            return f"nothing is left of what it needs: {gone}"
        if missing:
            return HIDDEN + ", ".join(missing)
        if reason is not None:
            return reason
        if gone and self.left is None:
            return f"it needs all of every log, but {gone}"
        ordered = manifest.ordered or {kind.name for kind in needed} <= {*manifest.config.get("ordered_among", ())}
        if self.needs_order and not ordered:
            return "the order of steps across nodes is not known"
        if self.needs_quiet_end and not manifest.config.get("quiet_end"):
            return f"the histories may end while something is still to happen; {AT_REST}"
        return None


def reasons(properties: Iterable[HistoryProperty[View]], manifest: Manifest, default_mode: str) -> dict[str, str]:
    """Return the properties that these histories cannot answer, each with the reason; `default_mode` if no mode is
    named."""
    mode = mode_of(manifest, default_mode)
    found = {item.name: item.undecidable(manifest, mode) for item in properties}
    return {name: reason for name, reason in found.items() if reason is not None}


def not_promised(properties: Iterable[HistoryProperty[View]], manifest: Manifest, default_mode: str) -> dict[str, str]:
    """Return the properties that are not asked of these histories, each with the reason; `default_mode` if no mode is
    named."""
    mode = mode_of(manifest, default_mode)
    found = {item.name: item.not_promised(mode) for item in properties}
    return {name: reason for name, reason in found.items() if reason is not None}


def mode_of(manifest: Manifest, default_mode: str) -> str:
    return str(manifest.config.get("mode", default_mode))


def merged(findings: Iterable[Mapping[str, Finding]]) -> dict[str, Finding]:
    """Return the findings on many pieces as one, by property; the order of the pieces has no effect."""
    sums: dict[str, Finding] = {}
    for of_piece in findings:
        for name, finding in of_piece.items():
            sums[name] = sums.get(name, Finding()) + finding
    return sums
