"""Symbols are the values with which a protocol's methods compute while they are traced.

A symbol has the operators that mean the same in every engine. It refuses, with file and line, everything that Python
would decide on its own (`Refusals`): truth, membership, iteration, hashing. ``&``, ``|``, ``~`` take Bool only, since
``a >= b | c`` reads as ``a >= (b | c)``.
"""

import inspect
from typing import Any, NoReturn

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.checks.refusals import Helper, Refusals
from fencepost.model.language.tree.terms import (
    Term,
    boolean,
    both,
    conditional,
    constant,
    describe_type,
    negation,
    result_type,
    term,
)
from fencepost.model.language.tree.types import (
    BOOL,
    INT,
    NAT,
    BoolType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
    Type,
    advice,
)


class Symbol(Refusals):
    """A `Symbol` is a value not known while tracing. A map or sequence that can be assigned to has a ``recorder``."""

    __slots__ = ("recorder", "term")

    def __init__(self, node: Term, recorder: Any = None) -> None:
        self.term, self.recorder = node, recorder

    def __repr__(self) -> str:
        return f"<{describe_type(self.term.type)}: {self.term!r}>"

    def __add__(self, other: Any) -> "Symbol":
        return arithmetic("add", self, other)

    def __radd__(self, other: Any) -> "Symbol":
        return arithmetic("add", other, self)

    def __sub__(self, other: Any) -> "Symbol":
        return arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> "Symbol":
        return arithmetic("sub", other, self)

    def __eq__(self, other: object) -> "Symbol":  # type: ignore[override]
        return compare("eq", self, other)

    def __ne__(self, other: object) -> "Symbol":  # type: ignore[override]
        return ~compare("eq", self, other)

    def __lt__(self, other: Any) -> "Symbol":
        return compare("lt", self, other)

    def __le__(self, other: Any) -> "Symbol":
        return compare("le", self, other)

    def __gt__(self, other: Any) -> "Symbol":
        return compare("lt", other, self)

    def __ge__(self, other: Any) -> "Symbol":
        return compare("le", other, self)

    def __and__(self, other: Any) -> "Symbol":
        return Symbol(both(truth(self, "&"), truth(other, "&")))

    def __or__(self, other: Any) -> "Symbol":
        return Symbol(boolean("or", truth(self, "|"), truth(other, "|")))

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> "Symbol":
        return Symbol(negation(truth(self, "~")))

    def __getitem__(self, keys: Any) -> "Symbol":
        kind = self.term.type
        if not isinstance(kind, MapType):
            advice = "read a sequence with at(sequence, position)" if isinstance(kind, SeqType) else "drop the [...]"
            raise mistake(f"{describe_type(kind)} has no keys", advice)
        if self.recorder is not None:
            self.recorder.reading(self.term.data[0])
        return Symbol(term("select", (self.term, *key_terms(kind, keys)), None, kind.value))

    def __setitem__(self, keys: Any, value: Any) -> None:
        kind = self.term.type
        if not isinstance(kind, MapType) or self.recorder is None:
            raise mistake(f"{describe_type(kind)} can't be assigned by key here", "assign s.map[key] in an action")
        self.recorder.point(self.term.data[0], key_terms(kind, keys), coerce(value, kind.value, "the value assigned"))

    __hash__ = Refusals.__hash__  # or Python would take __eq__ to mean that there is none

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python itself asks for these, and takes no for an answer
            raise AttributeError(name)
        raise mistake(
            f"{self!r} has no attribute {name!r}", "a value has operators only; an entry of a map is s.map[key]"
        )


def key_terms(kind: MapType, keys: Any) -> tuple[Term, ...]:
    given = keys if isinstance(keys, tuple) else (keys,)
    if len(given) != len(kind.keys):
        got = f"{len(given)} key{'s' * (len(given) != 1)}"
        raise mistake(f"{describe_type(kind)} is given {got}", f"give it {' and '.join(map(str, kind.keys))}")
    return tuple(coerce(k, sort, f"key {i + 1}") for i, (k, sort) in enumerate(zip(given, kind.keys, strict=True)))


def truth(value: Any, operator: str) -> Term:
    """Return the term of a Bool operand."""
    node = value.term if isinstance(value, Symbol) else constant(value, BOOL) if isinstance(value, bool) else None
    if node is None or not isinstance(node.type, BoolType):
        if isinstance(value, Helper):
            value.refuse(operator, "")
        what = describe_type(node.type) if node is not None else repr(value)
        binds = operator in ("&", "|", "~")
        shape = "~(a >= b)" if operator == "~" else f"(a >= b) {operator} c"
        advice = f"put parentheses round the comparison: {shape}" if binds else "give it a condition"
        raise mistake(f"{what} is no operand of {operator}", advice)
    return node


