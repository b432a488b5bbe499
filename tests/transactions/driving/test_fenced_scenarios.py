"""The scenarios around a fence have certain effects on the reference, and find certain defects when played alone."""

from dataclasses import replace
from typing import Any

import pytest
from fencepost.proofs.testing.observing import outside
from fencepost.proofs.testing.search import Search
from fencepost.properties.conformance_spec import Agreeing, driven
from fencepost.properties.driving import Program
from fencepost.properties.transactions.interface import Call, message
from fencepost.properties.transactions.scenarios.fenced import Fenced
from fencepost.reference_impl.defects.transactions import REGISTRY
from fencepost.reference_impl.systems.transactions import reference

TRANSACTIONS = driven("transactions")
SIZE = {"seed": 0, "clients": 2, "partitions": 2, "groups": 0, "max_epoch": 32767}
HELD = dict(slot=0, partition=0, kind="produce", first=False, moment=1, commit=True)
CROSS = dict(slot=0, partition=0, commits=(False, True), moment=3)


def played(agreeing: Agreeing, factory: Any, variant: str, name: str, **arguments: Any) -> tuple[Fenced, Search]:
    """Return the machine and the search after one scenario and the end of an example."""
    observed = None if agreeing.follow else agreeing.black_box
    search = Search(agreeing, factory, variant, {}, frozenset(), observed, ())
    machine = type("One", (agreeing.machines[variant],), {"session": search})()
    machine.begin(({**SIZE, "mode": variant}, False, variant == "v2"))
    getattr(machine, name)(**arguments)
    machine.teardown()
    search.account()
    return machine, search


def test_a_message_is_held_across_the_fence() -> None:
    machine, search = played(TRANSACTIONS, reference, "v2", "held_across_a_fence", by="producer", **HELD)
    assert search.failures == []
    observed = [event for made in machine.run.made for event in made.events]
    refused = next(n for n, event in enumerate(observed) if event.kind == "batch_refused")
    assert [e.client for e in observed[:refused] if e.kind == "init_taken" and not e.error] == [0, 1]
    assert next(e.client for e in observed[refused:] if e.kind == "record_failed") == 0


@pytest.mark.parametrize("variant", ["v2", "v1", "v1-verified"])
def test_an_answer_to_init_is_lost(variant: str) -> None:
    """The producer asks again, which is a step of the model that no other scenario reaches in v2."""
    of = dict(slot=0, partition=0, moved=False, rival=False, commit=True)
    _, search = played(TRANSACTIONS, reference, variant, "answer_of_init_lost", **of)
    assert search.failures == []
    assert search.coverage.actions["lose_answer"] > 0


@pytest.mark.parametrize(
    ("name", "scenario", "arguments"),
    [
        ("fence_markers_keep_epoch", "held_across_a_fence", dict(by="producer", **HELD)),
        ("older_epoch_accepted", "held_across_a_fence", dict(by="producer", **HELD)),
        ("markers_by_key_only", "markers_cross", dict(kind="marker_answer", moved=False, **CROSS)),
    ],
)
def test_a_scenario_leads_to_the_mistake(name: str, scenario: str, arguments: dict[str, Any]) -> None:
    defect, by_promises = REGISTRY[name], replace(TRANSACTIONS, follow=None)
    variant = dict(defect.needs)["mode"]
    _, search = played(by_promises, outside(defect, TRANSACTIONS.black_box), variant, scenario, **arguments)
    assert len(search.failures) == 1
    _, search = played(TRANSACTIONS, reference, variant, scenario, **arguments)
    assert search.failures == []


def test_a_coordinator_that_lost_a_time_out_knows_nothing_of_it() -> None:
    """txn.18: If the coordinator fails over before the time-out is in the log, the owner may still commit."""
    to, back = ("client-0", "coordinator"), ("coordinator", "client-0")
    added = [Call("send", 0, 0), Call("deliver", message("add", *to)), Call("log_append"),
             Call("deliver", message("add_answer", *back)),
             Call("deliver", message("produce", "client-0", "partition-0")),
             Call("deliver", message("produce_answer", "partition-0", "client-0"))]  # fmt: skip
    calls = (
        Call("init", 0), Call("deliver", message("init", *to)), Call("log_append"),
        Call("deliver", message("init_answer", *back)), Call("begin", 0), *added, *[Call("advance", 10_000)] * 7,
        Call("fail_over", False), Call("commit", 0), Call("deliver", message("end", *to)), Call("log_append"),
        Call("settle", 100, 1, 0),
    )  # fmt: skip
    search = Search(TRANSACTIONS, reference, "v1", {}, frozenset(), None, ())
    config = {**SIZE, "clients": 1, "partitions": 1, "mode": "v1"}
    assert search.replay(Program(config, calls)) is None
