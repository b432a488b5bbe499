"""Faults of a free-running simulation: how often each strikes, and how often it did.

Rates are probabilities per *draw*; who draws is the protocol's free-running loop (id blocks: once per client
demand), so that a history of any length sees faults in proportion to its events and not to its virtual time.
"""

from collections.abc import Mapping
from random import Random

Rates = Mapping[str, float]


class FaultMix:
    """Draws node faults by rate and counts every fault injected, network faults included."""

    __slots__ = ("_names", "_random", "_thresholds", "counts", "total")

    def __init__(self, random: Random, rates: Rates) -> None:
        self._random = random
        self._names: list[str] = []
        self._thresholds: list[float] = []
        self.counts: dict[str, int] = {}
        self.total = 0.0
        for name in sorted(rates):
            if rates[name] > 0:
                self.total += rates[name]
                self._names.append(name)
                self._thresholds.append(self.total)
        if self.total > 1:
            raise ValueError(f"fault rates add up to {self.total}: at most one fault strikes per draw; lower them")

    def draw(self) -> str | None:
        """The fault that strikes now, if any. Not counted yet: it may turn out not to apply."""
        luck = self._random.random()
        if luck >= self.total:
            return None
        for name, threshold in zip(self._names, self._thresholds, strict=True):
            if luck < threshold:
                return name
        return None

    def stop(self) -> None:
        """No more faults strike."""
        self.total = 0.0

    def count(self, name: str) -> None:
        """One more fault of this kind was injected."""
        self.counts[name] = self.counts.get(name, 0) + 1
