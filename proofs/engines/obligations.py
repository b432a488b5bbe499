"""This module has the obligations of a proof by induction, and which properties its invariant has.

It imports no solver, so that what checks proofs needs none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fencepost.model.language.properties import Property
from fencepost.model.language.tree.terms import Term
from fencepost.proofs.results import Verdict

if TYPE_CHECKING:
    from fencepost.proofs.readings.solver.models import Counterexample

Kind = Literal["initial", "preserved", "step", "follows", "antecedent", "enabled", "dead", "inherited"]
VACUITY: tuple[Kind, ...] = ("antecedent", "enabled")
"""Obligations of these kinds are evidence that the invariant is not vacuous, and are not steps of a proof."""


@dataclass(frozen=True)
class Obligation:
    """An `Obligation` is one thing to prove. ``action`` is "init" for initial states and empty for an antecedent.
    ``property`` is empty for the question whether an action can happen ("dead" is the question whether an action
    declared dead cannot). ``uses`` names the properties that the proof needed before the step, as few as Z3 can do
    with. ``how`` is "stated" if it was proved by steps that the property states, "unchanged" if the action writes
    nothing that the property reads, so that no solver was asked, and "inherited" if it was proved of the part that
    ``action`` names. ``cached`` is the time of the proof, if an earlier run made it."""

    kind: Kind
    action: str
    property: str
    verdict: Verdict
    seconds: float
    how: Literal["solver", "stated", "unchanged", "inherited"] = "solver"
    uses: tuple[str, ...] = ()
    counterexample: "Counterexample | None" = None
    cached: str | None = None


def invariant(properties: Mapping[str, Property]) -> dict[str, Term]:
    """Return the promises and lemmas by name, which are assumed before every step."""
    return {name: p.term for name, p in properties.items() if p.kind == "always" and p.role != "consequence"}


def consequences(properties: Mapping[str, Property]) -> dict[str, Term]:
    """Return what follows from the promises and lemmas in any state, and is assumed nowhere."""
    return {name: p.term for name, p in properties.items() if p.role == "consequence"}


def steps(properties: Mapping[str, Property]) -> dict[str, Term]:
    return {name: p.term for name, p in properties.items() if p.kind == "step"}
