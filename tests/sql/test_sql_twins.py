"""The kernels against SQL: two implementations that share no line must report the same violations."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import write_histories
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.id_blocks.events import ID_BLOCKS, Kind
from fencepost.properties.id_blocks.histories import BED
from fencepost.properties.id_blocks.histories import HISTORY as id_blocks
from fencepost.reference_impl.systems import id_blocks as everything
from hypothesis import given, settings
from hypothesis import strategies as st
from id_block_sql import QUERY, RENAMED, VIOLATIONS, in_duckdb, told
from model_histories import runs
from random_histories import BASES, random_histories

Verdict = dict[str, tuple[int, tuple[int, int]]]


def by_kernel(columns: dict[str, np.ndarray]) -> Verdict:
    findings, _ = id_blocks.check(columns)
    return {
        name: (found.violations, (found.first.history, found.first.step))
        for name, found in findings.items()
        if found.first is not None
    }


def by_replay(report: ReplayReport) -> Verdict:
    return {
        name: (found["count"], (found["first"].history, found["first"].step))
        for name, found in report.violations.items()
    }


def table(columns: dict[str, np.ndarray]) -> pa.Table:
    schema = ID_BLOCKS.schema
    return pa.table({field.name: pa.array(columns[field.name], field.type) for field in schema}, schema=schema)


@pytest.fixture(scope="module")
def duck() -> Any:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    return connection


def test_every_property_has_a_twin() -> None:
    """A property that only the kernels know would be compared with nothing."""
    assert set(VIOLATIONS) == set(id_blocks.properties)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from(sorted(BASES)), st.integers(1, 20))
def test_small_histories(duck: Any, seed: int, histories: int, base: str, events: int) -> None:
    """Dense random histories, at both ends of the integers, get the same verdict from DuckDB."""
    columns = random_histories(seed, histories, base, events)
    assert by_kernel(columns) == in_duckdb(table(columns), duck)


@pytest.mark.parametrize("base", sorted(BASES))
def test_many_small_histories(duck: Any, base: str) -> None:
    """Thousands of random histories in one piece get the same verdict from DuckDB, and every property is violated."""
    columns = random_histories(1, 3000, base)
    found = by_kernel(columns)
    assert set(found) == set(id_blocks.properties)
    assert found == in_duckdb(table(columns), duck)


@pytest.mark.parametrize(
    "variant", ["kraft-own-length", "kraft-malformed-taken", "kraft-answer-first", "bridge-from-block-start"]
)
def test_histories_of_mistaken_models(duck: Any, variant: str) -> None:
    """Thousands of runs of a mistaken model get the same verdict from DuckDB."""
    _, made = runs(f"id-blocks/{variant}", 2_000)
    found = by_kernel(made.columns)
    assert "ids_unique" in found
    assert found == in_duckdb(table(made.columns), duck)


@pytest.mark.parametrize("first_id", [0, 2**63 - 3000])
def test_planted_violations(duck: Any, first_id: int) -> None:
    """Kernels and DuckDB count exactly what was planted, also where ids end at 2^63."""
    columns, expected = BED.planted(3, 0, 2000, bent=0.1)
    for name in BED.shifted:
        columns[name] = np.where(columns[name] >= 0, columns[name] + first_id, columns[name])
    found = by_kernel(columns)
    assert {name: count for name, (count, _) in found.items()} == expected
    assert len(expected) == 9
    assert found == in_duckdb(table(columns), duck)


@pytest.mark.parametrize("name", [told.name for told in id_blocks.properties.values() if len(told.key) > 1])
@pytest.mark.parametrize("base", sorted(BASES))
def test_events_of_other_keys_do_not_matter(name: str, base: str) -> None:
    """A property that names a narrower key than the history finds as much when each key's events stand alone."""
    columns = random_histories(2, 400, base)
    told = id_blocks.properties[name]
    judged = np.isin(columns["kind"], [*told.needs])
    keys = np.stack([columns[column][judged] for column in told.key])
    number = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    order = np.argsort(number, kind="stable")
    apart = {column: values[judged][order] for column, values in columns.items()}
    apart["history"] = number[order]
    whole, parts = (id_blocks.check(part, [name])[0][name] for part in (columns, apart))
    assert (parts.violations, parts.judged) == (whole.violations, whole.judged)
    assert whole.violations > 0


def test_one_long_history(duck: Any) -> None:
    """One recorded history of 200,000 events is checked as a whole."""
    columns = columns_of(ID_BLOCKS, [(9, everything.rows(brokers=7, rounds=20, size=1428))])
    last = np.flatnonzero(columns["kind"] == Kind.block_committed)[-1]
    columns["first"][last] -= 1
    columns["length"][last] += 1
    expected = {"blocks_disjoint": 1, "blocks_contiguous": 1}
    assert len(columns["kind"]) > 200_000
    found = by_kernel(columns)
    assert {name: count for name, (count, _) in found.items()} == expected
    assert found == in_duckdb(table(columns), duck)


def test_one_long_random_history(duck: Any) -> None:
    """Blocks that overlap a hundredfold still tell exactly since when each id may be handed out."""
    columns = random_histories(11, 1, "low", 20_000)
    columns["first"] *= np.random.default_rng(1).integers(1, 40, len(columns["first"]))
    columns["producer_id"] *= np.random.default_rng(2).integers(1, 40, len(columns["first"]))
    assert by_kernel(columns) == in_duckdb(table(columns), duck)


def test_parquet_in_spark_sql_duckdb_and_replay(tmp_path: Path) -> None:
    """The same files get one verdict from Spark's SQL, DuckDB and replay (starts Spark: about 20 s)."""
    pieces = [random_histories(seed, 300, base) for seed, base in enumerate(sorted(BASES))]
    end = 0
    for columns in pieces:
        columns["history"] = np.unique(columns["history"], return_inverse=True)[1] + end
        end = int(columns["history"][-1]) + 1
    write_histories(tmp_path, pieces, ID_BLOCKS, rows_per_group=2000)
    replayed = by_replay(replay(tmp_path, cores=1))
    assert replayed == in_duckdb(f"{tmp_path}/*.parquet")
    with session(SparkSettings("local[2]", {"spark.sql.shuffle.partitions": "4"})) as spark:
        frame = spark.read.parquet(str(tmp_path / "part-00000.parquet"))
        for old, new in RENAMED.items():
            frame = frame.withColumnRenamed(old, new)
        frame.createOrReplaceTempView("events")
        assert replayed == told([tuple(row) for row in spark.sql(QUERY).collect()])
