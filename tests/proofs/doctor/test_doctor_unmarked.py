"""Decisions of version 1 whose marker is missing: what is reported, and that clocks and gaps report nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from fencepost.proofs.doctor.diagnosis import examine
from fencepost.proofs.doctor.source import DiskSource
from fencepost.proofs.doctor.unmarked import spans
from hypothesis import given
from hypothesis import strategies as st
from transaction_logs import TRANSACTIONAL, batch, checkpoint, marker
from written_clusters import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    NOW,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    state,
    write_cluster,
)

A, FENCED, BEFORE = (100, 2), (100, 1), (100, 0)
NEXT = (100, 3)
Record = tuple[int, int]  # a state, and the second of it
TWICE = [(EMPTY, 0), (ONGOING, 1), (PREPARE_COMMIT, 2), (COMPLETE_COMMIT, 3), (ONGOING, 4), (PREPARE_ABORT, 6),
         (COMPLETE_ABORT, 7)]  # fmt: skip


def at(second: int) -> int:
    return NOW - 300_000 + 1_000 * second


def data(offset: int, sequence: int, second: int, pair: tuple[int, int] = A) -> bytes:
    return batch(offset, [(None, b"x")], producer=pair, sequence=sequence, attributes=TRANSACTIONAL, time_ms=at(second))


def end(offset: int, commit: bool, second: int, pair: tuple[int, int] = A) -> bytes:
    return marker(offset, pair, commit, time_ms=at(second))


def found(
    folder: Path, batches: Sequence[bytes], records: Sequence[Record], places: Sequence[int] = (0,), version: int = 1,
    fence: Sequence[tuple[int, int, tuple[int, int]]] = (), fenced: Sequence[tuple[int, int, tuple[int, int]]] = (),
) -> list[tuple[int, int, str]]:  # fmt: skip
    """The unmarked decisions: offset of the decision, and offset and kind of what is at the partition. `fence` has the
    states before these records, and `fenced` those after them, of version 2, each with its second and its pair."""
    every = [*((*each, 2) for each in fence), *((kind, second, A, version) for kind, second in records),
             *((*each, 2) for each in fenced)]  # fmt: skip
    log = [
        state(number, "a", pair, kind, at(second), places if kind in (ONGOING, PREPARE_COMMIT, PREPARE_ABORT) else (),
              version=of)
        for number, (kind, second, pair, of) in enumerate(every)
    ]  # fmt: skip
    node = write_cluster(folder / "node-1", [batches, []], log)
    until = int.from_bytes(batches[-1][:8], "big") + 1
    checkpoint(node, "cleaner-offset-checkpoint", {("payments", 0): until})
    checkpoint(node, "replication-offset-checkpoint", {("payments", 0): until, ("__transaction_state", 0): len(log)})
    with closing(DiskSource([node])) as source:
        broken = examine(source).broken
    return [(each.first.offset, each.second.offset, each.second.what) for each in broken
            if each.kind == "unmarked" and each.first is not None]  # fmt: skip


LOST = [data(0, 0, 1), data(1, 1, 4), end(2, False, 6)]
BEHIND = [data(0, 0, 1), end(1, True, 2), data(2, 1, 1), end(3, False, 6)]
CASES: dict[str, tuple[Sequence[bytes], Sequence[Record], list[tuple[int, int, str]]]] = {
    "the next marker decided for it": (LOST, TWICE, [(2, 2, "abort")]),
    "the next transaction is open": (LOST[:2], TWICE[:5], [(2, 0, "data")]),
    "its marker is there": ([data(0, 0, 1), end(1, True, 2), data(2, 1, 4), end(3, False, 6)], TWICE, []),
    "and its client's clock is behind": (BEHIND, TWICE, []),
    "the first batch is not there any more": ([data(0, 1, 1), data(1, 2, 4), end(2, False, 6)], TWICE, []),
    "a cleaner took something": ([data(0, 0, 1), data(2, 1, 4), end(3, False, 6)], TWICE, []),
    "the decision was not completed": (LOST, [TWICE[0], TWICE[1], TWICE[2], *TWICE[5:]], []),
    "it is the same decision": ([data(0, 0, 1), end(1, True, 2)], TWICE[:4], []),
    "three, and the second marker is missing": (
        [data(0, 0, 1), end(1, True, 2), data(2, 1, 4), data(3, 2, 9), end(4, True, 11)],
        [*TWICE, (ONGOING, 8), (PREPARE_COMMIT, 10), (COMPLETE_COMMIT, 12)], [(5, 4, "commit")]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_reported(name: str, tmp_path: Path) -> None:
    batches, records, expected = CASES[name]
    assert found(tmp_path, batches, records) == expected


def test_only_where_the_decision_lists_the_partition(tmp_path: Path) -> None:
    assert found(tmp_path, LOST, TWICE, places=(1,)) == []


def test_a_fence_in_between_is_counted_as_its_marker_is(tmp_path: Path) -> None:
    """A fence takes version 2, and a marker of its own, where a client of version 1 goes on behind it."""
    fence = [(ONGOING, -3, BEFORE), (PREPARE_ABORT, -2, FENCED), (COMPLETE_ABORT, -1, FENCED)]
    before = [data(0, 0, -3, BEFORE), end(1, False, -2, FENCED)]
    lost = [*before, data(2, 0, 1), data(3, 1, 4), end(4, False, 6)]
    there = [*before, data(2, 0, 1), end(3, True, 2), data(4, 1, 4), end(5, False, 6)]
    assert found(tmp_path / "lost", lost, TWICE, fence=fence) == [(5, 4, "abort")]
    assert found(tmp_path / "there", there, TWICE, fence=fence) == []


def test_a_fence_decides_over_it(tmp_path: Path) -> None:
    """Its decision is of version 2, and the one that has no marker is not. What follows has a marker for each."""
    fenced = [(PREPARE_ABORT, 6, NEXT), (COMPLETE_ABORT, 7, NEXT)]
    later = [(ONGOING, 8, NEXT), (PREPARE_COMMIT, 9, NEXT), (COMPLETE_COMMIT, 10, NEXT)]
    first, then = data(0, 0, 1), [data(3, 0, 8, NEXT), end(4, True, 9, NEXT)]
    lost = [first, data(1, 1, 4), end(2, False, 6, NEXT)]
    there = [first, end(1, True, 2), data(2, 1, 4), end(3, False, 6, NEXT)]
    assert found(tmp_path / "lost", lost, TWICE[:5], fenced=fenced) == [(2, 2, "abort")]
    assert found(tmp_path / "later", [*lost, *then], TWICE[:5], fenced=[*fenced, *later]) == [(2, 2, "abort")]
    assert found(tmp_path / "there", there, TWICE[:5], fenced=fenced) == []


def test_version_2_has_epochs_for_it(tmp_path: Path) -> None:
    assert found(tmp_path, LOST, TWICE, version=2) == []


@given(st.data())
def test_spans_count_what_is_within(drawn: st.DataObject) -> None:
    few = st.integers(0, 4)
    open_ = drawn.draw(st.lists(st.tuples(few, few, few), max_size=8))
    decided = drawn.draw(st.lists(st.tuples(few, few), max_size=8))
    ids, begin, last = (np.array([each[n] for each in open_], np.int64) for n in range(3))
    its, time = (np.array([each[n] for each in decided], np.int64) for n in range(2))
    expected = [sum(i == own and b <= t <= e for i, t in decided) for own, b, e in open_ if b <= e]
    assert spans(ids, begin, last, its, time)[begin <= last].tolist() == expected
