"""This module has the mutations of a model that break its promises, and the seeded violations that history properties
find."""

import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.model.language.checks.errors import InputError, ModelError
from fencepost.model.language.derived.mutations import Mutation, mutated, mutations
from fencepost.model.language.properties import Property
from fencepost.model.language.specs import Spec
from fencepost.proofs.necessity.saved_runs import DoesNotFit, KeptRun, read_runs, replay_of
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.results import Result, Trace
from fencepost.proofs.scope.scopes import USERS_RELY_ON, narrowed
from fencepost.properties.catalogue import Profile, Variant, features_of, progress_of, wider_of
from fencepost.properties.derived import histories_of_defects
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.seeded_violations import SEEDED_HISTORIES

# A killer is, for a promise that an exploration finds to hold, a mutation of the same variant that breaks it. A *holds*
# that nothing could have violated within its bounds is no evidence. So each names a mutation of the variant's own
# protocol, never an edit of the property, and a run of the mutant, within the same bounds, that ends where the property
# is broken. `keeping` searches such runs, which are files next to the properties, and ``verify`` replays them in
# milliseconds (`Killers`). A promise without a killer is *vacuous*, unless it declares why there is none
# (``no_mutant``). The scope of a promise excludes bounds within which no run breaks it.


def folder_of(variant: Variant) -> Path | None:
    """Return the folder where the runs of a variant are stored, which is in the folder of its protocol under
    `properties`, or next to a file that is elsewhere. A protocol that was written into a running program has None."""
    module = variant.properties.__module__
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return None
    within = module.removeprefix("fencepost.properties.").count(".") if module.startswith("fencepost.") else 0
    return Path(file).parents[max(within - 1, 0)] / "kept"


def file_of(variant: Variant) -> Path | None:
    folder = folder_of(variant)
    return None if folder is None else folder / f"killers-{variant.name}.json"


def bounds_by_feature(variant: Variant, profile: Profile) -> dict[str, Mapping[str, int]]:
    """Return all bounds in which a property is asked, by feature, and those of progress as ``progress N``."""
    return {**features_of(variant, profile), **wider_of(variant, profile), **progress_of(variant)}


def wrongly_spared(variant: Variant, item: Property, killer: str) -> str:
    """Return the message about a promise whose ``no_mutant`` is false."""
    return (
        f"{variant.name}: {name_in_words(item.name)} is said to be true by construction ({item.no_mutant}), but "
        f"{killer} breaks it; leave out its no_mutant"
    )


