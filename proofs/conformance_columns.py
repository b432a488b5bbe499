"""Many histories against the model at once: every event of every history, in as few array operations as their order allows.

Within a history order matters, between histories it does not.  Kinds of event take turns; a round of turns takes from each history
its next events for as long as they come in turn, and each turn of a round is one array operation over all histories that have such
an event.  The first event of a history that does not fit is noted, and the rest of that history is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from fencepost.model.language.terms import TRUE

from .columns import Columns, ColumnStates
from .conformance_batches import Batch
from .observed import Check, Phase

Rows = np.ndarray


@dataclass(frozen=True)
class Misfit:
    """The first event of a history that does not fit: its row, and the check that fails there."""

    row: int
    check: Check


def misfits(
    columns: Columns, phases: Mapping[int, tuple[Phase, ...]], batch: Batch, *, checked: bool, strange: Check
) -> list[Misfit]:
    """The first misfit of each history that has one, in order of history.  ``phases``: of each kind, by its code.

    ``checked``: look for overflow in sums, and raise OverflowError; ``strange`` is the check that an event of no known kind fails.
    """
    if not len(batch.history):
        return []
    run = _Run(columns, phases, batch, checked)
    turns, bounds, order = _schedule(batch)
    rows = batch.history[order]
    values = {name: column[order] for name, column in batch.values.items()}
    run.start(rows, values, order)
    for kind, begin, end in zip(turns, bounds[:-1], bounds[1:], strict=True):
        if kind < 0:
            run.fail_all(begin, end, strange)
        else:
            run.take(kind, begin, end)
    return sorted(run.found, key=lambda m: m.row)


def _schedule(batch: Batch) -> tuple[list[int], list[int], np.ndarray]:
    """The turns: the kind of each, where it begins and ends, and the order in which they take the events."""
    history, kind = batch.history, batch.kind
    kinds = int(kind.max()) + 1
    turn = _turns(history, kind, kinds)[kind]
    new = np.empty(len(kind), bool)
    new[0] = True
    new[1:] = turn[1:] <= turn[:-1]
    rounds = np.cumsum(new)
    rounds -= rounds[batch.starts][history]
    key = rounds * (kinds + 1) + turn
    order = np.argsort(key.astype(np.uint16) if key.max() < 1 << 16 else key, kind="stable")
    ordered = key[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return kind[order[begins]].tolist(), [*begins.tolist(), len(kind)], order


def _turns(history: np.ndarray, kind: np.ndarray, kinds: int) -> np.ndarray:
    """Which turn each kind has: kinds that often follow others come after them.  Any order is right; a good one is fast."""
    together = history[1:] == history[:-1]
    pairs = (kind[:-1][together] + 1) * (kinds + 1) + kind[1:][together] + 1
    follows = np.bincount(pairs, minlength=(kinds + 1) ** 2).reshape(kinds + 1, kinds + 1)
    left, early, late = list(range(kinds + 1)), [], []
    while left:
        inner = follows[np.ix_(left, left)]
        balance = inner.sum(axis=1) - inner.sum(axis=0)
        most, least = int(np.argmax(balance)), int(np.argmin(balance))
        if balance[most] >= -balance[least]:
            early.append(left.pop(most))
        else:
            late.append(left.pop(least))
    turn = np.empty(kinds + 1, np.int64)
    turn[[*early, *reversed(late)]] = np.arange(kinds + 1)
    return np.roll(turn, -1)  # so that kind -1 finds its own at the end


class _Run:
    """The states of all histories, and what has been found."""

    def __init__(self, columns: Columns, phases: Mapping[int, tuple[Phase, ...]], batch: Batch, checked: bool) -> None:
        count = int(batch.history[-1]) + 1
        self.states: ColumnStates = columns.initial(count, batch.sizes)
        self.alive = np.ones(count, bool)
        self.found: list[Misfit] = []
        self.bound = {
            kind: [_BoundPhase(columns, self.states, p, batch, checked) for p in phases[kind]]
            for kind in np.unique(batch.kind).tolist()
            if kind >= 0
        }

    def start(self, rows: Rows, values: Mapping[str, np.ndarray], order: np.ndarray) -> None:
        self.rows, self.values, self.order = rows, values, order
        for of_kind in self.bound.values():
            for phase in of_kind:
                phase.inputs = [values[name] for name in phase.names]

    def take(self, kind: int, begin: int, end: int) -> None:
        """One turn: the events from ``begin`` to ``end`` of the order, at most one of each history."""
        rows, at = self.rows[begin:end], None
        if self.found:
            at = begin + np.flatnonzero(self.alive[rows])
            rows = self.rows[at]
        for phase in self.bound[kind]:
            given = [column[begin:end] if at is None else column[at] for column in phase.inputs]
            part_rows, part = rows, at
            if phase.when is not None:
                holds = np.broadcast_to(phase.when(rows, given), len(rows))
                if not holds.all():
                    part = np.flatnonzero(holds) + begin if at is None else at[holds]
                    part_rows, given = rows[holds], [column[holds] for column in given]
            if not len(part_rows):
                continue
            masks = phase.run(part_rows, given)
            if masks is not None:
                self._fail(phase, part_rows, given, begin + np.arange(len(part_rows)) if part is None else part, masks)
                at = begin + np.arange(end - begin) if at is None else at
                still = self.alive[rows]
                rows, at = rows[still], at[still]

    def fail_all(self, begin: int, end: int, check: Check) -> None:
        for at in range(begin, end):
            self._note(at, check)

    def _fail(self, phase: "_BoundPhase", rows: Rows, given: list[Any], at: np.ndarray, masks: list[Any]) -> None:
        held = np.array([np.broadcast_to(mask, len(rows)) for mask in masks])
        fits = held.all(axis=0)
        for i in np.flatnonzero(~fits):
            self._note(int(at[i]), phase.checks[int(np.argmin(held[:, i]))])
        if fits.any():
            rows, given, at = rows[fits], [column[fits] for column in given], at[fits]
            masks = phase.run(rows, given)
            if masks is not None:
                self._fail(phase, rows, given, at, masks)

    def _note(self, at: int, check: Check) -> None:
        history = self.rows[at]
        if self.alive[history]:
            self.alive[history] = False
            self.found.append(Misfit(int(self.order[at]), check))


class _BoundPhase:
    """A phase compiled for the arrays of one batch."""

    def __init__(self, columns: Columns, states: ColumnStates, phase: Phase, batch: Batch, checked: bool) -> None:
        self.members = [
            (name, batch.sizes[sort.bound], check)
            for name, sort, check in phase.members
            if (batch.values[name] >= batch.sizes[sort.bound]).any()
        ]
        self.checks = (*(check for *_, check in self.members), *phase.checks)
        self.names = tuple(dict.fromkeys((*phase.columns, *(name for name, *_ in self.members))))
        self.inputs: list[np.ndarray] = []
        step = columns.program(phase.conditions, phase.updates, self.names, inside=True, checked=checked)
        self.step = states.bind(step)
        self.when: Any = None
        if phase.when is not TRUE:
            test = states.bind(columns.program((phase.when,), (), self.names, inside=True, checked=checked))
            self.when = lambda rows, given: np.True_ if (masks := test(rows, *given)) is None else masks[0]

    def run(self, rows: Rows, given: list[Any]) -> list[np.ndarray] | None:
        """None if the step was made for all rows; else nothing was changed, and the truth of each check."""
        if self.members:
            inside = [given[self.names.index(name)] < size for name, size, _ in self.members]
            if not np.all(inside):
                # Compiled for keys that exist: what lies outside reads as zero, and its step is never made.
                return inside + [np.True_ for _ in self.checks[len(inside) :]]
        masks = self.step(rows, *given)
        return None if masks is None else [np.True_] * len(self.members) + list(masks)
