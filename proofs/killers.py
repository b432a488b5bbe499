"""Killers: of each promise that an exploration finds kept, a mutation of the same variant that breaks it.

A *holds* that nothing could have violated within its bounds says nothing.  So each names a mutation of the variant's
own protocol, never an edit of the property, and a run of the mutant, within the same bounds, that ends where the
property is broken.  `search` finds such runs; they are kept as files beside the properties and replayed by ``verify``
(`Killers`), which takes milliseconds.  A promise without one is *vacuous*.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from fencepost.model.language.mutations import Mutation, mutated, mutations
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.proofs.explore import explore
from fencepost.proofs.explore.graph import TooManySteps
from fencepost.proofs.ground import BoundsError
from fencepost.proofs.kept import DoesNotFit, KeptRun, keep, read_runs, replay
from fencepost.proofs.progress import check_progress
from fencepost.proofs.results import Result, Trace
from fencepost.properties.catalogue import Profile, Variant, features_of

ASKED = ("promise", "step", "progress")
"""The roles of properties that need a killer: what users rely on.  Lemmas serve a proof, and a witness is its own."""
BUDGETS = (2_000, 20_000, 200_000, 2_000_000)
"""States that a search looks at in one mutant before it tries the next one; then again with more."""
LARGEST_GRAPH = 4_000_000
"""Steps of the graph of a mutant, for progress; a larger one is passed over."""

Run = tuple[Trace, Mapping[str, int]]


def folder_of(variant: Variant) -> Path | None:
    """Where runs of a variant are kept; None of a protocol that was written into a running program."""
    file = getattr(sys.modules.get(variant.properties.__module__), "__file__", None)
    return None if file is None else Path(file).parent / "kept"


def file_of(variant: Variant) -> Path | None:
    """The file of the killers of a variant."""
    folder = folder_of(variant)
    return None if folder is None else folder / f"killers-{variant.name}.json"


def bounds_by_feature(variant: Variant, profile: Profile) -> dict[str, Mapping[str, int]]:
    """All bounds in which a property is asked: those explored by feature, and those of progress as ``progress N``."""
    of_progress = {f"progress {n}": bound for n, bound in enumerate(variant.progress_bounds, 1)}
    return {**features_of(variant, profile), **of_progress}


class Killers:
    """The kept runs of one variant, replayed when asked for.  ``runs``: instead of those of its file."""

    def __init__(self, variant: Variant, profile: Profile, runs: Sequence[KeptRun] | None = None) -> None:
        file = file_of(variant)
        self.variant, self.profile = variant, profile
        self.runs = list(runs) if runs is not None else [] if file is None else read_runs(file)
        self.raw = variant.properties.protocol.spec
        self.reading = () if variant.reading is None else (variant.reading,)
        self._replayed: dict[tuple[KeptRun, str], Trace | str] = {}

    @cached_property
    def mutations(self) -> list[Mutation]:
        return mutations(self.raw)

    def of(self, item: Property, among: Sequence[str], most: int | None = None) -> tuple[KeptRun, str, Trace] | str:
        """A run that breaks the property within one of the bounds ``among`` (names of features) in at most that many
        steps, with the feature and its states; else, why there is none."""
        why = f"no mutation is known that breaks it{' so soon' if most is not None else ''}"
        for run in self.runs:
            if run.property != item.name or (most is not None and len(run.steps) > most):
                continue
            for feature in sorted(among, key=lambda name: name != run.feature):
                found = self.replayed(run, item, feature)
                if isinstance(found, Trace):
                    return run, feature, found
                if feature == run.feature:
                    why = f"the kept run of {run} does not fit: {found}"
        return why

    def replayed(self, run: KeptRun, item: Property, feature: str) -> Trace | str:
        """The states of a run within the bounds of a feature; or why it is none."""
        if (run, feature) not in self._replayed:
            bounds = bounds_by_feature(self.variant, self.profile)[feature]
            try:
                found: Trace | str = replay(run, self.raw, item, bounds, reading=self.reading, known=self.mutations)
            except DoesNotFit as misfit:
                found = str(misfit)
            self._replayed[run, feature] = found
        return self._replayed[run, feature]

    def judged(self, found: Result) -> Result:
        """A *holds* of an exploration, a bounded check or of progress with its killer; *vacuous* without one."""
        item = self.variant.asked.get(found.property)
        engines = {"explore": self._features, "bounded": [""], "progress": self._of_progress}
        if item is None or item.role not in ASKED or found.verdict != "holds" or found.engine not in engines:
            return found
        most = found.bound["depth"] if found.engine == "bounded" and found.bound else None
        killer = self.of(item, engines[found.engine], most)
        if isinstance(killer, str):
            return replace(found, verdict="vacuous", evidence={**found.evidence, "reason": killer})
        run, feature, _ = killer
        bounds = dict(bounds_by_feature(self.variant, self.profile)[feature])
        told = {"rule": run.without[0][0], "mutation": run.without[0][1], "bounds": bounds, "steps": list(run.steps)}
        return replace(found, evidence={**found.evidence, "killer": told})

    @property
    def _features(self) -> list[str]:
        return list(features_of(self.variant, self.profile))

    @property
    def _of_progress(self) -> list[str]:
        return [f"progress {n}" for n in _counted(self.variant)]


@dataclass
class Wanted:
    """Properties that have no killer yet, of one kind of search.  ``features``: the bounds to look in; ``depth``: how
    many steps a run may have."""

    properties: dict[str, Property]
    features: tuple[str, ...]
    depth: int | None = None


def searches(variant: Variant, profile: Profile, depth: int) -> list[Wanted]:
    """All that needs a killer, by kind of search; what breaks a property soon enough for a bounded check comes first,
    since that serves an exploration as well."""
    asked = {n: p for n, p in variant.asked.items() if p.role in ASKED and variant.expected.get(n, "holds") == "holds"}
    states = {n: p for n, p in asked.items() if p.role != "progress"}
    waits = {n: p for n, p in asked.items() if p.role == "progress"}
    bounded = [Wanted(states, ("",), depth)] if depth else []
    explored = Wanted(states, tuple(features_of(variant, profile)))
    return [*bounded, explored, Wanted(waits, tuple(f"progress {n}" for n in _counted(variant)))]


def missing(wanted: Wanted, killers: Killers) -> dict[str, Property]:
    """Of what is wanted, that which no kept run breaks."""
    found = {n: killers.of(p, wanted.features, wanted.depth) for n, p in wanted.properties.items()}
    return {n: p for n, p in wanted.properties.items() if isinstance(found[n], str)}


def _counted(variant: Variant) -> range:
    return range(1, len(variant.progress_bounds) + 1)


def search(
    variant: Variant, profile: Profile, depth: int, *, hints: Sequence[tuple[str, str]] = (),
    told: Callable[[str], None] = lambda _: None, budgets: Sequence[int] = BUDGETS,
) -> list[KeptRun]:  # fmt: skip
    """The runs to keep of a variant: those kept already that still fit, and new ones for what is asked and has none.
    ``depth``: of its bounded checks; ``hints``: mutations to try first."""
    killers = Killers(variant, profile)
    killers.runs = [run for run in killers.runs if _fits(killers, run)]
    for wanted in searches(variant, profile, depth):
        left = replace(wanted, properties=missing(wanted, killers))
        made = _Searching(variant, profile, killers, left, _ordered(variant, killers, hints))
        for run in made.runs(budgets):
            told(f"{variant.name}: {run.property} is broken by {run}")
            killers.runs.append(run)
    return killers.runs


def _fits(killers: Killers, run: KeptRun) -> bool:
    item = killers.variant.asked.get(run.property)
    if item is None or run.feature not in bounds_by_feature(killers.variant, killers.profile):
        return False
    return isinstance(killers.replayed(run, item, run.feature), Trace)


def _ordered(variant: Variant, killers: Killers, hints: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The mutations in the order in which to try them: those that break something already, here or in a sibling; then
    of the rules that the variant is to judge; then the rest."""
    first = [pair for run in killers.runs for pair in run.without] + list(hints)
    rank = {pair: n for n, pair in reversed(list(enumerate(first)))}
    judged = variant.judged or ()
    every = [(m.rule, m.name) for m in killers.mutations if (m.rule, m.name) != variant.reading]
    return sorted(every, key=lambda pair: (rank.get(pair, len(first)), pair[0] not in judged))


