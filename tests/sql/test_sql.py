"""The kernels of history properties against SQL: two engines must report the same violations.

The SQL of what is declared is generated from what it says; of properties with kernels of their own it is written by
hand (`support/*_sql.py`), and shares no line with these.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import VOCABULARIES, write_histories
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.id_blocks.events import ID_BLOCKS, Kind
from fencepost.properties.seeded_violations import SEEDED_HISTORIES
from fencepost.properties.transactions.events.kinds import Kind as TransactionKind
from fencepost.reference_impl.systems import id_blocks as everything
from hypothesis import given, settings
from hypothesis import strategies as st
from in_duckdb import Verdict, verdict_of
from model_histories import runs
from random_histories import BASES, Columns, doctored, noise, random_blocks
from twins import DECLARED, EVERY, OF, by_kernel, in_sql, keys_apart, statements, table

Make = Callable[[int, int], Columns]

BLOCKS = {base: partial(lambda base, seed, histories: random_blocks(seed, histories, base), base) for base in BASES}
MAKERS: dict[str, dict[str, Make]] = {
    "id-blocks": BLOCKS,
    **{
        name: {"noise": partial(noise, name), "doctored": partial(doctored, name)}
        for name in EVERY
        if name != "id-blocks"
    },
}
CONFIGS: dict[str, list[dict[str, Any]]] = {
    "id-blocks": [{}],
    "transactions": [
        {"mode": "v2", "quiet_end": True, "max_epoch": 4}, {"mode": "v1", "release": "4.0"},
        {"mode": "v2", "release": "4.3"},
    ],
    "task-counts": [{"mode": mode} for mode in ("B", "A", "M", "shipped")],
    **{name: [dict(SEEDED_HISTORIES[name].config)] for name in DECLARED},
}  # fmt: skip
NOT_MET = {
    ("transactions", "noise"): {
        "fenced_appends_unread", "fenced_never_commit", "markers_as_told", "commits_acknowledged", "commits_kept",
        "transactions_share_fate", "lone_client_never_fenced", "clients_get_on",
    },
    ("transactions", "doctored"): {"pairs_have_one_owner", "lone_client_never_fenced", "clients_get_on"},
    ("task-counts", "noise"): {
        "counts_of_newest_set", "checked_with_count", "assignments_reach_counts", "checked_after_fencing",
        "answers_with_count",
    },
    ("task-counts", "doctored"): {"not_reclaimed_since", "fencing_goes_on"},
    **{("id-blocks", base): set[str]() for base in BASES},
}  # fmt: skip
"""What takes errors of its own, which are seeded: all else is violated in many histories."""
LEAST = {"source-offsets": 12, "source-commits": 12, "group-fencing": 8, "end-to-end": 7, "two-phase": 7}
"""Of the others so many properties at least."""


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    return connection


def same(protocol: str, columns: Columns, duck: duckdb.DuckDBPyConnection | None = None, **config: Any) -> Verdict:
    """What both find."""
    found = by_kernel(protocol, columns, **config)
    assert in_sql(protocol, table(protocol, columns), duck, **config) == found
    return found


def by_replay(report: ReplayReport) -> Verdict:
    return {
        name: (found["count"], (found["first"].history, found["first"].step))
        for name, found in report.violations.items()
    }


@pytest.mark.parametrize("protocol", EVERY)
def test_every_property_has_its_sql(protocol: str) -> None:
    """A property that only the kernels know would be compared with nothing."""
    assert statements(protocol)[1].keys() == properties_of(protocol).properties.keys()


@pytest.mark.parametrize("protocol", OF)
@settings(max_examples=10, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32), histories=st.integers(1, 5))
def test_small_histories(duck: Any, protocol: str, data: st.DataObject, seed: int, histories: int) -> None:
    """Dense random histories, of id blocks at both ends of the integers."""
    make = data.draw(st.sampled_from(sorted(MAKERS[protocol])))
    same(protocol, MAKERS[protocol][make](seed, histories), duck, **data.draw(st.sampled_from(CONFIGS[protocol])))


@pytest.mark.parametrize(
    ("protocol", "make", "config"),
    [(name, make, each) for name in EVERY for make in MAKERS[name] for each in CONFIGS[name]],
)
def test_many_histories(duck: Any, protocol: str, make: str, config: dict[str, Any]) -> None:
    """In one piece; nearly every property is violated in one sort of them or the other."""
    columns = MAKERS[protocol][make](1, {"id-blocks": 3_000, "transactions": 400, "task-counts": 200}.get(protocol, 60))
    found = same(protocol, columns, duck, **config)
    if protocol in LEAST:
        assert len(found) >= LEAST[protocol]
    elif config == CONFIGS[protocol][0]:
        assert set(properties_of(protocol).names) - set(found) <= NOT_MET[protocol, make]


@pytest.mark.parametrize("protocol", EVERY)
def test_planted_violations(duck: Any, protocol: str) -> None:
    """Both count exactly what was seeded, of every property."""
    columns, expected = SEEDED_HISTORIES[protocol].seeded(3, 0, 400, share=0.6)
    found = same(protocol, columns, duck, **{"quiet_end": True, **SEEDED_HISTORIES[protocol].config})
    assert {name: count for name, (count, _) in found.items()} == expected
    assert expected.keys() == properties_of(protocol).properties.keys()


def test_planted_violations_where_ids_end(duck: Any) -> None:
    """At 2^63."""
    example = SEEDED_HISTORIES["id-blocks"]
    columns, expected = example.seeded(3, 0, 2000, share=0.1)
    for name in example.shifted:
        columns[name] = np.where(columns[name] >= 0, columns[name] + (2**63 - 3000), columns[name])
    assert {name: count for name, (count, _) in same("id-blocks", columns, duck).items()} == expected


@pytest.mark.parametrize(
    ("variant", "count", "broken"),
    [
        ("id-blocks/kraft-own-length", 2_000, "ids_unique"),
        ("id-blocks/kraft-malformed-taken", 2_000, "ids_unique"),
        ("id-blocks/kraft-answer-first", 2_000, "ids_unique"),
        ("id-blocks/bridge-from-block-start", 2_000, "ids_unique"),
        ("transactions/v1", 3_000, "markers_as_decided"),
        ("transactions/v1-verified", 3_000, "markers_as_decided"),
        ("task-counts/core-no-check-after", 800, "checked_again_newest"),
        ("task-counts/core-late-round", 800, "counts_of_newest_set"),
        ("task-counts/core-A-behind", 800, "counts_of_newest_set"),
        ("group-fencing/draft", 800, "newest_owner_commits"),
        ("group-fencing/unstable-fetch", 800, "fetches_are_stable"),
        ("group-fencing/new-protocol-pattern-changed", 800, "one_producer_commits"),
    ],
)
def test_histories_of_mistaken_models(duck: Any, variant: str, count: int, broken: str) -> None:
    protocol = variant.partition("/")[0]
    manifest, made = runs(variant, count)
    config = dict(SEEDED_HISTORIES[protocol].config) | {
        key: manifest.config[key] for key in ("mode",) if protocol in OF
    }
    assert broken in same(protocol, made.columns, duck, **config)


NARROW = [(name, one.name) for name in OF for one in properties_of(name).properties.values() if len(one.key) > 1]


@pytest.mark.parametrize(("protocol", "name"), NARROW)
def test_events_of_other_keys_do_not_matter(protocol: str, name: str) -> None:
    """A property that names a narrower key than the history finds as much when each key's events stand alone."""
    for base in BASES if protocol == "id-blocks" else ("",):
        columns = random_blocks(2, 400, base) if base else noise(protocol, 9, 600 if protocol == "task-counts" else 300)
        whole, parts = keys_apart(protocol, name, columns, **SEEDED_HISTORIES[protocol].config)
        assert (parts.violations, parts.judged) == (whole.violations, whole.judged)
        assert whole.judged > 0 if protocol == "task-counts" else whole.violations > 0


