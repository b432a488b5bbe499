"""What a search of systems does by chance: how often they met each fault class, and random choices that depend on the
seed alone."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from fencepost.proofs.testing.coverage import Coverage
from fencepost.properties.conformance_spec import Agreeing
from fencepost.properties.driving import Run, reader_of
from fencepost.properties.history.properties_of import SIGNS
from fencepost.properties.history.signs import counted
from fencepost.properties.history.vocabulary import VOCABULARIES
from hypothesis.internal.conjecture import providers

# Exercised: how often the systems that agreement drove met each danger.
#
# Three things are looked at, and of each danger the one that saw most counts: what the driver did (`Call.dangers`),
# which tagged steps of the model explained events, and what the events show by themselves, as those of histories do.


class Exercised:
    """Feed it every run when it is over."""

    def __init__(self, agreeing: Agreeing) -> None:
        self.agreeing = agreeing
        self.done: Counter[str] = Counter()
        self.vocabulary = VOCABULARIES.get(agreeing.protocol)
        self.rows: list[tuple[int, ...]] = []
        self.runs = 0
        columns = () if self.vocabulary is None else self.vocabulary.columns
        self.read = reader_of({column.name: column.absent for column in columns})

    def over(self, run: Run) -> None:
        """Take note of a run's calls and events."""
        self.runs += 1
        for made in run.made:
            if made.result is not False:  # else it did nothing
                self.done.update(made.call.dangers)
        if self.vocabulary is None:
            return
        codes, first = self.vocabulary.codes, len(self.rows)
        for made in run.made:
            for event in made.events:
                kind, *row = self.read(event)
                if kind in codes:
                    self.rows.append((self.runs, len(self.rows) - first, int(codes[kind]), *map(int, row)))

    def counts(self, coverage: Coverage) -> Mapping[str, int]:
        """Return, by danger, how often it was met in all runs."""
        observed: Mapping[str, int] = {}
        if self.vocabulary is not None and self.rows:
            names = ("history", "step", "kind", *(column.name for column in self.vocabulary.columns))
            table = np.array(self.rows, np.int64)
            columns = {name: table[:, number] for number, name in enumerate(names)}
            observed = counted(SIGNS.get(self.agreeing.protocol, ()), columns)
        names_met = {*self.done, *coverage.dangers, *observed}
        return {n: most for n in names_met if (most := max(self.done[n], coverage.dangers[n], observed.get(n, 0)))}


# The choices of a search depend on its seed, and not on the code around it.
#
# Hypothesis also draws numbers that it finds in the source of the modules at hand: then an edit anywhere, or one more
# import, would lead a search elsewhere, and a seed would mean something else on every machine.  It has no setting for
# that.
#
# It also makes every second of the first examples as small as it can, and then examples that repeat most of the one
# before, since it looks for small ones that fail.  Of a hundred systems that are driven and shortened afterwards, call
# by call, half would be like one another: with `APART` each is drawn anew.

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
