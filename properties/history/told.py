"""Histories told event by event, without a simulation: the rows so far, and the columns that they make."""

from abc import ABC, abstractmethod

import numpy as np
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.history.vocabulary import Vocabulary


class Told(ABC):
    """One history. Protocols derive from it and tell what happens in their own words."""

    vocabulary: Vocabulary

    def __init__(self) -> None:
        self.rows: list[dict[str, int]] = []

    def emit(self, kind: int, **values: int) -> int:
        """One more event; its step."""
        self.rows.append({"kind": kind, **values})
        return len(self.rows) - 1

    @abstractmethod
    def meaningless(self) -> dict[str, int]:
        """An event that means nothing to any property."""

    def spare(self, count: int = 1) -> None:
        """Events that mean nothing to any property, to be overwritten."""
        for _ in range(count):
            self.rows.append(self.meaningless())

    def columns(self, history: int = 0) -> dict[str, np.ndarray]:
        """The columns of the history so far."""
        columns = absent_columns(self.vocabulary, len(self.rows))
        columns["history"][:] = history
        columns["step"] = np.arange(len(self.rows), dtype=np.int32)
        columns["time_us"] = np.arange(len(self.rows)) * 100
        for step, row in enumerate(self.rows):
            for name, value in row.items():
                columns[name][step] = value
        return columns
