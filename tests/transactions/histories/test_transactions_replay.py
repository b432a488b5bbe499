"""Replay of transactions finds exactly what was seeded, nothing in v2, and each single defect."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fencepost, read_json
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import NOTHING_TO_JUDGE, ReplayReport, Undecided, replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.proofs.traces import conformance_of, predicted_of
from fencepost.properties.history import Manifest, write_histories
from fencepost.properties.transactions.events.kinds import TRANSACTIONS
from fencepost.properties.transactions.histories.properties import HISTORY as transactions
from fencepost.properties.transactions.histories.properties import SEEDED_HISTORY
from pyarrow import compute, concat_tables, parquet

HISTORIES = 300
SEEDED = "fencepost.properties.transactions.histories.properties:simulate_many"
SIMULATOR = "fencepost.reference_impl.systems.transactions:simulate_with_stats"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory of half a million events in three pieces, in which a tenth of the histories is edited."""
    path = tmp_path_factory.mktemp("transactions") / "h"
    config = {"share": 0.1, "mode": "v2", "quiet_end": True}
    generate(path, SEEDED, histories=2000, seed=1, config=config, protocol="transactions", many=True, cores=1)
    return path


@pytest.fixture(scope="module")
def report(directory: Path) -> ReplayReport:
    return replay(directory, cores=1)


def test_half_a_million_events(directory: Path, report: ReplayReport) -> None:
    assert (report.events, report.histories, report.pieces) == (540_019, 2000, 3)
    faults = read_json(directory / "manifest.json")["faults"]
    assert {name: found["count"] for name, found in report.violations.items()} == faults
    assert set(faults) == set(transactions.properties)
    assert (report.unknown, report.vacuous) == ({}, ())


def test_spark_and_two_processes_give_the_same_report(directory: Path, report: ReplayReport) -> None:
    """The test starts Spark and processes, which takes about 20 s."""
    assert replay(directory, cores=2) == report
    with session(SparkSettings("local[2]")):
        assert replay(directory, spark=SparkSettings("local[2]")) == report


def test_the_mode_says_what_is_promised(tmp_path: Path) -> None:
    """Replay does not require of v1 that every end bumps the epoch, nor of a truncated history that nothing hangs."""
    write_histories(tmp_path, [SEEDED_HISTORY.seeded(1, 0, 50, share=1.0)[0]], TRANSACTIONS, config={"mode": "v1"})
    report = replay(tmp_path, cores=1)
    absent = ("appended_while_added", "clients_get_on", "ends_bump_epoch", "markers_agree")
    assert report.not_promised == dict.fromkeys(absent, "mode v1 does not promise it")
    assert report.unknown == {
        "lone_client_never_fenced": NOTHING_TO_JUDGE,  # no client of these is told that it is fenced
        **dict.fromkeys(
            ("none_hanging", "calls_come_to_an_end"),
            "the histories may end while something is still to happen; where all had come to rest before the end, "
            "record or generate them with --config quiet_end=true",
        ),
    }


def test_max_epoch_of_the_config_is_used(tmp_path: Path) -> None:
    columns, _ = SEEDED_HISTORY.seeded(1, 0, 1, share=0.0)
    for place, (last, holds) in enumerate([(12, True), (11, False)]):
        write_histories(tmp_path / str(place), [columns], TRANSACTIONS, config={"mode": "v2", "max_epoch": last})
        assert replay(tmp_path / str(place), cores=1, checks=["epochs_in_range"]).holds == holds


def test_conformance_is_undecided_without_observations() -> None:
    found = conformance_of(Manifest("idempotence", (), ()))
    assert found == Undecided("the model of idempotence does not say what the events of a history mean to it")


def simulated(place: Path, histories: int, seed: int = 1, **config: Any) -> ReplayReport:
    """Return the replay report on simulated histories of the reference under this config."""
    generate(place, SIMULATOR, histories=histories, seed=seed, config=config, protocol="transactions", cores=1)
    return replay(place, cores=1)


@pytest.mark.parametrize(
    ("broken", "found", "config"),
    [
        ("", None, {"quiet_end": True}),
        ("numbers_go_on", "clients_get_on", {}),
        ("coordinator_asked_once", "calls_come_to_an_end", {"quiet_end": True}),
    ],
)
def test_clients_that_do_not_get_on(tmp_path: Path, broken: str, found: str | None, config: dict[str, Any]) -> None:
    """txn.P11: Clients that are refused repeatedly or wait for ever are found, and no others."""
    report = simulated(tmp_path, 60, mode="v2", broken=broken, **config)
    asked = {"clients_get_on", "calls_come_to_an_end"}
    assert asked & set(report.violations) == ({found} if found else set())
    assert bool(found) or report.violations == {}
    assert ("calls_come_to_an_end" in report.unknown) == ("quiet_end" not in config)


