"""What a worker makes of the config topic's records, told a second time: by the view of the reference implementation,
on random runs with compaction, restarts and sets that are never committed."""

from typing import Any

import pytest
from fencepost.properties.catalogue import protocols
from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.config_records import ClusterConfigState
from txn_walks import walks

SHIPPED = protocols()["config-topic"].variant("complete-sets-counted")
TASKS = 2
BOUNDS = dict(workers=2, tasks=TASKS, sets=4, log=11, removals=4, restarts=2, crashes=2)


def record(number: int, place: int) -> Any:
    """A record of the model as the implementation has it; a configuration remembers its place."""
    if number <= TASKS:
        return config_records.task_record("c", number - 1, {"place": str(place)})
    if number <= 2 * TASKS:
        return config_records.commit_record("c", number - TASKS)
    return config_records.count_record("shipped", "c", number - 2 * TASKS - 1)


def fresh() -> ClusterConfigState:
    """A worker that knows the connector, and has read nothing else."""
    view = ClusterConfigState()
    view.apply(config_records.connector_record("c", {"tasks.max": str(TASKS)}), 0)
    return view


def differences(state: dict[str, Any], w: int, view: ClusterConfigState) -> list[str]:
    """In what the two do not agree about one worker."""
    size, number = state["size"].get((w,), 0), state["number"].get((w,), 0)
    incomplete = (w,) in state["incomplete"]
    told = {
        "pending": ((w,) in state["pending"], view.needs_fencing("c")),
        "count": (state["count"].get((w,), 0), view.count("c") or 0),
        "number": (number, view.generation("c") + 1),
        "tasks": (0 if incomplete else size, view.tasks("c")),
    }
    for i in range(0 if incomplete else size):
        there = view.task_properties("c", i)
        told[f"task {i}"] = (state["applied"].get((w, i), 0), 0 if there is None else int(there["place"]))
    return [f"{name}: {one} and {other}" for name, (one, other) in told.items() if one != other]


@pytest.mark.parametrize("seed", range(2))
def test_views_agree(seed: int) -> None:
    """Sets, counts, numbers, and what is incomplete: record by record the same."""
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
