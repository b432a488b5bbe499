"""The explorer: breadth-first search over packed states, exhaustive within bounds.

Read `exploration` (what is asked, and what comes of it), `search` (level by level), `kernels` with `packing`, `emit`
and `successors` (what is executed), `traces` and `fewest_switches` (runs). `compiled_search` is the same search with
numba, `checkpoint` keeps one on disk, `reductions` leave out states that differ in names alone, and steps.
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
