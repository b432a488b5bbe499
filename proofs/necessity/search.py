"""This module finds, for every mechanism, what breaks without it in the fewest steps, or proves that nothing does.

Each mutation of a protocol is explored until a *promise* fails, which is never a mere lemma, nor a property that only
restates the rule. Where none fails, progress is judged, and whether work still gets done. Where that holds too, the
promises are proved again from the remaining lemmas. What is neither refuted nor proved survives, up to a named bound.
Rejected alternatives and literal readings are variants of the catalogue, whose predicted failure is confirmed or
refuted.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Protocol

from fencepost.model.language.derived.mutations import Mutation, mutations, shifted
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import NumberType
from fencepost.model.rules import RULES
from fencepost.proofs.engines.explore import Exploration, explore
from fencepost.proofs.engines.houdini import Known, Redundancy, redundant
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.readings.words import name_in_words, say_trace
from fencepost.proofs.results import Trace
from fencepost.proofs.scale.jobs import Jobs
from fencepost.proofs.variants import travels
from fencepost.properties.catalogue import Profile, ProtocolEntry, Variant, bounds_of, features_of

GLANCE = 200_000
"""In the smoke profile, a mutation that breaks nothing among this many states is tried by proof before the rest of the
states is explored, which takes longer. Other profiles explore to the end first, as a second opinion."""

Judgement = Literal["necessary", "redundant", "liveness", "survives-bounded", "shown", "refuted"]


@dataclass(frozen=True)
class Necessity:
    """A `Necessity` is the verdict on one mutation of one variant. ``promise`` is what fails without the rule, and
    ``steps`` the length of the shortest run to the failure (None where the promised work never begins), and ``trace``
    is that run. ``bound`` has the bounds explored (None for a proof). ``evidence`` has the run in words, or what the
    proof rests on, and ``reason`` why the mutation may survive. ``kept`` means that the verdict comes from an earlier
    run on the same models, and that the evidence is its steps."""

    variant: str
    rule: str
    mutation: str
    verdict: Judgement
    promise: str | None
    engine: str
    steps: int | None
    bound: dict[str, int] | None
    evidence: list[str]
    seconds: float
    spec: Spec = field(compare=False, repr=False)
    trace: Trace | None = field(default=None, compare=False, repr=False)
    reason: str = ""
    kept: bool = False

    def as_dict(self) -> dict[str, Any]:
        names = ("variant", "rule", "mutation", "verdict", "promise", "engine", "steps", "bound", "evidence", "kept")
        return {name: getattr(self, name) for name in names}


class Earlier(Protocol):
    """An `Earlier` has verdicts of earlier runs."""

    def key(self, entry: ProtocolEntry, variant: Variant, mutant: Mutation | None, profile: Profile) -> str: ...
    def has(self, key: str) -> bool: ...
    def find(self, key: str, spec: Spec) -> Necessity: ...
    def add(self, key: str, found: Necessity) -> None: ...


def necessity(
    entry: ProtocolEntry,
    profile: Profile,
    *,
    rule: str | None = None,
    report: Callable[[Necessity], None] | None = None,
    earlier: Earlier | None = None,
    further: bool = False,
) -> list[Necessity]:
    """Return a verdict on every mutation of every mechanism of a protocol, and on every rejected alternative, or only
    on one ``rule`` if named. Verdicts in ``earlier`` on the same models are not judged again. ``further`` judges only
    the mutations that are listed on request."""
    found = []
    for verdict in plan(entry, profile, rule=rule, earlier=earlier, further=further):
        found.append(verdict())
        if report is not None:
            report(found[-1])
    return found


def plan(
    entry: ProtocolEntry,
    profile: Profile,
    *,
    rule: str | None = None,
    earlier: Earlier | None = None,
    further: bool = False,
    jobs: Jobs | None = None,
) -> list[Callable[[], Necessity]]:
    """Return functions that give the verdicts of `necessity`, in their order. Verdicts that have to be made are handed
    in to ``jobs``. Without ``jobs``, each verdict is made here on demand, and what is proved of one mutant serves the
    next."""
    known: dict[str, Known] = {}

    def anew(variant: Variant, mutant: Mutation | None) -> Necessity:
        return _judged(entry, variant, mutant, profile, known.setdefault(variant.name, Known()))

    def handed_in(jobs: Jobs, variant: Variant, mutant: Mutation | None) -> Callable[[], Necessity]:
        # Jobs get copies without cached terms, since terms are equal only within one process.
        full = () if variant.full is None else (replace(entry.variant(variant.full)),)
        bare = replace(entry, variants=full, claims=(), scenarios=())
        named = None if mutant is None else (mutant.rule, mutant.name)
        name = f"{entry.name}/{variant.name}" + (f" with {mutant.name}" if mutant else "")
        made = jobs.hand_in(
            _by_name, bare, replace(variant), named, profile, further, travels=travels(variant), name=name
        )
        return lambda: replace(found := made(), spec=_same(entry.variant(found.variant), named, further))

    def asked(variant: Variant, mutant: Mutation | None) -> Callable[[], Necessity]:
        def make() -> Callable[[], Necessity]:
            return partial(anew, variant, mutant) if jobs is None else handed_in(jobs, variant, mutant)

        if earlier is None:
            return make()
        key = earlier.key(entry, variant, mutant, profile)
        if earlier.has(key):
            return partial(_stored, earlier, key, variant, mutant)
        return partial(_added, earlier, key, make())

    return [asked(variant, mutant) for variant, mutant in _asked(entry, rule, further)]


def _stored(earlier: Earlier, key: str, variant: Variant, mutant: Mutation | None) -> Necessity:
    return earlier.find(key, variant.spec if mutant is None else mutant.apply())


def _added(earlier: Earlier, key: str, make: Callable[[], Necessity]) -> Necessity:
    found = make()
    earlier.add(key, found)
    return found


def _judged(
    entry: ProtocolEntry, variant: Variant, mutant: Mutation | None, profile: Profile, known: Known
) -> Necessity:
    if mutant is None:
        return show(variant, profile)
    verdict = judge(variant, mutant, profile, known)
    if verdict.verdict == "survives-bounded" and variant.full is not None:
        verdict = _judge_in_full(entry.variant(variant.full), mutant, profile) or verdict
    reason = entry.survivors.get((mutant.rule, mutant.name))
    if verdict.verdict == "survives-bounded" and reason is not None:
        verdict = replace(verdict, evidence=[reason, *verdict.evidence], reason=reason)
    return verdict


def _by_name(
    entry: ProtocolEntry, variant: Variant, named: tuple[str, str] | None, profile: Profile, further: bool
) -> Necessity:
    mutant = None if named is None else _mutation(variant, named, further)
    return _judged(entry, variant, mutant, profile, Known())


def _mutation(variant: Variant, named: tuple[str, str], further: bool) -> Mutation:
    every = mutations(variant.properties.protocol.spec, further)
    return next(m for m in every if (m.rule, m.name) == named)


def _same(variant: Variant, named: tuple[str, str] | None, further: bool) -> Spec:
    return variant.spec if named is None else _mutation(variant, named, further).apply()


def number_of_verdicts(entry: ProtocolEntry, rule: str | None = None, further: bool = False) -> int:
    return len(_asked(entry, rule, further))


def _asked(entry: ProtocolEntry, rule: str | None, further: bool = False) -> list[tuple[Variant, Mutation | None]]:
    """Return the mutations to judge, with their variants. Mutations of mechanisms come first, in the order of their
    rules, then the rejected alternatives, which are variants without a mutation."""
    mechanisms = sorted(_mechanisms(entry, rule, further), key=lambda pair: _order(pair[1].rule))
    if further:
        return list(mechanisms)
    alternatives = [v for v in entry.variants if "violated" in v.expected.values() and v.rule is not None]
    return [*mechanisms, *((v, None) for v in alternatives if rule in (None, v.rule))]


def _judge_in_full(full: Variant, mutant: Mutation, profile: Profile) -> Necessity | None:
    """Return the verdict on the same mutation of the richer variant, if that has it and it does harm there."""
    for same in mutations(full.properties.protocol.spec, further=True):
        if (same.rule, same.name) == (mutant.rule, mutant.name):
            verdict = judge(full, same, profile)
            return verdict if verdict.verdict in ("necessary", "liveness") else None
    return None


def _order(rule: str) -> int:
    return list(RULES).index(rule)


def _mechanisms(entry: ProtocolEntry, rule: str | None, further: bool) -> Iterator[tuple[Variant, Mutation]]:
    """Yield each mutation of each main variant. A variant built from others has only those that they do not have."""
    main = sorted((v for v in entry.variants if v.main and v.judged != ()), key=lambda v: len(v.spec.actions))
    for variant in main:
        parts = [v for v in main if v is not variant and issubclass(variant.properties.protocol, v.properties.protocol)]
        inherited = {(m.rule, m.name) for v in parts for m in mutations(v.properties.protocol.spec, further)}
        inherited |= {(m.rule, m.name) for m in mutations(variant.properties.protocol.spec)} if further else set()
        for mutant in mutations(variant.properties.protocol.spec, further):
            asked = RULES[mutant.rule].kind in ("mechanism", "claim") and rule in (None, mutant.rule)
            asked = asked and (variant.judged is None or mutant.rule in variant.judged)
            if asked and (mutant.rule, mutant.name) not in inherited:
                yield variant, mutant


def judge(variant: Variant, mutant: Mutation, profile: Profile, known: Known | None = None) -> Necessity:
    """Return the verdict on one mutation of one variant."""
    start = time.perf_counter()
    spec = mutant.apply()
    explored = features_of(variant, profile)
    bound = explored[""]
    promises = evidence_of(mutant.rule, variant.promised)

    def verdict(judgement: Judgement, engine: str, evidence: list[str], **found: Any) -> Necessity:
        found = {"promise": None, "steps": None, "bound": bound, "trace": None} | found
        spent = time.perf_counter() - start
        return Necessity(
            variant.name, mutant.rule, mutant.name, judgement, found["promise"], engine, found["steps"], found["bound"],
            evidence, spent, spec, found["trace"],
        )  # fmt: skip

    lemmas = _lemmas(variant, mutant.rule)
    glance = GLANCE if profile == "smoke" and variant.proof else None
    proof: Redundancy | None = None
    for bounds in explored.values():
        broken, decided = _broken_within(spec, promises, bounds, glance)
        if not decided:
            proof, glance = redundant(spec, lemmas, known=known), None
            if proof.verdict == "holds":  # then no exploration can find a violation
                break
            broken, _ = _broken_within(spec, promises, bounds, None)
        if broken is not None:
            name, trace = broken
            lines = list(say_trace(spec, trace))
            return verdict("necessary", "explore", lines, promise=name, steps=len(trace), trace=trace, bound=bounds)
    for bounds in explored.values():
        others = evidence_of(mutant.rule, variant.promised, "claim")
        others |= evidence_of(mutant.rule, variant.promised, role="step")
        broken, _ = _broken_within(spec, others, bounds, None) if others else (None, True)
        if broken is not None:
            name, trace = broken
            what = "a step breaks" if others[name].role == "step" else "it breaks the claim"
            lines = [f"no state breaks a promise, but {what} {others[name].rule}", *say_trace(spec, trace)]
            return verdict("necessary", "explore", lines, promise=name, steps=len(trace), trace=trace, bound=bounds)
    served = _served(spec, variant)
    if served.fails is not None:
        name, run, small = served.fails
        lines = served.lines if run is None else list(say_trace(spec, run))
        steps = None if run is None else len(run)
        return verdict("liveness", "progress", lines, promise=name, steps=steps, trace=run, bound=small)
    if not variant.proof:
        return verdict("survives-bounded", "explore", [*_why_it_survives(spec, variant, explored), *served.lines])
    proof = proof or redundant(spec, lemmas, known=known)
    if proof.verdict == "holds" and served.lines:
        lemmas_used = [n for n in proof.inductive.remaining if lemmas[n].role == "lemma"]
        lines = [f"every promise is proved from: {', '.join(lemmas_used)}", *served.lines]
        return verdict("redundant", "induction", lines, bound=None)
    why = [f"{name} is not proved: {action} breaks the attempt" for name, action in proof.open.items()]
    missing = [] if served.lines else ["no property of this variant says that work still gets done"]
    return verdict("survives-bounded", "explore", [*why, *missing, *served.lines, "no promise fails within the bound"])


def evidence_of(
    rule: str, properties: Mapping[str, Property], kind: str = "promise", role: str = "promise"
) -> dict[str, Property]:
    """Return the properties that may be evidence that a rule is necessary, which are promises that users know, else
    claims of the documents, of another number than the rule's own. A property that restates the rule is broken without
    it by definition. The ``role`` is promise for what is promised of states, and step for what is promised of steps."""
    return {
        n: p
        for n, p in properties.items()
        if p.role == role and p.rule is not None and p.rule != rule and RULES[p.rule].kind == kind
    }


def _why_it_survives(spec: Spec, variant: Variant, explored: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return lines that state whether the mutant still refines the core, whose promises are proved."""
    refinements = _of_role(variant, "refinement")
    refines = refinements and not any(explore(spec, refinements, bounds).violated for bounds in explored.values())
    lines = ["no promise fails within the bounds"]
    return [*lines, "every step explored is one of the core's, whose safety is proved"] if refines else lines


