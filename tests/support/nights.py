"""What is tried tonight: long tests of many cases go round, a part of them each night, so that a night has an end.

``@pytest.mark.nightly`` is of every night; ``@pytest.mark.nightly(nights=4)`` of one night in four, and where the test
has many cases, a quarter of them each night and all within four.  The night is the seed of what is drawn at random too.
Where none is named, as in ``pytest -m nightly`` by hand, all are of it.

So are the tests in ``data/long.txt``, a twelfth of them each night: by their ids, or by a function's for all its cases.
Of a function that is not named whole the quickest case is not among them, so that every run tries it.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from zlib import crc32

import pytest

SEED = "FENCEPOST_SEED"
"""The environment variable with the number of the night; `.ci/run` counts days."""


LONG = Path(__file__).parent / "data" / "long.txt"
NIGHTS_OF_LONG = 12
SECONDS = 900
"""Of a test of the night, where it names no other limit: three times that of a test of every run, which some come near
to on a machine that does something else too."""


def long_tests() -> list[str]:
    """The ids in the file."""
    lines = LONG.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def mark_long(items: Sequence[pytest.Item]) -> None:
    """What the file names is of one night in twelve."""
    long = set(long_tests())
    for item in items:
        if (item.nodeid in long or item.nodeid.partition("[")[0] in long) and not item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.nightly(nights=NIGHTS_OF_LONG))


def give_time(items: Sequence[pytest.Item]) -> None:
    """Tests of the night have longer than those of every run."""
    for item in items:
        if item.get_closest_marker("nightly") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SECONDS))


def night() -> int | None:
    """The night's number, None where there is none.  Raises `pytest.UsageError` where it is no number."""
    given = os.environ.get(SEED)
    if given is None:
        return None
    if not given.isdecimal():
        raise pytest.UsageError(f"{SEED} is {given!r}: a number is needed")
    return int(given)


def of_other_nights(items: Iterable[pytest.Item], tonight: int | None) -> list[pytest.Item]:
    """Those that this night leaves to the next ones."""
    if tonight is None:
        return []
    cases: Counter[str] = Counter()
    others = []
    for item in items:
        marker = item.get_closest_marker("nightly")
        if marker is None:
            continue
        test = item.nodeid.partition("[")[0]
        # Tests of one case would otherwise all be of the same night.
        first = crc32(test.encode()) + cases[test]
        if (tonight - first) % marker.kwargs.get("nights", 1):
            others.append(item)
        cases[test] += 1
    return others
