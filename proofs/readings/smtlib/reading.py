"""This module reads terms, states and steps of a protocol as formulas of SMT-LIB 2 over unbounded sorts and numbers.

A value is a tuple of formulas, with one for a Bool, number, element or member, and a flag before those for an Option.
A variable is a constant or function for each part of its value. The state after a step is computed from the state
before, entry by entry, so that no formula describes what is unchanged. Names of the protocol end in ``$``, as no name
does for which a solver has a meaning; variables of quantifiers are numbered by depth, so that equal statements at one
depth are equal texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term, free_locals
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
)
from fencepost.proofs.readings.smtlib.formulas import BOOL, INT, Bound, Formula, Formulas
from fencepost.proofs.readings.solver.finite import unbounded_sequence

Value = tuple[Formula, ...]


class State(Protocol):
    """A `State` has the entries of variables, each at keys and at a depth of quantifiers."""

    def entry(self, variable: str, keys: tuple[Value, ...], depth: int) -> Value: ...


@dataclass(frozen=True)
class Moment:
    """A `Moment` is where a term is read: the state, the one after the step, and what locals stand for."""

    now: State
    after: State | None = None
    names: Mapping[str, Value] = field(default_factory=dict)
    depth: int = 0

    def of(self, primed: bool) -> State:
        state = self.after if primed else self.now
        assert state is not None, "a primed variable is read where there is no step"
        return state


class TextReading:
    """A `TextReading` has the formulas of one protocol."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.formulas = spec, Formulas()
        self.before = AnyState(self)
        self._read: dict[Any, Value] = {}
        self.constants = {name: self._of_name(name, kind) for name, kind in spec.constants.items()}

    def signature(self, variable: str) -> tuple[tuple[ScalarType, ...], ScalarType]:
        """Return the types of a variable's keys, and of its entries. Errors: ModelError for a sequence."""
        kind = self.spec.types[variable]
        if isinstance(kind, SeqType):
            raise unbounded_sequence(self.spec, variable)
        return (kind.keys, kind.value) if isinstance(kind, MapType) else ((), kind)

    # Values

    def sorts(self, kind: ScalarType) -> tuple[str, ...]:
        if isinstance(kind, OptionType):
            return (BOOL, *self.sorts(kind.of))
        if isinstance(kind, AtomsType):
            return (safe(kind.name),)
        return (BOOL,) if isinstance(kind, BoolType) else (INT,)

    def _of_name(self, name: str, kind: ScalarType, keys: Sequence[Value] = ()) -> Value:
        args = [part for key in keys for part in key]
        named = zip(numbered(safe(name), len(self.sorts(kind))), self.sorts(kind), strict=True)
        return tuple(self.formulas.function(each, args, sort) for each, sort in named)

    def parameters(self, action: Action) -> dict[str, Value]:
        """Return the parameters of an action as constants. Their names differ from those of variables."""
        taken = self.spec.types.keys() | self.spec.constants.keys()
        return {n: self._of_name(f"{n}!chosen" if n in taken else n, kind) for n, kind in action.parameters}

    def literal(self, value: Any, kind: ScalarType) -> Value:
        make = self.formulas
        if isinstance(kind, OptionType):
            return (
                make.truth(value is not None),
                *(self.zero(kind.of) if value is None else self.literal(value, kind.of)),
            )
        if isinstance(kind, AtomsType):
            assert value == 0, "only the first element of a sort has a name"
            return (make.function(f"{kind.name}!zero", (), safe(kind.name)),)
        return (make.truth(bool(value)) if isinstance(kind, BoolType) else make.number(int(value)),)

    def zero(self, kind: ScalarType) -> Value:
        return self.literal(None if isinstance(kind, OptionType) else 0, kind)

    def ranges(self, value: Value, kind: ScalarType) -> list[Formula]:
        """Return what a type states of a value beyond its sort."""
        make = self.formulas
        if isinstance(kind, OptionType):
            return self.ranges(value[1:], kind.of)
        natural = isinstance(kind, EnumType) or (isinstance(kind, NumberType) and not kind.signed)
        least = [make.builtin(">=", value[0], make.number(0))] if natural else []
        most = [make.builtin("<", value[0], make.number(len(kind.members)))] if isinstance(kind, EnumType) else []
        return least + most

    def same(self, kind: Any, a: Value, b: Value) -> Formula:
        make, flags = self.formulas, self.formulas.same(a[0], b[0])
        if not isinstance(kind, OptionType):
            return flags
        return make.builtin("and", flags, make.implies(a[0], self.same(kind.of, a[1:], b[1:])))

    def choice(self, test: Formula, then: Value, other: Value) -> Value:
        return tuple(self.formulas.choice(test, a, b) for a, b in zip(then, other, strict=True))

    def as_key(self, kind: ScalarType, value: Value) -> Value:
        """Return a value as a key: an empty Option is one key, whatever its unused parts are."""
        if not isinstance(kind, OptionType):
            return value
        return (value[0], *self.choice(value[0], value[1:], self.zero(kind.of)))

    # Quantifiers

    def _bind(self, bound: Sequence[tuple[str, ScalarType]], depth: int) -> tuple[dict[str, Value], Bound]:
        """Return variables for the locals of a quantifier, and how the quantifier lists them."""
        values, listed = {}, []
        for name, kind in bound:
            of = list(
                zip(
                    numbered(f"{name.partition('.')[0]}!{depth}!", len(self.sorts(kind))), self.sorts(kind), strict=True
                )
            )
            values[name] = tuple(self.formulas.variable(*each) for each in of)
            listed += of
        return values, tuple(listed)

    def _quantified(self, term: Term, at: Moment) -> Formula:
        make, depth = self.formulas, at.depth + 1
        while True:
            values, listed = self._bind(term.data, depth)
            inside = self.truth(term.args[0], replace(at, names={**at.names, **values}, depth=depth))
            if not inside.binds & {name for name, _ in listed}:
                break
            depth += 1  # an argument from outside binds the same variable
        known = [known for name, kind in term.data for known in self.ranges(values[name], kind)]
        if term.op == "exists":
            return make.quantified(False, listed, make.all_of([*known, inside]))
        return make.quantified(True, listed, make.implies(make.all_of(known), inside) if known else inside)

    def types_of(self, variable: str) -> list[Formula]:
        """Return the condition that all entries of a variable are of its type."""
        keys, kind = self.signature(variable)
        values, listed = self._bind([(f"key{n}", key) for n, key in enumerate(keys, 1)], 1)
        known = self.ranges(self.before.entry(variable, tuple(values.values()), 1), kind)
        if not known or not listed:
            return known
        return [self.formulas.quantified(True, listed, self.formulas.all_of(known))]

    # Terms

    def truth(self, term: Term, at: Moment) -> Formula:
        return self.read(term, at)[0]

    def read(self, term: Term, at: Moment) -> Value:
        """Return a term of a settled protocol. Errors: ModelError for what is of bounded protocols alone."""
        free = tuple((name, at.names[name]) for name in sorted(free_locals(term)))
        key = (term, at.now, at.after, free, at.depth)
        if key not in self._read:
            self._read[key] = self._of_term(term, at)
        return self._read[key]

    def _of_term(self, term: Term, at: Moment) -> Value:
        make = self.formulas
        if term.op == "local":
            return at.names[term.data]
        if term.op == "constant":
            return self.constants[term.data]
        if term.op == "const":
            return self.literal(term.data, cast(ScalarType, term.type))
        if term.op == "state":
            return at.of(term.data[1]).entry(term.data[0], (), at.depth)
        if term.op in ("forall", "exists"):
            return (self._quantified(term, at),)
        if term.op == "select":
            variable, primed = term.args[0].data
            kinds, _ = self.signature(variable)
            keys = [self.as_key(kind, self.read(key, at)) for kind, key in zip(kinds, term.args[1:], strict=True)]
            return at.of(primed).entry(variable, tuple(keys), at.depth)
        if term.op in ("length", "at", "latest"):
            raise unbounded_sequence(self.spec, term.args[0].data[0])
        args = [self.read(arg, at) for arg in term.args]
        if term.op == "ite":
            return self.choice(args[0][0], args[1], args[2])
        if term.op == "some":
            return (make.truth(True), *args[0])
        if term.op == "eq":
            return (self.same(term.args[0].type, args[0], args[1]),)
        parts = [arg[0] for arg in args]
        if term.op == "and":
            return (make.all_of(parts),)
        if term.op == "or":
            return (make.some_of(parts),)
        if term.op == "not":
            return (make.negated(parts[0]),)
        if term.op in ("lt", "le"):
            return (make.builtin({"lt": "<", "le": "<="}[term.op], *parts),)
        if term.op in ("add", "sub"):
            return (make.builtin({"add": "+", "sub": "-"}[term.op], *parts, sort=INT),)
        if term.op == "monus":
            enough = make.builtin(">=", *parts)
            return (make.choice(enough, make.builtin("-", *parts, sort=INT), make.number(0)),)
        raise ModelError(f"{self.spec.name}: no text states {term.op!r}; settle() the protocol before it is proved")


