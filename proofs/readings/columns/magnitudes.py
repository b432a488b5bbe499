"""This module makes sums in columns exact. The possible size of a run's numbers is computed before the run, and some
operations refuse to overflow where the size is not known."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term, subterms
from fencepost.model.language.tree.types import NumberType, OptionType

# Every value that an action computes is at most ``times`` the largest number before plus ``plus``, which bounds what a
# run of many steps can reach. Where that stays below 2^63, columns need no check of their sums.

LIMIT = 2**63


class Growth(NamedTuple):
    """A `Growth` bounds a value by ``times`` the largest magnitude before, plus ``plus``."""

    times: int
    plus: int

    def __or__(self, other: object) -> "Growth":
        assert isinstance(other, Growth)
        return Growth(max(self.times, other.times), max(self.plus, other.plus))


NOTHING = Growth(0, 0)


def growth_of(node: Term, constants: Mapping[str, int]) -> Growth:
    """Return how large a term can be. Values that are not numbers count as numbers that were there before."""
    match node.op:
        case "const":
            return Growth(0, abs(int(node.data or 0)))
        case "constant":
            return Growth(0, abs(constants[node.data]))
        case "add" | "sub" | "monus":
            a, b = (growth_of(x, constants) for x in node.args)
            return Growth(a.times + b.times, a.plus + b.plus)
        case "ite":
            return growth_of(node.args[1], constants) | growth_of(node.args[2], constants)
        case "some":
            inner = growth_of(node.args[0], constants)
            return Growth(inner.times, inner.plus + 1)
    return Growth(1, 0)


def growth_of_step(
    conditions: Iterable[Term], updates: Iterable[Update], constants: Mapping[str, int]
) -> tuple[Growth, Growth]:
    """Return the largest sum that a step computes, and the largest value that it stores."""
    computed = stored = NOTHING
    updates = tuple(updates)
    for root in (*conditions, *(u.value for u in updates), *(k for u in updates for k in u.keys)):
        for node in subterms(root):
            if node.op in ("add", "sub", "some", "monus"):
                computed |= growth_of(node, constants)
    for u in updates:
        if isinstance(u.value.type, NumberType | OptionType):
            stored |= growth_of(u.value, constants)
    return computed, stored


def stays_small(start: int, steps: int, computed: Growth, stored: Growth) -> bool:
    """Return whether no sum can leave int64 in ``steps`` steps from numbers of at most ``start``."""
    largest = start
    for _ in range(steps):
        if computed.times * largest + computed.plus >= LIMIT:
            return False
        grown = max(largest, stored.times * largest + stored.plus)
        if grown == largest:
            return True
        largest = grown
    return computed.times * largest + computed.plus < LIMIT


# Compiled columns call these functions to read outside a map's keys, and for sums that refuse to overflow.


def held(key: Any, domain: int) -> Any:
    """Return a key as it is, or the number of the cell with the zero value if the key lies outside."""
    return np.where((key >= 0) & (key < domain), key, domain)


def is_inside(key: Any, domain: int) -> Any:
    return np.bool_(True) & (key >= 0) & (key < domain)


def plus(a: Any, b: Any) -> Any:
    """Return the sum of two columns. Errors: OverflowError where it does not fit into int64."""
    total = np.add(a, b)
    if np.any(((a ^ total) & (b ^ total)) < 0):
        raise OverflowError("a sum lies beyond int64, which is all that columns hold; use the plain reading")
    return total


def minus(a: Any, b: Any) -> Any:
    """Return the difference of two columns. Errors: OverflowError where it does not fit into int64."""
    total = np.subtract(a, b)
    if np.any(((a ^ b) & (a ^ total)) < 0):
        raise OverflowError("a difference lies beyond int64, which is all that columns hold; use the plain reading")
    return total


NAMES: dict[str, Any] = {
    "TRUE": np.True_,
    "FALSE": np.False_,
    "bool_": np.bool_,
    "broadcast_to": np.broadcast_to,
    "count_nonzero": np.count_nonzero,
    "held": held,
    "indices": np.indices,
    "is_inside": is_inside,
    "maximum": np.maximum,
    "minus": minus,
    "plus": plus,
    "where": np.where,
}
"""The source of a compiled step may use these names."""
