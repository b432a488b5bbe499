"""This module runs every engine on one variant, or on many variants in separate processes, and applies mutations of
rules to a variant."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from fencepost.model.language.derived.mutations import mutations
from fencepost.model.language.protocol import Spec
from fencepost.proofs.engines.induction import Proof, prove
from fencepost.proofs.engines.run_engines import (
    run_equal,
    run_features,
    run_induction,
    run_progress,
)
from fencepost.proofs.engines.second.opinions import left_undecided, opinions, run_second
from fencepost.proofs.engines.second.statements import title_of
from fencepost.proofs.necessity import proof_mutants
from fencepost.proofs.necessity.killers import Killers
from fencepost.proofs.results import Result
from fencepost.proofs.scale.jobs import Jobs
from fencepost.proofs.verdict_cache import Earlier, hand_in, key_of
from fencepost.properties.catalogue import CatalogueError, Profile, ProtocolEntry, Variant, bounds_of
from fencepost.properties.nearest import instead
from fencepost.properties.registry import called

# Every engine on one variant; and on many, which do not need one another, so that each may be judged in a process of
# its own.


@dataclass
class Judged:
    """A `Judged` has the verdicts on a variant, each with its heading. ``open`` lists what the bounds leave
    unchecked."""

    results: list[tuple[str, Result]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


def hand_in_all(
    jobs: Jobs, entry: ProtocolEntry, variants: Sequence[Variant], profile: Profile, *, second: bool = False,
    fresh: bool = True,
) -> list[Callable[[], Earlier[Judged]]]:  # fmt: skip
    """Submit a job for each variant, and return functions that wait for their verdicts, in the order given. With
    ``second``, cvc5 checks the proofs too. With ``fresh``, variants that an earlier run has judged are judged again."""
    # Copies, without what was computed of them: terms are equal only within one process.
    bare = replace(entry, variants=(), claims=(), scenarios=())
    keys = [key_of(entry, v.name, profile, *(["cvc5"] if second else []), fresh=fresh) for v in variants]
    return [
        hand_in(jobs, key, judge, bare, replace(v), profile, second, travels=travels(v))
        for key, v in zip(keys, variants, strict=True)
    ]


def travels(variant: Variant) -> bool:
    """Return whether another process can import the variant, which it cannot if ``__main__`` defines it."""
    return variant.properties.__module__ != "__main__"


def judge(entry: ProtocolEntry, variant: Variant, profile: Profile, second: bool = False) -> Judged:
    proof = prove(variant.spec, variant.promised) if second and variant.main and variant.is_proved_in(profile) else None
    made = judge_main(entry, variant, profile, proof) if variant.main else judge_other(entry, variant, profile)
    judged = with_killers(made, entry, variant, profile)
    return judged if proof is None else with_second(judged, entry, variant, proof)


def with_second(made: Judged, entry: ProtocolEntry, variant: Variant, proof: Proof) -> Judged:
    """Return the verdicts together with cvc5's opinions on the proof. What cvc5 gives up on is added to ``open``."""
    title = title_of(entry, variant)
    asked = opinions(entry, variant, proof)
    heading = made.results[0][0]
    rows = [(heading, row) for row in run_second(entry, variant, proof, asked)]
    return Judged([*made.results, *rows], [*made.open, *left_undecided(title, asked)])


def with_killers(made: Judged, entry: ProtocolEntry, variant: Variant, profile: Profile) -> Judged:
    """Return the verdicts with *vacuous* in place of each *holds* that no mutation could have violated."""
    killers = Killers(variant, profile)
    results = proof_mutants.judged(variant, profile, [result for _, result in made.results])
    headings = [heading for heading, _ in made.results]
    return Judged(list(zip(headings, map(killers.judged, results), strict=True)), made.open)


def judge_main(entry: ProtocolEntry, variant: Variant, profile: Profile, proof: Proof | None = None) -> Judged:
    """Judge a main variant by proof, complete search and progress. ``proof`` is a proof that was made before."""
    heading = f"{entry.name}/{variant.name}: {variant.says}"
    proofs = run_induction(entry, variant, proof=proof) if variant.is_proved_in(profile) else []
    results, explored = run_features(entry, variant, profile)
    found = [*proofs, *results, *run_progress(entry, variant)]
    if profile != "smoke":  # it takes seconds for each variant, and changes when the engines do, not when a rule does
        found += run_equal(entry, variant, bounds_of(variant, "smoke"))
    made = Judged([(heading, result) for result in found])
    spared = {name for name, action in variant.spec.actions.items() if action.dead}
    taken = {name for exploration in explored.values() for name, count in exploration.taken.items() if count}
    idle = [name for name in variant.spec.actions if name not in taken | spared]
    if idle:
        proved = "; proved with them" if proofs and all(r.verdict == "holds" for r in proofs) else ""
        made.open.append(f"{entry.name}/{variant.name}: explored without {', '.join(idle)}{proved}")
    made.open += [f"{entry.name}/{variant.name}: {words}" for r in results for words in _of_core(r)]
    if variant.proof and not proofs:
        made.open.append(f"{entry.name}/{variant.name}: its proof is left to the profile {variant.proof_from}")
    if variant.progress_bounds:
        made.open.append(f"{entry.name}/{variant.name}: progress is known only of {_small(variant)}")
    return made


def judge_other(entry: ProtocolEntry, variant: Variant, profile: Profile) -> Judged:
    """Judge a mistake or a rejected alternative, for which no proof is asked."""
    heading = f"{entry.name}/{variant.name}: {variant.says} [{variant.rule}]"
    results, _ = run_features(entry, variant, profile)
    return Judged([(heading, result) for result in (*results, *run_progress(entry, variant))])


def _of_core(found: Result) -> Iterator[str]:
    """Yield what a refinement that holds leaves open. These are the steps of the core that no explored step maps to,
    and those that a step maps to although the refinement does not name them."""
    if never := found.evidence.get("never"):
        yield f"no explored step is {found.evidence['core']}'s {', '.join(never)}"
    for words in found.evidence.get("unsaid", ()):
        yield f"{words} of {found.evidence['core']} as well, which {found.property} does not say"


def _small(variant: Variant) -> str:
    return " and of ".join(", ".join(f"{k} {v}" for k, v in bound.items() if v) for bound in variant.progress_bounds)


# A variant with one mutated rule, by the names that `fencepost list --verbose` prints.


def without_rule(entry: ProtocolEntry, variant: Variant, wrong: tuple[str, str]) -> Spec:
    """Return the settled protocol with one mutation of one rule. Errors: CatalogueError if the rule has no mutation of
    that name."""
    if variant.reading is not None:
        rule, name = variant.reading
        raise CatalogueError(f"{variant.name} has rule {rule} wrong already ({name}); name the variant it is made of")
    there = mutations(variant.properties.protocol.spec)
    for mutant in there:
        if (mutant.rule, mutant.name) == wrong:
            return mutant.apply()
    of_rule = [m.name for m in there if m.rule == wrong[0]]
    given, known = (wrong[1], of_rule) if of_rule else (wrong[0], list(dict.fromkeys(m.rule for m in there)))
    meant = instead(given, known, f"fencepost list {called(entry.name)}/{variant.name} --verbose")
    raise CatalogueError(f'{variant.name} has no mutation {wrong[0]} "{wrong[1]}"; {meant}')
