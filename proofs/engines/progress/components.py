"""Strongly connected components: networkx where the graph is small, arrays beyond.

``components(graph)`` numbers them by their smallest node, and gives -1 to nodes on no cycle.
"""

import networkx
import numpy as np
from fencepost.proofs.engines.progress.reach import Arrows, Bools, Ints, distinct, reached

FITS_NETWORKX = 5_000
"""Arrows. Beyond, it takes as long as the search itself: 10.3 s over all progress checks of `verify`, arrays 0.8 s."""


def components(nodes: int, begin: Ints, end: Ints, inside: Bools) -> Ints:
    """The component of each node of the graph inside ``inside``: its smallest node, or -1 if no cycle passes (a loop
    is a cycle)."""
    kept = inside[begin] & inside[end]
    begin, end = begin[kept], end[kept]
    if begin.size <= FITS_NETWORKX:
        return by_networkx(nodes, begin, end)
    return by_arrays(nodes, begin, end)


def by_networkx(nodes: int, begin: Ints, end: Ints) -> Ints:
    net = networkx.DiGraph()
    net.add_edges_from(zip(begin.tolist(), end.tolist(), strict=True))
    result = np.full(nodes, -1, np.int64)
    for component in networkx.strongly_connected_components(net):
        members = np.fromiter(component, np.int64, len(component))
        if members.size > 1 or net.has_edge(int(members[0]), int(members[0])):
            result[members] = members.min()
    return result


def by_arrays(nodes: int, begin: Ints, end: Ints) -> Ints:
    """Trims what lies on no cycle, then colours: every node gets the largest node that reaches it; those that reach
    back to the node of their colour are its component.  All colours at once; what is left over goes round again."""
    result = np.full(nodes, -1, np.int64)
    while True:
        begin, end = _trim(nodes, begin, end)
        if not begin.size:
            return _renumber(result)
        colour = _colours(nodes, begin, end)
        alive = np.zeros(nodes, np.bool_)
        alive[begin] = alive[end] = True
        roots = ((colour == np.arange(nodes)) & alive).nonzero()[0]
        same = colour[begin] == colour[end]
        back = Arrows(nodes, end[same], begin[same])
        found = reached(back, roots, alive)
        result[found] = colour[found]
        # A root without a way back to itself is on no cycle with nodes of its colour; it is a component of its own.
        left = ~found[begin] & ~found[end]
        _drop_single(result, nodes, begin, end)
        begin, end = begin[left], end[left]


def _drop_single(result: Ints, nodes: int, begin: Ints, end: Ints) -> None:
    """Components of one node without a loop are none."""
    counted = np.bincount(result[result >= 0], minlength=nodes)
    loops = np.zeros(nodes, np.bool_)
    loops[begin[begin == end]] = True
    members = (result >= 0).nonzero()[0]
    single = members[(counted[result[members]] == 1) & ~loops[members] & (_on(nodes, begin, end)[members])]
    result[single] = -1


def _on(nodes: int, begin: Ints, end: Ints) -> Bools:
    on = np.zeros(nodes, np.bool_)
    on[begin] = on[end] = True
    return on


def _trim(nodes: int, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Without arrows that lead to or from a node on no cycle, as far as missing arrows in or out show it."""
    for direction in (0, 1):
        one, other = (begin, end) if direction == 0 else (end, begin)
        arrows, degree = Arrows(nodes, one, other), np.bincount(other, minlength=nodes)
        gone = np.zeros(nodes, np.bool_)
        frontier = ((degree == 0) & _on(nodes, begin, end)).nonzero()[0]
        while frontier.size:
            gone[frontier] = True
            ends = other[arrows.of(frontier)]
            np.subtract.at(degree, ends, 1)
            frontier = distinct(ends[degree[ends] == 0])
        kept = ~gone[begin] & ~gone[end]
        begin, end = begin[kept], end[kept]
    return begin, end


def _colours(nodes: int, begin: Ints, end: Ints) -> Ints:
    """For each node the largest node that reaches it, itself included."""
    colour = np.arange(nodes)
    arrows = Arrows(nodes, begin, end)
    frontier = distinct(begin)
    while frontier.size:
        numbers = arrows.of(frontier)
        ends = end[numbers]
        before = colour[ends]
        np.maximum.at(colour, ends, colour[begin[numbers]])
        frontier = distinct(ends[colour[ends] > before])
    return colour


def _renumber(result: Ints) -> Ints:
    """Each component by its smallest node."""
    members = (result >= 0).nonzero()[0]
    smallest = np.full(result.size, result.size, np.int64)
    np.minimum.at(smallest, result[members], members)
    result[members] = smallest[result[members]]
    return result
