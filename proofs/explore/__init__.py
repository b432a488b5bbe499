"""The explorer: breadth-first search over packed states, exhaustive within bounds."""

from .exploration import Exploration, Progress, explore
from .graph import Graph, TooManySteps, graph, reachable_sample

__all__ = ["Exploration", "Graph", "Progress", "TooManySteps", "explore", "graph", "reachable_sample"]
