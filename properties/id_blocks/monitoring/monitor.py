"""The promises of producer id blocks, held against observable events alone: no model, one pass, every implementation.

What the model disagrees with may be harmless; an id handed out twice is not.  This tells the two apart.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from fencepost.properties.agreement import Broken
from fencepost.properties.driving import Made, Message, read


class Monitor:
    """Feed it events in order; ``found`` is the first promise that they break.  ``ids``: how many ids there are."""

    predicted: tuple[Broken, ...] = ()
    only: frozenset[str] | None = None

    def __init__(self, ids: int) -> None:
        self.ids = ids
        self.given: dict[int, int] = {}  # id: broker
        self.blocks: dict[tuple[int, int], int] = {}  # (first, end): request
        self.found: Broken | None = None

    @property
    def broken(self) -> str:
        """The first promise broken, in words; empty if none is."""
        return str(self.found or "")

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        """Take note of a call: a client was given an id, even if no event says so."""
        self.feed(made.events)
        if made.call.name == "init_producer_id" and not any(read(e, "kind") == "id_handed_out" for e in made.events):
            (error, producer_id), broker = made.result, made.call.get("broker")
            self.feed([] if error else [{"kind": "id_handed_out", "broker": broker, "producer_id": producer_id}])

    def feed(self, events: Iterable[Any]) -> None:
        """Take note of some more events."""
        for event in events:
            broken = self._look(event)
            if broken is not None and (self.only is None or broken.rule in self.only):
                self.found = self.found or broken

    def _handed_out(self, broker: int, producer_id: int) -> Broken | None:
        if producer_id in self.given:
            before = self.given[producer_id]
            return Broken("730.P1", f"id {producer_id} is handed out twice, by broker {before} and by broker {broker}")
        self.given[producer_id] = broker
        if not 0 <= producer_id < self.ids:
            return Broken("730.16", f"id {producer_id} is handed out, and ids run from 0 to {self.ids - 1}")
        return None

    def _look(self, event: Any) -> Broken | None:
        kind = read(event, "kind")
        if kind == "id_handed_out":
            return self._handed_out(read(event, "broker"), read(event, "producer_id"))
        if (kind == "answer_sent" and not read(event, "error", 0)) or (
            kind == "zk_written" and read(event, "broker") >= 0
        ):
            return self._granted(read(event, "first"), read(event, "length"), read(event, "request", -1))
        return None

    def _granted(self, first: int, length: int, request: int) -> Broken | None:
        block = (first, first + length)
        for (start, end), of in self.blocks.items():
            again = (start, end) == block and of == request >= 0  # the same answer once more grants nothing
            if first < end and start < block[1] and not again:
                return Broken("730.P2", f"the blocks {start}–{end - 1} and {first}–{block[1] - 1} are both granted")
        self.blocks[block] = request
        return None
