"""Proof by induction, without bounds: initial states satisfy every promise and lemma, and every action preserves them.

What is assumed before a step is the conjunction of all promises and lemmas and the types of the variables; what must
hold after it is each of them, and each step property of the step.  A proof counts only if the invariant says
something: every antecedent must be satisfiable together with it, and every action enabled in some state that
satisfies it.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.terms import TRUE, Term, both, variables
from fencepost.model.language.terms import term as make_term
from fencepost.model.language.types import BOOL, ScalarType
from fencepost.proofs.results import Verdict
from fencepost.proofs.solver.models import Counterexample, Shrinker
from fencepost.proofs.solver.solving import RLIMIT, Question

Kind = Literal["initial", "preserved", "step", "antecedent", "enabled", "dead"]


@dataclass(frozen=True)
class Obligation:
    """One thing to prove.  ``action`` is "init" for initial states and empty for an antecedent; ``property`` is empty
    for the question whether an action can happen ("dead": whether one that its author calls so can't).  ``uses``
    names the properties that the proof needed before the step; ``how`` is "unchanged" if the action writes nothing
    that the property reads, so that no solver was asked."""

    kind: Kind
    action: str
    property: str
    verdict: Verdict
    seconds: float
    how: Literal["solver", "unchanged"] = "solver"
    uses: tuple[str, ...] = ()
    counterexample: Counterexample | None = None


@dataclass(frozen=True)
class Proof:
    obligations: tuple[Obligation, ...]
    seconds: float

    def verdict(self, name: str | None = None) -> Verdict:
        """Of one property, or of everything.  `violated` means not inductive, or vacuous; it need not be reachable."""
        verdicts = {o.verdict for o in self.obligations if name is None or o.property == name}
        return "violated" if "violated" in verdicts else "unknown" if "unknown" in verdicts else "holds"

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return {name: self.verdict(name) for name in dict.fromkeys(o.property for o in self.obligations) if name}

    @property
    def failures(self) -> tuple[Obligation, ...]:
        return tuple(o for o in self.obligations if o.verdict != "holds")


def prove(
    spec: Spec,
    properties: Mapping[str, Property],
    *,
    rlimit: int = RLIMIT,
    progress: Callable[[Obligation], None] | None = None,
    counterexamples: bool = True,
) -> Proof:
    """Every obligation of a settled protocol.  ``progress`` is called with each as it is decided; ``rlimit`` is Z3's
    resource limit for each question.  Witnesses and progress properties are not for induction and are passed over."""
    start = time.perf_counter()
    found: list[Obligation] = []
    for obligation in _obligations(spec, properties, rlimit, counterexamples):
        found.append(obligation)
        if progress is not None:
            progress(obligation)
    return Proof(tuple(found), time.perf_counter() - start)


def invariant(properties: Mapping[str, Property]) -> dict[str, Term]:
    """Promises and lemmas by name: what is assumed before every step."""
    return {name: p.term for name, p in properties.items() if p.kind == "always"}


def steps(properties: Mapping[str, Property]) -> dict[str, Term]:
    return {name: p.term for name, p in properties.items() if p.kind == "step"}


def written(action: Action) -> set[str]:
    return {update.variable for update in action.updates}


def _obligations(spec: Spec, properties: Mapping[str, Property], rlimit: int, examples: bool) -> Iterator[Obligation]:
    always, step = invariant(properties), steps(properties)
    initially = Question.initial(spec, rlimit)
    for name, term in always.items():
        yield _decide(initially, "initial", name, term, always, examples=examples)
    for name, item in properties.items():
        if item.kind == "step" and item.initially is not None:
            yield _decide(initially, "initial", name, item.initially, always, examples=examples)
    somewhere = Question.state(spec, always.values(), rlimit)
    for name, term in always.items():
        for antecedent in antecedents(term):
            yield _possible(somewhere, "antecedent", name, antecedent, always)
    antecedents_of_steps = _Search([(name, a) for name, term in step.items() for a in antecedents(term)])
    for action in spec.actions.values():
        question = Question.step(spec, action, always.values(), rlimit)
        for name, term in always.items():
            if variables(term) & written(action):
                yield _decide(question, "preserved", name, term, always, examples=examples)
            else:
                yield Obligation("preserved", action.name, name, "holds", 0.0, "unchanged")
        for name, term in step.items():
            yield _decide(question, "step", name, term, always, examples=examples)
        yield _alive(question, action, always)
        yield from antecedents_of_steps.among(question, always)
    yield from antecedents_of_steps.never_found()


def _decide(
    question: Question, kind: Kind, name: str, term: Term, always: Mapping[str, Term], *, examples: bool
) -> Obligation:
    start = time.perf_counter()
    answer = question.proves(term, always.values())
    verdict, example = answer.verdict, None
    if verdict != "holds" and examples:
        example = Shrinker(question, always.values()).counterexample()
        # A small model refutes, even where the unbounded question was too hard.
        verdict = "violated" if example is not None else verdict
    question.forget()
    uses = tuple(n for n, t in always.items() if t in answer.uses)
    where = question.action.name if question.action else "init"
    return Obligation(kind, where, name, verdict, time.perf_counter() - start, "solver", uses, example)


def _possible(question: Question, kind: Kind, name: str, term: Term, always: Mapping[str, Term]) -> Obligation:
    start = time.perf_counter()
    verdict = question.possible(term, always.values()).verdict
    if verdict == "unknown" and Shrinker(question, always.values()).shrink():
        verdict = "holds"
    question.forget()
    return Obligation(kind, question.action.name if question.action else "", name, verdict, time.perf_counter() - start)


def _alive(question: Question, action: Action, always: Mapping[str, Term]) -> Obligation:
    """Some state of the invariant enables the action; or none does, if that is what its author says."""
    found = _possible(question, "enabled", "", TRUE, always)
    if action.dead is None:
        return found
    opposite: dict[Verdict, Verdict] = {"holds": "violated", "violated": "holds", "unknown": "unknown"}
    return replace(found, kind="dead", verdict=opposite[found.verdict])


class _Search:
    """Antecedents of step properties, each of which some action has to satisfy."""

    def __init__(self, wanted: list[tuple[str, Term]]) -> None:
        self.wanted: dict[tuple[str, Term], Verdict] = dict.fromkeys(wanted, "violated")

    def among(self, question: Question, always: Mapping[str, Term]) -> Iterator[Obligation]:
        for name, term in list(self.wanted):
            obligation = _possible(question, "antecedent", name, term, always)
            if obligation.verdict == "holds":
                del self.wanted[name, term]
                yield obligation
            elif obligation.verdict == "unknown":
                self.wanted[name, term] = "unknown"

    def never_found(self) -> Iterator[Obligation]:
        for (name, _), verdict in self.wanted.items():
            yield Obligation("antecedent", "", name, verdict, 0.0)


def antecedents(term: Term) -> tuple[Term, ...]:
    """What a property speaks of: for every ``forall x: a implies b`` in it, ``exists x: a``."""
    return tuple(dict.fromkeys(_antecedents(term, (), ())))


def _antecedents(term: Term, bound: tuple[tuple[str, ScalarType], ...], given: tuple[Term, ...]) -> Iterator[Term]:
    if term.op == "and":
        for part in term.args:
            yield from _antecedents(part, bound, given)
    elif term.op == "forall":
        yield from _antecedents(term.args[0], bound + term.data, given)
    elif term.op == "or" and term.args[0].op == "not":
        for part in term.args[1:]:
            yield from _antecedents(part, bound, (*given, term.args[0].args[0]))
    elif given:
        condition = both(*given)
        yield make_term("exists", (condition,), bound, BOOL) if bound else condition
