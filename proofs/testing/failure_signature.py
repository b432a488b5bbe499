"""Differences from the model that break no promise, of systems that are driven through a program that speaks to them.

What such a system does otherwise than the model, and which harms nobody as far as can be seen, is told as what it is,
and the search goes on past it: the rest of the program is held against the promises, and the next one against the model
again.  Two differences are one where the same call shows the same event against the same conditions.
"""

from fencepost.proofs.testing.failures import Disagreed
from fencepost.properties.driving import read

Signature = tuple[str, str, int, tuple[tuple[str, str], ...]]
"""(call, kind of event or empty, its error, conditions: the step and the rule of each)."""

AFTER = "it had differed from the model before, which is told by itself"


def signature(disagreed: Disagreed) -> Signature:
    """What makes it the difference that it is, whatever values are in it."""
    evidence = disagreed.evidence
    event, call = evidence.event, evidence.made.call.table_name
    kind, error = ("", 0) if event is None else (read(event, "kind"), int(read(event, "error", 0)))
    return call, kind, error, tuple(sorted({(c.action, c.rule) for c in disagreed.conjuncts}))