def _lemmas(variant: Variant, rule: str) -> dict[str, Property]:
    """Return the lemmas that a proof may use, and has to prove, without those expected to fail. A promise that only
    restates the rule may be used as a lemma, if it still holds."""
    every = (variant.for_mutants or variant.properties).properties
    spared = {n for n, verdict in variant.expected.items() if verdict == "violated"} | set(variant.leaves_out)
    lemmas_used = {n: p for n, p in every.items() if n not in spared and p.role != "refinement"}
    own = {n for n, p in lemmas_used.items() if p.rule == rule}
    return {
        n: replace(p, role="lemma") if n in own and p.role == "promise" else p
        for n, p in lemmas_used.items()
        if n not in own or p.role == "promise"
    }


def show(variant: Variant, profile: Profile) -> Necessity:
    """Return the verdict on a rejected alternative, which is the violation that the documents predict, or that there is
    none. A promise of another number than the variant's rule is preferred, if one fails."""
    start = time.perf_counter()
    bound = bounds_of(variant, profile)
    assert variant.rule is not None
    broken = first_broken(variant.spec, evidence_of(variant.rule, variant.asked), bound)
    broken = broken or first_broken(variant.spec, variant.asked, bound) or _waits(variant)
    broken = broken or _departs(variant, bound, "refinement") or _departs(variant, bound, "step")
    if broken is None:
        why = ["the documents predict a violation, and there is none within the bound"]
        return Necessity(
            variant.name, variant.rule, variant.says, "refuted", None, "explore", None, bound, why,
            time.perf_counter() - start, variant.spec,
        )  # fmt: skip
    name, trace = broken
    return Necessity(
        variant.name, variant.rule, variant.says, "shown", name, "explore", len(trace), bound,
        list(say_trace(variant.spec, trace)), time.perf_counter() - start, variant.spec, trace,
    )  # fmt: skip


