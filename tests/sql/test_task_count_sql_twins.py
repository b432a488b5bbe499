"""The kernels of task counts against SQL: two engines must report the same violations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import write_histories
from fencepost.properties.task_counts.events import TASK_COUNTS
from fencepost.properties.task_counts.histories.properties import BED
from fencepost.properties.task_counts.histories.properties import HISTORY as task_counts
from hypothesis import given, settings
from hypothesis import strategies as st
from id_block_sql import told
from model_histories import runs
from random_task_counts import doctored, noise
from task_count_sql import DECLARED, RENAMED, VIOLATIONS, effective, in_duckdb, query, statements
from twins import by_kernel, keys_apart, table

MODES = ("A", "M", "B", "shipped")
NOT_MET = {
    noise: {
        "counts_of_newest_set", "checked_with_count", "assignments_reach_counts", "checked_after_fencing",
        "answers_with_count",
    },
    doctored: {"not_reclaimed_since", "fencing_goes_on"},  # errors stay as they are
}  # fmt: skip


def test_every_property_has_a_twin() -> None:
    """A property that only the kernels know would be compared with nothing."""
    assert set(VIOLATIONS) | set(DECLARED) == set(task_counts.properties)


def test_declared_as_written(duck: Any) -> None:
    """Of some declared properties the SQL is written by hand as well: it finds what that of the declaration finds, so
    that a declaration that says something else is known by that."""
    written = {name: VIOLATIONS[name] for name in VIOLATIONS.keys() & DECLARED.keys()}
    violated = set()
    for make in (noise, doctored):
        events = table(task_counts, make(6, 150))
        found = {name: each for name, each in in_duckdb(events, duck).items() if name in written}
        assert in_duckdb(events, duck, query(texts=written)) == found
        violated |= set(found)
    assert violated == set(written)
    assert len(written) == 5


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([noise, doctored]), st.integers(1, 5), st.sampled_from(MODES))
def test_small_histories(duck: Any, seed: int, make: Any, histories: int, mode: str) -> None:
    """Random events, and the example doctored at random, get the same verdict from DuckDB."""
    columns = make(seed, histories)
    assert by_kernel(task_counts, columns, mode=mode) == in_duckdb(table(task_counts, columns), duck, query(mode))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", [noise, doctored])
def test_many_histories(duck: Any, make: Any, mode: str) -> None:
    """Hundreds of histories in one piece; nearly every property is violated in one or the other."""
    columns = make(1, 200)
    found = by_kernel(task_counts, columns, mode=mode)
    assert set(task_counts.properties) - set(found) <= NOT_MET[make]
    assert found == in_duckdb(table(task_counts, columns), duck, query(mode))


def test_planted_violations(duck: Any) -> None:
    """Kernels and DuckDB count exactly what was planted, of every property."""
    columns, expected = BED.planted(3, 0, 400, bent=0.6)
    found = by_kernel(task_counts, columns, mode="B")
    assert {name: count for name, (count, _) in found.items()} == expected
    assert set(expected) == set(task_counts.properties)
    assert found == in_duckdb(table(task_counts, columns), duck)


@pytest.mark.parametrize("variant", ["core-no-check-after", "core-late-round", "core-A-behind"])
def test_histories_of_mistaken_models(duck: Any, variant: str) -> None:
    """Runs of a mistaken model get the same verdict from DuckDB."""
    manifest, made = runs(f"task-counts/{variant}", 800)
    mode = str(manifest.config["mode"])
    found = by_kernel(task_counts, made.columns, mode=mode)
    assert found.keys() & {"checked_again_newest", "counts_of_newest_set"}
    assert found == in_duckdb(table(task_counts, made.columns), duck, query(mode))


NARROW = [told_.name for told_ in task_counts.properties.values() if len(told_.key) > 1]


@pytest.mark.parametrize("name", NARROW)
def test_events_of_other_keys_do_not_matter(name: str) -> None:
    """A property that names a narrower key than the history finds as much when each key's events stand alone."""
    whole, parts = keys_apart(task_counts, name, noise(9, 600), mode="B")
    assert (parts.violations, parts.judged) == (whole.violations, whole.judged)
    assert whole.judged > 0


def test_one_long_history(duck: Any) -> None:
    """One history of 10,000 random events is checked as a whole."""
    columns = noise(11, 1, 5_000)
    for number, (name, high) in enumerate({"instance": 900, "set": 2000, "offset": 2000, "connector": 40}.items()):
        columns[name] = np.random.default_rng(number).integers(-1 if name != "offset" else 0, high, len(columns[name]))
    assert by_kernel(task_counts, columns, mode="B") == in_duckdb(table(task_counts, columns), duck)


# What needs no table of all that was seen before.
FEW = ("epochs_grow", "ids_of_their_own", "counts_are_sizes", "producers_covered")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(FEW, id="some"),
        pytest.param(tuple(task_counts.properties), id="all", marks=[pytest.mark.nightly, pytest.mark.timeout(900)]),
    ],
)
def test_parquet_in_spark_sql_duckdb_and_replay(names: tuple[str, ...], tmp_path: Path) -> None:
    """The same files get one verdict from Spark's SQL, DuckDB and replay (starts Spark: about 15 s)."""
    columns = doctored(4, 120)
    write_histories(tmp_path, [columns], TASK_COUNTS, config={"mode": "B", "quiet_end": True})
    asked = [
        name for name in names if not task_counts.properties[name].modes or "B" in task_counts.properties[name].modes
    ]
    replayed = {
        name: (found["count"], (found["first"].history, found["first"].step))
        for name, found in replay(tmp_path, cores=1, checks=asked).violations.items()
    }
    in_sql = in_duckdb(f"{tmp_path}/*.parquet")
    assert replayed == {name: verdict for name, verdict in in_sql.items() if name in asked}
    parts, violations = statements("B")
    with session(SparkSettings("local[2]", {"spark.sql.shuffle.partitions": "2"})) as spark:
        frame = spark.read.parquet(str(tmp_path / "part-00000.parquet"))
        for old, new in RENAMED.items():
            frame = frame.withColumnRenamed(old, new)
        frame.createOrReplaceTempView("raw")
        spark.createDataFrame(spark.sql(effective("raw")).toArrow()).createOrReplaceTempView("events")
        for name, text in parts.items():
            # Spark would plan a table anew wherever it is named: what is computed is put in its place.
            if name in ("given", "newer", "covering", "placed") or len(names) > len(FEW):
                spark.createDataFrame(spark.sql(text).toArrow()).createOrReplaceTempView(name)
        found = [tuple(row) for name in asked for row in spark.sql(violations[name]).collect()]
    assert replayed == told(found)
    assert set(asked) - set(replayed) <= NOT_MET[doctored]
