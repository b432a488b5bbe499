"""This module makes Z3's counterexamples small and writes them as states, with few elements, small numbers, and zero
wherever possible.

The order is deliberate. Sorts shrink first, since a reader counts brokers before ids. Then all numbers are cut to the
smallest ceiling that still refutes. Then every entry that need not differ from its zero value is set to it.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import z3
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    EnumType,
    NumberType,
    OptionType,
    ScalarType,
)
from fencepost.proofs.readings.solver.solving import Question
from fencepost.proofs.readings.solver.states import map_parts
from fencepost.proofs.readings.solver.terms import Reading, Value
from fencepost.proofs.results import Event, State

CEILINGS = (0, 1, 2, 3, 4, 6, 9, 15)
LARGEST_SORT = 6


@dataclass(frozen=True)
class Counterexample:
    """A `Counterexample` is a step from ``before``, where the invariant holds, to ``after``. The states belong to one
    small model. ``before`` and ``event`` are None for an initial state. ``sizes`` counts the elements of each sort."""

    before: State | None
    event: Event | None
    after: State
    constants: dict[str, int]
    sizes: dict[str, int]


Entry = tuple[str, tuple[Any, ...], Value, ScalarType]
"""An entry has a variable, its keys as plain values, its value as Z3 expressions, and the type of that value."""


class Shrinker:
    """A `Shrinker` adds constraints to a question's refuted case, and retains those under which Z3 finds a model."""

    def __init__(self, question: Question, assuming: Any, limit: int | None = None) -> None:
        self.question, self.assuming, self.limit = question, list(assuming), limit
        self.reading, self.solver = question.reading, question.solver
        self.elements: dict[str, list[Any]] = {}
        self.ceiling: int | None = None
        self.model: Any = None

    def counterexample(self) -> Counterexample | None:
        """Return the small model as plain data, or None if Z3 finds none within its limit."""
        if not self.shrink():
            return None
        entries = list(self._entries(self.question.before)) if self.question.action else []
        self._zero_where_possible(entries)
        later = list(self._entries(self.question.after))
        values = self._values([e[2] for e in entries] + [e[2] for e in later])
        before, after = values[: len(entries)], values[len(entries) :]
        action, names = self.question.action, self.question.names
        event = None
        if action is not None:
            parameters = zip(action.parameters, self._values(list(names.values())), strict=True)
            event = Event(action.name, {name: self._plain(v, kind) for (name, kind), v in parameters})
        kinds = self.question.spec.constants
        constants = dict(zip(kinds, self._values(list(self.reading.constants.values())), strict=True))
        return Counterexample(
            self._state(entries, before) if action else None, event, self._state(later, after),
            {name: self._plain(constants[name], kind) for name, kind in kinds.items()},
            {name: len(elements) for name, elements in self.elements.items()},
        )  # fmt: skip

    def shrink(self) -> bool:
        """Fix the fewest elements and the lowest ceiling for numbers that have a model. Return False without one."""
        for kind in _atoms(self.reading):
            self.reading.zero(kind)
        return all(map(self._shrink_sort, sorted(self.reading.sorts))) and any(map(self._cut_numbers, CEILINGS))

    def _keeps(self, *constraints: Any) -> bool:
        self.solver.push()
        self.solver.add(*constraints)
        if self.question.check(self.assuming, self.limit) == z3.sat:
            self.model = self.solver.model()
            return True
        self.solver.pop()
        return False

    def _shrink_sort(self, name: str) -> bool:
        sort = self.reading.sorts[name]
        named = [z3.Const(f"{name}!zero", sort)] + [z3.Const(f"{name}!{i}", sort) for i in range(1, LARGEST_SORT)]
        anything = z3.Const(f"{name}!any", sort)
        for size in range(1, LARGEST_SORT + 1):
            closed = z3.ForAll([anything], self.reading.either([anything == e for e in named[:size]]))
            distinct = [z3.Distinct(*named[:size])] if size > 1 else []
            if self._keeps(closed, *distinct):
                self.elements[name] = named[:size]
                return True
        return False

    def _cut_numbers(self, ceiling: int) -> bool:
        if self._keeps(*self._below(ceiling)):
            self.ceiling = ceiling
        return self.ceiling is not None

    def _below(self, ceiling: int) -> list[Any]:
        """Return the constraints that no number is above the ceiling, and that maps hold zero at every key above it."""
        question, reading, found = self.question, self.reading, []
        for name, kind in question.spec.constants.items():
            found += _at_most(reading.constants[name], kind, ceiling)
        if question.action is None:
            return found
        for name, kind in question.action.parameters:
            found += _at_most(question.names[name], kind, ceiling)
        for name in question.spec.types:
            keys, kind = map_parts(reading, name)
            bound = tuple(reading.fresh(name, key) for key in keys)
            parts = [part for key in bound for part in key]
            value = question.before.entry(name, bound)
            low = _at_most(value, kind, ceiling)
            found += [z3.ForAll(parts, reading.both(low))] if parts and low else low
            outside = [z3.Not(c) for key, k in zip(bound, keys, strict=True) for c in _at_most(key, k, ceiling)]
            if outside:
                zero = reading.equal(kind, value, reading.zero(kind))
                found.append(z3.ForAll(parts, z3.Implies(reading.either(outside), zero)))
        return found

    def _entries(self, view: Any) -> Iterator[Entry]:
        for name in self.question.spec.types:
            keys, kind = map_parts(self.reading, name)
            for plain in itertools.product(*(self._range(key) for key in keys)):
                literal = tuple(self._literal(p, key) for p, key in zip(plain, keys, strict=True))
                yield name, plain, view.entry(name, literal), kind

    def _range(self, kind: ScalarType) -> list[Any]:
        match kind:
            case BoolType():
                return [False, True]
            case EnumType(_, members):
                return list(range(len(members)))
            case AtomsType(name, _):
                return list(range(len(self.elements[name])))
            case OptionType(of):
                return [None, *self._range(of)]
        assert self.ceiling is not None
        # One step may write one block above the ceiling, and a reader wants to see it.
        return list(range(2 * self.ceiling + 2))

    def _literal(self, value: Any, kind: ScalarType) -> Value:
        match kind:
            case AtomsType(name, _):
                return (self.elements[name][value],)
            case OptionType(of) if value is not None:
                return (z3.BoolVal(True, self.reading.context), *self._literal(value, of))
        return self.reading.literal(value, kind)

    def _zero_where_possible(self, entries: list[Entry]) -> None:
        names = self.question.names
        chosen = [(names[n], kind) for n, kind in self.question.action.parameters] if self.question.action else []
        for value, kind in [(value, kind) for _, _, value, kind in entries] + chosen:
            zero = self.reading.equal(kind, value, self.reading.zero(kind))
            if z3.is_true(self.model.eval(zero, model_completion=True)):
                self.solver.add(zero)
            else:
                self._keeps(zero)

    def _values(self, values: list[Value]) -> list[tuple[Any, ...]]:
        """Return Python values of the parts in the model, after asking about parts that it cannot evaluate."""
        parts = [part for value in values for part in value]
        known = [self.model.eval(part, model_completion=True) for part in parts]
        open_parts = [i for i, part in enumerate(known) if not _is_value(part)]
        if open_parts:
            names = {i: z3.FreshConst(parts[i].sort(), "value") for i in open_parts}
            if not self._keeps(*(names[i] == parts[i] for i in open_parts)):
                raise RuntimeError("Z3 lost a model that it had found while reading it")
            known = [self.model.eval(names.get(i, part), model_completion=True) for i, part in enumerate(parts)]
        plain = iter(map(self._number, known))
        return [tuple(next(plain) for _ in value) for value in values]

    def _number(self, part: Any) -> bool | int:
        if z3.is_bool(part):
            return bool(z3.is_true(part))
        if z3.is_int_value(part):
            return int(part.as_long())
        elements = self.elements[part.sort().name()]
        return next(i for i, e in enumerate(elements) if self.model.eval(e, model_completion=True).eq(part))

    def _plain(self, parts: tuple[Any, ...], kind: ScalarType) -> Any:
        if not isinstance(kind, OptionType):
            return parts[0]
        return self._plain(parts[1:], kind.of) if parts[0] else None

    def _state(self, entries: list[Entry], values: list[tuple[Any, ...]]) -> State:
        state: State = {}
        for (name, keys, _, kind), parts in zip(entries, values, strict=True):
            plain = self._plain(parts, kind)
            if not keys:
                state[name] = plain
                continue
            into = state.setdefault(name, {})
            if plain != (None if isinstance(kind, OptionType) else 0):
                into[keys] = plain
        return state


def _at_most(value: Value, kind: ScalarType, ceiling: int) -> list[Any]:
    match kind:
        case NumberType(_, _, signed):
            return [value[0] <= ceiling, *([value[0] >= -ceiling] if signed else [])]
        case OptionType(of):
            return _at_most(value[1:], of, ceiling)
    return []


def _is_value(part: Any) -> bool:
    return bool(z3.is_true(part) or z3.is_false(part) or z3.is_int_value(part) or (
        z3.is_const(part) and part.sort_kind() == z3.Z3_UNINTERPRETED_SORT))  # fmt: skip


def _atoms(reading: Reading) -> Iterator[AtomsType]:
    spec = reading.spec
    kinds = [*spec.constants.values(), *(k for a in spec.actions.values() for _, k in a.parameters)]
    for name in spec.types:
        keys, value = map_parts(reading, name)
        kinds += [*keys, value]
    for kind in kinds:
        inner = kind
        while isinstance(inner, OptionType):
            inner = inner.of
        if isinstance(inner, AtomsType):
            yield inner
