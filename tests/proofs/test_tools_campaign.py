"""Mistakes are planted in fencepost's own tools, and tests notice them: the table names places that are there, two of
its mistakes are planted each time, and what the page says is what came of them."""

import json
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import tools_campaign
from tools_campaign import Mistake, PlaceError, mistakes, page, planted

ROOT = Path(__file__).parents[2]
ROWS, PAGE = (ROOT / "proofs" / "verdicts" / f"tools.{end}" for end in ("json", "md"))
SCRIPT = ("tests/script.py", "tests/campaigns/support/tools_campaign.py")


def test_every_mistake_has_a_place_and_tests() -> None:
    """The place is there exactly once, becomes another program, and no mistake is in the table twice."""
    every = mistakes()
    for mistake in every:
        planted(mistake)
    assert len({mistake.key for mistake in every}) == len(every) >= 120
    names = {name.partition("::") for mistake in every for name in mistake.tests}
    for file, _, name in names:
        assert (ROOT / file).exists(), file
        assert not name or f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8"), name


@pytest.mark.parametrize(
    ("before", "after"), [("no_such_name", "False"), ("REFUSED", "HOLDS"), ("NOT_SO if wrong else HOLDS", "wrong else")]
)
def test_a_place_that_is_not_there_once_is_an_error(before: str, after: str) -> None:
    """Also one that would be no program."""
    place = "code_of" if before != "REFUSED" else ""
    with pytest.raises(PlaceError):
        planted(Mistake("", "proofs/cli/shared/exits.py", place, before, after, "", ()))


def test_a_test_that_comes_to_no_end_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither that it notices a mistake, nor that it fails where nothing is wrong."""
    monkeypatch.setattr(tools_campaign, "tried", lambda *_: ("killed", "tests/test_x.py::test_x"))
    copy = Mock(fail_anyway=[], pass_where_right=[], run=Mock(return_value=(-1, "")))
    assert tools_campaign.in_copy(copy, Mock(), Mock()) == ("undecided", tools_campaign.LATE)
    assert copy.fail_anyway == copy.pass_where_right == []


def test_two_mistakes_are_noticed(tmp_path: Path) -> None:
    """By a test that passes without them, and the tree is as it was."""
    file, rows = ROOT / "proofs" / "readings" / "ground" / "nodes.py", tmp_path / "rows.json"
    before = file.read_bytes()
    words = ("run", str(rows), "--only", "nodes.py Table", "--first", "2", "--seconds", "300")
    ran = subprocess.run([sys.executable, *SCRIPT, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(rows.read_text(encoding="utf-8"))
    assert [row["verdict"] for row in found] == ["killed", "killed"] and file.read_bytes() == before
    assert all(row["by"].startswith("tests/") and row["how"] == "memory" for row in found)


def test_the_page_is_of_the_rows() -> None:
    """A mistake that was planted is noticed, or the table says why no run can differ."""
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page(rows, mistakes())
    argued = {mistake.key for mistake in mistakes() if mistake.argument}
    assert [row["wrong"] for row in rows if row["verdict"] == "survived" and row["key"] not in argued] == []
