"""This module runs plain Python in reachable states that the explorer finds, and compares each guard and successor with
the packed words.

Plain Python can be run, and is not read as terms, so nothing is proved of states that the search does not reach. What
packed words do in a state is proved to be what the terms state (`obligations`).
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import Bounds, bound_of
from fencepost.proofs.engines.explore import explore, sets
from fencepost.proofs.engines.explore.graph import blocks
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.traces import Expansion
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import State

MOST = 3_000
"""So many states are compared, each of which takes some milliseconds."""
FROM = 30
"""They are drawn evenly from this many times as many states, so that actions far from the start are taken."""
BLOCK = 256

Fields = tuple[int, ...]


@dataclass
class Ran:
    """A `Ran` is what was found in ``states`` states, which are all reachable ones if ``complete``, and otherwise drawn
    from ``drawn_from``. ``taken`` counts by action the steps that were compared, and ``different`` has the first state
    and event in which the two differ."""

    complete: bool
    drawn_from: int
    states: int = 0
    seconds: float = 0.0
    taken: dict[str, int] = field(default_factory=dict)
    different: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def compare(spec: Spec, bounds: Bounds, *, most: int = MOST, report: Callable[[], object] = lambda: None) -> Ran:
    """Compare at most ``most`` states. ``report`` is called after each block of them."""
    began = time.perf_counter()
    made = explore(spec, {}, bounds, max_states=most * FROM)
    every = -(-made.distinct // most)
    ran = Ran(made.complete and every == 1, made.distinct, taken=dict.fromkeys(spec.actions, 0))
    compared = _Compared(spec, bounds, made.kernels, ran)
    for first, all_of in blocks(made):
        drawn = tuple(column[-first % every :: every] for column in all_of)
        for start in range(0, sets.size(drawn), BLOCK):
            compared.block(sets.part(drawn, start, start + BLOCK))
            report()
    ran.seconds = time.perf_counter() - began
    return ran


class _Compared:
    def __init__(self, spec: Spec, bounds: Bounds, kernels: Kernels, ran: Ran) -> None:
        self.spec, self.kernels, self.ran = spec, kernels, ran
        self.layout = kernels.ground.layout
        self.plain = Plain(spec, {name: bound_of(bounds, name) for name in spec.constants}, dict(bounds))
        self.written = {a.name: {u.variable for u in a.updates} for a in spec.actions.values()}
        self.numbers = {(i.action, tuple(i.parameters.values())): n for n, i in enumerate(kernels.instances)}

    def block(self, states: Any) -> None:
        made = Expansion(self.kernels, states)
        after = self._rows(made.words)
        steps: list[dict[int, Fields]] = [{} for _ in range(sets.size(states))]
        for row, instance, fields in zip(made.rows.tolist(), made.instances.tolist(), after, strict=True):
            steps[row][instance] = fields
        for fields, taken in zip(self._rows(sets.to_words(states)), steps, strict=True):
            self.ran.states += 1
            state = self.layout.decode(fields)
            for action in self.spec.actions:
                for event, mine, theirs in self._both(action, state, fields, taken):
                    self.ran.taken[action] += mine is not None
                    if mine != theirs and action not in self.ran.different:
                        self.ran.different[action] = {"event": str(event), "state": state}

    def _rows(self, words: Any) -> list[Fields]:
        columns = self.kernels.packing.unpack(words)
        count = words[0].size
        return list(zip(*(np.broadcast_to(column, count).tolist() for column in columns), strict=True))

    def _both(
        self, action: str, state: State, fields: Fields, taken: Mapping[int, Fields]
    ) -> Iterator[tuple[Any, Any, Any]]:
        """Yield each event with the fields after it in both readings, or None where it is not taken."""
        budget = self.spec.actions[action].budget
        place = None if budget is None else self.layout.budgets[budget]
        spent = place is not None and fields[place] >= self.layout.fields[place].high
        for event in self.plain.events(action):
            number, mine = self.numbers.get((action, tuple(event.parameters.values()))), None
            if not spent and self.plain.enabled(state, event):
                after = self.plain.step(state, event)
                mine = None if after is None else self._encoded(action, state, after, fields, place)
            yield event, mine, None if number is None else taken.get(number)

    def _encoded(self, action: str, before: State, after: State, fields: Fields, spends: int | None) -> Fields:
        """Return the fields of the state after a step, of which plain Python has no budgets. What is the same object as
        before, and not assigned by the action, needs no writing."""
        values = list(fields)
        for name in self.spec.types:
            if after[name] is not before[name] or name in self.written[action]:
                self.layout.write(values, name, after[name])
        if spends is not None:
            values[spends] += 1
        return tuple(values)
