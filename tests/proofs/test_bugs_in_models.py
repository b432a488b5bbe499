"""Bugs and holes that are publicly known, by their numbers: with the bug a promise fails, in the fewest steps that the
golden file has; mended every promise holds within the same bounds.

In how many steps each promise of each variant fails is compared within eight weeks of nights, by `test_golden.py`.
"""

import golden
import pytest
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import first_broken
from fencepost.properties.catalogue import Scenario, bounds_of, protocols

KNOWN = {f"{entry.name}-{known.name}": (entry, known) for entry in protocols().values() for known in entry.scenarios}
FIRST = {entry.name: name for name, (entry, _) in reversed(KNOWN.items())}
TRIED = [pytest.param(n, marks=[] if n in FIRST.values() else pytest.mark.nightly(nights=12)) for n in KNOWN]
"""Of each protocol the first in every run. That each breaks a promise, and that what is mended keeps all of them within
its own bounds, is a verdict of `verify` (tests/test_readme.py)."""
FEW = {"transactional-offsets-KAFKA-20845": 10, "source-offsets-copied-too-early": 100}
"""One operation and one batch, or one copy: there is little more to do."""


def failing(protocol: str, known: Scenario) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """The bounds of each promise that fails with the bug and is kept without it, and what is counted of it."""
    fixed = protocols()[protocol].variant(known.fixed)
    rows = (line.split(" | ") for line in golden.recorded("verdicts", protocol))
    return {
        row[2]: (_pairs(row[6]), _pairs(row[7]))
        for row in rows
        if row[1] == known.broken
        and row[4] == "violated"
        and row[3] in ("explore", "progress")
        and (row[2] in fixed.promised or row[2] in fixed.leaves_out)
    }


def _pairs(text: str) -> dict[str, str]:
    return dict(each.split("=") for each in text.split())


@pytest.mark.parametrize("name", TRIED)
def test_broken(name: str) -> None:
    """The promise that fails soonest does so in as many steps; where none fails, a client waits for ever."""
    entry, known = KNOWN[name]
    variant = entry.variant(known.broken)
    every = failing(entry.name, known)
    steps = {n: int(counts["steps"]) for n, (_, counts) in every.items() if counts["role"] == "promise"}
    promise = min(steps or every, key=lambda n: steps.get(n, 0))
    bound = {name: int(value) for name, value in every[promise][0].items()}
    asked = {promise: variant.asked[promise]}
    if not steps:
        assert check_progress(explore(variant.spec, asked, bound))[promise].verdict == "violated"
        return
    found = first_broken(variant.spec, asked, bound)
    assert found is not None
    assert len(found[1]) == steps[promise]


@pytest.mark.parametrize("name", TRIED)
def test_mended(name: str) -> None:
    """Within the same bounds the protocol as it should be keeps every promise, and does something."""
    entry, known = KNOWN[name]
    broken, fixed = entry.variant(known.broken), entry.variant(known.fixed)
    bound = {n: v for n, v in bounds_of(broken, "smoke").items() if n in bounds_of(fixed, "smoke")}
    every = explore(fixed.spec, {n: p for n, p in fixed.promised.items() if p.role in ("promise", "step")}, bound)
    assert (every.violated, every.complete) == ([], True)
    assert sum(every.taken.values()) > FEW.get(name, 400)
    for promise, (_, counts) in failing(entry.name, known).items():
        if counts["role"] == "progress":
            asked = {promise: fixed.properties.properties[promise]}
            assert check_progress(explore(fixed.spec, asked, bound))[promise].verdict == "holds"
