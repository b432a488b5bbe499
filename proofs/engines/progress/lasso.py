"""This module builds the counterexample to a progress property, which is a way to a state and a fair cycle through it,
or a state to stay in."""

import numpy as np
from fencepost.proofs.engines.explore import Graph
from fencepost.proofs.engines.progress.fairness import Duties
from fencepost.proofs.engines.progress.reach import Arrows, Bools, Ints, distinct, path


def waiting(graph: Graph, forward: Arrows, first: Bools, then: Bools) -> Ints:
    """Return the number of steps on a shortest way from the initial state through one where ``first`` holds, and on
    without ``then``, or -1 where there is none."""
    distance = np.full(graph.states, -1, np.int64)
    begin = (first & ~then).nonzero()[0]
    frontier, depth, last = np.zeros(0, np.int64), 0, int(graph.depth[begin].max()) if begin.size else -1
    while frontier.size or depth <= last:
        ends = graph.target[forward.of(frontier)]
        fresh = distinct(np.concatenate((ends[~then[ends]], begin[graph.depth[begin] == depth])))
        frontier = fresh[distance[fresh] < 0]
        distance[frontier] = depth
        depth += 1
    return distance


def way_to(graph: Graph, backward: Arrows, distance: Ints, first: Bools, state: int) -> list[int]:
    """Return the steps of a shortest way from the initial state to a ``first`` one, and, waiting, on to ``state``."""
    steps: list[int] = []
    while not (first[state] and distance[state] == graph.depth[state]):
        state = _step_back(graph, backward, distance, state, steps)
    while graph.depth[state] > 0:
        state = _step_back(graph, backward, graph.depth, state, steps)
    return steps[::-1]


def _step_back(graph: Graph, backward: Arrows, distance: Ints, state: int, steps: list[int]) -> int:
    numbers = backward.of(np.array([state]))
    origin = graph.source[numbers]
    best = numbers[distance[origin] == distance[state] - 1][0]
    steps.append(int(best))
    return int(graph.source[best])


def cycle(graph: Graph, forward: Arrows, owed: Duties, component: Ints, start: int) -> list[int]:
    """Return the steps of a walk from ``start`` back to it, in its component, that takes every instance owed on it."""
    return _Cycle(graph, forward, owed, component == component[start], start).walk()


class _Cycle:
    """A `_Cycle` walks ``inside`` a fair component to the nearest open obligation, and finally back to the start."""

    def __init__(self, graph: Graph, forward: Arrows, owed: Duties, inside: Bools, start: int) -> None:
        self.graph, self.forward, self.owed, self.inside, self.start = graph, forward, owed, inside, start
        self.mine = inside[owed.state].nonzero()[0]
        self.steps: list[int] = []

    def walk(self) -> list[int]:
        here = self.start
        while True:
            unpaid = self._unpaid()
            if not unpaid.any() and self.steps and here == self.start:
                return self.steps
            goal_steps, goal_states = self._goals(unpaid)
            self.steps += path(self.forward, here, self.inside, goal_steps, goal_states)
            here = int(self.graph.target[self.steps[-1]])

    def _unpaid(self) -> Bools:
        """Return the instances that would be owed if the walk so far were the cycle, and that are not taken on it."""
        owed, visited = self.owed, distinct(np.array([self.start, *self.graph.target[self.steps].tolist()]))
        pairs = self.mine[np.isin(owed.state[self.mine], visited)]
        allowed = np.bincount(owed.instance[pairs], minlength=owed.weak.size)
        taken = np.zeros(owed.weak.size, np.bool_)
        taken[self.graph.instance[self.steps]] = True
        unpaid: Bools = ~taken & ((owed.strong & (allowed > 0)) | (owed.weak & (allowed == visited.size)))
        return unpaid

    def _goals(self, unpaid: Bools) -> tuple[Bools, Bools]:
        """Return the steps of unpaid instances, and the states that free a weakly fair one, or the start if all are
        paid."""
        states = np.zeros(self.graph.states, np.bool_)
        if not unpaid.any():
            states[self.start] = True
        for instance in (unpaid & self.owed.weak).nonzero()[0].tolist():
            free = self.inside.copy()
            free[self.owed.state[self.mine[self.owed.instance[self.mine] == instance]]] = False
            states |= free
        return unpaid[self.graph.instance], states
