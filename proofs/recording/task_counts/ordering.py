"""This module defines the events of a recording, and orders them by what must have come before what, then by time.

The one partition of the transaction log orders what was committed, claimed, opened and fenced. Events of other sources
are put between: after what they must follow, before what they must precede, and as their clocks say where nothing else
decides."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fencepost.properties.task_counts.events import Kind


@dataclass(eq=False)
class Event:
    """An `Event` is a row of the history. `columns` has those of its kind that are known; `after` the events that came
    before it for certain."""

    kind: Kind
    time_us: int
    columns: dict[str, int]
    after: list[Event] = field(default_factory=list)

    def __getitem__(self, column: str) -> int:
        return self.columns.get(column, -1)


class Names:
    """`Names` numbers workers, connectors and instances in the order in which they are first named."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.numbers = {name: number for number, name in enumerate(names)}

    def __getitem__(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))


def chained(events: Sequence[Event]) -> None:
    """Note that these events happened one after the other."""
    for earlier, later in pairwise(events):
        later.after.append(earlier)


def in_order(events: Sequence[Event]) -> tuple[list[Event], int]:
    """Return the events in order, and how many had to be placed against a clock's or a log's word because the sources
    contradict one another."""
    place = {id(event): number for number, event in enumerate(events)}
    waits = {id(event): len({id(each) for each in event.after} & place.keys()) for event in events}
    before: dict[int, list[Event]] = {}
    for event in events:
        for each in {id(each) for each in event.after} & place.keys():
            before.setdefault(each, []).append(event)
    key = {id(event): (event.time_us, number) for number, event in enumerate(events)}
    ready = [(*key[id(event)], event) for event in events if not waits[id(event)]]
    heapq.heapify(ready)
    ordered: list[Event] = []
    done = set[int]()
    contradictions = 0
    while len(ordered) < len(events):
        if not ready:
            stuck = min((event for event in events if id(event) not in done), key=lambda event: key[id(event)])
            ready.append((*key[id(stuck)], stuck))
            contradictions += 1
        event = heapq.heappop(ready)[-1]
        if id(event) in done:
            continue
        done.add(id(event))
        ordered.append(event)
        for later in before.get(id(event), ()):
            waits[id(later)] -= 1
            if not waits[id(later)]:
                heapq.heappush(ready, (*key[id(later)], later))
    return ordered, contradictions
