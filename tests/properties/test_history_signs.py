"""Signs: how often the events of histories show a danger, on histories told by hand, where the number is plain."""

from typing import Any

import numpy as np
import pytest
from fencepost.model.dangers import DANGERS
from fencepost.properties.history.properties_of import SIGNS
from fencepost.properties.history.signs import counted
from fencepost.properties.history.vocabulary import VOCABULARIES

Reported = tuple[str, dict[str, int]]


def seen(protocol: str, *histories: list[Reported]) -> dict[str, int]:
    """What the signs count in these histories, without the zeros."""
    vocabulary = VOCABULARIES[protocol]
    rows: list[dict[str, Any]] = []
    for number, history in enumerate(histories):
        for step, (kind, columns) in enumerate(history):
            absent = {column.name: column.absent for column in vocabulary.columns}
            place = {"history": number, "step": step, "kind": int(vocabulary.codes[kind])}
            rows.append(absent | place | columns)
    table = {name: np.array([row[name] for row in rows], np.int64) for name in rows[0]}
    return {danger: count for danger, count in counted(SIGNS[protocol], table).items() if count}


def sent(request: int, record: int, *, txn: int = 0, client: int = 0, partition: int = 0) -> Reported:
    columns = {"client": client, "txn": txn, "record": record, "request": request, "partition": partition}
    return "record_sent", columns


def began(client: int, txn_id: int = 0) -> list[Reported]:
    return [("client_started", {"client": client, "txn_id": txn_id}), ("init_taken", {"client": client})]


@pytest.mark.parametrize("protocol", SIGNS)
def test_signs_are_of_dangers_on_the_list_and_of_nothing_that_did_not_happen(protocol: str) -> None:
    assert {sign.danger for sign in SIGNS[protocol]} <= DANGERS.keys()
    quiet = {
        "transactions": "fetched", "id-blocks": "id_handed_out", "task-counts": "joined", "group-fencing": "consumed",
        "source-offsets": "polled", "end-to-end": "owed",
        "source-commits": "filtered", "two-phase": "txn_begun",
    }[protocol]  # fmt: skip
    assert seen(protocol, [(quiet, {})]) == {}


def test_a_request_that_arrives_after_the_end_was_reported_is_late() -> None:
    """One in time, one late, and one in another history that has no end."""
    ended = ("end_told", {"client": 0, "txn": 0})
    written = [("batch_appended", {"request": r, "record": r}) for r in (1, 2)]
    assert seen("transactions", [sent(1, 1), sent(2, 2), written[0], ended, written[1]], [sent(1, 1), written[0]]) == {
        "late-copy": 1, "several-records": 1,
    }  # fmt: skip


def test_a_client_that_goes_on_after_its_successor_is_a_zombie() -> None:
    """Not before the successor is initialised, not another id's, and not once it has been initialised again."""
    one, two, other = began(0), began(1), began(2, txn_id=7)
    assert "zombie" not in seen("transactions", [*one, two[0], sent(1, 1)])
    assert "zombie" not in seen("transactions", [*one, *other, sent(1, 1)])
    assert seen("transactions", [*one, *two, sent(1, 1), sent(2, 2, client=1)])["zombie"] == 1
    assert "zombie" not in seen("transactions", [*one, *two, one[1], sent(1, 1)])
    assert "zombie" not in seen("transactions", [*one, sent(1, 1)], [*began(3), sent(1, 1, client=3)])


def test_a_request_that_no_leader_saw_and_that_was_sent_again_is_lost() -> None:
    """What is still under way at the end is not."""
    written = ("batch_appended", {"request": 2, "record": 1})
    assert seen("transactions", [sent(1, 1), sent(2, 1), written]) == {"loss": 1}
    assert seen("transactions", [sent(1, 1), sent(2, 1)]) == {"loss": 1}
    assert seen("transactions", [sent(1, 1)]) == {}


def test_an_end_that_is_answered_twice_is_a_lost_answer() -> None:
    asked = [("end_sent", {"client": 0, "txn": 0, "request": r}) for r in (1, 2)]
    done = [("end_handled", {"request": r}) for r in (1, 2)]
    refused = ("end_handled", {"request": 2, "error": 51})
    assert seen("transactions", [asked[0], done[0], asked[1], done[1]]) == {"lost-answer": 1}
    assert seen("transactions", [asked[0], done[0], asked[1], refused]) == {}


