"""Strongly connected components: networkx where the graph is small, scipy's over arrays beyond.

``components(graph)`` numbers them by their smallest node, and gives -1 to nodes on no cycle.
"""

import networkx
import numpy as np
from fencepost.proofs.engines.progress.reach import Bools, Ints

FITS_NETWORKX = 5_000
"""Arrows. Beyond, it takes as long as the search itself: 12 s for 300,000 arrows, scipy 0.14 s. Below, scipy's import
(a third of a second) is saved."""


def components(nodes: int, begin: Ints, end: Ints, inside: Bools) -> Ints:
    """The component of each node of the graph inside ``inside``: its smallest node, or -1 if no cycle passes (a loop
    is a cycle)."""
    kept = inside[begin] & inside[end]
    begin, end = begin[kept], end[kept]
    if begin.size <= FITS_NETWORKX:
        return by_networkx(nodes, begin, end)
    return by_scipy(nodes, begin, end)


def by_networkx(nodes: int, begin: Ints, end: Ints) -> Ints:
    net = networkx.DiGraph()
    net.add_edges_from(zip(begin.tolist(), end.tolist(), strict=True))
    result = np.full(nodes, -1, np.int64)
    for component in networkx.strongly_connected_components(net):
        members = np.fromiter(component, np.int64, len(component))
        if members.size > 1 or net.has_edge(int(members[0]), int(members[0])):
            result[members] = members.min()
    return result


def by_scipy(nodes: int, begin: Ints, end: Ints) -> Ints:
    """Over a sparse matrix of arrows."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    arrows = csr_array((np.ones(begin.size, np.bool_), (begin, end)), shape=(nodes, nodes))
    _, label = connected_components(arrows, connection="strong")
    numbers = np.arange(nodes)
    smallest = np.empty(nodes, np.int64)
    smallest[label[::-1]] = numbers[::-1]  # of several assignments to one place the last one stays
    on_cycle = np.bincount(label)[label] > 1
    on_cycle[begin[begin == end]] = True
    return np.where(on_cycle, smallest[label], -1)
