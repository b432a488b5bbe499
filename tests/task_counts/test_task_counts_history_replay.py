"""Replay of task counts finds exactly the seeded defects, and nothing in histories of the four correct texts, by
properties and by conformance to the core."""

from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import ReplayReport, Undecided, replay
from fencepost.proofs.traces import conformance_of
from fencepost.properties.history import Manifest
from fencepost.properties.task_counts.histories.properties import RECORDINGS

SIMULATOR = "fencepost.reference_impl.systems.task_counts:simulate_with_stats"


def simulated(place: Path, histories: int, seed: int = 1, cores: int = 1, **config: Any) -> ReplayReport:
    """Return the replay report on simulated histories of the reference under this config."""
    manifest = generate(
        place, SIMULATOR, histories=histories, seed=seed, config=config, protocol="task-counts", cores=cores
    )
    return replay(place, cores=cores, further={"conformance": conformance_of(manifest)})


def test_outsiders_are_not_followed_but_judged(tmp_path: Path) -> None:
    """618.34: A foreign writer of counts breaks a promise, and the core gives the reason why it does not decide."""
    report = simulated(tmp_path, 15, mode="B", events=300, foreign_count=0.03)
    assert {"writes_by_latest_claimant", "fenced_before_count", "counts_are_sizes"} <= set(report.violations)
    (reason,) = report.undecided["conformance"]
    assert reason == "another client writes to the config topic, which the model leaves out (618.34)"


def test_workers_that_differ_in_support_are_not_followed(tmp_path: Path) -> None:
    """618.33: The core has no workers that differ in support."""
    report = simulated(tmp_path, 10, mode="shipped", events=200, workers=2, support=["enabled", "disabled"])
    assert "workers differ in support, which the model leaves out (618.33)" in report.undecided["conformance"]


def test_names_that_collide(tmp_path: Path) -> None:
    """618.49: Within one cluster of workers no two tasks share an id, whatever the connectors' names."""
    report = simulated(tmp_path, 15, mode="B", events=300, connectors=2, names=["a", "a-1"])
    assert "ids_of_their_own" not in report.violations and report.judged["ids_of_their_own"] > 50


@pytest.mark.parametrize(("hidden", "reason"), [
    ("round_started", "the histories do not show round_started"),
    ("", "the order of steps across nodes is not known"),
])  # fmt: skip
def test_what_can_not_be_held_against_the_core(hidden: str, reason: str) -> None:
    observed = tuple(kind for kind in RECORDINGS["all"] if kind != hidden)
    assert conformance_of(Manifest("task-counts", observed, (), ordered=bool(hidden))) == Undecided(reason)
