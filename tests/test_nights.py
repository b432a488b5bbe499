"""Long tests go round: within as many nights as they say each case is tried, and in each night a part of them."""

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import nights
import pytest

MANY = {f"test_many[{n}]": 4 for n in range(10)}
ITEMS = {"test_each_night": 1, "test_once_a_week": 7, **MANY}


def item(name: str, of: int) -> Any:
    marker = pytest.mark.nightly(nights=of).mark
    return SimpleNamespace(nodeid=name, get_closest_marker=lambda _: marker)


def tonight(night: int | None) -> set[str]:
    items = [item(*pair) for pair in ITEMS.items()]
    return set(ITEMS) - {other.nodeid for other in nights.of_other_nights(items, night)}


def test_every_case_has_its_night() -> None:
    """Each case of a test once in as many nights, whichever is the first of them."""
    for first in (0, 20_780):
        assert set().union(*(tonight(first + n) for n in range(4))) >= {"test_each_night", *MANY}
        assert sum("test_once_a_week" in tonight(first + n) for n in range(7)) == 1
        assert all(len(tonight(first + n) & set(MANY)) in (2, 3) for n in range(4))
        assert all("test_each_night" in tonight(first + n) for n in range(4))


def test_without_a_night_all_are_tried() -> None:
    """As by hand; and what is in every run is left out in no night."""
    assert tonight(None) == set(ITEMS)
    always = SimpleNamespace(nodeid="test_always", get_closest_marker=lambda _: None)
    assert nights.of_other_nights([always] * 3, 1) == []  # type: ignore[list-item]


def test_a_night_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(nights.SEED, "tonight")
    with pytest.raises(pytest.UsageError, match="FENCEPOST_SEED is 'tonight': a number is needed"):
        nights.night()


def test_long_tests_are_of_a_night_and_there(pytestconfig: pytest.Config) -> None:
    """Each line names tests of a file that there is, the cases of a function leave one to every run, and those that
    were collected here have their mark."""
    root = pytestconfig.rootpath
    lines = nights.long_tests()
    assert len(lines) == len(set(lines)) > 100
    for line in lines:
        file, _, name = line.partition("::")
        assert f"def {name.partition('[')[0]}(" in (root / file).read_text(encoding="utf-8"), line
    items = [item(line, 1) for line in ("tests/x.py::test_short", f"{lines[0]}")]
    marks: list[Any] = []
    for one in items:
        one.get_closest_marker, one.add_marker = lambda _: None, marks.append
    nights.mark_long(items)
    assert [mark.kwargs for mark in marks] == [{"nights": nights.NIGHTS_OF_LONG}]


def test_tests_of_a_night_have_longer() -> None:
    """Where they name no limit of their own."""
    items, marks = [item("tests/x.py::test_long", 1), item("tests/x.py::test_limited", 1)], list[Any]()
    for one, named in zip(items, ({"nightly"}, {"nightly", "timeout"}), strict=True):
        one.get_closest_marker, one.add_marker = named.__contains__, marks.append
    nights.give_time(items)
    assert [mark.args for mark in marks] == [(nights.SECONDS,)]


@pytest.mark.nightly
def test_each_long_test_is_collected(pytestconfig: pytest.Config) -> None:
    """By the very id, whichever night it is."""
    words = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-m", "nightly or not nightly", "tests")
    every = {name: value for name, value in os.environ.items() if name != nights.SEED}
    ran = subprocess.run(words, cwd=pytestconfig.rootpath, env=every, capture_output=True, text=True, check=False)
    ids = {line.partition("[")[0] for line in ran.stdout.splitlines()} | set(ran.stdout.splitlines())
    assert [line for line in nights.long_tests() if line not in ids] == []
