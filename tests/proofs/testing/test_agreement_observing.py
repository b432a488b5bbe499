"""What is observed is an option of its own: all that an implementation shows, or what a black box does."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost, read_json
from fencepost.proofs.cli.agree import as_predicted
from fencepost.proofs.testing import AgreementReport, agree, tracker
from fencepost.properties.conformance_spec import driven
from fencepost.reference_impl.systems.id_blocks import reference

BLACK_BOX = driven("id-blocks").black_box


class CommitsReportedLate:
    """The reference, but that what it tells of its inside comes after what it tells its clients."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.system, self.inside = reference(config), list[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)

    def drain_events(self) -> list[Any]:
        reported, observed = self.inside, list(self.system.drain_events())
        self.inside = [e for e in observed if e.kind == "block_committed"]
        return [*reported, *(e for e in observed if e.kind != "block_committed")]


def commits_reported_late(config: Mapping[str, Any]) -> CommitsReportedLate:
    """A cluster of which clients see nothing that is wrong."""
    return CommitsReportedLate(config)


def judged(observe: Any) -> AgreementReport:
    return agree(commits_reported_late, protocol="id-blocks", variant="kraft", observe=observe, max_examples=30)


def test_a_black_box_is_judged_by_its_outside() -> None:
    """What it shows of its inside is wrong only where that is looked at."""
    inside, outside = judged("all"), judged("black-box")
    assert (inside.verdict, outside.verdict) == ("violated", "holds")
    assert (inside.observe, outside.observe) == ("all", "black-box")
    assert set(outside.observed) == BLACK_BOX
    assert set(inside.observed) > BLACK_BOX
    assert "block_committed" not in outside.coverage.kinds


def test_all_is_the_default_in_process() -> None:
    """And means what it always did."""
    assert judged(None).observe == "all"
    assert judged(None).verdict == "violated"


@pytest.mark.parametrize("name", ["next_id_not_advanced", "block_kept_over_restart"])
def test_defects_are_found_from_outside(name: str) -> None:
    """By promises alone, with a program that fails by itself, though the implementation shows more there."""
    report = agree(
        f"fencepost.reference_impl.defects.id_blocks:{name}",
        protocol="id-blocks", variant="kraft", observe="black-box", promises_only=True, seed=1,
    )  # fmt: skip
    assert report.failure is not None
    assert "730.P" in report.failure.promise
    with pytest.raises(AssertionError):
        exec(report.program, {})


def test_what_ends_a_program_is_not_held_against_a_black_box() -> None:
    """Settling and trying whether clients get on do much that is not shown, end every program on transactions, and are
    part of some scenarios: a fifth of the calls come before the first time, and are held against the model."""
    report = agree(
        "fencepost.reference_impl.systems.transactions:reference", protocol="transactions", variant="v2",
            observe="black-box",
        max_examples=15, seed=1, verdict_only=True,
    )  # fmt: skip
    assert report.failure is None
    assert report.compared is not None
    assert report.compared > 0.2


def test_the_command_says_what_was_observed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its first line, and in JSON."""
    monkeypatch.setenv("COLUMNS", "400")
    file = tmp_path / "report.json"
    asked = ("agree", "id-blocks/kraft", "--examples", 3, "--json", file)
    ran = fencepost(*asked, "--observe", "black-box")
    assert ran.code == 0
    assert ", by what a black box shows, seed" in ran.out
    reported = read_json(file)
    assert (reported["observe"], set(reported["observed"])) == ("black-box", BLACK_BOX)
    ran = fencepost(*asked)
    assert "black box" not in ran.out
    assert read_json(file)["observe"] == "all"


@pytest.mark.parametrize(("variant", "examples"), [("transactions/v1-verified", 4), ("group-fencing/shipped", 3)])
def test_a_black_box_that_no_model_can_follow_is_judged_by_its_promises(variant: str, examples: int) -> None:
    """On the reference that is no failure, and what was not followed is in the output."""
    ran = fencepost("agree", variant, "--observe", "black-box", "--examples", examples)
    assert ran.code == 0
    assert "holds after" in ran.out
    assert "judged by its promises alone: the model can't be followed from what a black box shows" in ran.out
    assert "not followed to the end" in ran.out


def test_too_many_states_are_no_mistake_of_the_implementation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more states fit than are looked at, the model follows no further, and the promises are judged."""
    monkeypatch.setattr(tracker, "MOST_CANDIDATES", 1)
    report = agree(
        "fencepost.reference_impl.systems.transactions:reference", protocol="transactions", variant="v2",
            observe="black-box",
        max_examples=8, seed=1, verdict_only=True,
    )  # fmt: skip
    assert (report.verdict, report.by_promises) == ("holds", True)
    assert any(reason.startswith("too many states fit what was seen; ") for reason in report.coverage.beyond)


def test_a_mistake_breaks_what_its_model_breaks() -> None:
    """As predicted, and no failure unless nothing is to be expected; what the model keeps is a failure all the same."""
    ran = fencepost("agree", "source-commits/last-polled", "--examples", 15)
    assert ran.code == 0
    assert "as predicted of last-polled: its model breaks src." in ran.out
    ran = fencepost("agree", "source-commits/last-polled", "--examples", 15, "--expecting", "none")
    assert ran.code == 1
    assert "as predicted" not in ran.out
    agreeing, name = driven("source-commits"), "fencepost.reference_impl.systems.source_commits:reference"
    report = agree(name, protocol=agreeing, variant="last-polled", max_examples=15)
    assert report.failure is not None
    kept = replace(report, failure=replace(report.failure, promise="src.2: something that its model keeps"))
    assert not as_predicted(kept, agreeing)
