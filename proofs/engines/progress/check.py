"""This module decides whether what is promised to happen eventually does, once faults have used up their budgets and
all fairness obligations are met.

``check_progress(exploration)`` decides each progress property on the explored graph. From every state where its first
condition holds, the second must come to hold on every fair behaviour. If it does not, the trace leads into a cycle, or
into a state where no fairness obligation is open.
"""

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from fencepost.proofs.engines.explore import Exploration, Graph, graph, sets
from fencepost.proofs.engines.explore.emit import conditions
from fencepost.proofs.engines.explore.graph import blocks
from fencepost.proofs.engines.explore.traces import state_at
from fencepost.proofs.engines.progress.fairness import Duties, duties, fair_components, resting, without
from fencepost.proofs.engines.progress.lasso import cycle, waiting, way_to
from fencepost.proofs.engines.progress.reach import Arrows, Bools, Ints
from fencepost.proofs.readings.ground import Instance, Promise
from fencepost.proofs.results import Event, Trace, Verdict


@dataclass(frozen=True)
class ProgressResult:
    """A `ProgressResult` is the verdict on one progress property. The last event of a violation's ``trace`` leads back
    to ``states[loop]``, or ``loop`` is the last state, in which the run stays. ``parameters`` has the choice for which
    the property fails. ``waiting`` counts the states on the way that wait, and ``note`` states what limits the verdict.
    """

    name: str
    verdict: Verdict
    seconds: float
    trace: Trace | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    waiting: int = 0
    note: str | None = None


def check_progress(exploration: Exploration, *, max_steps: int = 40_000_000) -> dict[str, ProgressResult]:
    """Return a verdict for each progress property, which holds, is violated, or is unknown if the exploration was
    stopped and no violation was found.

    A step stopped by a bound counts as owed, so that bounds cause no false livelocks. Errors: TooManySteps if the graph
    is larger than ``max_steps``.
    """
    promises = exploration.kernels.ground.progress
    if not promises:
        return {}
    checker = _Checker(exploration, graph(exploration, max_steps))
    names = dict.fromkeys(p.name for p in promises)
    return {name: checker.decide([p for p in promises if p.name == name]) for name in names}


class _Endless:
    """An `_Endless` has the behaviours of a graph that may go on for ever once some actions have ceased. ``steps`` has
    the numbers, in the whole graph, of the steps that are left."""

    def __init__(self, whole: Graph, instances: list[Instance], ceasing: tuple[str, ...]) -> None:
        self.graph, self.steps = without(whole, instances, ceasing)
        self.owed: Duties = duties(self.graph, instances)
        self.resting = resting(self.graph, self.owed)
        self.forward = Arrows(whole.states, self.graph.source, self.graph.target)

    def cycle(self, component: Ints, end: int) -> list[int]:
        found = cycle(self.graph, self.forward, self.owed, component, end)
        return [int(self.steps[number]) for number in found]


class _Checker:
    def __init__(self, exploration: Exploration, made: Graph) -> None:
        self.exploration, self.graph = exploration, made
        self.endless: dict[tuple[str, ...], _Endless] = {}
        self.forward = Arrows(made.states, made.source, made.target)
        self.firsts = np.concatenate(([0], np.cumsum(exploration.levels)))

    @cached_property
    def backward(self) -> Arrows:
        """Return the steps by their targets, which only a counterexample needs."""
        return Arrows(self.graph.states, self.graph.target, self.graph.source)

    def decide(self, promises: list[Promise]) -> ProgressResult:
        """Return the shortest way in which one of a property's instances fails, and the first of equally short ones."""
        start = time.perf_counter()
        best: tuple[int, int, Promise, Trace] | None = None
        waits = 0
        for number, promise in enumerate(promises):
            trace, met = self._counterexample(promise)
            waits += met
            if trace is not None and (best is None or (len(trace), number) < best[:2]):
                best = len(trace), number, promise, trace
        spent = time.perf_counter() - start
        name, note = promises[0].name, self._note()
        if best is not None:
            return ProgressResult(name, "violated", spent, best[3], best[2].parameters, waits, note)
        return ProgressResult(name, "holds" if self.exploration.complete else "unknown", spent, None, {}, waits, note)

    def _note(self) -> str | None:
        if not self.exploration.complete:
            return f"the search was stopped ({self.exploration.stopped}): states not searched count as leaving"
        stopped = {self.exploration.kernels.instances[int(i)].action for i in np.unique(self.graph.stopped_instance)}
        return f"stopped by bounds, and counted as leaving: {', '.join(sorted(stopped))}" if stopped else None

    def _counterexample(self, promise: Promise) -> tuple[Trace | None, int]:
        first, then = self._columns(promise)
        if promise.ceasing not in self.endless:
            instances = self.exploration.kernels.instances
            self.endless[promise.ceasing] = _Endless(self.graph, instances, promise.ceasing)
        endless = self.endless[promise.ceasing]
        distance = waiting(self.graph, self.forward, first, then)
        inside = distance >= 0
        component = fair_components(endless.graph, endless.owed, inside)
        ends = ((component >= 0) | endless.resting) & inside
        if not ends.any():
            return None, int(inside.sum())
        candidates = ends.nonzero()[0]
        # Nearest first; staying is shorter than a cycle; then the smallest number.
        end = int(candidates[np.lexsort((candidates, ~endless.resting[candidates], distance[candidates]))[0]])
        steps = way_to(self.graph, self.backward, distance, first, end)
        loop = len(steps)
        if not endless.resting[end]:
            steps = steps + endless.cycle(component, end)
        return self._trace(steps, loop), int(inside.sum())

    def _columns(self, promise: Promise) -> tuple[Bools, Bools]:
        first = np.zeros(self.graph.states, np.bool_)
        then = np.zeros(self.graph.states, np.bool_)
        read = conditions(self.exploration.kernels.packing, [promise.first, promise.then])
        for start, block in blocks(self.exploration):
            stop = start + sets.size(block)
            first[start:stop], then[start:stop] = read(sets.to_words(block))
        return first, then

    def _trace(self, steps: list[int], loop: int) -> Trace:
        numbers = [0, *self.graph.target[steps].tolist()]
        instances = self.exploration.kernels.instances
        events: list[Event] = [instances[int(self.graph.instance[s])].event for s in steps]
        return Trace(tuple(self._state(n) for n in numbers), tuple(events), loop)

    def _state(self, number: int) -> Any:
        depth = int(self.graph.depth[number])
        return state_at(self.exploration.kernels, self.exploration.states[depth], number - int(self.firsts[depth]))
