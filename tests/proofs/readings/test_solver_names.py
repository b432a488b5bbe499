"""What Z3 is given has a name of its own: two things of one name and one sort would be the same to it."""

import pytest
from fencepost.model.language import Nat, Properties, Protocol, action, lemma, require
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.protocol import Spec
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.readings.solver.solving import RLIMIT, Question
from fencepost.properties.catalogue import protocols

SPECS = {v.spec.name: v.spec for entry in protocols().values() for v in entry.variants if v.main and v.proof}


def names_of(spec: Spec) -> list[tuple[str, ...]]:
    """The names with their sorts of every variable, constant and parameter, part by part, an action at a time."""
    found = []
    for act in spec.actions.values():
        question = Question.step(spec, act, (), RLIMIT)
        state = [f for parts in question.before.functions.values() for f in parts]
        values = [*question.reading.constants.values(), *question.names.values()]
        made = [*state, *(part.decl() for value in values for part in value)]
        found.append(tuple(decl.sexpr() for decl in made))
    return found


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_no_two_are_one(spec: Spec) -> None:
    """Of every variant that is proved."""
    for names in names_of(spec):
        assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)


class Climbing(Protocol):
    """A variable and a parameter of one name and one sort."""

    level: Nat

    @action
    def climb(s, level: Nat):
        require(s.level < level)
        s.level = level


class ClimbingProperties(Properties, of=Climbing):
    """True only of a model in which nothing ever happens."""

    @lemma
    def on_the_ground(s):
        """The level stays zero."""
        return s.level == 0

    @lemma
    def no_higher(s):
        """Nor gets higher."""
        return s.level <= 1


def test_a_parameter_is_not_the_variable_of_its_name() -> None:
    """It was, and the guard `level < level`, so that anything was proved of this action."""
    proof = prove(settle(Climbing.spec), ClimbingProperties.properties)
    assert {proof.verdict(name) for name in ClimbingProperties.properties} == {"violated"}
