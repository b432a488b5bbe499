"""A failed attempt of a proof is told as one step, and exploration says whether a run comes to it."""

from functools import cache

from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.proofs.engines.induction import Proof, prove
from fencepost.proofs.engines.induction_counterexamples import narrate, reach
from fencepost.properties.catalogue import bounds_of
from fencepost.properties.id_blocks.variants import ID_BLOCKS
from z3_protocols import Allocation, AllocationProperties

KRAFT = ID_BLOCKS.variant("kraft")
BOUNDS = bounds_of(KRAFT, "smoke")
NO_COMMIT = mutation(KRAFT.properties.protocol.spec, "730.7", "answer: guard 1 dropped").apply()
FEWER = {n: p for n, p in KRAFT.promised.items() if n != "recorded_is_new"}


@cache
def without_the_commit() -> Proof:
    return prove(NO_COMMIT, KRAFT.promised)


@cache
def without_a_lemma() -> Proof:
    return prove(KRAFT.spec, FEWER)


def test_one_step_in_words():
    """The state before, zeros left out; the step; each change; what breaks, with its sentence."""
    proof = without_the_commit()
    (failed,) = [o for o in proof.failures if o.property == "granted_is_booked"]
    assert list(narrate(NO_COMMIT, KRAFT.promised, failed)) == [
        f"answer breaks granted is booked: {KRAFT.promised['granted_is_booked'].doc}",
        "  of     Broker 1, Request 1, size 1, ids 0",
        "  before stage: 0 is RECORDED",
        "         next: 1",
        "  step   answer(r=0)",
        "  after  granted[0]: no -> yes",
        "         stage[0]: RECORDED -> ANSWERED",
    ]


def test_a_run_comes_to_it():
    """What is wrong is not the proof: three steps from the start do the same."""
    proof = without_the_commit()
    found = {o.property: r for o, r in reach(NO_COMMIT, KRAFT.promised, BOUNDS, proof.failures)}
    assert set(found) == {"granted_is_booked", "answered_was_granted"}
    reached = found["granted_is_booked"]
    assert reached is not None
    assert (reached.steps, reached.last) == (3, "answer")
    (failed,) = [o for o in proof.failures if o.property == "granted_is_booked"]
    assert next(reached.words(failed)).startswith(
        "  a run from the start breaks it in 3 steps, by this very action: ask("
    )


def test_no_run_comes_to_it():
    """A lemma is missing: every state within the bounds keeps what the attempt breaks."""
    small = {**BOUNDS, "ids": 2, "fail_overs": 0, "copies": 0}
    proof = without_a_lemma()
    found = [(o, r) for o, r in reach(KRAFT.spec, FEWER, small, proof.failures) if o.property == "disjoint_blocks"]
    [(failed, reached)] = found
    assert reached is not None
    assert (reached.steps, reached.complete) == (None, True)
    assert reached.states > 1000
    words = list(reached.words(failed))
    assert words[0].startswith(f"  no explored state is like it, of {reached.states:,} within ")
    assert "a lemma is missing" in words[1]


def test_outside_of_the_bounds():
    """A counterexample with two requests does not fit into bounds of one."""
    proof = without_a_lemma()
    found = {o.property: r for o, r in reach(KRAFT.spec, FEWER, {**BOUNDS, "requests": 1, "ids": 1}, proof.failures)}
    assert found["answers_are_disjoint"] is None
    assert found["disjoint_blocks"] is not None


def test_what_is_not_decided_says_how_to_go_on():
    """No counterexample, no proof: the option that allows more."""
    spec = settle(Allocation.spec)
    proof = prove(spec, AllocationProperties.properties, rlimit=1)
    unknown = [o for o in proof.failures if o.verdict == "unknown" and o.kind == "preserved"]
    assert unknown
    assert "--profile" in next(narrate(spec, AllocationProperties.properties, unknown[0]))
