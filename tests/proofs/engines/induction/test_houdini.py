"""Houdini keeps exactly the lemmas that support one another, and says what else follows from them."""

from dataclasses import replace

from fencepost.model.language import forall, implies, lemma
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.model.language.tree.terms import zero
from fencepost.proofs.engines.houdini import Known, houdini, redundant
from z3_protocols import Allocation, AllocationProperties, Broker


class Doubtful(AllocationProperties, of=Allocation):
    """The same, with lemmas that do not hold or do not last."""

    @lemma
    def starts_at_one(s):
        """False of the initial state."""
        return s.next >= 1

    @lemma
    def never_used_up(s):
        """True at first, and broken by hand_out."""
        return forall(Broker, lambda b: implies(s.has[b], s.cursor[b] == s.first[b]))

    @lemma
    def rests_on_a_false_one(s):
        """Holds only as long as never_used_up does."""
        return forall(Broker, lambda b: implies(s.has[b], s.cursor[b] <= s.first[b]))


class Slower(AllocationProperties, of=Allocation):
    """A lemma declared for a mutant."""

    @lemma
    def next_is_a_number(s):
        """True of any protocol."""
        return s.next >= 0


def test_lemmas_that_fall_take_along_what_rests_on_them():
    """One falls at the start, one at an action, one because another fell; everything else stays."""
    found = houdini(settle(Allocation.spec), Doubtful.properties)
    assert found.dropped == {
        "starts_at_one": "init",
        "never_used_up": "hand_out",
        "rests_on_a_false_one": "hand_out",
    }
    always = [n for n, p in AllocationProperties.properties.items() if p.kind == "always"]
    assert list(found.remaining) == always


def test_a_rule_that_matters_leaves_the_promise_open():
    """With blocks that overlap by one, the promise is not proved, and that is no refutation."""
    found = redundant(mutation(Allocation.spec, "730.8", "overlap").apply(), AllocationProperties.properties)
    assert found.verdict == "unknown"
    assert found.open["no_id_twice"] == "hand_out"
    assert "blocks_lie_behind" in found.inductive.dropped


def test_a_rule_that_does_not_matter_leaves_everything_proved():
    """A guard made stricter breaks no promise, with lemmas declared for the mutant or without."""
    spec = mutation(Allocation.spec, "730.12", "hand_out: guard 1 stricter").apply()
    for extra in ({}, Slower.properties):
        found = redundant(spec, AllocationProperties.properties, extra)
        assert (found.verdict, found.open, found.inductive.dropped) == ("holds", {}, {})


def test_step_properties_count():
    """If the next free id may go back, the step property is open although every promise still holds."""
    spec = settle(Allocation.spec)
    (update,) = [u for u in spec.actions["grant"].updates if u.variable == "next"]
    grant = replace(spec.actions["grant"], updates=(replace(update, value=zero(update.value.type)),))
    found = redundant(replace(spec, actions={"grant": grant}), AllocationProperties.properties)
    assert found.open == {"next_only_grows": "grant"}


def test_known_proofs_are_used_again():
    """A mutant of one action asks about that action only, and gets the same answer as without what is known."""
    known = Known()
    redundant(settle(Allocation.spec), AllocationProperties.properties, known=known)
    before = known.asked
    mutant = mutation(Allocation.spec, "730.12", "hand_out: guard 1 dropped").apply()
    again = redundant(mutant, AllocationProperties.properties, known=known)
    fresh = Known()
    alone = redundant(mutant, AllocationProperties.properties, known=fresh)
    assert known.asked - before < fresh.asked
    assert (again.open, again.inductive.remaining) == (alone.open, alone.inductive.remaining)
