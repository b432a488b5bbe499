"""What a group relies on of its members' transactions is what the core of v2 does, and would notice what breaks it."""

import pytest
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.model.language.derived.refinements import Refinement
from fencepost.proofs.engines.explore import coverage, explore, unsaid
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.refinements import explain
from fencepost.properties.catalogue import bounds_of, find
from fencepost.properties.transactions.claims.core_overlapping import (
    FatedLateV1,
    FatedOverlappingV2,
    FatedPromptV1,
    FatedTimedOutV2,
    FatedV2,
    FatedVerified,
)

NAME = "does_as_fated"
SMALL = dict(clients=2, transactions=2, partitions=1, epochs=3, fail_overs=0, fences=0)


@pytest.mark.parametrize("properties", [FatedV2, FatedOverlappingV2, FatedTimedOutV2], ids=lambda p: p.__name__)
def test_v2_is_proved(properties) -> None:
    """With any number of clients, transactions, partitions and epochs."""
    proof = prove(settle(properties.protocol.spec), properties.properties)
    assert proof.verdict(NAME) == "holds" and not proof.failures


@pytest.mark.parametrize("name", ["core-v2-fated", "core-v2-overlapping-fated", "core-v2-timed-out-fated"])
def test_all_of_the_interface_is_taken(name: str) -> None:
    """Each step of the interface is a step of some client within the bounds that `verify` explores, and no action is
    another step of the interface than the mapping says."""
    _, variant = find(f"transactions/{name}")
    made = explore(variant.spec, {NAME: variant.asked[NAME]}, bounds_of(variant, "smoke"))
    taken = coverage(made, NAME)
    assert set(taken) == {"begin", "accept", "commit", "abort", "end", "give_up", "fence", "initialise"}
    assert all(taken.values())
    assert unsaid(made, NAME) == []


NOTICED = [  # a rule of transactions got wrong, and the fewest steps until a group would notice
    ("txn.1", "initialize: guard 1 dropped", 7),
    ("txn.3", "initialize: guard 1 dropped", 6),
    ("txn.3", "old_epoch", 7),
    ("txn.5", "verify: guard 1 dropped", 12),
    ("txn.6", "verify: guard 1 dropped", 7),
    ("txn.7", "end: guard 1 dropped", 7),
    ("txn.9", "end: guard 1 dropped", 7),
    ("txn.10", "complete: guard 1 dropped", 8),
    ("txn.12", "mark: guard 1 dropped", 14),
    ("txn.15", "append: guard 1 dropped", 6),
    ("txn.16", "any_epoch", 12),
    ("txn.18", "take_over: guard 1 dropped", 7),
    ("txn.23", "not_older", 14),
]


@pytest.mark.parametrize(("rule", "name", "steps"), NOTICED, ids=[f"{r} {n}" for r, n, _ in NOTICED])
def test_a_mistake_is_noticed(rule: str, name: str, steps: int) -> None:
    """A client's transactions do something then that a group does not expect."""
    spec = mutation(FatedV2.protocol.spec, rule, name).apply()
    made = explore(spec, {NAME: FatedV2.properties[NAME]}, SMALL, stop_when_violated=True)
    assert made.verdicts[NAME] == "violated"
    assert len(made.traces[NAME].events) == steps


def test_v1_is_no_better_than_its_network() -> None:
    """v1 does so where requests are prompt.  Where records come late, offsets are taken in another transaction than
    their own."""
    right = explore(settle(FatedPromptV1.protocol.spec), {NAME: FatedPromptV1.properties[NAME]}, SMALL)
    assert right.verdicts[NAME] == "holds"
    spec, item = settle(FatedLateV1.protocol.spec), FatedLateV1.properties[NAME]
    assert isinstance(item, Refinement)
    made = explore(spec, {NAME: item}, SMALL)
    trace = made.traces[NAME]
    assert trace.events[-1].action == "append"
    (owner,) = {event.parameters["c"] for event in trace.events if event.action == "begin"}
    first, second, *_ = explain(item, spec, SMALL, trace)
    assert first == f"{trace.events[-1]} is no step of Fated for c = {owner}, o = 0, of which it changes"
    assert second == "       astray: no -> yes"


def test_verification_is_not_enough() -> None:
    """A late EndTxn of v1 with verification ends a transaction that its owner has not begun."""
    made = explore(settle(FatedVerified.protocol.spec), {NAME: FatedVerified.properties[NAME]}, SMALL)
    assert made.verdicts[NAME] == "violated"
    assert made.traces[NAME].events[-1].action == "end"
