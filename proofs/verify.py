"""The main job: every engine on every variant, within the bounds of a profile, and what they leave open.

Order: proofs first, then complete searches, then progress, the rejected variants, the implementation, and real
recordings.  Each is a function that yields Results as they come, so that a reader sees the verdicts appear.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from fencepost.proofs.engines.judged import contradictions, result
from fencepost.proofs.necessity.plants import found_plants
from fencepost.proofs.results import Result, Verdict, worst
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.jobs import Jobs
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scope.scopes import scope_of_counts, shared
from fencepost.proofs.testing import AgreementReport, agree
from fencepost.proofs.traces import conformance_of, predicted_of
from fencepost.proofs.variants import Judged, hand_in_all
from fencepost.properties.catalogue import FOLLOWED, Profile, ProtocolEntry, Variant
from fencepost.properties.history import Manifest
from fencepost.properties.history.location import Location
from fencepost.properties.history.properties_of import properties_of

EXAMPLES = {"smoke": 40, "ci": 150, "nightly": 2000}
"""Programs that agreement tries on the reference implementation."""
HISTORIES = {"smoke": 200, "ci": 5000, "nightly": 500_000}
"""Simulated histories of 200 events each."""
CONFORMANCE = "conformance"


@dataclass
class Verification:
    """All verdicts of a run.  ``open``: what the bounds of the profile leave unchecked, one sentence each."""

    results: list[Result] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Engines that contradict one another."""
        return contradictions(self.results)

    @property
    def as_expected(self) -> bool:
        return all(r.as_expected for r in self.results) and not self.problems


Told = Callable[[str, Result], None]
Found = Iterator[tuple[str, Result]]


@dataclass
class Plan:
    """The jobs of a protocol, handed in: of its ``main`` variants, of the ``others``, and of each implementation."""

    main: list[Callable[[], Judged]]
    others: list[Callable[[], Judged]]
    implementations: list[tuple[str, Callable[[], AgreementReport]]]


def number_of_jobs(entry: ProtocolEntry) -> int:
    return len(entry.variants) + len(entry.verified_implementations)


def number_of_replays(entry: ProtocolEntry) -> int:
    """How many directories of histories are replayed: simulated ones, and recordings."""
    return len(entry.verified_simulators) + len(recordings(entry.name))


def plan(jobs: Jobs, entry: ProtocolEntry, profile: Profile, seed: int) -> Plan:
    """Hands in what can be done meanwhile; histories take several processes of their own."""
    main, others = ([v for v in entry.variants if v.main == is_main] for is_main in (True, False))
    examples = entry.examples.get(profile, EXAMPLES[profile])
    return Plan(
        hand_in_all(jobs, entry, main, profile),
        hand_in_all(jobs, entry, others, profile),
        [(v, jobs.hand_in(_agree, name, entry.name, v, seed, examples)) for name, v in entry.verified_implementations],
    )


def _agree(name: str, protocol: str, variant: str, seed: int, examples: int) -> AgreementReport:
    return agree(name, protocol=protocol, variant=variant, seed=seed, max_examples=examples, verdict_only=True)


def verify(entry: ProtocolEntry, profile: Profile, seed: int, told: Told, planned: Plan | None = None) -> Verification:
    """Runs every engine on a protocol; ``told`` gets each Result with the heading it belongs under, as soon as it is
    there.  ``planned``: its jobs, if they have been handed in already."""
    made = Verification()
    with Jobs(0 if planned else number_of_jobs(entry)) as jobs:
        planned = planned or plan(jobs, entry, profile, seed)
        for heading, found in _everything(made, entry, profile, seed, planned):
            made.results.append(found)
            told(heading, found)
    return made


def _everything(made: Verification, entry: ProtocolEntry, profile: Profile, seed: int, planned: Plan) -> Found:
    for of_variant in planned.main:
        made.open += of_variant().open
        yield from of_variant().results
    yield from _claims(made, entry)
    for of_variant in planned.others:
        yield from of_variant().results
    yield from _implementation(made, entry, planned)
    yield from _histories(entry, profile, seed)


def _claims(made: Verification, entry: ProtocolEntry) -> Found:
    """What the documents claim, from the verdicts above: proved by induction, and reached by the explorer; of a variant
    that is not proved, explored and found to progress within its bounds."""
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
        yield f"{entry.name}: claims of the documents", replace(found, **shared(proofs))


def _implementation(made: Verification, entry: ProtocolEntry, planned: Plan) -> Found:
    """Agreement, with the share of the programs that the model followed to their end: below the least that means
    something the verdict is unknown.  Actions of the model that no program reached are left unchecked."""
    for variant_name, reported in planned.implementations:
        report = reported()
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
        yield f"{entry.name}/{variant_name}: {name} against the model", replace(found, **met.fields)


