"""Fair cycles and components on random graphs, held against trying every set of states."""

import itertools

import numpy as np
import pytest
from fencepost.proofs.engines.explore import Graph
from fencepost.proofs.engines.progress.fairness import Duties, fair_components, resting
from fencepost.proofs.engines.progress.lasso import cycle
from fencepost.proofs.engines.progress.reach import Arrows, by_networkx, by_scipy

STATES, INSTANCES = 6, 4
WEAK = np.array([True, True, False, False])
STRONG = np.array([False, False, True, False])


def random_graph(seed: int) -> tuple[Graph, Duties]:
    """Each instance leads from some states to one each; of the fair ones some are stopped by a bound."""
    draw = np.random.default_rng(seed)
    pairs = [(s, i) for s in range(STATES) for i in range(INSTANCES) if draw.random() < 0.45]
    stopped = [p for p in pairs if p[1] < 3 and draw.random() < 0.1]
    steps = [(s, int(draw.integers(STATES)), i) for s, i in pairs if (s, i) not in stopped]
    source, target, instance = (np.array(c, np.int64) for c in zip(*steps, strict=True))
    where = np.array([s for s, _ in stopped], np.int64)
    which = np.array([i for _, i in stopped], np.int64)
    graph = Graph(np.arange(STATES), source, target, instance, where, which, np.zeros(STATES, np.bool_))
    fair = (instance < 3).nonzero()[0]
    owed = Duties(
        WEAK, STRONG, np.concatenate((source[fair], where)), np.concatenate((instance[fair], which)),
        np.concatenate((fair, np.full(where.size, -1))),
    )  # fmt: skip
    return graph, owed


def steps_of(graph: Graph) -> list[tuple[int, int, int]]:
    return list(zip(graph.source.tolist(), graph.target.tolist(), graph.instance.tolist(), strict=True))


def may_stay(graph: Graph, owed: Duties, states: set[int]) -> bool:
    """May a behaviour visit exactly these states for ever?  By definition: connected by steps among them, and fair."""
    inner = [(a, b, i) for a, b, i in steps_of(graph) if a in states and b in states]
    allowed = set(zip(owed.state.tolist(), owed.instance.tolist(), strict=True))
    for i in range(INSTANCES):
        where = {s for s in states if (s, i) in allowed}
        taken = any(step[2] == i for step in inner)
        if not taken and ((WEAK[i] and where == states) or (STRONG[i] and where)):
            return False
    if len(states) == 1:
        return True
    closure = {(a, b) for a, b, _ in inner}
    for middle, a, b in itertools.product(states, repeat=3):
        if (a, middle) in closure and (middle, b) in closure:
            closure.add((a, b))
    return all((a, b) in closure for a in states for b in states)


@pytest.mark.parametrize("block", range(10))
def test_waiting_for_ever_is_decided_as_by_definition(block: int) -> None:
    """The states on fair cycles, and those to rest in, are those that some fair set of states contains."""
    found = 0
    for seed in range(20 * block, 20 * block + 20):
        graph, owed = random_graph(seed)
        inside = np.random.default_rng(seed + 1000).random(STATES) < 0.8
        kept = inside.nonzero()[0].tolist()
        sets = [set(c) for n in range(1, len(kept) + 1) for c in itertools.combinations(kept, n)]
        expected = set[int]().union(*(s for s in sets if may_stay(graph, owed, s)))
        component = fair_components(graph, owed, inside)
        decided = ((component >= 0) | resting(graph, owed)) & inside
        assert set(decided.nonzero()[0].tolist()) == expected
        found += len(expected)
        for start in (component >= 0).nonzero()[0].tolist():
            walk = cycle(graph, Arrows(STATES, graph.source, graph.target), owed, component, start)
            check_cycle(graph, owed, walk, start)
    assert found > 0


def check_cycle(graph: Graph, owed: Duties, walk: list[int], start: int) -> None:
    """The walk is connected, comes back, and does all that is owed on it."""
    nodes = [start, *graph.target[walk].tolist()]
    assert graph.source[walk].tolist() == nodes[:-1]
    assert nodes[-1] == start
    allowed = set(zip(owed.state.tolist(), owed.instance.tolist(), strict=True))
    for i in range(INSTANCES):
        there = [(s, i) in allowed for s in nodes]
        taken = i in graph.instance[walk].tolist()
        assert taken or not ((WEAK[i] and all(there)) or (STRONG[i] and any(there)))


@pytest.mark.parametrize("density", [0.5, 1.0, 1.5, 3.0])
def test_both_ways_to_find_components_agree(density: float) -> None:
    """networkx and scipy give the same components of random graphs, loops and lone nodes included."""
    for seed in range(30):
        draw = np.random.default_rng(seed)
        nodes = int(draw.integers(1, 60))
        begin, end = draw.integers(0, nodes, (2, int(density * nodes)))
        assert by_scipy(nodes, begin, end).tolist() == by_networkx(nodes, begin, end).tolist()