class AnyState:
    """An `AnyState` has a constant or function for each part of each variable."""

    def __init__(self, reading: TextReading) -> None:
        self.reading = reading

    def entry(self, variable: str, keys: tuple[Value, ...], depth: int) -> Value:
        return self.reading._of_name(variable, self.reading.signature(variable)[1], keys)


class ZeroState:
    """A `ZeroState` has the zero value everywhere."""

    def __init__(self, reading: TextReading) -> None:
        self.reading = reading

    def entry(self, variable: str, keys: tuple[Value, ...], depth: int) -> Value:
        return self.reading.zero(self.reading.signature(variable)[1])


class StateAfter:
    """A `StateAfter` is the state after updates, each computed in the state before; the later of two wins."""

    def __init__(
        self, reading: TextReading, before: State, updates: Sequence[Update], names: Mapping[str, Value]
    ) -> None:
        self.reading, self.before, self.updates, self.names = reading, before, updates, names

    def entry(self, variable: str, keys: tuple[Value, ...], depth: int) -> Value:
        reading, (kinds, _) = self.reading, self.reading.signature(variable)
        found = self.before.entry(variable, keys, depth)
        for update in (u for u in self.updates if u.variable == variable):
            bound = {name: key for (name, _), key in zip(update.bound, keys, strict=False)}
            value = reading.read(update.value, Moment(self.before, None, {**self.names, **bound}, depth))
            if update.keys:
                place = Moment(self.before, None, self.names, depth)
                written = [
                    reading.as_key(kind, reading.read(k, place)) for kind, k in zip(kinds, update.keys, strict=True)
                ]
                hits = [reading.same(*each) for each in zip(kinds, written, keys, strict=True)]
                value = reading.choice(reading.formulas.all_of(hits), value, found)
            found = value
        return found


def safe(name: str) -> str:
    """Return a name for which no solver has a meaning. Z3 5.4, for example, reserved ``choice``. A name with an
    exclamation mark, which no name of a protocol has, is one already."""
    return name if "!" in name else f"{name}$"


def numbered(name: str, parts: int) -> list[str]:
    """Return a name for each part of a value: ``x``, ``x1``, ``x2``, …"""
    return [f"{name}{part or ''}" for part in range(parts)]
