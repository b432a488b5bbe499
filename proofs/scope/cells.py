"""This module defines what one engine met of each danger, as a verdict carries it; `scopes` computes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Engine = Literal["induction", "explore", "progress", "agreement", "live", "histories", "recordings"]
ENGINES: tuple[Engine, ...] = (
    "induction", "explore", "progress", "agreement", "live", "histories", "recordings"
)  # fmt: skip
Status = Literal["in", "excused", "out"]


@dataclass(frozen=True)
class Cell:
    """A `Cell` describes one danger for one engine. ``count`` is how often the engine met the danger, if the engine
    counts; ``why`` is the reason if the danger is out, or the condition if it is excused."""

    status: Status
    count: int | None = None
    why: str = ""

    @property
    def words(self) -> str:
        return f"excused by {self.why}" if self.status == "excused" else self.status


@dataclass(frozen=True)
class Scope:
    """A `Scope` has what one engine met of each danger, in the order of the list of dangers. ``features`` splits a
    search within several bounds by the feature that the bounds belong to."""

    engine: Engine
    cells: Mapping[str, Cell]
    features: Mapping[str, "Scope"] = field(default_factory=dict)

    def those(self, status: Status) -> tuple[str, ...]:
        return tuple(name for name, cell in self.cells.items() if cell.status == status)

    @property
    def fields(self) -> dict[str, Any]:
        excused = {name: cell.why for name, cell in self.cells.items() if cell.status == "excused"}
        return {"scope": self.those("in"), "out": self.those("out"), "excused": excused, "within": self}
