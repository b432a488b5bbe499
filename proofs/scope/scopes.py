"""Scope: against which dangers a verdict of an engine stands, and why it does not stand against the others.

A tag is a claim of the model (`fencepost.model.dangers`); a danger is *in* only where the engine met it:

- explore and progress took a step that is tagged with it, or reached a state in which its condition holds, within
  bounds in which the promise could have been broken: `fencepost.proofs.necessity.killers` knows a mutation that does;
- induction reveals a tagged action enabled, or the condition possible, in a state that satisfies the invariant;
- agreement, live, histories and recordings count it.

Every danger that is *out* has a reason: what the model says of it (``outside``), else that it is open, and why."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from fencepost.model.dangers import DANGERS
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.terms import TRUE, Term
from fencepost.model.language.tree.types import bound_of, has_bound
from fencepost.proofs.engines.explore import Exploration
from fencepost.proofs.engines.induction import Proof, invariant
from fencepost.proofs.readings.solver.models import Shrinker
from fencepost.proofs.readings.solver.solving import RLIMIT, Question
from fencepost.proofs.results import Result, Verdict
from fencepost.proofs.scope.cells import Cell, Engine, Scope

SEARCHING: tuple[Engine, ...] = ("explore", "progress")
"""Engines that look at states within bounds, so that each promise has a scope of its own."""
USERS_RELY_ON = ("promise", "step", "progress")
"""The roles of properties whose *holds* needs a mutation that breaks it: lemmas serve a proof, a witness is its own."""
NOTHING_STATED = "open: the model says nothing of it"


Met = Mapping[str, int | None]
"""The dangers that were met, each with how often, where that is counted."""


def scope(spec: Spec, engine: Engine, met: Met, unmet: Callable[[str], str]) -> Scope:
    """``unmet``: why a danger that the model has was not met."""
    return Scope(engine, {name: _cell(spec, name, met, unmet) for name in DANGERS})


def _cell(spec: Spec, name: str, met: Met, unmet: Callable[[str], str]) -> Cell:
    reason, tagged = spec.outside.get(name), name in spec.dangers
    if reason is not None and reason.standing == "excused" and (name in met or not tagged):
        return Cell("excused", met.get(name), reason.why)
    if name in met:
        return Cell("in", met[name])
    if reason is not None and reason.standing != "excused":
        return Cell("out", why=str(reason))
    return Cell("out", why=f"open: {unmet(name)}" if tagged else NOTHING_STATED)


def scope_of(spec: Spec, engine: Literal["induction", "explore", "progress"], evidence: Any) -> Scope:
    """The scope of a verdict on any form of a protocol, a mutated one too.  ``evidence``: of induction the properties
    that were assumed, of the others the explorations that were made."""
    if engine == "induction":
        return scope_of_proof(spec, evidence)
    return scope_of_search(spec, evidence, engine)


def met_by(spec: Spec, explored: Exploration) -> dict[str, int | None]:
    """The dangers that an exploration met; of those that are steps, how many steps."""
    met: dict[str, int | None] = {p.danger: None for name, p in spec.presences.items() if name in explored.met}
    for name, action in spec.actions.items():
        if name in explored.first:
            for danger in action.dangers:
                met[danger] = (met.get(danger) or 0) + explored.taken[name]
    return met


def scope_of_search(
    spec: Spec, explored: Sequence[Exploration], engine: Literal["explore", "progress"] = "explore"
) -> Scope:
    """Return the scope of several explorations: what one of them met."""
    met: dict[str, int | None] = {}
    for made in explored:
        for name, count in met_by(spec, made).items():
            met[name] = count if met.get(name) is None else (met[name] or 0) + (count or 0)
    bounds = [made.kernels.ground.bounds for made in explored]

    def unmet(name: str) -> str:
        return f"the model has it, and no explored state within these bounds met it{_switched_off(spec, name, bounds)}"

    return scope(spec, engine, met, unmet)


def scope_of_features(
    spec: Spec, explored: Mapping[str, Exploration], engine: Literal["explore", "progress"] = "explore"
) -> Scope:
    """Return the scope of explorations by feature: what one of them met, and what each did."""
    alone = {feature: scope_of_search(spec, [made], engine) for feature, made in explored.items()}
    return replace(scope_of_search(spec, list(explored.values()), engine), features=alone)


def narrowed(whole: Scope, features: Collection[str]) -> Scope:
    """Return what a search within several bounds met within those of these features: of a promise that can be broken in
    these alone.  A danger that was met elsewhere is out, since nothing is known that it could have done there."""
    mine = [whole.features[feature] for feature in features]
    return replace(whole, cells={name: _met_among(name, cell, mine, whole) for name, cell in whole.cells.items()})


def _met_among(name: str, cell: Cell, mine: Sequence[Scope], whole: Scope) -> Cell:
    met = [scope.cells[name] for scope in mine if scope.cells[name].status != "out"]
    if met:
        counts = [each.count for each in met if each.count is not None]
        return replace(met[0], count=sum(counts) if counts else None)
    if cell.status == "out":
        return cell
    where = [feature for feature, scope in whole.features.items() if scope.cells[name].status != "out"]
    return Cell("out", why=f"open: no mutation is known that breaks it where that is met, within {in_words(where)}")


def in_words(features: Iterable[str]) -> str:
    """The names of bounds as they are printed; the variant's own have none."""
    return ", ".join(f"those of {feature}" if feature else "its own bounds" for feature in features)


