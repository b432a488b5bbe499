"""Each history property of id blocks describes its first violation and the events that it needs."""

from typing import Any

import numpy as np
import pytest
from fencepost.properties.history import ABSENT
from fencepost.properties.history.pieces import filled_columns
from fencepost.properties.id_blocks.events import ID_BLOCKS
from fencepost.properties.id_blocks.histories import HISTORY as id_blocks

MAX = 2**63 - 1


def history(*events: tuple[str, dict[str, int]]) -> dict[str, np.ndarray]:
    """Return the columns of history number 4 from events given by kind and columns."""
    columns = filled_columns(ID_BLOCKS, [{"kind": ID_BLOCKS.codes[kind], **values} for kind, values in events])
    columns["history"][:] = 4
    return columns


def start(broker: int) -> tuple[str, dict[str, int]]:
    return "broker_started", {"broker": broker}


def commit(first: int, length: int = 10, broker: int = 0, grant: int = 0) -> tuple[str, dict[str, int]]:
    return "block_committed", {"broker": broker, "grant": grant, "first": first, "length": length}


def write(first: int, length: int = 10, broker: int = 0) -> tuple[str, dict[str, int]]:
    return "zk_written", {"broker": broker, "first": first, "length": length}


def answer(first: int, broker: int = 0, grant: int = 0, error: int = 0) -> tuple[str, dict[str, int]]:
    return "answer_sent", {"broker": broker, "grant": grant, "first": first, "length": 10, "error": error}


def hand_out(producer_id: int, broker: int = 0) -> tuple[str, dict[str, int]]:
    return "id_handed_out", {"broker": broker, "producer_id": producer_id, "error": 0}


GOOD: dict[str, tuple[Any, ...]] = {
    "two brokers take turns": (
        start(0), commit(0), answer(0), hand_out(0), commit(10, grant=1), hand_out(10, 1), hand_out(1),
    ),
    "a block lost with its broker": (commit(0), hand_out(0), start(0), commit(10), hand_out(10)),
    "an answer with an error carries no block": (commit(0), answer(0), answer(-1, grant=-1, error=41)),
    "a smaller id after a restart": (commit(0), commit(10), hand_out(10), start(0), hand_out(0)),
    "an uncommitted record may be granted again": (commit(0, grant=1), answer(0, grant=1)),
    "ZooKeeper, then KRaft where it ends": (write(0), write(10), ("migrated", {"first": 20}), commit(20), hand_out(20)),
    "the last block there is": (commit(MAX - 20), commit(MAX - 10), hand_out(MAX - 1)),
}  # fmt: skip

BAD: dict[str, tuple[str, int, str, tuple[Any, ...]]] = {
    "twice": (
        "ids_unique", 3, "broker 1 hands out id 5 at step 3; broker 0 did so at step 1",
        (commit(0), hand_out(5), hand_out(6), hand_out(5, 1)),
    ),
    "last id": (
        "ids_unique", 2, f"broker 1 hands out id {MAX} at step 2; broker 0 did so at step 1",
        (commit(0), hand_out(MAX), hand_out(MAX, 1), hand_out(0, 2)),
    ),
    "one id shared": (
        "blocks_disjoint", 1,
        "broker 1's block 9..18 (block_committed at step 1) overlaps broker 0's block 0..9 (block_committed at step 0)",
        (commit(0), commit(9, broker=1)),
    ),
    "a block inside an older one": (
        "blocks_disjoint", 2,
        "broker 0's block 50..59 (block_committed at step 2) overlaps broker 0's block 0..99 (zk_written at step 0)",
        (write(0, 100), write(20, 0), commit(50)),
    ),
    "answered twice": (
        "answers_disjoint", 2,
        "broker 1's block 0..9 (answer_sent at step 2) overlaps broker 0's block 0..9 (answer_sent at step 1)",
        (commit(0), answer(0), answer(0, 1)),
    ),
    "answered too early": (
        "answered_after_commit", 0,
        "broker 0's block 0..9 (answer_sent at step 0), but its record 0 is committed only at step 1",
        (answer(0), commit(0)),
    ),
    "answered and lost": (
        "answered_after_commit", 1,
        "broker 0's block 0..9 (answer_sent at step 1), but its record 0 is never committed",
        (commit(0, grant=1), answer(0)),
    ),
    "used too early": (
        "handed_out_after_grant", 0,
        "broker 0 hands out id 9 at step 0, before broker 0's block 0..9 (block_committed at step 1)",
        (hand_out(9), commit(0)),
    ),
    "one past the end": (
        "ids_within_blocks", 1, "broker 0 hands out id 10 at step 1, which no block of this history holds",
        (commit(0), hand_out(10)),
    ),
    "one before the start": (
        "ids_within_blocks", 1, "broker 0 hands out id 9 at step 1, which no block of this history holds",
        (commit(10), hand_out(9)),
    ),
    "backwards": (
        "ids_increase", 3,
        "broker 0 hands out id 3 at step 3, after broker 0 hands out id 4 at step 1 in the same lifetime",
        (commit(0), hand_out(4), hand_out(7, 1), hand_out(3)),
    ),
    "a gap": (
        "blocks_contiguous", 1,
        "broker 0's block 11..20 (block_committed at step 1), after broker 0's block 0..9 (block_committed at step 0)",
        (commit(0), commit(11)),
    ),
    "takes over one too early": (
        "blocks_contiguous", 2,
        "broker 0's block 9..18 (block_committed at step 2), KRaft took over at step 1 with next free id 10",
        (write(0), ("migrated", {"first": 10}), commit(9)),
    ),
    "beyond the last id": (
        "blocks_well_formed", 0,
        f"broker 0's block {MAX - 9}..{MAX} (block_committed at step 0): not a range of ids between 0 and 2^63 - 2",
        (commit(MAX - 9),),
    ),
    "no ids": (
        "blocks_well_formed", 0,
        "the controller's block from 0 of length 0 (zk_written at step 0): not a range of ids between 0 and 2^63 - 2",
        (write(0, 0, ABSENT),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_histories_that_keep_every_promise(name: str) -> None:
    findings, _ = id_blocks.check(history(*GOOD[name]))
    assert {name: found.first for name, found in findings.items() if found.violations} == {}


@pytest.mark.parametrize("name", BAD)
def test_the_first_witness_in_words(name: str) -> None:
    broken, step, words, events = BAD[name]
    findings, _ = id_blocks.check(history(*events), [broken])
    first = findings[broken].first
    assert first is not None
    assert (first.history, first.step, first.property, first.told) == (4, step, broken, words)
    assert findings[broken].violations == 1


def test_figures_account_for_every_id() -> None:
    """Each granted id is handed out or lost, and a block of which no id was used is leaked."""
    columns = history(commit(0), commit(10), commit(20), hand_out(0), hand_out(1), hand_out(1), hand_out(25))
    _, figures = id_blocks.check(columns)
    assert figures == {
        "blocks": 3,
        "ids_granted": 30,
        "ids_handed_out": 3,
        "ids_lost": 27,
        "blocks_leaked": 1,
    }
