"""Recordings of live Connect clusters ship with the package. The properties find what the catalogue says and nothing
else, and each of three edits of each recording is named by the property that it breaks."""

from pathlib import Path

import pytest
from connect_logs import is_shipped, judged, unpacked, written
from fencepost.proofs.recording.task_counts.recorder import record_task_counts
from fencepost.proofs.replays import _replayed, recordings
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.traces import conformance_kernel, conformance_of
from fencepost.properties.catalogue import FOLLOWED, protocols
from fencepost.properties.history import Manifest
from fencepost.properties.history.location import Location
from fencepost.properties.seeded_violations import Edit, Written, change, drop, swap
from fencepost.properties.task_counts.events import TASK_COUNTS, Kind

PLACES = {place.name.removeprefix("task-counts-connect-"): place for place in recordings("task-counts")}
REMOVED = "removed-task"
MADE_OF = {
    "life-3.9.1": "life-3.9.1", "life-4.3.1": "life-4.3.1", "life-4.3.1-v0": "life-4.3.1-tv0",
    "life-4.4.0": "life-4.4.0", REMOVED: "removed-4.3.1",
}  # fmt: skip
ENTRY = protocols()["task-counts"]
each_recording = pytest.mark.parametrize("name", PLACES)


def rows_of(name: str) -> Written:
    return written(PLACES[name])


def last_commit(history: Written, **like: int) -> int:
    """Return which commit is the last with these values."""
    commits = [row for row in history.rows if row["kind"] == Kind.transaction_committed]
    return max(nth for nth, row in enumerate(commits) if like.items() <= row.items())


def doctored(name: str, out: Path, *edits: Edit) -> set[str]:
    """Return the properties that a copy of a recording breaks after some edits."""
    return set(judged(PLACES[name], rows_of(name), out, *edits).violations)


def violations(report: ReplayReport) -> set[str]:
    return {name for name, broken in report.violations.items() if broken["count"]}


@each_recording
def test_the_catalogue_says_what_it_breaks_and_hides(name: str) -> None:
    place = PLACES[name]
    manifest = Manifest.read(Location.of(place))
    report = replay(place, cores=1, further={"conformance": conformance_of(manifest)})
    broken = ENTRY.violated.get(place.name, frozenset())
    assert violations(report) == broken
    variant, pinned = ENTRY.variant(manifest.variant), ENTRY.undecided.get(place.name, frozenset())
    for expected in {broken, frozenset()}:
        found = [
            r
            for _, r in _replayed(
                ENTRY, variant, variant.name, "it", report, "recordings", pinned, FOLLOWED, expected
            )
        ]  # fmt: skip
        assert {r.property for r in found if not r.as_expected} == broken - expected
    assert len([r for r in found if r.verdict == "holds"]) == 25 - len(broken) - len(pinned)


@each_recording
def test_it_is_what_the_recorder_makes_of_the_stored_logs(name: str, tmp_path: Path) -> None:
    unpacked(MADE_OF[name], tmp_path)
    record_task_counts(
        sorted(tmp_path.glob("node-*")), tmp_path / "out", seen=tmp_path / "seen.jsonl",
        worker_logs=sorted(tmp_path.glob("w*.log")),
        quiet_end=Manifest.read(Location.of(PLACES[name])).config["quiet_end"],
    )  # fmt: skip
    assert is_shipped(PLACES[name], tmp_path / "out")
    assert sum(file.stat().st_size for file in PLACES[name].iterdir()) < 20_000


@each_recording
def test_a_fence_dropped(name: str, tmp_path: Path) -> None:
    """618.7: The count came before the fence of an id that the count before covers."""
    found = doctored(name, tmp_path / "h", drop(Kind.id_fenced, 0))
    assert found - broken_as_it_is(name) == {"fenced_before_count"}


@each_recording
def test_a_count_and_its_set_exchanged(name: str, tmp_path: Path) -> None:
    """618.2: The tasks of the set poll, and no count has come after it."""
    found = doctored(name, tmp_path / "h", swap((Kind.set_written, 1), (Kind.count_written, 1)))
    assert {"running_with_count", "fenced_before_count"} <= found - broken_as_it_is(name)


@each_recording
def test_a_commit_by_a_fenced_epoch(name: str, tmp_path: Path) -> None:
    """618.18."""
    late = last_commit(rows_of(name), task=0)
    found = doctored(name, tmp_path / "h", change(Kind.transaction_committed, late, epoch=0))
    assert found - broken_as_it_is(name) == {"fenced_never_commit"}


def broken_as_it_is(name: str) -> frozenset[str]:
    return ENTRY.violated.get(PLACES[name].name, frozenset())


def test_the_first_violation_is_the_removed_task() -> None:
    """618.P1: Task 1 of the previous set was opened after the count of 1, under a later epoch than the fence's."""
    rows = rows_of(REMOVED).rows
    (started,) = [
        row for row in rows if row["kind"] == Kind.task_starting and (row["task"], row["set"]) == (1, rows_set(rows))
    ]
    (opened,) = [
        at for at, row in enumerate(rows)
        if row["kind"] == Kind.producer_opened and row["instance"] == started["instance"]
    ]  # fmt: skip
    before = rows[:opened]
    assert [row["count"] for row in before if row["kind"] == Kind.count_written] == [2, 1]
    fenced = [row["epoch"] for row in before if row["kind"] == Kind.id_fenced and row["task"] == 1]
    assert rows[opened]["epoch"] > max(fenced)
    commits = [row for row in rows if row["kind"] == Kind.transaction_committed]
    assert {row["set"] for row in commits if row["instance"] == started["instance"]} == {started["set"] - 8}


def test_the_model_with_the_released_start_follows_it_whole() -> None:
    """618.52: what `shipped` cannot follow is one step of `shipped-claims`, and that follows the lives as well."""
    for name, place in PLACES.items():
        config = Manifest.read(Location.of(place)).config
        for variant, followed in (("shipped", name != REMOVED), ("shipped-claims", True)):
            kernel = conformance_kernel(variant, config, "task-counts")
            report = replay(place, cores=1, checks=("sets_whole",), further={"conformance": kernel})
            assert report.judged["conformance"] == 1
            assert ("conformance" not in report.violations) == followed, (name, variant)


def rows_set(rows: object) -> int:
    return max(row["set"] for row in rows if row["kind"] == Kind.set_written)  # type: ignore[attr-defined]


def test_without_its_commits_the_removed_task_breaks_no_promise(tmp_path: Path) -> None:
    history = rows_of(REMOVED)
    left = [
        row for row in history.rows
        if row["kind"] != Kind.transaction_committed or (row["task"], row["epoch"]) not in late_pairs(history)
    ]  # fmt: skip
    assert len(left) < len(history.rows)
    report = judged(PLACES[REMOVED], Written(TASK_COUNTS, left), tmp_path / "h")
    assert violations(report) == {"sets_whole"}


def late_pairs(history: Written) -> set[tuple[int, int]]:
    """Return task and epoch of what the removed task opened last."""
    opened = [row for row in history.rows if row["kind"] == Kind.producer_opened and row["task"] == 1]
    return {(1, opened[-1]["epoch"])}
