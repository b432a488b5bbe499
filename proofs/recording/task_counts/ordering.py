"""This module defines the events of a recording, and orders them by what must have come before what, then by time.

The one partition of the transaction log orders what was committed, claimed, opened and fenced. Events of other sources
are put between: after what they must follow, before what they must precede, and as their clocks say where nothing else
decides."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fencepost.properties.task_counts.events import Kind


@dataclass(eq=False)
class Event:
    """An `Event` is a row of the history. `columns` has those of its kind that are known; `after` the events that came
    before it for certain. A task's configuration has the `number` that its connector gave the set."""

    kind: Kind
    time_us: int
    columns: dict[str, int]
    after: list[Event] = field(default_factory=list)
    number: str = ""

    def __getitem__(self, column: str) -> int:
        return self.columns.get(column, -1)

    @property
    def pair(self) -> tuple[int, int]:
        """Return the producer id and epoch."""
        return self["producer_id"], self["epoch"]


class Names:
    """`Names` numbers workers and connectors in the order in which they are first named."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.numbers = {name: number for number, name in enumerate(names)}

    def __getitem__(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))


def in_order(events: Sequence[Event]) -> tuple[list[Event], int]:
    """Return the events in order, and how many had to be placed against a clock's or a log's word because the sources
    contradict one another."""
    at = {id(event): number for number, event in enumerate(events)}
    waits_for = [{at[id(each)] for each in event.after if id(each) in at} for event in events]
    followers = defaultdict[int, list[int]](list)
    for number, earlier in enumerate(waits_for):
        for each in earlier:
            followers[each].append(number)
    left = {number: (event.time_us, number) for number, event in enumerate(events)}
    ready = [key for number, key in left.items() if not waits_for[number]]
    heapq.heapify(ready)
    ordered: list[Event] = []
    contradictions = 0
    while left:
        if not ready:
            ready.append(min(left.values()))
            contradictions += 1
        _, number = heapq.heappop(ready)
        if left.pop(number, None) is None:
            continue
        ordered.append(events[number])
        for each in followers[number]:
            waits_for[each].discard(number)
            if not waits_for[each] and each in left:
                heapq.heappush(ready, left[each])
    return ordered, contradictions
