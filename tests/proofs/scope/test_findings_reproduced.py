"""Findings are reproduced, not remembered: what they say is what their programs saw, within the last week."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from fencepost.proofs.scope import reproduced
from fencepost.proofs.scope.findings import FINDINGS
from fencepost.reference_impl.live.tcp.connection import NoAnswer
from outcomes import outcome_of


def test_every_finding_says_what_its_program_saw() -> None:
    """`proofs/verdicts/reproduced.json` has a row for each release on which it says that it was seen, or not seen."""
    assert reproduced.disagreements(FINDINGS) == []


@pytest.mark.nightly
def test_everything_was_reproduced_within_a_week() -> None:
    """It comes last in the night, which has run the programs on the newest release and on another one: what is older
    could not be run, as the reports of seven nights say."""
    assert reproduced.too_old(datetime.now(UTC).date()) == []


def test_what_is_written_down_takes_the_place_of_what_was(tmp_path: Path) -> None:
    """By program and release; what a finding says that is not so, and what is too old, is named."""
    file, (each, *_) = tmp_path / "reproduced.json", FINDINGS
    row = reproduced.Reproduced(each.program, "4.4.0", "not seen", "step 3", "abc", "2026-01-01", "0")
    reproduced.add(file, [row, replace(row, release="4.3.1", outcome="seen")])
    reproduced.add(file, [replace(row, outcome="seen", date="2026-01-05")])
    assert [(r.release, r.outcome, r.date) for r in reproduced.rows(file)] == [
        ("4.3.1", "seen", "2026-01-01"), ("4.4.0", "seen", "2026-01-05")
    ]  # fmt: skip
    claims = replace(each, seen=("4.4.0",), not_seen=("4.3.1", "4.0.0"))
    assert reproduced.disagreements([claims], file) == [
        f"{each.name}: seen on 4.3.1, which it does not say",
        f"{each.name}: not seen on 4.0.0, and last not tried there",
        f"{each.name}: not seen on 4.3.1, and last seen there",
    ]
    assert reproduced.disagreements([replace(each, seen=("4.3.1", "4.4.0"), not_seen=())], file) == []
    assert reproduced.too_old(date(2026, 1, 9), file) == [f"{each.program} on 4.3.1: last run on 2026-01-01"]
    assert reproduced.rows(tmp_path / "none.json") == []
    further = replace(each, seen=("4.3.1", "4.4.0"), not_seen=("4.2.2",), also=("further",))  # one of them saw it
    others = [replace(row, program="further", release=release) for release in ("4.2.2", "4.3.1", "4.4.0")]
    reproduced.add(file, [*others, replace(row, release="4.2.2", outcome="not run")])
    assert reproduced.disagreements([further], file) == []


def test_what_a_program_saw() -> None:
    """It passes where the defect is; another answer is one; an error, and what keeps it from running, are none."""
    assert outcome_of("call", None) == ("seen", "")
    assert outcome_of("call", AssertionError("step 3:\n answered 47, not 0")) == (
        "not seen",
        "step 3: answered 47, not 0",
    )
    assert outcome_of("call", TimeoutError("still -1")) == ("not seen", "still -1")
    assert outcome_of("call", NoAnswer("closed")) == ("not run", "closed")
    assert outcome_of("setup", AssertionError("no cluster")) == ("not run", "no cluster")
