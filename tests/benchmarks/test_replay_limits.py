"""How far replay is from what limits it: decoding the same columns, one pass over them, and DuckDB on the same files.

    pytest -n 0 -m nightly tests/benchmarks/test_replay_limits.py --benchmark-only

In one run and in processor seconds, so that it says the same on a machine with other work. Every way of checking must
count the same violations, so that none is fast by doing less.
"""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pytest_benchmark", reason="benchmarks need pytest-benchmark: pip install -e '.[test]'")
import duckdb
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings, run_units
from fencepost.properties.history import HistoryDirectory
from limits import SEEDED, decoded, least, passes, peak_after

pytestmark = pytest.mark.nightly

HISTORIES = 900  # a quarter of a million events, and more
MOST = {"id-blocks": 8, "transactions": 20, "task-counts": 14}
"""Of replay beside decoding alone, by protocol: about twice what was measured."""
LARGE = {"id-blocks": 72_000, "transactions": 75_000, "task-counts": 46_500}
"""Histories that have 20 million events."""

each_protocol = pytest.mark.parametrize("protocol", SEEDED)


def counted(report: ReplayReport) -> dict[str, int]:
    return {name: found["count"] for name, found in report.violations.items()}


def per_million(seconds: float, events: int) -> float:
    return round(seconds / events * 1e9, 1)


@each_protocol
def test_replay_beside_its_limits(protocol: str, benchmark: Any, tmp_path: Path) -> None:
    """All properties of a protocol: at most half of what DuckDB takes, and a few times what decoding takes."""
    seeded, made = SEEDED[protocol], list[ReplayReport]()
    expected = seeded.generate(tmp_path / "h", HISTORIES)
    benchmark.pedantic(lambda: made.append(replay(tmp_path / "h", cores=1)), rounds=5, warmup_rounds=1)
    assert all(counted(report) == expected for report in made)
    ours, events = min(report.cpu_seconds for report in made), made[0].events
    decoding = least(partial(decoded, tmp_path / "h", protocol))
    opened = HistoryDirectory.open(tmp_path / "h")
    one_pass = least(passes(tmp_path / "h", protocol)) * events / opened.pieces[0].rows
    connection, found = duckdb.connect(), dict[str, int]()
    connection.execute("SET threads = 1")

    def in_duckdb() -> None:
        verdict = seeded.in_duckdb(f"{tmp_path}/h/*.parquet", connection)
        found.update({name: count for name, (count, _) in verdict.items()})

    theirs = least(in_duckdb, rounds=1)
    assert found == expected
    benchmark.extra_info.update(
        {
            "events": events,
            "processor ms per million events": per_million(ours, events),
            "of which decoding": per_million(decoding, events),
            "one pass over the columns": per_million(one_pass, events),
            "DuckDB": per_million(theirs, events),
            "times DuckDB": round(theirs / ours, 1),
        }
    )
    assert ours < MOST[protocol] * decoding
    assert theirs > 2 * ours


@each_protocol
def test_memory_is_flat(protocol: str, tmp_path: Path) -> None:
    """What a worker has needed for its first pieces is enough for ten times as many."""
    SEEDED[protocol].generate(tmp_path / "h", HISTORIES)
    opened = HistoryDirectory.open(tmp_path / "h")
    work = partial(peak_after, protocol=protocol, config=dict(opened.manifest.config))
    peaks = run_units([opened.pieces[0]] * 40, work, cores=2)
    assert max(peaks) < 1.2 * max(peaks[:4])


@pytest.mark.timeout(1800)
@each_protocol
def test_twenty_million_events(protocol: str, benchmark: Any, tmp_path: Path) -> None:
    """On local[2], with warm workers.  (Generating them takes a minute or two.)"""
    seeded, made, settings = SEEDED[protocol], list[ReplayReport](), SparkSettings("local[2]")
    expected = seeded.generate(tmp_path / "h", LARGE[protocol], cores=2)
    with session(settings):
        benchmark.pedantic(lambda: made.append(replay(tmp_path / "h", spark=settings)), rounds=3, warmup_rounds=1)
    report = min(made, key=lambda each: each.seconds)
    assert report.events > 20_000_000
    assert counted(report) == expected
    decoding = least(partial(decoded, tmp_path / "h", protocol), rounds=1)
    benchmark.extra_info.update(
        {
            "events": report.events,
            "events/s": round(report.events_per_second),
            "processor ms per million events": per_million(report.cpu_seconds, report.events),
            "of which decoding": per_million(decoding, report.events),
        }
    )
    assert report.cpu_seconds < MOST[protocol] * decoding
