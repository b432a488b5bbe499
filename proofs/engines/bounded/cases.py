"""Terms read as cases: each value that a term can have, with the condition under which it has it.

A Bool is a literal of a circuit; any other value is a dict from plain values to literals of which exactly one is
true.  A state that is fully known has one case everywhere, and the cases grow only as choices make them.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term
from fencepost.model.language.tree.types import (
    NAT,
    BoolType,
    Bounds,
    MapType,
    OptionType,
    ScalarType,
    SeqType,
    bound_of,
)
from fencepost.proofs.engines.bounded.circuit import FALSE, TRUE, Circuit
from fencepost.proofs.readings.solver.finite import free_locals, scalar_values

Cases = dict[Any, int]
Value = Any
"""A literal (of a Bool) or Cases (of anything else)."""
Keys = tuple[Any, ...]
CaseState = dict[str, dict[Keys, Value]]
"""Entries by variable and plain keys: () for a scalar; a sequence has its length at () and its entries at (1,), (2,),
…"""


class CaseReading:
    """Terms of one settled protocol within bounds, which also give the constants their values."""

    def __init__(self, spec: Spec, bounds: Bounds, circuit: Circuit) -> None:
        self.spec, self.bounds, self.circuit = spec, bounds, circuit
        self._memo: dict[Any, Value] = {}
        self._kept: list[Any] = []
        self._plain: dict[tuple[bool, Any], Value] = {}

    def initial(self) -> CaseState:
        state = {name: {keys: self.zero(name, keys) for keys in self.keys(name)} for name in self.spec.types}
        after, fits = self.after(state, self.spec.initial, {})
        if fits != TRUE:
            raise ModelError(
                f"{self.spec.name}: the initial state is not within {dict(self.bounds)}; choose larger bounds"
            )
        return after

    # Variables

    def keys(self, name: str) -> list[Keys]:
        kind = self.spec.types[name]
        if isinstance(kind, SeqType):
            return [(), *((position,) for position in range(1, bound_of(self.bounds, kind.bound) + 1))]
        kinds = kind.keys if isinstance(kind, MapType) else ()
        return list(itertools.product(*(scalar_values(k, self.bounds) for k in kinds)))

    def entry_type(self, name: str, keys: Keys) -> ScalarType:
        kind = self.spec.types[name]
        if isinstance(kind, SeqType):
            return kind.entry if keys else NAT
        return kind.value if isinstance(kind, MapType) else kind

    def zero(self, name: str, keys: Keys) -> Value:
        kind = self.entry_type(name, keys)
        return self.plain(None if isinstance(kind, OptionType) else 0, kind)

    # Values

    def plain(self, value: Any, kind: Any) -> Value:
        """A known value; the same object for the same value, so that the memo recognises it."""
        if isinstance(kind, BoolType):
            return TRUE if value else FALSE
        key = (isinstance(value, bool), value)
        return self._plain.setdefault(key, {value: TRUE})

    def choose(self, test: int, then: Value, other: Value) -> Value:
        if test in (TRUE, FALSE) or then == other:
            return then if test == TRUE else other
        return self.merge([(test, then), (-test, other)])

    def merge(self, choices: list[tuple[int, Value]]) -> Value:
        """The value whose condition holds; exactly one does."""
        if isinstance(choices[0][1], int):
            return self.circuit.either([self.circuit.both(choice) for choice in choices])
        pairs = ((v, self.circuit.both((test, x))) for test, cases in choices for v, x in cases.items())
        return self._of(pairs)

    def _of(self, cases: Iterable[tuple[Any, int]]) -> Cases:
        """Cases from pairs that may repeat a value."""
        found: dict[Any, list[int]] = {}
        for value, condition in cases:
            if condition != FALSE:
                found.setdefault(value, []).append(condition)
        return {value: self.circuit.either(conditions) for value, conditions in found.items()}

    def equal(self, a: Value, b: Value) -> int:
        both, either = self.circuit.both, self.circuit.either
        if isinstance(a, int):
            return either((both((a, b)), both((-a, -b))))
        return either([both((x, b[value])) for value, x in a.items() if value in b])

    def within(self, value: Value, kind: ScalarType) -> int:
        if isinstance(value, int):
            return TRUE
        allowed = set(scalar_values(kind, self.bounds))
        return -self.circuit.either([x for v, x in value.items() if v not in allowed])

    # Terms

    def truth(
        self, term: Term, now: CaseState, after: CaseState | None = None, names: Mapping[str, Any] | None = None
    ) -> int:
        return int(self.read(term, names or {}, now, after))

    def read(self, term: Term, names: Mapping[str, Value], now: CaseState, after: CaseState | None = None) -> Value:
        key = (id(term), id(now), id(after), *(id(names[n]) for n in sorted(free_locals(term))))
        if key not in self._memo:
            self._memo[key] = self._read(term, names, now, after)
            # What a key numbers must live as long as the key, or the number would be given out again.
            self._kept.append((names, now, after))
        return self._memo[key]

    def _read(self, term: Term, names: Mapping[str, Value], now: CaseState, after: CaseState | None) -> Value:
        match term.op:
            case "const":
                return self.plain(term.data, term.type)
            case "local":
                return names[term.data]
            case "constant":
                return self.plain(bound_of(self.bounds, term.data), term.type)
            case "forall" | "exists":
                cases = (self.truth(term.args[0], now, after, {**names, **c}) for c in self.instances(term.data))
                # A list, since a quantifier's instances are wanted in order, not as they are asked for.
                return self.circuit.both(list(cases)) if term.op == "forall" else self.circuit.either(list(cases))
            case "latest":
                return self._latest(term, names, now, after)
            case "state" | "select" | "length" | "at":
                variable = term if term.op == "state" else term.args[0]
                name, primed = variable.data
                state = after if primed else now
                assert state is not None, f"{name} is read after a step that is not given"
                return self._entry(state, name, [self.read(k, names, now, after) for k in term.args[1:]])
        return self._apply(term, [self.read(a, names, now, after) for a in term.args])

    def instances(self, bound: tuple[tuple[str, ScalarType], ...]) -> Iterator[dict[str, Value]]:
        ranges = [[self.plain(v, kind) for v in scalar_values(kind, self.bounds)] for _, kind in bound]
        for case in itertools.product(*ranges):
            yield {name: value for (name, _), value in zip(bound, case, strict=True)}

    def _entry(self, state: CaseState, name: str, keys: list[Value]) -> Value:
        """The entry at keys that may have several cases; zero outside the bounds and beyond a sequence's length."""
        result: Value = None
        for plain, condition in self._combinations(keys):
            entry = state[name].get(plain, self.zero(name, plain))
            result = entry if result is None else self.choose(condition, entry, result)
        return result

    def _combinations(self, keys: list[Value]) -> Iterator[tuple[Keys, int]]:
        """Each tuple of plain keys with its condition; one of them holds."""
        for combination in itertools.product(*(self._cases(key).items() for key in keys)):
            yield tuple(value for value, _ in combination), self.circuit.both([x for _, x in combination])

    def _cases(self, value: Value) -> Cases:
        if not isinstance(value, int):
            return dict(value)
        return {value == TRUE: TRUE} if value in (TRUE, FALSE) else {True: value, False: -value}

    def _latest(self, term: Term, names: Mapping[str, Value], now: CaseState, after: CaseState | None) -> Cases:
        name, primed = term.args[0].data
        state = after if primed else now
        assert state is not None, f"{name} is read after a step that is not given"
        upto, found = self.read(term.args[1], names, now, after), self.plain(0, NAT)
        for keys in self.keys(name)[1:]:
            inside = [self._at_least(upto, keys[0]), self._at_least(state[name][()], keys[0])]
            fits = self.truth(term.args[2], now, after, {**names, term.data[0]: state[name][keys]})
            found = self.choose(self.circuit.both([*inside, fits]), self.plain(keys[0], NAT), found)
        return dict(found)

    def _at_least(self, cases: Cases, number: int) -> int:
        return self.circuit.either([x for value, x in cases.items() if value >= number])

    def _apply(self, term: Term, args: list[Value]) -> Value:
        both, either = self.circuit.both, self.circuit.either
        match term.op:
            case "add" | "sub" | "monus":
                pairs = [(a, b, both((x, y))) for a, x in args[0].items() for b, y in args[1].items()]
                if term.op == "add":
                    return self._of((a + b, x) for a, b, x in pairs)
                return self._of((a - b if term.op == "sub" else max(a - b, 0), x) for a, b, x in pairs)
            case "eq":
                return self.equal(*args)
            case "lt" | "le":
                more = 1 if term.op == "lt" else 0
                return either([both((x, self._at_least(args[1], value + more))) for value, x in args[0].items()])
            case "and":
                return both(args)
            case "or":
                return either(args)
            case "not":
                return -args[0]
            case "ite":
                return self.choose(*args)
            case "some":
                (value,) = args
                return self._cases(value)
        raise ModelError(f"{self.spec.name}: no bounded reading of {term.op!r}; settle() the protocol first")

    # Steps

    def after(self, now: CaseState, updates: Iterable[Update], names: Mapping[str, Value]) -> tuple[CaseState, int]:
        """The state after some updates, sharing what they do not write, and the condition that they stay within the
        bounds."""
        result, fits = dict(now), []
        for update in updates:
            name = update.variable
            entries = result[name] = dict(result[name])
            if update.appends:
                fits.append(self._append(update, entries, now, names))
            elif update.bound:
                for case in self.instances(update.bound):
                    keys = tuple(next(iter(self._cases(v))) for v in case.values())
                    entries[keys] = self.read(update.value, {**names, **case}, now)
                    fits.append(self.within(entries[keys], self.entry_type(name, keys)))
            else:
                value = self.read(update.value, names, now)
                fits.append(self.within(value, self.entry_type(name, update.keys)))
                fits.append(self._point(update, entries, value, now, names))
        return result, self.circuit.both(fits)

    def _point(
        self, update: Update, entries: dict[Keys, Value], value: Value, now: CaseState, names: Mapping[str, Value]
    ) -> int:
        outside = []
        for plain, condition in self._combinations([self.read(k, names, now) for k in update.keys]):
            if plain in entries:
                entries[plain] = self.choose(condition, value, entries[plain])
            else:
                outside.append(condition)
        return -self.circuit.either(outside)

    def _append(self, update: Update, entries: dict[Keys, Value], now: CaseState, names: Mapping[str, Value]) -> int:
        value, length = self.read(update.value, names, now), entries[()]
        positions = [keys[0] for keys in self.keys(update.variable) if keys]
        for position in positions:
            entries[position,] = self.choose(length.get(position - 1, FALSE), value, entries[position,])
        entries[()] = {n + 1: x for n, x in length.items() if n + 1 in positions}
        full = length.get(len(positions), FALSE)
        # Where the sequence is full the step is cut, so any length will do there; the cases must still cover it.
        if full != FALSE:
            last = len(positions)
            entries[()][last] = self.circuit.either((full, entries[()].get(last, FALSE)))
        return self.circuit.both((-full, self.within(value, self.entry_type(update.variable, (1,)))))
