"""The explorer: breadth-first search over packed states, exhaustive within bounds."""

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
