"""What goes wrong with task counts where a rule is broken or the guarantee ends, in the implementation: with the
mistake a property of histories fails, and mended none does.  In the model: tests/proofs/test_bugs_in_models.py."""

from importlib import import_module
from typing import Any

import pytest
from fencepost.properties.catalogue import Scenario, protocols
from fencepost.properties.history import Manifest
from fencepost.properties.history.checking import Finding
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.task_counts.events import TASK_COUNTS as EVENTS

ENTRIES = [
    protocols()[name]
    for name in ("task-count-deletion", "task-count-connectors", "exactly-once-upgrade", "config-topic")
]
SCENARIOS = {known.name: (entry, known) for entry in ENTRIES for known in entry.scenarios}
FOUND = {"B34": "no_zombie_commits", "618.33": "no_zombie_commits", "618.34": "no_zombie_commits"}
FOUND |= {"618.49": "newest_set_polls"}
FOUND |= {"follower-writes-a-set": "no_zombie_commits", "compaction-order": "no_zombie_commits"}
"""The property of histories that the implementation breaks in the same way."""


def test_the_known_ones() -> None:
    """Each with a script has the property that it breaks."""
    assert {name for name, (_, known) in SCENARIOS.items() if known.script is not None} == set(FOUND)


def findings(scenario: Scenario, broken: bool) -> dict[str, Finding]:
    """What the history properties that its mode promises find in the script's events."""
    module, _, function = (scenario.script or "").partition(":")
    known = import_module(module)
    events: list[Any] = getattr(known, function)(scenario.name, broken)
    columns = columns_of(EVENTS, [(0, [(e.step, e.time_us, EVENTS.codes[e.kind], *e[3:]) for e in events])])
    held = properties_of("task-counts")
    config = {"mode": known.SCENARIOS[scenario.name].fixed["mode"]}
    unpromised = held.unpromised(Manifest("task-counts", tuple(EVENTS.codes), (), config=config))
    return held.check(columns, [name for name in held.names if name not in unpromised], config)[0]


@pytest.mark.parametrize("name", FOUND)
def test_in_the_implementation(name: str) -> None:
    """The same happens there with the mistake, and nothing is wrong without it."""
    _, scenario = SCENARIOS[name]
    assert findings(scenario, broken=True)[FOUND[name]].violations > 0
    assert [n for n, f in findings(scenario, broken=False).items() if f.violations] == []
