"""Several small integers in one int64, so that a plain `np.sort` (SIMD) orders rows by more than one column.

A key that does not fit would wrap and hide violations without a sound, and ids reach 2^63 - 1. So every range is
measured first, in Python's unbounded integers; values too far apart are replaced by their ranks, which keep their order
and always fit.
"""

from collections.abc import Sequence

import numpy as np

BITS = 63  # of a non-negative int64
FEW = 24  # distinct values up to which one pass for each is cheaper than sorting


def bits_for(count: int) -> int:
    """Bits that hold 0 … count - 1."""
    return max(0, count - 1).bit_length()


def narrowed(arrays: Sequence[np.ndarray], bits: int) -> tuple[list[np.ndarray], int]:
    """The arrays on a common scale from 0 that keeps their order and equality, and the bits that hold its values + 1.

    They are shifted if that fits into `bits`, otherwise ranked among one another: n values then need at most
    `bits_for(n + 1)` bits, even where `bits` is less.
    """
    filled = [array for array in arrays if len(array)]
    if not filled:
        return [array.astype(np.int64) for array in arrays], 1
    least = min(int(array.min()) for array in filled)
    greatest = max(int(array.max()) for array in filled)
    if bits_for(greatest - least + 2) <= bits:
        return [array.astype(np.int64) - least for array in arrays], bits_for(greatest - least + 2)
    values, ranks = np.unique(np.concatenate([array.astype(np.int64) for array in arrays]), return_inverse=True)
    return np.split(ranks.astype(np.int64), np.cumsum([len(array) for array in arrays])[:-1]), bits_for(len(values) + 1)


def packed(high: np.ndarray, low: np.ndarray, low_bits: int) -> np.ndarray:
    """One int64 per row that orders by `high`, then `low`; both non-negative. Raises OverflowError if it cannot."""
    if len(high) and bits_for(int(high.max()) + 1) + low_bits > BITS:
        raise OverflowError(f"{int(high.max())} and {low_bits} more bits exceed {BITS} bits; use smaller pieces")
    key: np.ndarray = (high.astype(np.int64) << low_bits) | low
    return key


def sorted_stably(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(order, key[order]) for non-negative keys; equal keys keep their order.

    Where the place fits beside the key it is sorted along with it, several times faster than an argsort.
    """
    places = bits_for(len(key))
    if not len(key) or bits_for(int(key.max()) + 1) + places > BITS:
        order = np.argsort(key, kind="stable")
        return order, key[order]
    both = np.sort((key << places) | np.arange(len(key)))
    return both & ((1 << places) - 1), both >> places


def gathered(values: np.ndarray) -> np.ndarray:
    """The order that brings equal non-negative values together and keeps the order among them.

    A pass for each value beats any sort while they are few, as brokers are.
    """
    if len(values) and int(values.max()) < FEW:
        small = values.astype(np.int8)
        return np.concatenate([np.flatnonzero(small == value) for value in range(int(small.max()) + 1)])
    return sorted_stably(values)[0]