def test_what_was_sent_first_and_is_written_last_was_overtaken() -> None:
    """Of one client; two clients are in no order."""
    first, second = (("batch_appended", {"request": r, "record": r, "partition": r}) for r in (1, 2))
    both = [sent(1, 1, partition=1), sent(2, 2, partition=2)]
    assert seen("transactions", [*both, second, first]) == {"reordering": 1, "several-partitions": 1}
    assert seen("transactions", [*both, first, second]) == {"several-partitions": 1}
    apart = [sent(1, 1), sent(2, 2, client=1)]
    assert "reordering" not in seen("transactions", [*apart, second, first])


def test_what_there_is_several_of_is_counted_within_its_history() -> None:
    """Ids, groups and pieces beyond the first; each history begins anew."""
    ids = [("txn_begun", {"client": c, "txn_id": c, "txn": c}) for c in (0, 1, 2)]
    assert seen("transactions", ids, ids[:1]) == {"several-ids": 2}
    pieces = [("fetched", {"client": 5, "partition": p, "offset": 0}) for p in (0, 0, 1)]
    assert seen("transactions", pieces) == {"slow-reader": 1}
    rotated = [("txn_logged", {"txn_id": 0, "producer_id": p}) for p in (4, 4, 5)]
    assert seen("transactions", rotated) == {"end-of-epochs": 1}


def test_events_that_are_a_danger_by_themselves() -> None:
    reported = [(kind, {}) for kind in ("client_stopped", "timed_out", "id_expired", "coordinator_loaded",
    "append_failed",
                                    "leader_changed", "batch_duplicate")]  # fmt: skip
    assert seen("transactions", reported) == dict.fromkeys(
        ("client-crash", "time-out", "id-expiry", "coordinator-fail-over", "failed-append", "broker-restart",
         "duplicate"), 1,
    )  # fmt: skip


def test_requests_of_brokers() -> None:
    """Given up: with a block recorded, without anybody having seen it; and answered late."""
    recorded = [("block_recorded", {"request": r}) for r in (1, 1)]
    given_up = [("request_timed_out", {"request": r}) for r in (1, 2)]
    late = ("answer_dropped", {"request": 1})
    assert seen("id-blocks", [late, *recorded, *given_up, late]) == {
        "late-copy": 1, "duplicate": 1, "loss": 1, "lost-answer": 1, "time-out": 2,
    }  # fmt: skip


def test_the_first_election_is_no_fail_over() -> None:
    elected, granted = ("controller_elected", {"node": 1}), ("block_recorded", {"request": 1})
    assert seen("id-blocks", [elected, granted], [elected]) == {}
    assert seen("id-blocks", [elected, granted, elected]) == {"coordinator-fail-over": 1}


def test_connectors() -> None:
    """Sets by size, rounds that fence, deletion and re-creation, and a rebalance around tasks that run."""
    sets = [("set_written", {"count": n}) for n in (0, 1, 3)]
    rounds = [("round_started", {"count": n}) for n in (0, 1, 3)]
    assert seen("task-counts", [*sets, *rounds]) == {"empty-set": 1, "one-task": 1, "several-tasks": 1}
    written, gone = ("connector_written", {"connector": 0}), ("connector_tombstoned", {"connector": 0})
    other = ("connector_written", {"connector": 1})
    assert seen("task-counts", [written, gone, other, written]) == {
        "several-connectors": 1, "deletion": 1, "re-creation": 1,
    }  # fmt: skip
    assigned, running = ("assignment_made", {"node": 1}), ("task_running", {"connector": 0})
    assert seen("task-counts", [assigned, running]) == {}
    assert seen("task-counts", [running, assigned]) == {"rebalance": 1}
    started = [("worker_started", {"node": 1, "support": s}) for s in (0, 1, 2, 3)]
    assert seen("task-counts", started) == {"worker-without-support": 3}


def test_what_comes_over_a_group_is_counted() -> None:
    """A rebalance while offsets are on their way, one that goes on after it, and what its transaction leaves."""
    partitions = [("assigned", {"client": 0, "partition": partition}) for partition in range(2)]
    reported = [
        *partitions, ("offset_sent", {"client": 0}), ("generation_begun", {"generation": 2}), ("resumed", {}),
        ("offset_refused", {"error": 22}), ("offset_settled", {"outcome": 0}), ("offset_settled", {"outcome": 1}),
    ]  # fmt: skip
    assert seen("group-fencing", reported) == {"several-partitions": 1, "rebalance": 1, "zombie": 2, "time-out": 1}
    assert seen("group-fencing", [("generation_begun", {"generation": 1}), ("offset_refused", {"error": 22})]) == {}
