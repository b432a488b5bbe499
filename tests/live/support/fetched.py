"""What is fetched from Maven for tests, once a machine: it outlives a session, in folders next to pytest's own. And the
clusters that tests share.

Where it cannot be had tests skip with the reason, and fail under FENCEPOST_REQUIRE_KAFKA=1.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Generic, TypeVar

import pytest
from fencepost.reference_impl.live.clusters.jars import ClusterError, reason_to_skip

C = TypeVar("C", bound=AbstractContextManager[object])
T = TypeVar("T")


def or_skip(fetch: Callable[[], T]) -> T:
    """What it gives."""
    reason = reason_to_skip()
    if reason is None:
        try:
            return fetch()
        except ClusterError as error:
            reason = str(error)
    if os.environ.get("FENCEPOST_REQUIRE_KAFKA") == "1":
        pytest.fail(f"FENCEPOST_REQUIRE_KAFKA=1, but {reason}")
    pytest.skip(reason)


def cache(base: Path, name: str, made_of: Iterable[Path]) -> Path:
    """The folder of a name, another one for each state of the files that it is made of."""
    state = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(made_of)))
    return root(base) / f"fencepost-{name}-{state.hexdigest()[:8]}"


def root(base: Path) -> Path:
    """The folder of pytest's own folders, one of which is above `base`."""
    return next((each for each in (base, *base.parents) if each.name.startswith("pytest-of-")), base)


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
