"""The promises of producer id blocks, held against observable events alone: no model, one pass, every implementation.

What the model disagrees with may be harmless; an id handed out twice is not.  This tells the two apart.
"""

from collections.abc import Iterable
from typing import Any

from .plug import read


class Monitor:
    """Feed it events in order; ``broken`` names the first promise that they break.  ``ids``: how many ids there are."""

    def __init__(self, ids: int) -> None:
        self.ids = ids
        self.given: dict[int, int] = {}  # id: broker
        self.blocks: dict[tuple[int, int], int] = {}  # (first, end): request
        self.broken = ""

    def feed(self, events: Iterable[Any]) -> None:
        """Take note of some more events."""
        for event in events:
            if not self.broken:
                self.broken = self._look(event) or ""

    def handed_out(self, broker: int, producer_id: int) -> str | None:
        if producer_id in self.given:
            before = self.given[producer_id]
            return f"730.P1: id {producer_id} is handed out twice, by broker {before} and by broker {broker}"
        self.given[producer_id] = broker
        if not 0 <= producer_id < self.ids:
            return f"730.16: id {producer_id} is handed out, and ids run from 0 to {self.ids - 1}"
        return None

    def _look(self, event: Any) -> str | None:
        kind = read(event, "kind")
        if kind == "id_handed_out":
            return self.handed_out(read(event, "broker"), read(event, "producer_id"))
        if (kind == "answer_sent" and not read(event, "error", 0)) or (
            kind == "zk_written" and read(event, "broker") >= 0
        ):
            return self._granted(read(event, "first"), read(event, "length"), read(event, "request", -1))
        return None

    def _granted(self, first: int, length: int, request: int) -> str | None:
        block = (first, first + length)
        for (start, end), of in self.blocks.items():
            again = (start, end) == block and of == request >= 0  # the same answer once more grants nothing
            if first < end and start < block[1] and not again:
                return f"730.P2: the blocks {start}–{end - 1} and {first}–{block[1] - 1} are both granted"
        self.blocks[block] = request
        return None
