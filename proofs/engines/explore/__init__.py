"""The explorer is a breadth-first search over packed states, exhaustive within bounds.

`exploration` has the interface, and `search` proceeds level by level. `kernels`, with `packing`, `emit` and
`successors`, has the code that is executed, and `traces` and `fewest_switches` find runs. `compiled_search` is the same
search with numba, `checkpoint` stores a search on disk, and `reductions` leave out steps, and states that differ in
names alone.
"""

from fencepost.proofs.engines.explore.coverage import coverage, unsaid
from fencepost.proofs.engines.explore.exploration import Exploration, Progress, Start, Starts, explore
from fencepost.proofs.engines.explore.graph import Graph, TooManySteps, graph, reachable_sample

__all__ = [
    "Exploration",
    "Graph",
    "Progress",
    "Start",
    "Starts",
    "TooManySteps",
    "coverage",
    "explore",
    "graph",
    "reachable_sample",
    "unsaid",
]
