"""This module names events in the terms of the system's operators, and a violation in one line with the events
concerned."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.manifest import Manifest
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.nearest import TERMS, error_name, in_words

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
TRANSACTIONAL_ID = "transactional id"
OFFSETS_TOPIC = "__consumer_offsets-"
UNNAMED_BITS = 40
"""Numbers from 2^40 on stand for records that a recorder found no number of, and mean nothing to a reader."""
YEAR_10000_US = 253_402_300_800 * 10**6


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
        left = {name: value for name, value in filled.items() if name != "record" or value < 1 << UNNAMED_BITS}
        for pair in TOGETHER:
            if left.keys() >= {*pair}:
                yield " ".join(self._named(name, left.pop(name)) for name in pair)
        for name, value in left.items():
            yield self._named(name, value)

    def event(self, kind: str, step: int, filled: Mapping[str, int]) -> str:
        """Return an event in words, as ``record read at step 12 (orders-0 offset 3, client 1000, record 5)``."""
        return f"{in_words(kind)} at step {step} ({', '.join(self.records(filled))})"

    def _named(self, name: str, value: int) -> str:
        known, term = self._known(name), self._term(name)
        if 0 <= value < len(known):
            return known[value] if name == "partition" else f"{term} {known[value]}"
        words = self.values.get(name, {})
        if name in self.vocabulary.errors and value not in words:
            return f"{term} {error_name(value)}"
        return f"{term} {words.get(value, value)}"

    def _term(self, name: str) -> str:
        meaning = next(column.meaning for column in self.vocabulary.columns if column.name == name)
        return TRANSACTIONAL_ID if meaning.startswith(TRANSACTIONAL_ID) else TERMS.get(name, in_words(name))

    def _known(self, name: str) -> list[str]:
        named = self.config.get("names")
        if isinstance(named, dict) and name in named:
            return _list(named[name])
        if name == "partition" and (partitions := _list(self.config.get("partitions"))):
            return partitions + [_offsets_of(group) for group in _list(self.config.get("groups"))]
        return _list(self.config.get(LISTED.get(name, "")))


def clock_time(manifest: Manifest, time_us: int) -> datetime | None:
    """Return when an event happened by the clock of its recording, in UTC; None in a history without such a clock."""
    if manifest.source != "recorded" or not 0 <= time_us < YEAR_10000_US:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)


def moment(manifest: Manifest, time_us: int, began_us: int) -> str:
    """Return a time in words: ``at 2026-11-21T19:59:11.247Z by the recorded clock``, or counted from the beginning of a
    simulated history."""
    if (at := clock_time(manifest, time_us)) is None:
        return f"{(time_us - began_us) / 1e6:,.6f} s after the history began"
    text = at.isoformat(timespec="microseconds" if time_us % 1000 else "milliseconds")
    return f"at {text.removesuffix('+00:00')}Z by the recorded clock"


def _offsets_of(group: str) -> str:
    """Return the name of the partition of a group's offsets, which is its own name where it belongs to no group."""
    return group if group.startswith(OFFSETS_TOPIC) else f"offsets of group {group}"


def _list(names: Any) -> list[str]:
    return [str(name) for name in names] if isinstance(names, list) else []


# How a violated property is reported: one line that names the events concerned and their steps.

Tell = Callable[[Any, int, int], str]
_COLUMNS = re.compile(r"( at step \d+) \([^()]*\)")


def without_columns(words: str) -> str:
    """Return a violation without the columns of its events, which `Words.event` gives in brackets."""
    return _COLUMNS.sub(r"\1", words)


class Words:
    """`Words` are the words of one protocol: `hidden` columns are of no help to a reader, `names` are those of
    values."""

    def __init__(
        self, vocabulary: Vocabulary, hidden: tuple[str, ...] = (),
        names: Mapping[str, Mapping[int, str]] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self._vocabulary, self._hidden, self._names = vocabulary, hidden, names

    def saying(self, between: str, alone: str = "") -> Tell:
        """Return a function that words a violation: its event, `between`, and the event that explains it; or `alone`
        where there is none."""

        def describe(view: EventView, at: int, other: int) -> str:
            if other < 0:
                return f"{self.event(view, at)}: {alone or between}"
            return f"{self.event(view, at)}: {between} {self.event(view, other)}"

        return describe

    def event(self, view: EventView, row: int) -> str:
        kind = self._vocabulary.kinds(int(view.columns["kind"][row])).name
        seen = self._vocabulary.filled(kind, lambda name: view.columns[name][row], self._hidden)
        naming = Naming(self._vocabulary, view.config, self._names)
        return naming.event(kind, int(view.columns["step"][row]), seen)
