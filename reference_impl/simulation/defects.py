"""Implementations with one thing wrong each: what is said of a defect, and how it is found by name.

A protocol's own `broken.py` has the table, in which a defect is some replaced parts of the correct implementation.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

Parts = TypeVar("Parts")


class Breaks(Enum):
    """The strongest thing that a defect can break."""

    PROMISE = "promise"
    CONFORMANCE = "conformance"
    PROGRESS = "progress"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Defect(Generic[Parts]):
    """One thing wrong. `needs` is the config without which it cannot show."""

    name: str
    rule: str
    breaks: Breaks
    parts: Parts
    needs: tuple[tuple[str, Any], ...] = ()
    why: str = ""  # only where the verdict may surprise


D = TypeVar("D", bound=Defect[Any])


class Registry(dict[str, D], Generic[D]):
    """The defects of one protocol by name."""

    def __init__(self, defects: Iterable[D]) -> None:
        super().__init__((defect.name, defect) for defect in defects)

    def find(self, name: str) -> D:
        """The broken implementation of that name. Raises KeyError with the known names."""
        if name not in self:
            raise KeyError(f"no broken implementation is called {name!r}: known are {', '.join(sorted(self))}")
        return self[name]

    def attribute(self, module: str, name: str) -> D:
        """For a module's `__getattr__`: every entry as `broken:<name>`, the way any implementation is named."""
        if name in self:
            return self[name]
        raise AttributeError(f"module {module} has no broken implementation {name!r}: known are {sorted(self)}")
