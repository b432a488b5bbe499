"""Each comparison of a table of observations has teeth: histories that fit, bent in many places, fail it first; and
what is taken out of a table, also of when an event is a step, is missed."""

from pathlib import Path

import pytest
from bending import FEW, MANY, SIMULATED, found_in, judge_of, kept, said_by

QUICK = ("id-blocks/kraft", "group-fencing/shipped", "source-commits/proposed")
"""The others are of the night; bent transactions of every run are in test_conformance_transactions."""
KEPT = kept()


def test_every_variant_is_kept() -> None:
    """Whose histories are verified."""
    assert KEPT.keys() == SIMULATED.keys()


@pytest.mark.parametrize("name", SIMULATED)
def test_no_comparison_is_gone(name: str) -> None:
    """Nor is there one of which it is not known whether a bent history fails it."""
    assert said_by(judge_of(name)) == KEPT[name].keys()


@pytest.mark.parametrize("name", QUICK)
def test_bent_histories_fail_what_they_often_do(name: str, tmp_path: Path) -> None:
    """Each comparison of which that is so is the first that fails, of some."""
    _, found = found_in(name, tmp_path / "h", FEW)
    assert {one for one, how in KEPT[name].items() if how == "often"} <= found.keys()


@pytest.mark.nightly(nights=2)
@pytest.mark.parametrize("name", SIMULATED)
def test_bent_histories_fail_every_comparison(name: str, tmp_path: Path) -> None:
    """Also what they seldom do, in many."""
    _, found = found_in(name, tmp_path / "h", MANY)
    assert {one for one, how in KEPT[name].items() if how in ("often", "seldom")} <= found.keys()
