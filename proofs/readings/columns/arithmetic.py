"""The functions that compiled columns call: reading outside a map's keys, and sums that refuse to overflow."""

from typing import Any

import numpy as np


def held(key: Any, domain: int) -> Any:
    """A key as it is, or the number of the cell that holds the zero value if it lies outside."""
    return np.where((key >= 0) & (key < domain), key, domain)


def is_inside(key: Any, domain: int) -> Any:
    return np.bool_(True) & (key >= 0) & (key < domain)


def plus(a: Any, b: Any) -> Any:
    """The sum.  OverflowError where it has no int64."""
    total = np.add(a, b)
    if np.any(((a ^ total) & (b ^ total)) < 0):
        raise OverflowError("a sum lies beyond int64, which is all that columns hold; use the plain reading")
    return total


def minus(a: Any, b: Any) -> Any:
    """The difference.  OverflowError where it has no int64."""
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
"""Names that the source of a compiled step may use."""
