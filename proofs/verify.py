"""This module is the main job: it runs every engine on every variant within the bounds of a profile, and collects what
they leave open.

The order is proofs, complete searches, progress, the rejected variants, the implementation, and real recordings. Each
stage yields its Results one by one, so that a reader sees the verdicts appear."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from fencepost.proofs.engines.run_engines import contradictions, result
from fencepost.proofs.replays import histories
from fencepost.proofs.results import Result, worst
from fencepost.proofs.scale.jobs import Jobs
from fencepost.proofs.scope.scopes import scope_of_counts, shared
from fencepost.proofs.testing import AgreementReport, agree
from fencepost.proofs.variants import Judged, hand_in_all
from fencepost.proofs.verdict_cache import Earlier, hand_in, key_of, stored_or_made
from fencepost.properties.catalogue import Profile, ProtocolEntry

EXAMPLES = {"smoke": 40, "ci": 150, "nightly": 2000}
"""Agreement tries this many programs on the reference implementation, by profile."""


@dataclass
class Verification:
    """A `Verification` has all verdicts of a run. ``open`` has one sentence for each thing that the bounds of the
    profile leave unchecked."""

    results: list[Result] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Return the contradictions between engines."""
        return contradictions(self.results)

    @property
    def as_expected(self) -> bool:
        return all(r.as_expected for r in self.results) and not self.problems


Reporter = Callable[[str, Result], None]
Found = Iterator[tuple[str, Result]]


@dataclass
class Plan:
    """A `Plan` has the submitted jobs of a protocol: those of its ``main`` variants, of the ``others``, and of each
    implementation. ``fresh`` means that no stored results of earlier runs are used."""

    main: list[Callable[[], Earlier[Judged]]]
    others: list[Callable[[], Earlier[Judged]]]
    implementations: list[tuple[str, Callable[[], Earlier[AgreementReport]]]]
    fresh: bool = True


def number_of_jobs(entry: ProtocolEntry) -> int:
    return len(entry.variants) + len(entry.verified_implementations)


def plan(
    jobs: Jobs, entry: ProtocolEntry, profile: Profile, seed: int, *, second: bool = False, fresh: bool = True
) -> Plan:
    """Submit the jobs that can run in parallel; replays of histories start several processes of their own and are left
    out. With ``second``, cvc5 checks the proofs too. With ``fresh``, no stored results of earlier runs are used."""
    main, others = ([v for v in entry.variants if v.main == is_main] for is_main in (True, False))
    examples = entry.examples.get(profile, EXAMPLES[profile])
    implementations = [
        (
            v,
            hand_in(
                jobs, key_of(entry, name, v, seed, examples, fresh=fresh),
                _agree, name, entry.name, v, seed, examples, tuple(entry.left_out.get(v, ())),
            ),
        )
        for name, v in entry.verified_implementations
    ]  # fmt: skip
    return Plan(
        hand_in_all(jobs, entry, main, profile, second=second, fresh=fresh),
        hand_in_all(jobs, entry, others, profile, fresh=fresh),
        implementations,
        fresh,
    )


def _agree(
    name: str, protocol: str, variant: str, seed: int, examples: int, left_out: tuple[str, ...]
) -> AgreementReport:  # fmt: skip
    """Compare an implementation with the model. Programs are aimed at what no run took, but for what the entry leaves
    out, and what is left is inconclusive."""
    return agree(
        name, protocol=protocol, variant=variant, seed=seed, max_examples=examples, verdict_only=True, aimed=examples,
        left_out=left_out,
    )  # fmt: skip


def verify(
    entry: ProtocolEntry, profile: Profile, seed: int, report: Reporter, planned: Plan | None = None
) -> Verification:
    """Run every engine on a protocol, and pass each Result with its heading to ``report`` as soon as it is there.
    ``planned`` has the protocol's jobs if they have been submitted already."""
    made = Verification()
    with Jobs(0 if planned else number_of_jobs(entry)) as jobs:
        planned = planned or plan(jobs, entry, profile, seed)
        for heading, found in _everything(made, entry, profile, seed, planned):
            made.results.append(found)
            report(heading, found)
    return made


