"""The history properties find what released Kafka does against its texts, and nothing once it is corrected."""

from dataclasses import replace

import pytest
from fencepost.properties.history import Manifest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.task_counts.events import TASK_COUNTS
from fencepost.properties.task_counts.scenarios.known import KNOWN_BUGS, Script
from fencepost.reference_impl.connect.config import readable
from fencepost.reference_impl.defects import task_counts
from fencepost.reference_impl.defects.task_counts import REGISTRY
from fencepost.reference_impl.systems.task_counts import simulate
from fencepost.reference_impl.systems.task_counts_cluster import Parts, build

HELD = properties_of("task-counts")
SHIPPED = Manifest("task-counts", tuple(TASK_COUNTS.codes), (), config={"mode": "shipped"})
PROMISED = [name for name in HELD.names if name not in HELD.unpromised(SHIPPED)]
FOUND = {
    "lingering-round": {"no_zombie_commits", "running_with_count", "answers_with_count"},
    "removed-task": {"no_zombie_commits", "producers_covered", "checked_again_newest"},
}
"""These properties are violated in each scenario."""
PINNED = {
    "answers_for_any_set": (55, {
        "slow_share": 0.03, "slow_us": 1_500_000, "burst_share": 0.0, "change_us": 200_000, "failed": 0.0, "lost": 0.0,
        "round_failed": 0.0, "crash": 0.0, "expire": 0.0, "workers": 2,
    }),
    "starts_removed_tasks": (3, {}),
}  # fmt: skip
"""Each defect has the seed and the pace of a history that exposes it."""
OBSERVED = {
    "answers_for_any_set": {"running_with_count", "answers_with_count"},
    "starts_removed_tasks": {"no_zombie_commits", "producers_covered", "checked_again_newest"},
}
MENDS = {
    "no such start (618.52)": ({}, Parts(herder=task_counts.KeepsRemovedTasks)),
    "no such claim (618.53)": ({"starts_removed_tasks": True}, Parts()),
    "no such configuration": (
        {}, Parts(herder=task_counts.AsReleased, state=task_counts.DropsRemovedConfigurations)
    ),
}  # fmt: skip
"""Each entry is the released implementation with one thing corrected."""


def of(parts, **config):
    return Script(build({**Script.SMALL, **config}, parts), **config)


def violated(events):
    """Return the history properties that the mode promises and these events violate."""
    rows = [(e.step, e.time_us, TASK_COUNTS.codes[e.kind], *e[3:]) for e in events]
    found, _ = HELD.check(columns_of(TASK_COUNTS, [(0, rows)]), PROMISED)
    return {name for name, finding in found.items() if finding.violations}


@pytest.mark.parametrize("name", sorted(FOUND))
def test_what_is_released_is_found(name):
    """618.P1: This and other properties are violated in the scenario, and none once it is corrected."""
    bug = KNOWN_BUGS[name]
    for parts, found in ((REGISTRY[bug.defect].parts, FOUND[name]), (Parts(), set())):
        script = of(parts, **bug.fixed)
        bug.play(script)
        assert violated(script.seen()) == found


@pytest.mark.parametrize("name", sorted(PINNED))
def test_what_is_released_is_found_in_a_free_history(name):
    seed, pace = PINNED[name]
    for broken in (name, ""):
        rows = simulate(seed, {"mode": "shipped", "events": 500, "broken": broken, **pace})
        found = violated([readable(row) for row in rows]) - {"newest_set_polls"}  # of histories that come to rest
        assert found == (OBSERVED[name] if broken else set())


@pytest.mark.parametrize("mend", sorted(MENDS))
def test_each_mend_is_enough_for_a_removed_task(mend):
    keys, parts = MENDS[mend]
    script = of(parts, mode="shipped", workers=3, **keys)
    KNOWN_BUGS["removed-task"].play(script)
    assert violated(script.seen()) == set()
    newest = script.kinds("set_written")[-1].offset
    assert {(e.task, e.set) for e in script.kinds("task_starting")[2:]} == {(0, newest)}


@pytest.mark.parametrize("mend", sorted(MENDS))
def test_each_mend_is_enough_in_free_histories(mend, monkeypatch):
    keys, parts = MENDS[mend]
    entry = REGISTRY["starts_removed_tasks"]
    monkeypatch.setitem(REGISTRY, entry.name, replace(entry, parts=parts))
    for seed in (3, 4, 9):
        rows = simulate(seed, {"events": 300, "quiet_end": True, "broken": entry.name, **keys})
        assert violated([readable(row) for row in rows]) == set()


def test_a_removed_task_is_revoked_in_the_next_rebalance():
    script = of(REGISTRY["starts_removed_tasks"].parts, mode="shipped", workers=3)
    KNOWN_BUGS["removed-task"].play(script)
    (started,) = [e for e in script.kinds("producer_opened") if e.task == 1][1:]
    assert started.epoch > max(e.epoch for e in script.kinds("id_fenced") if e.task == 1)
    script.system.restart_worker(next(n for n in range(3) if n not in (started.node, script.leader())))
    script.settle()
    assert [e.instance for e in script.kinds("task_stopped")][-1] == started.instance
    assert (started.node, 1) in {(e.node, e.task) for e in script.kinds("task_revoked")}


@pytest.mark.parametrize("lacking", ["", "assignor", "starts_removed_tasks"])
def test_with_kafkas_assignor_a_removed_task_runs_until_the_next_rebalance(lacking):
    """618.P1: The worker comes back together with a new set that has room for it, so that nothing moves for balance."""
    keys = {"assignor": "released", "starts_removed_tasks": True}
    keys.pop(lacking, None)
    script = of(Parts(), mode="shipped", workers=3, max_tasks=3, **keys)
    script.configure(0, 3)
    script.work()
    owner = script.owner(0, 2)
    script.zombie(owner)
    script.configure(0, 1)
    script.work()
    script.resume(owner)
    script.configure(0, 2)
    script.work()
    assert violated(script.seen()) == (set() if lacking else FOUND["removed-task"])
    script.system.restart_worker(script.owner(0, 1))
    script.settle()
    assert (owner, 2) in {(e.node, e.task) for e in script.kinds("task_revoked")}
    assert {t.task for t in script.threads("poll")} == {0, 1}
