"""Necessity: for every mechanism, what breaks without it in the fewest steps, or the proof that nothing does.

Each mutation of a protocol is explored until a *promise* fails (never a mere lemma).  Where none does, progress is
asked for; where that holds too, the promises are proved again from what is left of the lemmas.  What is neither
refuted nor proved survives, up to a named bound.  Rejected alternatives and literal readings are variants of the
catalogue: their predicted failure is shown, or refuted.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fencepost.model.language.mutations import Mutation, mutations
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.rules import RULES
from fencepost.proofs.explore import explore
from fencepost.proofs.houdini import Known, Redundancy, redundant
from fencepost.proofs.progress import check_progress
from fencepost.proofs.results import Trace
from fencepost.proofs.words import say_trace
from fencepost.properties.catalogue import Profile, ProtocolEntry, Variant, bounds_of, features_of

GLANCE = 200_000
"""States: in the smoke profile, a mutation that breaks nothing among so many is tried by proof before the rest of them
is explored, which takes longer.  The other profiles explore to the end first, as a second opinion."""

Judgement = Literal["necessary", "redundant", "liveness", "survives-bounded", "shown", "refuted"]


@dataclass(frozen=True)
class Necessity:
    """The verdict on one mutation.  ``promise``: what fails without the rule; ``steps``: of the shortest run that
    shows it; ``bound``: the bounds explored (None for a proof); ``trace``: that run; ``evidence``: the run in words, or
    what the proof rests on; ``reason``: why it may survive."""

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

    def as_dict(self) -> dict[str, Any]:
        names = ("variant", "rule", "mutation", "verdict", "promise", "engine", "steps", "bound", "evidence")
        return {name: getattr(self, name) for name in names}


def necessity(
    entry: ProtocolEntry, profile: Profile, *, rule: str | None = None, told: Callable[[Necessity], None] | None = None
) -> list[Necessity]:
    """A verdict on every mutation of every mechanism of a protocol, and on every rejected alternative; on one
    ``rule`` if named."""
    found = []
    for verdict in _verdicts(entry, profile, rule):
        found.append(verdict)
        if told is not None:
            told(verdict)
    return found


def _verdicts(entry: ProtocolEntry, profile: Profile, rule: str | None) -> Iterator[Necessity]:
    known: dict[str, Known] = {}
    for variant, mutant in sorted(_mechanisms(entry, rule), key=lambda pair: _order(pair[1].rule)):
        verdict = judge(variant, mutant, profile, known.setdefault(variant.name, Known()))
        if verdict.verdict == "survives-bounded" and variant.full is not None:
            verdict = _judge_in_full(entry.variant(variant.full), mutant, profile) or verdict
        reason = entry.survivors.get((mutant.rule, mutant.name))
        if verdict.verdict == "survives-bounded" and reason is not None:
            verdict = replace(verdict, evidence=[reason, *verdict.evidence], reason=reason)
        yield verdict
    for variant in entry.variants:
        if "violated" in variant.expected.values() and variant.rule is not None and rule in (None, variant.rule):
            yield show(variant, profile)


def _judge_in_full(full: Variant, mutant: Mutation, profile: Profile) -> Necessity | None:
    """The verdict on the same mutation of the richer variant, if it has it and harm comes of it there."""
    for same in mutations(full.properties.protocol.spec):
        if (same.rule, same.name) == (mutant.rule, mutant.name):
            verdict = judge(full, same, profile)
            return verdict if verdict.verdict in ("necessary", "liveness") else None
    return None


def _order(rule: str) -> int:
    return list(RULES).index(rule)


def _mechanisms(entry: ProtocolEntry, rule: str | None) -> Iterator[tuple[Variant, Mutation]]:
    """Each mutation of each main variant; of a variant built from others, only what they do not have."""
    main = sorted((v for v in entry.variants if v.main and v.judged != ()), key=lambda v: len(v.spec.actions))
    for variant in main:
        parts = [v for v in main if v is not variant and issubclass(variant.properties.protocol, v.properties.protocol)]
        inherited = {(m.rule, m.name) for v in parts for m in mutations(v.properties.protocol.spec)}
        for mutant in mutations(variant.properties.protocol.spec):
            asked = RULES[mutant.rule].kind in ("mechanism", "claim") and rule in (None, mutant.rule)
            asked = asked and (variant.judged is None or mutant.rule in variant.judged)
            if asked and (mutant.rule, mutant.name) not in inherited:
                yield variant, mutant


def judge(variant: Variant, mutant: Mutation, profile: Profile, known: Known | None = None) -> Necessity:
    """The verdict on one mutation of one variant."""
    start = time.perf_counter()
    spec = mutant.apply()
    explored = features_of(variant, profile)
    bound = explored[""]

    def verdict(judgement: Judgement, engine: str, evidence: list[str], **found: Any) -> Necessity:
        found = {"promise": None, "steps": None, "bound": bound, "trace": None} | found
        spent = time.perf_counter() - start
        return Necessity(
            variant.name, mutant.rule, mutant.name, judgement, found["promise"], engine, found["steps"], found["bound"],
            evidence, spent, spec, found["trace"],
        )  # fmt: skip

    glance = GLANCE if profile == "smoke" and variant.proof else None
    proof: Redundancy | None = None
    for bounds in explored.values():
        broken, decided = _broken_within(spec, variant.kept, bounds, glance)
        if not decided:
            proof, glance = redundant(spec, _lemmas(variant), known=known), None
            if proof.verdict == "holds":  # no exploration can find anything, of this feature or of the others
                break
            broken, _ = _broken_within(spec, variant.kept, bounds, None)
        if broken is not None:
            name, trace = broken
            told = list(say_trace(spec, trace))
            return verdict("necessary", "explore", told, promise=name, steps=len(trace), trace=trace, bound=bounds)
    stuck = _stuck(spec, variant)
    if stuck is not None:
        name, trace, small = stuck
        told = list(say_trace(spec, trace))
        return verdict("liveness", "progress", told, promise=name, steps=len(trace), trace=trace, bound=small)
    if not variant.proof:
        return verdict("survives-bounded", "explore", _why_it_survives(spec, variant, explored))
    lemmas = _lemmas(variant)
    proof = proof or redundant(spec, lemmas, known=known)
    if proof.verdict == "holds":
        kept = [n for n in proof.inductive.kept if lemmas[n].role == "lemma"]
        return verdict("redundant", "induction", [f"every promise is proved from: {', '.join(kept)}"], bound=None)
    why = [f"{name} is not proved: {action} breaks the attempt" for name, action in proof.open.items()]
    return verdict("survives-bounded", "explore", [*why, "no promise fails within the bound"])


def _why_it_survives(spec: Spec, variant: Variant, explored: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Whether the mutant still does as the core, whose promises are proved."""
    refinements = {n: p for n, p in variant.asked.items() if p.role == "refinement"}
    refines = refinements and not any(explore(spec, refinements, bounds).violated for bounds in explored.values())
    told = ["no promise fails within the bounds"]
    return [*told, "every step explored is one of the core's, whose safety is proved"] if refines else told


