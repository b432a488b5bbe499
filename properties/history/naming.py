"""This module names events in the terms of the system's operators, and a violation in one line with the events
concerned."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.vocabulary import Vocabulary

# Events are in the terms of the system's operators: names where the config of the histories has them, else numbers.
#
# A recorder writes the names of what it numbered: ``partitions`` and ``groups``, whose offsets have the partitions
# after them, ``transactional_ids``, ``connectors``, and under ``names`` those of any column.

LISTED = {"txn_id": "transactional_ids", "connector": "connectors"}
"""`LISTED` maps columns to the entry of the config that has their names in order."""
TOGETHER = (
    ("partition", "offset"), ("topic", "position"), ("output", "position"), ("producer_id", "epoch"),
    ("member", "generation"), ("connector", "task"),
)  # fmt: skip
"""`TOGETHER` lists columns that name together what an event is about."""
TERMS = {"txn": "transaction"}
"""`TERMS` maps columns whose name is no word to a word."""
TRANSACTIONAL_ID = "transactional id"
OFFSETS_TOPIC = "__consumer_offsets-"


@dataclass(frozen=True)
class Naming:
    """A `Naming` names the events of some histories by the ``config`` of their manifest; ``values`` has, by column, the
    words for its values."""

    vocabulary: Vocabulary
    config: Mapping[str, Any]
    values: Mapping[str, Mapping[int, str]]

    def records(self, filled: Mapping[str, int]) -> Iterator[str]:
        """Yield what an event names, from the columns that it fills: ``orders-0 offset 5``, ``producer id 7 epoch 2``,
        …"""
        left = dict(filled)
        for pair in TOGETHER:
            if left.keys() >= {*pair}:
                yield " ".join(self._named(name, left.pop(name)) for name in pair)
        for name, value in left.items():
            yield self._named(name, value)

    def _named(self, name: str, value: int) -> str:
        known, term = self._known(name), self._term(name)
        if 0 <= value < len(known):
            return known[value] if name == "partition" else f"{term} {known[value]}"
        return f"{term} {self.values.get(name, {}).get(value, value)}"

    def _term(self, name: str) -> str:
        meaning = next(column.meaning for column in self.vocabulary.columns if column.name == name)
        return TRANSACTIONAL_ID if meaning.startswith(TRANSACTIONAL_ID) else TERMS.get(name, name.replace("_", " "))

    def _known(self, name: str) -> list[str]:
        named = self.config.get("names")
        if isinstance(named, dict) and name in named:
            return _list(named[name])
        if name == "partition" and (partitions := _list(self.config.get("partitions"))):
            return partitions + [_offsets_of(group) for group in _list(self.config.get("groups"))]
        return _list(self.config.get(LISTED.get(name, "")))


def _offsets_of(group: str) -> str:
    """Return the name of the partition of a group's offsets, which is its own name where it belongs to no group."""
    return group if group.startswith(OFFSETS_TOPIC) else f"offsets of group {group}"


def _list(names: Any) -> list[str]:
    return [str(name) for name in names] if isinstance(names, list) else []


# How a violated property is reported: one line that names the events concerned and their steps.

Tell = Callable[[Any, int, int], str]
_EVENT = re.compile(r"\b(\w+) at step (\d+) \([^()]*\)")
_KIND = re.compile(r"\b[a-z]+(?:_[a-z]+)+(?= at step )")


def without_columns(words: str) -> str:
    """Return a violation without the columns of its events, which `Words.event` gives in brackets."""
    return _KIND.sub(lambda kind: kind[0].replace("_", " "), _EVENT.sub(r"\1 at step \2", words))


class Words:
    """`Words` are the words of one protocol: `hidden` columns are of no help to a reader, `names` are those of
    values."""

    def __init__(
        self, vocabulary: Vocabulary, hidden: tuple[str, ...] = (),
        names: Mapping[str, Mapping[int, str]] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self._vocabulary, self._names = vocabulary, names
        self._absent = {column.name: column.absent for column in vocabulary.columns}
        self._used = {kind: [name for name in used if name not in hidden] for kind, used in vocabulary.used_by.items()}

    def saying(self, between: str, alone: str = "") -> Tell:
        """Return a function that words a violation: its event, `between`, and the event that explains it; or `alone`
        where there is none."""

        def describe(view: EventView, at: int, other: int) -> str:
            if other < 0:
                return f"{self.event(view, at)}: {alone or between}"
            return f"{self.event(view, at)}: {between} {self.event(view, other)}"

        return describe

    def event(self, view: EventView, row: int) -> str:
        """Return an event in words, as `record_read at step 12 (client 1000, partition 0, offset 3, record 5)`."""
        code, step = int(view.columns["kind"][row]), int(view.columns["step"][row])
        kind = self._vocabulary.kinds(code).name
        values = [(name, int(view.columns[name][row])) for name in self._used[kind]]
        text = ", ".join(
            f"{name.replace('_', ' ')} {self._names.get(name, {}).get(value, value)}"
            for name, value in values
            if value != self._absent[name]
        )
        return f"{kind} at step {step} ({text})"