class Killers:
    """A `Killers` has the stored runs of one variant, replayed on demand. ``runs`` replaces those of its file."""

    def __init__(self, variant: Variant, profile: Profile, runs: Sequence[KeptRun] | None = None) -> None:
        file = file_of(variant)
        self.variant, self.profile = variant, profile
        self.runs = list(runs) if runs is not None else [] if file is None else read_runs(file)
        self.raw = variant.properties.protocol.spec
        self.reading = () if variant.reading is None else (variant.reading,)
        self._replayed: dict[tuple[KeptRun, str], Trace | str] = {}
        self._mutated: dict[tuple[tuple[str, str], ...], Spec] = {}

    @cached_property
    def mutations(self) -> list[Mutation]:
        return mutations(self.raw)

    def of(self, item: Property, among: Sequence[str]) -> tuple[KeptRun, str, Trace] | str:
        """Return a run that breaks the property within one of the bounds ``among``, with its feature and its states, or
        else why there is none."""
        why = "no mutation is known that breaks it"
        for run in self.runs:
            if run.property != item.name:
                continue
            for feature in sorted(among, key=lambda name: name != run.feature):
                found = self.replayed(run, item, feature)
                if isinstance(found, Trace):
                    return run, feature, found
                if feature == run.feature:
                    why = f"the kept run of {run} does not fit: {found}"
        return why

    def replayed(self, run: KeptRun, item: Property, feature: str) -> Trace | str:
        """Return the states of a run within the bounds of a feature, or why it does not fit."""
        if (run, feature) not in self._replayed:
            bounds = bounds_by_feature(self.variant, self.profile)[feature]
            try:
                found: Trace | str = replay_of(run, self._without(run), item, bounds)
            except (DoesNotFit, ModelError) as misfit:
                found = str(misfit)
            self._replayed[run, feature] = found
        return self._replayed[run, feature]

    def _without(self, run: KeptRun) -> Spec:
        if run.without not in self._mutated:
            self._mutated[run.without] = mutated(self.raw, (*self.reading, *run.without), self.mutations)
        return self._mutated[run.without]

    def judged(self, found: Result) -> Result:
        """Return a *holds* of an exploration or of progress with its killer, or *vacuous* without one. The scope of the
        result is what was met within the bounds in which the property can be broken."""
        item = self.variant.asked.get(found.property)
        if item is not None and item.no_mutant is not None and found.expected == "violated":
            raise InputError(wrongly_spared(self.variant, item, "what this variant gets wrong"))
        engines = {"explore": self.explored, "progress": self.of_progress}
        if item is None or item.role not in USERS_RELY_ON or found.verdict != "holds" or found.engine not in engines:
            return found
        if item.no_mutant is not None:
            return self.spared(found, item.no_mutant)
        among = engines[found.engine]
        killer = self.of(item, among)
        broken = [] if isinstance(killer, str) else self.broken_within(item, among) if len(among) > 1 else [*among]
        scope = narrowed(found.within, broken).fields if found.within is not None and found.within.features else {}
        if isinstance(killer, str):
            return replace(found, verdict="vacuous", evidence={**found.evidence, "reason": killer}, **scope)
        evidence = {**found.evidence, "killer": self.evidence_of(*killer[:2])}
        if len(among) > 1:
            evidence |= {"broken_within": broken, "unbroken_within": [f for f in among if f not in broken]}
        return replace(found, evidence=evidence, **scope)

    def spared(self, found: Result, why: str) -> Result:
        """Return a *holds* of a promise that is true by construction, so that, for the reason ``why``, no mutation is
        asked for. The scope of the result has no danger, as nothing could have broken the promise. Errors: InputError
        where a stored run does."""
        item = self.variant.asked[found.property]
        for run in self.runs:
            if run.property == item.name and any(
                isinstance(self.replayed(run, item, feature), Trace)
                for feature in bounds_by_feature(self.variant, self.profile)
            ):
                raise InputError(wrongly_spared(self.variant, item, str(run)))
        scope = narrowed(found.within, []).fields if found.within is not None and found.within.features else {}
        return replace(found, evidence={**found.evidence, "no_mutant": why}, **scope)

    def broken_within(self, item: Property, among: Sequence[str]) -> list[str]:
        return [feature for feature in among if not isinstance(self.of(item, [feature]), str)]

    def evidence_of(self, run: KeptRun, feature: str) -> dict[str, Any]:
        [(rule, mutation)] = run.without
        bounds = dict(bounds_by_feature(self.variant, self.profile)[feature])
        return {"rule": rule, "mutation": mutation, "bounds": bounds, "steps": list(run.steps)}

    @property
    def explored(self) -> tuple[str, ...]:
        return (*features_of(self.variant, self.profile), *wider_of(self.variant, self.profile))

    @property
    def of_progress(self) -> tuple[str, ...]:
        return tuple(progress_of(self.variant))


# A history property is killed by a violation that is seeded into a history. Each violation is put into a history of its
# own, all are checked at once, and a property counts as able to fail if it reports exactly what was seeded.


@dataclass(frozen=True)
class FoundViolation:
    """A `FoundViolation` is a seeded violation that a property finds: its name, and how often it violates that."""

    name: str
    violations: int


@functools.cache
def found_violations(protocol: str) -> dict[str, FoundViolation]:
    """Return, by history property, a seeded violation that it finds, preferably one that breaks few others. A property
    that reports more or less than what was seeded is left out."""
    if protocol not in SEEDED_HISTORIES:
        return _found_defects(protocol)
    example = SEEDED_HISTORIES[protocol]
    histories = [
        example.seeded(1, number, 1, share=1.0, violations=[name]) for number, name in enumerate(example.violations)
    ]
    columns = {name: np.concatenate([made[name] for made, _ in histories]) for name in histories[0][0]}
    properties = properties_of(protocol)
    findings, _ = properties.check(columns, properties.names, example.config)
    seeded_in_all: dict[str, int] = {}
    chosen: dict[str, tuple[int, FoundViolation]] = {}
    for violation, (_, broken) in zip(example.violations, histories, strict=True):
        for name, count in broken.items():
            seeded_in_all[name] = seeded_in_all.get(name, 0) + count
            if name not in chosen or len(broken) < chosen[name][0]:
                chosen[name] = len(broken), FoundViolation(violation, count)
    exact = {name for name, finding in findings.items() if finding.violations == seeded_in_all.get(name, 0)}
    return {name: violation for name, (_, violation) in chosen.items() if name in exact}


def _found_defects(protocol: str) -> dict[str, FoundViolation]:
    """Return, by history property, a defect of the reference implementation whose histories violate it."""
    properties, found = properties_of(protocol), dict[str, FoundViolation]()
    for defect, columns in histories_of_defects(protocol):
        findings, _ = properties.check(columns, properties.names, {})
        for name, finding in findings.items():
            if finding.violations:
                found.setdefault(name, FoundViolation(f"defect {defect}", finding.violations))
    return found
