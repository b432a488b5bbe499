"""This module decides which scalar fields a protocol's variables become under bounds, and how a state is written in
them and read back.

A value is written as its number. False and True are 0 and 1, and an Option is 0 for none and one more than its value
otherwise. A map has one field for each key. A sequence has its length and one field for each entry, unused ones 0, so
that equal states have equal fields.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
    evaluate_bound,
)
from fencepost.proofs.results import State

Bounds = Mapping[str, int]


class BoundsError(InputError):
    """This error names bounds under which the protocol cannot be explored, the reason, and what to do."""


@dataclass(frozen=True)
class Field:
    """A `Field` is one scalar of the packed state, 0 … high. The counter of a budget has no variable."""

    name: str
    variable: str | None
    high: int
    truth: bool


@dataclass(frozen=True)
class Place:
    """A `Place` is a variable's first field, with the number of values of each key or position."""

    first: int
    sizes: tuple[int, ...]
    highs: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    spec: Spec
    bounds: Bounds
    fields: tuple[Field, ...]
    places: dict[str, Place]
    budgets: dict[str, int]

    def decode(self, values: Sequence[int]) -> State:
        """Return the state that field values represent, without budget counters."""
        return {name: self._read(name, values) for name in self.spec.types}

    def _read(self, name: str, values: Sequence[int]) -> Any:
        kind, place = self.spec.types[name], self.places[name]
        if isinstance(kind, MapType):
            keys = itertools.product(*map(range, place.sizes))
            cells = zip(keys, values[place.first : place.first + _product(place.sizes)], strict=True)
            return {
                tuple(plain(k, s) for k, s in zip(key, kind.keys, strict=True)): plain(v, kind.value)
                for key, v in cells
                if v
            }
        if isinstance(kind, SeqType):
            entries = values[place.first + 1 : place.first + 1 + values[place.first]]
            return tuple(plain(v, kind.entry) for v in entries)
        return plain(values[place.first], kind)

    def encode(self, state: State) -> list[int]:
        """Return the field values of a state, with unused budgets. Errors: BoundsError outside the bounds."""
        values = [0] * len(self.fields)
        for name in self.spec.types:
            self.write(values, name, state[name])
        for value, field in zip(values, self.fields, strict=True):
            self._fit(value, field.high, field.name)
        return values

    def write(self, values: list[int], name: str, content: Any) -> None:
        """Write one variable into field values. Errors: BoundsError for a key or a length outside the bounds."""
        kind, place = self.spec.types[name], self.places[name]
        if isinstance(kind, MapType):
            values[place.first : place.first + _product(place.sizes)] = [0] * _product(place.sizes)
            for key, value in content.items():
                index = 0
                for k, s, size in zip(key, kind.keys, place.sizes, strict=True):
                    index = index * size + self._fit(raw(k, s), size - 1, f"a key of {name}")
                values[place.first + index] = raw(value, kind.value)
        elif isinstance(kind, SeqType):
            self._fit(len(content), place.sizes[0], f"the length of {name}")
            unused = [0] * (place.sizes[0] - len(content))
            entries = [len(content), *(raw(v, kind.entry) for v in content), *unused]
            values[place.first : place.first + len(entries)] = entries
        else:
            values[place.first] = raw(content, kind)

    def _fit(self, value: int, high: int, what: str) -> int:
        if not 0 <= value <= high:
            raise BoundsError(
                f"{self.spec.name}: {what} is {value}, beyond 0 … {high}; choose larger bounds than {dict(self.bounds)}"
            )
        return value


def plain(value: int, kind: ScalarType) -> Any:
    """Return the value that a field's number represents."""
    if isinstance(kind, BoolType):
        return bool(value)
    if isinstance(kind, OptionType):
        return None if value == 0 else plain(value - 1, kind.of)
    return value