def test_one_long_history(duck: Any) -> None:
    """One recorded history of 200,000 events is checked as a whole."""
    columns = columns_of(ID_BLOCKS, [(9, everything.rows(brokers=7, rounds=20, size=1428))])
    last = np.flatnonzero(columns["kind"] == Kind.block_committed)[-1]
    columns["first"][last] -= 1
    columns["length"][last] += 1
    assert len(columns["kind"]) > 200_000
    found = same("id-blocks", columns, duck)
    assert {name: count for name, (count, _) in found.items()} == {"blocks_disjoint": 1, "blocks_contiguous": 1}


WIDER = {
    "id-blocks": {},
    "task-counts": {"instance": (-1, 900), "set": (-1, 2000), "offset": (0, 2000), "connector": (-1, 40)},
    "transactions": {"record": (-1, 3000), "txn": (-1, 900), "offset": (-1, 400)},
}


@pytest.mark.parametrize("protocol", OF)
def test_one_long_random_history(duck: Any, protocol: str) -> None:
    """Of id blocks, blocks that overlap a hundredfold still tell exactly since when each id may be handed out."""
    if protocol == "id-blocks":
        columns = random_blocks(11, 1, "low", 20_000)
        for seed, name in enumerate(("first", "producer_id"), 1):
            columns[name] *= np.random.default_rng(seed).integers(1, 40, len(columns[name]))
    else:
        columns = noise(protocol, 11, 1, 20_000 if protocol == "transactions" else 5_000)
    for seed, (name, between) in enumerate(WIDER[protocol].items()):
        columns[name] = np.random.default_rng(seed).integers(*between, len(columns[name]))
    if protocol == "transactions":
        columns["upto"] = np.minimum(columns["offset"] + 3, 400)
    same(protocol, columns, duck, **SEEDED_HISTORIES[protocol].config)


