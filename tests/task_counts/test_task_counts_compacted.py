"""A worker's view of a compacted config topic is computed twice, by the model and by the reference, on random runs with
compaction, restarts and uncommitted sets, and once with a late start.

In M the count of a later set passes for that of an earlier one if the set between them is gone from the topic. The
second check reads to the end (618.19), so that this has no effect. The model of M has no compaction.
"""

from typing import Any

import pytest
from fencepost.proofs.testing import agree
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.catalogue import protocols
from fencepost.properties.driving import make
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.roles import Named
from fencepost.properties.task_counts.events import TASK_COUNTS
from fencepost.properties.task_counts.interface import Call
from fencepost.properties.task_counts.translator import COMPACTED
from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.config_records import ClusterConfigState
from fencepost.reference_impl.systems.task_counts_cluster import reference
from txn_walks import walks

SHIPPED = protocols()["config-topic"].variant("complete-sets-counted")
TASKS = 2
BOUNDS = dict(workers=2, tasks=TASKS, sets=4, log=11, removals=4, restarts=2, crashes=2)


def record(number: int, place: int) -> Any:
    """Return a record of the model as the implementation has it, with its place in the config."""
    if number <= TASKS:
        return config_records.task_record("c", number - 1, {"place": str(place)})
    if number <= 2 * TASKS:
        return config_records.commit_record("c", number - TASKS)
    return config_records.count_record("shipped", "c", number - 2 * TASKS - 1)


def fresh() -> ClusterConfigState:
    """Return the view of a worker that has read the connector only."""
    view = ClusterConfigState()
    view.apply(config_records.connector_record("c", {"tasks.max": str(TASKS)}), 0)
    return view


def differences(state: dict[str, Any], w: int, view: ClusterConfigState) -> list[str]:
    """Return the differences between the two views of one worker."""
    size, number = state["size"].get((w,), 0), state["number"].get((w,), 0)
    incomplete = (w,) in state["incomplete"]
    reported = {
        "pending": ((w,) in state["pending"], view.needs_fencing("c")),
        "count": (state["count"].get((w,), 0), view.count("c") or 0),
        "number": (number, view.generation("c") + 1),
        "tasks": (0 if incomplete else size, view.tasks("c")),
    }
    for i in range(0 if incomplete else size):
        there = view.task_properties("c", i)
        reported[f"task {i}"] = (state["applied"].get((w, i), 0), 0 if there is None else int(there["place"]))
    return [f"{name}: {one} and {other}" for name, (one, other) in reported.items() if one != other]


@pytest.mark.parametrize("seed", range(2))
def test_views_agree(seed: int) -> None:
    read, incomplete, several = 0, 0, 0
    for run in walks(SHIPPED, BOUNDS, seed=seed, runs=40, steps=70):
        views = {w: fresh() for w in range(2)}
        for before, event, after in run:
            w = event.parameters.get("w")
            if event.action == "restart" and w is not None:
                views[w] = fresh()
            if event.action == "read" and w is not None:
                place = before["cursor"][(w,)]
                views[w].apply(record(before["record"][(place,)], place), place)
                read += 1
                incomplete += (w,) in after["incomplete"]
                several += after["number"].get((w,), 0) > 1
            for worker, view in views.items():
                assert differences(after, worker, view) == []
    assert read > 300
    assert incomplete > 5
    assert several > 50


CONFIG = {"workers": 2, "connectors": 1, "max_tasks": 2, "protocol": "cooperative", "mode": "M"}
NOT_COUNTED = Call("run", spared="start_round")
SLOW = 1
BEHIND = [
    Call("run"), Call("configure", 0, 0, 2), NOT_COUNTED, Call("step", Named(("start_round", 0, 0, -1)), "failed"),
    Call("stall", SLOW), Call("expire", SLOW), Call("configure", 0, 0, 1), Call("run"),
    Call("configure", 0, 0, 1), NOT_COUNTED, Call("compact"), Call("resume", SLOW), NOT_COUNTED,
]  # fmt: skip
"""The first set's round fails, the second set is counted, and the third is the newest when the topic is compacted."""


def test_its_start_gets_on_and_no_task_runs():
    system = reference({"seed": 0, "support": "enabled", "heartbeat_ms": 3000, **CONFIG})
    made = [make(system, call) for call in BEHIND]
    events = [event for one in made for event in one.events]
    mine = [e.kind for e in made[-1].events if e.node == SLOW and e.kind.startswith(("task_", "producer_"))]
    assert mine == ["task_checked", "producer_opened", "task_stopped"]
    rows = [(e.step, e.time_us, TASK_COUNTS.codes[e.kind], *e[3:]) for e in events]
    found = conformance_kernel("M", {"mode": "M"}, "task-counts")(columns_of(TASK_COUNTS, [(0, rows)]))
    assert (found.violations, found.undecided) == ([], {COMPACTED: 1})


def test_it_is_followed_no_further():
    followed = {"protocol": "task-counts", "variant": "M", "config": CONFIG}
    report = agree(reference, prefixes=[BEHIND], max_examples=1, steps=1, **followed)
    assert report.failure is None, f"{report.failure}\n{report.program}"
    assert report.coverage.beyond == {COMPACTED: 1}
