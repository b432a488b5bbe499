"""What a coordinator knows of its transactional ids, told a second time: the last record of each in the log."""

from typing import Any

import pytest
from fencepost.model.transactions.parts.recovery import Phase
from fencepost.properties.catalogue import protocols
from txn_walks import walks

VARIANT = protocols()["transaction-log"].variant("transaction-log")
BOUNDS = {"ids": 3, "epochs": 3, "log": 16, "fail_overs": 3, "failures": 3}
DEAD = Phase.DEAD.term.data


def by_the_log(state: dict[str, Any]) -> dict[int, tuple[int, int]]:
    """Phase and epoch of each id, by what compaction has left: the last record counts, and a tombstone takes away."""
    known: dict[int, tuple[int, int]] = {}
    for place in range(state["end"]):
        if (place,) in state["kept"]:
            id, phase = state["id"].get((place,), 0), state["says"][(place,)]
            known[id] = (phase, state["number"].get((place,), 0))
            if phase == DEAD:
                del known[id]
    return known


@pytest.mark.parametrize("seed", range(4))
def test_memory_is_what_the_log_says(seed: int) -> None:
    """Of every id with nothing pending and no open outcome, live and after a fail-over."""
    compared = {"live": 0, "read": 0}
    for run in walks(VARIANT, BOUNDS, seed=seed, runs=40, steps=90):
        for _, event, after in run:
            if after["cursor"] != after["end"]:
                continue
            known = by_the_log(after)
            for id in range(BOUNDS["ids"]):
                if (id,) not in after["pending"] and (id,) not in after["doubtful"]:
                    memory = (after["phase"].get((id,), 0), after["epoch"].get((id,), 0))
                    assert memory == known.get(id, (0, 0))
                    compared["read" if event.action == "read" else "live"] += 1
    assert compared["live"] > 1000
    assert compared["read"] > 20
