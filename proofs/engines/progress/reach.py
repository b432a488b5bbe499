"""This module has graphs as arrays, with walks over all states of a distance at once, and strongly connected
components."""

import networkx
import numpy as np
from numpy.typing import NDArray

# An `Arrows` is one direction of a graph, with the arrows of each node in order. Numbers of arrows are indices into the
# graph's own arrays.

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Arrows:
    """An `Arrows` has the arrows of each of ``nodes`` nodes, by the node where they begin."""

    def __init__(self, nodes: int, begin: Ints, end: Ints) -> None:
        self.nodes, self.end = nodes, end
        self.order = order_of(begin)
        self.first = np.concatenate(([0], np.cumsum(np.bincount(begin, minlength=nodes))))

    def of(self, nodes: Ints) -> Ints:
        """Return the numbers of all arrows that begin at these nodes, node by node."""
        counts = self.first[nodes + 1] - self.first[nodes]
        ends = np.cumsum(counts)
        steps = np.arange(int(ends[-1]) if ends.size else 0)
        numbers: Ints = self.order[steps + np.repeat(self.first[nodes] - (ends - counts), counts)]
        return numbers


def order_of(begin: Ints) -> Ints:
    """Return the stable order of small numbers. Sorting them with their places takes a fifth of the time of argsort."""
    if not begin.size or bool(np.all(begin[1:] >= begin[:-1])):
        return np.arange(begin.size)
    bits = np.uint64(int(begin.size - 1).bit_length())
    both = (begin.astype(np.uint64) << bits) | np.arange(begin.size, dtype=np.uint64)
    both.sort()
    both &= (np.uint64(1) << bits) - np.uint64(1)
    return both.view(np.int64)


def distinct(values: Ints) -> Ints:
    """Return the distinct values in order. This is many times as fast as np.unique, which hashes."""
    ordered = np.sort(values)
    fresh = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return ordered[fresh]


def path(arrows: Arrows, start: int, inside: Bools, goal_arrows: Bools, goal_nodes: Bools) -> list[int]:
    """Return the arrows of a shortest walk of at least one arrow from ``start``, inside, ending with a goal arrow or at
    a goal node.

    Of equally short walks, the first in order is returned. Errors: AssertionError if there is none, which the caller
    has to exclude.
    """
    came_by = np.full(arrows.nodes, -1, np.int64)
    came_from = np.full(arrows.nodes, -1, np.int64)
    frontier = np.array([start])
    seen = np.zeros(arrows.nodes, np.bool_)
    seen[start] = True
    while frontier.size:
        numbers = arrows.of(frontier)
        origins = np.repeat(frontier, arrows.first[frontier + 1] - arrows.first[frontier])
        ends = arrows.end[numbers]
        hits = ((goal_arrows[numbers] | goal_nodes[ends]) & inside[ends]).nonzero()[0]
        if hits.size:
            walk, node = [int(numbers[hits[0]])], int(origins[hits[0]])
            while node != start:
                walk.append(int(came_by[node]))
                node = int(came_from[node])
            return walk[::-1]
        new = (inside[ends] & ~seen[ends]).nonzero()[0]
        frontier = distinct(ends[new])
        # Assigned backwards, so that the first arrow to a node is the one that stays.
        back = new[::-1]
        came_by[ends[back]], came_from[ends[back]] = numbers[back], origins[back]
        seen[frontier] = True
    raise AssertionError("no walk leads from this state to the goal inside its component")


# Strongly connected components are computed by networkx where the graph is small, and by scipy beyond. Each is numbered
# by its smallest node, and nodes on no cycle get -1.

FITS_NETWORKX = 5_000
"""Graphs with at most this many arrows use networkx, which saves scipy's import (a third of a second). For larger ones
networkx takes as long as the search itself: 12 s for 300,000 arrows, where scipy takes 0.14 s."""


def components(nodes: int, begin: Ints, end: Ints, inside: Bools) -> Ints:
    """Return the strongly connected component of each node ``inside``, as its smallest node, or -1 without a cycle."""
    remaining = inside[begin] & inside[end]
    begin, end = begin[remaining], end[remaining]
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
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    arrows = csr_array((np.ones(begin.size, np.bool_), (begin, end)), shape=(nodes, nodes))
    _, label = connected_components(arrows, connection="strong")
    numbers = np.arange(nodes)
    smallest = np.empty(nodes, np.int64)
    smallest[label[::-1]] = numbers[::-1]  # the last of several assignments wins
    on_cycle = np.bincount(label)[label] > 1
    on_cycle[begin[begin == end]] = True
    return np.where(on_cycle, smallest[label], -1)
