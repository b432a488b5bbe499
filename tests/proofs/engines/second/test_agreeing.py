"""The text of a step and what Z3 is asked of it are read apart, and are the same; a text that differs is found."""

from dataclasses import replace

import pytest
import z3
from fencepost.proofs.engines.obligations import Obligation, invariant
from fencepost.proofs.engines.second import agreeing
from fencepost.proofs.engines.second.agreeing import Comparison, alike
from fencepost.proofs.engines.second.asking import Z3Again
from fencepost.proofs.engines.second.statements import Statement, needed_steps, statements
from fencepost.properties.catalogue import Variant, find
from nights import night
from second_campaign import proved

SMALL = ("source-offsets/merged-at-the-start", "id-blocks/zookeeper", "transactions/core-v2-fated")


def variant_of(which: str) -> Variant:
    _, variant = find(which)
    assert variant is not None
    return variant


def stated(which: str, *, every: bool = True) -> list[Statement]:
    """Each step of a variant's induction, as if all of the invariant were used, or none."""
    variant = variant_of(which)
    uses = tuple(invariant(variant.promised)) if every else ()
    steps = sorted(needed_steps(variant.spec, variant.promised))
    obligations = [Obligation(kind, action, name, "holds", 0.0, "solver", uses) for kind, action, name in steps]
    return list(statements(variant.spec, variant.promised, obligations, which))


def unequal(which: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What differs in more than the names of quantified variables, without a proof that it is equivalent."""
    monkeypatch.setattr(agreeing, "_equivalent", lambda a, b: False)
    variant = variant_of(which)
    compare = Comparison(variant.spec, variant.promised).difference
    return [words for words in map(compare, stated(which)) if words is not None]


@pytest.mark.parametrize("which", SMALL)
def test_both_readings_make_the_same_formulas(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of initial states, of all actions, of consequences and of the whole invariant."""
    assert unequal(which, monkeypatch) == []


@pytest.mark.nightly
def test_a_variant_of_each_night(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one each night."""
    every = proved()
    assert unequal(every[(night() or 1) % len(every)], monkeypatch) == []


CHANGES = {
    "one more": lambda goal: f"{goal}\n(assert false)",
    "another goal": lambda goal: goal.replace("(assert ", "(assert (not ") + ")",
    "the goal in other words": lambda goal: goal.replace("(assert ", "(assert (or false ") + ")",
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_text_is_found(change: str) -> None:
    """Unless Z3 proves that it says the same."""
    variant, one = variant_of(SMALL[0]), stated(SMALL[0])[-1]
    [*_, goal] = [line for line in one.text.splitlines() if line.startswith("(assert ")]
    words = Comparison(variant.spec, variant.promised).difference(
        replace(one, text=one.text.replace(goal, CHANGES[change](goal)))
    )
    if change == "the goal in other words":
        assert words is None
    else:
        assert words is not None and "Z3 was asked" in words


def test_formulas_are_alike_but_for_names() -> None:
    """And for the side on which a comparison has its numeral."""
    text = """(declare-fun f (Int) Int)
    (assert (forall ((x Int)) (< (f x) 3)))
    (assert (forall ((y Int)) (> 3 (f y))))
    (assert (forall ((y Int)) (<= (f y) 3)))
    (assert (exists ((x Int)) (< (f x) 3)))
    (assert (forall ((x Int) (y Int)) (= (f x) (f y))))
    (assert (forall ((x Int) (y Int)) (= (f y) (f x))))"""
    a, turned, at_most, some, two, swapped = z3.parse_smt2_string(text)
    assert alike(a, turned)
    assert not any(alike(a, other) for other in (at_most, some, two)) and not alike(two, swapped)


def test_z3_refutes_the_text_of_a_step() -> None:
    """With the whole invariant, and does not without any of it where that is needed."""
    again = Z3Again()
    with_all, without = ([again.ask(s.text).result for s in stated(SMALL[0], every=every)] for every in (True, False))
    assert set(with_all) == {"unsat"} and "sat" in without