def coerce(value: Any, kind: ScalarType, role: str) -> Term:
    """Return a value as a term of the given type. Numbers of different names mix, and all other types must agree."""
    if isinstance(value, Symbol):
        got = value.term.type
        if got == kind or (isinstance(got, NumberType) and isinstance(kind, NumberType) and kind.signed >= got.signed):
            return value.term
        if isinstance(kind, OptionType) and (got == kind.of or _in_a_part(got, kind.of)):
            return term("some", (value.term,), None, kind)
        raise mistake(
            f"{role} is {describe_type(got)} where {describe_type(kind)} is meant", "give it a value of that type"
        )
    if isinstance(value, Helper):
        value.refuse(role, "")
    if isinstance(kind, BoolType) and isinstance(value, bool):
        return constant(value, kind)
    if (
        isinstance(kind, NumberType)
        and isinstance(value, int)
        and not isinstance(value, bool)
        and (value >= 0 or kind.signed)
    ):
        return constant(value, kind)
    if isinstance(kind, OptionType) and value is None:
        return constant(None, kind)
    given = f"the function {value.__name__}" if inspect.isfunction(value) else repr(value)
    raise mistake(f"{role} is {given} where {describe_type(kind)} is meant", advice(value, kind))


def _in_a_part(a: Type, b: ScalarType) -> bool:
    """Return whether both types are one number type: a number is bounded by the part in which it stands, and is the
    same number in the composition."""
    return isinstance(a, NumberType) and isinstance(b, NumberType) and (a.name, a.signed) == (b.name, b.signed)


def pair(a: Any, b: Any, role: str, part: str) -> tuple[Term, Term]:
    """Return both operands as terms of one type, taken from whichever side is symbolic; an Option wins."""
    kinds = [v.term.type for v in (a, b) if isinstance(v, Symbol)]
    scalars = [kind for kind in kinds if not isinstance(kind, MapType | SeqType)]
    if len(scalars) < len(kinds):
        raise mistake(
            f"{role} is asked of a whole map or sequence", "compare entries: forall(Sort, lambda x: s.m[x] == ...)"
        )
    if not scalars:
        raise mistake(
            f"{role} is asked of {a!r} and {b!r}, neither of which depends on the state", "compute it in Python"
        )
    kind = next((k for k in scalars if isinstance(k, OptionType)), scalars[0])
    if isinstance(kind, NumberType):
        kind = INT if any(isinstance(k, NumberType) and k.signed for k in scalars) else NAT
    return coerce(a, kind, f"{part} of {role}"), coerce(b, kind, f"{part} of {role}")


def number(value: Any, role: str) -> Term:
    if isinstance(value, Symbol) and isinstance(value.term.type, NumberType):
        return value.term
    if isinstance(value, int) and not isinstance(value, bool):
        return constant(abs(value), NAT) if value >= 0 else constant(value, INT)
    what = describe_type(value.term.type) if isinstance(value, Symbol) else repr(value)
    raise mistake(f"{what} is no operand of {role}", "only numbers are added, subtracted and ordered")


def arithmetic(op: str, a: Any, b: Any) -> Symbol:
    left, right = number(a, "+ or -"), number(b, "+ or -")
    kind = result_type(left.type, right.type)
    if op == "sub" and not kind.signed:
        op = "monus"
    return Symbol(term(op, (left, right), None, kind))


def compare(op: str, a: Any, b: Any) -> Symbol:
    if op == "eq":
        return Symbol(boolean("eq", *pair(a, b, "==", "a side")))
    return Symbol(boolean(op, number(a, "<, <=, > or >="), number(b, "<, <=, > or >=")))


def choose(test: Any, then: Any, other: Any) -> Symbol:
    """Return if-then-else on symbols; one branch may be a plain Python value."""
    condition = truth(test, "when")
    if isinstance(then, bool) and isinstance(other, bool):
        return Symbol(conditional(condition, constant(then, BOOL), constant(other, BOOL)))
    if isinstance(then, int) and isinstance(other, int):
        return Symbol(conditional(condition, number(then, "when"), number(other, "when")))
    return Symbol(conditional(condition, *pair(then, other, "when", "a branch")))
