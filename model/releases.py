"""The releases of Kafka that verdicts are about: each with the settings that matter here, and what they are by default.

A variant of a protocol says of which releases it is (`Kafka`), with the settings that it needs there, or that it is of
none (`NoRelease`): what a text says, a mistake, an abstraction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

NAMES = ("3.6", "3.9", "4.0.0", "4.0.1", "4.1", "4.2", "4.3", "4.4.0", "trunk")
"""In their order.  One without a third number stands for all its bug-fix releases, unless one of them is named."""


@dataclass(frozen=True)
class Kafka:
    """Releases from ``since`` to ``until``, both included; ``settings``: where they are so, by name in `SETTINGS`, each
    with the value or values that it may have.  A setting that is not named may have any value."""

    since: str = NAMES[0]
    until: str = NAMES[-1]
    settings: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)

    @property
    def releases(self) -> tuple[str, ...]:
        return NAMES[NAMES.index(self.since) : NAMES.index(self.until) + 1]

    def has(self, release: str, settings: Mapping[str, str]) -> bool:
        """Is it of a release with these settings?"""
        asked = ((settings.get(name), wanted) for name, wanted in self.settings.items())
        return release in self.releases and all(
            value == wanted or (isinstance(wanted, tuple) and value in wanted) for value, wanted in asked
        )


@dataclass(frozen=True)
class NoRelease:
    """``kind``: what a text says that did not ship so, a mistake, or an abstraction that others are held against."""

    kind: Literal["text", "mistake", "abstraction"]


TEXT, MISTAKE, ABSTRACTION = NoRelease("text"), NoRelease("mistake"), NoRelease("abstraction")
