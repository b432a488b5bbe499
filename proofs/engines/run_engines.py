"""This module has one function for each engine, which takes a variant and returns a Result for each property, in the
same shape."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.derived.slicing import without_unread_ghosts
from fencepost.model.language.properties import Property
from fencepost.model.language.specs import Spec
from fencepost.proofs.engines.induction import Proof, prove
from fencepost.proofs.engines.induction_counterexamples import narrate
from fencepost.proofs.engines.obligation_cache import since
from fencepost.proofs.engines.obligations import Obligation
from fencepost.proofs.engines.refinements import explain
from fencepost.proofs.readings.solver.solving import RLIMIT
from fencepost.proofs.readings.words import say_trace
from fencepost.proofs.results import Result, Trace, Verdict, worst
from fencepost.proofs.scope.cells import Scope
from fencepost.proofs.scope.scopes import (
    narrowed,
    scope_of_features,
    scope_of_proof,
    scope_of_search,
)
from fencepost.properties.catalogue import Profile, ProtocolEntry, Variant, features_of, progress_of, wider_of

if TYPE_CHECKING:  # NumPy, which a browser's Python may lack
    from fencepost.proofs.engines.explore import Exploration, Progress
    from fencepost.proofs.engines.second.certified_readings import Again
    from fencepost.proofs.readings.equal.obligations import Equal, Part, Readings

Reporter = Callable[[Any], None]


def result(
    entry: ProtocolEntry, variant: Variant, name: str, kind: str, engine: str, verdict: Verdict, seconds: float,
    bound: Mapping[str, int] | None = None, evidence: dict[str, Any] | None = None,
) -> Result:  # fmt: skip
    """Return a Result with what the catalogue expects of this property."""
    expected: Any = variant.expected.get(name, "holds")
    item = variant.properties.properties.get(name)
    facts = {} if item is None else {"role": item.role, "rule": item.rule}
    return Result(
        entry.name, variant.name, name, kind, engine, verdict, expected,
        None if bound is None else dict(bound), round(seconds, 4), facts | (evidence or {}),
    )  # fmt: skip


def _within(scope: Scope, results: list[Result]) -> list[Result]:
    fields = scope.fields
    return [replace(r, **fields) for r in results]


def _with(properties: Mapping[str, Property], *kinds: str) -> dict[str, Property]:
    return {n: p for n, p in properties.items() if p.kind in kinds}


def run_induction(
    entry: ProtocolEntry,
    variant: Variant,
    *,
    rlimit: int | None = None,
    proof: Proof | None = None,
) -> list[Result]:
    """Return one Result for every promise, lemma and step property, proved without bounds or not, and one for vacuity.
    ``proof`` is a proof that was made already."""
    proof = proof or prove(variant.spec, variant.promised, rlimit=rlimit or RLIMIT)
    found = []
    for name, item in _with(variant.promised, "always", "step").items():
        mine = [o for o in proof.obligations if o.property == name]
        verdict = proof.verdict(name)
        evidence: dict[str, Any] = {"obligations": len(mine)}
        if verdict == "holds":
            evidence["rests_on"] = list(proof.rests_on(name))
        if name in proof.inherited:
            evidence["inherited"] = proof.inherited[name].as_dict()
        if verdict == "not proved":
            evidence["leans_on"] = list(proof.leaning[name])
        if failures := [o for o in mine if o.verdict != "holds"]:
            evidence["fails"] = [f"{o.kind} {o.action}".strip() for o in failures]
            evidence["words"] = [line for o in failures for line in narrate(variant.spec, variant.promised, o)]
        spent = sum(o.seconds for o in mine)
        made = result(entry, variant, name, item.kind, "induction", verdict, spent, None, evidence)
        found.append(replace(made, cached=since(mine)))
    empty = [o for o in proof.obligations if o.kind in ("enabled", "dead")]
    verdict = worst(o.verdict for o in empty)
    evidence = {"actions": len(empty), "fails": [o.action for o in empty if o.verdict != "holds"]}
    if verdict == "not proved":
        evidence["leans_on"] = list(proof.leaning[""])
    spent = sum(o.seconds for o in empty)
    made = result(entry, variant, "every_action_can_happen", "sometimes", "induction", verdict, spent, None, evidence)
    found.append(replace(made, cached=since(empty)))
    return _within(scope_of_proof(variant.spec, variant.promised, proof, rlimit=rlimit or RLIMIT), found)


def cut_induction(entry: ProtocolEntry, variant: Variant, obligations: Sequence[Obligation]) -> list[Result]:
    """Return the results of a proof that was broken off after some obligations. A property with a violated obligation
    is violated, and all others are unknown, since obligations may be missing. Z3 is not asked anything."""
    found = []
    for name, item in _with(variant.promised, "always", "step").items():
        mine = [o for o in obligations if o.property == name]
        failures = [o for o in mine if o.verdict == "violated"]
        evidence: dict[str, Any] = {"obligations": len(mine)}
        if failures:
            evidence["fails"] = [f"{o.kind} {o.action}".strip() for o in failures]
        else:
            evidence["reason"] = "the proof was interrupted"
        verdict: Verdict = "violated" if failures else "unknown"
        spent = sum(o.seconds for o in mine)
        found.append(result(entry, variant, name, item.kind, "induction", verdict, spent, None, evidence))
    return found


def run_explore(
    entry: ProtocolEntry, variant: Variant, bound: Mapping[str, int], *,
    report: "Callable[[Progress], None] | None" = None,
    engine: str = "numpy", checkpoint: Path | None = None, symmetry: bool = False, partial_order: bool = False,
    only: Collection[str] | None = None,
) -> "tuple[list[Result], Exploration]":  # fmt: skip
    """Explore every reachable state within the bounds, and return verdicts with shortest traces, and the exploration
    itself. ``only`` names the properties to judge, if not all."""
    from fencepost.proofs.engines.explore import explore

    asked = _with(variant.asked, "always", "step", "sometimes")
    asked = asked if only is None else {name: item for name, item in asked.items() if name in only}
    spec = without_unread_ghosts(variant.spec, asked.values())
    made = explore(
        spec, asked, bound, progress=report, engine=engine, checkpoint=checkpoint, symmetry=symmetry,
        partial_order=partial_order,
    )  # fmt: skip
    found = [_explored(entry, variant, item, bound, made) for item in asked.values()]
    return _within(scope_of_search(variant.spec, [made]), found), made


def _explored(
    entry: ProtocolEntry, variant: Variant, item: Property, bound: Mapping[str, int], made: "Exploration"
) -> Result:
    evidence: dict[str, Any] = {"distinct": made.distinct, "generated": made.generated, "depth": made.depth}
    if item.name in made.traces:
        evidence |= _evidence(made.kernels.ground.spec, made.traces[item.name], item, bound)
    elif isinstance(item, Refinement):
        evidence |= _taken(item, made)
    verdict = made.verdicts[item.name]
    return result(entry, variant, item.name, item.kind, "explore", verdict, made.seconds, bound, evidence)


def run_features(
    entry: ProtocolEntry, variant: Variant, profile: Profile
) -> "tuple[list[Result], dict[str, Exploration]]":
    """Explore every reachable state within the variant's bounds, within those of each feature, and, up to the names of
    elements, within the wider ones of the profile. Return one verdict for each property, and the explorations by
    feature.

    An always property has to hold in all of them, and a witness has to be reached in one. The scope of a violation, or
    of a witness that is reached, has the dangers of the explorations that decide it. The scope of a property that holds
    has the dangers of all explorations, until it is known where the property could have been broken
    (`fencepost.proofs.necessity.killers`).
    """
    from fencepost.proofs.engines.explore import explore

    asked = _with(variant.asked, "always", "step", "sometimes")
    wider = wider_of(variant, profile)
    bounds = features_of(variant, profile) | wider
    sliced = without_unread_ghosts(variant.spec, asked.values())
    explored = {feature: explore(sliced, asked, bound, symmetry=feature in wider) for feature, bound in bounds.items()}
    whole = scope_of_features(variant.spec, explored)
    found = []
    for item in asked.values():
        deciding = _deciding(item, explored)
        made = _together(entry, variant, item, bounds, explored, deciding)
        found += _within(narrowed(whole, deciding) if deciding else whole, [made])
    return found, explored


def _deciding(item: Property, explored: "Mapping[str, Exploration]") -> list[str]:
    decisive = "holds" if item.kind == "sometimes" else "violated"
    return [feature for feature, made in explored.items() if made.verdicts[item.name] == decisive]


def _together(
    entry: ProtocolEntry, variant: Variant, item: Property, bounds: Mapping[str, Mapping[str, int]],
    explored: "Mapping[str, Exploration]", deciding: Sequence[str],
) -> Result:  # fmt: skip
    """Return the result that decides: the shortest violation or witness, else the first, with all states and times."""
    name = item.name
    chosen = min(deciding, key=lambda feature: explored[feature].traces.steps(name)) if deciding else next(iter(bounds))
    found = _explored(entry, variant, item, bounds[chosen], explored[chosen])
    more: dict[str, Any] = {"feature": chosen, "distinct": sum(made.distinct for made in explored.values())}
    if len(explored) > 1:
        more["explorations"] = len(explored)
    if alike := {feature: made for feature, made in explored.items() if made.kernels.symmetry}:
        more["symmetry"] = {
            feature: {"bound": dict(bounds[feature]), "distinct": made.distinct} for feature, made in alike.items()
        }
    if "never" in found.evidence and isinstance(item, Refinement):
        never, unsaid_words = found.evidence["never"], list(found.evidence["unsaid"])
        for feature, made in explored.items():
            if feature != chosen:
                also = _taken(item, made, never)
                never = [step for step in never if step in also["never"]]
                unsaid_words += also["unsaid"]
        more |= {"never": never, "unsaid": list(dict.fromkeys(unsaid_words))}
    seconds = round(sum(round(made.seconds, 4) for made in explored.values()), 4)
    return replace(found, seconds=seconds, evidence=found.evidence | more)


def run_equal(entry: ProtocolEntry, variant: Variant, bound: Mapping[str, int]) -> list[Result]:
    """Return, for each action and property, whether what other readings execute in the bounds agrees with its terms."""
    from fencepost.proofs.readings.equal.obligations import Readings

    readings = Readings(variant.spec, variant.asked, bound)
    return [_as_result(entry, variant, one, bound) for one, _ in readings.all()]


def run_readings(
    entry: ProtocolEntry, variant: Variant, bound: Mapping[str, int], most: int, report: Callable[[], object],
    again: "Callable[[Readings, list[Part]], Again] | None" = None,
) -> tuple[list[Result], dict[str, str]]:  # fmt: skip
    """Return the results of `run_equal`, and those of plain Python in at most ``most`` states, with what is not covered
    and why. What only a fault allows that the bounds exclude is asked with one such fault. ``again`` asks a second
    solver about the parts of a result. ``report`` is called for each result, and for each block of states."""
    from fencepost.proofs.readings.equal.obligations import Readings
    from fencepost.proofs.readings.equal.running import compare
    from fencepost.proofs.readings.ground import BoundsError

    readings, found, left = Readings(variant.spec, variant.asked, bound), list[Result](), dict[str, str]()
    if readings.without_columns:
        left["columns"] = readings.without_columns
    idle = (action for name, action in variant.spec.actions.items() if name not in readings.possible)
    faults = sorted({action.budget for action in idle if action.budget is not None})
    within = [(readings, bound)]
    for budget in faults:
        wider = {**bound, budget: 1}
        try:
            within.append((Readings(variant.spec, {}, wider), wider))
        except BoundsError as error:
            left[f"the fault {budget}"] = str(error)
    for name in variant.spec.actions:
        best, its_bound = next(((r, b) for r, b in within if name in r.possible), within[0])
        for one, parts in best.of_action(name):
            found.append(_as_result(entry, variant, one, its_bound, again and again(best, parts)))
            report()
    for one, parts in readings.of_properties():
        found.append(_as_result(entry, variant, one, bound, again and again(readings, parts)))
        report()
    for_plain = {**bound, **dict.fromkeys(faults, 1)}
    try:
        ran = compare(variant.spec, for_plain, most=most, report=report)
    except BoundsError:  # all faults at once take more bits than are packed
        for_plain = dict(bound)
        ran = compare(variant.spec, for_plain, most=most, report=report)
    for name, taken in ran.taken.items():
        evidence = {"of": "action", "reading": "plain Python", "states": ran.states, "steps": taken}
        evidence |= {"complete": ran.complete, "drawn_from": ran.drawn_from, **ran.different.get(name, {})}
        verdict: Verdict = "violated" if name in ran.different else "holds"
        spent = ran.seconds / len(ran.taken)
        of = f"{name}_in_plain_python"
        found.append(result(entry, variant, of, "reading", "equal", verdict, spent, for_plain, evidence))
    return found, left


def _as_result(
    entry: ProtocolEntry, variant: Variant, one: "Equal", bound: Mapping[str, int], again: "Again | None" = None
) -> Result:
    """Return the result of Z3's answer. A second solver that has a state against it makes it a violation."""
    evidence: dict[str, Any] = {"of": one.kind, "reading": one.read_as, "possible": one.possible}
    evidence |= {"state": dict(one.state)} if one.state else {}
    evidence |= {"second": again.as_dict()} if again is not None else {}
    verdict = "violated" if again is not None and again.contradicts and one.verdict == "holds" else one.verdict
    name = f"{one.of}_in_{one.read_as.replace(' ', '_')}"
    return result(entry, variant, name, "reading", "equal", verdict, one.seconds, bound, evidence)


