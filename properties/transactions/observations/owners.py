"""To which transactional id an event of a driven cluster belongs: to the one that it names, or else to that of its
transaction, record, request, client or producer id."""

from collections.abc import Sequence

from fencepost.properties.driving import Event, read
from fencepost.properties.transactions.driving.interface import READERS, Message

NAMES = ("txn", "record", "request", "client", "producer_id")
"""Columns with what belongs to one transactional id; what comes first is surer."""
OF_ALL = frozenset({"coordinator_loaded", "leader_changed", "stable_moved", "fetched", "offset_fetched"})
"""Kinds of event that concern every transactional id."""
ALL = -1


class Owners:
    """Of one cluster, learned from its events in their order."""

    def __init__(self) -> None:
        self._known: dict[str, dict[int, int]] = {name: {} for name in NAMES}

    def of_event(self, event: Event) -> int:
        """The transactional id that an event belongs to; `ALL` if it concerns every one, and the first where nothing in
        it is known."""
        kind = read(event, "kind")
        if kind in OF_ALL:
            return ALL
        said = [(name, value) for name in NAMES if (value := read(event, name, -1)) >= 0]
        owner: int = read(event, "txn_id", -1)
        if owner < 0:
            known = (self._known[name].get(value, -1) for name, value in said)
            return next((found for found in known if found >= 0), 0)
        for name, value in said:
            if name != "client" or value < READERS:
                self._known[name].setdefault(value, owner)
        return owner

    def of_message(self, message: Message) -> int:
        """The transactional id that a message belongs to; `ALL` if that is not known: of a marker nobody sees it."""
        return ALL if message[1].startswith("marker") else self._known["request"].get(message[4], ALL)

    def among(self, messages: Sequence[Message], txn_id: int) -> list[Message]:
        """Those that may belong to one transactional id."""
        return [message for message in messages if self.of_message(message) in (ALL, txn_id)]
