"""The steps of a run in another order: with the fewest changes from one process to another.

Many shortest runs differ only in how the steps of their processes interleave.  One in which each process goes on for as
long as it can is the easiest to read, and the one that testers of concurrent programs ask for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, pairwise

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.proofs.pages.stories import lane_of
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import State, Trace

MOST = 20_000
"""Steps that are tried before the best order that is known is taken: seconds, and enough for 23 steps of four
processes."""


@dataclass(frozen=True)
class Ordered:
    """A run, the changes of process in it, and whether no order of its steps has fewer."""

    trace: Trace
    changes: int
    is_least: bool


def changes_of_process(lanes: Sequence[str]) -> int:
    """How often the next step is another process's."""
    return sum(a != b for a, b in pairwise(lanes))


def with_fewest_changes(spec: Spec, asked: Property, plain: Plain, trace: Trace, most: int = MOST) -> Ordered:
    """The steps of a shortest run in an order that breaks (or reaches) the same at its end, with the fewest changes.

    Best first: what is still to come has at least as many changes as there are other processes in it.  Each order is
    run through the model, so that it is a run; since the run is a shortest one, none breaks the property sooner.
    ``trace`` itself where it is endless, or where trying takes too long.
    """
    lanes = [lane_of(spec.actions[event.action], event) for event in trace.events]
    as_it_was = changes_of_process(lanes)
    if trace.loop is not None:
        return Ordered(trace, as_it_was, False)
    every, numbers = (1 << len(lanes)) - 1, count()

    def to_come(done: int, lane: str) -> int:
        left = {other for place, other in enumerate(lanes) if not done >> place & 1}
        return len(left - {lane})

    start = trace.states[0]
    heap: list[tuple[int, int, int, int, str, tuple[State, ...], tuple[int, ...]]]
    heap = [(to_come(0, ""), 0, next(numbers), 0, "", (start,), ())]
    seen, tried = set[tuple[int, str, str]](), 0
    while heap:
        least, _, _, done, lane, states, order = heappop(heap)
        if done == every:
            found = Trace(states, tuple(trace.events[place] for place in order))
            return Ordered(found, changes_of_process([lanes[place] for place in order]), True)
        key = (done, lane, repr(states[-1]))
        if key in seen:
            continue
        seen.add(key)
        so_far = least - to_come(done, lane)
        taken = set[str]()
        for place, event in enumerate(trace.events):
            if done >> place & 1 or str(event) in taken:
                continue
            taken.add(str(event))  # of equal steps the first that is left
            tried += 1
            if tried > most:
                return Ordered(trace, as_it_was, False)
            after = plain.step(states[-1], event) if plain.enabled(states[-1], event) else None
            now = done | 1 << place
            if after is None or (now == every and not _is_shown(plain, asked, states[-1], after)):
                continue
            changed = so_far + (order != () and lane != lanes[place])
            estimate = changed + to_come(now, lanes[place])
            heappush(heap, (estimate, -len(order), next(numbers), now, lanes[place], (*states, after), (*order, place)))
    raise AssertionError("the run itself is one of its orders")


def _is_shown(plain: Plain, asked: Property, before: State, after: State) -> bool:
    """Is what the run is shown for so at its end?"""
    if asked.kind == "step":
        return not plain.holds(asked, before, after)
    return plain.holds(asked, after) == (asked.kind == "sometimes")
