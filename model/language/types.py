"""The types of the language, and the classes by which a protocol names them.

A protocol writes ``class Broker(Sort, bound="brokers")``, ``class Id(Nat, upto="ids")``, ``Map[Broker, Id]``; the engines see
the frozen descriptions below.  In proofs a sort is uninterpreted and a number unbounded; in exploration both are cut to the
named bound, and nothing else about the protocol changes.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVarTuple

from .errors import mistake


@dataclass(frozen=True, slots=True)
class BoolType:
    def __str__(self) -> str:
        return "Bool"


@dataclass(frozen=True, slots=True)
class NumberType:
    """Integers; natural unless signed.  ``upto``: the largest value in exploration, an expression over bound names."""

    name: str
    upto: str | None = None
    signed: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class AtomsType:
    """An uninterpreted sort: elements differ only by name.  ``bound`` names how many there are in exploration."""

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
    """A value of ``of``, or none."""

    of: "ScalarType"

    def __str__(self) -> str:
        return f"Option[{self.of}]"


@dataclass(frozen=True, slots=True)
class MapType:
    """A total map; unmentioned keys hold the zero value (0, False, the first member, none)."""

    keys: tuple["ScalarType", ...]
    value: "ScalarType"

    def __str__(self) -> str:
        return f"Map[{', '.join(map(str, (*self.keys, self.value)))}]"


@dataclass(frozen=True, slots=True)
class SeqType:
    """A sequence of at most ``bound`` entries, at positions 1, 2, …  Bounded, so not for unbounded proofs."""

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


def is_number(kind: Type) -> bool:
    return isinstance(kind, NumberType)


class Bool:
    """True or False."""

    type: Any = BOOL


class Int:
    """An integer, negative ones included."""

    type: Any = INT


class Nat:
    """A natural number.  ``class Id(Nat, upto="ids")`` gives it a name and its largest value in exploration."""

    type: Any = NAT

    def __init_subclass__(cls, upto: str | int | None = None) -> None:
        cls.type = NumberType(cls.__name__, None if upto is None else str(upto))


class Sort:
    """Elements without structure, such as brokers.  ``bound`` names how many there are in exploration."""

    type: Any = None

    def __init_subclass__(cls, bound: str) -> None:
        cls.type = AtomsType(cls.__name__, bound)


class Enumeration:
    """A handful of named values: the class attributes in capital letters, in order; the first is the zero value."""

    type: Any = None

    def __init_subclass__(cls) -> None:
        from .symbols import Symbol
        from .terms import constant

        names = tuple(name for name in vars(cls) if name.isupper())
        cls.type = EnumType(cls.__name__, names)
        for number, name in enumerate(names):
            setattr(cls, name, Symbol(constant(number, cls.type)))


Ts = TypeVarTuple("Ts")

if TYPE_CHECKING:

    class Map(Generic[*Ts]): ...

    class Set(Generic[*Ts]): ...

    class Seq(Generic[*Ts]): ...

    class Option(Generic[*Ts]): ...

    class Ghost(Generic[*Ts]): ...

    class Constant(Generic[*Ts]): ...

else:

    class _Wrapped:
        """An annotation that carries a type and, for variables, the role they play."""

        def __init__(self, kind: Type, role: str = "") -> None:
            self.type, self.role = kind, role

    class _Maker:
        def __init__(self, make) -> None:
            self.make = make

        def __getitem__(self, arguments):
            return self.make(*(arguments if isinstance(arguments, tuple) else (arguments,)))

    Map = _Maker(lambda *a: _Wrapped(MapType(tuple(scalar(k) for k in a[:-1]), scalar(a[-1]))))
    Set = _Maker(lambda *keys: _Wrapped(MapType(tuple(scalar(k) for k in keys), BOOL)))
    Seq = _Maker(lambda entry, bound: _Wrapped(SeqType(scalar(entry), bound)))
    Option = _Maker(lambda of: _Wrapped(OptionType(scalar(of))))
    Ghost = _Maker(lambda of: _Wrapped(type_of(of), "ghost"))
    Constant = _Maker(lambda of: _Wrapped(scalar(of), "constant"))


def type_of(annotation: object) -> Type:
    """The description behind an annotation; a mistake with file and line if it is not one of the language's."""
    kind = getattr(annotation, "type", None)
    if not isinstance(kind, BoolType | NumberType | AtomsType | EnumType | OptionType | MapType | SeqType):
        raise mistake(
            f"{annotation!r} is not a type of the language",
            "use Bool, Nat, Int, a Sort, an Enumeration, Option[...], Map[...], Set[...] or Seq[...]",
        )
    return kind


def scalar(annotation: object) -> ScalarType:
    kind = type_of(annotation)
    if isinstance(kind, MapType | SeqType):
        raise mistake(f"{kind} stands where a single value is needed", "give a map several keys: Map[A, B, Value]")
    return kind


def evaluate_bound(text: str, bounds: Bounds) -> int:
    """``"ids + 1"`` under ``{"ids": 5}`` is 6.  KeyError if a name is missing, ValueError if it is no such expression."""

    def value(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name):
                return bounds[name]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return value(left) + value(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return value(left) - value(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return value(left) * value(right)
        raise ValueError(f"{text!r} is not a sum or product of bound names and numbers")

    return value(ast.parse(text, mode="eval").body)
