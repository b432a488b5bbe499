"""This module finds which rules a proof needs, by the minimal sets of rules that suffice for it, and derives the
standing of each rule.

Rules are taken out as a whole (`rule_removal`). A set of rules suffices for a promise if the promise is proved by
induction with all other rules taken out, from the lemmas that remain. Rules and lemmas shrink together, as in the
inductive validity cores of Kind 2. A rule is *must* if it is in every minimal set, *may* if it is in some, and *not
needed* if it is in none, with respect to the proofs that these lemmas allow.

Sets are enumerated by their duality with cuts. Taking out a rule of each known sufficient set either reveals another
sufficient set, or is a minimal set without which there is no proof. When every such hitting set is a cut, the
enumeration is complete.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action
from fencepost.model.language.tree.terms import Term, local, variables
from fencepost.model.language.tree.types import BOOL
from fencepost.proofs.engines.induction import written
from fencepost.proofs.engines.obligations import invariant
from fencepost.proofs.necessity.rule_removal import loosen, rules_of
from fencepost.proofs.readings.solver.solving import Question
from fencepost.properties.catalogue import Variant

RLIMIT = 400_000
"""Each step of a tried proof has this limit, which is enough for all but the hardest. A refusal uses the whole limit.
"""
SPARING = 100_000
"""Each attempt to do without one more lemma or rule has this limit."""
MOST = 3_000
"""At most this many sets of rules are tried for a promise."""

Standing = Literal["must", "may", "not needed"]
Rules = frozenset[str]


@dataclass(frozen=True)
class Sufficient:
    """A `Sufficient` is a minimal set of rules that proves a promise, with the lemmas that the proof rests on."""

    rules: tuple[str, ...]
    lemmas: tuple[str, ...]


@dataclass(frozen=True)
class Cores:
    """A `Cores` has the rules that the proof of one promise needs. ``unproved`` has the minimal sets of rules without
    which there is no proof. ``complete`` is true if these are all sets, and ``tried`` counts the sets that were tried.
    """

    promise: str
    rules: tuple[str, ...]
    sufficient: tuple[Sufficient, ...]
    unproved: tuple[tuple[str, ...], ...]
    complete: bool
    tried: int

    def standing(self, rule: str) -> Standing:
        among = [rule in one.rules for one in self.sufficient]
        return "must" if among and all(among) else "may" if any(among) else "not needed"

    def those(self, standing: Standing) -> tuple[str, ...]:
        return tuple(rule for rule in self.rules if self.standing(rule) == standing)


def pool(variant: Variant) -> dict[str, Property]:
    """Return the promises and lemmas from which a proof may choose, including those declared for mutants."""
    every = variant.promised | (variant.for_mutants.properties if variant.for_mutants is not None else {})
    spared = {n for n, verdict in variant.expected.items() if verdict == "violated"} | set(variant.leaves_out)
    return {n: p for n, p in every.items() if p.kind == "always" and n not in spared}


def promises_of(variant: Variant) -> list[str]:
    return [n for n, p in variant.promised.items() if p.role == "promise" and p.kind == "always"]


def cores(variant: Variant, most: int = MOST) -> list[Cores]:
    """Return the cores of each promise of a variant that is proved within ``RLIMIT`` for each step."""
    proofs = Proofs(variant)
    return [made for name in promises_of(variant) if (made := _enumerate(proofs, name, most)) is not None]


def _enumerate(proofs: "Proofs", promise: str, most: int) -> Cores | None:
    rules, tried = proofs.rules, 0

    def proves(chosen: Rules) -> bool:
        nonlocal tried
        tried += 1
        return promise in proofs.inductive(chosen)

    if not proves(frozenset(rules)):
        return None
    found: list[Rules] = []
    cuts: set[Rules] = set()

    def shrink(chosen: Rules) -> Rules:
        for rule in rules:
            if rule in chosen and proves(chosen - {rule}):
                chosen -= {rule}
        return chosen

    complete = False
    while not complete and tried < most:
        complete = True
        for hit in _hitting_sets(found, rules):
            if hit in cuts:
                continue
            left = frozenset(rules) - hit
            if proves(left):
                found.append(shrink(left))
                complete = False
                break
            cuts.add(hit)
            if tried >= most:
                complete = False
                break
    made = [Sufficient(_ordered(one, rules), proofs.lemmas(one, promise)) for one in found]
    made.sort(key=lambda one: (len(one.rules), [rules.index(r) for r in one.rules]))
    unproved = sorted((_ordered(cut, rules) for cut in cuts), key=lambda c: (len(c), [rules.index(r) for r in c]))
    return Cores(promise, rules, tuple(made), tuple(unproved), complete, tried)


def _ordered(chosen: Iterable[str], rules: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(chosen, key=rules.index))


def _hitting_sets(sets: list[Rules], rules: tuple[str, ...]) -> list[Rules]:
    """Return the minimal sets that contain a rule of each given set."""
    hitting: list[Rules] = [frozenset()]
    for one in sets:
        more = {h for h in hitting if h & one} | {h | {r} for h in hitting if not h & one for r in one}
        hitting = [h for h in more if not any(other < h for other in more)]
    return sorted(hitting, key=lambda h: (len(h), [rules.index(r) for r in _ordered(h, rules)]))


@dataclass
class _Tried:
    enough: list[frozenset[Term]] = field(default_factory=list)
    wanting: list[frozenset[Term]] = field(default_factory=list)


class Proofs:
    """A `Proofs` does induction on one variant, with any of its rules taken out. Each action has one solver, in which
    every lemma and every rule has a switch, so that an answer names those that it needed. ``lemmas`` has those to
    choose from, promises included. ``minimal`` asks for answers with as few as possible."""

    def __init__(
        self, variant: Variant, lemmas: Iterable[str] | None = None, *, minimal: bool = True, rlimit: int = RLIMIT
    ) -> None:
        self.minimal, self.rlimit = minimal, rlimit
        raw = variant.properties.protocol.spec
        self.rules = rules_of(raw)
        loose, demands = loosen(raw, self.rules)
        self.spec, self.demands = settle(loose), demands
        self.properties = {n: p for n, p in pool(variant).items() if lemmas is None or n in lemmas}
        self.always = invariant(self.properties)
        self.switch = {rule: local(f"rule {rule}", BOOL) for rule in self.rules}
        self.asked = 0
        self._questions: dict[str, Question] = {}
        self._tried: dict[tuple[str, str], _Tried] = {}
        self._inductive: dict[Rules, frozenset[str]] = {}
        self._initially: frozenset[str] | None = None

    def inductive(self, rules: Rules) -> frozenset[str]:
        """Return the largest set of promises and lemmas that is inductive with these rules and no other."""
        if rules not in self._inductive:
            # A property that fails with more rules also fails with fewer.
            above = [proved for more, proved in self._inductive.items() if more > rules]
            left = {
                n: t for n, t in self.always.items() if n in self._at_first() and all(n in proved for proved in above)
            }
            switches = frozenset(self.switch[rule] for rule in rules)
            while fallen := self._fallen(left, switches):
                for name in fallen:
                    del left[name]
            self._inductive[rules] = frozenset(left)
        return self._inductive[rules]

    def inductive_together(self, names: Iterable[str], rules: Rules) -> bool:
        """Return whether these promises and lemmas alone are inductive with these rules and no other."""
        chosen = dict.fromkeys(names)
        if not chosen.keys() <= self._at_first():
            return False
        assumed = frozenset(self.always[n] for n in chosen) | {self.switch[rule] for rule in rules}
        return all(self._support(action, n, assumed) is not None for n in chosen for action in self._writing(n))

    def lemmas(self, rules: Rules, promise: str) -> tuple[str, ...]:
        """Return the lemmas that the proof of a promise from these rules needs, as few as each step allows."""
        left = {n: self.always[n] for n in self.inductive(rules)}
        switches = frozenset(self.switch[rule] for rule in rules)
        needed, new = {promise}, [promise]
        while new:
            name = new.pop()
            for action in self._writing(name):
                core = self._support(action, name, frozenset(left.values()) | switches)
                assert core is not None, f"{name} was inductive, and is not any more"
                for other, term in left.items():
                    if term in core and other not in needed:
                        needed.add(other)
                        new.append(other)
        return tuple(n for n in self.always if n in needed - {promise})

    def _at_first(self) -> frozenset[str]:
        if self._initially is None:
            question = Question.initial(self.spec, self.rlimit)
            held = []
            for name, term in self.always.items():
                if question.proves(term, ()).verdict == "holds":
                    held.append(name)
                question.forget()
            self._initially = frozenset(held)
        return self._initially

    def _fallen(self, left: Mapping[str, Term], switches: frozenset[Term]) -> list[str]:
        """Return the properties broken by the first action that breaks any. They are not assumed any more."""
        for action in self.spec.actions.values():
            assumed = frozenset(left.values()) | switches
            changed = written(action)
            fallen = [
                n for n, t in left.items() if variables(t) & changed and self._support(action, n, assumed) is None
            ]
            if fallen:
                return fallen
        return []

    def _writing(self, name: str) -> Iterator[Action]:
        read = variables(self.always[name])
        return (action for action in self.spec.actions.values() if read & written(action))

    def _support(self, action: Action, name: str, assumed: frozenset[Term]) -> frozenset[Term] | None:
        tried = self._tried.setdefault((action.name, name), _Tried())
        found = next((core for core in tried.enough if core <= assumed), None)
        if found is not None or any(assumed <= wanting for wanting in tried.wanting):
            return found
        self.asked += 1
        question, term = self._question(action), self.always[name]
        answer = question.proves(term, assumed)
        if answer.verdict == "holds":
            found = question.minimal(answer, term, SPARING) if self.minimal else answer.uses
            tried.enough.append(found)
        else:
            tried.wanting.append(assumed)
        question.forget()
        return found

    def _question(self, action: Action) -> Question:
        if action.name not in self._questions:
            question = Question.step(self.spec, action, self.always.values(), self.rlimit)
            for rule, conditions in self.demands[action.name].items():
                question.demand(self.switch[rule], conditions)
            self._questions[action.name] = question
        return self._questions[action.name]
