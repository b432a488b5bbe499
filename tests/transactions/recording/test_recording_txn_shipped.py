"""The shipped recordings of transactions are small, clean by every property that they can decide, and not trivial."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fencepost.proofs.replays import recordings
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.traces import conformance_of
from fencepost.properties.history import HistoryDirectory, Manifest, read_piece, write_histories
from fencepost.properties.history.location import Location
from fencepost.properties.transactions.events.kinds import COMMIT, TRANSACTIONS, Kind

SHIPPED = {place.name.rpartition("-")[2]: place for place in recordings("transactions")}
Columns = dict[str, np.ndarray]
FENCED = 90  # PRODUCER_FENCED


def columns_of(name: str) -> Columns:
    columns, _ = read_piece(HistoryDirectory.open(SHIPPED[name]).pieces[0], TRANSACTIONS, TRANSACTIONS.schema.names)
    return {name: values.copy() for name, values in columns.items()}


def counted(name: str) -> Counter[str]:
    return Counter(Kind(kind).name for kind in columns_of(name)["kind"].tolist())


def doctored(name: str, change: Callable[[Columns], None], out: Path) -> ReplayReport:
    """Return the replay report on a copy after one change of its columns."""
    columns, manifest = columns_of(name), HistoryDirectory.open(SHIPPED[name]).manifest
    change(columns)
    reported = {name: getattr(manifest, name) for name in ("variant", "source", "ordered", "observable", "config")}
    write_histories(out, [columns], TRANSACTIONS, **reported)
    return replay(out, cores=1)


def test_three_are_there() -> None:
    assert set(SHIPPED) == {"clean", "zombie", "sigkill"}
    for place in SHIPPED.values():
        assert sum(file.stat().st_size for file in place.iterdir()) < 100_000


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_a_recording_holds(name: str) -> None:
    """35 of 48 properties are decidable, judged on something and hold, and the others have their reasons. The recording
    is also a run of the model, with hidden steps and some order of its logs."""
    manifest = Manifest.read(Location.of(SHIPPED[name]))
    report = replay(SHIPPED[name], cores=1, further={"conformance": conformance_of(manifest)})
    assert report.holds
    assert len(report.judged) == 35 + 1
    few = {"clients_get_on"}  # not every client lives for three transactions
    assert all(report.judged[prop] for prop in report.judged.keys() - few), report.judged
    assert report.judged["conformance"] == 1 and not report.undecided.get("conformance")
    assert report.figures["told_committed"] > 10
    assert (manifest.source, manifest.variant, manifest.config["kafka_version"]) == ("recorded", "v2", "4.3.1")


def test_zombies_went_on() -> None:
    kinds = counted("zombie")
    assert kinds["client_failed"] >= 5
    assert kinds["record_failed"] >= 10
    assert kinds["fence_told"] >= 3
    columns = columns_of("zombie")
    reported = (columns["kind"] == Kind.end_told) & (columns["outcome"] == COMMIT) & (columns["error"] == 0)
    assert reported.sum() >= 30


def test_nodes_were_killed() -> None:
    """The nodes were killed four times, acknowledged records survived, and the coordinator's epoch grew."""
    assert HistoryDirectory.open(SHIPPED["sigkill"]).manifest.faults == {"killed": 4}
    columns = columns_of("sigkill")
    assert len(set(columns["coordinator_epoch"][columns["kind"] == Kind.txn_logged].tolist())) >= 3
    assert counted("clean")["record_failed"] == counted("clean")["client_failed"] == 0


def test_a_zombies_commit_would_be_found(tmp_path: Path) -> None:
    """An acknowledged commit of a fenced instance would contradict readers and markers."""

    def reported(columns: Columns) -> None:
        refused = (columns["kind"] == Kind.end_told) & (columns["outcome"] == COMMIT) & (columns["error"] == FENCED)
        columns["error"][np.flatnonzero(refused)[0]] = 0

    report = doctored("zombie", reported, tmp_path / "h")
    assert {"commits_kept", "markers_as_told"} <= set(report.violations)


def test_a_lost_record_would_be_found(tmp_path: Path) -> None:
    """txn.P4: If a record of a committed transaction were gone after a kill, readers would miss it."""

    def lost(columns: Columns) -> None:
        read = np.flatnonzero(columns["kind"] == Kind.record_read)[5]
        columns["kind"][read] = Kind.record_seen
        columns["record"][read] += 10_000

    assert "commits_kept" in doctored("sigkill", lost, tmp_path / "h").violations


def test_an_aborted_record_read_would_be_found(tmp_path: Path) -> None:
    """txn.P3: A read_committed reader would get an aborted record, by its marker and its owner's answer."""

    def observed(columns: Columns) -> None:
        columns["kind"][columns["kind"] == Kind.record_seen] = Kind.record_read

    assert {"aborts_unread", "reads_as_marked"} <= set(doctored("clean", observed, tmp_path / "h").violations)
