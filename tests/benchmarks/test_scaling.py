"""What more cores give a replay: one and two of this machine, two workers of a cluster, and what the driver does alone.

The figures go into the document of speed, which says from them what a hundred executors would do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import ReplayReport, check_piece, replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings, run_units
from fencepost.properties.history import HistoryDirectory
from fencepost.properties.id_blocks.histories import HISTORY as id_blocks
from scaling import results_of
from standalone import cluster

HISTORIES = 72_000  # 20 million events in some eighty pieces
PIECES = 20_000
SEEDED = "fencepost.properties.id_blocks.histories:simulate_many"

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scaling") / "h"
    generate(path, SEEDED, histories=HISTORIES, seed=1, config={"share": 0.01}, many=True)
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One piece: what it takes is the price of a job."""
    path = tmp_path_factory.mktemp("scaling") / "h"
    generate(path, SEEDED, histories=10, seed=1, config={"share": 0.01}, many=True, cores=1)
    return path


@contextmanager
def master(kind: str, folder: Path) -> Iterator[SparkSettings]:
    if kind != "cluster":
        yield SparkSettings(kind)
        return
    with cluster(folder, workers=2) as running:
        yield SparkSettings(running.master)


@pytest.mark.parametrize(("kind", "cores"), [("local[1]", 1), ("local[2]", 2), ("cluster", 2)])
def test_replay_on(kind: str, cores: int, benchmark: Any, directory: Path, small: Path, tmp_path: Path) -> None:
    """20 million events of id blocks with all their properties; workers are warm."""
    expected = dict(HistoryDirectory.open(directory).manifest.faults)
    with master(kind, tmp_path) as settings, session(settings):
        replay(small, spark=settings)
        fixed = min(replay(small, spark=settings).seconds for _ in range(3))
        made: list[ReplayReport] = []
        benchmark.pedantic(lambda: made.append(replay(directory, spark=settings)), rounds=3, warmup_rounds=1)
    report = min(made, key=lambda each: each.seconds)
    assert {name: found["count"] for name, found in report.violations.items()} == expected
    assert report.cpu_seconds > 0
    benchmark.extra_info.update(
        {
            "cores": cores,
            "events": report.events,
            "pieces": report.pieces,
            "bytes": sum(file.stat().st_size for file in directory.rglob("*.parquet")),
            "events/s": round(report.events_per_second),
            "seconds of a job with one piece": round(fixed, 3),
            "processor seconds of the workers": round(report.cpu_seconds, 2),
            "share of the cores' time that is reading and checking": round(
                report.cpu_seconds / (cores * report.seconds), 2
            ),
        }
    )


def test_what_a_piece_costs_the_driver(benchmark: Any, small: Path) -> None:
    """20,000 pieces that cost their workers nothing: each is sent, and a real piece's result comes back."""
    settings = SparkSettings("local[2]")
    piece = HistoryDirectory.open(small).pieces[0]
    checked = check_piece((piece,), "id-blocks", id_blocks.names, (), {})
    with session(settings):
        work = partial(run_units, range(PIECES), results_of(checked), spark=settings)
        came = benchmark.pedantic(work, rounds=2, warmup_rounds=1)
    assert came == [checked] * PIECES
    if benchmark.enabled:
        benchmark.extra_info["microseconds of a piece"] = round(benchmark.stats.stats.min / PIECES * 1e6)
