"""Bounded model checking: is there a violation within so many steps of the initial state, and what is the shortest?

The steps are unrolled one by one into a circuit, straight from the terms.  At each depth Z3 looks for a path to any property not
decided so far, so that whatever it finds first is shortest.  Elements of a sort that nothing tells apart are used in order,
since a path that takes them in another order is the same path under other names.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import z3

from ..model.language.errors import ModelError
from ..model.language.properties import Property
from ..model.language.protocol import Action, Spec
from ..model.language.terms import Term
from ..model.language.types import AtomsType, BoolType, Bounds, OptionType, SeqType
from .cases import CaseReading, CaseState, Value
from .circuit import FALSE, TRUE, Circuit, Model
from .finite import scalar_values
from .results import Event, State, Trace, Verdict
from .symmetry import independent, interchangeable, touches

import os
POR=int(os.environ.get('POR','1'))
EXC=int(os.environ.get('EXC','1'))
RLIMIT = 400_000_000
"""Z3's resource limit for one depth."""


@dataclass(frozen=True)
class Finding:
    """``violated`` has the shortest ``trace`` to the violation, and ``holds`` of a witness the shortest to it.  Of other properties
    ``holds`` means: on every path of up to ``depth`` steps within the bounds.  A witness not found is unknown.
    ``complete``: no path within the bounds is longer than ``depth``."""

    property: str
    verdict: Verdict
    depth: int
    trace: Trace | None
    complete: bool


@dataclass(frozen=True)
class BoundedCheck:
    findings: dict[str, Finding]
    bounds: dict[str, int]
    seconds: float


def check(
    spec: Spec,
    properties: Mapping[str, Property],
    bounds: Bounds,
    depth: int,
    *,
    rlimit: int = RLIMIT,
    progress: Callable[[int, float], None] | None = None,
) -> BoundedCheck:
    """Every always, step and sometimes property of a settled protocol, to that depth.  ``bounds`` also give the constants their
    values and the faults their budgets; ``progress`` is called with each depth done and the seconds so far."""
    start = time.perf_counter()
    run = _Unrolling(spec, properties, bounds, rlimit)
    run.look()
    while run.open and run.depth < depth and run.possible:
        run.unroll()
        run.look()
        if progress is not None:
            progress(run.depth, time.perf_counter() - start)
    return BoundedCheck(run.findings(), dict(bounds), time.perf_counter() - start)


@dataclass(frozen=True)
class _Taken:
    """One instance of an action at one depth, and the literal that it is the one taken."""

    action: Action
    parameters: tuple[Any, ...]
    literal: int
    number: int


