"""This module searches for killers, which are mutations that break properties that hold, and for the runs that are
evidence of it.

Each mutant is explored for all properties without a killer at once, a few states of each mutant first. The search goes
on until each promise has a run within some of the bounds, and then, less far, within each of them. Stored runs that
still fit are not searched again.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.derived.mutations import mutated
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.explore.graph import TooManySteps
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity import proof_mutants
from fencepost.proofs.necessity.killers import Killers, bounds_by_feature, folder_of
from fencepost.proofs.necessity.proof_mutants import Refusals
from fencepost.proofs.necessity.saved_runs import KeptRun, keep, read_runs
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.results import Trace
from fencepost.proofs.scale.jobs import Jobs
from fencepost.proofs.scope.scopes import USERS_RELY_ON
from fencepost.properties.catalogue import PROFILES, Profile, ProtocolEntry, Variant

BUDGETS = (2_000, 20_000, 200_000, 1_000_000)
"""A search visits this many states of one mutant before it tries the next, and then repeats with more."""
IN_EACH = (2_000, 50_000)
"""A search has these budgets where a promise has a run within other bounds. Without a run here the verdict is narrower
but still right, since its scope has no danger that was met only within these bounds."""
LARGEST_GRAPH = 4_000_000
"""A mutant's graph with more steps is not searched for violations of progress."""

Pair = tuple[str, str]


@dataclass
class Found:
    """A `Found` is the result of a search. ``runs`` has all runs to store, and ``new`` the new ones among them.
    ``missing`` has each property that nothing breaks, with the first of its bounds, and ``unbroken`` the same of
    properties that are broken elsewhere. ``refused`` has the refusals of proved promises, and ``unrefused`` the
    promises whose proof no mutation breaks. ``wrongly_spared`` has the promises whose ``no_mutant`` is false."""

    runs: list[KeptRun]
    refused: Refusals = field(default_factory=Refusals)
    unrefused: list[str] = field(default_factory=list)
    new: list[KeptRun] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    unbroken: list[tuple[str, str]] = field(default_factory=list)
    wrongly_spared: list[str] = field(default_factory=list)
    seconds: float = 0.0


def hand_in_searches(
    jobs: Jobs,
    chosen: Sequence[tuple[ProtocolEntry, Variant]],
    profile: Profile,
    anew: bool = False,
) -> list[tuple[tuple[ProtocolEntry, Variant], Callable[[], Found]]]:
    """Hand in a search for each variant, and return each with a function that waits for its result."""
    return [((e, v), jobs.hand_in(search, replace(v), profile, anew, name=f"{e.name}/{v.name}")) for e, v in chosen]


def search(
    variant: Variant, profile: Profile, anew: bool = False, budgets: Sequence[int] = BUDGETS,
    in_each: Sequence[int] = IN_EACH,
) -> Found:  # fmt: skip
    """Return the runs to store for a variant: stored ones that still fit, and new ones for properties without any."""
    start = time.perf_counter()
    killers = Killers(variant, profile)
    killers.runs = [] if anew else [run for run in killers.runs if _fits(killers, run)]
    found = Found(killers.runs)

    def look(wanted: Wanted, most: Sequence[int]) -> list[tuple[str, str]]:
        """Return the properties that nothing was found to break."""
        left = replace(wanted, properties=missing(wanted, killers))
        for run in _Searching(variant, profile, killers, left).runs(most):
            killers.runs.append(run)
            found.new.append(run)
        return [(name, wanted.features[0]) for name in missing(wanted, killers)]

    for wanted in wishes(variant, killers):
        without = look(wanted, budgets)
        found.missing += without
        broken = {n: p for n, p in wanted.properties.items() if n not in dict(without)}
        for feature in wanted.features if len(wanted.features) > 1 else ():
            found.unbroken += look(Wanted(broken, (feature,)), in_each)
    for wanted in spared(variant, killers):
        unbroken = dict(look(wanted, in_each))
        found.wrongly_spared += [name for name in wanted.properties if name not in unbroken]
    if variant.main and variant.proof:
        hints = {run.property: run.without[0] for run in killers.runs}
        found.refused = proof_mutants.search(variant, proof_mutants.Refusals() if anew else None, hints)
        proved = [n for n, p in variant.promised.items() if p.role in proof_mutants.PROVED and p.no_mutant is None]
        found.unrefused = [n for n in proved if n not in {r.property for r in found.refused.refused}]
    found.seconds = time.perf_counter() - start
    return found


