"""This module finds the states in which a behaviour can go on for ever without what it waits for, although all fairness
obligations are met.

An instance of a weakly fair action is owed if it stays allowed, and one of a strongly fair action if it is allowed
again and again. A cycle counts only if each owed instance is taken in it (Streett's condition, by components: remove
what makes one unfair, and look again). An instance counts as allowed if the protocol allows it. Where only a bound
stops an instance, it is owed and not taken, so that a bound never makes a livelock.
"""

from dataclasses import dataclass, replace

import numpy as np
from fencepost.proofs.engines.explore import Graph
from fencepost.proofs.engines.progress.reach import Bools, Ints, components, distinct
from fencepost.proofs.readings.ground import Instance


@dataclass(frozen=True)
class Duties:
    """A `Duties` has the fairness obligations of a graph. ``weak[i]`` and ``strong[i]`` state whether instance i is
    owed in that way. ``state`` and ``instance`` have every pair of a state and a fair instance that the protocol allows
    there. ``step`` is the number of that step in the graph, or -1 where a bound stops it."""

    weak: Bools
    strong: Bools
    state: Ints
    instance: Ints
    step: Ints

    @property
    def fair(self) -> Bools:
        return self.weak | self.strong


def duties(graph: Graph, instances: list[Instance]) -> Duties:
    weak = np.array([i.fair == "weak" for i in instances], np.bool_)
    strong = np.array([i.fair == "strong" for i in instances], np.bool_)
    steps = (weak | strong)[graph.instance].nonzero()[0]
    state = np.concatenate((graph.source[steps], graph.stopped_state))
    instance = np.concatenate((graph.instance[steps], graph.stopped_instance))
    return Duties(weak, strong, state, instance, np.concatenate((steps, np.full(graph.stopped_state.size, -1))))


def without(graph: Graph, instances: list[Instance], ceasing: tuple[str, ...]) -> tuple[Graph, Ints]:
    """Return the graph without the steps of actions that cease eventually, and the numbers of the other steps."""
    left = np.array([i.action not in ceasing for i in instances], np.bool_)
    if left.all():  # nothing is copied
        return graph, np.arange(graph.source.size)
    steps = left[graph.instance].nonzero()[0]
    stopped = left[graph.stopped_instance]
    rest = replace(
        graph, source=graph.source[steps], target=graph.target[steps], instance=graph.instance[steps],
        stopped_state=graph.stopped_state[stopped], stopped_instance=graph.stopped_instance[stopped],
    )  # fmt: skip
    return rest, steps


def resting(graph: Graph, owed: Duties) -> Bools:
    """Return the states in which nothing is owed but steps back to themselves, so that a run may stay for ever."""
    result = ~graph.unsearched
    target = np.where(owed.step >= 0, graph.target[np.maximum(owed.step, 0)], -1) if graph.target.size else owed.step
    result[owed.state[target != owed.state]] = False
    return result


def fair_components(graph: Graph, owed: Duties, inside: Bools) -> Ints:
    """Return, for each state ``inside``, the smallest state of its fair component, or -1 if it has none.

    From an unfair component, states are removed until the rest is fair or empty.
    """
    alive = inside & ~graph.unsearched
    fair = np.full(graph.states, -1, np.int64)
    while alive.any():
        component = components(graph.states, graph.source, graph.target, alive)
        members = component >= 0
        broken, avoid = _unfair(graph, owed, component)
        whole = members & ~broken[np.maximum(component, 0)]
        fair[whole] = component[whole]
        # Fair components are settled. Other states that owe what their component never does are on no fair cycle.
        alive = members & ~whole & ~avoid
    return fair


def _unfair(graph: Graph, owed: Duties, component: Ints) -> tuple[Bools, Bools]:
    """Return the unfair components, by their smallest state, and the states that are on no fair cycle of theirs."""
    kinds = owed.weak.size
    mine = (component[owed.state] >= 0).nonzero()[0]
    state, instance, step = owed.state[mine], owed.instance[mine], owed.step[mine]
    pair = component[state] * kinds + instance
    key = distinct(pair)
    which = key.searchsorted(pair)
    allowed = np.bincount(which, minlength=key.size)
    inner = (
        (step >= 0) & (component[graph.target[np.maximum(step, 0)]] == component[state])
        if graph.target.size
        else step >= 0
    )
    taken = np.bincount(which[inner], minlength=key.size)
    size = np.bincount(component[component >= 0], minlength=graph.states)
    always = allowed == size[key // kinds]
    unpaid = (taken == 0) & (owed.strong[key % kinds] | (owed.weak[key % kinds] & always))
    broken = np.zeros(graph.states, np.bool_)
    broken[key[unpaid] // kinds] = True
    avoid = np.zeros(graph.states, np.bool_)
    avoid[state[unpaid[which]]] = True
    return broken, avoid
