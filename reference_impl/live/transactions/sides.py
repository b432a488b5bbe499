"""One of two systems that are driven as one: its names in order of appearance, and how it differs from the other.

Numbers that mean nothing by themselves (requests, producer ids) are numbered on each side in order of appearance, so
that two clusters that do the same show the same. What is compared, and what is not, is said in `beside.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from fencepost.reference_impl.transactions.events import COLUMNS, Event

Message = tuple[int, str, str, str, int]

NAMED = ("producer_id", "request")
OF_THE_CLOCK = frozenset({"step", "time_us", "kind"})
COMPARED = tuple(column for column in COLUMNS if column not in OF_THE_CLOCK)
TELLING = ("client", "txn", "record", "partition", "request")  # columns that say which event is meant


class Difference(AssertionError):
    """The two systems are not the same. One line: what, and both values."""


class Plugged(Protocol):
    """A driven system: the operations that every one has."""

    def messages(self) -> Sequence[Message]: ...
    def drain_events(self) -> Sequence[Event]: ...


class Flying(NamedTuple):
    """A message in flight."""

    kind: str
    source: str
    target: str
    request: int


class Said(NamedTuple):
    """The contents of an answer."""

    error: int
    producer_id: int
    epoch: int
    offset: int


class Names:
    """Numbers of one side, numbered in order of appearance; -1 stays -1."""

    def __init__(self) -> None:
        self._found: dict[int, int] = {}

    def __getitem__(self, number: int) -> int:
        return number if number == -1 else self._found.setdefault(number, len(self._found))


class Side:
    """One of the two, with its names."""

    def __init__(self, name: str, system: Plugged) -> None:
        self.name = name
        self.system = system
        self.names = {column: Names() for column in NAMED}
        self.numbers: dict[int, int] = {}  # of what is in flight, by the numbers that both sides share

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """A call's result, as values that can be compared; an error that it raises is a result, too."""
        try:
            return _plain(getattr(self.system, method)(*arguments))
        except (KeyError, ValueError) as error:  # what the plug raises where the driver is wrong
            return error

    def settle(self) -> None:
        """Wait until no transaction is just ending, where that takes real time."""
        settle = getattr(self.system, "settle", None)
        if settle is not None:
            settle()

    def events(self) -> list[Event]:
        """The events since the last call, renamed."""
        ids, requests = self.names["producer_id"], self.names["request"]
        fresh = self.system.drain_events()
        return [e._replace(producer_id=ids[e.producer_id], request=requests[e.request]) for e in fresh]

    def renamed(self, message: Message) -> Flying:
        """A message without its number, and with the name of its request."""
        _, kind, source, target, request = message
        return Flying(kind, source, target, self.names["request"][request])

    def said(self, message: Message, partitions: int) -> Said | None:
        """The contents of an answer in flight, also one that no request waits for any more; None for a request, and
        where the system does not let one look. `partitions`: of data."""
        number, kind, source, *_ = message
        env = getattr(self.system, "env", None)
        if env is None or not kind.endswith("_answer"):
            return None
        data = env.network.in_flight[number].body.data
        pair = getattr(data, "producer_id", -1), getattr(data, "producer_epoch", -1)
        known = kind == "produce_answer" and int(source.rpartition("-")[2]) < partitions
        return Said(data.error_code, self.names["producer_id"][pair[0]], pair[1], data.base_offset if known else -1)


def alike(result: Any, expected: Any) -> bool:
    """Whether two results say the same; of errors only what kind they are."""
    if isinstance(result, Exception):
        return type(result) is type(expected)
    return bool(result == expected)


def first_difference(
    left: Sequence[Event], right: Sequence[Event], partitions: int
) -> tuple[str, object, object] | None:
    """The first difference in the events of one call, and both values; None if there is none. `partitions`: of data."""
    for happened, expected in zip(left, right, strict=False):
        if happened.kind != expected.kind:
            return "the next event is", _text(happened), _text(expected)
        for column in COMPARED:
            mine, other = getattr(happened, column), getattr(expected, column)
            if mine != other and not _is_unseen(happened, column, partitions):
                return f"{_text(happened)}: {column} is", mine, other
    if len(left) == len(right):
        return None
    count = min(len(left), len(right))
    mine, other = (_text(events[count]) if len(events) > count else "nothing" for events in (left, right))
    return "the next event is", mine, other


def _is_unseen(event: Event, column: str, partitions: int) -> bool:
    """Kafka acknowledges the commit of an offset without saying where it was written."""
    return column == "offset" and event.kind == "record_acked" and event.partition >= partitions


def _plain(result: Any) -> Any:
    return tuple(map(_plain, result)) if isinstance(result, (list, tuple)) else result


def _text(event: Event) -> str:
    told = ", ".join(f"{column} {getattr(event, column)}" for column in TELLING if getattr(event, column) != -1)
    return f"{event.kind} ({told})"
