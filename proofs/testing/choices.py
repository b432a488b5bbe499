"""The choices of a search depend on its seed, and not on the code around it.

Hypothesis also draws numbers that it finds in the source of the modules at hand: then an edit anywhere, or one more
import, would lead a search elsewhere, and a seed would mean something else on every machine.  It has no setting for
that.

It also makes every second of the first examples as small as it can, and then examples that repeat most of the one
before, since it looks for small ones that fail.  Of a hundred systems that are driven and shortened afterwards, call by
call, half would be like one another: with `APART` each is drawn anew.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hypothesis.internal.conjecture import providers

FOUND = "_get_local_constants"
"""Of Hypothesis 6.131 and later: gives the numbers found, and remembers for each range which of them lie in it."""


@contextmanager
def by_seed_alone() -> Iterator[None]:
    """While this lasts nothing is found in the code around."""
    if not hasattr(providers, FOUND):
        yield
        return
    from hypothesis.internal.constants_ast import Constants

    before = getattr(providers, FOUND)
    setattr(providers, FOUND, Constants)
    providers.CONSTANTS_CACHE.cache.clear()
    try:
        yield
    finally:
        setattr(providers, FOUND, before)
        providers.CONSTANTS_CACHE.cache.clear()


class EachAnew(providers.HypothesisProvider):
    """Draws as Hypothesis does, for a search that makes nothing of the examples before."""


APART: Mapping[str, Any] = {}
"""The settings with which each example is drawn anew; none where this version of Hypothesis has no such setting."""

if hasattr(providers, "AVAILABLE_PROVIDERS"):
    providers.AVAILABLE_PROVIDERS["fencepost"] = f"{__name__}.{EachAnew.__name__}"
    APART = {"backend": "fencepost"}
