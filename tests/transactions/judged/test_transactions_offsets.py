"""What a group's coordinator has in memory, told a second time: by reading the whole log, compacted or not."""

from typing import Any

import pytest
from fencepost.model.transactions.parts.offsets import Fate
from fencepost.properties.catalogue import protocols
from txn_walks import walks

VARIANT = protocols()["transactional-offsets"].variant("transactional-offsets")
BOUNDS = {"records": 5, "producers": 2, "log": 10, "fail_overs": 2}


def replayed(state: dict[str, Any]) -> int | None:
    """The offset in force: each record and marker in turn, in two tables."""
    kept = {state["place"][x]: x[0] for x in state["kept"]}
    commits = {o: p for p, o in state["commit_marker"]}
    aborts = {o: p for p, o in state["abort_marker"]}
    current: tuple[int, int] | None = None  # place and record
    pending: dict[int, tuple[int, int]] = {}
    for place in range(1, state["end"]):
        record = kept.get(place)
        if record is not None and (record,) in state["transactional"]:
            pending[state["by"].get((record,), 0)] = (place, record)
        elif record is not None:
            current = None if (record,) in state["empty"] else (place, record)
        elif place in commits:
            held = pending.pop(commits[place], None)
            current = max(current or (0, 0), held) if held is not None else current
        elif place in aborts:
            pending.pop(aborts[place], None)
    return None if current is None else current[1]


@pytest.mark.parametrize("seed", range(4))
def test_memory_is_what_reading_the_log_gives(seed: int) -> None:
    """Whenever the coordinator has read everything, written live or read again."""
    compared, compacted = 0, 0
    for run in walks(VARIANT, BOUNDS, seed=seed, runs=60, steps=60):
        for _, _, after in run:
            if after["cursor"] == after["end"]:
                assert after["in_force"] == replayed(after)
                compared += 1
                compacted += len(after["fate"]) > len(after["kept"])
    assert compared > 500
    assert compacted > 50


def test_answers_are_committed() -> None:
    """What fetches are answered with has been committed, and there are such answers from transactions."""
    committed, transactional = Fate.COMMITTED.term.data, 0
    for run in walks(VARIANT, BOUNDS, seed=9, runs=60, steps=60):
        last = run[-1][2]
        assert {last["fate"][x] for x in last["fetched"]} <= {committed}
        transactional += len(last["fetched"].keys() & last["transactional"].keys())
    assert transactional > 10