class _Unrolling:
    def __init__(self, spec: Spec, properties: Mapping[str, Property], bounds: Bounds, rlimit: int) -> None:
        _check_bounds(spec, bounds)
        self.spec, self.bounds = spec, bounds
        self.circuit = Circuit(rlimit)
        self.reading = CaseReading(spec, bounds, self.circuit)
        _check_axioms(self.reading)
        self.open = {name: p for name, p in properties.items() if p.kind in ("always", "step", "sometimes")}
        self.found: dict[str, Finding] = {}
        self.states: list[CaseState] = [self.reading.initial()]
        self.taken: list[list[_Taken]] = []
        budgets = {a.budget for a in spec.actions.values() if a.budget is not None}
        self.spent: dict[str, Value] = {budget: {0: TRUE} for budget in sorted(budgets)}
        sorts = interchangeable(spec, [p.term for p in self.open.values()])
        self.used: dict[AtomsType, list[int]] = {s: [FALSE] * bounds[s.bound] for s in sorts}
        self.possible = True
        self._commuting = {}
        self._numbers = {}
        self._touches = {}

    @property
    def depth(self) -> int:
        return len(self.taken)

    # One more step

    def unroll(self) -> None:
        """One instance of an action is taken, and the state after it is the next one."""
        now = self.states[-1]
        steps = [step for action in self.spec.actions.values() for step in self._instances(action, now)]
        self.circuit.one_of([taken.literal for taken, _ in steps])
        self.taken.append([taken for taken, _ in steps])
        self._use_in_order(self.taken[-1])
        if self.depth > 2 and POR:
            self._swap_nothing(*self.taken[-3:-1])
        self.states.append(self._merge(now, steps))
        for budget, cases in self.spent.items():
            spends = self.circuit.either([t.literal for t in self.taken[-1] if t.action.budget == budget])
            self.spent[budget] = self.reading.choose(spends, {n + 1: x for n, x in cases.items()}, cases)

    def _instances(self, action: Action, now: CaseState) -> Iterator[tuple[_Taken, CaseState]]:
        reading, circuit = self.reading, self.circuit
        conditions = [*(guard.condition for guard in action.guards), *action.limits]
        for names in reading.instances(action.parameters):
            allowed = [reading.truth(c, now, None, names) for c in conditions]
            if action.budget is not None:
                allowed.append(-self.spent[action.budget].get(self.bounds[action.budget], FALSE))
            if circuit.both(allowed) == FALSE:
                continue
            after, fits = reading.after(now, action.updates, names)
            enabled = circuit.both([*allowed, fits])
            if enabled != FALSE:
                literal = circuit.fresh()
                circuit.clause(-literal, enabled)
                yield _Taken(action, tuple(names.values()), literal, self._number(action,names)), after

    def _number(self, action, names):
        if not self._numbers:
            for a in self.spec.actions.values():
                for c in self.reading.instances(a.parameters):
                    self._numbers[a.name, tuple(map(id, c.values()))] = len(self._numbers)
        return self._numbers[action.name, tuple(map(id, names.values()))]

    def _merge(self, now: CaseState, steps: list[tuple[_Taken, CaseState]]) -> CaseState:
        """Each entry as the instance taken leaves it."""
        merged: CaseState = {}
        for name, entries in now.items():
            writers = [(taken.literal, after[name]) for taken, after in steps if after[name] is not entries]
            merged[name] = {keys: self._entry(value, keys, writers) for keys, value in entries.items()} if writers else entries
        return merged

    def _entry(self, value: Value, keys: tuple[Any, ...], writers: list[tuple[int, dict[Any, Value]]]) -> Value:
        changes = [(literal, after[keys]) for literal, after in writers if after[keys] is not value]
        kept = -self.circuit.either([literal for literal, _ in changes])
        both, either = self.circuit.both, self.circuit.either
        if isinstance(value, int):
            return either([both((kept, value)), *(both((literal, new)) for literal, new in changes)])
        cases: dict[Any, list[int]] = {}
        for literal, held in [(kept, value), *changes]:
            for plain, condition in held.items():
                cases.setdefault(plain, []).append(both((literal, condition)))
        res = {plain: either(conditions) for plain, conditions in cases.items()}
        if EXC and changes and len(res)>1:
            l=list(res.values())
            self.circuit.clause(*l)
            for i,x in enumerate(l):
                for y in l[:i]: self.circuit.clause(-x,-y)
        return res

    def _use_in_order(self, steps: list[_Taken]) -> None:
        for sort, used in self.used.items():
            uses: list[list[int]] = [[] for _ in used]
            for taken in steps:
                mine = [next(iter(v)) for v, (_, kind) in zip(taken.parameters, taken.action.parameters, strict=True) if kind == sort]
                for place, element in enumerate(mine):
                    uses[element].append(taken.literal)
                    if element > 0 and element - 1 not in mine[:place]:
                        self.circuit.clause(-taken.literal, used[element - 1])
            self.used[sort] = [self.circuit.either((before, *now)) for before, now in zip(used, uses, strict=True)]

    def _swap_nothing(self, earlier: list[_Taken], later: list[_Taken]) -> None:
        for a in earlier:
            for b in later:
                if b.number < a.number and self._commute(a, b):
                    self.circuit.clause(-a.literal, -b.literal)

    def _commute(self, a: _Taken, b: _Taken) -> bool:
        key = (b.number, a.number)
        if key not in self._commuting:
            self._commuting[key] = independent(self._touched(a), self._touched(b))
        return self._commuting[key]

    def _touched(self, taken):
        if taken.number not in self._touches:
            names = {n: _value(v, None) for (n, _), v in zip(taken.action.parameters, taken.parameters)}
            self._touches[taken.number] = touches(taken.action, names)
        return self._touches[taken.number]

    # Asking

    def look(self) -> None:
        """Decides what can be decided at this depth."""
        goals = {name: literal for name, p in self.open.items() if (literal := self._goal(p)) != FALSE}
        while goals:
            result = self.circuit.check(self.circuit.either(goals.values()))
            if result == z3.unknown:
                self._give_up(goals)
                return
            if result == z3.unsat:
                break
            model = self.circuit.model()
            for name in [name for name, literal in goals.items() if model[literal]]:
                verdict: Verdict = "holds" if self.open[name].kind == "sometimes" else "violated"
                self.found[name] = Finding(name, verdict, self.depth, self._trace(model), False)
                del self.open[name], goals[name]
        for literal in goals.values():
            # Known from here on, which helps Z3 at the next depth.
            self.circuit.clause(-literal)
        self.possible = not self.taken or bool(self.taken[-1]) and self.circuit.check() != z3.unsat

    def _goal(self, item: Property) -> int:
        truth = self.reading.truth
        if item.kind == "step":
            return -truth(item.term, self.states[-2], self.states[-1]) if self.taken else FALSE
        return truth(item.term, self.states[-1]) if item.kind == "sometimes" else -truth(item.term, self.states[-1])

    def _give_up(self, goals: Mapping[str, int]) -> None:
        for name in goals:
            self.found[name] = Finding(name, "unknown", self.depth - 1, None, False)
            del self.open[name]

    def findings(self) -> dict[str, Finding]:
        for name, item in self.open.items():
            verdict: Verdict = "unknown" if item.kind == "sometimes" else "holds"
            self.found[name] = Finding(name, verdict, self.depth, None, not self.possible)
        return self.found

    def _trace(self, model: Model) -> Trace:
        events = tuple(next(self._event(t) for t in steps if model[t.literal]) for steps in self.taken)
        return Trace(tuple(self._state(state, model) for state in self.states), events)

    def _event(self, taken: _Taken) -> Event:
        named = zip(taken.action.parameters, taken.parameters, strict=True)
        return Event(taken.action.name, {name: _value(v, None) for (name, _), v in named})

    def _state(self, state: CaseState, model: Model) -> State:
        plain: State = {}
        for name, entries in state.items():
            values = {keys: _value(value, model) for keys, value in entries.items()}
            kind = self.spec.types[name]
            if isinstance(kind, SeqType):
                plain[name] = tuple(values[position,] for position in range(1, values[()] + 1))
            elif () in values:
                plain[name] = values[()]
            else:
                zero = None if isinstance(self.reading.entry_type(name, ()), OptionType) else 0
                plain[name] = {keys: value for keys, value in values.items() if value != zero}
        return plain


def _value(value: Value, model: Model | None) -> Any:
    if isinstance(value, int):
        return model[value] if model is not None else value == TRUE
    return next(plain for plain, literal in value.items() if literal == TRUE or (model is not None and model[literal]))


def _check_bounds(spec: Spec, bounds: Bounds) -> None:
    needed = [*spec.constants, *(a.budget for a in spec.actions.values() if a.budget is not None)]
    if missing := [name for name in dict.fromkeys(needed) if name not in bounds]:
        raise ModelError(f"{spec.name}: the bounds lack {', '.join(missing)}; give constants a value and faults a budget")


def _check_axioms(reading: CaseReading) -> None:
    for axiom in reading.spec.axioms:
        if reading.truth(axiom, {}) != TRUE:
            raise ModelError(f"{reading.spec.name}: the constants in {dict(reading.bounds)} do not satisfy {axiom!r}; choose others")


__all__ = ["BoolType", "BoundedCheck", "Finding", "Term", "check", "scalar_values"]
