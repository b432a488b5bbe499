"""Replay of task counts: exact on what was planted, silent on the four texts as they are, and not on what has one thing
wrong; conformance to the core alike."""

from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost, read_json
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import ReplayReport, Undecided, replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.proofs.traces import conformance_of
from fencepost.properties.history import Manifest
from fencepost.properties.task_counts.histories.properties import RECORDINGS

SIMULATOR = "fencepost.reference_impl.systems.task_counts:simulate_with_stats"


def simulated(place: Path, histories: int, seed: int = 1, cores: int = 1, **config: Any) -> ReplayReport:
    """The report on what the reference implementation does with this config, properties and model."""
    manifest = generate(
        place, SIMULATOR, histories=histories, seed=seed, config=config, protocol="task-counts", cores=cores
    )
    return replay(place, cores=cores, further={"conformance": conformance_of(manifest)})


def test_outsiders_are_not_followed_but_judged(tmp_path: Path) -> None:
    """618.34: who is no leader writes counts, and a promise breaks; the core says why it does not follow."""
    report = simulated(tmp_path, 15, mode="B", events=300, foreign_count=0.03)
    assert {"writes_by_latest_claimant", "fenced_before_count", "counts_are_sizes"} <= set(report.violations)
    (reason,) = report.undecided["conformance"]
    assert reason == "somebody else writes to the config topic, which the model leaves out (618.34)"


def test_workers_that_differ_in_support_are_not_followed(tmp_path: Path) -> None:
    """618.33: the core has no such workers."""
    report = simulated(tmp_path, 10, mode="shipped", events=200, workers=2, support=["enabled", "disabled"])
    assert "workers differ in support, which the model leaves out (618.33)" in report.undecided["conformance"]


def test_names_that_collide(tmp_path: Path) -> None:
    """618.49: within one cluster of workers no two tasks share an id, whatever their connectors are called; it takes
    two clusters."""
    report = simulated(tmp_path, 15, mode="B", events=300, connectors=2, names=["a", "a-1"])
    assert "ids_of_their_own" not in report.violations and report.judged["ids_of_their_own"] > 50


@pytest.mark.parametrize(("hidden", "reason"), [
    ("round_started", "the histories do not show round_started"),
    ("", "the order of steps across nodes is not known"),
])  # fmt: skip
def test_what_can_not_be_held_against_the_core(hidden: str, reason: str) -> None:
    """A recording that lacks a kind, or the order, says so."""
    shown = tuple(kind for kind in RECORDINGS["all"] if kind != hidden)
    assert conformance_of(Manifest("task-counts", shown, (), ordered=bool(hidden))) == Undecided(reason)


def test_generate_and_replay_by_name(tmp_path: Path) -> None:
    """`fencepost generate task-counts/M` and `fencepost replay`; a defect that is asked for ends in exit code 1."""
    made = tmp_path / "made"
    ran = fencepost("generate", "task-counts/M", made, "--histories", 10, "--cores", 1)
    assert ran.code == 0, ran.err
    ran = fencepost("replay", made, "--cores", 1, "--json", tmp_path / "r.json")
    assert ran.code == 0, ran.out + ran.err
    report = read_json(tmp_path / "r.json")
    assert (report["histories"], report["violations"], report["judged"]["conformance"]) == (10, {}, 10)
    bad = ("--config", "broken=no_fencing", "--histories", 10, "--cores", 1)
    assert fencepost("generate", "task-counts/shipped", tmp_path / "bad", *bad).code == 0
    ran = fencepost("replay", tmp_path / "bad", "--cores", 1)
    assert ran.code == 1
    assert "fenced before count          violated" in ran.out


def test_spark_gives_the_same(tmp_path: Path) -> None:
    """The same rows, and the same report, from Spark as from this process (starts Spark: about 20 s)."""
    config = {"mode": "shipped", "events": 300, "broken": "fence_new_count"}
    local = SparkSettings("local[2]")
    alone = generate(tmp_path / "a", SIMULATOR, histories=40, seed=5, config=config, protocol="task-counts", cores=1)
    with session(local):
        made = generate(
            tmp_path / "b", SIMULATOR, histories=40, seed=5, config=config, protocol="task-counts", spark=local
        )
        assert made == alone
        files = sorted(path.name for path in (tmp_path / "a").glob("*.parquet"))
        assert all((tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes() for f in files)
        further = {"conformance": conformance_of(made)}
        report = replay(tmp_path / "b", spark=local, further=further)
    assert report == replay(tmp_path / "a", cores=1, further=further)
    assert "conformance" in report.violations and "rounds_fence_the_count" in report.violations
