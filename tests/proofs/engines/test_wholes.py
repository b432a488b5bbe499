"""Every engine on protocols made of others, against the plain reading; and each step against the plain reading of the
part alone."""

import functools

import numpy as np
import pytest
from fencepost.model.language import Part, Properties, Protocol
from fencepost.model.language.derived.inheritance import departure, part_refinement
from fencepost.model.language.derived.mutations import mutation, mutations, settle
from fencepost.model.language.specs import Action, Call, Spec
from fencepost.model.language.tracing.composing import PartSpec, composed
from fencepost.model.language.tree.terms import local
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.engines.simulate.walks import Walker
from fencepost.proofs.necessity.keeping import search
from fencepost.proofs.necessity.killers import Killers
from fencepost.proofs.readings.columns import Columns
from fencepost.proofs.readings.plain import Plain, freeze
from fencepost.proofs.readings.words import say_trace
from fencepost.proofs.results import Event, Trace
from fencepost.properties.catalogue import Variant, bounds_of, protocols
from part_protocols import (
    DESK_BOUNDS,
    TRANSACTIONAL_ID_BOUNDS,
    Desk,
    DeskProperties,
    Ticking,
    TransactionalId,
    TransactionalIdProperties,
)
from progress_protocols import Crashing, CrashingProperties, Switch, SwitchProperties
from random_protocols import BOUNDS, HERE, plain_search, random_protocol
from z3_concrete import Concrete

DESK = settle(Desk.spec)
PAIRS = [(1, 47), (2, 6), (4, 10), (28, 53), (36, 57), (47, 54), (2, 57)]
"""Of small random protocols, each of which takes its first action."""


@functools.cache
def random_whole(one: int, other: int) -> Spec:
    """Two random protocols, of which the first actions happen together only."""
    (a, _), (b, _) = random_protocol(one), random_protocol(other)
    first, second = a.actions["a0"], b.actions["a0"]
    own = [(f"x{n}", kind) for n, kind in first.parameters], [(f"y{n}", kind) for n, kind in second.parameters]
    parts = {"a": PartSpec("a", a, ("a0",)), "b": PartSpec("b", b, ("a0",))}
    calls = tuple(Call(p, "a0", tuple(local(n, k) for n, k in mine)) for p, mine in zip(parts, own, strict=True))
    both = Action("both", (*own[0], *own[1]), (), (), (), "", None, None, None, "", HERE, calls=calls)
    return composed(Spec("Whole", "", {}, frozenset(), {}, (), (), {"both": both}), parts)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_random_wholes_are_explored_as_they_read(pair):
    """The same states level by level, and each step, seen from a part, is one that the part has alone, or none."""
    spec = random_whole(*pair)
    steps = {p.name: p for p in (part_refinement(spec, name) for name in spec.parts)}
    found, expected = explore(spec, steps, BOUNDS), plain_search(spec, {}, BOUNDS | {"a.size": 2, "b.size": 2})
    assert (found.levels, found.generated, found.taken, found.cut) == (
        expected.levels, expected.generated, expected.taken, expected.cut,
    )  # fmt: skip
    assert found.verdicts == dict.fromkeys(steps, "holds")
    whole = Plain(spec, {"a.size": 2, "b.size": 2}, BOUNDS)
    for name, part in spec.parts.items():
        assert departure(spec, name, part.own) is None
        alone = Plain(part.own, {"size": 2}, BOUNDS)
        for now in expected.states[:300]:
            here = projected(now, name)
            allowed = {freeze(here)} | {freeze(after) for _, after in alone.successors(here) if after is not None}
            assert {
                freeze(projected(after, name)) for _, after in whole.successors(now) if after is not None
            } <= allowed


def projected(state, part):
    return {name.partition(".")[2]: value for name, value in state.items() if name.startswith(f"{part}.")}


