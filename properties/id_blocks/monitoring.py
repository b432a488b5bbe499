"""What a driven run of producer id blocks shows beside its events, and how far ids go in it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.id_blocks.scenarios.settling import Settled
from fencepost.properties.monitoring import Beside, Broken, Concerned

BLOCK = 1_000
"""Ids in a block, unless the configuration says otherwise (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE)."""


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
        self.longest = int(config.get("block_size", BLOCK))
        self.asked_for = 0
        self.alive = True

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
        self._note(made)
        if isinstance(made.result, Settled) and self.alive:
            yield from ((broken, frozenset()) for broken in self._starving(made.result))

    def _note(self, made: Made) -> None:
        """How many ids blocks may have taken at most, used or lost."""
        match made.call.name:
            case "deliver" if made.call.kind == "request":
                self.asked_for += 1
            case "zk_step":
                self.asked_for += 1
            case "settle":
                self.asked_for += getattr(made.result, "asked_for", 0)
            case "set_block_size":
                self.longest = max(self.longest, made.call.get("size"))
            case "set_cluster_action" if self.config.get("authorization_error") == "fatal":
                self.alive = False  # a broker that may not ask terminates (730.5)

    def _starving(self, settled: Settled) -> Iterator[Broken]:
        """730.P3, as long as there are ids."""
        if not settled.quiet:
            yield Broken("730.P3", "messages, or writes to ZooKeeper, do not come to an end", check="result.quiet")
        elif settled.starving and (self.asked_for + 1) * self.longest < self.config["max_id"]:
            words = f"broker {settled.starving[0]} gets no id though faults are over, however often its clients ask"
            yield Broken("730.P3", words, check=f"{settled.starving[0]} not in result.starving")
