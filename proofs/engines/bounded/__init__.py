"""Bounded checking: the shortest violation from the initial state, by Z3, on a reading of its own."""

from fencepost.proofs.engines.bounded.checking import BoundedCheck, Finding, check

__all__ = ["BoundedCheck", "Finding", "check"]
