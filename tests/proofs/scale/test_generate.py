"""Generation: the same rows on any number of cores and on Spark, a manifest last, and no ghosts of lost attempts."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.scale.seeds import seed_of
from fencepost.proofs.scale.spark import SparkUnavailable, session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import HistoryError, Manifest
from hypothesis import given
from hypothesis import strategies as st

REFERENCE = "fencepost.reference_impl.systems.id_blocks:simulate_with_stats"
SEEDED = "fencepost.properties.id_blocks.histories:simulate_many"


def rows_of(directory: Path, manifest: Manifest) -> list[pa.Table]:
    return [pq.read_table(directory / file.name) for file in manifest.files]


def leftovers(directory: Path, manifest: Manifest) -> set[str]:
    return {file.name for file in directory.iterdir()} - {file.name for file in manifest.files} - {"manifest.json"}


@given(st.integers(0, 2**64), st.sets(st.integers(0, 2**40), min_size=2, max_size=200))
def test_seeds_are_distinct(base: int, histories: set[int]) -> None:
    """No two histories of one base seed share a seed, and seeds fit into 64 bits."""
    seeds = {seed_of(base, history) for history in histories}
    assert len(seeds) == len(histories)
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_seeds_are_pinned() -> None:
    """A report that names a base seed and a history can be reproduced by any later version."""
    assert [seed_of(1, history) for history in range(3)] == [
        10451216379200822465,
        13757245211066428519,
        17911839290282890590,
    ]


def test_the_same_rows_however_it_is_run(tmp_path: Path) -> None:
    """One process, two processes and Spark write the same manifest and the same rows (starts Spark: about 10 s)."""
    spark = SparkSettings("local[2]")
    ways: dict[str, dict[str, Any]] = {"one": {"cores": 1}, "two": {"cores": 2}, "spark": {"spark": spark}}
    made = {
        way: generate(tmp_path / way, SEEDED, histories=3000, seed=9, config={"share": 0.01}, many=True, **how)
        for way, how in ways.items()
    }
    assert len(made["one"].files) == 4
    assert made["one"] == made["two"] == made["spark"]
    assert rows_of(tmp_path / "one", made["one"]) == rows_of(tmp_path / "two", made["two"])
    assert rows_of(tmp_path / "one", made["one"]) == rows_of(tmp_path / "spark", made["spark"])
    assert all(leftovers(tmp_path / way, made[way]) == set() for way in ways)


@pytest.mark.parametrize("mode", ["kraft", "zookeeper", "bridge"])
def test_the_reference_keeps_every_promise(tmp_path: Path, mode: str) -> None:
    """Simulated clusters under faults violate nothing, and every kind of fault was injected."""
    manifest = generate(tmp_path / "h", REFERENCE, histories=150, seed=5, config={"mode": mode}, cores=1)
    report = replay(tmp_path / "h", cores=1)
    assert report.violations == {}
    assert (report.unknown, report.vacuous) == ({}, ())
    assert set(report.not_promised) == ({"answered_after_commit"} if mode == "zookeeper" else set())
    assert {"drop", "duplicate", "delay", "restart", "pause", "fail_over"} <= set(manifest.faults)
    assert all(count > 0 for count in manifest.faults.values())


def test_another_seed_gives_other_rows(tmp_path: Path) -> None:
    """The base seed, and the history's number, both matter."""
    tables = []
    for seed in (1, 2):
        directory = tmp_path / str(seed)
        manifest = generate(directory, "history_makers:counting", histories=20, seed=seed, cores=1)
        tables += rows_of(directory, manifest)
        assert 0 < manifest.faults["odd"] < 20
        assert len(set(tables[-1].column("producer_id").to_pylist())) == 20
    assert not tables[0].equals(tables[1])


def test_a_simulator_may_return_rows_only(tmp_path: Path) -> None:
    """Faults are optional."""
    manifest = generate(tmp_path, "history_makers:rows_only", histories=3, seed=1, variant="v", notes="n", cores=1)
    assert (manifest.totals.rows, manifest.totals.histories, manifest.faults) == (3, 3, {})
    assert (manifest.variant, manifest.notes, manifest.seed) == ("v", "n", 1)


@pytest.mark.parametrize(
    ("simulator", "message"),
    [
        ("history_makers:nothing", "simulator 'history_makers:nothing': not found"),
        ("no_such_module:f", "simulator 'no_such_module:f': not found (No module named 'no_such_module')"),
        ("history_makers", "simulator 'history_makers': not found"),
        ("history_makers:NOT_A_FUNCTION", "is a int, not a function"),
        ("history_makers:short_rows", "history 0, row 0: 3 values for 12 columns"),
        ("history_makers:empty", "history_makers:empty: 2 of 2 histories have no event; every history needs one"),
    ],
)
def test_simulators_that_cannot_be_used(tmp_path: Path, simulator: str, message: str) -> None:
    """A wrong name or wrong rows are refused in one line, and no manifest is left."""
    with pytest.raises(HistoryError, match=re.escape(message)):
        generate(tmp_path / "h", simulator, histories=2, seed=1, cores=1)
    assert not (tmp_path / "h" / "manifest.json").exists()


def test_histories_are_not_overwritten(tmp_path: Path) -> None:
    """A directory that holds histories is left alone."""
    generate(tmp_path, "history_makers:rows_only", histories=2, seed=1, cores=1)
    with pytest.raises(HistoryError, match="holds histories already; remove it, or name another directory"):
        generate(tmp_path, "history_makers:rows_only", histories=2, seed=2, cores=1)
    with pytest.raises(HistoryError, match="unknown protocol 'blocks'; known: id-blocks"):
        generate(tmp_path / "h", "history_makers:rows_only", histories=2, seed=2, protocol="blocks", cores=1)


def test_a_simulator_that_breaks_down_leaves_no_manifest(tmp_path: Path) -> None:
    """Half a generation is no directory of histories; a second attempt in the same place succeeds."""
    with pytest.raises(RuntimeError, match="the simulator broke down"):
        generate(tmp_path, "history_makers:failing", histories=200, seed=1, config={"fails_at": 50}, cores=1)
    with pytest.raises(HistoryError, match=r"manifest.json: not found"):
        replay(tmp_path, cores=1)
    manifest = generate(tmp_path, "history_makers:rows_only", histories=2, seed=1, cores=1)
    assert replay(tmp_path, cores=1).events == 2
    assert leftovers(tmp_path, manifest) == set()


def test_a_retried_task_leaves_no_ghost(tmp_path: Path) -> None:
    """A worker that dies half-way is replaced by Spark, and its file goes away; of a simulator that breaks down each
    time Spark's two traces come down to the line that matters (starts Spark: about 10 s)."""
    (tmp_path / "h").mkdir()
    config = {"directory": str(tmp_path / "h")}
    spark = SparkSettings("local[2,4]")
    with session(spark):
        manifest = generate(
            tmp_path / "h", "history_makers:dying_once", histories=2000, seed=4, config=config, many=True, spark=spark
        )
        with pytest.raises(SparkUnavailable, match=r"^Spark job failed: RuntimeError: the simulator broke down$"):
            generate(
                tmp_path / "n", "history_makers:failing", histories=200, seed=1, config={"fails_at": 50}, spark=spark
            )
    assert not (tmp_path / "n" / "manifest.json").exists()
    report = replay(tmp_path / "h", cores=1)
    assert (tmp_path / "h" / "died").exists()
    assert leftovers(tmp_path / "h", manifest) == {"died"}
    assert report.histories == manifest.totals.histories == 2000
    assert {name: found["count"] for name, found in report.violations.items()} == manifest.faults
