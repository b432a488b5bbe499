"""A long expression that stands in several places is named once, and the name stands for exactly that expression."""

import re

import pytest
from fencepost.model.language import Map, Nat, Protocol, Sort, action, require, when
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.model.language.tree.terms import Term, local, rewrite
from fencepost.proofs.readings.naming import Names, _roots, numbered, say_actions
from fencepost.proofs.readings.words import say, say_action
from fencepost.properties.catalogue import protocols

VARIANTS = {f"{e.name}/{v.name}": v for e in protocols().values() for v in e.variants if v.main}


def unfolded(root: Term, meaning: dict[Term, Term]) -> Term:
    """A term with what names stand for in their place."""
    while (larger := rewrite(root, lambda node: meaning.get(node, node))) is not root:
        root = larger
    return root


@pytest.mark.parametrize("name", VARIANTS)
def test_names_stand_for_what_was_there(name: str) -> None:
    """Put back in their places, the expressions give each guard and update as it was, in every main variant."""
    variant = VARIANTS[name]
    names = Names(variant.properties.protocol, variant.spec)
    for original in variant.spec.actions.values():
        observed, further = numbered(names.folded(original), names.fold)
        meaning = {called: node for node, called in names.fold.items()}
        meaning |= {local(called, node.type): node for node, called in further}
        for before, after in zip(_roots(original), _roots(observed), strict=True):
            assert say(unfolded(after, meaning)) == say(before)


def test_a_screen_becomes_a_line() -> None:
    """Of the model that KIP-618 shipped with, in which one expression filled a screen."""
    variant = VARIANTS["task-counts/shipped"]
    before = [line for action in variant.spec.actions.values() for line in say_action(action)]
    lines = list(say_actions(variant.properties.protocol, variant.spec))
    assert max(map(len, before)) > 800 and max(map(len, lines)) <= 140
    start = lines.index("start_round(w: Worker), weakly fair")
    own = lines[start + 1 : start + 17]
    assert "    then   round[w] := (CHECKED if needs_no_fencing(size(latest_set)), else FENCING)" in own
    assert "    where  needs_no_fencing(new) is latest_count = 0 or (count = 1 and new = 1)" in own
    assert "    where  latest_set is latest r of log up to length of log with r <= tasks" in own


@pytest.mark.parametrize("name", VARIANTS)
def test_each_name_is_explained_once(name: str) -> None:
    """Whatever helper's name stands in the table has one line that says what it is, for each number of arguments."""
    variant = VARIANTS[name]
    names = Names(variant.properties.protocol, variant.spec)
    lines = list(say_actions(variant.properties.protocol, variant.spec))
    where = [line.removeprefix("    where  ").split(" is ")[0] for line in lines if line.startswith("    where  ")]
    explained = [head for head in where if not re.fullmatch(r"x\d", head)]
    observed = {word for line in lines if line.startswith("    ") for word in re.findall(r"\w+", line)}
    assert len(explained) == len(set(explained))
    assert {head.partition("(")[0] for head in explained} == {name for name in names.helpers if name in observed}


class Cell(Sort, bound="cells"):
    """A place for three amounts."""


class Shared(Protocol):
    """What one helper returns stands in a guard and twice in updates; another sum has no name."""

    amount: Map[Cell, Nat]
    other: Map[Cell, Nat]
    seen: Map[Cell, Nat]

    def the_larger_amount(s, c):
        return when(s.amount[c] < s.other[c], s.other[c], s.amount[c])

    @action
    def take(s, c: Cell):
        """Takes the larger amount."""
        require(s.the_larger_amount(c) > 0, rule="730.16")
        everything = s.amount[c] + s.other[c] + s.seen[c] + s.amount[c]
        larger = s.the_larger_amount(c)
        s.seen[c] = larger + everything
        s.other[c] = everything


def test_a_helper_and_a_number() -> None:
    """In full: the model's own word where it has one, x1 where it has none."""
    assert list(say_actions(Shared, settle(Shared.spec))) == [
        "take(c: Cell)",
        "    Takes the larger amount.",
        "    needs  0 < the_larger_amount(c)  [730.16]",
        "    then   seen[c] := the_larger_amount(c) + x1",
        "    then   other[c] := x1",
        "    where  x1 is amount[c] + other[c] + seen[c] + amount[c]",
        "    where  the_larger_amount(c) is (other[c] if amount[c] < other[c], else amount[c])",
    ]


def test_a_mutant_has_no_name_for_what_it_changed() -> None:
    """A rule read differently is listed as it is read, not under the name of what the helper returns."""
    variant = VARIANTS["task-counts/shipped"]
    wrong = mutation(variant.properties.protocol.spec, "618.5", "the_new_is_one").apply()
    lines = list(say_actions(variant.properties.protocol, wrong))
    assert not any("needs_no_fencing" in line for line in lines)
    assert any("latest_count = 0 or size(latest_set) = 1" in line for line in lines)
