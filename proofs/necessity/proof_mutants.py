"""This module has, for each promise that is proved, a mutation of the same variant that its proof refuses.

A proof that succeeds with any rules proves nothing about them. So each proved promise names a mutation, and the step of
the mutant that no longer preserves the promise, or a lemma on which its proof rests. A promise about ghost variables
alone must not be inductive with every guard of every action taken out, since it would be true by the way they are
written.

Refusals are stored next to the killers, with a hash of the meaning of the protocol and its properties. ``verify`` asks
Z3 again where that has changed, and in the wider profiles.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.model.language.checks.errors import InputError, ModelError
from fencepost.model.language.derived.mutations import mutated, mutations
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.terms import Term, variables
from fencepost.proofs.engines.induction import Proof, prove, written
from fencepost.proofs.engines.obligations import invariant, steps
from fencepost.proofs.necessity.killers import folder_of, wrongly_spared
from fencepost.proofs.necessity.saved_runs import DoesNotFit
from fencepost.proofs.readings.solver.models import Shrinker
from fencepost.proofs.readings.solver.solving import RLIMIT, Question
from fencepost.proofs.results import Result
from fencepost.properties.catalogue import Profile, Variant

PROVED = ("promise", "step")


@dataclass(frozen=True)
class Refusal:
    """A `Refusal` states that, without ``rule`` as by ``mutation``, the step ``action`` breaks ``fails``, which is the
    ``property`` itself or something its proof rests on."""

    property: str
    rule: str
    mutation: str
    action: str
    fails: str


@dataclass(frozen=True)
class Refusals:
    """A `Refusals` has the stored refusals of a variant. ``model`` is the hash of its meaning. ``needless`` has
    promises about ghost variables that are inductive with every guard taken out."""

    model: str = ""
    refused: tuple[Refusal, ...] = ()
    needless: tuple[str, ...] = ()


def file_of(variant: Variant) -> Path | None:
    folder = folder_of(variant)
    return None if folder is None else folder / f"refusals-{variant.name}.json"


def read(variant: Variant) -> Refusals:
    """Return the stored refusals of a variant, if there are any."""
    file = file_of(variant)
    if file is None or not file.exists():
        return Refusals()
    saved = json.loads(file.read_text(encoding="utf-8"))
    return Refusals(saved["model"], tuple(Refusal(**r) for r in saved["refused"]), tuple(saved["needless"]))


def differ(variant: Variant, found: Refusals) -> bool:
    """Return whether `write` would change what is stored."""
    saved = read(variant)
    same = (
        saved.model == found.model and {*saved.refused} == {*found.refused} and {*saved.needless} == {*found.needless}
    )
    return bool(found.refused or found.needless) and not same


def write(variant: Variant, found: Refusals) -> None:
    """Store what was found, a refusal for each line, unless the file has it already."""
    file = file_of(variant)
    if file is None or not differ(variant, found):
        return
    lines = ",\n".join(json.dumps(asdict(r)) for r in sorted(found.refused, key=lambda r: r.property))
    text = f'{{"model": "{found.model}", "needless": {json.dumps(sorted(found.needless))}, "refused": [\n{lines}\n]}}\n'
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")


def judged(variant: Variant, profile: Profile, results: Sequence[Result]) -> list[Result]:
    """Return the results, in which a proof is *vacuous* if it refuses no mutation."""
    mine = [r for r in results if r.engine == "induction" and r.verdict == "holds" and r.property in variant.promised]
    proved = {r.property: r for r in mine if variant.promised[r.property].role in PROVED}
    if not proved:
        return list(results)
    saved = read(variant)
    again = profile != "smoke" or saved.model != meaning(variant)
    needless = set(inductive_by_itself(variant)) if again else set(saved.needless)
    mutated = {name: _judged(variant, name, saved, found, needless, again) for name, found in proved.items()}
    return [mutated.get(r.property, r) if r.engine == "induction" else r for r in results]


def _judged(variant: Variant, name: str, saved: Refusals, found: Result, needless: set[str], again: bool) -> Result:
    item = variant.promised[name]
    if item.no_mutant is not None:
        for own in (r for r in saved.refused if r.property == r.fails == name and _fits(variant, r, again)):
            raise InputError(wrongly_spared(variant, item, f"{own.action} without {own.rule} {own.mutation!r}"))
        return replace(found, evidence={**found.evidence, "no_mutant": item.no_mutant})
    if name in needless:
        why = "it speaks of ghosts, and is inductive with every guard of every action taken out"
        return replace(found, verdict="vacuous", evidence={**found.evidence, "reason": why})
    why = "no mutation is known that the proof refuses"
    for refusal in (r for r in saved.refused if r.property == name):
        try:
            _check(variant, refusal, found.evidence.get("rests_on", ()), again)
        except DoesNotFit as misfit:
            why = f"the kept refusal of {refusal.rule} {refusal.mutation!r} does not fit: {misfit}"
            continue
        step = f"{refusal.action} breaks {refusal.fails}"
        killer = {"rule": refusal.rule, "mutation": refusal.mutation, "refused": step}
        return replace(found, evidence={**found.evidence, "killer": killer})
    return replace(found, verdict="vacuous", evidence={**found.evidence, "reason": why})


def _fits(variant: Variant, refusal: Refusal, again: bool) -> bool:
    try:
        _check(variant, refusal, (), again)
    except DoesNotFit:
        return False
    return True


def _check(variant: Variant, refusal: Refusal, rests_on: Sequence[str], again: bool) -> None:
    if refusal.fails not in (refusal.property, *rests_on):
        raise DoesNotFit(f"the proof does not rest on {refusal.fails}")
    if not again:
        return
    raw = variant.properties.protocol.spec
    try:
        spec = mutated(raw, [*_reading(variant), (refusal.rule, refusal.mutation)])
    except ModelError as error:
        raise DoesNotFit(str(error)) from None
    if refusal.action != "init" and refusal.action not in spec.actions:
        raise DoesNotFit(f"there is no action {refusal.action}")
    if not _breaks(spec, refusal.action, refusal.fails, variant.promised):
        raise DoesNotFit(f"{refusal.action} preserves {refusal.fails}")


def _reading(variant: Variant) -> list[tuple[str, str]]:
    return [] if variant.reading is None else [variant.reading]


def _breaks(spec: Spec, action: str, name: str, properties: Mapping[str, Property]) -> bool:
    """Return whether the action, from some state of the invariant, violates the property."""
    always, step = invariant(properties), steps(properties)
    if action == "init":
        question, term = Question.initial(spec, RLIMIT), always.get(name, properties[name].initially)
        return term is not None and not _holds(question, term, always)
    question = Question.step(spec, spec.actions[action], always.values(), RLIMIT)
    return not _holds(question, {**always, **step}[name], always)


def _holds(question: Question, term: Term, always: Mapping[str, Term]) -> bool:
    """Return whether the term holds, which it does unless a counterexample, if necessary a small one, is found."""
    answer = question.proves(term, always.values())
    broken = answer.verdict == "violated" or (
        answer.verdict == "unknown" and Shrinker(question, always.values()).counterexample() is not None
    )
    question.forget()
    return not broken


def search(
    variant: Variant, known: Refusals | None = None, hints: Mapping[str, tuple[str, str]] | None = None
) -> Refusals:
    """Return a refusal for each proved promise. ``hints`` has, by promise, the mutation that exploration found."""
    saved, model = known or read(variant), meaning(variant)
    wanted = [n for n, p in variant.promised.items() if p.role in PROVED and p.no_mutant is None]
    if saved.model == model and {r.property for r in saved.refused}.union(saved.needless) >= set(wanted):
        return saved
    proof = prove(variant.spec, variant.promised, counterexamples=False)
    needless = inductive_by_itself(variant)
    searching = _Searching(variant, proof)
    found = [
        refusal
        for name in wanted
        if name not in needless and proof.verdict(name) == "holds"
        for refusal in searching.refusal(name, (hints or {}).get(name))
    ]
    return Refusals(model, tuple(found), tuple(needless))


class _Searching:
    def __init__(self, variant: Variant, proof: Proof) -> None:
        self.variant, self.proof = variant, proof
        self.raw = variant.properties.protocol.spec
        self.every = mutations(self.raw)
        self.made: dict[tuple[str, str], tuple[Spec, list[str]]] = {}
        self.asked: dict[tuple[tuple[str, str], str, str], bool] = {}

    def refusal(self, name: str, hint: tuple[str, str] | None) -> list[Refusal]:
        """Return a mutation under which the promise itself fails, or else one under which a lemma of its proof does."""
        pairs = sorted(((m.rule, m.name) for m in self.every), key=lambda pair: pair != hint)
        targets = [name, *self.proof.rests_on(name)]
        for group in ([name], targets[1:]):
            for pair in pairs:
                spec, changed = self._mutant(pair)
                for action in changed:
                    for target in group:
                        if self._breaks(spec, pair, action, target):
                            return [Refusal(name, *pair, action, target)]
        return []

    def _mutant(self, pair: tuple[str, str]) -> tuple[Spec, list[str]]:
        if pair not in self.made:
            spec, right = mutated(self.raw, [*_reading(self.variant), pair], self.every), self.variant.spec
            changed = [n for n, a in spec.actions.items() if _meaning(a) != _meaning(right.actions[n])]
            self.made[pair] = spec, (["init"] if spec.initial != right.initial else []) + changed
        return self.made[pair]

    def _breaks(self, spec: Spec, pair: tuple[str, str], action: str, target: str) -> bool:
        item, key = self.variant.promised[target], (pair, action, target)
        if action != "init" and item.kind == "always" and not _reads(item) & written(spec.actions[action]):
            return False
        if key not in self.asked:
            self.asked[key] = _breaks(spec, action, target, self.variant.promised)
        return self.asked[key]


def _meaning(action: Action) -> Any:
    return [(g.condition) for g in action.guards], [(u.variable, u.value, u.keys, u.bound) for u in action.updates]


def inductive_by_itself(variant: Variant) -> list[str]:
    """Return promises about ghost variables that hold in the initial states and in every step, with any guards and
    without any other lemma. No rule reads a ghost variable, so such promises only describe how it is written."""
    spec = variant.spec
    bare = replace(spec, actions={n: replace(a, guards=()) for n, a in spec.actions.items()})
    asked = {n: p for n, p in variant.promised.items() if p.role in PROVED and _reads(p) <= spec.ghosts}
    return [n for n, p in asked.items() if not any(_failures(bare, {n: p}))]


def _reads(item: Property) -> set[str]:
    return {name for term in item.terms for name in variables(term)}


def _failures(spec: Spec, alone: Mapping[str, Property]) -> Iterator[str]:
    [(name, item)] = alone.items()
    for action in spec.actions.values():
        if _reads(item) & written(action) and _breaks(spec, action.name, name, alone):
            yield action.name


def meaning(variant: Variant) -> str:
    """Return a hash of the meaning of a variant's protocol and properties, without words and comments."""
    spec, known = variant.spec, _Digests()
    parts: list[object] = [sorted((n, str(k)) for n, k in spec.types.items()), sorted(spec.ghosts)]
    parts += [sorted((n, str(k)) for n, k in spec.constants.items()), [known.of(t) for t in spec.axioms]]
    parts += [_updates(spec.initial, known)]
    for action in spec.actions.values():
        kinds = [(n, str(k)) for n, k in action.parameters]
        guards = [known.of(g.condition) for g in action.guards]
        parts.append((action.name, kinds, guards, _updates(action.updates, known)))
    parts += [(n, p.role, [known.of(t) for t in p.terms]) for n, p in sorted(variant.promised.items())]
    raw = mutations(variant.properties.protocol.spec)
    parts.append([(m.rule, m.name) for m in raw])
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _updates(updates: Sequence[Any], known: "_Digests") -> list[object]:
    return [(u.variable, known.of(u.value), [known.of(k) for k in u.keys], str(u.bound), u.appends) for u in updates]


class _Digests:
    def __init__(self) -> None:
        self.known: dict[Term, str] = {}

    def of(self, term: Term) -> str:
        if term not in self.known:
            text = repr((term.op, repr(term.data), str(term.type), [self.of(a) for a in term.args]))
            self.known[term] = hashlib.sha256(text.encode()).hexdigest()
        return self.known[term]
