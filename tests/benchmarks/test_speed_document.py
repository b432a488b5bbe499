"""The document of speed says what its report says, and of a hundred executors no more than follows from the figures."""

import json
from pathlib import Path
from typing import Any

from speed import document, of_interest, with_later

VERDICTS = Path(__file__).parents[2] / "proofs" / "verdicts"
MACHINE = {"memory_gb": 8, "load_before": 0.5, "python_version": "3.11.7", "cpu": {"brand_raw": "A", "count": 2}}


def report(*benchmarks: dict[str, Any]) -> dict[str, Any]:
    """As pytest-benchmark has it."""
    return {
        "datetime": "2026-01-02T03:04:05", "commit_info": {"id": "0123456789", "dirty": False},
        "machine_info": MACHINE, "benchmarks": list(benchmarks),
    }  # fmt: skip


def bench(file: str, name: str, seconds: float, **figures: Any) -> dict[str, Any]:
    return {
        "fullname": f"tests/benchmarks/{file}.py::{name}", "name": name,
        "stats": {"median": seconds, "rounds": 3, "data": [seconds] * 3},
        "extra_info": {key.replace("_", " "): value for key, value in figures.items()},
    }  # fmt: skip


def test_the_kept_document_is_of_the_kept_report() -> None:
    kept = json.loads((VERDICTS / "speed.json").read_text())
    assert (VERDICTS / "speed.md").read_text() == document(kept)
    assert kept["benchmarks"] and not kept["dirty"]


def test_a_row_for_each_benchmark() -> None:
    """Under what its file says; without a cluster's rows nothing is said of a hundred executors."""
    kept = of_interest(
        report(bench("test_scaling", "test_b", 12.5, events=1_000_000), bench("test_scaling", "test_a", 0.01)),
        "pytest some",
    )
    text = document(kept)
    assert "## What more cores give a replay" in text
    assert text.index("| `test_a` | 0.0100 |  |") < text.index("| `test_b` | 12.50 | events: 1,000,000 |")
    assert "2026-01-02, commit 012345678, on A with 2 cores" in text and "executors" not in text
    assert "Made by `pytest some`." in text
    assert "data" not in json.dumps(kept)


def test_what_was_measured_later() -> None:
    """Its rows replace those of the same files, and stand under the command, commit and load of their own run."""
    first = [bench("test_scaling", "test_a", 1.0), bench("test_following_rates", "test_b", 2.0)]
    kept = of_interest(report(*first), "pytest all")
    for seconds in (3.0, 4.0):
        later = of_interest(report(bench("test_following_rates", "test_b", seconds)), "pytest some")
        kept = with_later(kept, later)
    text = document(kept)
    assert text.index("`test_a`") < text.index("# Measured later") < text.index("Made by `pytest some`")
    assert "| `test_b` | 4.00 |" in text and text.count("test_b") == 1


def test_a_hundred_executors() -> None:
    """A job of 1 s; two cores take 10 s for 10 million events in 10 pieces, and the driver 1 ms for a piece.  So an
    event takes a core 2 microseconds, and a hundred of them a billion events in 20 s."""
    cluster = {
        "cores": 2, "events": 10_000_000, "pieces": 10, "bytes": 50_000_000, "events/s": 909_090.9090909091,
        "seconds of a job with one piece": 1.0,
    }  # fmt: skip
    made = bench("test_scaling", "test_replay_on[cluster-2]", 11)
    made["extra_info"] = cluster
    driver = bench("test_scaling", "test_what_a_piece_costs_the_driver", 20, microseconds_of_a_piece=1000)
    text = document(of_interest(report(made, driver), "pytest"))
    assert "| 1,000,000,000 | 20.0 | 1.0 | 21.0 | 47,619,048 |" in text
    assert "5.0 bytes an event, so that executors at that rate read 0.25 GB/s" in text
    assert "The driver is what limits from 2,000 executors on" in text
