"""What was proved of a part holds of the whole, where every step of the whole is one of the part's or leaves it alone;
and of nothing else."""

from collections import Counter
from dataclasses import replace

import pytest
from fencepost.model.language import Part, Properties, Protocol, action, lemma
from fencepost.model.language.derived.inheritance import departure, part_refinement
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.model.language.tree.terms import negation
from fencepost.proofs.cli.prove import summary
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import Facts, prove
from fencepost.proofs.engines.proof_reuse import Fact
from fencepost.proofs.engines.run_engines import run_induction
from fencepost.proofs.provenance import hash_of_stated
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.readings.words import say_obligation
from fencepost.properties.catalogue import ProtocolEntry, Variant
from part_protocols import (
    DESK_BOUNDS,
    Clocked,
    ClockedProperties,
    Desk,
    DeskProperties,
    Office,
    OfficeProperties,
    Ticking,
)
from z3_protocols import Allocation, AllocationProperties, Id, TicketLock, TicketLockProperties

DESK, STATED = settle(Desk.spec), DeskProperties.properties
MINE = {"ids_differ", "id_is_kept", "served_is_past", "id_is_used"}
THEIRS = {n for n, p in STATED.items() if p.source and p.kind in ("always", "step")}


def test_properties_of_the_parts_are_inherited_and_the_others_proved():
    """Nothing is asked of a solver about what was proved of a part, and the whole's own properties rest on it."""
    proof = prove(DESK, STATED, facts=Facts())
    assert proof.failures == ()
    assert proof.inherited.keys() == THEIRS
    assert {o.property for o in proof.obligations if o.how != "inherited"} - {""} == MINE
    assert proof.rests_on("served_is_past") == ("lock.only_the_served_are_inside",)
    assert "ids.ids_in_blocks_are_free" in proof.rests_on("ids_differ")
    alone = prove(settle(Allocation.spec), AllocationProperties.properties)
    assert proof.rests_on("ids.no_id_twice") == tuple(f"ids.{n}" for n in alone.rests_on("no_id_twice"))


def test_what_is_inherited_is_proved_again_if_asked():
    """The long way round comes to the same verdicts."""
    again = prove(DESK, STATED, again=True)
    assert again.verdicts == prove(DESK, STATED).verdicts
    assert again.inherited == {}
    assert Counter(o.how for o in again.obligations)["inherited"] == 0


def test_results_say_what_is_inherited_from_where():
    """With the hash of the part's model beside the verdict, in reports and in words."""
    variant = Variant("desk", DeskProperties, "a desk")
    results = {r.property: r for r in run_induction(ProtocolEntry("desk", "a desk", (variant,), {}), variant)}
    model = hash_of_stated(Allocation.spec, AllocationProperties.properties.values())
    reported = results["ids.no_id_twice"]
    assert (reported.verdict, reported.evidence["inherited"]) == (
        "holds", {"part": "ids", "protocol": "Allocation", "model": model},
    )  # fmt: skip
    assert "inherited" not in results["ids_differ"].evidence
    lines = list(summary(list(results.values())))
    (line,) = (line for line in lines if line.strip().startswith("ids.no id twice"))
    assert line.endswith(f", inherited from ids, as Allocation is proved (model {model})")
    assert any("11 lemmas, 9 inherited" in line for line in lines)
    (obligation,) = (o for o in prove(DESK, STATED).obligations if o.property == "ids.no_id_twice")
    assert say_obligation(obligation) == "ids has ids.no id twice"


@pytest.mark.parametrize(
    ("spec", "bounds"),
    [
        (DESK, DESK_BOUNDS),
        (settle(Clocked.spec), {"customers": 2, "tickets": 2}),
        (settle(Office.spec), dict(DESK_BOUNDS, customers=1)),
    ],
    ids=["desk", "clocked", "office"],
)
def test_each_step_of_the_whole_is_one_of_the_part_or_none(spec, bounds):
    """By construction; by every explored step; and by a proof of each."""
    assert {name: departure(spec, name, spec.parts[name].own) for name in spec.parts} == dict.fromkeys(spec.parts)
    steps = {p.name: p for p in (part_refinement(spec, name) for name in spec.parts)}
    made = explore(spec, steps, bounds)
    assert made.complete
    assert made.verdicts == dict.fromkeys(steps, "holds")
    proof = prove(spec, steps)
    assert {name: proof.verdict(name) for name in steps} == dict.fromkeys(steps, "holds")


def changed(name, change):
    """The desk with one action changed behind the composition's back."""
    return replace(DESK, actions={n: change(a) if n == name else a for n, a in DESK.actions.items()})


