"""What is recorded of a driven system is judged when its program is over: here stored recordings stand for it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.testing import AgreementReport, agree
from fencepost.properties.history import HistoryDirectory, read_piece, write_histories
from fencepost.properties.history.location import Location
from fencepost.properties.task_counts.events import TASK_COUNTS, Kind
from fencepost.properties.task_counts.scenarios.agreement import ON_A_CLUSTER
from fencepost.reference_impl.systems.task_counts import reference

RECORDED = Path(str(files("fencepost.properties"))) / "recorded"


def recorded(config: Mapping[str, Any]) -> Any:
    """The reference, as a system of which something is recorded; no further operations wait there."""
    system = reference({name: value for name, value in config.items() if name != "held"})
    system.sources = lambda scratch: {}
    return system


def life(out: Path, quiet_end: bool) -> HistoryDirectory:
    shutil.copytree(RECORDED / "task-counts-connect-life-4.3.1", out)
    return HistoryDirectory.open(Location.of(out))


def removed(out: Path, quiet_end: bool) -> HistoryDirectory:
    shutil.copytree(RECORDED / "task-counts-connect-removed-task", out)
    return HistoryDirectory.open(Location.of(out))


def without_a_start(out: Path, quiet_end: bool) -> HistoryDirectory:
    """A life in which a task opens its producer that was never started."""
    whole = HistoryDirectory.open(Location.of(RECORDED / "task-counts-connect-life-4.3.1"))
    columns, _ = read_piece(whole.pieces[0], TASK_COUNTS, ("kind", "time_us", *TASK_COUNTS.names))
    (starts,) = (columns["kind"] == Kind.task_starting).nonzero()
    columns = {name: np.delete(values, starts[0]) for name, values in columns.items()}
    columns["step"], manifest = np.arange(len(columns["kind"])), whole.manifest
    write_histories(
        out, [columns], TASK_COUNTS, source="recorded", ordered=True, variant="shipped", observable=manifest.observable,
        config=manifest.config,
    )  # fmt: skip
    return HistoryDirectory.open(Location.of(out))


def refused(out: Path, quiet_end: bool) -> HistoryDirectory:
    raise RecordingError("is compacted", out, "record earlier")


def agreed(recorder: str, **more: Any) -> AgreementReport:
    protocol = replace(ON_A_CLUSTER, recorder=f"{__name__}:{recorder}", tries=1)
    return agree(f"{__name__}:recorded", protocol=protocol, max_examples=2, steps=1, **more)


def test_a_recording_that_is_followed() -> None:
    report = agreed("life")
    assert (report.verdict, report.model, report.followed, report.compared) == ("holds", "shipped", 1.0, None)


def test_a_recording_that_breaks_promises() -> None:
    """The first that is broken is named, as soon as it is found, and the program fails by itself."""
    found: list[str] = []
    report = agreed("removed", shrinking=found.append)
    assert len(found) == 1 and found[0].startswith("promise: task starting")
    assert report.verdict == "violated" and report.failure is not None
    assert report.failure.promise.startswith("618.3: task starting")
    assert report.program.splitlines()[-2].startswith("result = recording(system, ")
    with pytest.raises(AssertionError, match=r"618\.3"):
        exec(report.program, {})


def test_a_recording_that_is_no_run_of_the_model() -> None:
    report = agreed("without_a_start")
    assert report.verdict == "differs"
    (difference,) = report.differences
    assert difference.conjuncts[0].action == "producer opened"


def test_a_recording_that_cannot_be_made() -> None:
    """It is not followed, and the report has the reason."""
    report = agreed("refused")
    assert (report.verdict, report.followed) == ("unknown", 0.0)
    assert "is compacted; record earlier" in report.inconclusive


def test_promises_alone() -> None:
    """Nothing is recorded for them."""
    report = agreed("removed", promises_only=True)
    assert (report.verdict, report.model) == ("holds", "none")
