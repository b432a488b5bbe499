"""This module searches breadth first by the plain reading alone, which needs no NumPy, as in a browser's Python.

It is some hundred times slower than the explorer, and finds runs of the same length within the same bounds. A state is
stored as a digest of 16 bytes, with its predecessor's number and the step between them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from marshal import dumps

from fencepost.model.language.derived.slicing import without_unread_ghosts
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import bound_of
from fencepost.proofs.readings.plain import Plain, freeze
from fencepost.proofs.results import Event, State, Trace

MOST_STATES = 300_000
"""A search ends undecided after this many states, which fit into the memory of a browser's tab."""
EVERY = 500
"""Progress is reported after so many states."""
NO_REFERENCES = 2
"""In this version of its format, `marshal` writes equal values as equal bytes, whichever objects they are."""
Spent = tuple[int, ...]
Report = Callable[[int, int], None]
"""A `Report` is called with the number of states, and of the steps to the level that is searched."""


@dataclass
class PlainSearch:
    """A `PlainSearch` is what a search found: ``violated`` has properties that a run breaks, ``traces`` the shortest
    runs to them and to witnesses, and ``distinct`` the number of states, all of them if the search is ``complete``.
    ``depth`` is the number of steps to its last level."""

    bounds: Mapping[str, int]
    violated: list[str] = field(default_factory=list)
    traces: dict[str, Trace] = field(default_factory=dict)
    distinct: int = 0
    depth: int = 0
    complete: bool = False


class _Steps:
    """A `_Steps` yields the steps of a protocol within bounds, each budget of faults included."""

    def __init__(self, plain: Plain) -> None:
        self.plain, spec = plain, plain.spec
        self.budgets = list(dict.fromkeys(a.budget for a in spec.actions.values() if a.budget is not None))
        bounds = plain.bounds or {}
        self.most = tuple(bound_of(bounds, budget) for budget in self.budgets)
        self.choices = [
            (event, None if action.budget is None else self.budgets.index(action.budget))
            for action in spec.actions.values()
            for event in plain.events(action.name)
        ]

    def of(self, state: State, spent: Spent) -> Iterator[tuple[int, State, Spent]]:
        for number, (event, budget) in enumerate(self.choices):
            if budget is not None and spent[budget] >= self.most[budget]:
                continue
            if self.plain.enabled(state, event) and (after := self.plain.step(state, event)) is not None:
                more = spent if budget is None else (*spent[:budget], spent[budget] + 1, *spent[budget + 1 :])
                yield number, after, more


def search(
    spec: Spec, properties: Mapping[str, Property], bounds: Mapping[str, int], *, most: int = MOST_STATES,
    report: Report | None = None,
) -> PlainSearch:  # fmt: skip
    """Search until nothing is new, a level breaks one of the properties or reaches a witness, or there are ``most``
    states. Errors: PlainError, BoundsError where bounds are missing."""
    spec = without_unread_ghosts(spec, properties.values())
    plain = Plain(spec, {name: bound_of(bounds, name) for name in spec.constants}, dict(bounds))
    steps, found = _Steps(plain), PlainSearch(dict(bounds))
    asked = {n: p for n, p in properties.items() if p.kind in ("always", "step", "sometimes")}
    along = {n: p for n, p in asked.items() if p.kind == "step"}
    initial, unspent = plain.initial(), (0,) * len(steps.budgets)
    decided = {
        n: (0, None) for n, p in along.items() if p.initially is not None and not plain.holds(p.initially, initial)
    }
    known = {_digest(initial, unspent): 0}
    before: list[tuple[int, int]] = [(0, 0)]  # of each state, the predecessor's number and that of the step
    level = [(0, initial, unspent)]
    ends: dict[str, tuple[int, int | None]] = {**decided, **_at(plain, asked, 0, initial)}
    full = False
    while level and not ends and not full:
        found.depth += 1
        following = []
        for number, state, spent in level:
            for choice, after, more in steps.of(state, spent):
                for name, one in along.items():
                    if name not in ends and not plain.holds(one, state, after):
                        ends[name] = (number, choice)
                digest = _digest(after, more)
                if digest in known:
                    continue
                new = known[digest] = len(before)
                before.append((number, choice))
                for name, place in _at(plain, asked, new, after).items():
                    ends.setdefault(name, place)
                following.append((new, after, more))
                if report is not None and new % EVERY == 0:
                    report(new, found.depth)
            if full := len(before) >= most:
                break
        level = following
    found.distinct, found.complete = len(before), not full and not ends
    for name, (number, last) in ends.items():
        found.traces[name] = _trace(plain, initial, [steps.choices[c][0] for c in _path(before, number, last)])
        if asked[name].kind != "sometimes":
            found.violated.append(name)
    return found


def _digest(state: State, spent: Spent) -> bytes:
    return blake2b(dumps((freeze(state), spent), NO_REFERENCES), digest_size=16).digest()


def _at(plain: Plain, asked: Mapping[str, Property], number: int, state: State) -> dict[str, tuple[int, int | None]]:
    """Return the properties that a state decides: an invariant that it breaks, or a witness that it is."""
    return {
        name: (number, None)
        for name, one in asked.items()
        if one.kind != "step" and plain.holds(one, state) == (one.kind == "sometimes")
    }


def _path(before: list[tuple[int, int]], number: int, last: int | None) -> list[int]:
    path = [] if last is None else [last]
    while number:
        number, choice = before[number]
        path.append(choice)
    return path[::-1]


def _trace(plain: Plain, initial: State, events: list[Event]) -> Trace:
    states = [initial]
    for event in events:
        after = plain.step(states[-1], event)
        assert after is not None  # the search has taken this step
        states.append(after)
    return Trace(tuple(states), tuple(events))
