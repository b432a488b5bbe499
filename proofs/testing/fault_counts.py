"""This module counts how often a search of systems met each fault class, and makes random choices depend on the seed
alone."""

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
# which tagged steps of the model explained events, and the dangers in the events themselves, as in histories.


class Exercised:
    """An `Exercised` counts faults in finished runs."""

    def __init__(self, agreeing: Agreeing) -> None:
        self.agreeing = agreeing
        self.done: Counter[str] = Counter()
        self.vocabulary = VOCABULARIES.get(agreeing.protocol)
        self.rows: list[tuple[int, ...]] = []
        self.runs = 0
        columns = () if self.vocabulary is None else self.vocabulary.columns
        self.read = reader_of({column.name: column.absent for column in columns})

    def over(self, run: Run) -> None:
        """Count the calls and events of a finished run."""
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
# import, would lead a search elsewhere, and a seed would mean something else on every machine. It has no setting for
# that.
#
# It also makes every second of the first examples as small as it can, and then examples that repeat most of the one
# before, since it looks for small ones that fail. Of a hundred systems that are driven and shortened afterwards, call
# by call, half would be like one another: with `APART` each is drawn anew.

FOUND = "_get_local_constants"
"""This function of Hypothesis 6.131 and later returns the numbers found in the source code, and remembers which of them
are in each range."""


@contextmanager
def by_seed_alone() -> Iterator[None]:
    """Prevent Hypothesis from using numbers of the surrounding code, within this context."""
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
    """An `EachAnew` draws as Hypothesis does, for a search that ignores earlier examples."""


APART: Mapping[str, Any] = {}
"""These settings draw each example anew. The mapping is empty where this version of Hypothesis has no such setting."""

if hasattr(providers, "AVAILABLE_PROVIDERS"):
    providers.AVAILABLE_PROVIDERS["fencepost"] = f"{__name__}.{EachAnew.__name__}"
    APART = {"backend": "fencepost"}
