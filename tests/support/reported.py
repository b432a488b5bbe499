"""Histories that a test tells event by event: the rows so far, and the columns that they make."""

import numpy as np
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.seeded_violations import Written


class Reported:
    """One history. Protocols derive from it and say what happens in their own words."""

    vocabulary: Vocabulary

    def __init__(self) -> None:
        self.rows: list[dict[str, int]] = []

    def emit(self, kind: int, **values: int) -> int:
        """One more event; its step."""
        self.rows.append({"kind": kind, **values})
        return len(self.rows) - 1

    def columns(self, history: int = 0) -> dict[str, np.ndarray]:
        """The columns of the history so far."""
        return Written(self.vocabulary, self.rows).columns(history)
