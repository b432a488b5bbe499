"""This module reads terms as Z3, so that a guard, an update or a property becomes a formula over unbounded sorts and
numbers.

A value is a tuple of Z3 expressions, with one for a Bool, number, element or member, and a flag before those for an
Option. Tuples spare solvers algebraic datatypes. A map is an uninterpreted function for each part of its value. A
`View` has the values of the variables in some state. An action's post-state is a view over its pre-state, so no formula
contains a second copy of the state, and no frame axioms are needed. With ``bounds``, quantifiers are expanded over the
finite ranges of exploration.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, cast

import z3
from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.terms import Term, free_locals
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    Bounds,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
    bound_of,
)
from fencepost.proofs.readings.solver.finite import scalar_values, unbounded_sequence

Value = tuple[Any, ...]
Locals = Mapping[str, Value]


class View(Protocol):
    """A `View` has the values of the variables in one state. A sequence's ``entry`` has its position as key."""

    def entry(self, name: str, keys: tuple[Value, ...]) -> Value: ...

    def length(self, name: str) -> Any: ...


class Reading:
    """A `Reading` has the terms of one protocol in its own Z3 context, so that answers are independent."""

    def __init__(self, spec: Spec, bounds: Bounds | None = None, constants: Mapping[str, Any] | None = None) -> None:
        self.spec, self.bounds = spec, bounds
        self.context = z3.Context()
        self.sorts: dict[str, Any] = {}
        self._fresh = itertools.count()
        self._memo: dict[Any, Value] = {}
        self._kept: list[Any] = []
        self._literals: dict[tuple[ScalarType, Any], Value] = {}
        given = constants or {}
        self.constants = {
            name: self.literal(given[name], kind) if name in given else self.variable(name, kind)
            for name, kind in spec.constants.items()
        }

    # Sorts and values

    def leaves(self, kind: ScalarType) -> tuple[Any, ...]:
        """Return the Z3 sorts of the parts of a value."""
        match kind:
            case BoolType():
                return (z3.BoolSort(self.context),)
            case OptionType(of):
                return (z3.BoolSort(self.context), *self.leaves(of))
            case AtomsType(name, _) if self.bounds is None:
                if name not in self.sorts:
                    self.sorts[name] = z3.DeclareSort(self.named(name), self.context)
                return (self.sorts[name],)
        return (self.number_sort(),)

    def number_sort(self) -> Any:
        return z3.IntSort(self.context)

    def number(self, value: int) -> Any:
        return z3.IntVal(value, self.context)

    def named(self, name: str) -> str:
        return name

    def variable(self, name: str, kind: ScalarType) -> Value:
        return tuple(z3.Const(f"{self.named(name)}{part or ''}", sort) for part, sort in enumerate(self.leaves(kind)))

    def fresh(self, name: str, kind: ScalarType) -> Value:
        return self.variable(f"{name}!{next(self._fresh)}!", kind)

    def literal(self, value: Any, kind: ScalarType) -> Value:
        """Return a plain value (bool, int, or None for an empty Option) as Z3 expressions. Only element 0 of an
        unbounded sort has a name."""
        found = self._literals.get((kind, value))
        if found is None:
            found = self._literals[kind, value] = self._literal(value, kind)
        return found

    def _literal(self, value: Any, kind: ScalarType) -> Value:
        match kind:
            case BoolType():
                return (z3.BoolVal(bool(value), self.context),)
            case OptionType(of):
                inner = self.zero(of) if value is None else self.literal(value, of)
                return (z3.BoolVal(value is not None, self.context), *inner)
            case AtomsType(name, _) if self.bounds is None:
                assert value == 0, f"{name} {value} has no name in a proof"
                return (z3.Const(f"{name}!zero", *self.leaves(kind)),)
        return (self.number(value),)

    def zero(self, kind: ScalarType) -> Value:
        return self.literal(None if isinstance(kind, OptionType) else 0, kind)

    def within(self, value: Value, kind: ScalarType) -> list[Any]:
        """Return the condition on a value that its type states beyond its Z3 sort."""
        match kind:
            case OptionType(of):
                return self.within(value[1:], of)
            case NumberType(_, upto, signed):
                known = [] if signed else [value[0] >= 0]
                if self.bounds is not None and upto is not None:
                    known.append(value[0] <= scalar_values(kind, self.bounds)[-1])
                return known
            case EnumType(_, members):
                return [value[0] >= 0, value[0] < len(members)]
            case AtomsType(_, bound) if self.bounds is not None:
                return [value[0] >= 0, value[0] < self.bounds[bound]]
        return []

    # Connectives

    def both(self, parts: list[Any]) -> Any:
        return z3.And(*parts) if len(parts) > 1 else parts[0] if parts else z3.BoolVal(True, self.context)

    def either(self, parts: list[Any]) -> Any:
        return z3.Or(*parts) if len(parts) > 1 else parts[0] if parts else z3.BoolVal(False, self.context)

    def equal(self, kind: Any, a: Value, b: Value) -> Any:
        if not isinstance(kind, OptionType):
            return a[0] == b[0]
        return z3.And(a[0] == b[0], z3.Implies(a[0], self.equal(kind.of, a[1:], b[1:])))

    def choose(self, test: Any, then: Value, other: Value) -> Value:
        return tuple(a if a.eq(b) else z3.If(test, a, b) for a, b in zip(then, other, strict=True))

    def as_key(self, kind: ScalarType, value: Value) -> Value:
        """Return a value as a map key. An empty Option is one key, whatever its unused parts are."""
        return (
            (value[0], *self.choose(value[0], value[1:], self.zero(kind.of))) if isinstance(kind, OptionType) else value
        )

    # Terms

    def truth(self, term: Term, now: View, after: View | None = None, names: Locals | None = None) -> Any:
        """Return a Bool term as one Z3 formula. ``after`` has the values of primed variables."""
        return self.read(term, names or {}, now, after)[0]

    def read(self, term: Term, names: Locals, now: View, after: View | None = None) -> Value:
        free = free_locals(term)
        key = (id(term), id(now), id(after), tuple((n, *(part.get_id() for part in names[n])) for n in sorted(free)))
        found = self._memo.get(key)
        if found is None:
            found = self._read(term, names, now, after)
            self._memo[key] = found
            # Objects whose ids are in a key must live as long as the key, or the ids would be reused.
            self._kept.append((names, now, after))
        return found

    def _read(self, term: Term, names: Locals, now: View, after: View | None) -> Value:
        match term.op:
            case "const":
                return self.literal(term.data, cast(ScalarType, term.type))
            case "local":
                return names[term.data]
            case "constant":
                return self.constants[term.data]
            case "forall" | "exists":
                return (self._quantified(term, names, now, after),)
            case "length" | "at" | "latest":
                return self._sequence(term, names, now, after)
        of_state = term.args[0] if term.op == "select" else term
        if of_state.op == "state":
            name, view = self._view(of_state, now, after)
            kinds = of_state.type.keys if isinstance(of_state.type, MapType) else ()
            keys = [self.read(k, names, now, after) for k in term.args[1:]]
            return view.entry(name, tuple(self.as_key(kind, k) for kind, k in zip(kinds, keys, strict=True)))
        return self._apply(term, [self.read(a, names, now, after) for a in term.args])

    @staticmethod
    def _view(term: Term, now: View, after: View | None) -> tuple[str, View]:
        name, primed = term.data
        view = after if primed else now
        assert view is not None, f"{name} is read after a step that is not given"
        return name, view

    def _sequence(self, term: Term, names: Locals, now: View, after: View | None) -> Value:
        kind = term.args[0].type
        assert isinstance(kind, SeqType)
        if self.bounds is None:
            raise unbounded_sequence(self.spec, term.args[0].data[0])
        name, view = self._view(term.args[0], now, after)
        length = view.length(name)
        if term.op == "length":
            return (length,)
        place = self.read(term.args[1], names, now, after)[0]
        if term.op == "at":
            return self.choose(
                z3.And(place >= 1, place <= length), view.entry(name, ((place,),)), self.zero(kind.entry)
            )
        found = self.number(0)
        for position in range(1, bound_of(self.bounds, kind.bound) + 1):
            number = self.number(position)
            entry = {term.data[0]: view.entry(name, ((number,),))}
            fits = self.truth(term.args[2], now, after, {**names, **entry})
            found = z3.If(z3.And(number <= place, number <= length, fits), number, found)
        return (found,)

    def _apply(self, term: Term, args: list[Value]) -> Value:
        match term.op:
            case "add":
                return (args[0][0] + args[1][0],)
            case "sub":
                return (args[0][0] - args[1][0],)
            case "monus":
                a, b = args[0][0], args[1][0]
                return (z3.If(a >= b, a - b, self.number(0)),)
            case "eq":
                return (self.equal(term.args[0].type, *args),)
            case "lt":
                return (args[0][0] < args[1][0],)
            case "le":
                return (args[0][0] <= args[1][0],)
            case "and":
                return (self.both([a[0] for a in args]),)
            case "or":
                return (self.either([a[0] for a in args]),)
            case "not":
                return (z3.Not(args[0][0]),)
            case "ite":
                return self.choose(args[0][0], args[1], args[2])
            case "some":
                return (z3.BoolVal(True, self.context), *args[0])
        raise ModelError(
            f"{self.spec.name}: Z3 has no reading of {term.op!r}; settle() the protocol before it is proved"
        )

    def _quantified(self, term: Term, names: Locals, now: View, after: View | None) -> Any:
        body, universal = term.args[0], term.op == "forall"
        if self.bounds is not None:
            cases = [self.truth(body, now, after, {**names, **case}) for case in self.instances(term.data)]
            return self.both(cases) if universal else self.either(cases)
        bound = {name: self.fresh(name, kind) for name, kind in term.data}
        inside = self.truth(body, now, after, {**names, **bound})
        ranges = [r for name, kind in term.data for r in self.within(bound[name], kind)]
        parts = [part for value in bound.values() for part in value]
        if universal:
            return z3.ForAll(parts, z3.Implies(self.both(ranges), inside) if ranges else inside)
        return z3.Exists(parts, self.both([*ranges, inside]))

    def instances(self, bound: tuple[tuple[str, ScalarType], ...]) -> Iterator[dict[str, Value]]:
        """Yield every assignment of literals to bound variables, within the bounds."""
        assert self.bounds is not None
        ranges = [[self.literal(v, kind) for v in scalar_values(kind, self.bounds)] for _, kind in bound]
        for case in itertools.product(*ranges):
            yield {name: value for (name, _), value in zip(bound, case, strict=True)}
