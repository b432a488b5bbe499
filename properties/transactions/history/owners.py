"""Who owns a transactional id, as its driver knows, and that nobody who is refused takes it away again (txn.P8).

An instance that was given the id, while no other request for it was under way, is its owner until another asks for it
in earnest, or time or a take-over may have ended its transaction. It is not where another request, or a copy of its
own, arrived between its request and the answer that it took: that one may have been given the id after it. Instances
from before may go on to ask for whatever they like with the pairs that they held: they are refused, and what is refused
leaves nothing behind. So an owner that is told that it is fenced, or that its transaction is over, has been done wrong.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fencepost.properties.driving import Event, Made, read
from fencepost.properties.transactions.driving.interface import Message

ENDING = frozenset({"fail_over", "expire", "fence", "probe", "newcomers"})
"""Calls after which an id may have another owner, or none; as after an append to the log that fails."""
TAKEN = frozenset({47, 48, 49, 90})
"""What its owner has done nothing to deserve."""


class Owned(NamedTuple):
    """By which instance, with which pair."""

    client: int
    producer_id: int
    epoch: int


class Owners:
    """The owners of the ids of one run."""

    def __init__(self) -> None:
        self._owner: dict[int, Owned] = {}  # by transactional id
        self._id: dict[int, int] = {}  # by client
        self._open: set[int] = set()  # clients with a transaction
        self._arrived: set[int] = set()  # InitProducerIds of which no answer was taken yet
        self._overtaken: set[int] = set()  # of these, the ones after which another one arrived
        self._flying: set[int] = set()  # those under way after the last call

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterator[tuple[str, Event, tuple[int, int]]]:
        """Take note of a call. Where an owner has been done wrong: what, by which event, and under which pair."""
        if made.call.name in ENDING or (made.call.name == "log_append" and made.call.get("ok") is False):
            self._owner.clear()
        self._arriving(made, events, messages)
        for event in events:
            kind, client = read(event, "kind"), read(event, "client", -1)
            if kind == "init_sent":
                self._asked(event, client)
            elif kind == "init_taken" and not read(event, "error", 0):
                self._taken(event, client, messages)
            elif kind == "txn_begun":
                self._begun(client, messages)
            elif kind == "end_told" and not read(event, "error", 0):
                self._ended(event, client)
            elif kind in ("timed_out", "id_expired"):
                self._owner.clear()
            elif kind in ("client_failed", "record_failed") and read(event, "error", 0) in TAKEN:
                owned = self._owner.get(self._id.get(client, -1))
                if owned is not None and owned.client == client:
                    del self._owner[self._id[client]]
                    words = f"client {client} was given the id, nobody else was since, and it gets error "
                    yield f"{words}{read(event, 'error')}", event, owned[1:]

    def _arriving(self, made: Made, events: Sequence[Event], messages: Sequence[Message]) -> None:
        """Which InitProducerIds arrive in this call; of a call that delivers many, nobody sees in which order."""
        flying = {message[4] for message in messages if message[1] == "init"}
        if made.call.name != "deliver":
            asked = {read(event, "request", -1) for event in events if read(event, "kind") == "init_sent"}
            arriving = (self._flying | asked) - flying if made.call.name != "drop" else set()
        else:
            arriving = {made.message[4]} if made.message is not None and made.message[1] == "init" else set()
        if arriving:
            self._overtaken |= self._arrived | (arriving if len(arriving) > 1 else set())
            self._arrived |= arriving
        self._flying = flying

    def _asked(self, event: Event, client: int) -> None:
        """In earnest, unless it names a pair that is behind the owner's, who has no transaction open."""
        txn_id = self._id[client] = read(event, "txn_id", -1)
        owned = self._owner.get(txn_id)
        named = read(event, "producer_id", -1), read(event, "epoch", -1)
        is_idle = owned is not None and client != owned.client and owned.client not in self._open
        if owned is None or not (is_idle and named[0] == owned.producer_id and named[1] < owned.epoch):
            self._owner.pop(txn_id, None)

    def _begun(self, client: int, messages: Sequence[Message]) -> None:
        """While a transaction is open, Kafka aborts it for an InitProducerId that names whatever epoch of the id."""
        self._open.add(client)
        if any(message[1] == "init" for message in messages):
            self._owner.clear()

    def _taken(self, event: Event, client: int, messages: Sequence[Message]) -> None:
        """As long as another request is on its way, its copies included, the id may go on to another."""
        request = read(event, "request", -1)
        is_overtaken = request in self._overtaken
        self._arrived.discard(request)
        if client in self._id and not is_overtaken and not any(message[1] == "init" for message in messages):
            self._owner[self._id[client]] = Owned(client, read(event, "producer_id"), read(event, "epoch"))

    def _ended(self, event: Event, client: int) -> None:
        """From KIP-890, part 2, on the end of a transaction gives its owner the next pair."""
        self._open.discard(client)
        txn_id = self._id.get(client, -1)
        pair: tuple[Any, Any] = read(event, "producer_id", -1), read(event, "epoch", -1)
        if txn_id in self._owner and self._owner[txn_id].client == client and pair[0] >= 0:
            self._owner[txn_id] = Owned(client, *pair)
