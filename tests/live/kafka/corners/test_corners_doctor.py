"""What the programs of findings leave in a live broker's logs is named by `fencepost doctor`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import fencepost, read_json
from corner import SETTINGS, bench, hold
from corners_all import CORNERS
from fencepost.proofs.doctor.defects import LATE_MARKER, NAMED, OLD_RULE
from fencepost.proofs.scope.findings import FINDINGS

pytestmark = [pytest.mark.kafka, pytest.mark.nightly, pytest.mark.timeout(600)]

PROGRAMS = {
    "marker-in-4.0": ("late_marker", LATE_MARKER),
    "last-end-in-4.0": ("last_epoch", "rotation lost over a fail-over"),
    "fence-v2-in-4.0": ("skipped", "a fence takes two epochs"),
    "marker-v2": ("marker_without", OLD_RULE),
}
"""By corner, what the doctor finds, and the finding that it names."""


@pytest.mark.parametrize("on", sorted({CORNERS[name].on for name in PROGRAMS}))
def test_what_a_program_leaves_is_named(on: str, jars_of: Callable[[str], Path], tmp_path: Path) -> None:
    """Over the network and of the directories, in the topic of the program."""
    with bench(on, jars_of(SETTINGS[on].release), tmp_path / "cluster") as at:
        mine = {name: each for name, each in PROGRAMS.items() if CORNERS[name].on == on}
        for name in mine:
            hold(CORNERS[name], at)
        for source in (("--bootstrap", at.cluster.bootstrap), ("--logs", *at.cluster.log_dirs)):
            ran = fencepost("doctor", *source, "--json", tmp_path / "doctor.json")
            findings = read_json(tmp_path / "doctor.json")["findings"]
            for name, (kind, finding) in mine.items():
                found = [
                    each for each in findings
                    if each["kind"] == kind and f"corner-{name}" in (each["topic"], each["transactional_id"])
                ]  # fmt: skip
                assert found, f"{name}: no {kind} in {ran.out}"
                assert any(known.startswith(f"{finding} (") for each in found for known in each["known"]), ran.out


def test_programs_are_those_of_the_findings() -> None:
    """Each is the finding's own."""
    by_name = {each.name: each for each in FINDINGS}
    for name, (kind, finding) in PROGRAMS.items():
        assert kind in NAMED[finding] and by_name[finding].program.endswith(f"[{name}]")
