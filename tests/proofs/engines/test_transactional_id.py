"""Producer ids of a transactional id come from KRaft's blocks: id blocks and transactions as one protocol, proved with
what is proved of each."""

from fencepost.model.language.derived.inheritance import departure, part_refinement
from fencepost.model.language.derived.mutations import mutation, mutations, settle
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.readings.words import say_trace
from fencepost.properties.catalogue import bounds_of, protocols
from part_protocols import TRANSACTIONAL_ID_BOUNDS, TransactionalId, TransactionalIdProperties

SPEC, STATED = settle(TransactionalId.spec), TransactionalIdProperties.properties
MINE = [n for n, p in STATED.items() if p.source is None and p.kind == "always"]


def test_it_is_proved_with_what_its_parts_promise():
    """No record of a transaction carries the producer id of another producer, by lemmas of id blocks and of
    transactions.  (About 20 s.)"""
    proof = prove(SPEC, STATED)
    assert proof.failures == ()
    assert set(proof.verdicts) - proof.inherited.keys() == set(MINE)
    assert {f.fact.protocol for f in proof.inherited.values()} == {"Kraft", "V2Core"}
    rests_on = proof.rests_on("records_told_apart")
    assert {name.partition(".")[0] for name in rests_on if "." in name} == {"ids", "txn"}
    assert "txn.appended_was_sent" in rests_on


def test_each_step_is_one_of_id_blocks_or_of_transactions_or_none():
    """By construction, and in every state within small bounds; there the promises hold, and both producers write."""
    assert [departure(SPEC, name, SPEC.parts[name].own) for name in ("ids", "txn")] == [None, None]
    steps = {p.name: p for p in (part_refinement(SPEC, name) for name in ("ids", "txn"))}
    few = {n: STATED[n] for n in (*MINE, "both_write", "ids.no_id_twice", "txn.no_zombie_write")}
    made = explore(SPEC, steps | few, TRANSACTIONAL_ID_BOUNDS)
    assert made.complete
    assert made.verdicts == dict.fromkeys(steps | few, "holds")


def test_a_mistake_in_id_blocks_gives_a_transactions_records_to_another_producer():
    """The controller grants the same block twice: two brokers answer with the same id."""
    assert ("730.8", "ids.allocate: next not updated") in {(m.rule, m.name) for m in mutations(TransactionalId.spec)}
    spec = mutation(TransactionalId.spec, "730.8", "ids.allocate: next not updated").apply()
    promise = {"records_told_apart": STATED["records_told_apart"]}
    bounds = dict(TRANSACTIONAL_ID_BOUNDS, brokers=2, requests=2)
    made = explore(spec, promise, bounds, stop_when_violated=True)
    assert made.verdicts == {"records_told_apart": "violated"}
    trace = made.traces["records_told_apart"]
    taken = {event.action for event in trace.events}
    assert {"initialize_with_new_id", "initialize_idempotent", "ids.allocate", "txn.append"} <= taken
    assert any("txn.fate" in line for line in say_trace(spec, trace))


def test_the_bounds_of_both_parts_take_more_than_two_words():
    """Within the bounds that each part is searched in alone, the whole is searched as far as is asked."""
    bounds = {}
    for protocol, variant in (("id-blocks", "kraft"), ("transactions", "core-v2")):
        bounds |= bounds_of(protocols()[protocol].variant(variant), "smoke")
    few = {n: STATED[n] for n in (*MINE, "ids.no_id_twice", "txn.no_zombie_write")}
    made = explore(SPEC, few, bounds, max_states=100_000)
    assert made.kernels.packing.words > 2
    assert made.distinct >= 100_000
    assert not made.complete
    assert set(made.verdicts.values()) == {"unknown"}