def run_progress(entry: ProtocolEntry, variant: Variant) -> list[Result]:
    """Judge the progress properties on the whole graph within their own bounds, of which the worst verdict counts, and
    of several that hold the one with the most states that wait."""
    from fencepost.proofs.engines.explore import explore
    from fencepost.proofs.engines.progress import check_progress

    asked = _with(variant.asked, "eventually")
    found: dict[str, Result] = {}
    violated: dict[str, list[str]] = {name: [] for name in asked}
    graphs: dict[str, Exploration] = {}
    sliced = without_unread_ghosts(variant.spec, asked.values())
    for feature, bound in progress_of(variant).items():
        start = time.perf_counter()
        graphs[feature] = explore(sliced, asked, bound)
        for name, item in check_progress(graphs[feature]).items():
            if item.verdict == "violated":
                violated[name].append(feature)
            evidence_of = None if item.trace is None else _evidence(sliced, item.trace, asked[name], bound)
            evidence = {"waiting": item.waiting} if evidence_of is None else evidence_of
            spent = time.perf_counter() - start
            new = result(entry, variant, name, "eventually", "progress", item.verdict, spent, bound, evidence)
            if name not in found or _counts_more(new, found[name]):
                found[name] = new
    whole = scope_of_features(variant.spec, graphs, "progress")
    scopes = {name: narrowed(whole, violated[name]) if violated[name] else whole for name in found}
    return [r for name, made in found.items() for r in _within(scopes[name], [made])]


