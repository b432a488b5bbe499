"""The page on PR 21735 is that of the stored verdicts and of the present models, and its runs are shortest ones."""

import shlex
from pathlib import Path

import pull_request_page
import pytest
from command_line import fencepost
from fencepost.proofs.necessity.tables import FOLDER
from fencepost.properties.two_phase.variants import TWO_PHASE
from pull_request_page import FAILS, QUESTIONS, command_for, on, page, verdicts


def test_the_page_is_that_of_what_is_stored() -> None:
    """Its first command computes what changed, and its second one writes the page. It is to be read at one sitting."""
    made = page()
    assert (FOLDER / "pr-21735.md").read_text(encoding="utf-8") == made
    assert made.count("\n") <= 140


def test_verdicts_of_other_models_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a file are in which one is missing."""
    lines = (FOLDER / "two-phase.json").read_text(encoding="utf-8").splitlines()
    file = tmp_path / "two-phase.json"
    file.write_text("\n".join([lines[0], *lines[2:]]), encoding="utf-8")
    monkeypatch.setattr(pull_request_page, "FILE", file)
    with pytest.raises(SystemExit, match=r"not every verdict is of the present models; run `fencepost necessity"):
        page()


def test_who_is_answered_need_not_ask_for_two_phase_commit() -> None:
    """As the page says of the KIP: it is a step of the variant that is proved, and the promises are asked of it."""
    retained = TWO_PHASE.variant("retained")
    assert retained.main and "restart_without" in retained.spec.actions
    claim = next(each for each in TWO_PHASE.claims if each.rule == "939.30")
    assert claim.variant == "retained" and "`restart_without`" in pull_request_page.ALLOWED
    rows = (FOLDER / "two-phase.md").read_text(encoding="utf-8").splitlines()
    assert "| **proved** in retained: " in next(row for row in rows if row.startswith("| 939.30 |"))
    updates = {update.variable: update.value for update in retained.spec.actions["retain"].updates}
    assert updates["two_phase"].op == "or"  # it stays without time-out


@pytest.mark.nightly
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.alternative)
def test_the_run_of_an_alternative_is_a_shortest_one(question: pull_request_page.Question) -> None:
    """The command that the page names for it finds none in fewer steps; where the page has no run it has no command."""
    found = on(question, verdicts())
    if found.verdict not in FAILS:
        assert question.alternative not in "".join(line for line in page().splitlines() if line.startswith("fencepost"))
        return
    program, *arguments = shlex.split(command_for(found))
    ran = fencepost(*arguments)
    assert (program, ran.code, ran.err) == ("fencepost", 0, "")
    assert f"It is broken after {found.steps} steps, and not in fewer" in ran.out