def _waits(variant: Variant) -> tuple[str, Trace] | None:
    asked = {n: p for n, p in variant.asked.items() if p.role == "progress" and variant.expected.get(n) == "violated"}
    for bound in variant.progress_bounds if asked else ():
        for name, found in check_progress(explore(variant.spec, asked, bound)).items():
            if found.verdict == "violated" and found.trace is not None:
                return name, found.trace
    return None


def first_broken(spec: Spec, properties: Mapping[str, Property], bound: Mapping[str, int]) -> tuple[str, Trace] | None:
    """Return the promise that fails soonest within the bounds, with a shortest run to it."""
    return _broken_within(spec, {n: p for n, p in properties.items() if p.role == "promise"}, bound, None)[0]


def all_broken(variant: Variant, mutant: Mutation, profile: Profile, most: int) -> dict[str, Trace]:
    """Return every promise that fails without the rule within the variant's bounds, among ``most`` states of each
    feature, with a shortest run to it, and not only the one that fails soonest."""
    spec, found = mutant.apply(), dict[str, Trace]()
    promises = {n: p for n, p in evidence_of(mutant.rule, variant.promised).items() if p.kind in ("always", "step")}
    for bounds in features_of(variant, profile).values():
        left = {n: p for n, p in promises.items() if n not in found}
        if left:
            explored = explore(spec, left, bounds, stop_when_violated="all", max_states=most)
            found |= {name: explored.traces[name] for name in explored.violated}
    return found


