"""How fast histories of transactions are checked, beside DuckDB on the same files in the same run: read the ratios.

    pytest -n 0 -m nightly tests/benchmarks/test_txn_replay_rates.py --benchmark-only --benchmark-group-by=group

Every way of checking must count the same violations, so that none is fast by doing less.  On one thread both are timed
by test_replay_limits.
"""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pytest_benchmark", reason="benchmarks need pytest-benchmark: pip install -e '.[test]'")
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import HistoryDirectory, read_piece
from fencepost.properties.transactions.histories.properties import HISTORY as transactions
from transaction_sql import in_duckdb, query

pytestmark = pytest.mark.nightly

SEEDED = "fencepost.properties.transactions.histories.properties:simulate_many"
SIMULATOR = "fencepost.reference_impl.systems.transactions:simulate_with_stats"
CONFIG = {"share": 0.01, "mode": "v2", "quiet_end": True}
HISTORIES = 3600  # a million events in four pieces


def counted(report: ReplayReport) -> dict[str, int]:
    return {name: found["count"] for name, found in report.violations.items()}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rates") / "h"


@pytest.fixture(scope="module")
def expected(directory: Path) -> dict[str, int]:
    """Seeded histories in the directory; the violations to be found."""
    made = generate(
        directory, SEEDED, histories=HISTORIES, seed=1, config=CONFIG, protocol="transactions", many=True, cores=1
    )
    return dict(made.faults)


@pytest.mark.benchmark(group="1 million events, two cores")
def test_kernels_on_spark(benchmark: Any, directory: Path, expected: dict[str, int]) -> None:
    """The same kernels in Spark's workers: at a million events this is mostly the price of a job."""
    settings = SparkSettings("local[2]")
    with session(settings):
        report = benchmark.pedantic(replay, (directory,), {"spark": settings}, rounds=3, warmup_rounds=1)
    assert counted(report) == expected


@pytest.mark.benchmark(group="one piece, in memory")
def test_kernels_alone(benchmark: Any, directory: Path, expected: dict[str, int]) -> None:
    """A quarter of a million events, without reading them."""
    opened = HistoryDirectory.open(directory)
    columns, _ = read_piece(opened.pieces[0], opened.vocabulary, transactions.columns)
    findings, _ = benchmark(transactions.check, columns, config=CONFIG)
    assert findings["commits_kept"].judged > 5_000
    assert set(expected) >= {name for name, found in findings.items() if found.violations}


@pytest.mark.timeout(1800)
@pytest.mark.nightly(nights=7)
def test_ten_million_simulated_events(tmp_path: Path) -> None:
    """Nothing is wrong in them, by the kernels and by DuckDB on the same files."""
    generate(
        tmp_path / "h", SIMULATOR, histories=33_400, seed=7, config={"mode": "v2", "events": 300},
        protocol="transactions", variant="v2",
    )  # fmt: skip
    report = replay(tmp_path / "h", spark=SparkSettings("local[2]"))
    assert report.events > 10_000_000
    assert (report.violations, report.vacuous) == ({}, ())
    assert in_duckdb(f"{tmp_path}/h/*.parquet", text=query("v2")) == {}