def _switched_off(spec: Spec, name: str, bounds: Sequence[Mapping[str, int]]) -> str:
    """The bounds that leave no room for a fault, in all that was explored."""
    budgets = {a.budget for a in spec.actions.values() if name in a.dangers and a.budget is not None}
    off = sorted(b for b in budgets if all(not has_bound(bound, b) or not bound_of(bound, b) for bound in bounds))
    return f" (bound {', '.join(f'{b} 0' for b in off)})" if off else ""


def scope_of_proof(
    spec: Spec, properties: Mapping[str, Property], proof: Proof | None = None, *, rlimit: int = RLIMIT
) -> Scope:
    """Return the scope of an induction that assumed these properties.  ``proof``: one that has asked already which
    actions can happen."""
    always = invariant(properties).values()
    known = {o.action: _can_happen(o.kind, o.verdict) for o in (proof.obligations if proof else ()) if o.kind in _ALIVE}
    met: dict[str, int | None] = {}
    undecided: set[str] = set()
    for action in spec.actions.values():
        if wanted := set(action.dangers) - met.keys():
            verdict = known.get(action.name)
            if verdict is None:
                verdict = _possible(Question.step(spec, action, always, rlimit), TRUE, always)
            _note(verdict, wanted, met, undecided)
    somewhere: Question | None = None
    for presence in spec.presences.values():
        if presence.danger not in met:
            somewhere = somewhere or Question.state(spec, always, rlimit)
            _note(_possible(somewhere, presence.term, always), {presence.danger}, met, undecided)

    def unmet(name: str) -> str:
        if name in undecided:
            return "Z3 did not decide whether a state of the invariant has it"
        return "the model has it, and no state of the invariant does"

    return scope(spec, "induction", met, unmet)


_ALIVE = ("enabled", "dead")


def _can_happen(kind: str, verdict: Verdict) -> Verdict:
    """An obligation to be dead is met by an action that can't happen."""
    opposite: dict[Verdict, Verdict] = {"holds": "violated", "violated": "holds"}
    return opposite.get(verdict, "unknown") if kind == "dead" else verdict


def _possible(question: Question, term: Term, always: Collection[Term]) -> Verdict:
    verdict = question.possible(term, always).verdict
    # A small model reveals that it is possible, even where the unbounded question was too hard.
    if verdict == "unknown" and Shrinker(question, always).shrink():
        verdict = "holds"
    question.forget()
    return verdict


def _note(verdict: Verdict, dangers: Iterable[str], met: dict[str, int | None], undecided: set[str]) -> None:
    for name in dangers:
        if verdict == "holds":
            met[name] = None
        elif verdict == "unknown":
            undecided.add(name)


