"""The explorer: breadth-first search over packed states, exhaustive within bounds."""

from .coverage import coverage, unsaid
from .exploration import Exploration, Progress, explore
from .graph import Graph, TooManySteps, graph, reachable_sample

__all__ = [
    "Exploration",
    "Graph",
    "Progress",
    "TooManySteps",
    "coverage",
    "explore",
    "graph",
    "reachable_sample",
    "unsaid",
]