def raw(value: Any, kind: ScalarType) -> int:
    """Return the number that represents a value in a field."""
    if isinstance(kind, OptionType):
        return 0 if value is None else 1 + raw(value, kind.of)
    return int(value)


def highest(kind: ScalarType, bounds: Bounds, what: str) -> int:
    """Return the largest number that represents a value of this type. Errors: BoundsError, naming ``what``."""
    match kind:
        case BoolType():
            return 1
        case EnumType(_, members):
            return len(members) - 1
        case OptionType(of):
            return 1 + highest(of, bounds, what)
        case AtomsType(name, bound):
            return look_up(bounds, bound, f"{what}: the sort {name}") - 1
        case NumberType(name, upto, signed):
            if upto is None:
                advice = f'class {"Epoch" if name == "Nat" else name}(Nat, upto="epochs")'
                sign = "may be negative and " if signed else ""
                raise BoundsError(f"{what} is {name}, which {sign}has no largest value; give it a type like `{advice}`")
            return look_up(bounds, upto, f"{what}: the number {name}")
    raise AssertionError(kind)


def look_up(bounds: Bounds, text: str, what: str) -> int:
    """Return the value of a bound expression. Errors: BoundsError for a missing or negative bound."""
    try:
        value = evaluate_bound(text, bounds)
    except KeyError as error:
        have = ", ".join(f"{k}={v}" for k, v in bounds.items()) or "none"
        raise BoundsError(
            f"{what} needs the bound {error.args[0]!r}, and the bounds given are: {have}; add it"
        ) from None
    except ValueError as error:
        raise BoundsError(f"{what}: {error}") from None
    if value < 0:
        raise BoundsError(f"{what}: the bound {text!r} is {value} under {dict(bounds)}; it must not be negative")
    return value


def lay_out(spec: Spec, bounds: Bounds) -> Layout:
    """Return fields in order of declaration, then budget counters. Errors: BoundsError for an unbounded variable."""
    fields: list[Field] = []
    places: dict[str, Place] = {}
    for name, kind in spec.types.items():
        what = f"{spec.name}.{name}"
        first = len(fields)
        if isinstance(kind, MapType):
            sizes = tuple(highest(k, bounds, f"a key of {what}") + 1 for k in kind.keys)
            for key, size in zip(kind.keys, sizes, strict=True):
                if size < 1:
                    raise BoundsError(
                        f"{what} has keys of the sort {key}, which has no elements under these bounds; "
                        "give that sort a bound of at least 1"
                    )
            high = highest(kind.value, bounds, what)
            truth = isinstance(kind.value, BoolType)
            keys = itertools.product(*map(range, sizes))
            fields.extend(Field(f"{name}[{','.join(map(str, key))}]", name, high, truth) for key in keys)
            places[name] = Place(first, sizes, (high,))
        elif isinstance(kind, SeqType):
            room = look_up(bounds, kind.bound, f"{what}: its length")
            high = highest(kind.entry, bounds, f"an entry of {what}")
            fields.append(Field(f"length({name})", name, room, False))
            fields.extend(Field(f"{name}[{i + 1}]", name, high, isinstance(kind.entry, BoolType)) for i in range(room))
            places[name] = Place(first, (room,), (room, high))
        else:
            high = highest(kind, bounds, what)
            fields.append(Field(name, name, high, isinstance(kind, BoolType)))
            places[name] = Place(first, (), (high,))
    budgets: dict[str, int] = {}
    for action in spec.actions.values():
        if action.budget is not None and action.budget not in budgets:
            budgets[action.budget] = len(fields)
            most = look_up(bounds, action.budget, f"{spec.name}.{action.name}: its budget")
            fields.append(Field(f"budget {action.budget}", None, most, False))
    for field in fields:
        if field.high < 0:
            raise BoundsError(
                f"{spec.name}: {field.name} is of a sort without elements; give that sort a bound of at least 1"
            )
    return Layout(spec, dict(bounds), tuple(fields), places, budgets)


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result
