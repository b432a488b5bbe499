"""Histories that the simulation itself made, in numbers: a million events in every run, a hundred million in one night
of seven.

Nothing may be wrong in them, by the kernels, by the model and by DuckDB on the same files; a broken broker is found by
all three.  Rates go into the benchmark's extra info: read the ratios, since the machine may be shared.
"""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scale.units import SparkSettings
from fencepost.proofs.traces import conformance_of
from fencepost.properties.history import Manifest
from id_block_sql import in_duckdb

SIMULATOR = "fencepost.reference_impl.systems.id_blocks:simulate_with_stats"
CONFIG = {"mode": "kraft", "brokers": 3, "controllers": 3, "block_size": 10, "max_id": 100_000, "events": 200}
LATE = {"broken": "stale_answer_installed"}
SIZES = [
    pytest.param(1_000_000, id="1M"),
    pytest.param(100_000_000, id="100M", marks=[pytest.mark.nightly(nights=28), pytest.mark.timeout(3600)]),
]


@pytest.mark.parametrize("events", SIZES)
def test_simulated_histories_hold_by_every_checker(events: int, tmp_path: Path, benchmark: Any) -> None:
    """No property is violated and no event misfits; every row is counted; DuckDB finds nothing either."""
    made, spent = timed(
        lambda: generate(
            tmp_path / "h", SIMULATOR, histories=events // 200, seed=7, config=CONFIG, variant="kraft", cores=cores()
        )
    )
    rates = {"generated, events/s": round(events / spent)}
    assert made.totals.rows == events
    report = benchmark.pedantic(on_spark, args=(tmp_path / "h", None), rounds=1)
    rates["history properties on Spark, events/s"] = round(report.events_per_second)
    judged(report, events)
    report = on_spark(tmp_path / "h", made)
    rates["with conformance on Spark, events/s"] = round(report.events_per_second)
    judged(report, events)
    assert report.judged["conformance"] == events // 200
    found, spent = timed(lambda: in_duckdb(f"{tmp_path}/h/*.parquet", duckdb.connect()))
    rates["history properties in DuckDB, events/s"] = round(events / spent)
    assert not any(count for count, _ in found.values())
    benchmark.extra_info.update(rates)
    print(rates)
    shutil.rmtree(tmp_path / "h")


def test_a_defect_is_found_by_every_checker(tmp_path: Path) -> None:
    """A broker that installs answers of its former life: the kernels, the model and DuckDB all see it."""
    made = generate(
        tmp_path / "h", SIMULATOR, histories=1000, seed=7, config=CONFIG | LATE, variant="kraft", cores=cores()
    )
    report = replay(tmp_path / "h", further={"conformance": conformance_of(made)}, cores=cores())
    found = in_duckdb(f"{tmp_path}/h/*.parquet", duckdb.connect())
    assert report.violations["ids_unique"]["count"] == found["ids_unique"][0] > 0
    assert report.violations["conformance"]["count"] > 0


def on_spark(directory: Path, conformance: Manifest | None) -> ReplayReport:
    further = {} if conformance is None else {"conformance": conformance_of(conformance)}
    return replay(directory, spark=SparkSettings("local[2]"), further=further)


def judged(report: ReplayReport, events: int) -> None:
    assert (report.events, report.histories) == (events, events // 200)
    assert report.holds
    assert not report.unknown
    assert "ids_unique" not in report.vacuous


def timed(work: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def cores() -> int:
    return len(os.sched_getaffinity(0))
