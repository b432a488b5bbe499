"""Sorted sets of states in one, two and more words, also where keys coincide, and the layout of fields in words."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from fencepost.proofs.engines.explore import sets
from fencepost.proofs.engines.explore.packing import Words, pack_fields
from fencepost.proofs.readings.ground import BoundsError, Field


def one_word(draw: np.random.Generator, size: int) -> Words:
    return (draw.integers(0, 2 * size + 1, size).astype(np.uint64),)


def two_words(draw: np.random.Generator, size: int) -> Words:
    """Set columns with so few keys that several states share each."""
    return draw.integers(0, size // 8 + 1, size).astype(np.uint64), draw.integers(0, 12, size).astype(np.uint64)


def three_words(draw: np.random.Generator, size: int) -> Words:
    """The same of three words, of which the last alone tells some states apart."""
    return (*two_words(draw, size), draw.integers(0, 2, size).astype(np.uint64))


def members(states: Words) -> list[tuple[int, ...]]:
    return list(zip(*(c.tolist() for c in states), strict=True))


@pytest.mark.parametrize("make", [one_word, two_words, three_words])
@pytest.mark.parametrize("size", [1, 2, 7, 100, 3000])
def test_set_operations(make: Callable[[np.random.Generator, int], Words], size: int) -> None:
    """Sorting, union and difference are those of Python's sets."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        raw, other = make(draw, size), make(draw, size)
        expected, others = set(members(raw)), set(members(other))
        mine, seen = sets.sort_unique(raw), sets.sort_unique(other)
        assert members(mine) == sorted(expected)
        left = sets.subtract(mine, seen)
        assert members(left) == sorted(expected - others)
        assert members(sets.merge(left, seen)) == sorted(expected | others)
        assert members(sets.sort_unique(sets.join([mine, seen]), parts=2)) == sorted(expected | others)
        for row, member in enumerate(members(mine)):
            one = tuple(np.array([c], np.uint64) for c in member)
            assert sets.position(mine, one) == row
            assert (sets.position(seen, one) is None) == (member not in others)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_several_words_come_back(count: int) -> None:
    """The key of a state of several words gives its highest word back."""
    draw = np.random.default_rng(5)
    words = tuple(draw.integers(0, 2**64, 1000, dtype=np.uint64) for _ in range(count))
    back = sets.to_words(sets.to_set_order(words))
    assert all(np.array_equal(a, b) for a, b in zip(words, back, strict=True))


def test_ranges_keep_equal_keys_together() -> None:
    """Cut at pivots, a set falls into ranges that hold all of it and share no key."""
    states = sets.sort_unique(two_words(np.random.default_rng(1), 500))
    ends = sets.cuts(states, sets.pivots(states, 7))
    keys = [set(states[0][a:b].tolist()) for a, b in itertools.pairwise(ends)]
    assert sum(map(len, keys)) == len(set(states[0].tolist()))


def fields(*sizes: int) -> list[Field]:
    return [Field(f"f{i}", f"f{i}", size - 1, truth=False) for i, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((2, 3, 5, 1, 17, 256, 2), 1),
        ((300, 2, 70000, 2, 3), 1),
        ((8,) * 21, 1),
        ((5,) * 22, 1),
        ((6,) * 23, 1),
        ((8,) * 30, 2),
        ((5,) * 45, 2),
        ((2**40, 2**40), 2),
        ((8,) * 50, 3),
        ((1024, 2**40, 2**40, 2**40), 3),
    ],
)
def test_layouts_hold_every_value(sizes: tuple[int, ...], words: int) -> None:
    """Packed and unpacked, values come back, and no two cells overlap; bits are shared only where that saves a word."""
    packing = pack_fields("P", fields(*sizes))
    assert packing.words == words
    taken: set[tuple[int, int]] = set()
    for cell in packing.cells:
        bits = {(cell.word, cell.offset + b) for b in range(cell.bits)}
        assert not bits & taken
        assert max(b for _, b in bits) < 64
        taken |= bits
    draw = np.random.default_rng(2)
    for _ in range(50):
        values = tuple(int(draw.integers(0, size)) for size in sizes)
        assert packing.unpack(packing.pack(values)) == values
    assert packing.unpack(packing.pack(tuple(s - 1 for s in sizes))) == tuple(s - 1 for s in sizes)


def test_a_state_beyond_all_words_is_refused() -> None:
    """The message names the largest variables."""
    with pytest.raises(BoundsError, match=r"more than the 1024 that are packed.*f1 40, f2 40, f3 40.*f0 10"):
        pack_fields("P", fields(1024, *[2**40] * 26))