def _histories(entry: ProtocolEntry, profile: Profile, seed: int) -> Found:
    """Simulated histories of each variant that has a simulator, and recordings.  Where a mode is known to break a
    promise, its histories are held to that but where the model takes the step that breaks it alike; without any other
    violation the property is not promised."""
    count = entry.histories.get(profile, HISTORIES[profile])
    for variant_name, simulator, config in entry.verified_simulators:
        variant = entry.variant(variant_name)
        with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
            place = Path(folder) / "histories"
            manifest = generate(
                place,
                simulator,
                histories=count,
                seed=seed,
                config=config,
                protocol=entry.name,
                variant=variant_name,
            )
            properties = properties_of(entry.name)
            broken = properties.predicted(manifest)
            conformance = {CONFORMANCE: conformance_of(manifest)}
            report = replay(place, further=conformance, count_dangers=True, excuses=predicted_of(manifest))
        left = {name: why for name, why in broken.items() if name not in report.violations}
        report = replace(
            report, not_promised={**report.not_promised, **left},
            judged={name: count for name, count in report.judged.items() if name not in left},
            unknown={name: why for name, why in report.unknown.items() if name not in left},
        )  # fmt: skip
        yield from _replayed(entry, variant, variant_name, f"{count} simulated histories", report, "histories")
    known = {variant.name for variant in entry.variants}
    for place in recordings(entry.name):
        manifest = Manifest.read(Location.of(place))
        if manifest.variant not in known:
            continue
        report = replay(place, further={CONFORMANCE: conformance_of(manifest)}, count_dangers=True)
        what = f"recording {place.name} of Apache Kafka"
        yield from _replayed(entry, entry.variant(manifest.variant), place.name, what, report, "recordings")


def _replayed(
    entry: ProtocolEntry, variant: Variant, pinned: str, what: str, report: ReplayReport,
    engine: Literal["histories", "recordings"],
) -> Found:  # fmt: skip
    """The verdict on each history property.  Which cannot be decided is pinned under that name in the catalogue: a
    recorder that loses a kind of event, or histories in which nothing happens, are no success."""
    expected = entry.undecided.get(pinned, frozenset())
    least = entry.followed.get(variant.name, FOLLOWED)
    heading = f"{entry.name}/{variant.name}: {what}, {report.events:,} events"
    if left := max((sum(reasons.values()) for reasons in report.undecided.values()), default=0):
        heading += f", {left:,} histories not followed to their end"
    spent = report.seconds / max(1, len(report.judged))
    met = scope_of_counts(variant.spec, engine, report.dangers, f"no event of {what} shows it").fields
    for name in report.judged:
        broken = report.violations.get(name)
        evidence: dict[str, Any] = {"histories": what, "events": report.events, "judged": report.judged[name]}
        if broken:
            evidence["first"] = str(broken["first"])
        if name in report.undecided:
            evidence["undecided"] = report.undecided[name]
        if name == CONFORMANCE:
            share = report.followed(name) or 0.0
            evidence |= {"followed": round(share, 4), "least": least}
            if share < least:
                evidence["reason"] = f"{share:.1%} of the histories followed to their end; {least:.0%} is the least"
        if name in report.unknown:
            evidence["reason"] = report.unknown[name]
        verdict: Verdict = "violated" if broken else "unknown" if "reason" in evidence else "holds"
        if verdict == "holds" and name in properties_of(entry.name).names:
            if plant := found_plants(entry.name).get(name):
                evidence["killer"] = {"plant": plant.name, "violations": plant.violations}
            else:
                verdict, evidence["reason"] = "vacuous", "no planted violation is known that it finds"
        found = replace(result(entry, variant, name, "history", "replay", verdict, spent, None, evidence), **met)
        yield heading, replace(found, expected="unknown") if name in expected else found
    hidden = {name: reason for name, reason in report.unknown.items() if name not in report.judged}
    for name, reason in (*hidden.items(), *report.not_promised.items()):
        told: dict[str, Any] = {"histories": what, "reason": reason}
        if name in report.not_promised:
            told["not_promised"] = True
        found = result(entry, variant, name, "history", "replay", "unknown", 0, None, told)
        fine = name in expected or name in report.not_promised
        yield heading, replace(found, expected="unknown") if fine else found


def recordings(protocol: str) -> list[Path]:
    """The recordings of real systems that ship with the package."""
    root = Path(str(files("fencepost.properties"))) / "recorded"
    return sorted(p.parent for p in root.glob("*/manifest.json") if p.parent.name.startswith(protocol))
