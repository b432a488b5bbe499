"""What a driven run of transactions shows beside its history, where it has several transactional ids: of each what it
shows of that one, as if the others were not there.

Time, fail-overs and what readers are given concern all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fencepost.properties.conforming import Excuse
from fencepost.properties.driving import Event, Made, read
from fencepost.properties.monitoring import Beside, Concerned
from fencepost.properties.transactions.driving.interface import Message
from fencepost.properties.transactions.monitoring import TransactionsBeside, Verdict
from fencepost.properties.transactions.observations.owners import ALL, Owners


def beside(config: Mapping[str, Any], expecting: frozenset[str]) -> Beside:
    """Of a run with this configuration."""
    return BesideEach(config, expecting) if config.get("ids", 1) > 1 else TransactionsBeside(config, expecting)


class BesideEach(Beside):
    """``each``: by transactional id."""

    further = TransactionsBeside.further
    left_to_the_model = TransactionsBeside.left_to_the_model

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        self.each = [TransactionsBeside(config, expecting) for _ in range(config["ids"])]
        super().__init__(config, self.each[0].expecting)
        self.excusable = self.each[0].excusable
        self.owners = Owners()

    def events(self, made: Made) -> Sequence[Event]:
        return self.each[0].events(made)

    def watch(self, made: Made, events: Sequence[Event], messages: Sequence[Message]) -> Iterator[Verdict]:
        owned = [(self.owners.of_event(event), event) for event in events]
        about = ALL if made.message is None else self.owners.of_message(made.message)
        for txn_id, one in enumerate(self.each):
            own = made if about in (ALL, txn_id) else replace(made, message=None)
            shown = [event for owner, event in owned if owner in (ALL, txn_id)]
            yield from one.watch(own, shown, self.owners.among(messages, txn_id))
        self.truncated = self.each[0].truncated

    def is_quiet(self, made: Made) -> bool:
        return all(one.is_quiet(made) for one in self.each)

    def concerned(self, name: str, events: Sequence[Event]) -> Concerned:
        """What each id knows of one event is put together; of the transactions that a marker decides each has one."""
        found: frozenset[Any] = frozenset[Any]().union(*(one.concerned(name, events) for one in self.each))
        if name == "fenced_never_commit" or read(events[0], "kind") == "marker_appended":
            return found
        return frozenset([frozenset[Any]().union(*found)])

    def lacking(self, made: Made, event: Event, other: Event | None) -> str:
        return self.each[0].lacking(made, event, other)

    def excuses(self, call: int, concerned: Concerned) -> bool:
        return bool(self.why(call, concerned))

    def why(self, call: int, concerned: Concerned) -> str:
        """One of the ids each: what hangs under one of them holds up the readers of all."""
        if call >= self.truncated:
            return self.each[0].why(call, concerned)
        found = [self._of_any(call, one) for one in concerned if isinstance(one, frozenset)]
        return str(found[0]) if self.expecting and found and all(found) else ""

    def _of_any(self, call: int, subjects: frozenset[Any]) -> Excuse | None:
        return next((found for one in self.each if (found := one.late.why(call, subjects))), None)