def _departs(variant: Variant, bound: Mapping[str, int], role: str) -> tuple[str, Trace] | None:
    found = explore(variant.spec, _of_role(variant, role), bound, stop_when_violated=True)
    name = min(found.violated, key=found.traces.steps, default=None)
    return None if name is None else (name, found.traces[name])


def _of_role(variant: Variant, role: str) -> dict[str, Property]:
    return {n: p for n, p in variant.asked.items() if p.role == role}


def _broken_within(
    spec: Spec, properties: Mapping[str, Property], bound: Mapping[str, int], most: int | None
) -> tuple[tuple[str, Trace] | None, bool]:
    """Return a property that fails among the first ``most`` states, and whether that decides it."""
    found = explore(spec, properties, bound, stop_when_violated=True, max_states=most)
    if not found.violated:
        return None, found.complete
    name = min(found.violated, key=lambda n: (found.traces.steps(n), list(properties).index(n)))
    return (name, found.traces[name]), True


@dataclass(frozen=True)
class _Served:
    """A `_Served` states how progress fares in a mutant. ``fails`` has a progress promise that fails, with a run and
    its bounds, or without a run where no state ever begins to wait. ``lines`` describes each property which states that
    work gets done."""

    fails: tuple[str, Trace | None, dict[str, int]] | None
    lines: list[str]


