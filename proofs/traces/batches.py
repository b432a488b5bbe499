"""This module arranges the events of many histories in columns, and in groups that can be checked against a model at
once."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from fencepost.model.language.tree.types import AtomsType, BoolType, scalar
from fencepost.proofs.traces.observed import Phase
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.trace_spec import STRANGE, Laid

# A batch: the events of many lanes, made ready to be held against a model.
#
# What names no member of a sort gets the number after the last: there every map reads as zero.

MOST_KINDS = 1 << 15  # codes are int16


@dataclass(frozen=True)
class Batch:
    """A `Batch` has the events of many lanes, sorted by (lane, step).

    - ``history`` numbers the lanes 0, 1, …; ``kind`` is the code, -1 for a kind that the protocol does not have;
    - ``values`` are the columns that conditions read, int64 or bool. A member of a sort is below its size in ``sizes``,
      and the size itself stands for no member;
    - ``rows`` is each event's row in the piece; ``text`` is what the numbers in a lane stand for.
    """

    history: np.ndarray
    kind: np.ndarray
    starts: np.ndarray
    values: Mapping[str, np.ndarray]
    sizes: Mapping[str, int]
    rows: np.ndarray
    constants: Mapping[str, int]
    text: Callable[[int], str]

    @property
    def longest(self) -> int:
        return int(np.diff(np.append(self.starts, len(self.history))).max(initial=0))

    @property
    def largest(self) -> int:
        """Return the largest magnitude in any column."""
        numbers = [column for column in self.values.values() if column.dtype != bool and len(column)]
        return max((max(int(column.max()), -int(column.min())) for column in numbers), default=0)

    def lanes(self) -> Iterator[tuple[int, int]]:
        """Yield the index of the first event of each lane, and that after its last one."""
        ends = [*self.starts[1:].tolist(), len(self.history)] if len(self.history) else []
        yield from zip(self.starts.tolist(), ends, strict=True)

    def events(
        self, begin: int, end: int, phases: Mapping[int, tuple[Phase, ...]]
    ) -> list[tuple[tuple[Phase, ...] | None, dict[str, int]]]:
        """Return rows as single events: the phases of each (None if its kind is unknown) and its columns."""
        columns = {name: column[begin:end].tolist() for name, column in self.values.items()}
        return [
            (phases.get(kind), {name: column[i] for name, column in columns.items()})
            for i, kind in enumerate(self.kind[begin:end].tolist())
        ]


def batch_of(laid: Laid, columns: Mapping[str, Any], phases: Mapping[int, tuple[Phase, ...]]) -> Batch:
    """Return a batch with the types of ``columns`` and the kinds that have ``phases``."""
    known = np.full(2 * MOST_KINDS, STRANGE, np.int64)  # negative codes count from the end
    known[list(phases)] = list(phases)
    typed = _typed(laid.values, columns, laid.sizes)
    return Batch(
        laid.lane, known[laid.kind], starts_of(laid.lane), typed, laid.sizes, laid.rows, laid.constants, laid.text
    )  # fmt: skip


def _typed(
    values: Mapping[str, np.ndarray], columns: Mapping[str, Any], sizes: Mapping[str, int]
) -> dict[str, np.ndarray]:
    typed = {}
    for name, declared in columns.items():
        kind = scalar(declared)
        column = values[name].astype(bool if isinstance(kind, BoolType) else np.int64, copy=False)
        if isinstance(kind, AtomsType) and (column.min(initial=0) < 0 or column.max(initial=0) > sizes[kind.bound]):
            column = np.where(column < 0, sizes[kind.bound], np.minimum(column, sizes[kind.bound]))
        typed[name] = column
    return typed


# In which order the events of many histories are taken: as few groups as the order within each history allows.
#
# Within a history order matters, between histories it does not. Kinds of event take turns; a round of turns takes from
# each history its next events for as long as they come in turn, and a turn of a round is one group: events of one kind,
# one per history at most.


@dataclass(frozen=True)
class Turn:
    """A `Turn` is one group of events: ``begin`` to ``end`` of those of ``kind``."""

    kind: int
    begin: int
    end: int


@dataclass(frozen=True)
class Schedule:
    """A `Schedule` has the events of each kind as row numbers in ``rows[kind]``, in the order in which ``turns`` take
    them."""

    rows: list[np.ndarray]
    turns: list[Turn]


def schedule(history: np.ndarray, starts: np.ndarray, kind: np.ndarray, kinds: int) -> Schedule:
    """Return turns for events sorted by history. ``kind`` is 0 … ``kinds`` - 1 for each event, and ``starts`` has the
    rows at which histories begin."""
    place = _places(history, kind, kinds)
    turn = place[kind]
    again = np.zeros(len(kind), np.int32)
    again[1:] = turn[1:] <= turn[:-1]
    rounds = np.cumsum(again)
    rounds -= rounds[starts][history]
    width = int(rounds.max(initial=0)) + 1
    key = kind * width + rounds
    order = np.argsort(key.astype(np.uint16) if kinds * width < 1 << 16 else key, kind="stable")
    ordered = key[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    ends = np.append(begins[1:], len(kind))
    its_kind, its_round = np.divmod(ordered[begins], width)
    firsts = np.searchsorted(ordered, np.arange(kinds + 1) * width)
    groups = np.lexsort((place[its_kind], its_round)).tolist()
    base = firsts[its_kind]
    which, begin, end = its_kind.tolist(), (begins - base).tolist(), (ends - base).tolist()
    rows = [order[firsts[k] : firsts[k + 1]] for k in range(kinds)]
    return Schedule(rows, [Turn(which[g], begin[g], end[g]) for g in groups])


def _places(history: np.ndarray, kind: np.ndarray, kinds: int) -> np.ndarray:
    """Return the place of each kind in a round. Any order is correct; there are few rounds if kinds come after those
    that they often follow."""
    together = history[1:] == history[:-1]
    pairs = (kind[:-1] * kinds + kind[1:])[together]
    follows = np.bincount(pairs, minlength=kinds * kinds).reshape(kinds, kinds)
    left, early, late = list(range(kinds)), list[int](), list[int]()
    while left:
        inner = follows[np.ix_(left, left)]
        balance = inner.sum(axis=1) - inner.sum(axis=0)
        most, least = int(np.argmax(balance)), int(np.argmin(balance))
        if balance[most] >= -balance[least]:
            early.append(left.pop(most))
        else:
            late.append(left.pop(least))
    place = np.empty(kinds, np.int64)
    place[[*early, *reversed(late)]] = np.arange(kinds)
    return place
