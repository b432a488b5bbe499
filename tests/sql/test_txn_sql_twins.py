"""The kernels of transactions against SQL: two engines must report the same violations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import twins
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import write_histories
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.transactions.events.kinds import TRANSACTIONS, Kind
from fencepost.properties.transactions.histories.properties import BED
from fencepost.properties.transactions.histories.properties import HISTORY as transactions
from hypothesis import given, settings
from hypothesis import strategies as st
from id_block_sql import told
from model_histories import runs
from random_transactions import doctored, noise
from transaction_sql import DECLARED, RENAMED, VIOLATIONS, in_duckdb, query, statements
from twins import Verdict, keys_apart, table

SIMULATOR = "fencepost.reference_impl.systems.transactions:simulate_with_stats"
NOT_MET = {
    noise: {
        "fenced_appends_unread", "fenced_never_commit", "markers_as_told", "commits_acknowledged", "commits_kept",
        "transactions_share_fate", "lone_client_never_fenced", "clients_get_on",
    },
    doctored: {"pairs_have_one_owner", "lone_client_never_fenced", "clients_get_on"},
}  # fmt: skip


def by_kernel(columns: dict[str, np.ndarray], **config: Any) -> Verdict:
    return {
        name: found
        for name, found in twins.by_kernel(transactions, columns, **config).items()
        if config.get("quiet_end") or not transactions.properties[name].needs_quiet_end
    }


def by_replay(directory: Path, checks: list[str] | None = None) -> Verdict:
    report = replay(directory, cores=1, checks=checks)
    return {
        name: (found["count"], (found["first"].history, found["first"].step))
        for name, found in report.violations.items()
    }


def test_every_property_has_a_twin() -> None:
    """A property that only the kernels know would be compared with nothing."""
    assert set(VIOLATIONS) | set(DECLARED) == set(transactions.properties)


def test_declared_as_written(duck: Any) -> None:
    """Of some declared properties the SQL is written by hand as well: it finds what that of the declaration finds, so
    that a declaration that says something else is known by that."""
    written = {name: VIOLATIONS[name] for name in VIOLATIONS.keys() & DECLARED.keys()}
    violated = set()
    for make in (noise, doctored):
        events = table(transactions, make(6, 150))
        found = {name: each for name, each in in_duckdb(events, duck).items() if name in written}
        assert in_duckdb(events, duck, query(texts=written)) == found
        violated |= set(found)
    assert violated == set(written)
    assert len(written) == 6


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 2**32), st.sampled_from([noise, doctored]), st.integers(1, 5), st.sampled_from(["v1", "v2"]),
    st.sampled_from(["4.0", "4.3"]),
)  # fmt: skip
def test_small_histories(duck: Any, seed: int, make: Any, histories: int, mode: str, release: str) -> None:
    """Random events, and stories doctored at random, get the same verdict from DuckDB."""
    columns = make(seed, histories)
    in_sql = in_duckdb(table(transactions, columns), duck, query(mode, release=release))
    assert by_kernel(columns, mode=mode, release=release) == in_sql


@pytest.mark.parametrize("make", [noise, doctored])
def test_many_histories(duck: Any, make: Any) -> None:
    """Hundreds of histories in one piece; every property is violated in one or the other, but those that need
    errors of their own, which are planted below."""
    columns = make(1, 400)
    found = by_kernel(columns, mode="v2", quiet_end=True, max_epoch=4)
    assert set(transactions.properties) - set(found) <= NOT_MET[make]
    assert found == in_duckdb(table(transactions, columns), duck, query("v2", max_epoch=4, quiet_end=True))


def test_planted_violations(duck: Any) -> None:
    """Kernels and DuckDB count exactly what was planted, of every property."""
    columns, expected = BED.planted(3, 0, 400, bent=0.6)
    found = by_kernel(columns, mode="v2", quiet_end=True)
    assert {name: count for name, (count, _) in found.items()} == expected
    assert set(expected) == set(transactions.properties)
    assert found == in_duckdb(table(transactions, columns), duck, query("v2", quiet_end=True))


@pytest.mark.parametrize(
    ("mode", "release"), [("v1", "4.0"), ("v1-verified", "4.0"), ("v2", "4.0"), ("v2", "4.3"), ("v2", "trunk")]
)
def test_simulated_histories(duck: Any, tmp_path: Path, mode: str, release: str) -> None:
    """What the simulation makes under many faults: known holes of v1 are found by both alike, v2 keeps everything."""
    config = {"mode": mode, "release": release, "events": 300, "duplicate": 0.1, "delay": 0.1}
    generate(tmp_path, SIMULATOR, histories=150, seed=2, config=config, protocol="transactions", cores=1)
    found = by_replay(tmp_path, list(transactions.properties))
    promised = {name for name, told_ in transactions.properties.items() if not told_.modes or mode in told_.modes}
    in_sql = in_duckdb(f"{tmp_path}/*.parquet", duck, query(mode, release=release))
    assert found == {name: verdict for name, verdict in in_sql.items() if name in promised}
    assert (found == {}) == (mode == "v2")


@pytest.mark.parametrize("variant", ["v1", "v1-verified"])
def test_histories_of_mistaken_models(duck: Any, variant: str) -> None:
    """Runs of a mistaken model get the same verdict from DuckDB."""
    _, made = runs(f"transactions/{variant}", 3_000)
    found = by_kernel(made.columns, mode=variant)
    assert "markers_as_decided" in found
    assert found == in_duckdb(table(transactions, made.columns), duck, query(variant))


NARROW = [told_.name for told_ in transactions.properties.values() if len(told_.key) > 1]


@pytest.mark.parametrize("name", NARROW)
def test_events_of_other_keys_do_not_matter(name: str) -> None:
    """A property that names a narrower key than the history finds as much when each key's events stand alone."""
    whole, parts = keys_apart(transactions, name, noise(9, 300))
    assert (parts.violations, parts.judged) == (whole.violations, whole.judged)
    assert whole.violations > 0