@pytest.mark.parametrize(
    ("mode", "release"), [("v1", "4.0"), ("v1-verified", "4.0"), ("v2", "4.0"), ("v2", "4.3"), ("v2", "trunk")]
)
def test_simulated_histories(duck: Any, tmp_path: Path, mode: str, release: str) -> None:
    """What the simulation makes under many faults: known holes of v1 are found by both alike, v2 keeps everything."""
    config = {"mode": mode, "release": release, "events": 300, "duplicate": 0.1, "delay": 0.1}
    simulator = "fencepost.reference_impl.systems.transactions:simulate_with_stats"
    generate(tmp_path, simulator, histories=150, seed=2, config=config, protocol="transactions", cores=1)
    held = properties_of("transactions")
    found = by_replay(replay(tmp_path, cores=1, checks=held.names))
    promised = {name for name, one in held.properties.items() if not one.modes or mode in one.modes}
    in_duckdb = in_sql("transactions", f"{tmp_path}/*.parquet", duck, mode=mode, release=release)
    assert found == {name: verdict for name, verdict in in_duckdb.items() if name in promised}
    assert (found == {}) == (mode == "v2")


def owned(columns: Columns) -> Columns:
    """With the client that began a transaction as the only one that goes on with it: others are refused."""
    view = EventView(columns, {})
    kinds = TransactionKind.add_sent, TransactionKind.record_sent, TransactionKind.end_sent
    txns, rows = view.numbers_of("txn"), view.rows_of(*kinds)
    begun = txns.first(view.rows_of(TransactionKind.txn_begun))[txns.of[rows]]
    there = begun != NEVER
    columns["client"][rows[there]] = columns["client"][begun[there]]
    return columns


# What needs no table of all that was seen before: one statement for all, so that Spark plans once.
FEW = {
    "id-blocks": tuple(properties_of("id-blocks").names),
    "task-counts": ("epochs_grow", "ids_of_their_own", "counts_are_sizes", "producers_covered"),
    "transactions": (
        "read_once", "offsets_hold_one_record", "reads_in_order", "reads_within_bound", "pairs_have_one_owner",
        "epochs_in_range", "appended_once", "markers_agree", "fetches_stop_at_stable", "stable_never_falls",
        "init_answered_when_idle",
    ),
}  # fmt: skip
SLOW = [pytest.mark.nightly(nights=4), pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("protocol", "names"),
    [
        *(pytest.param(protocol, FEW[protocol], id=f"{protocol}-some") for protocol in OF),
        *(pytest.param(protocol, properties_of(protocol).names, id=f"{protocol}-all", marks=SLOW)
          for protocol in OF if protocol != "id-blocks"),
    ],
)  # fmt: skip
def test_parquet_in_spark_sql_duckdb_and_replay(protocol: str, names: tuple[str, ...], tmp_path: Path) -> None:
    """The same files get one verdict from Spark's SQL, DuckDB and replay (starts Spark: about 20 s; all: 2 minutes)."""
    pieces = [make(seed, 300) for seed, make in enumerate(BLOCKS.values())]
    if protocol == "transactions":
        pieces = [owned(noise(protocol, 4, 150)), owned(doctored(protocol, 4, 50))]
    if protocol == "task-counts":
        pieces = [doctored(protocol, 4, 120)]
    end = 0
    for columns in pieces:
        columns["history"] = np.unique(columns["history"], return_inverse=True)[1] + end
        end = int(columns["history"][-1]) + 1
    config = dict(SEEDED_HISTORIES[protocol].config) | ({} if protocol == "id-blocks" else {"quiet_end": True})
    write_histories(tmp_path, pieces, VOCABULARIES[protocol], rows_per_group=2000, config=config)
    mode = str(config.get("mode", ""))
    asked = [name for name in names if properties_of(protocol).properties[name].not_promised(mode) is None]
    replayed = by_replay(replay(tmp_path, cores=1, checks=asked))
    in_duckdb = in_sql(protocol, f"{tmp_path}/*.parquet", **config)
    assert replayed == {name: verdict for name, verdict in in_duckdb.items() if name in asked}
    parts, violations = statements(protocol, **config)
    all_at_once = len(names) > len(FEW[protocol])
    with session(SparkSettings("local[2]", {"spark.sql.shuffle.partitions": "2"})) as spark:
        frame = spark.read.parquet(str(tmp_path / "part-00000.parquet"))
        for old, new in OF[protocol].RENAMED.items():
            frame = frame.withColumnRenamed(old, new)
        frame.createOrReplaceTempView("raw" if protocol == "task-counts" else "events")
        if protocol == "task-counts":
            made = spark.createDataFrame(spark.sql(OF[protocol].effective("raw")).toArrow())
            made.createOrReplaceTempView("events")
        for name, text in parts.items():
            # Spark would plan a table anew wherever it is named: what is computed is put in its place.
            if all_at_once or name in ("newer", "covering"):
                spark.createDataFrame(spark.sql(text).toArrow()).createOrReplaceTempView(name)
        texts = [violations[name] for name in asked]
        texts = texts if all_at_once or protocol == "task-counts" else [" UNION ALL ".join(texts)]
        found = [tuple(row) for text in texts for row in spark.sql(text).collect()]
    assert replayed == verdict_of(found)
    assert len(replayed) >= len(asked) - 2
