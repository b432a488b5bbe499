"""To which transactional id an event of a driven cluster belongs: to the one that it names, or else to that of its
transaction, record, request, client or producer id."""

from collections.abc import Sequence

from fencepost.properties.driving import Event, reader_of
from fencepost.properties.history.vocabulary import ABSENT
from fencepost.properties.transactions.driving.interface import READERS, Message

NAMES = ("txn", "record", "request", "client", "producer_id")
"""Columns with what belongs to one transactional id; what comes first is surer."""
OF_ALL = frozenset({"coordinator_loaded", "leader_changed", "stable_moved", "fetched", "offset_fetched"})
"""Kinds of event that concern every transactional id."""
ALL = -1
_SAID = reader_of(dict.fromkeys(("txn_id", *NAMES), ABSENT))


class Owners:
    """Of one cluster, learned from its events in their order."""

    def __init__(self) -> None:
        self._known: dict[str, dict[int, int]] = {name: {} for name in NAMES}

    def of_event(self, event: Event) -> int:
        """The transactional id that an event belongs to; `ALL` if it concerns every one, and the first where nothing in
        it is known."""
        kind, owner, *values = _SAID(event)
        if kind in OF_ALL:
            return ALL
        if owner < 0:
            for known, value in zip(self._known.values(), values, strict=True):
                if value >= 0 and (found := known.get(value, -1)) >= 0:
                    return found
            return 0
        for (name, known), value in zip(self._known.items(), values, strict=True):
            if value >= 0 and (name != "client" or value < READERS):
                known.setdefault(value, owner)
        return int(owner)

    def of_message(self, message: Message) -> int:
        """The transactional id that a message belongs to; `ALL` if that is not known: of a marker nobody sees it."""
        return ALL if message[1].startswith("marker") else self._known["request"].get(message[4], ALL)

    def among(self, messages: Sequence[Message], txn_id: int) -> list[Message]:
        """Those that may belong to one transactional id."""
        known = self._known["request"]
        return [m for m in messages if known.get(m[4], ALL) in (ALL, txn_id) or m[1].startswith("marker")]
