"""Induction proves what holds without bounds, refutes with small states, and does not pass an invariant that says
nothing."""

import pytest
import z3
from fencepost.model.language import (
    Map,
    ModelError,
    Nat,
    Properties,
    Protocol,
    Seq,
    action,
    append,
    lemma,
    length,
    require,
)
from fencepost.model.language.derived.mutations import mutation, mutations, settle
from fencepost.proofs.engines.induction import antecedents, prove
from fencepost.proofs.engines.obligations import invariant
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.readings.solver.solving import RLIMIT, Question
from fencepost.proofs.results import Event
from z3_protocols import Allocation, AllocationProperties, Broker, Contradiction, TicketLock, TicketLockProperties


def proved(protocol, properties, **options):
    return prove(settle(protocol.spec), properties.properties, **options)


@pytest.mark.parametrize(
    ("protocol", "properties"), [(Allocation, AllocationProperties), (TicketLock, TicketLockProperties)]
)
def test_true_properties_are_proved_for_any_number_of_elements(protocol, properties):
    """Every obligation is discharged, and each property that is no witness gets a verdict."""
    proof = proved(protocol, properties)
    assert proof.failures == ()
    assert set(proof.verdicts) == {n for n, p in properties.properties.items() if p.role != "witness"}


def test_an_overlap_of_one_id_is_refuted_by_a_step_from_the_invariant():
    """The counterexample is the smallest: one broker, a block of one id, and the next free id does not move."""
    proof = prove(mutation(Allocation.spec, "730.8", "overlap").apply(), AllocationProperties.properties)
    (failure,) = proof.failures
    example = failure.counterexample
    assert (failure.action, failure.property, failure.verdict) == ("grant", "blocks_lie_behind", "violated")
    assert (example.sizes, example.constants, example.event) == ({"Broker": 1}, {"size": 1}, Event("grant", {"b": 0}))
    assert example.before == {"next": 0, "has": {}, "first": {}, "cursor": {}, "end": {}, "used": {}}
    assert example.after == example.before | {"has": {(0,): True}, "end": {(0,): 1}}


def test_a_promise_without_its_lemmas_is_not_inductive():
    """Alone, one_inside has a counterexample with two elements, told in Options and members."""
    alone = {n: p for n, p in TicketLockProperties.properties.items() if n == "one_inside"}
    proof = prove(settle(TicketLock.spec), alone)
    (failure,) = proof.failures
    assert (failure.action, failure.counterexample.sizes) == ("enter", {"Customer": 2})
    assert sorted(failure.counterexample.before["place"].values()) == [1, 2]
    assert failure.counterexample.after["place"] == {(0,): 2, (1,): 2}


def test_a_contradictory_invariant_does_not_pass():
    """All steps from no state preserve everything; the antecedents and the actions tell."""
    proof = proved(Allocation, Contradiction)
    assert proof.verdict("no_id_twice") == "holds"
    assert {o.action for o in proof.failures if o.kind == "enabled"} == set(Allocation.spec.actions)
    assert proof.verdict("blocks_are_disjoint") == "violated"
    assert proof.verdict() == "violated"


def test_an_exhausted_limit_is_unknown_and_never_a_verdict():
    """With a resource limit of one nothing is refuted, and what needs a search stays unknown."""
    proof = proved(Allocation, AllocationProperties, rlimit=1)
    assert "violated" not in proof.verdicts.values()
    assert proof.verdict("blocks_are_disjoint") == proof.verdict() == "unknown"


def test_what_an_action_does_not_write_is_unchanged():
    """No solver is asked whether a crash, which forgets a block, uses an id twice."""
    proof = proved(Allocation, AllocationProperties)
    how = {(o.action, o.property): o.how for o in proof.obligations if o.kind == "preserved"}
    assert how["crash", "no_id_twice"] == "unchanged"
    assert how["hand_out", "no_id_twice"] == "solver"


def test_a_proof_names_the_lemmas_that_it_used():
    """That an id is handed out once follows from the lemma about ids still held, and from nothing else."""
    proof = proved(Allocation, AllocationProperties)
    (found,) = [o for o in proof.obligations if (o.action, o.property) == ("hand_out", "no_id_twice")]
    assert set(found.uses) == {"no_id_twice", "ids_in_blocks_are_free"}


def test_the_same_question_gets_the_same_answer_twice():
    """Counterexamples and proofs are identical when asked again in the same process, apart from the time they took."""
    spec = mutation(Allocation.spec, "730.12", "hand_out: guard 1 dropped").apply()
    first, second = (prove(spec, AllocationProperties.properties) for _ in range(2))
    assert [(o.verdict, o.uses, o.counterexample) for o in first.obligations] == [
        (o.verdict, o.uses, o.counterexample) for o in second.obligations
    ]


