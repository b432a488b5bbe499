"""When the tests' garbage is collected: seldom, as in a command, since most of what tests make lives until they end;
and after a test that leaves the process larger by much.

The collector knows how many objects there are, and not how large: a few hold the arrays of a search, or a solver.
"""

import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest

SELDOM = (50_000, 10, 10)
GROWN = 300 << 20
"""Bytes."""
STATM = Path("/proc/self/statm")


def resident() -> int:
    """Bytes that this process has in memory; 0 where that is not to be read."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if STATM.exists() else 0


class Collecting:
    """A plugin of pytest. ``size`` says how large the process is."""

    def __init__(self, size: Callable[[], int] = resident) -> None:
        self.size, self.before = size, 0

    def pytest_collection_finish(self) -> None:
        gc.set_threshold(*SELDOM)
        self.before = self.size()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        if self.size() > self.before + GROWN:
            gc.collect()
            self.before = self.size()
