"""Edited copies of the shipped recordings violate the broken promise. The model can no longer follow them, and reports
the row, the false condition and the nearest step."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fencepost.proofs.replays import recordings
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.traces import RecordingKernel, conformance_of
from fencepost.properties.history import HistoryDirectory, read_piece, write_histories
from fencepost.properties.transactions.events.kinds import COMMIT, TRANSACTIONS, Kind, State

SHIPPED = {place.name.rpartition("-")[2]: place for place in recordings("transactions")}
Columns = dict[str, np.ndarray]
KEPT = ("kind", "time_us", "step")  # of a row that is made of another: where it stands


def columns_of(name: str) -> Columns:
    columns, _ = read_piece(HistoryDirectory.open(SHIPPED[name]).pieces[0], TRANSACTIONS, TRANSACTIONS.schema.names)
    return {name: values.copy() for name, values in columns.items()}


def rows_of(columns: Columns, *kinds: Kind) -> np.ndarray:
    return np.flatnonzero(np.isin(columns["kind"], kinds))


def moved(columns: Columns, row: int, before: int) -> None:
    """Move one row before another one. Offsets of logs are counted again, and times and steps stay in order."""
    order = [i for i in range(len(columns["kind"])) if i != row]
    order.insert(order.index(before), row)
    for name in set(columns) - {"step", "time_us", "history"}:
        columns[name] = columns[name][order]
    lying = rows_of(columns, Kind.batch_appended, Kind.marker_appended)
    for partition in np.unique(columns["partition"][lying]):
        there = lying[columns["partition"][lying] == partition]
        columns["offset"][there] = np.sort(columns["offset"][there])


def marker_before_prepare(columns: Columns) -> None:
    """Move a marker before the records of its transaction, which were acknowledged before its end was requested."""
    marker = int(rows_of(columns, Kind.marker_appended)[10])
    appended = rows_of(columns, Kind.batch_appended)
    same = (columns["partition"][appended] == columns["partition"][marker]) & (appended < marker)
    same &= columns["epoch"][appended] == columns["epoch"][marker] - 1
    moved(columns, marker, int(appended[same][0]))


def prepare_after_complete(columns: Columns) -> None:
    """Move a Prepare in the transaction log after the Complete that waited for its markers."""
    logged = rows_of(columns, Kind.txn_logged)
    states = columns["state"][logged]
    at = int(np.flatnonzero((states[:-1] == State.PrepareCommit) & (states[1:] == State.CompleteCommit))[3])
    one, other = int(logged[at]), int(logged[at + 1])
    columns["state"][one], columns["state"][other] = columns["state"][other], columns["state"][one]


def record_of_a_fenced_epoch(columns: Columns) -> None:
    """Give the record after a marker the epoch that the marker fenced."""
    lying = rows_of(columns, Kind.batch_appended, Kind.marker_appended)
    there = lying[columns["partition"][lying] == 0]
    marked = columns["kind"][there] == Kind.marker_appended
    after = np.flatnonzero(marked[:-1] & ~marked[1:])[2]
    columns["epoch"][there[after + 1]] = columns["epoch"][there[after]] - 1


def end_swapped(columns: Columns) -> None:
    """Answer an owner that asked for a commit with an abort, without an error."""
    reported = rows_of(columns, Kind.end_told)
    good = reported[(columns["outcome"][reported] == COMMIT) & (columns["error"][reported] == 0)]
    columns["outcome"][good[3]] = 1 - COMMIT


def inits_swapped(columns: Columns) -> None:
    """Exchange two producers' answers to InitProducerId."""
    taken = rows_of(columns, Kind.init_taken)
    good = taken[columns["error"][taken] == 0]
    for name in ("producer_id", "epoch"):
        one, other = columns[name][good[0]], columns[name][good[1]]
        columns[name][good[0]], columns[name][good[1]] = other, one


DOCTORED: dict[str, tuple[Callable[[Columns], None], str]] = {
    "a marker before its Prepare": (marker_before_prepare, "partition_epochs_never_fall"),
    "a Prepare after its Complete": (prepare_after_complete, "states_follow_on"),
    "a record of a fenced epoch": (record_of_a_fenced_epoch, "partition_epochs_never_fall"),
    "the end of a transaction swapped": (end_swapped, "markers_as_told"),
    "the answers to InitProducerId swapped": (inits_swapped, "init_bumps_epoch"),
}


def doctored(name: str, change: Callable[[Columns], None], out: Path) -> tuple[ReplayReport, RecordingKernel, Columns]:
    """Return the replay of a copy after one change of its columns, with its conformance kernel."""
    columns, manifest = columns_of(name), HistoryDirectory.open(SHIPPED[name]).manifest
    change(columns)
    reported = {name: getattr(manifest, name) for name in ("variant", "source", "ordered", "observable", "config")}
    kernel = conformance_of(write_histories(out, [columns], TRANSACTIONS, **reported))
    assert isinstance(kernel, RecordingKernel)
    return replay(out, cores=1, further={"conformance": kernel}), kernel, columns


@pytest.mark.parametrize("what", DOCTORED)
@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_the_right_promise_is_broken(name: str, what: str, tmp_path: Path) -> None:
    change, broken = DOCTORED[what]
    report, kernel, columns = doctored(name, change, tmp_path / "h")
    assert broken in report.violations, report.violations
    assert "conformance" not in report.violations
    ((reason, count),) = report.undecided["conformance"].items()
    assert count == 1
    for part in (" rows are followed with hidden steps", " at step ", "false is ", "the nearest step is "):
        assert part in reason, reason
    assert set(report.unmet(["conformance"])) == {"conformance"}

    explained = kernel.explain(columns)
    assert reason in explained and "what each log, and the clients, had next" in explained
