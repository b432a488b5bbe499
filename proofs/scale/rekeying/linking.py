"""Which events of large histories have to stay together, where they are held together by values of several columns.

Each value of a column (a record, a transaction, a request) is a node, and an event joins those that it names.  A worker
finds those that are connected in its row group, and then they are brought together; eight bytes stand for a node, and
two that get the same by chance stay together, which is harmless.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from fencepost.proofs.scale.seeds import ODD, mixed
from fencepost.properties.history.spreading import Link
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

FREE = np.uint64(0x5DEECE66D)


def hashed(columns: Mapping[str, np.ndarray], names: Sequence[str], seed: np.uint64 = FREE) -> np.ndarray:
    """Eight bytes for each row, the same for rows that are equal in the history and these columns."""
    found = _with(seed, columns["history"])
    for name in names:
        found = _with(found, columns[name])
    return found


def _with(seed: np.ndarray | np.uint64, values: np.ndarray) -> np.ndarray:
    return mixed((seed ^ values.astype(np.int64).view(np.uint64)) + ODD)


def nodes_of(columns: Mapping[str, np.ndarray], links: Sequence[Link]) -> tuple[np.ndarray, np.ndarray]:
    """For each row and link its node, and whether it has one: two arrays with a row for each link."""
    shape = (len(links), len(columns["history"]))
    nodes, there = np.zeros(shape, np.uint64), np.ones(shape, bool)
    for at, link in enumerate(links):
        nodes[at] = hashed(columns, link.columns, np.uint64(at))
        if link.kinds:
            there[at] = np.isin(columns["kind"], [int(kind) for kind in link.kinds])
        if not link.blank:
            for name in link.columns:
                there[at] &= columns[name] >= 0
    return nodes, there


def joins(nodes: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different nodes that the same row names, one of them the first that it names."""
    first = np.argmax(there, axis=0)
    heads = np.broadcast_to(nodes[first, np.arange(nodes.shape[1])], nodes.shape)
    further = there & (nodes != heads)
    return nodes[further], heads[further]


def connected(nodes: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From pairs of nodes: each node once, in order, and the least of those that it is connected with."""
    every, at = np.unique(np.concatenate([nodes, others]), return_inverse=True)
    size = len(every)
    pairs = coo_matrix((np.ones(len(nodes), np.int8), (at[: len(nodes)], at[len(nodes) :])), (size, size))
    count, label = connected_components(pairs, directed=False)
    least = np.full(count, size)
    np.minimum.at(least, label, np.arange(size))
    return every, every[least[label]]


def held_together(
    columns: Mapping[str, np.ndarray], links: Sequence[Link], known: tuple[np.ndarray, np.ndarray] | None
) -> np.ndarray:
    """For each row eight bytes, the same for rows that must stay together.  `known`: what `connected` found, where
    there are several links."""
    nodes, there = nodes_of(columns, links)
    alone = hashed(columns, ("step",))
    if not len(links):
        return alone
    first = np.argmax(there, axis=0)
    rows = np.arange(nodes.shape[1])
    heads = nodes[first, rows]
    if known is not None:
        every, roots = known
        if len(every):  # a node that is with no other is not among them
            at = np.searchsorted(every, heads).clip(max=len(every) - 1)
            heads = np.where(every[at] == heads, roots[at], heads)
    return np.where(there[first, rows], heads, alone)
