"""This module shortens a run that was found at random, and reduces its switches between processes, in the model's own
terms.

Parts of the run are left out. From the beginning of the rest, and from places along it, a bounded number of states is
searched breadth first for a shorter end. Finally, steps are reordered so that each process goes on for as long as it
can. The result breaks the same promise.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fencepost.proofs.engines.explore import Start, explore
from fencepost.proofs.engines.explore.fewest_switches import changes_of_process
from fencepost.proofs.engines.simulate.walks import Walk, Walker
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.results import Event

LaneOf = Callable[[Event], str]
SEARCHED = 200_000
"""A search for a shorter end visits at most this many states, which takes about a second."""
PLACES = 4
"""A shorter end is looked for from this many places."""


@dataclass(frozen=True)
class Shortened:
    """A `Shortened` is a shortened run. ``shortest`` is true if all runs with fewer steps were searched."""

    walk: Walk
    shortest: bool


def shorten(walker: Walker, events: Sequence[Event], promise: str, lane_of: LaneOf) -> Shortened:
    """Return a run that breaks the same promise, of which no part can be left out. ``lane_of`` gives processes."""
    found = _without_parts(walker, _sure(walker, events, promise), promise)
    found, shortest = _searched(walker, found, promise)
    return Shortened(_calm(walker, found, promise, lane_of), shortest)


def _without_parts(walker: Walker, found: Walk, promise: str) -> Walk:
    """Leave parts out of the run until none can be left out, trying halves, quarters, and at last single steps."""
    length = max(1, len(found.events) // 2)
    while True:
        start = len(found.events) - length
        while start >= 0:
            rest = [*found.events[:start], *found.events[start + length :]]
            shorter = _breaking(walker, rest, promise)
            if shorter is not None and len(shorter.events) < len(found.events):
                found = shorter
            start = min(start - 1, len(found.events) - length)
        if length == 1:
            return found
        length //= 2


def _searched(walker: Walker, found: Walk, promise: str) -> tuple[Walk, bool]:
    """Return the run with a shorter end, if a bounded search finds one, and whether no run is shorter."""
    for number in range(PLACES):
        place = len(found.events) * number // PLACES
        most = len(found.events) - place - 1
        spent = Counter(b for e in found.events[:place] if (b := walker.spec.actions[e.action].budget) is not None)
        try:
            made = explore(
                walker.spec, {promise: walker.promises[promise]}, walker.bounds, max_states=SEARCHED,
                max_depth=most, stop_when_violated=True,
                start=Start(found.states[place], spent) if place else None,
            )  # fmt: skip
        except BoundsError:  # the bounds are too large for the explorer
            return found, False
        if promise in made.traces:
            shorter = _breaking(walker, [*found.events[:place], *made.traces[promise].events], promise)
            if shorter is None:  # another promise breaks first
                continue
            found = shorter
        if not place and (promise in made.traces or made.complete or made.stopped == f"more than {most} steps"):
            return found, True
    return found, False


def _calm(walker: Walker, found: Walk, promise: str, lane_of: LaneOf) -> Walk:
    """Return the run with fewer switches between processes, as long as moving one step reduces them."""
    changes = changes_of_process([lane_of(event) for event in found.events])
    for moved in _moved(found.events):
        if changes_of_process([lane_of(event) for event in moved]) < changes:
            tried = _breaking(walker, moved, promise)
            if tried is not None and tried.events == moved:
                return _calm(walker, tried, promise, lane_of)
    return found


def _moved(events: Sequence[Event]) -> Iterator[list[Event]]:
    for at, event in enumerate(events):
        rest = [*events[:at], *events[at + 1 :]]
        for place in range(len(events)):
            if place != at:
                yield [*rest[:place], event, *rest[place:]]


def _sure(walker: Walker, events: Sequence[Event], promise: str) -> Walk:
    found = _breaking(walker, events, promise)
    assert found is not None, "the run that was found breaks it"
    return found


def _breaking(walker: Walker, events: Sequence[Event], promise: str) -> Walk | None:
    walk, broken = walker.follow(events)
    return walk if broken == promise else None
