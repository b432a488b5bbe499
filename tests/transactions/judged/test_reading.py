"""Readers' results are computed a second time in plain Python: a broker's last stable offset, a consumer that skips
what the fetch's list of aborted transactions names, and, with cleaning, a broker that reads the log again."""

from typing import Any

import pytest
from fencepost.model.transactions.parts.reading import Kind, Phase
from fencepost.properties.catalogue import protocols
from txn_walks import walks

VARIANTS = {name: protocols()["read-committed"].variant(name) for name in ("read-committed", "cleaned")}
BOUNDS = {"producers": 2, "transactions": 3, "readers": 2, "log": 7, "fail_overs": 2}
CLEANING = BOUNDS | {"fail_overs": 1, "cleanings": 9, "deletions": 1, "restarts": 2}
OPEN, ENDED = Phase.OPEN.term.data, (Phase.COMMITTED.term.data, Phase.ABORTED.term.data)
PLAIN, DATA = Kind.PLAIN.term.data, Kind.DATA.term.data
ABORT, MARKERS = Kind.ABORT.term.data, (Kind.COMMIT.term.data, Kind.ABORT.term.data)


def left(state: dict[str, Any], offset: int) -> int | None:
    """Return the kind of the record at an offset, or None if it was removed."""
    return None if (offset,) in state.get("gone", ()) else state["kind"].get((offset,))


def consumed(state: dict[str, Any], start: int, end: int, listed: set[tuple[int, int]]) -> set[int]:
    """Return the offsets from start to end that a consumer returns, given the list of first offsets and producers."""
    waiting, aborting, found = sorted(listed), set(), set()
    for offset in range(start, end):
        while waiting and waiting[0][0] <= offset:
            aborting.add(waiting.pop(0)[1])
        kind, producer = left(state, offset), state["writer"].get((offset,), 0)
        if kind == ABORT:
            aborting.discard(producer)
        elif kind == PLAIN or (kind == DATA and producer not in aborting):
            found.add(offset)
    return found


def rebuilt(state: dict[str, Any]) -> set[int]:
    """Return the producers with an open transaction, for a broker that reads the replicated part of the log."""
    found: set[int] = set()
    for offset in range(state["high"]):
        kind, producer = left(state, offset), state["writer"].get((offset,), 0)
        if kind == DATA:
            found.add(producer)
        elif kind in MARKERS:
            found.discard(producer)
    return found


def last_stable_offset(state: dict[str, Any]) -> int:
    """Return the least of the high watermark and the first offsets of open or unreplicated transactions."""
    high, first, last = state["high"], state["first"], state["last"]
    phases = state["phase"].items()
    ongoing = [first.get(t, 0) for t, phase in phases if phase == OPEN]
    unreplicated = [first.get(t, 0) for t, phase in phases if phase in ENDED and last[t] >= high]
    return int(min([high, *ongoing, *unreplicated]))


@pytest.mark.parametrize("seed", range(2))
def test_fetches_end_at_the_last_stable_offset(seed: int) -> None:
    """A read_uncommitted reader fetches up to the high watermark."""
    furthest = {False: 0, True: 0}
    for run in walks(VARIANTS["read-committed"], BOUNDS, seed=seed, runs=100, steps=40):
        for before, event, _ in run:
            if event.action == "fetch":
                sees_all = before["sees_all"].get((event.parameters["r"],), False)
                limit = before["high"] if sees_all else last_stable_offset(before)
                assert event.parameters["n"] <= limit
                furthest[sees_all] += event.parameters["n"] == limit
    assert min(furthest.values()) > 20


@pytest.mark.parametrize(
    ("variant", "bounds", "runs", "seed"),
    [("read-committed", BOUNDS, 100, 0), ("read-committed", BOUNDS, 100, 1), ("cleaned", CLEANING, 150, 0),
     ("cleaned", CLEANING, 150, 1)],
)  # fmt: skip
def test_readers_are_given_what_a_consumer_returns(variant: str, bounds: dict[str, int], runs: int, seed: int) -> None:
    """Each record is decided when it is fetched, whatever is removed afterwards."""
    given, skipped, removed_since = 0, 0, 0
    for run in walks(VARIANTS[variant], bounds, seed=seed, runs=runs, steps=60):
        expected: dict[int, set[int]] = {}
        for before, event, after in run:
            reader = event.parameters.get("r")
            if event.action == "fetch" and reader is not None:
                listed = {
                    (after["first"].get((t,), 0), after["owner"].get((t,), 0))
                    for r, t in after["listed"]
                    if r == reader
                }
                expected[reader] = consumed(after, before["upto"].get((reader,), 0), event.parameters["n"], listed)
            if event.action == "take" and reader is not None:
                offset = before["position"].get((reader,), 0)
                assert ((reader, offset) in after["returned"]) == (offset in expected[reader])
                given += offset in expected[reader]
                skipped += left(before, offset) == DATA and offset not in expected[reader]
                removed_since += left(before, offset) is None and offset in expected[reader]
    assert given > 100 and skipped > 5
    assert variant == "read-committed" or removed_since > 3


def test_a_broker_that_reads_again_knows_what_is_open() -> None:
    """Reading again finds the same producers until records of open transactions are deleted."""
    compared, with_some = 0, 0
    for run in walks(VARIANTS["cleaned"], CLEANING, seed=5, runs=300, steps=60):
        for _, event, after in run:
            if event.action == "delete_records":
                break
            if after["replayed"] == after["high"]:
                known = {after["owner"].get(t, 0) for t in after["open_again"]}
                assert known == rebuilt(after)
                compared, with_some = compared + 1, with_some + bool(known)
    assert compared > 300
    assert with_some > 30
