"""Formulas made by Z3's C interface are the very nodes that z3py's operators make."""

import itertools

import pytest
import z3
from fencepost.proofs.readings.solver import building

CONTEXT = z3.Context()
INTS = [z3.Int("a", CONTEXT), z3.IntVal(3, CONTEXT), z3.Int("b", CONTEXT) + 1, z3.IntVal(4, CONTEXT)]
BOOLS = [z3.Bool("p", CONTEXT), z3.BoolVal(True, CONTEXT), z3.Bool("q", CONTEXT), INTS[0] <= INTS[2],
         z3.ForAll([INTS[0]], INTS[0] >= 0)]  # fmt: skip
SORT = z3.DeclareSort("S", CONTEXT)
ELEMENTS = [z3.Const("x", SORT), z3.Const("y", SORT)]


def alike(made: z3.ExprRef, meant: z3.ExprRef) -> None:
    assert building.same(made, meant), (made, meant)
    assert made.get_id() == meant.get_id()
    assert building.kind_of(made) is building.kind_of(meant)
    assert (building.number_of(made) == building.number_of(INTS[0])) is made.eq(INTS[0])


@pytest.mark.parametrize(("a", "b"), itertools.product(INTS, INTS))
def test_numbers_are_compared_alike_literals_on_either_side_too(a: z3.ArithRef, b: z3.ArithRef) -> None:
    alike(building.less(a, b), a < b)
    alike(building.at_most(a, b), a <= b)
    alike(building.equal(a, b), a == b)
    alike(building.conditional(BOOLS[0], a, b), z3.If(BOOLS[0], a, b))


@pytest.mark.parametrize(("a", "b"), itertools.product(BOOLS, BOOLS))
def test_conditions_are_joined_alike(a: z3.BoolRef, b: z3.BoolRef) -> None:
    alike(building.both([a, b, a]), z3.And(a, b, a))
    alike(building.either([a, b]), z3.Or(a, b))
    alike(building.implication(a, b), z3.Implies(a, b))
    alike(building.equal(a, b), a == b)
    alike(building.negation(a), z3.Not(a))
    alike(building.conditional(a, b, a), z3.If(a, b, a))


def test_functions_are_applied_alike_and_elements_compared() -> None:
    function = z3.Function("f", SORT, z3.IntSort(CONTEXT), z3.IntSort(CONTEXT))
    for element, number in itertools.product(ELEMENTS, INTS):
        meant = function(element, number)
        alike(building.applied(function, building.kind_of(meant), [element, number]), meant)
    alike(building.equal(*ELEMENTS), ELEMENTS[0] == ELEMENTS[1])
    alike(building.conditional(BOOLS[0], *ELEMENTS), z3.If(BOOLS[0], *ELEMENTS))


def test_what_z3_does_not_make_is_its_error() -> None:
    with pytest.raises(z3.Z3Exception):
        building.negation(INTS[0])