CHANGES = {
    "a guard is dropped": (
        changed("serve", lambda a: replace(a, guards=tuple(g for g in a.guards if g.rule != "730.12"))),
        "serve leaves out a guard of ids.hand_out",
    ),
    "a guard is turned round": (
        changed("ids.give_up", lambda a: replace(
            a, guards=tuple(replace(g, condition=negation(g.condition)) for g in a.guards))),
        "ids.give_up leaves out a guard of ids.give_up",
    ),
    "an update is dropped": (
        changed("serve", lambda a: replace(a, updates=tuple(u for u in a.updates if u.variable != "ids.cursor"))),
        "serve updates other than ids.hand_out does",
    ),
    "the part's step is not named": (
        changed("serve", lambda a: replace(a, calls=())),
        "serve assigns ids.used and takes no action of the part",
    ),
    "it starts otherwise": (
        replace(DESK, initial=DESK.actions["ids.grant"].updates[-1:]),
        "it starts otherwise",
    ),
    "an axiom is missing": (replace(DESK, axioms=()), "an axiom of it is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_changed_behind_the_composition_inherits_nothing(name):
    """The terms are compared, so that no mark has to be trusted; the other part's properties are inherited still."""
    spec, why = CHANGES[name]
    assert departure(spec, "ids", Allocation.spec) == why
    proof = prove(spec, STATED, counterexamples=False)
    assert {n for n in proof.inherited if n.startswith("ids.")} == set()
    assert any(n.startswith("lock.") for n in proof.inherited) or "the part's step" in name


def test_a_dropped_guard_breaks_the_refinement_too():
    """What the comparison of terms says, exploration finds."""
    spec, _ = CHANGES["a guard is dropped"]
    steps = part_refinement(DESK, "ids")
    assert explore(spec, {steps.name: steps}, dict(DESK_BOUNDS, ids=4)).verdicts == {steps.name: "violated"}


def test_a_part_that_was_mutated_inherits_nothing_and_the_others_do():
    """The mistake is made in the part, and what broke is found by the whole's own proof and by exploration."""
    spec = mutation(Desk.spec, "730.8", "ids.overlap").apply()
    proof = prove(spec, STATED, counterexamples=False)
    assert {n.partition(".")[0] for n in proof.inherited} == {"lock"}
    assert proof.verdict("ids.blocks_lie_behind") == "violated"
    assert proof.verdict("lock.one_inside") == "holds"
    bounds = dict(DESK_BOUNDS, brokers=2, ids=4)
    assert explore(spec, {"ids_differ": STATED["ids_differ"]}, bounds).verdicts == {"ids_differ": "violated"}


def test_a_part_that_only_does_less_keeps_what_was_proved():
    """An action that never happens takes nothing away from what always holds."""
    spec = replace(DESK, actions={n: a for n, a in DESK.actions.items() if n != "ids.grant"})
    assert departure(spec, "ids", Allocation.spec) is None


def test_what_a_step_without_change_would_break_is_not_inherited():
    """Every step of the clock takes time, and a step of the lock takes none."""
    proof = prove(settle(Clocked.spec), ClockedProperties.properties)
    assert proof.inherited.keys() == {n for n in proof.verdicts if n != "clock.always_on"}
    assert "clock.never_back" in proof.inherited
    assert proof.verdict("clock.always_on") == "violated"
    assert {o.action for o in proof.failures} == {"lock.draw", "lock.enter", "lock.leave"}


def test_what_is_not_proved_of_a_part_is_not_inherited():
    """A promise that is not inductive alone is asked of the whole, and fails there."""

    class Alone(Properties, of=TicketLock):
        one_inside = TicketLockProperties.__dict__["one_inside"]
        somebody_waits_for_somebody = TicketLockProperties.__dict__["somebody_waits_for_somebody"]

    class Two(Protocol):
        lock: Part[TicketLock]
        clock: Part[Ticking]

    class TwoProperties(Properties, of=Two):
        lock: Part[Alone]

    proof = prove(settle(Two.spec), TwoProperties.properties, counterexamples=False)
    assert proof.inherited == {}
    assert proof.verdict("lock.one_inside") == "violated"


def test_parts_of_parts_inherit():
    """The desk is proved with what it inherits, and the office inherits all of that."""
    facts = Facts()
    proof = prove(settle(Office.spec), {n: p for n, p in OfficeProperties.properties.items() if n != "clock.always_on"},
                  facts=facts)  # fmt: skip
    assert proof.failures == ()
    assert set(proof.verdicts) - proof.inherited.keys() == {"last_is_past"}
    assert {f.protocol for f in facts.known.values()} == {"Desk", "Allocation", "TicketLock", "Ticking"}


def test_facts_are_stored_with_the_hash_of_their_model(tmp_path, monkeypatch):
    """A part is not proved again where its fact is known; of another model the fact says nothing."""
    facts = Facts()
    prove(DESK, STATED, facts=facts)
    facts.write(tmp_path / "facts.json")
    stored = Facts.read(tmp_path / "facts.json")
    assert stored.known == facts.known

    def never(*_):
        raise AssertionError("a part that is known is proved again")

    source = STATED["ids.no_id_twice"].source
    assert stored.of(source, never).verdicts["no_id_twice"] == "holds"
    with pytest.raises(AssertionError, match="proved again"):
        stored.of(replace(source, spec=mutation(Allocation.spec, "730.8", "overlap").apply()), never)
    weaker = {n: p for n, p in source.properties.items() if n != "blocks_lie_behind"}
    with pytest.raises(AssertionError, match="proved again"):
        stored.of(replace(source, properties=weaker), never)


def test_a_fact_counts_for_what_it_says_and_no_more():
    """What a stored fact leaves open is asked of the whole."""
    model = hash_of_stated(Allocation.spec, AllocationProperties.properties.values())
    known = Fact(
        "Allocation", model, {"no_id_twice": "unknown", "blocks_are_disjoint": "holds"}, {"blocks_are_disjoint": ()}
    )
    proof = prove(DESK, STATED, facts=Facts([known]))
    assert {n for n in proof.inherited if n.startswith("ids.")} == {"ids.blocks_are_disjoint"}
    assert proof.failures == ()


@pytest.mark.parametrize(
    ("spec", "bounds"),
    [(DESK, DESK_BOUNDS), (settle(Clocked.spec), {"customers": 2, "tickets": 2})],
    ids=["desk", "clocked"],
)
def test_engines_agree_on_a_whole(spec, bounds):
    """The plain reading finds the states that exploration finds, with bounds by part."""
    bounds = {f"ids.{n}" if n in ("size", "crashes", "ids") else n: v for n, v in bounds.items()} | {"ids": 3}
    stated = (
        STATED if spec is DESK else {n: p for n, p in ClockedProperties.properties.items() if n != "clock.always_on"}
    )
    asked = {n: p for n, p in stated.items() if p.kind in ("always", "step")}
    made = explore(spec, asked, bounds)
    plain = Plain(spec, {"ids.size": 1} if spec is DESK else {}, dict(bounds))
    start = plain.initial()
    seen, wave = {(repr(start), 0)}, [(start, 0)]
    while wave:
        reached = []
        for now, spent in wave:
            for name, a in spec.actions.items():
                for event in plain.events(name):
                    costs = spent + (a.budget is not None)
                    if costs <= 1 and plain.enabled(now, event):
                        later = plain.step(now, event)
                        if later is not None and (repr(later), costs) not in seen:
                            seen.add((repr(later), costs))
                            reached.append((later, costs))
        wave = reached
    assert made.distinct == len(seen)
    assert not made.violated


def test_without_joint_steps_states_multiply():
    """Parts that have no step in common know nothing of one another."""
    bounds = {"customers": 2, "tickets": 2}
    both, clock, lock = (explore(settle(p.spec), {}, bounds).distinct for p in (Clocked, Ticking, TicketLock))
    assert both == clock * lock


def test_bounds_of_one_part_leave_the_other_as_it_is():
    """A number of the part is cut where the part says, or else where the whole does."""
    bounds = {"customers": 2, "tickets": 2, "clock.tickets": 5}
    clock, lock = explore(settle(Ticking.spec), {}, {"tickets": 5}), explore(settle(TicketLock.spec), {}, bounds)
    assert explore(settle(Clocked.spec), {}, bounds).distinct == clock.distinct * lock.distinct


def test_a_property_of_the_whole_may_use_the_helpers_of_a_parts_properties():
    """As the part's own properties do."""

    class Known(Properties, of=Ticking):
        def early(s):
            return s.now <= 1

        @lemma
        def any_time(s):
            """It is early or not."""
            return s.early() | ~s.early()

    class Two(Protocol):
        clock: Part[Ticking]
        ids: Part[Allocation]

        @action
        def tick_and_grant(s, i: Id):
            s.clock.tick()

    class TwoProperties(Properties, of=Two):
        clock: Part[Known]

        @lemma
        def early_or_granted(s):
            """It is early, or some time later."""
            return s.clock.early() | (s.clock.now >= 1)

    assert prove(settle(Two.spec), TwoProperties.properties).verdict("early_or_granted") == "holds"
