"""Lasso: the counterexample to a progress property, a way to a state and a fair cycle through it, or a state to stay
in."""

import numpy as np
from fencepost.proofs.explore import Graph
from fencepost.proofs.progress.fairness import Duties
from fencepost.proofs.progress.reach import Arrows, Bools, Ints, distinct, path


def waiting(graph: Graph, forward: Arrows, first: Bools, then: Bools) -> Ints:
    """Steps on a shortest way from the initial state through one where ``first`` holds, and on without ``then``; -1
    where there is none."""
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
    """The steps of a shortest way: from the initial state to one where ``first`` holds, and from there, waiting, to
    ``state``."""
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
    """Steps of a walk from ``start`` back to it, in its component, that does all that is owed on it: each time the
    nearest duty next."""
    inside = component == component[start]
    nowhere, steps = np.zeros(graph.states, np.bool_), list[int]()
    here, home = start, nowhere.copy()
    home[start] = True
    mine = inside[owed.state].nonzero()[0]
    while True:
        unpaid = _unpaid(graph, owed, mine, start, steps)
        if not unpaid.any():
            if steps and here == start:
                return steps
            walk = path(forward, here, inside, np.zeros(graph.target.size, np.bool_), home)
        else:
            walk = _to_duty(graph, forward, owed, mine, inside, here, unpaid)
        steps += walk
        here = int(graph.target[steps[-1]])


def _unpaid(graph: Graph, owed: Duties, mine: Ints, start: int, steps: list[int]) -> Bools:
    """Instances owed on the walk so far, if it were the cycle, and not taken on it."""
    visited = distinct(np.array([start, *graph.target[steps].tolist()]))
    pairs = mine[np.isin(owed.state[mine], visited)]
    allowed = np.bincount(owed.instance[pairs], minlength=owed.weak.size)
    taken = np.zeros(owed.weak.size, np.bool_)
    taken[graph.instance[steps]] = True
    return ~taken & ((owed.strong & (allowed > 0)) | (owed.weak & (allowed == visited.size)))


def _to_duty(
    graph: Graph, forward: Arrows, owed: Duties, mine: Ints, inside: Bools, here: int, unpaid: Bools
) -> list[int]:
    """The nearest step of an unpaid instance, or the nearest state where an unpaid weakly fair one is not allowed."""
    goal_steps = unpaid[graph.instance]
    goal_states = np.zeros(graph.states, np.bool_)
    for instance in (unpaid & owed.weak).nonzero()[0].tolist():
        free = inside.copy()
        free[owed.state[mine[owed.instance[mine] == instance]]] = False
        goal_states |= free
    return path(forward, here, inside, goal_steps, goal_states)