class _Searching:
    """One search: all that is wanted is asked of each mutant at once, a few states of each mutant first."""

    def __init__(
        self, variant: Variant, profile: Profile, killers: Killers, wanted: Wanted, order: list[tuple[str, str]]
    ) -> None:
        self.variant, self.killers, self.order = variant, killers, order
        self.left, self.depth = dict(wanted.properties), wanted.depth
        self.bounds = {f: b for f, b in bounds_by_feature(variant, profile).items() if f in wanted.features}
        self.waits = any(p.kind == "eventually" for p in self.left.values())
        self.done: set[tuple[tuple[str, str], str]] = set()

    def runs(self, budgets: Sequence[int]) -> Iterator[KeptRun]:
        for most in budgets:
            for pair in self.order:
                for feature, bounds in self.bounds.items():
                    if not self.left:
                        return
                    if (pair, feature) not in self.done:
                        for name, trace in self._broken(pair, feature, bounds, most).items():
                            del self.left[name]
                            yield keep(name, [pair], feature, trace)

    def _broken(self, pair: tuple[str, str], feature: str, bounds: Mapping[str, int], most: int) -> dict[str, Trace]:
        spec = mutated(self.killers.raw, (*self.killers.reading, pair), self.killers.mutations)
        try:
            if self.waits:
                return self._stuck(spec, pair, feature, bounds, most)
            made = explore(spec, self.left, bounds, max_states=most, stop_when_violated="all", max_depth=self.depth)
        except BoundsError:  # its numbers have no room in a state
            self.done.add((pair, feature))
            return {}
        if made.complete or (self.depth is not None and made.depth > self.depth):
            self.done.add((pair, feature))
        return {name: made.traces[name] for name in made.violated}

    def _stuck(
        self, spec: Spec, pair: tuple[str, str], feature: str, bounds: Mapping[str, int], most: int
    ) -> dict[str, Trace]:
        """Progress that fails.  It takes the whole graph: of one that was cut off, nothing is said."""
        made = explore(spec, self.left, bounds, max_states=most)
        if not made.complete:
            return {}
        self.done.add((pair, feature))
        try:
            found = check_progress(made, max_steps=LARGEST_GRAPH)
        except TooManySteps:
            return {}
        return {n: r.trace for n, r in found.items() if r.verdict == "violated" and r.trace is not None}