def test_one_long_history(duck: Any) -> None:
    """One history of 20,000 random events is checked as a whole."""
    columns = noise(11, 1, 20_000)
    columns["record"] = np.random.default_rng(1).integers(-1, 3000, len(columns["record"]))
    columns["txn"] = np.random.default_rng(2).integers(-1, 900, len(columns["txn"]))
    columns["offset"] = np.random.default_rng(3).integers(-1, 400, len(columns["offset"]))
    columns["upto"] = np.minimum(columns["offset"] + 3, 400)
    assert by_kernel(columns) == in_duckdb(table(transactions, columns), duck)


# What needs no table but that of the events: one statement for all, so that Spark plans once.
OF_EVENTS = (
    "read_once", "offsets_hold_one_record", "reads_in_order", "reads_within_bound", "pairs_have_one_owner",
    "epochs_in_range", "appended_once", "markers_agree", "fetches_stop_at_stable", "stable_never_falls",
    "init_answered_when_idle",
)  # fmt: skip


def owned(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """With the client that began a transaction as the only one that goes on with it: others are refused."""
    view = EventView(columns, {})
    txns, rows = view.numbers_of("txn"), view.rows_of(Kind.add_sent, Kind.record_sent, Kind.end_sent)
    begun = txns.first(view.rows_of(Kind.txn_begun))[txns.of[rows]]
    there = begun != NEVER
    columns["client"][rows[there]] = columns["client"][begun[there]]
    return columns


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(OF_EVENTS, id="some"),
        pytest.param(tuple(transactions.properties), id="all", marks=[pytest.mark.nightly, pytest.mark.timeout(900)]),
    ],
)
def test_parquet_in_spark_sql_duckdb_and_replay(names: tuple[str, ...], tmp_path: Path) -> None:
    """The same files get one verdict from Spark's SQL, DuckDB and replay (starts Spark: about 20 s; all: 2 minutes)."""
    pieces = [owned(noise(4, 150)), owned(doctored(4, 50))]
    end = 0
    for columns in pieces:
        columns["history"] = np.unique(columns["history"], return_inverse=True)[1] + end
        end = int(columns["history"][-1]) + 1
    write_histories(tmp_path, pieces, TRANSACTIONS, rows_per_group=2000, config={"mode": "v2", "quiet_end": True})
    replayed = by_replay(tmp_path, list(names))
    in_sql = in_duckdb(f"{tmp_path}/*.parquet", text=query("v2", quiet_end=True))
    assert replayed == {name: verdict for name, verdict in in_sql.items() if name in names}
    parts, violations = statements("v2", 32767, quiet_end=True)
    with session(SparkSettings("local[2]", {"spark.sql.shuffle.partitions": "2"})) as spark:
        frame = spark.read.parquet(str(tmp_path / "part-00000.parquet"))
        for old, new in RENAMED.items():
            frame = frame.withColumnRenamed(old, new)
        frame.createOrReplaceTempView("events")
        texts = [" UNION ALL ".join(violations[name] for name in names)]
        if len(names) > len(OF_EVENTS):
            texts = [violations[name] for name in names]
            for name, text in parts.items():
                # Spark would plan a table anew wherever it is named: what is computed is put in its place.
                spark.createDataFrame(spark.sql(text).toArrow()).createOrReplaceTempView(name)
        found = [tuple(row) for text in texts for row in spark.sql(text).collect()]
    assert replayed == told(found)
    assert set(replayed) == set(names) - {"lone_client_never_fenced"}
