"""Which tests hold which rules, read from their markers and not from what they say."""

from pathlib import Path

import pytest
from fencepost.proofs.necessity import rule_removal


def written(folder: Path, text: str) -> Path:
    """A folder of tests with one file."""
    (folder / "reference_impl").mkdir()
    (folder / "reference_impl" / "test_it.py").write_text(text)
    return folder


def test_marked_tests_are_found_without_importing_them(tmp_path: Path) -> None:
    """Several rules in a marker, several markers, other markers beside them; a number in a docstring is nothing."""
    folder = written(tmp_path, """
raise RuntimeError("this is not to be imported")

@pytest.mark.rule("730.4", "730.5")
@pytest.mark.parametrize("n", [1, 2])
def test_both(n): ...

@pytest.mark.rule("730.4")
def test_first():
    '''730.9: and this is what it is about.'''

class TestMore:
    @pytest.mark.rule("730.6")
    def test_third(self): ...

@pytest.mark.rule("730.6")
def helper(): ...
""")  # fmt: skip
    assert rule_removal.tests_of("730.4", folder) == [
        "reference_impl/test_it.py::test_both",
        "reference_impl/test_it.py::test_first",
    ]
    assert rule_removal.tests_of("730.5", folder) == ["reference_impl/test_it.py::test_both"]
    assert rule_removal.tests_of("730.6", folder) == ["reference_impl/test_it.py::test_third"]
    assert rule_removal.tests_of("730.9", folder) == []


@pytest.mark.parametrize("arguments", ["NUMBER", "*NUMBERS", "'730.4', why='so'", "7.4"])
def test_a_marker_that_cannot_be_read_is_refused(tmp_path: Path, arguments: str) -> None:
    """With file, line and what to write: what is computed cannot be read without running it."""
    folder = written(tmp_path, f"\n@pytest.mark.rule({arguments})\ndef test_it(): ...\n")
    with pytest.raises(
        ValueError, match=r"test_it\.py:2: pytest\.mark\.rule\(.*: give the numbers of rules, written out"
    ):
        rule_removal.marked(folder)


def test_without_tests_there_are_none(tmp_path: Path) -> None:
    """As in an installed package, which carries no tests."""
    assert rule_removal.tests_of("730.4", tmp_path / "tests") == []
