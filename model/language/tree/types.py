"""The types of the language, as the engines see them, are frozen descriptions of what a protocol's annotations name.

In proofs a sort is uninterpreted and a number unbounded. In exploration both are limited by the named bound, and
nothing else about the protocol changes.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencepost.model.language.checks.errors import mistake


@dataclass(frozen=True, slots=True)
class BoolType:
    def __str__(self) -> str:
        return "Bool"


@dataclass(frozen=True, slots=True)
class NumberType:
    """A `NumberType` has integers, which are natural unless it is signed. ``upto`` is the largest value in exploration,
    an expression over bound names."""

    name: str
    upto: str | None = None
    signed: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class AtomsType:
    """An `AtomsType` is a sort whose elements differ only by name; exploration has ``bound`` (a name) of them."""

    name: str
    bound: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class EnumType:
    name: str
    members: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OptionType:
    """An `OptionType` has the values of ``of``, and none."""

    of: "ScalarType"

    def __str__(self) -> str:
        return f"Option[{self.of}]"


@dataclass(frozen=True, slots=True)
class MapType:
    """A `MapType` is a total map; unmentioned keys hold the zero value (0, False, the first member, none)."""

    keys: tuple["ScalarType", ...]
    value: "ScalarType"

    def __str__(self) -> str:
        return f"Map[{', '.join(map(str, (*self.keys, self.value)))}]"


@dataclass(frozen=True, slots=True)
class SeqType:
    """A `SeqType` is a sequence of at most ``bound`` entries, at positions 1, 2, … Since it is bounded, it cannot be
    used in unbounded proofs."""

    entry: "ScalarType"
    bound: str

    def __str__(self) -> str:
        return f"Seq[{self.entry}]"


ScalarType = BoolType | NumberType | AtomsType | EnumType | OptionType
Type = ScalarType | MapType | SeqType
Bounds = Mapping[str, int]

BOOL = BoolType()
NAT = NumberType("Nat")
INT = NumberType("Int", signed=True)


Place = tuple[str, int]


def described(annotation: object) -> Type | None:
    """Return the type of an annotation, or None if it is not one of the language's."""
    kind = vars(annotation).get("type") if hasattr(annotation, "__dict__") else None
    return (
        kind
        if isinstance(kind, BoolType | NumberType | AtomsType | EnumType | OptionType | MapType | SeqType)
        else None
    )


def type_of(annotation: object, role: str = "", where: Place | None = None) -> Type:
    """Return the type of an annotation. Raise ModelError with file and line if it is not one of the language's."""
    kind = described(annotation)
    if kind is None:
        raise mistake(
            f"{role and role + ': '}{annotation!r} is not a type of the language",
            "use Bool, Nat, Int, a Sort, an Enumeration, Option[...], Map[...], Set[...] or Seq[...]",
            where,
        )
    return kind


def scalar(annotation: object, role: str = "", where: Place | None = None) -> ScalarType:
    """Return the type of a single value, which is neither a map nor a sequence."""
    kind = type_of(annotation, role, where)
    if isinstance(kind, MapType | SeqType):
        raise mistake(
            f"{kind} stands where a single value is needed", "give a map several keys: Map[A, B, Value]", where
        )
    return kind


def advice(value: object, kind: ScalarType) -> str:
    """Return the remedy for a message: how a value of that type is written."""
    match kind:
        case EnumType(name, members):
            return f"name a member, such as {name}.{members[0]}"
        case AtomsType():
            return "use a parameter or a quantifier's variable"
        case OptionType(of):
            return f"use None or a value of {of}"
        case BoolType():
            return "use True, False or a condition"
    if value is None:
        return f"declare the variable as Option[{kind}]"
    return (
        "natural numbers start at 0; declare the variable as Int"
        if isinstance(value, int) and value < 0
        else "use a number"
    )


def bound_of(bounds: Bounds, name: str) -> int:
    """Return the bound of that name. A bound of a part is looked up outwards: ``ids.size`` is ``size`` where none is
    given for the part ``ids``. Raise KeyError if there is none."""
    *path, last = name.split(".")
    for depth in range(len(path), -1, -1):
        found = bounds.get(".".join([*path[:depth], last]))
        if found is not None:
            return found
    raise KeyError(name)


def has_bound(bounds: Bounds, name: str) -> bool:
    try:
        return bound_of(bounds, name) is not None
    except KeyError:
        return False


def evaluate_bound(text: str, bounds: Bounds) -> int:
    """Return the value of a bound's expression: ``"ids + 1"`` under ``{"ids": 5}`` is 6. Raise KeyError if a name is
    missing, and ValueError if the text is no such expression."""

    def value(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name() | ast.Attribute():
                return bound_of(bounds, ast.unparse(node))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return value(left) + value(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return value(left) - value(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return value(left) * value(right)
        raise ValueError(f"{text!r} is not a sum or product of bound names and numbers")

    return value(ast.parse(text, mode="eval").body)


UNLIMITED = 1 << 70
"""``UNLIMITED`` is larger than every int64 and every sum of two."""


def unlimited(types: Mapping[str, Type], sizes: Bounds) -> dict[str, int]:
    """Return bounds in which sorts have the given sizes and numbers have no practical limit."""
    bounds = dict(sizes)
    for part in (part for kind in types.values() for part in scalars(kind)):
        if isinstance(part, NumberType) and part.upto is not None:
            for word in part.upto.replace("+", " ").replace("-", " ").replace("*", " ").split():
                if word.isidentifier():
                    bounds.setdefault(word, UNLIMITED)
    return bounds


def scalars(kind: Type) -> Iterator[BoolType | NumberType | AtomsType | EnumType]:
    """Yield the scalar types of which a value of the type is made."""
    match kind:
        case MapType(keys, value):
            for part in (*keys, value):
                yield from scalars(part)
        case OptionType(of):
            yield from scalars(of)
        case SeqType(entry, _):
            yield from scalars(entry)
        case _:
            yield kind