def test_random_wholes_take_joint_steps():
    """Those searched above do more than what each part does alone."""
    taken = [explore(random_whole(*pair), {}, BOUNDS).taken["both"] for pair in PAIRS]
    assert sum(count > 0 for count in taken) >= 4


def test_the_solver_and_columns_take_the_same_steps():
    """From every state of a desk, by every action."""
    plain = Plain(DESK, {"ids.size": 1}, DESK_BOUNDS, ghosts=True)
    concrete, columns = Concrete(DESK, DESK_BOUNDS), Columns(DESK, {"ids.size": 1})
    observed = [name for name in DESK.types if name in columns.types]
    states = [plain.initial()]
    seen = {freeze(states[0])}
    for now in states:
        for event, after in plain.successors(now):
            step = concrete.step(now, event)
            assert (step.enabled, step.after) == (True, after)
            if after is None:
                continue
            rows = columns.initial(1, dict(DESK_BOUNDS))
            rows.encode(0, {name: now[name] for name in observed})
            given = [np.full(1, value) for value in event.parameters.values()]
            assert rows.bind(columns.action(event.action))(np.arange(1), *given) is None
            assert rows.decode(0) == {name: after[name] for name in observed}
            if freeze(after) not in seen and len(states) < 40:
                seen.add(freeze(after))
                states.append(after)
    assert {event.action for now in states for event, _ in plain.successors(now)} == set(DESK.actions)


def test_a_walk_follows_the_run_to_the_witness():
    """The explorer finds a run to it that a walk can follow."""
    item = DeskProperties.properties["two_served"]
    bounds = dict(DESK_BOUNDS, ids=2)
    trace = explore(DESK, {"two_served": item}, bounds).traces["two_served"]
    walk, broken = Walker(DESK, {}, bounds).follow(trace.events)
    assert (walk.states[-1], broken) == (trace.states[-1], None)
    assert Event("ids.crash", {"b": 0}) not in trace.events


def test_runs_of_mutants_are_recorded_by_path_and_taken_again():
    """A promise of a part, and one of the whole, each with a mistake in the part that breaks it."""
    variant = Variant("desk", DeskProperties, "a desk", bounds={"smoke": dict(DESK_BOUNDS, ids=4)})
    found = search(variant, "smoke", anew=True)
    without = {run.property: run.without for run in found.runs}
    assert without["ids_differ"] == without["ids.no_id_twice"] == (("730.8", "ids.grant: next not updated"),)
    assert without["lock.one_inside"] == (("730.2", "lock.enter: guard 1 dropped"),)
    killers = Killers(variant, "smoke", found.runs)
    for run in found.runs:
        assert isinstance(killers.replayed(run, variant.asked[run.property], ""), Trace)
    refused = {r.property: (r.mutation, r.action) for r in found.refused.refused}
    assert refused["ids.no_id_twice"] == ("ids.hand_out: guard 1 dropped", "serve")


@pytest.mark.parametrize(
    ("part", "stated", "bounds"),
    [(Switch, SwitchProperties, {}), (Crashing, CrashingProperties, {"workers": 1, "crashes": 1})],
    ids=["switch", "crashing"],
)
def test_progress_of_a_part_is_what_it_is_alone(part, stated, bounds):
    """It is asked of the whole again, where other parts may go on for as long as they like."""
    whole = type(Protocol)("Two", (Protocol,), {
        "__annotations__": {"part": Part[part], "clock": Part[Ticking]}, "__module__": __name__})  # fmt: skip
    lifted = type(Properties)("TwoProperties", (Properties,), {
        "__annotations__": {"part": Part[stated]}, "__module__": __name__}, of=whole)  # fmt: skip
    alone = check_progress(explore(part.spec, stated.properties, bounds))
    both = check_progress(explore(whole.spec, lifted.properties, bounds | {"tickets": 1}))
    assert {n.partition(".")[2]: r.verdict for n, r in both.items()} == {n: r.verdict for n, r in alone.items()}


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
