"""While histories are simulated the collector of cycles runs seldom; it does run, and goes on as before."""

import gc
import weakref
from pathlib import Path

import pytest
from fencepost.proofs.scale.gc_pause import YOUNG, seldom_collected
from fencepost.proofs.scale.generate import generate


class Knot:
    """An object that only the collector can let go."""

    def __init__(self) -> None:
        self.itself = self


def test_cycles_are_let_go() -> None:
    """Of many times as many objects in cycles as it waits for, few are there at any time."""
    alive, most = weakref.WeakSet[Knot](), 0
    with seldom_collected():
        for _ in range(5 * YOUNG):
            alive.add(Knot())
            most = max(most, len(alive))
    assert YOUNG / 10 < most < 2 * YOUNG


def test_it_goes_on_as_before() -> None:
    """Also after an error; and what was there is looked at again."""
    before, kept = gc.get_threshold(), gc.get_freeze_count()
    with pytest.raises(ZeroDivisionError), seldom_collected():
        assert gc.get_threshold()[0] == YOUNG
        assert gc.get_freeze_count() > kept
        1 / 0  # noqa: B018 (the error of a simulator)
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_histories_are_simulated_so(tmp_path: Path) -> None:
    """All of them, and afterwards it is as before here."""
    before = gc.get_threshold()
    made = generate(tmp_path / "h", "history_makers:watching_the_collector", histories=3, seed=1, cores=1)
    assert made.faults == {"seldom collected": 3}
    assert gc.get_threshold() == before