def _counts_more(new: Result, than: Result) -> bool:
    if (new.verdict, than.verdict) == ("holds", "holds"):
        return bool(new.evidence["waiting"] > than.evidence["waiting"])
    return than.verdict == "holds"


def _evidence(spec: Spec, trace: Trace, item: Property, bound: Mapping[str, int]) -> dict[str, Any]:
    why = explain(item, spec, bound, trace) if isinstance(item, Refinement) else ()
    return {
        "steps": len(trace),
        "loop": trace.loop,
        "events": [str(event) for event in trace.events],
        "words": [*say_trace(spec, trace), *why],
    }


def _taken(item: Refinement, made: "Exploration", among: Collection[str] | None = None) -> dict[str, Any]:
    """Return which actions of the core the explored steps took, which they never took, without dead ones, and which
    they took although the refinement excludes it. ``among`` restricts the actions to look for."""
    from fencepost.proofs.engines.explore import coverage, unsaid

    taken = coverage(made, item.name, among)
    never = [action for action, by in taken.items() if not by and item.core.actions[action].dead is None]
    wrong = [f"{action} is {step}" for action, step in unsaid(made, item.name)]
    return {
        "core": item.core.name,
        "taken": {a: list(by) for a, by in taken.items() if by},
        "never": never,
        "unsaid": wrong,
    }


def contradictions(results: list[Result]) -> list[str]:
    """Return answers to the same question that cannot both be right, which are a violation against a proof, or against
    a complete search that includes its bounds."""
    found = []
    for bad in (r for r in results if r.verdict == "violated"):
        for good in (r for r in results if r.verdict == "holds"):
            same = (good.protocol, good.variant, good.property, good.kind) == (
                bad.protocol,
                bad.variant,
                bad.property,
                bad.kind,
            )
            if same and good.kind in ("always", "step", "eventually") and covers(good, bad):
                found.append(
                    f"{good.protocol}/{good.variant} {good.property}: "
                    f"{good.engine} says it holds, {bad.engine} that it does not"
                )
    return found


def covers(wide: Result, narrow: Result) -> bool:
    """Return whether a violation would have been found within the bounds of a search."""
    if wide.bound is None:
        return True
    if narrow.bound is None:
        return False
    return all(name in narrow.bound and narrow.bound[name] <= size for name, size in wide.bound.items())
