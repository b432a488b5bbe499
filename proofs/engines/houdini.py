"""This module finds the lemmas that stay inductive when a rule is got wrong, and whether they still prove the promises.

`houdini` drops lemmas that the initial state or some action breaks, until the remaining ones are inductive by
themselves, which are the largest inductive subset. A rule is redundant if, without it, that subset still proves every
promise and step property. Each proof names the lemmas it used, and stays valid as long as none of them is dropped.
`Known` reuses proofs for the next mutant, which differs in one action.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.terms import Term, variables
from fencepost.proofs.engines.induction import written
from fencepost.proofs.engines.obligations import invariant, steps
from fencepost.proofs.readings.solver.solving import RLIMIT, Question
from fencepost.proofs.results import Verdict


@dataclass
class Known:
    """A `Known` has the proofs found so far. For a step and a property, it has the sets of lemmas that were enough."""

    proofs: dict[object, list[frozenset[Term]]] = field(default_factory=dict)
    asked: int = 0

    def enough(self, key: object, assumed: frozenset[Term]) -> frozenset[Term] | None:
        return next((uses for uses in self.proofs.get(key, ()) if uses <= assumed), None)


@dataclass(frozen=True)
class Inductive:
    """An `Inductive` is the result of `houdini`. ``remaining`` has the promises and lemmas that hold in the initial
    states and are preserved by every step, assuming only one another. ``dropped`` has the others, each with the action
    (or "init") that broke it first, or that Z3 could not decide within its limit."""

    remaining: tuple[str, ...]
    dropped: dict[str, str]
    seconds: float


@dataclass(frozen=True)
class Redundancy:
    """A `Redundancy` states whether the promises are still proved. ``verdict`` is holds if every promise and step
    property is still proved, else unknown, since what one invariant fails to prove may yet be true. ``open`` has the
    properties that are not proved, each with the action that breaks the attempt."""

    verdict: Verdict
    open: dict[str, str]
    inductive: Inductive


def houdini(
    spec: Spec, properties: Mapping[str, Property], *, rlimit: int = RLIMIT, known: Known | None = None
) -> Inductive:
    """Return the largest inductive subset of the promises and lemmas of a settled protocol."""
    return _Houdini(spec, invariant(properties), rlimit, known or Known()).run()


def redundant(
    spec: Spec,
    properties: Mapping[str, Property],
    extra_lemmas: Mapping[str, Property] | None = None,
    *,
    rlimit: int = RLIMIT,
    known: Known | None = None,
) -> Redundancy:
    """Return whether the promises of this mutant are still proved by its remaining lemmas and those declared for it."""
    every = {**properties, **(extra_lemmas or {})}
    run = _Houdini(spec, invariant(every), rlimit, known or Known())
    inductive = run.run()
    promises = [n for n, p in every.items() if p.role == "promise"]
    missing = {n: inductive.dropped[n] for n in promises if n in inductive.dropped}
    # A refinement is no promise, since a mutant may fulfil the promises in other ways.
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
        """Return the remaining lemmas that prove ``term`` for a step of the action, or None if they are not enough."""
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
    guards = tuple(g.condition for g in action.guards)
    updates = tuple((u.variable, u.value, u.keys, u.bound) for u in action.updates)
    return (tuple(spec.types.items()), tuple(spec.constants.items()), spec.axioms, action.parameters, guards, updates)