def test_progress_hears_of_every_obligation():
    """The callback sees the obligations in the order of the proof."""
    heard = []
    proof = proved(TicketLock, TicketLockProperties, progress=heard.append)
    assert tuple(heard) == proof.obligations


def test_antecedents_are_found_under_quantifiers():
    """Each implication yields one closed condition: what must be possible for it to mean something."""
    (found,) = antecedents(AllocationProperties.properties["blocks_are_disjoint"].term)
    assert found.op == "exists"
    assert len(found.data) == 2
    assert antecedents(AllocationProperties.properties["no_id_twice"].term) == ()


class Queue(Protocol):
    """A sequence, which has no place in an unbounded proof."""

    waiting: Seq[Nat, "places"]  # noqa: F821
    seen: Map[Nat, Nat]

    @action
    def come(s, n: Nat):
        append(s.waiting, n)


class QueueProperties(Properties, of=Queue):
    @lemma
    def anything(s):
        """A sequence has a length."""
        return length(s.waiting) >= 0


def test_sequences_are_refused_with_a_way_out():
    """The error says which variable, why, and what to do instead."""
    with pytest.raises(ModelError, match=r"waiting is a sequence.*model it as a map"):
        prove(Queue.spec, QueueProperties.properties)


class Defensive(Allocation):
    """With an action against a fault that the protocol excludes."""

    @action(dead="no block ends before its cursor")
    def complain(s, b: Broker):
        require(s.has[b] & (s.end[b] < s.cursor[b]))
        s.has[b] = False

    @action(dead="nobody gives up early, says an author who is wrong")
    def give_up(s, b: Broker):
        require(s.has[b])
        s.has[b] = False


def test_an_action_declared_dead_is_proved_so():
    """A dead action must be impossible under the invariant; one that is possible is a failure, even if it does no
    harm."""
    proof = proved(Defensive, AllocationProperties)
    dead = {o.action: o.verdict for o in proof.obligations if o.kind == "dead"}
    assert dead == {"complain": "holds", "give_up": "violated"}
    assert {o.kind for o in proof.failures} == {"dead"}


@pytest.mark.parametrize("answer", [z3.unknown, None, "unsat"])
def test_a_solver_that_gives_up_decides_nothing(monkeypatch, answer):
    """Neither that a step holds, nor whether a state is possible, nor that an action declared dead is."""
    monkeypatch.setattr(Question, "check", lambda *_, **__: answer)
    proof = proved(Defensive, AllocationProperties, counterexamples=False)
    asked = [o for o in proof.obligations if o.how == "solver"]
    assert {o.kind for o in asked} >= {"initial", "preserved", "antecedent", "enabled", "dead"}
    assert {o.verdict for o in asked} == {"unknown"}


def test_a_lemma_stays_where_the_solver_gives_up_without_it(monkeypatch):
    """Else a proof would rest on fewer lemmas than it needs, and one of these could fail unnoticed."""
    spec, always = settle(Allocation.spec), invariant(AllocationProperties.properties)
    question = Question.step(spec, spec.actions["hand_out"], always.values(), RLIMIT)
    answer = question.proves(always["no_id_twice"], always.values())
    assert answer.verdict == "holds" and len(answer.uses) > 1
    monkeypatch.setattr(Question, "check", lambda *_, **__: z3.unknown)
    assert question.minimal(answer, always["no_id_twice"], 1) == answer.uses


@pytest.mark.parametrize(
    ("protocol", "properties"), [(Allocation, AllocationProperties), (TicketLock, TicketLockProperties)]
)
def test_counterexamples_to_induction_are_steps_of_the_plain_reading(protocol, properties):
    """Of every mutant: the invariant holds before, the event is enabled and leads to the state after, which
    violates."""
    always = {n: p for n, p in properties.properties.items() if p.kind == "always"}
    refuted = 0
    for mutant in mutations(protocol.spec):
        spec = mutant.apply()
        for failure in (o for o in prove(spec, always).failures if o.kind == "preserved"):
            refuted += 1
            example = failure.counterexample
            plain = Plain(spec, example.constants, {"brokers": 2, "customers": 2, "ids": 12, "tickets": 12})
            assert all(plain.holds(p, example.before) for p in always.values()), (mutant.name, failure)
            assert plain.enabled(example.before, example.event), (mutant.name, failure)
            assert plain.step(example.before, example.event) == example.after, (mutant.name, failure)
            assert not plain.holds(always[failure.property], example.after), (mutant.name, failure)
    assert refuted > 1
