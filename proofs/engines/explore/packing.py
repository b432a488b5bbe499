"""This module places fields in as few 64-bit words as possible, usually one or two.

A field has bits of its own, within one byte if that can be arranged, since a byte is cheap to cut out of a column of
states. Where a state is just too long for a word, fields share bits as digits of one number (three values of 5 take 7
bits, not 9). Sharing is cheaper than a second word, which doubles the time of a search with NumPy, and adds half to a
compiled one.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from fencepost.proofs.readings.ground import BoundsError, Field
from numpy.typing import NDArray

Words = tuple[NDArray[np.uint64], ...]
WORD, BYTE = 64, 8
MOST = 16
"""A state has at most this many words, which is 1,024 bits, far beyond what can be searched to the end."""


@dataclass(frozen=True)
class Cell:
    """A `Cell` has ``bits`` bits of a word from ``offset`` up, with ``members`` as digits, the first one lowest."""

    word: int
    offset: int
    bits: int
    members: tuple[int, ...]

    @property
    def in_byte(self) -> bool:
        return self.offset // BYTE == (self.offset + self.bits - 1) // BYTE


@dataclass(frozen=True)
class Packing:
    """A `Packing` is the layout of a state. ``sizes[i]`` is the number of values of field i, and ``cell[i]`` the index
    of its cell, or None where the field has only one value."""

    words: int
    sizes: tuple[int, ...]
    cells: tuple[Cell, ...]
    cell: tuple[int | None, ...]

    def weight(self, field: int) -> int:
        """Return the factor by which a field's value is multiplied in its cell."""
        home = self.cell[field]
        assert home is not None
        members = self.cells[home].members
        return product(self.sizes[m] for m in members[: members.index(field)])

    def pack(self, values: Sequence[Any] | NDArray[np.uint64]) -> tuple[Any, ...]:
        """Return the words of one state, or of many where each value is a column of uint64."""
        words = [0] * self.words
        for cell in self.cells:
            words[cell.word] |= sum(values[m] * self.weight(m) for m in cell.members) << cell.offset
        return tuple(words)

    def unpack(self, words: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values of one state, or the columns of many where each word is a column. A field with only one
        value has the number 0."""
        values = [0] * len(self.sizes)
        for cell in self.cells:
            rest = (words[cell.word] >> cell.offset) & ((1 << cell.bits) - 1)
            for member in cell.members:
                rest, values[member] = divmod(rest, self.sizes[member])
        return tuple(values)


def product(numbers: object) -> int:
    result = 1
    for number in numbers:  # type: ignore[attr-defined]
        result *= number
    return result


def pack_fields(name: str, fields: Sequence[Field]) -> Packing:
    """Return the shortest layout that fits. Errors: BoundsError, with the largest variables, beyond `MOST` words."""
    sizes = tuple(f.high + 1 for f in fields)
    groups: list[tuple[int, ...]] = [(i,) for i, size in enumerate(sizes) if size > 1]
    shared = _share_bits(groups, sizes)
    for words, choice in itertools.product(range(1, MOST + 1), (groups, shared)):
        cells = _place(choice, sizes, words)
        if cells is not None:
            home = {m: i for i, c in enumerate(cells) for m in c.members}
            return Packing(words, sizes, tuple(cells), tuple(home.get(i) for i in range(len(sizes))))
    raise BoundsError(_too_long(name, fields, shared, sizes))


def _bits(group: Sequence[int], sizes: Sequence[int]) -> int:
    return int(product(sizes[i] for i in group) - 1).bit_length()


def _share_bits(groups: list[tuple[int, ...]], sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Combine fields, those that waste most first, until one word is enough or nothing more is gained."""
    left, result = list(groups), []
    total = sum(_bits(g, sizes) for g in groups)
    while total > WORD:
        count = Counter(sizes[g[0]] for g in left if sizes[g[0]] & (sizes[g[0]] - 1))
        count.update({s: n for s, n in Counter(sizes[g[0]] for g in left).items() if s not in count})
        best = _best_share(count)
        if best is None:
            break
        chosen: list[int] = []
        for size in best:
            group = next(g for g in left if sizes[g[0]] == size)
            left.remove(group)
            chosen.extend(group)
        total -= sum(int(s - 1).bit_length() for s in best) - _bits(chosen, sizes)
        result.append(tuple(chosen))
    return [*result, *left]


def _best_share(count: Counter[int]) -> tuple[int, ...] | None:
    """Return the sizes whose product, within a byte, saves most bits, and the fewest sizes that do."""
    best, most = None, 0
    small = sorted(s for s in count if 1 < s <= 128)
    for many in range(2, 6):
        for sizes in itertools.combinations_with_replacement(small, many):
            whole = product(sizes)
            if whole > 256 or any(count[s] < n for s, n in Counter(sizes).items()):
                continue
            saved = sum(int(s - 1).bit_length() for s in sizes) - int(whole - 1).bit_length()
            if saved > most:
                best, most = sizes, saved
    return best


def _place(groups: list[tuple[int, ...]], sizes: Sequence[int], words: int) -> list[Cell] | None:
    """Place the largest fields first, each within a byte or else within a word. Return None if neither is possible."""
    order = sorted(groups, key=lambda g: (-_bits(g, sizes), g))
    for unit in (BYTE, WORD):
        used = [0] * (words * WORD // unit)
        cells: list[Cell] | None = []
        for group in order:
            bits = _bits(group, sizes)
            where = _room(used, bits, unit)
            if where is None:
                cells = None
                break
            bit = where * unit + used[where]
            assert cells is not None
            cells.append(Cell(bit // WORD, bit % WORD, bits, group))
            _take(used, where, bits, unit)
        if cells is not None:
            return cells
    return None


def _room(used: list[int], bits: int, unit: int) -> int | None:
    """Return the first unit, or start of a row of empty units of one word, with room for that many bits."""
    if bits <= unit:
        return next((i for i, u in enumerate(used) if u + bits <= unit), None)
    need, per_word = -(-bits // unit), WORD // unit
    for i in range(len(used) - need + 1):
        if i // per_word == (i + need - 1) // per_word and not any(used[i : i + need]):
            return i
    return None


def _take(used: list[int], where: int, bits: int, unit: int) -> None:
    while bits > 0:
        here = min(bits, unit - used[where])
        used[where] += here
        bits -= here
        where += 1


def _too_long(name: str, fields: Sequence[Field], groups: list[tuple[int, ...]], sizes: Sequence[int]) -> str:
    bits: Counter[str] = Counter()
    for field in fields:
        bits[field.variable or field.name] += field.high.bit_length()
    largest = ", ".join(f"{variable} {n}" for variable, n in bits.most_common())
    total = sum(_bits(g, sizes) for g in groups)
    return (
        f"{name}: a state takes {total} bits under these bounds, more than the {MOST * WORD} that are packed; "
        f"choose smaller bounds for the largest variables (bits): {largest}"
    )


__all__ = ["Cell", "Packing", "Words", "pack_fields"]
