"""Simulated histories of source tasks: right in every configuration, with every fault, and fast."""

from collections import Counter
from time import process_time

import pytest
from fencepost.properties.source_offsets.events import RIGHT, Kind
from fencepost.reference_impl.connect.offsets.config import COLUMNS, CONFIGS, KIND_NAMES
from fencepost.reference_impl.systems.source_offsets import simulate, simulate_with_stats
from source_runs import PROMISES, USUAL, judged

CONFIGURATIONS = [
    {},
    {"mode": "migration-sentinel"},
    {"boundary": "interval", "filtered": 3},
    {"boundary": "connector", "batch": 1},
    {"separate": False, "filtered": 2, "batch": 1},
    {"transactions": "v2"},
    {"failed": 0.03, "lost": 0.03, "kill": 0.02},
]
NEVER_IN_CALM = {"tombstones_beside_first", "fills_what_is_empty", "aborted_as_asked"}
EVENTS_A_SECOND = 12_000
"""On a machine that others use as well: alone it is 60,000."""


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=str)
def test_what_is_right_keeps_every_promise(config):
    """With faults throughout, and at the end the whole source is in the output."""
    wrong, looked_at, _ = judged(60, **config)
    assert wrong == {}
    without = NEVER_IN_CALM | ({"commit_is_called"} if config.get("boundary") else set())
    if "mode" in config or not config.get("separate", True):
        without |= {"copied_when_committed"}
    assert {name for name, count in looked_at.items() if not count} <= without


@pytest.mark.parametrize("mode", sorted(CONFIGS.keys() - set(RIGHT)))
def test_a_mistake_breaks_a_promise(mode):
    """Each variant that is a mistake shows why it is one."""
    assert any(judged(25, first, mode=mode)[0].keys() & PROMISES for first in range(0, 300, 25))


def test_every_fault_strikes():
    """In a few histories of all kinds, everything that can be drawn is."""
    counts = Counter()
    for seed in range(30):
        for config in ({}, {"mode": "migration-sentinel"}, {"boundary": "connector"}, {"mode": "stale-topic"}):
            counts.update(simulate_with_stats(seed, {**USUAL, **config})[1])
    assert counts.keys() == {
        "kill", "stall", "restart", "stop", "configure", "ask", "fail_over", "new_leader", "owner", "switch", "failed",
        "lost",
    }  # fmt: skip


def test_every_kind_is_written():
    """And fills no column but its own."""
    kinds = Counter()
    used = {int(kind): kind.columns for kind in Kind}
    for seed in range(40):
        for config in ({}, {"mode": "migration-sentinel", "owner": 0.05}, {"boundary": "connector", "filtered": 3}):
            for row in simulate(seed, {**USUAL, **config}):
                kinds[row[2]] += 1
                filled = {
                    name for name, value in zip(COLUMNS[3:], row[3:], strict=True) if value != (name == "error") - 1
                }
                assert filled <= set(used[row[2]]), KIND_NAMES[row[2]]
    assert {KIND_NAMES[code] for code in KIND_NAMES.keys() - kinds} == {"topic_deleted"}


def test_histories_are_made_fast():
    """A history of hundreds of events takes milliseconds."""
    begun = process_time()
    events = sum(len(simulate(seed, USUAL)) for seed in range(20))
    assert events / (process_time() - begun) > EVENTS_A_SECOND
