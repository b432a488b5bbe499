"""Live clusters that tests share, until no test is left for them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Generic, TypeVar

C = TypeVar("C", bound=AbstractContextManager[object])


class Running(Generic[C]):
    """Clusters by name. An idle node costs some 3 % of a core, so they stop when a worker has no test left for them."""

    def __init__(self) -> None:
        self._clusters: dict[str, C] = {}
        self._stops = ExitStack()

    def get(self, name: str, make: Callable[[], C]) -> C:
        """The cluster of that name, started if it does not run."""
        if name not in self._clusters:
            cluster = make()
            self._stops.enter_context(cluster)
            self._clusters[name] = cluster
        return self._clusters[name]

    def stop(self) -> None:
        """Stop all of them; safe to repeat."""
        self._clusters.clear()
        self._stops.close()