def test_v1_keeps_every_promise_on_a_network_that_is_prompt(tmp_path: Path) -> None:
    """With verification v1 is clean if nothing is lost, late, duplicated or paused."""
    quiet = {"drop": 0.0, "duplicate": 0.0, "delay": 0.0, "pause": 0.0}
    report = simulated(tmp_path, 150, mode="v1-verified", events=300, **quiet)
    assert report.violations == {}


def test_v1_is_found_out(tmp_path: Path) -> None:
    """A late EndTxn decides the next transaction (KAFKA-17754), and a late record joins it (KAFKA-14402)."""
    report = simulated(tmp_path, 300, mode="v1", events=300, duplicate=0.1, delay=0.1)
    assert {"markers_as_decided", "markers_as_told", "open_unread", "transactions_share_fate"} <= set(report.violations)


def test_generate_and_replay_by_name(tmp_path: Path) -> None:
    made = tmp_path / "made"
    ran = fencepost("generate", "transactions/v2", made, "--histories", 20, "--cores", 1)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("6,000 events in 20 histories, 1 file, seed 1\n")
    ran = fencepost("replay", made, "--cores", 1, "--json", tmp_path / "r.json")
    assert ran.code == 0, ran.out + ran.err
    report = read_json(tmp_path / "r.json")
    assert (report["events"], report["histories"], report["violations"]) == (6000, 20, {})
    assert set(report["unknown"]) == {"none_hanging", "calls_come_to_an_end"}
    undecided = sum(report["undecided"].get("conformance", {}).values())
    assert report["judged"]["conformance"] == 20 - undecided >= 17
    share = f"{1 - undecided / 20:.1%} of the" if undecided else "all"
    assert f"conformance holds in {share} histories" in ran.out


def rows_of(directory: Path, history: int) -> dict[str, np.ndarray]:
    tables = map(parquet.read_table, sorted(directory.glob("*.parquet")))
    table = concat_tables([each.filter(compute.equal(each["history"], history)) for each in tables])
    return {name: table[name].to_numpy() for name in table.column_names}


def test_undecided_histories_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With verification a record may join what a late one has opened, which the model cannot follow. Those histories
    are undecided with the reason, and nothing in them is excused, while the others conform though they break promises
    as predicted. Two processes and Spark give the same (20 s)."""
    monkeypatch.setattr("fencepost.proofs.scale.generate.ROWS_PER_GROUP", 40_000)  # several pieces of few histories
    made = tmp_path / "made"
    config = {"mode": "v1-verified", "duplicate": 0.1, "delay": 0.1}
    manifest = generate(made, SIMULATOR, histories=HISTORIES, seed=1, config=config, protocol="transactions", cores=2)
    further, excuses = {"conformance": conformance_of(manifest)}, predicted_of(manifest)
    report = replay(made, cores=1, further=further, excuses=excuses)
    assert report.pieces > 1 and "markers_as_decided" in report.predicted
    assert not report.holds and "conformance" not in report.violations
    for found in report.violations.values():
        assert found["count"] == 1  # so that the first is all of them
        assert "as far as that can be decided: " in further["conformance"].explain(
            rows_of(made, found["first"].history)
        )
    reasons = report.undecided["conformance"]
    assert any("a record joins what a late one has opened" in reason for reason in reasons)
    assert report.judged["conformance"] == HISTORIES - sum(reasons.values()) > 9 * HISTORIES // 10
    assert replay(made, cores=2, further=further, excuses=excuses) == report
    with session(SparkSettings("local[2]")):
        assert replay(made, spark=SparkSettings("local[2]"), further=further, excuses=excuses) == report
    ran = fencepost("replay", made, "--check", "epochs_in_range")
    assert ran.code == 0 and f"undecided in {max(reasons.values()):,} histories (conformance): " in ran.out


def test_replay_finds_a_seeded_defect(tmp_path: Path) -> None:
    config = ("--config", "broken=stable_offset_inclusive")
    assert fencepost("generate", "transactions/v2", tmp_path / "h", "--histories", 30, *config).code == 0
    ran = fencepost("replay", tmp_path / "h", "--no-conformance")
    assert ran.code == 1
    assert "fetches stop at stable       violated" in ran.out
