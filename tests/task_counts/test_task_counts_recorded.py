"""This recording of a released Kafka Connect has a removed task that is started again and commits. The properties find
that and nothing else, hold without its commits, and notice each edit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fencepost.proofs.replays import _replayed, recordings
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.traces import conformance_of
from fencepost.properties.catalogue import FOLLOWED, protocols
from fencepost.properties.history import HistoryDirectory, Manifest, read_piece, write_histories
from fencepost.properties.history.location import Location
from fencepost.properties.task_counts.events import TASK_COUNTS, Kind

(PLACE,) = recordings("task-counts")
ENTRY = protocols()["task-counts"]
FOUND = {"no_zombie_commits": 2, "producers_covered": 2}
REMOVED = 3
"""This instance runs the task that the newest set does not have."""
Columns = dict[str, np.ndarray]
Change = Callable[[Columns], np.ndarray]
"""A change returns which rows stay, and may edit some of them."""


def columns_of() -> Columns:
    columns, _ = read_piece(HistoryDirectory.open(PLACE).pieces[0], TASK_COUNTS, TASK_COUNTS.schema.names)
    return {name: values.copy() for name, values in columns.items()}


def of(columns: Columns, *kinds: Kind) -> np.ndarray:
    return np.isin(columns["kind"], kinds)


def doctored(change: Change, out: Path) -> dict[str, int]:
    """Return the violations by property in a copy of the recording after one change."""
    columns, manifest = columns_of(), HistoryDirectory.open(PLACE).manifest
    stays = change(columns)
    columns = {name: values[stays] for name, values in columns.items()}
    columns["step"] = np.arange(len(columns["step"]), dtype=columns["step"].dtype)
    reported = {name: getattr(manifest, name) for name in ("variant", "source", "ordered", "observable", "config")}
    write_histories(out, [columns], TASK_COUNTS, **reported)
    return violations(replay(out, cores=1))


def violations(report: ReplayReport) -> dict[str, int]:
    return {name: broken["count"] for name, broken in report.violations.items()}


def without(*kinds: Kind, **equal: int) -> Change:
    """Return the change that removes rows of these kinds with these values."""

    def change(columns: Columns) -> np.ndarray:
        gone = of(columns, *kinds)
        for name, value in equal.items():
            gone &= columns[name] == value
        assert gone.any()
        return ~gone

    return change


def test_the_catalogue_says_what_it_breaks_and_hides() -> None:
    manifest = Manifest.read(Location.of(PLACE))
    report = replay(PLACE, cores=1, further={"conformance": conformance_of(manifest)})
    assert violations(report) == FOUND
    variant, pinned = ENTRY.variant(manifest.variant), ENTRY.undecided[PLACE.name]
    for broken in (ENTRY.violated[PLACE.name], ()):
        found = [
            r for _, r in _replayed(ENTRY, variant, variant.name, "it", report, "recordings", pinned, FOLLOWED, broken)
        ]
        unexpected = {r.property for r in found if not r.as_expected}
        assert unexpected == (set() if broken else set(FOUND))
        assert {r.property for r in found if r.verdict == "violated"} == set(FOUND)
        assert len([r for r in found if r.verdict == "holds"]) == 9


def test_what_it_is_of_is_said() -> None:
    manifest = Manifest.read(Location.of(PLACE))
    assert (manifest.source, manifest.ordered, manifest.totals.rows) == ("recorded", True, 59)
    reported = {"kafka_version": "4.3.1", "transaction_version": 2, "workers": 3, "recorded": "2026-11-27"}
    assert reported.items() <= manifest.config.items()
    assert sum(file.stat().st_size for file in PLACE.iterdir()) < 20_000


def test_its_first_violation_is_the_removed_task() -> None:
    """618.P1: Task 1 of the previous set was opened after the count of 1, under a later epoch than the fence's."""
    columns = columns_of()
    rows = {
        kind: np.flatnonzero(of(columns, kind)) for kind in (Kind.producer_opened, Kind.count_written, Kind.id_fenced)
    }
    (opened,) = [row for row in rows[Kind.producer_opened] if columns["instance"][row] == REMOVED]
    assert (columns["task"][opened], columns["count"][rows[Kind.count_written][-1]]) == (1, 1)
    assert opened > rows[Kind.count_written][-1]
    fenced = [row for row in rows[Kind.id_fenced] if columns["task"][row] == 1]
    assert columns["epoch"][opened] > columns["epoch"][fenced[-1]]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (without(Kind.transaction_committed, instance=REMOVED), {}),
        (without(Kind.id_fenced, task=1), FOUND | {"fenced_before_count": 1}),
    ],
)
def test_a_copy_is_judged_by_what_is_in_it(change: Change, found: dict[str, int], tmp_path: Path) -> None:
    """Without the removed task's commits everything holds, and without the fence of its id the count is too early."""
    assert doctored(change, tmp_path / "h") == found


def test_a_count_of_another_size_is_noticed(tmp_path: Path) -> None:
    """A last count of 2 would cover the task, and would match no set."""

    def two(columns: Columns) -> np.ndarray:
        columns["count"][np.flatnonzero(of(columns, Kind.count_written))[-1]] = 2
        return np.ones(len(columns["kind"]), bool)

    found = doctored(two, tmp_path / "h")
    assert found["counts_are_sizes"] == 1
    assert "no_zombie_commits" in found


def test_a_commit_of_a_fenced_epoch_is_noticed(tmp_path: Path) -> None:
    """618.18: The edited first instance of the task commits after its id was fenced."""

    def earlier(columns: Columns) -> np.ndarray:
        late = np.flatnonzero(of(columns, Kind.transaction_committed) & (columns["instance"] == REMOVED))
        columns["epoch"][late], columns["instance"][late] = 0, 1
        return np.ones(len(columns["kind"]), bool)

    assert doctored(earlier, tmp_path / "h")["fenced_never_commit"] == 2
