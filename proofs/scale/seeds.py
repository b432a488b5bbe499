"""This module computes pseudo-random numbers that depend on their input alone: splitmix64, in NumPy columns."""

import numpy as np

ODD = np.uint64(0x9E3779B97F4A7C15)
_A, _B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mixed(x: np.ndarray) -> np.ndarray:
    """Apply splitmix64's finalizer, a one-to-one map of 64 bits in which each output bit depends on all input bits."""
    x = (x ^ (x >> np.uint64(30))) * _A
    x = (x ^ (x >> np.uint64(27))) * _B
    found: np.ndarray = x ^ (x >> np.uint64(31))
    return found


def seeds_of(base: int, first: int, count: int) -> np.ndarray:
    """Return the seeds of the histories ``first``, ``first`` + 1 …: 64 bits each, distinct for one base seed."""
    numbers = np.arange(first + 1, first + 1 + count, dtype=np.uint64)
    return mixed(np.uint64(base % 2**64) + numbers * ODD)


def seed_of(base: int, history: int) -> int:
    return int(seeds_of(base, history, 1)[0])
