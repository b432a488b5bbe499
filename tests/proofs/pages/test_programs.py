"""A program that fails as a page: its calls, the events that came of them, and the one that is wrong at the end."""

from pathlib import Path

import pytest
from command_line import fencepost
from fencepost.proofs.pages.page import page
from fencepost.proofs.pages.programs import DRIVER, pages_of
from fencepost.proofs.pages.stories import Story
from fencepost.proofs.testing import agree
from fencepost.proofs.testing.engine import AgreementReport

BROKEN = "fencepost.reference_impl.defects.id_blocks:next_id_not_advanced"


@pytest.fixture(scope="module")
def report() -> AgreementReport:
    """A controller that gives one block to two brokers."""
    found = agree(BROKEN, protocol="id-blocks", variant="kraft", seed=1, max_examples=200)
    assert found.failure is not None
    return found


@pytest.fixture(scope="module")
def story(report: AgreementReport) -> Story:
    [made] = pages_of(report)
    return made


def test_it_ends_with_what_is_wrong(report: AgreementReport, story: Story) -> None:
    """The event that the report calls the first bad one."""
    assert report.failure is not None
    kind = report.failure.first_bad.partition("(")[0]
    assert story.broken_at == len(story.steps)
    assert story.steps[-1].action == kind.replace("_", " ")
    assert f"first bad event: {report.failure.first_bad}" in story.about


def test_every_call_is_there(report: AgreementReport, story: Story) -> None:
    """In the driver's lane, as the program has them, each before its events; the others are of the implementation."""
    assert report.failure is not None
    calls = [step.action for step in story.steps if story.lanes[step.lane] == DRIVER]
    assert len(calls) == report.failure.calls
    assert all(call.partition("  #")[0] in report.failure.program for call in calls)
    assert story.steps[0].action == calls[0]
    assert len(story.steps) > len(calls)
    assert {place for step in story.steps for place in (step.lane, *step.reaches)} == set(range(len(story.lanes)))


def test_it_is_a_small_page(story: Story) -> None:
    assert len(page([story])) < 300_000


def test_from_the_command_line(tmp_path: Path) -> None:
    """Where it fails, and not where nothing does."""
    failing, fine = tmp_path / "failing.html", tmp_path / "fine.html"
    ran = fencepost("agree", "id-blocks/kraft", "--implementation", BROKEN, "--examples", 200, "--html", failing)
    assert ran.code == 1 and "next_id_not_advanced" in failing.read_text(encoding="utf-8")
    ran = fencepost("agree", "id-blocks/kraft", "--examples", 2, "--html", fine)
    assert ran.code == 0 and "is not written" in ran.err and not fine.exists()
