"""Which lemmas stay inductive when a rule is got wrong, and whether the promises are still proved from those.

`houdini` drops lemmas that the initial state or some action breaks, until all that is left holds of itself: the
largest inductive subset.  A rule is redundant if, without it, that subset still proves every promise and step
property.  Each proof names the lemmas it used, and stands for as long as none of them is dropped; `Known` keeps
proofs from one mutant to the next, which differ in one action.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.terms import Term, variables
from fencepost.proofs.engines.induction import invariant, steps, written
from fencepost.proofs.readings.solver.solving import RLIMIT, Question
from fencepost.proofs.results import Verdict


@dataclass
class Known:
    """Proofs found so far: for a step and a property, the sets of lemmas that were enough."""

    proofs: dict[object, list[frozenset[Term]]] = field(default_factory=dict)
    asked: int = 0

    def enough(self, key: object, assumed: frozenset[Term]) -> frozenset[Term] | None:
        return next((uses for uses in self.proofs.get(key, ()) if uses <= assumed), None)


@dataclass(frozen=True)
class Inductive:
    """``remaining``: promises and lemmas that hold of the initial states and of every step from themselves.
    ``dropped``: the others, each with the action (or "init") that broke it first, or that Z3 could not decide within
    its limit."""

    remaining: tuple[str, ...]
    dropped: dict[str, str]
    seconds: float


@dataclass(frozen=True)
class Redundancy:
    """``verdict`` is holds if every promise and step property is still proved, else unknown: what one invariant fails
    to prove may yet be true.  ``open``: the properties that are not proved, each with the action that breaks the
    attempt."""

    verdict: Verdict
    open: dict[str, str]
    inductive: Inductive


def houdini(
    spec: Spec, properties: Mapping[str, Property], *, rlimit: int = RLIMIT, known: Known | None = None
) -> Inductive:
    """The largest inductive subset of the promises and lemmas of a settled protocol."""
    return _Houdini(spec, invariant(properties), rlimit, known or Known()).run()


def redundant(
    spec: Spec,
    properties: Mapping[str, Property],
    extra_lemmas: Mapping[str, Property] | None = None,
    *,
    rlimit: int = RLIMIT,
    known: Known | None = None,
) -> Redundancy:
    """Are the promises still proved of this mutant, from what is left of the lemmas and of those declared for it?"""
    every = {**properties, **(extra_lemmas or {})}
    run = _Houdini(spec, invariant(every), rlimit, known or Known())
    inductive = run.run()
    promises = [n for n, p in every.items() if p.role == "promise"]
    missing = {n: inductive.dropped[n] for n in promises if n in inductive.dropped}
    # A refinement is no promise: what it is for holds of a mutant that keeps the promises by other ways.
    for name, term in steps({n: p for n, p in every.items() if p.role != "refinement"}).items():
        broken = next((a.name for a in spec.actions.values() if run.support(a, term) is None), None)
        if broken is not None:
            missing[name] = broken
    return Redundancy("unknown" if missing else "holds", missing, inductive)


class _Houdini:
    def __init__(self, spec: Spec, always: Mapping[str, Term], rlimit: int, known: Known) -> None:
        self.spec, self.rlimit, self.known = spec, rlimit, known
        self.left = dict(always)
        self.dropped: dict[str, str] = {}
        self.questions: dict[str, Question] = {}

    def run(self) -> Inductive:
        start = time.perf_counter()
        initially = Question.initial(self.spec, self.rlimit)
        self._drop("init", [n for n, term in self.left.items() if self._ask(initially, term) is None])
        while any(self._drop(a.name, self._broken(a)) for a in self.spec.actions.values()):
            pass
        return Inductive(tuple(self.left), self.dropped, time.perf_counter() - start)

    def support(self, action: Action, term: Term) -> frozenset[Term] | None:
        """The lemmas, among those left, from which ``term`` holds after (of) the action; None if they are not
        enough."""
        key, assumed = (_meaning(self.spec, action), term), frozenset(self.left.values())
        found = self.known.enough(key, assumed)
        if found is None:
            if action.name not in self.questions:
                self.questions[action.name] = Question.step(self.spec, action, self.left.values(), self.rlimit)
            found = self._ask(self.questions[action.name], term)
            if found is not None:
                self.known.proofs.setdefault(key, []).append(found)
        return found

    def _broken(self, action: Action) -> list[str]:
        changed = written(action)
        return [n for n, t in self.left.items() if variables(t) & changed and self.support(action, t) is None]

    def _ask(self, question: Question, term: Term) -> frozenset[Term] | None:
        self.known.asked += 1
        answer = question.proves(term, self.left.values())
        question.forget()
        return answer.uses if answer.verdict == "holds" else None

    def _drop(self, where: str, names: list[str]) -> bool:
        for name in names:
            del self.left[name]
            self.dropped[name] = where
        return bool(names)


def _meaning(spec: Spec, action: Action) -> object:
    """A key of all that a proof about an action depends on, apart from the lemmas it used."""
    guards = tuple(g.condition for g in action.guards)
    updates = tuple((u.variable, u.value, u.keys, u.bound) for u in action.updates)
    return (tuple(spec.types.items()), tuple(spec.constants.items()), spec.axioms, action.parameters, guards, updates)
