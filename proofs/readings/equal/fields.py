"""This module presents a state of packed fields as the terms of a protocol see it. Numbers are bit vectors, so that one
solver has both."""

import itertools
from collections.abc import Sequence
from typing import Any

import z3
from fencepost.model.language.tree.types import BoolType, MapType, OptionType, ScalarType, SeqType
from fencepost.proofs.engines.explore.packing import WORD, Packing
from fencepost.proofs.readings.ground.layout import Layout
from fencepost.proofs.readings.solver.terms import Reading, Value

BITS = 32
"""A number in terms has this many bits."""
LARGEST = 2**24
"""A bound is at most this large, so far below the range of a number that no sum of a protocol wraps."""


class BitReading(Reading):
    """A `BitReading` reads terms over bit vectors instead of integers, within bounds."""

    def number_sort(self) -> Any:
        return z3.BitVecSort(BITS, self.context)

    def number(self, value: int) -> Any:
        return z3.BitVecVal(value, BITS, self.context)

    def raw(self, value: Value, kind: ScalarType) -> Any:
        """Return the number that represents a value in a field."""
        if isinstance(kind, BoolType):
            return z3.If(value[0], self.number(1), self.number(0))
        if isinstance(kind, OptionType):
            return z3.If(value[0], self.raw(value[1:], kind.of) + 1, self.number(0))
        return value[0]

    def decoded(self, raw: Any, kind: ScalarType) -> Value:
        """Return the value that a field's number represents."""
        if isinstance(kind, BoolType):
            return (raw == 1,)
        if isinstance(kind, OptionType):
            return (raw != 0, *self.choose(raw != 0, self.decoded(raw - 1, kind.of), self.zero(kind.of)))
        return (raw,)


class FieldState:
    """A `FieldState` has the variables in a state whose fields hold given numbers."""

    def __init__(self, reading: BitReading, layout: Layout, numbers: Sequence[Any]) -> None:
        self.reading, self.layout, self.numbers = reading, layout, numbers

    def entry(self, name: str, keys: tuple[Value, ...]) -> Value:
        kind, place, reading = self.layout.spec.types[name], self.layout.places[name], self.reading
        if isinstance(kind, MapType):
            asked = [z3.simplify(reading.raw(k, sort)) for k, sort in zip(keys, kind.keys, strict=True)]
            return self._chosen(place.first, place.sizes, asked, kind.value)
        if isinstance(kind, SeqType):
            asked = [z3.simplify(keys[0][0] - 1)]
            return self._chosen(place.first + 1, place.sizes, asked, kind.entry)
        return reading.decoded(self.numbers[place.first], kind)

    def length(self, name: str) -> Any:
        return self.numbers[self.layout.places[name].first]

    def _chosen(self, first: int, sizes: Sequence[int], asked: Sequence[Any], kind: ScalarType) -> Value:
        if all(z3.is_bv_value(key) for key in asked):
            numbers = [key.as_signed_long() for key in asked]
            if not all(0 <= n < size for n, size in zip(numbers, sizes, strict=True)):
                return self.reading.zero(kind)
            offset = 0
            for number, size in zip(numbers, sizes, strict=True):
                offset = offset * size + number
            return self.reading.decoded(self.numbers[first + offset], kind)
        result = self.reading.zero(kind)
        for offset, key in enumerate(itertools.product(*map(range, sizes))):
            hit = self.reading.both([a == self.reading.number(k) for a, k in zip(asked, key, strict=True)])
            result = self.reading.choose(hit, self.reading.decoded(self.numbers[first + offset], kind), result)
        return result


def packed(packing: Packing, numbers: Sequence[Any], context: Any) -> list[Any]:
    """Return the words of a state from its fields' numbers, by the arithmetic of `Packing.pack`."""
    words = [z3.BitVecVal(0, WORD, context) for _ in range(packing.words)]
    for cell in packing.cells:
        total = z3.BitVecVal(0, WORD, context)
        for member in cell.members:
            total = total + z3.ZeroExt(WORD - BITS, numbers[member]) * packing.weight(member)
        words[cell.word] = words[cell.word] | (total << cell.offset)
    return words
