"""How fast histories are checked, beside DuckDB on the same files in the same run: read the ratios, not the seconds.

    pytest -n 0 -m nightly tests/benchmarks/test_replay_rates.py --benchmark-only --benchmark-group-by=group

Every way of checking must count the same violations, so that none is fast by doing less.  On one thread both are timed
by test_replay_limits.
"""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pytest_benchmark", reason="benchmarks need pytest-benchmark: pip install -e '.[test]'")
import duckdb
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import HistoryDirectory, read_piece
from fencepost.properties.id_blocks.histories import HISTORY as id_blocks
from id_block_sql import in_duckdb

pytestmark = pytest.mark.nightly

HISTORIES = 3600  # 1 million events in five pieces
SEEDED = "fencepost.properties.id_blocks.histories:simulate_many"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rates") / "h"
    generate(path, SEEDED, histories=HISTORIES, seed=1, config={"share": 0.01}, many=True, cores=1)
    return path


@pytest.fixture(scope="module")
def expected(directory: Path) -> dict[str, int]:
    return dict(HistoryDirectory.open(directory).manifest.faults)


def of_report(report: Any) -> dict[str, int]:
    return {name: found["count"] for name, found in report.violations.items()}


@pytest.mark.benchmark(group="1 million events, two cores")
def test_kernels_on_spark(benchmark: Any, directory: Path, expected: dict[str, int]) -> None:
    """The same kernels in Spark's workers: at a million events this is mostly the price of a job."""
    settings = SparkSettings("local[2]")
    with session(settings):
        report = benchmark.pedantic(replay, (directory,), {"spark": settings}, rounds=3, warmup_rounds=1)
    assert of_report(report) == expected


@pytest.mark.benchmark(group="1 million events, two cores")
def test_duckdb_on_two_threads(benchmark: Any, directory: Path, expected: dict[str, int]) -> None:
    """DuckDB with the same two cores."""
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    found = benchmark.pedantic(in_duckdb, (f"{directory}/*.parquet", connection), rounds=3, warmup_rounds=1)
    assert {name: count for name, (count, _) in found.items()} == expected


@pytest.mark.benchmark(group="one piece, in memory")
def test_kernels_alone(benchmark: Any, directory: Path) -> None:
    """A quarter of a million events, without reading them."""
    opened = HistoryDirectory.open(directory)
    columns, _ = read_piece(opened.pieces[0], opened.vocabulary, id_blocks.columns)
    findings, _ = benchmark(id_blocks.check, columns)
    assert findings["ids_unique"].judged > 200_000
