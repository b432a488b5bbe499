"""What a driven run of producer id blocks shows beside its events, and how far ids go in it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.monitoring import Beside, Broken, Concerned


class BlocksBeside(Beside):
    """Only the promises are judged.  What else must hold of histories is left to the model, which says that something
    is wrong where this says that it does harm."""

    left_to_the_model = frozenset({
        "answered_after_commit", "handed_out_after_grant", "ids_within_blocks", "ids_increase", "blocks_contiguous",
        "blocks_well_formed",
    })  # fmt: skip

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.answers: set[tuple[int, ...]] = set()

    def events(self, made: Made) -> Sequence[Event]:
        """A client was given an id, even if no event says so; and the same answer once more grants nothing."""
        shown = [event for event in made.events if not self._is_repeated(event)]
        if made.call.name == "init_producer_id" and not any(read(e, "kind") == "id_handed_out" for e in shown):
            error, producer_id = made.result
            told = {"kind": "id_handed_out", "broker": made.call.index("brokers"), "producer_id": producer_id}
            return shown if error else [*shown, told]
        return shown

    def _is_repeated(self, event: Event) -> bool:
        if read(event, "kind") != "answer_sent" or read(event, "error", 0) or read(event, "request", -1) < 0:
            return False
        answer = tuple(read(event, column) for column in ("request", "first", "length"))
        if answer in self.answers:
            return True
        self.answers.add(answer)
        return False

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterator[tuple[Broken, Concerned]]:
        """Ids are those of the configuration, and ZooKeeper may give the id max_id away."""
        ids = self.config["max_id"] + (self.config["mode"] != "kraft")
        for event in events:
            if read(event, "kind") == "id_handed_out" and not 0 <= read(event, "producer_id") < ids:
                words = f"id {read(event, 'producer_id')} is handed out, and ids run from 0 to {ids - 1}"
                yield Broken("730.16", words, event), frozenset()