def _everything(made: Verification, entry: ProtocolEntry, profile: Profile, seed: int, planned: Plan) -> Found:
    for of_variant in planned.main:
        made.open += of_variant().answer.open
        yield from _since(of_variant().when, of_variant().answer.results)
    yield from _claims(made, entry)
    for of_variant in planned.others:
        yield from _since(of_variant().when, of_variant().answer.results)
    yield from _implementation(made, entry, planned)
    replayed = stored_or_made(
        key_of(entry, "histories", profile, seed, fresh=planned.fresh), _replayed, entry, profile, seed
    )
    yield from _since(replayed.when, replayed.answer)


def _replayed(entry: ProtocolEntry, profile: Profile, seed: int) -> list[tuple[str, Result]]:
    return list(histories(entry, profile, seed))


def _since(when: str | None, found: Iterable[tuple[str, Result]]) -> Found:
    for heading, one in found:
        yield heading, one if when is None else replace(one, cached=when)


def _claims(made: Verification, entry: ProtocolEntry) -> Found:
    """Yield verdicts on the claims of the documents, computed from the verdicts above.

    A claim about a proved variant needs induction and the explorer. A claim about any other variant needs exploration
    and progress within its bounds."""
    for claim in entry.claims:
        variant = entry.variant(claim.variant)
        engines = ("induction",) if variant.proof else ("explore", "progress")
        mine = [r for r in made.results if r.variant == claim.variant]
        proofs = [r for r in mine if r.property in claim.properties and r.engine in engines]
        seen = [r for r in mine if r.property in claim.witnesses and r.engine == "explore"]
        needed = len(claim.properties) + len(claim.witnesses)
        verdict = worst(r.verdict for r in (*proofs, *seen)) if len(proofs) + len(seen) == needed else "unknown"
        evidence: dict[str, Any] = {"rule": claim.rule, "properties": claim.properties, "witnesses": claim.witnesses}
        if leans := [name for r in proofs for name in r.evidence.get("leans_on", ())]:
            evidence["leans_on"] = list(dict.fromkeys(leans))
        if proofs and "distinct" in proofs[0].evidence:
            evidence["distinct"] = proofs[0].evidence["distinct"]
        found = result(
            entry, variant, f"{claim.rule} {claim.says}", "always", proofs[0].engine if proofs else engines[0], verdict,
            sum(r.seconds for r in proofs), proofs[0].bound if proofs else None, evidence,
        )  # fmt: skip
        oldest = min((r.cached for r in (*proofs, *seen) if r.cached), default=None)
        yield f"{entry.name}: claims of the documents", replace(found, **shared(proofs), cached=oldest)


def _implementation(made: Verification, entry: ProtocolEntry, planned: Plan) -> Found:
    """Yield the verdicts of agreement. The verdict is unknown if the model followed too small a share of the programs
    to their end. Actions of the model that no program reached are reported as unchecked."""
    for variant_name, reported in planned.implementations:
        report, when = reported().answer, reported().when
        name = report.implementation
        evidence: dict[str, Any] = {"implementation": name, "examples": report.examples, "program": report.program}
        evidence |= {"followed": report.followed, "least": report.least, "unreached": report.coverage.unreached()}
        if report.coverage.beyond:
            evidence["undecided"] = dict(report.coverage.beyond)
        if report.inconclusive:
            evidence["reason"] = report.inconclusive
        if evidence["unreached"]:
            made.open.append(f"{entry.name}/{variant_name}: driven without {', '.join(evidence['unreached'])}")
        found = result(
            entry,
            entry.variant(variant_name),
            "agrees_with_the_model",
            "agreement",
            "agreement",
            "violated" if report.verdict == "differs" else report.verdict,
            report.seconds,
            None,
            evidence,
        )
        spec, nowhere = entry.variant(variant_name).spec, f"none of the {report.examples} clusters driven met it"
        met = scope_of_counts(spec, "agreement", report.dangers, nowhere)
        yield f"{entry.name}/{variant_name}: {name} against the model", replace(found, **met.fields, cached=when)
