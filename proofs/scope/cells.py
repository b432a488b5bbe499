"""What one engine met of each danger, as a verdict carries it; `scopes` makes it."""

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
    """``count``: how often it was met, where the engine counts; ``why``: the reason of one that is out, the condition
    of one that is excused."""

    status: Status
    count: int | None = None
    why: str = ""

    @property
    def words(self) -> str:
        return f"excused by {self.why}" if self.status == "excused" else self.status


@dataclass(frozen=True)
class Scope:
    """How often one engine met each danger, in the order of the list of dangers.  ``features``: of a search within
    several bounds, what it met within each of them, by the feature that they are of."""

    engine: Engine
    cells: Mapping[str, Cell]
    features: Mapping[str, "Scope"] = field(default_factory=dict)

    def those(self, status: Status) -> tuple[str, ...]:
        return tuple(name for name, cell in self.cells.items() if cell.status == status)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a `Result` that carry a scope."""
        excused = {name: cell.why for name, cell in self.cells.items() if cell.status == "excused"}
        return {"scope": self.those("in"), "out": self.those("out"), "excused": excused, "within": self}
