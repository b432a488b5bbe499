"""Each request of the interface in each state of its owner is judged by some promise and sent by some scenario. A
planted defect for each is evidence of both, through the black box and by promises alone.

`answer_defects.TABLE` is the table, and `READS` that of readers' answers. An empty cell fails here.
"""

from itertools import product
from typing import Any

import answer_defects
import pytest
from answer_defects import READS, TABLE, Seeded
from fencepost.model.rules import RULES
from fencepost.proofs.testing import agree
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.transactions.histories.promises import DRIVEN
from fencepost.properties.transactions.scenarios.lives import MACHINES, REMOTE_MACHINES

REQUESTS = ("init", "add", "produce", "end")
STATES = ("current", "fenced", "empty", "retried", "refused", "late")
"""These are the states of the client: it holds the id, was replaced, has nothing open, retries, is refused while its
successor goes on, or is late."""

READ_STATES = ("open", "committed", "aborted", "fenced")
"""These are the states of the transaction that a reader meets with Fetch or with OffsetFetch."""

QUICK = {"zombie_is_given_the_pair", "refused_record_aborts", "empty_end_keeps_epoch", "add_takes_older_epoch"}
RULE_OF = {each.name: each.rule for each in (*properties_of("transactions").properties.values(), *DRIVEN)}


@pytest.mark.parametrize(("request_kind", "state"), list(product(REQUESTS, STATES)))
def test_no_cell_is_empty(request_kind: str, state: str) -> None:
    seeded = [each for each in TABLE if (each.request, each.state) == (request_kind, state)]
    assert seeded
    for each in seeded:
        assert each.found_by in RULE_OF or RULES[each.found_by].says
        for machines in (MACHINES, REMOTE_MACHINES):
            assert callable(getattr(machines[each.mode], each.scenario))


@pytest.mark.parametrize(
    "seeded",
    [
        pytest.param(each, id=each.name, marks=[] if each.name in QUICK else pytest.mark.nightly(nights=16))
        for each in TABLE
    ],
)
def test_each_is_found_from_outside(seeded: Seeded) -> None:
    """A promise finds the defect in one of three seeds. Some defects appear only in every fortieth example, so that one
    seed in twelve misses them."""
    asked: dict[str, Any] = {"variant": seeded.mode, "promises_only": True, "observe": "black-box"}
    reports = (agree(seeded, protocol="transactions", seed=seed, **asked) for seed in (1, 2, 3))
    report = next((report for report in reports if report.verdict == "violated"), None)
    assert report is not None
    assert report.failure is not None and report.failure.promise


@pytest.mark.parametrize(("request_kind", "state"), list(product(("fetch", "offset_fetch"), READ_STATES)))
def test_what_readers_are_answered(request_kind: str, state: str) -> None:
    (seeded,) = [each for each in READS if (each.request, each.state) == (request_kind, state)]
    for machines in (MACHINES, REMOTE_MACHINES):
        assert callable(getattr(machines[seeded.mode], seeded.scenario))
    report = agree(
        seeded, protocol="transactions", variant=seeded.mode, seed=1, promises={seeded.found_by}, observe="black-box"
    )
    assert report.failure is not None and report.failure.promise.startswith(f"{seeded.found_by}:")


def test_names_are_not_used_twice() -> None:
    assert len({each.name for each in TABLE}) == len(TABLE)
    assert {each.name for each in TABLE} >= QUICK
    assert all(issubclass(each.parts.coordinator, answer_defects.Coordinator) for each in TABLE)
