"""What is tried tonight: long tests of many cases go round, a part of them each night, so that a night has an end.

``@pytest.mark.nightly`` is of every night; ``@pytest.mark.nightly(nights=4)`` of one night in four, and where the test
has many cases, a quarter of them each night and all within four.  The night is the seed of what is drawn at random too.
Where none is named, as in ``pytest -m nightly`` by hand, all are of it.
"""

import os
from collections import Counter
from collections.abc import Iterable

import pytest

SEED = "FENCEPOST_SEED"
"""The environment variable with the number of the night; `.ci/run` counts days."""


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
        if (tonight - cases[test]) % marker.kwargs.get("nights", 1):
            others.append(item)
        cases[test] += 1
    return others