def _lemmas(variant: Variant) -> dict[str, Property]:
    """What a proof may use, and has to prove: nothing that is expected to fail."""
    every = (variant.for_mutants or variant.properties).properties
    spared = {n for n, verdict in variant.expected.items() if verdict == "violated"} | set(variant.leaves_out)
    return {n: p for n, p in every.items() if n not in spared and p.role != "refinement"}


def show(variant: Variant, profile: Profile) -> Necessity:
    """The verdict on a rejected alternative: the violation that the documents predict, or the plain word that there
    is none."""
    start = time.perf_counter()
    bound = bounds_of(variant, profile)
    broken = first_broken(variant.spec, variant.asked, bound) or _waits(variant)
    assert variant.rule is not None
    if broken is None:
        told = ["the documents predict a violation, and there is none within the bound"]
        return Necessity(
            variant.name, variant.rule, variant.says, "refuted", None, "explore", None, bound, told,
            time.perf_counter() - start, variant.spec,
        )  # fmt: skip
    name, trace = broken
    return Necessity(
        variant.name, variant.rule, variant.says, "shown", name, "explore", len(trace), bound,
        list(say_trace(variant.spec, trace)), time.perf_counter() - start, variant.spec, trace,
    )  # fmt: skip


def _waits(variant: Variant) -> tuple[str, Trace] | None:
    """The progress promise that is predicted to fail, with a run that shows it."""
    asked = {n: p for n, p in variant.asked.items() if p.role == "progress" and variant.expected.get(n) == "violated"}
    for bound in variant.progress_bounds if asked else ():
        for name, found in check_progress(explore(variant.spec, asked, bound)).items():
            if found.verdict == "violated" and found.trace is not None:
                return name, found.trace
    return None


def first_broken(spec: Spec, properties: Mapping[str, Property], bound: Mapping[str, int]) -> tuple[str, Trace] | None:
    """The promise that fails soonest within the bounds, with a shortest run to it."""
    return _broken_within(spec, properties, bound, None)[0]


def _broken_within(
    spec: Spec, properties: Mapping[str, Property], bound: Mapping[str, int], most: int | None
) -> tuple[tuple[str, Trace] | None, bool]:
    """The same among the first ``most`` states, and whether that decides it."""
    asked = {n: p for n, p in properties.items() if p.role == "promise"}
    found = explore(spec, asked, bound, stop_when_violated=True, max_states=most)
    if not found.violated:
        return None, found.complete
    name = min(found.violated, key=lambda n: (found.traces.steps(n), list(asked).index(n)))
    return (name, found.traces[name]), True


def _stuck(spec: Spec, variant: Variant) -> tuple[str, Trace, dict[str, int]] | None:
    """A progress promise that fails of the mutant, and does not fail of the variant itself."""
    asked = {n: p for n, p in variant.asked.items() if p.role == "progress" and n not in variant.expected}
    for bound in variant.progress_bounds:
        for name, found in check_progress(explore(spec, asked, bound)).items():
            if found.verdict == "violated" and found.trace is not None:
                return name, found.trace, dict(bound)
    return None
