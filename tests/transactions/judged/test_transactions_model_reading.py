"""How far readers may go, told a second time: the last stable offset as a broker computes it."""

from typing import Any

import pytest
from fencepost.model.transactions.parts.reading import Kind, Phase
from fencepost.properties.catalogue import protocols
from txn_walks import walks

VARIANT = protocols()["read-committed"].variant("read-committed")
BOUNDS = {"producers": 2, "transactions": 3, "readers": 2, "log": 7, "fail_overs": 2}
OPEN, ENDED = Phase.OPEN.term.data, (Phase.COMMITTED.term.data, Phase.ABORTED.term.data)
DATA, ABORT = Kind.DATA.term.data, Kind.ABORT.term.data


def last_stable_offset(state: dict[str, Any]) -> int:
    """The least of the high watermark, the first offsets of what is open, and of what ended unreplicated."""
    high, first, last = state["high"], state["first"], state["last"]
    phases = state["phase"].items()
    ongoing = [first.get(t, 0) for t, phase in phases if phase == OPEN]
    unreplicated = [first.get(t, 0) for t, phase in phases if phase in ENDED and last[t] >= high]
    return int(min([high, *ongoing, *unreplicated]))


def left_out(state: dict[str, Any], start: int, end: int, listed: set[tuple[int, int]]) -> set[int]:
    """What a consumer leaves out of the records from start to end: it takes entries (first offset, producer) off the
    list as it reaches them, and leaves out a producer until its abort marker."""
    waiting, aborting, found = sorted(listed), set(), set()
    for offset in range(start, end):
        while waiting and waiting[0][0] <= offset:
            aborting.add(waiting.pop(0)[1])
        kind, producer = state["kind"][(offset,)], state["writer"].get((offset,), 0)
        if kind == ABORT:
            aborting.discard(producer)
        elif kind == DATA and producer in aborting:
            found.add(offset)
    return found


@pytest.mark.parametrize("seed", range(2))
def test_fetches_end_at_the_last_stable_offset(seed: int) -> None:
    """read_committed readers fetch up to it and no further, read_uncommitted ones to the high watermark."""
    furthest = {False: 0, True: 0}
    for run in walks(VARIANT, BOUNDS, seed=seed, runs=100, steps=40):
        for before, event, _ in run:
            if event.action == "fetch":
                sees_all = before["sees_all"].get((event.parameters["r"],), False)
                limit = before["high"] if sees_all else last_stable_offset(before)
                assert event.parameters["n"] <= limit
                furthest[sees_all] += event.parameters["n"] == limit
    assert min(furthest.values()) > 20


@pytest.mark.parametrize("seed", range(2))
def test_readers_leave_out_what_a_consumer_would(seed: int) -> None:
    """Record by record, with the list that came with the piece."""
    looked_at, skipped = 0, 0
    for run in walks(VARIANT, BOUNDS, seed=seed, runs=100, steps=40):
        expected: dict[int, set[int]] = {}
        for before, event, after in run:
            reader = event.parameters.get("r")
            if event.action == "fetch" and reader is not None:
                listed = {
                    (after["first"].get((t,), 0), after["owner"].get((t,), 0))
                    for r, t in after["listed"]
                    if r == reader
                }
                expected[reader] = left_out(after, before["upto"].get((reader,), 0), event.parameters["n"], listed)
            if event.action == "take" and reader is not None:
                offset = before["position"].get((reader,), 0)
                data = before["kind"][(offset,)] in (DATA, Kind.PLAIN.term.data)
                given = (reader, offset) in after["returned"]
                assert given == (data and offset not in expected[reader])
                looked_at, skipped = looked_at + 1, skipped + (data and not given)
    assert looked_at > 200
    assert skipped > 5
