"""What a worker frees it keeps, and the collector of cycles runs seldom while histories are simulated."""

import gc
import resource
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.memory import YOUNG, seldom_collected

PIECES = """
import resource, sys
import numpy as np
from fencepost.proofs.scale.memory import keep_freed_memory

def check_piece():
    several = [np.zeros(250_000) + 1 for _ in range(20)]
    return sum(len(array) for array in several)

if sys.argv[1] == "keep":
    keep_freed_memory()
check_piece(), check_piece()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    check_piece()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages_asked_for(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", PIECES, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is of GNU's C library")
def test_freed_memory_is_held() -> None:
    """Ten pieces of 40 MB: a tenth of the pages that they are given where nothing is kept, at most."""
    kept, given_back = pages_asked_for("keep"), pages_asked_for("give back")
    assert given_back * resource.getpagesize() > 40_000_000
    assert kept * 10 < given_back


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