def scope_of_counts(
    spec: Spec | None, engine: Engine, counts: Mapping[str, int], unmet: str, excused: Mapping[str, str] | None = None
) -> Scope:
    """Return the scope of an engine that counts; without a model nothing says what is outside of it.  ``unmet``: what
    did not contain a danger that was not counted; ``excused``: the condition under which what was counted was not held
    against anything."""
    met = {name: count for name, count in counts.items() if count}

    def cell(name: str) -> Cell:
        if name in met:
            condition = (excused or {}).get(name)
            return Cell("excused", met[name], condition) if condition else Cell("in", met[name])
        reason = spec.outside.get(name) if spec else None
        if reason is not None and reason.standing in ("not of this protocol", "excluded by Kafka"):
            return Cell("out", 0, str(reason))
        return Cell("out", 0, f"open: {unmet}")

    return Scope(engine, {name: cell(name) for name in DANGERS})


def shared(results: Sequence[Result]) -> dict[str, Any]:
    """The scope of what rests on several verdicts: a danger is in only where it is in for each of them."""
    if not results:
        return {"scope": (), "out": tuple(DANGERS), "excused": {}}
    excused = {name: why for r in results for name, why in r.excused.items()}
    out = {name for r in results for name in r.out}
    names = {name for r in results for name in r.scope} - out - excused.keys()
    return {
        "scope": tuple(n for n in DANGERS if n in names),
        "out": tuple(n for n in DANGERS if n in out),
        "excused": {n: why for n, why in excused.items() if n not in out},
    }


def scope_lines(results: Sequence[Result], says: str = "against") -> list[str]:
    """The scope of each engine's verdicts on each variant, a line for those that have the same: where a search could
    break one promise within other bounds than another one, a line for each set of promises.  ``says``: how the dangers
    are introduced; a search alone, of which it is not known what could be broken there, has ``met`` them."""
    found = []
    for of in dict.fromkeys(f"{r.protocol}/{r.variant}" for r in results):
        lines: dict[tuple[Any, ...], list[str]] = {}
        about = [r for r in results if f"{r.protocol}/{r.variant}" == of and r.out]
        for engine in dict.fromkeys(r.engine for r in about):
            for key, names in _alike([r for r in about if r.engine == engine]).items():
                lines.setdefault(key, []).append(f"{engine} of {names}" if names else engine)
        found += [_line(engines, says, *key, of=of) for key, engines in lines.items()]
    return found


def _alike(mine: Sequence[Result]) -> dict[tuple[Any, ...], str]:
    """The scopes of one engine's verdicts, each with the promises that it is of; with none if all have the same."""
    promises = [r for r in mine if r.engine in SEARCHING and r.evidence.get("role") in USERS_RELY_ON]
    # What holds is what the scope is about; a violation is shown by its run.
    remaining = [r for r in promises or mine if r.verdict == "holds"] or promises or mine
    groups = [[r] for r in remaining] if promises else [remaining]
    found: dict[tuple[Any, ...], list[str]] = {}
    for group in groups:
        together = shared(group)
        key = together["scope"], tuple(together["excused"].items()), len(together["out"])
        found.setdefault(key, []).append(group[0].property.replace("_", " "))
    return {key: ", ".join(names) if len(found) > 1 else "" for key, names in found.items()}


def _line(
    engines: Sequence[str], says: str, met: Sequence[str], excused: Sequence[tuple[str, str]], out: int, *, of: str
) -> str:
    words = f"{(', ' if not any(' of ' in e for e in engines) else '; ').join(engines)} {says} "
    words += ", ".join(met) or "no danger of the list"
    if excused:
        words += f"; excused: {conditions(dict(excused))}"
    return words + (f"; out: {out}, see `fencepost dangers {of}`" if out else "")


def conditions(excused: Mapping[str, str]) -> str:
    """Dangers that are met under a condition alone, each with that: ``duplicate, loss (where …); zombie (where …)``."""
    by_condition: dict[str, list[str]] = {}
    for name, why in excused.items():
        by_condition.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(names)} (where {why})" for why, names in by_condition.items())


def unaccounted(spec: Spec) -> tuple[str, ...]:
    """The dangers that a model neither has nor leaves out with a reason."""
    return tuple(name for name in DANGERS if name not in spec.dangers and name not in spec.outside)
