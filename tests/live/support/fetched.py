"""What is fetched from Maven for tests, once a machine: it outlives a session, in folders next to pytest's own.

Where it cannot be had tests skip with the reason, and fail under FENCEPOST_REQUIRE_KAFKA=1.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from fencepost.reference_impl.live.clusters.jars import ClusterError, reason_to_skip


def or_skip(fetch: Callable[[], Path]) -> Path:
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
