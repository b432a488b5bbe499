"""This module proves properties by induction, without bounds. Initial states satisfy every promise and lemma, and every
action preserves them.

A step assumes the conjunction of all promises and lemmas and the types of the variables. After the step, each of them
must hold, and each step property must hold of the step. A proof counts only if the invariant is not vacuous, so that
every antecedent must be satisfiable together with it, and every action must be enabled in some state that satisfies it.

The conjunction is proved together or not at all. A property that depends on a part that is not inductive is *not
proved*, however many of its own steps hold. A step that can be proved without that part is proved again without it, so
that the proved properties are the largest inductive part of the conjunction.

A protocol that is made of others inherits what was proved of one of these alone (`proof_reuse`).
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.terms import TRUE, Term, both, variables
from fencepost.model.language.tree.terms import term as make_term
from fencepost.model.language.tree.types import BOOL, ScalarType
from fencepost.proofs.engines.obligation_cache import CachedSteps, Search
from fencepost.proofs.engines.obligations import VACUITY, Kind, Obligation, consequences, invariant, steps
from fencepost.proofs.engines.proof_reuse import Facts, Inherited, inherited
from fencepost.proofs.readings.solver.models import Shrinker
from fencepost.proofs.readings.solver.solving import RLIMIT, SOON, SPARING, Question
from fencepost.proofs.results import Verdict, worst

FACTS = Facts()
"""Facts about parts that this process has proved are shared by all proofs."""
Asked = Sequence[tuple[str, str, Term]]
Found = Iterator["Obligation"]


@dataclass(frozen=True)
class Proof:
    """A `Proof` has all obligations of a variant. ``leaning`` has the properties that are not proved because their
    proofs need others that fail, each with the latter. The empty name stands for claims about actions. ``inherited``
    has the properties that hold because they were proved of a part."""

    obligations: tuple[Obligation, ...]
    seconds: float
    leaning: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inherited: Mapping[str, Inherited] = field(default_factory=dict)

    def verdict(self, name: str | None = None) -> Verdict:
        """Return the verdict on one property, or on everything. `violated` means not inductive, or vacuous, and need
        not be reachable. `not proved` means that its own obligations hold, but need a property that is not inductive.
        """
        mine = [o for o in self.obligations if name is None or o.property == name]
        leans: list[Verdict] = ["not proved"] if name in self.leaning or (name is None and self.leaning) else []
        return worst([*(o.verdict for o in mine), *leans])

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return {name: self.verdict(name) for name in dict.fromkeys(o.property for o in self.obligations) if name}

    @property
    def failures(self) -> tuple[Obligation, ...]:
        return tuple(o for o in self.obligations if o.verdict != "holds")

    def rests_on(self, name: str) -> tuple[str, ...]:
        """Return all properties that the proof of a property needs, directly or through other proofs."""
        if name in self.inherited:
            return self.inherited[name].rests_on
        return _closure(self.obligations, name)


def prove(
    spec: Spec,
    properties: Mapping[str, Property],
    *,
    rlimit: int = RLIMIT,
    progress: Callable[[Obligation], None] | None = None,
    counterexamples: bool = True,
    facts: Facts | None = None,
    again: bool = False,
    cache: CachedSteps | None = None,
) -> Proof:
    """Prove every obligation of a settled protocol. ``progress`` is called with each as it is decided, and ``rlimit``
    is Z3's resource limit for each question. Witnesses and progress properties are skipped. ``facts`` has what is known
    of the parts of a whole, and unknown parts are proved first. ``again`` proves the whole without inheriting anything.
    ``cache`` has steps of earlier runs, which are not proved again."""
    start = time.perf_counter()
    found: list[Obligation] = []
    known = FACTS if facts is None else facts

    def alone(part: Spec, stated: Mapping[str, Property]) -> Proof:
        return prove(part, stated, rlimit=rlimit, counterexamples=False, facts=known)

    from_parts = {} if again else inherited(spec, properties, known, alone, rlimit)
    for obligation in _obligations(spec, properties, rlimit, counterexamples, from_parts, cache):
        found.append(obligation)
        if progress is not None:
            progress(obligation)
    together, leaning = _together(spec, properties, rlimit, found)
    return Proof(tuple(together), time.perf_counter() - start, leaning, from_parts)


def number_of_obligations(spec: Spec, properties: Mapping[str, Property]) -> int:
    """Return about how many obligations `prove` decides for a protocol that inherits nothing. The number is inexact
    because the antecedent of a step property is asked of one action after another, until one satisfies it."""
    always, step = invariant(properties), steps(properties)
    first = len(always) + sum(p.kind == "step" and p.initially is not None for p in properties.values())
    asked = sum(len(antecedents(term)) for term in (*always.values(), *step.values()))
    return first + asked + len(consequences(properties)) + len(spec.actions) * (len(always) + len(step) + 1)


def _together(
    spec: Spec, properties: Mapping[str, Property], rlimit: int, found: list[Obligation]
) -> tuple[list[Obligation], dict[str, tuple[str, ...]]]:
    """Return the largest inductive part of the conjunction, in which nothing is assumed that is not inductive. The
    result has the obligations, proved again where other lemmas are needed, and the properties that remain unproved,
    with those that they depend on."""
    always = invariant(properties)
    failing = {
        o.property
        for o in found
        if o.kind in ("initial", "preserved") and o.property in always and o.verdict != "holds"
    }
    fallen, open_ones = set(failing), set[str]()
    more = bool(fallen)
    while more:
        more = False
        for place, o in enumerate(found):
            if o.verdict != "holds" or o.property in fallen or not fallen & set(o.uses):
                continue
            if o.property and o.property in open_ones:
                continue
            left = {name: term for name, term in always.items() if name not in fallen}
            again = _again(spec, o, left, properties.get(o.property), rlimit)
            if again.verdict == "holds":
                found[place] = again
            elif o.kind == "dead":
                found[place] = replace(o, verdict="not proved")
                open_ones.add("")
            else:
                open_ones.add(o.property)
                if o.property in always:
                    fallen.add(o.property)
                    more = True
    leaning = {name: tuple(n for n in _closure(found, name) if n in failing) for name in open_ones}
    return found, {name: leaning[name] for name in (*properties, "") if name in leaning}


def _closure(found: Sequence[Obligation], name: str) -> tuple[str, ...]:
    needed, new = {name}, {name}
    while new:
        new = {used for o in found if o.property in new and o.kind not in VACUITY for used in o.uses} - needed
        needed |= new
    return tuple(dict.fromkeys(o.property for o in found if o.property in needed - {name, ""}))


def _again(spec: Spec, o: Obligation, left: Mapping[str, Term], item: Property | None, rlimit: int) -> Obligation:
    """Decide an obligation again from fewer assumptions, without a counterexample, as the step may be harmless."""
    if o.kind == "follows":
        question = Question.state(spec, left.values(), rlimit)
    else:
        question = Question.step(spec, spec.actions[o.action], left.values(), rlimit)
    if item is None:
        return replace(_alive(question, spec.actions[o.action], left), seconds=o.seconds)
    made = _step(question, item, left, examples=False) if o.kind == "step" else None
    made = made or _decide(question, o.kind, o.property, item.term, left, examples=False)
    return replace(made, seconds=o.seconds + made.seconds)


def written(action: Action) -> set[str]:
    return {update.variable for update in action.updates}


def _obligations(
    spec: Spec, properties: Mapping[str, Property], rlimit: int, examples: bool, from_parts: Mapping[str, Inherited],
    cache: CachedSteps | None,
) -> Iterator[Obligation]:  # fmt: skip
    for name, item in from_parts.items():
        yield Obligation("inherited", item.part, name, "holds", 0.0, "inherited")
    always = invariant(properties)
    properties = {name: p for name, p in properties.items() if name not in from_parts}
    mine, step = invariant(properties), steps(properties)
    first = {name: p.initially for name, p in properties.items() if p.kind == "step" and p.initially is not None}
    search = Search(list(dict.fromkeys((name, a) for name, term in step.items() for a in antecedents(term))))
    unknown = set[tuple[str, Term]]()

    def group(kind: str, action: Action | None, asked: Asked, made: Callable[[], Iterator[Obligation]]) -> Found:
        return made() if cache is None else cache.group(kind, action, always, asked, search, made)

    def initially() -> Found:
        question = Question.initial(spec, rlimit)
        for name, term in (*mine.items(), *first.items()):
            yield _decide(question, "initial", name, term, always, examples=examples)

    def of_states() -> Found:
        question = Question.state(spec, always.values(), rlimit)
        for name, term in mine.items():
            for antecedent in antecedents(term):
                yield _possible(question, "antecedent", name, antecedent, always)
        for name, term in consequences(properties).items():
            yield _decide(question, "follows", name, term, always, examples=examples)

    def of_action(action: Action) -> Found:
        question = Question.step(spec, action, always.values(), rlimit)
        for name, term in mine.items():
            if variables(term) & written(action):
                yield _decide(question, "preserved", name, term, always, examples=examples)
            else:
                yield Obligation("preserved", action.name, name, "holds", 0.0, "unchanged")
        for name in step:
            yield _step(question, properties[name], always, examples=examples)
        yield _alive(question, action, always)
        yield from _met_by(question, search, unknown, always)

    named = [("mine", name, term) for name, term in mine.items()]
    yield from group("initial", None, [*named, *(("first", *each) for each in first.items())], initially)
    follow = [("follows", *each) for each in consequences(properties).items()]
    yield from group("state", None, [*named, *follow], of_states)
    for action in spec.actions.values():
        stated = ((name, properties[name].by_stated_steps(action.name)) for name in step)
        asked = [*named, *(("step", *each) for each in step.items())]
        asked += [("stated", name, term) for name, term in stated if term is not None]
        yield from group("step", action, asked, partial(of_action, action))
    for name, term in search.wanted:
        verdict: Verdict = "unknown" if (name, term) in unknown else "violated"
        yield Obligation("antecedent", "", name, verdict, 0.0)


def _met_by(
    question: Question, search: Search, unknown: set[tuple[str, Term]], always: Mapping[str, Term]
) -> Iterator[Obligation]:
    for one in list(search.wanted):
        obligation = _possible(question, "antecedent", one[0], one[1], always)
        if obligation.verdict == "holds":
            search.found(one)
            yield obligation
        elif obligation.verdict == "unknown":
            unknown.add(one)


def _decide(
    question: Question, kind: Kind, name: str, term: Term, always: Mapping[str, Term], *, examples: bool
) -> Obligation:
    start = time.perf_counter()
    answer = question.proves(term, always.values())
    verdict, example = answer.verdict, None
    needed = question.minimal(answer, term, SPARING) if len(answer.uses) > 1 else answer.uses
    if verdict != "holds" and examples:
        example = Shrinker(question, always.values()).counterexample()
        # A small model refutes, even where the unbounded question was too hard.
        verdict = "violated" if example is not None else verdict
    question.forget()
    uses = tuple(n for n, t in always.items() if t in needed)
    where = question.action.name if question.action else "" if kind == "follows" else "init"
    return Obligation(kind, where, name, verdict, time.perf_counter() - start, "solver", uses, example)


def _step(question: Question, item: Property, always: Mapping[str, Term], *, examples: bool) -> Obligation:
    """Decide a property of the question's step, first by the steps that the property states for the action. What is
    stated wrongly is not proved, and then the property itself is asked."""
    assert question.action is not None
    stated = item.by_stated_steps(question.action.name)
    if stated is not None:
        # What Z3 was asked before decides what it finds within the limit, so this is asked alone.
        alone = Question.step(question.spec, question.action, always.values(), question.rlimit)
        made = _decide(alone, "step", item.name, stated, always, examples=False)
        if made.verdict == "holds":
            return replace(made, how="stated")
    return _decide(question, "step", item.name, item.term, always, examples=examples)


def _possible(question: Question, kind: Kind, name: str, term: Term, always: Mapping[str, Term]) -> Obligation:
    start = time.perf_counter()
    # Z3 often finds a small model before it gives up on an unbounded one, and seldom finds one late.
    for limit in (SOON, question.rlimit):
        answer = question.possible(term, always.values(), limit)
        verdict = answer.verdict
        if verdict == "unknown" and Shrinker(question, always.values(), limit).shrink():
            verdict = "holds"
        question.forget()
        if verdict != "unknown":
            break
    uses = tuple(n for n, t in always.items() if t in answer.uses)
    where = question.action.name if question.action else ""
    return Obligation(kind, where, name, verdict, time.perf_counter() - start, "solver", uses)


def _alive(question: Question, action: Action, always: Mapping[str, Term]) -> Obligation:
    """Decide whether some state of the invariant enables the action, or whether none does if it is declared dead."""
    found = _possible(question, "enabled", "", TRUE, always)
    if action.dead is None:
        return found
    opposite: dict[Verdict, Verdict] = {"holds": "violated", "violated": "holds"}
    return replace(found, kind="dead", verdict=opposite.get(found.verdict, "unknown"))


def antecedents(term: Term) -> tuple[Term, ...]:
    """Return the premises of a property: for every ``forall x: a implies b`` in it, ``exists x: a``."""
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
