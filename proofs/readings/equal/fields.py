"""This module presents a state of packed fields as the terms of a protocol see it. Numbers are bit vectors, so that one
solver has both."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import z3
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import BoolType, Bounds, MapType, OptionType, ScalarType, SeqType
from fencepost.proofs.engines.explore.packing import WORD, Packing
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.readings.ground.layout import Layout
from fencepost.proofs.readings.solver.terms import Reading, Value

LARGEST = 2**24
"""A bound is at most this large."""
MARGIN = 8
"""A number has so many bits more than the largest one takes, one of which is its sign, so that no sum of a protocol
wraps."""


class BitReading(Reading):
    """A `BitReading` reads terms over bit vectors instead of integers, within bounds. ``bits`` is the width of a
    number, and `number` refuses those that leave no such margin."""

    def __init__(self, spec: Spec, bounds: Bounds, constants: Mapping[str, Any], highest: int) -> None:
        self.bits = highest.bit_length() + MARGIN
        super().__init__(spec, bounds, constants)

    def number_sort(self) -> Any:
        return z3.BitVecSort(self.bits, self.context)

    def number(self, value: int) -> Any:
        if abs(value).bit_length() > self.bits - MARGIN:
            raise BoundsError(f"{self.spec.name}: {value:,} has no room in {self.bits} bits of Z3")
        return z3.BitVecVal(value, self.bits, self.context)

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
            some = z3.Not(raw == 0)
            return (some, *self.choose(some, self.decoded(raw - 1, kind.of), self.zero(kind.of)))
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
    """Return the words of a state from its fields' numbers, each within its bound, as `Packing.pack` makes them. Cells
    do not overlap, so that a word is made of their bits as they are."""
    words: list[list[Any]] = [[] for _ in range(packing.words)]
    filled = [0] * packing.words
    for cell in sorted(packing.cells, key=lambda cell: cell.offset):
        digits = [z3.Extract(cell.bits - 1, 0, numbers[member]) for member in cell.members]
        total, *further = [d * packing.weight(m) if m != cell.members[0] else d
                           for d, m in zip(digits, cell.members, strict=True)]  # fmt: skip
        words[cell.word] += [*_zeros(cell.offset - filled[cell.word], context), sum(further, total)]
        filled[cell.word] = cell.offset + cell.bits
    whole = [[*_zeros(WORD - upto, context), *reversed(low)] for low, upto in zip(words, filled, strict=True)]
    return [z3.Concat(*parts) if len(parts) > 1 else parts[0] for parts in whole]


def _zeros(bits: int, context: Any) -> list[Any]:
    return [z3.BitVecVal(0, bits, context)] if bits else []
