"""Bounded checking: the shortest violation from the initial state, by Z3, on a reading of its own.

It decides nothing that `explore` does not: it is a second opinion on the explorer's kernels, from the same tree by
another way (Boolean circuits instead of NumPy over packed states), and a tenth of the processor time of `verify`.  Of
fifteen mistakes planted in the kernels `verify id-blocks` found twelve, one of them (a subtraction that wraps below
zero) by this engine alone; the explorer's tests against plain Python find the other three.
"""

from fencepost.proofs.engines.bounded.checking import BoundedCheck, Finding, check

__all__ = ["BoundedCheck", "Finding", "check"]
