"""This module checks many histories against the model at once, with one array operation for all histories whose next
event is of the same kind.

The first event of a history that does not fit is noted, and the rest of that history is left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from fencepost.model.language.tree.terms import TRUE, variables
from fencepost.proofs.readings.columns import Columns, ColumnStates
from fencepost.proofs.traces.batches import Batch, schedule
from fencepost.proofs.traces.observed import Check, Phase

Rows = np.ndarray
Phases = tuple[Phase, ...]


@dataclass(frozen=True)
class Misfit:
    """A `Misfit` is the first event of a history that does not fit: its row, and the check that fails there."""

    row: int
    check: Check


def misfits(
    columns: Columns, phases: Mapping[int, Phases], batch: Batch, *, checked: bool, strange: Check
) -> list[Misfit]:
    """Return the first misfit of each history that has one, in order of history. ``phases`` has the phases of each
    kind, by its code. With ``checked``, an overflow in a sum raises OverflowError. ``strange`` is the check that an
    event of unknown kind fails."""
    if not len(batch.history):
        return []
    count = int(batch.history[-1]) + 1
    states = columns.initial(count, batch.sizes)
    found = _Found(batch.history, np.ones(count, bool))
    case, of_case = _cases(columns, states, phases, batch)
    plan = schedule(batch.history, batch.starts, case, len(of_case))
    takers = [
        _Taker(columns, states, of_kind, batch, rows, found, checked, strange)
        for of_kind, rows in zip(of_case, plan.rows, strict=True)
    ]
    for turn in plan.turns:
        takers[turn.kind].take(turn.begin, turn.end)
    return sorted(found.misfits, key=lambda m: m.row)


def _cases(
    columns: Columns, states: ColumnStates, phases: Mapping[int, Phases], batch: Batch
) -> tuple[np.ndarray, list[Phases | None]]:
    """Return each event's case, and the phases of each case. Cases are kinds, divided further by what their events
    alone decide."""
    case = np.zeros(len(batch.kind), np.int64)
    of_case: list[Phases | None] = [None]  # an event that the protocol does not have
    for kind, of_kind in phases.items():
        decided = [p for p in of_kind if p.when is not TRUE and not variables(p.when)]
        rows = np.flatnonzero(batch.kind == kind)
        if not len(rows):
            continue
        pattern = np.zeros(len(rows), np.int64)
        for place, phase in enumerate(decided):
            test = states.bind(columns.program((phase.when,), (), phase.columns, inside=True))
            masks = test(rows, *(batch.values[name][rows] for name in phase.columns))
            pattern |= (True if masks is None else masks[0]) * np.int64(1 << place)
        for value in np.unique(pattern).tolist():
            off = [phase for place, phase in enumerate(decided) if not value >> place & 1]
            case[rows[pattern == value]] = len(of_case)
            of_case.append(tuple(replace(p, when=TRUE) if p in decided else p for p in of_kind if p not in off))
    return case, of_case


@dataclass
class _Found:
    history: np.ndarray
    alive: np.ndarray
    misfits: list[Misfit] = field(default_factory=list)

    def note(self, event: int, check: Check) -> None:
        self.alive[self.history[event]] = False
        self.misfits.append(Misfit(event, check))


class _Taker:
    """A `_Taker` takes the events of one case, one turn at a time, with at most one event of each history in a turn."""

    def __init__(
        self,
        columns: Columns,
        states: ColumnStates,
        phases: Phases | None,
        batch: Batch,
        events: Rows,
        found: _Found,
        checked: bool,
        strange: Check,
    ) -> None:
        self.events, self.rows = events, batch.history[events]
        self.found, self.strange = found, strange
        names = {name for p in phases or () for name in (*p.columns, *(m[0] for m in p.members))}
        values = {name: batch.values[name][events] for name in sorted(names)}
        self.phases = (
            None if phases is None else [_Bound(columns, states, p, values, batch.sizes, checked) for p in phases]
        )

    def take(self, begin: int, end: int) -> None:
        at: slice | np.ndarray = slice(begin, end)
        rows = self.rows[begin:end]
        if self.found.misfits:
            at = begin + np.flatnonzero(self.found.alive[rows])
            rows = self.rows[at]
        if self.phases is None:
            for event in self.events[at]:
                self.found.note(int(event), self.strange)
            return
        for phase in self.phases:
            known = len(self.found.misfits)
            self._run(phase, rows, at)
            if len(self.found.misfits) > known:
                at = _chosen(at, np.flatnonzero(self.found.alive[rows]))
                rows = self.rows[at]

    def _run(self, phase: "_Bound", rows: Rows, at: Any) -> None:
        given = [column[at] for column in phase.inputs]
        if phase.when is not None:
            masks = phase.when(rows, *given[: phase.given])
            if masks is not None:
                chosen = np.flatnonzero(masks[0])
                if len(chosen) < len(rows):
                    rows, at, given = rows[chosen], _chosen(at, chosen), [c[chosen] for c in given]
        while len(rows) and (masks := phase.run(rows, given)) is not None:
            held = np.array([np.broadcast_to(mask, len(rows)) for mask in masks])
            fits, events = held.all(axis=0), self.events[at]
            for i in np.flatnonzero(~fits):
                self.found.note(int(events[i]), phase.checks[int(np.argmin(held[:, i]))])
            at = _chosen(at, np.flatnonzero(fits))
            rows, given = rows[fits], [column[fits] for column in given]


def _chosen(at: slice | np.ndarray, chosen: np.ndarray) -> np.ndarray:
    found: np.ndarray = at.start + chosen if isinstance(at, slice) else at[chosen]
    return found


class _Bound:
    def __init__(
        self,
        columns: Columns,
        states: ColumnStates,
        phase: Phase,
        values: Mapping[str, np.ndarray],
        sizes: Mapping[str, int],
        checked: bool,
    ) -> None:
        members = [
            (values[name], sizes[sort.bound], check)
            for name, sort, check in phase.members
            if (values[name] >= sizes[sort.bound]).any()
        ]
        self.checks: Sequence[Check] = (*(check for *_, check in members), *phase.checks)
        self.sizes = [size for _, size, _ in members]
        self.step = states.bind(
            columns.program(phase.conditions, phase.updates, phase.columns, inside=True, checked=checked)
        )
        self.inputs = [values[name] for name in phase.columns] + [column for column, *_ in members]
        self.given = len(phase.columns)
        self.when: Any = None
        if phase.when is not TRUE:
            self.when = states.bind(columns.program((phase.when,), (), phase.columns, inside=True, checked=checked))

    def run(self, rows: Rows, given: list[np.ndarray]) -> Sequence[Any] | None:
        """Make the step for all rows and return None, or change nothing and return the truth of each check."""
        if not self.sizes:
            return self.step(rows, *given)
        inside = [column < size for column, size in zip(given[self.given :], self.sizes, strict=True)]
        if not np.all(inside):
            # Compiled for keys that exist: what lies outside reads as zero, and a step there is never made.
            return inside + [np.True_] * (len(self.checks) - len(inside))
        masks = self.step(rows, *given[: self.given])
        return None if masks is None else [np.True_] * len(inside) + list(masks)