def _fits(killers: Killers, run: KeptRun) -> bool:
    item = killers.variant.asked.get(run.property)
    if item is None or run.feature not in bounds_by_feature(killers.variant, killers.profile):
        return False
    every = [killers, *(Killers(killers.variant, p, []) for p in PROFILES if p != killers.profile)]
    return any(isinstance(k.replayed(run, item, run.feature), Trace) for k in every)


@dataclass(frozen=True)
class Wanted:
    """A `Wanted` has properties that need a killer, of one kind of search. ``features`` has the bounds to look in."""

    properties: dict[str, Property]
    features: tuple[str, ...]


def wishes(variant: Variant, killers: Killers) -> list[Wanted]:
    states, waits = _relied_on(variant, lambda item: item.no_mutant is None)
    progress = [Wanted(waits, killers.of_progress)] if killers.of_progress else []
    return [Wanted(states, killers.explored), *progress]


def spared(variant: Variant, killers: Killers) -> list[Wanted]:
    """Return the properties that are declared true by construction, which are searched all the same."""
    states, waits = _relied_on(variant, lambda item: item.no_mutant is not None)
    both = (Wanted(states, killers.explored), Wanted(waits, killers.of_progress))
    return [wanted for wanted in both if wanted.properties and wanted.features]


def _relied_on(variant: Variant, chosen: Callable[[Property], bool]) -> tuple[dict[str, Property], dict[str, Property]]:
    held = {
        n: p
        for n, p in variant.asked.items()
        if p.role in USERS_RELY_ON and variant.expected.get(n, "holds") == "holds" and chosen(p)
    }
    states = {n: p for n, p in held.items() if p.role != "progress"}
    return states, {n: p for n, p in held.items() if p.role == "progress"}


def missing(wanted: Wanted, killers: Killers) -> dict[str, Property]:
    found = {n: killers.of(p, wanted.features) for n, p in wanted.properties.items()}
    return {n: p for n, p in wanted.properties.items() if isinstance(found[n], str)}


def _ordered(variant: Variant, killers: Killers) -> list[Pair]:
    """Return the mutations in the order in which to try them. Mutations that break something already come first, then
    those of the rules that the variant judges. Alternatives of a rule that the variant's reading decides are left out.
    """
    folder = folder_of(variant)
    siblings = [] if folder is None else [run for file in sorted(folder.glob("killers-*")) for run in read_runs(file)]
    first = list(dict.fromkeys(pair for run in (*killers.runs, *siblings) for pair in run.without))
    rank = {pair: n for n, pair in enumerate(first)}
    read = next((m for m in killers.mutations if (m.rule, m.name) == variant.reading), None)
    chosen = None if read is None or not read.written else read.rule
    tried = [m for m in killers.mutations if m is not read and not (m.written and m.rule == chosen)]
    every = [(m.rule, m.name) for m in tried]
    return sorted(every, key=lambda pair: (rank.get(pair, len(first)), pair[0] not in (variant.judged or ())))


class _Searching:
    """A `_Searching` explores each mutant for all wanted properties at once, a few states of each mutant first."""

    def __init__(self, variant: Variant, profile: Profile, killers: Killers, wanted: Wanted) -> None:
        self.killers, self.order = killers, _ordered(variant, killers)
        self.left = dict(wanted.properties)
        self.bounds = {f: b for f, b in bounds_by_feature(variant, profile).items() if f in wanted.features}
        self.waits = any(p.kind == "eventually" for p in self.left.values())
        self.done: set[tuple[Pair, str]] = set()

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
        try:
            spec = mutated(self.killers.raw, (*self.killers.reading, pair), self.killers.mutations)
        except ModelError:  # one mutation removes what the other changes
            self.done.add((pair, feature))
            return {}
        try:
            if self.waits:
                return self._stuck(spec, pair, feature, bounds, most)
            made = explore(spec, self.left, bounds, max_states=most, stop_when_violated="all")
        except BoundsError:  # the numbers do not fit into a state
            self.done.add((pair, feature))
            return {}
        if made.complete:
            self.done.add((pair, feature))
        return {name: made.traces[name] for name in made.violated}

    def _stuck(
        self, spec: Spec, pair: tuple[str, str], feature: str, bounds: Mapping[str, int], most: int
    ) -> dict[str, Trace]:
        """Return progress properties that fail. A graph that was cut off gives no result."""
        made = explore(spec, self.left, bounds, max_states=most)
        if not made.complete:
            return {}
        self.done.add((pair, feature))
        try:
            found = check_progress(made, max_steps=LARGEST_GRAPH)
        except TooManySteps:
            return {}
        return {n: r.trace for n, r in found.items() if r.verdict == "violated" and r.trace is not None}
