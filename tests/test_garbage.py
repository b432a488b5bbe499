"""Garbage is collected after a test that has left the process much larger, and after no other."""

import gc
import mmap
import weakref
from collections.abc import Iterator

import pytest
from garbage import GROWN, SELDOM, STATM, Collecting, resident


class Cycle:
    """Only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def left_alone() -> Iterator[None]:
    """No collection happens by itself."""
    gc.disable()
    yield
    gc.enable()


def test_a_test_that_leaves_much_is_cleared_up(left_alone: None) -> None:
    """What is there then is what the next ones are compared with."""
    sizes = iter([GROWN, GROWN + 1, 7, GROWN + 7, GROWN + 8, 0])
    collecting = Collecting(lambda: next(sizes))
    garbage = weakref.ref(Cycle())
    collecting.pytest_runtest_logfinish()
    assert garbage() is not None, "it has grown by no more than is allowed"
    collecting.pytest_runtest_logfinish()
    assert garbage() is None and collecting.before == 7
    later = weakref.ref(Cycle())
    collecting.pytest_runtest_logfinish()
    assert later() is not None
    collecting.pytest_runtest_logfinish()
    assert later() is None


def test_it_is_done_in_this_very_run(pytestconfig: pytest.Config) -> None:
    assert any(isinstance(plugin, Collecting) for plugin in pytestconfig.pluginmanager.get_plugins())
    assert gc.get_threshold() == SELDOM


@pytest.mark.skipif(not STATM.exists(), reason="not Linux")
def test_the_size_is_read() -> None:
    """Of memory that is mapped anew: the process may have as much of its own that is free."""
    before = resident()
    with mmap.mmap(-1, 100 << 20) as held:
        held[:] = b"x" * len(held)
        assert resident() - before > 90 << 20