def _served(spec: Spec, variant: Variant) -> _Served:
    """Return whether every progress promise that holds of the variant itself also holds of the mutant, and whether work
    still gets done.

    Bounds in which no state of the mutant waits, although some state of the variant itself does, are no evidence for
    such a property, since all work is stopped before it begins.
    """
    asked = {n: p for n, p in variant.asked.items() if p.role == "progress" and n not in variant.expected}
    if not asked or not variant.progress_bounds:
        return _Served(None, [])
    free, numbers = _unlimited(spec, variant.spec)
    waits: dict[str, list[int]] = {n: [] for n, p in asked.items() if p.serves}
    within = []
    for usual in variant.progress_bounds:
        made = _explored(free, asked, usual, numbers)
        bound = made.kernels.ground.bounds
        for name, found in check_progress(made).items():
            if found.verdict == "violated" and found.trace is not None:
                return _Served((name, found.trace, bound), [])
            if name in waits:
                waits[name].append(found.waiting)
            if name in waits and not found.waiting:
                otherwise = check_progress(explore(variant.spec, {name: asked[name]}, usual))[name].waiting
                if otherwise:
                    line = f"{name_in_words(name)}: no state comes so far as to wait for that; {otherwise} do otherwise"
                    return _Served((name, None, bound), [line])
        within.append(", ".join(f"{n} {v}" for n, v in bound.items()))
    waiting = {name_in_words(name): sum(states) for name, states in waits.items()}
    return _Served(
        None, [f"{n}: holds of {w:,} states that wait, within {'; '.join(within)}" for n, w in waiting.items()]
    )


def _unlimited(spec: Spec, usual: Spec) -> tuple[Spec, set[str]]:
    """Return the mutant with room for actions that it changes and exploration limits, and the bounds that should be
    wider for it. A guard that is shifted by one asks for the number after the next, where the limit allows only the
    next one. The limit is shifted accordingly, and there should be more numbers, since a step may use two."""
    actions, numbers = dict(spec.actions), set()
    for name, a in spec.actions.items():
        if a.limits and name in usual.actions and a != usual.actions[name]:
            actions[name] = replace(a, limits=tuple(shifted(limit).get("looser", limit) for limit in a.limits))
            numbers |= {k.upto for _, k in a.parameters if isinstance(k, NumberType) and k.upto is not None}
    return replace(spec, actions=actions), numbers


def _explored(
    spec: Spec, asked: Mapping[str, Property], bound: Mapping[str, int], numbers: Collection[str]
) -> Exploration:
    most = max((bound[n] // 2 for n in numbers if n in bound), default=0)
    for more in range(most, 0, -1):
        try:
            return explore(spec, asked, {n: v + min(more, v // 2) if n in numbers else v for n, v in bound.items()})
        except BoundsError:  # a state takes too many bits
            continue
    return explore(spec, asked, bound)
