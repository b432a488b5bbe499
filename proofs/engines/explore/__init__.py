"""The explorer: breadth-first search over packed states, exhaustive within bounds.

Read `exploration` (what is asked, and what comes of it), `search` (level by level), `kernels` with `packing`, `emit`
and `successors` (what is executed), `traces` and `calmest` (runs).  `compiled` is the same search with numba, of what
`scalar` and `hashed` emit and `loaded` compiles, with its tables in `seen`.  `checkpoint` keeps a search on disk,
`symmetry` one of several alike states; `partial_order`, by `interference`, leaves steps out.
"""

from fencepost.proofs.engines.explore.coverage import coverage, unsaid
from fencepost.proofs.engines.explore.exploration import Exploration, Progress, Start, explore
from fencepost.proofs.engines.explore.graph import Graph, TooManySteps, graph, reachable_sample

__all__ = [
    "Exploration",
    "Graph",
    "Progress",
    "Start",
    "TooManySteps",
    "coverage",
    "explore",
    "graph",
    "reachable_sample",
    "unsaid",
]
