"""Refinements are checked by every engine that checks steps: right mappings hold, wrong ones and wrong protocols are
caught at the first step that is none of the core's."""

from collections.abc import Iterable
from typing import Any

import pytest
import z3
from fencepost.model.language import Properties
from fencepost.model.language.tree.terms import Term
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.readings.solver.solving import RLIMIT, Question
from fencepost.properties.catalogue import find
from refinement_leases import Flushed, FlushedTwice, FromArrival, FromGrant, Spare, Unchecked
from refinement_protocols import AtFinish, AtPrepare, EachAtFinish, EachFromOne, EachUntilTwo, FromOne, Twice

BOUNDS = dict(nodes=2, counts=4, terms=4, losses=1, spare=2, slots=3)
RIGHT = [AtFinish, FromGrant, Flushed, EachAtFinish]
WRONG = [  # with the shortest run to a step that the core does not have
    (AtPrepare, ["prepare"]),
    (Twice, ["prepare", "finish", "prepare", "finish"]),
    (FromArrival, ["ask", "grant"]),
    (Unchecked, ["ask", "grant", "ask", "grant"]),
    (FlushedTwice, ["hand_in", "flush", "flush"]),
    (FromOne, []),
    (EachUntilTwo, ["prepare", "prepare", "finish", "finish"]),
    (EachFromOne, []),
    (Spare, []),
]


def name_of(properties: type[Properties]) -> str:
    return next(n for n, p in properties.properties.items() if p.role == "refinement")


@pytest.mark.parametrize("properties", RIGHT, ids=lambda p: p.__name__)
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_a_right_mapping_holds_of_all_states(properties: type[Properties], engine: str) -> None:
    """The explorer finds no step that is none of the core's."""
    made = explore(properties.protocol.spec, properties.properties, BOUNDS, engine=engine)
    assert made.complete and made.distinct > 5
    assert made.verdicts[name_of(properties)] == "holds"


@pytest.mark.parametrize("properties", [AtFinish, FromGrant, EachAtFinish], ids=lambda p: p.__name__)
def test_a_right_mapping_is_proved(properties: type[Properties]) -> None:
    """Induction proves it without bounds, from the lemmas of the full protocol."""
    proof = prove(properties.protocol.spec, properties.properties)
    assert proof.verdicts[name_of(properties)] == "holds"


@pytest.mark.parametrize(("properties", "run"), WRONG, ids=[p.__name__ for p, _ in WRONG])
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_a_wrong_one_is_found(properties: type[Properties], run: list[str], engine: str) -> None:
    """By the explorer, with a shortest run that ends in the step; the plain reading agrees that it is none."""
    name = name_of(properties)
    made = explore(properties.protocol.spec, properties.properties, BOUNDS, engine=engine)
    assert made.verdicts[name] == "violated"
    trace = made.traces[name]
    assert [event.action for event in trace.events] == run
    item, plain = properties.properties[name], Plain(properties.protocol.spec, BOUNDS, BOUNDS)
    assert item.initially is not None
    assert plain.holds(item.initially, trace.states[0]) == bool(run)
    kept = [plain.holds(item, *states) for states in zip(trace.states, trace.states[1:], strict=False)]
    assert kept == [True] * (len(run) - 1) + [False] * bool(run)


@pytest.mark.parametrize(
    ("properties", "fails"),
    [
        (AtPrepare, {("step", "prepare"), ("step", "finish"), ("step", "give_up")}),
        (Twice, {("step", "finish")}),
        (FromArrival, {("step", "grant"), ("step", "arrive")}),
        (Unchecked, {("step", "grant")}),
        (FromOne, {("initial", "init")}),
        (Spare, {("initial", "init")}),
    ],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_a_wrong_one_is_not_proved(properties: type[Properties], fails: set[tuple[str, str]]) -> None:
    """Induction names the actions that are none of the core's, with a state in which they are not."""
    name = name_of(properties)
    failed = [o for o in prove(properties.protocol.spec, properties.properties).failures if o.property == name]
    assert {(o.kind, o.action) for o in failed} == fails
    assert all(o.verdict == "violated" and o.counterexample is not None for o in failed)


def test_a_step_is_tried_with_its_own_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Z3 does not decide whether there are parameters of a core's step, those of the same names and sorts."""
    _, variant = find("end-to-end/connect-admits")
    assert variant is not None
    [claim, _] = variant.promised["does_as_admission"].terms
    asked: list[Any] = []
    check = Question.check

    def undecided_at_first(self: Question, assuming: Iterable[Term], limit: int | None = None) -> Any:
        asked.append(None)
        return z3.unknown if len(asked) == 1 else check(self, assuming, limit)

    monkeypatch.setattr(Question, "check", undecided_at_first)
    for action, verdict, times in (("fence_late", "holds", 2), ("elect", "unknown", 1)):
        asked.clear()
        question = Question.step(variant.spec, variant.spec.actions[action], [], RLIMIT)
        assert (question.proves(claim, []).verdict, len(asked)) == (verdict, times)
