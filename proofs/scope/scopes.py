"""This module computes against which dangers a verdict of an engine stands, and why it does not stand against the
others.

A tag is a claim of the model (`fencepost.model.dangers`); a danger is *in* only where the engine met it:

- explore and progress took a step that is tagged with it, or reached a state in which its condition holds, within
  bounds in which the promise could have been broken: `fencepost.proofs.necessity.killers` knows a mutation that does;
- induction reveals a tagged action enabled, or the condition possible, in a state that satisfies the invariant;
- agreement, live, histories and recordings count it.

Every danger that is *out* has a reason: the model's own (``outside``), or else that it is open, and why."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from fencepost.model.dangers import DANGERS
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.terms import TRUE, Term
from fencepost.model.language.tree.types import bound_of, has_bound
from fencepost.proofs.engines.induction import Proof
from fencepost.proofs.engines.obligations import invariant
from fencepost.proofs.readings.solver.models import Shrinker
from fencepost.proofs.readings.solver.solving import RLIMIT, Question
from fencepost.proofs.results import Result, Verdict
from fencepost.proofs.scope.cells import Cell, Engine, Scope
from fencepost.properties.registry import called

if TYPE_CHECKING:  # NumPy, which a browser's Python may lack
    from fencepost.proofs.engines.explore import Exploration

SEARCHING: tuple[Engine, ...] = ("explore", "progress")
"""The engines in this tuple search states within bounds, so that each promise has a scope of its own."""
USERS_RELY_ON = ("promise", "step", "progress")
"""A *holds* on a property of one of these roles needs a mutation that breaks it. Lemmas serve a proof, and a witness is
its own evidence."""
NOTHING_STATED = "open: the model says nothing of it"


Met = Mapping[str, int | None]
"""A `Met` has the dangers that were met, each with how often if that is counted."""


def scope(spec: Spec, engine: Engine, met: Met, unmet: Callable[[str], str]) -> Scope:
    """Return the scope of an engine that met these dangers. ``unmet`` returns why a danger that the model has was not
    met."""
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
    """Return the scope of a verdict on any form of a protocol, including mutated ones. ``evidence`` is the properties
    that induction assumed, or the explorations of a search."""
    if engine == "induction":
        return scope_of_proof(spec, evidence)
    return scope_of_search(spec, evidence, engine)


def met_by(spec: Spec, explored: "Exploration") -> dict[str, int | None]:
    """Return the dangers that an exploration met. A danger that is tagged on actions has the number of steps."""
    met: dict[str, int | None] = {p.danger: None for name, p in spec.presences.items() if name in explored.met}
    for name, action in spec.actions.items():
        if name in explored.first:
            for danger in action.dangers:
                met[danger] = (met.get(danger) or 0) + explored.taken[name]
    return met


def scope_of_search(
    spec: Spec, explored: "Sequence[Exploration]", engine: Literal["explore", "progress"] = "explore"
) -> Scope:
    """Return the scope of several explorations together, with every danger that one of them met."""
    met: dict[str, int | None] = {}
    for made in explored:
        for name, count in met_by(spec, made).items():
            met[name] = count if met.get(name) is None else (met[name] or 0) + (count or 0)
    bounds = [made.kernels.ground.bounds for made in explored]

    def unmet(name: str) -> str:
        return f"the model has it, and no explored state within these bounds met it{_switched_off(spec, name, bounds)}"

    return scope(spec, engine, met, unmet)


def scope_of_features(
    spec: Spec, explored: "Mapping[str, Exploration]", engine: Literal["explore", "progress"] = "explore"
) -> Scope:
    """Return the scope of explorations by feature: what they met together, and what each of them met."""
    alone = {feature: scope_of_search(spec, [made], engine) for feature, made in explored.items()}
    return replace(scope_of_search(spec, list(explored.values()), engine), features=alone)


def narrowed(whole: Scope, features: Collection[str]) -> Scope:
    """Return the scope of a search restricted to the bounds of these features, for a promise that can be broken only
    there. A danger met elsewhere is out, because it is not known that it could have broken the promise there."""
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
    """Return the names of bounds as they are printed; the variant's own bounds have no feature name."""
    return ", ".join(f"those of {feature}" if feature else "its own bounds" for feature in features)


def _switched_off(spec: Spec, name: str, bounds: Sequence[Mapping[str, int]]) -> str:
    budgets = {a.budget for a in spec.actions.values() if name in a.dangers and a.budget is not None}
    off = sorted(b for b in budgets if all(not has_bound(bound, b) or not bound_of(bound, b) for bound in bounds))
    return f" (bound {', '.join(f'{b} 0' for b in off)})" if off else ""


def scope_of_proof(
    spec: Spec, properties: Mapping[str, Property], proof: Proof | None = None, *, rlimit: int = RLIMIT
) -> Scope:
    """Return the scope of an induction that assumed these properties. ``proof`` is one that has already decided which
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
    """Return the verdict on whether an action can happen. An obligation of kind ``dead`` holds if it cannot."""
    opposite: dict[Verdict, Verdict] = {"holds": "violated", "violated": "holds"}
    return opposite.get(verdict, "unknown") if kind == "dead" else verdict


def _possible(question: Question, term: Term, always: Collection[Term]) -> Verdict:
    verdict = question.possible(term, always).verdict
    # A small model can prove that it is possible, even where the unbounded question was too hard.
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
    """Return the scope of an engine that counts dangers. Without a model, there are no reasons for leaving dangers out.
    ``unmet`` names what contained no danger of a kind, and ``excused`` the condition under which a counted danger was
    not held against the implementation."""
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
    """Return the scope of a claim that rests on several verdicts: a danger is in only where each of them has it in."""
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
    """Return the scope of each engine's verdicts on each variant, with one line for each set of promises that have the
    same scope. The argument ``says`` introduces the dangers: a search for which no mutations are known has only ``met``
    them."""
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
    promises = [r for r in mine if r.engine in SEARCHING and r.evidence.get("role") in USERS_RELY_ON]
    # The scope is about verdicts that hold; a violation has its run as evidence.
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
    return words + (f"; out: {out}, see `fencepost dangers {called(of)}`" if out else "")


def conditions(excused: Mapping[str, str]) -> str:
    """Return the excused dangers grouped by their condition: ``duplicate, loss (where …); zombie (where …)``."""
    by_condition: dict[str, list[str]] = {}
    for name, why in excused.items():
        by_condition.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(names)} (where {why})" for why, names in by_condition.items())


def unaccounted(spec: Spec) -> tuple[str, ...]:
    """Return the dangers that a model neither has nor leaves out with a reason."""
    return tuple(name for name in DANGERS if name not in spec.dangers and name not in spec.outside)
