"""A real Connect and the reference implementation come to the same at rest: what the config topic has, who polls, how
each transactional id was claimed, what REST reports, and what was committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fencepost.properties.driving import Factory, Program
from fencepost.properties.task_counts.interface import Call
from fencepost.properties.task_counts.scenarios.resting import CONFIG, came_to, compared, differences, drawn
from fencepost.reference_impl.defects import task_counts as defects
from fencepost.reference_impl.live.connect.install import BROKERS, Installed
from fencepost.reference_impl.live.connect.task_counts import ConnectSystem, end, own
from fencepost.reference_impl.systems.task_counts import released
from fencepost.reference_impl.systems.task_counts_cluster import RELEASED
from nights import night

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

PROGRAMS = 40
"""Each takes some ten seconds."""
FEWER = Program(
    {**CONFIG, "connectors": 1, "max_tasks": 2},
    (Call("configure", 0, 0, 2), Call("work"), Call("configure", 0, 0, 1), Call("work")),
)
"""A connector gets fewer tasks, which a round of fencing has to precede."""


@pytest.fixture(scope="module")
def live(cache: Path, installed: Callable[[str], Installed]) -> Iterator[Callable[[Mapping[str, Any]], ConnectSystem]]:
    """A new system of this configuration, on one cluster of three workers."""
    installed(BROKERS)
    yield lambda config: own({**config, "cache": cache})
    end()


def without(defect: str) -> Factory:
    """The reference implementation as released, with a mechanism switched off."""
    return lambda config: getattr(defects, defect)({**RELEASED, **config})


def test_a_live_cluster_comes_to_the_same(live: Factory) -> None:
    """And not to what the reference comes to with one of its mechanisms switched off."""
    seen = tuple(came_to(live(FEWER.config), FEWER))
    assert not compared(FEWER, seen, released)
    assert "claims of (0, 1)" in " ".join(compared(FEWER, seen, without("no_fencing")))
    assert "counts of 0" in " ".join(compared(FEWER, seen, without("record_old_count")))
    assert "counts of 0: 2, and not None" in compared(FEWER, seen, without("does_not_ask"))


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
def test_programs_come_to_the_same(live: Factory) -> None:
    """Other programs each night."""
    first = (night() or 0) * PROGRAMS
    for seed in range(first, first + PROGRAMS):
        assert not differences(drawn(seed), live, released), f"drawn({seed})"
