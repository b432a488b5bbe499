"""This module replays simulated histories and recordings of real systems against their properties and the model."""

import tempfile
from collections.abc import Collection, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from fencepost.proofs.engines.run_engines import result
from fencepost.proofs.necessity.killers import found_violations
from fencepost.proofs.results import Result, Verdict
from fencepost.proofs.scale.generate import generate, generate_set, vocabularies_of
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scope.scopes import scope_of_counts
from fencepost.proofs.traces import conformance_of, predicted_of, replay_set
from fencepost.properties.catalogue import FOLLOWED, Profile, ProtocolEntry, Variant, protocols
from fencepost.properties.history import Manifest
from fencepost.properties.history.location import Location
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.nearest import quantity

HISTORIES = {"smoke": 200, "ci": 5000, "nightly": 500_000}
"""Each profile generates this many simulated histories of 200 events each."""
CONFORMANCE = "conformance"
Found = Iterator[tuple[str, Result]]


def number_of_replays(entry: ProtocolEntry) -> int:
    """Return how many datasets are replayed, simulated ones and recordings together."""
    simulated = (len(vocabularies_of(simulator, config)) or 1 for _, simulator, config in entry.verified_simulators)
    return sum(simulated) + len(recordings(entry.name))


def histories(entry: ProtocolEntry, profile: Profile, seed: int) -> Found:
    """Yield the verdicts on simulated histories of each variant that has a simulator, and on recordings. Where a mode
    is known to break a promise, a violation is excused only if the model takes the step that breaks it as well. A
    property that is predicted to break, and has no other violation, is reported as not promised."""
    for variant_name, simulator, config in entry.verified_simulators:
        several = bool(vocabularies_of(simulator, config))
        asked: dict[str, Any] = {
            "histories": entry.histories.get(profile, HISTORIES[profile]), "seed": seed, "config": config,
            "protocol": entry.name, "variant": variant_name,
        }  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
            place = Path(folder) / "histories"
            if several:
                yield from _of_several(entry, variant_name, simulator, place, asked)
            else:
                yield from _of_one(entry, entry.variant(variant_name), simulator, place, asked)
    known = {variant.name for variant in entry.variants}
    for place in recordings(entry.name):
        manifest = Manifest.read(Location.of(place))
        if manifest.variant not in known:
            continue
        report = replay(place, further={CONFORMANCE: conformance_of(manifest)}, count_dangers=True)
        what = f"recording {place.name} of Apache Kafka"
        variant = entry.variant(manifest.variant)
        least, pinned = entry.followed.get(variant.name, FOLLOWED), entry.undecided.get(place.name, ())
        violated = entry.violated.get(place.name, ())
        yield from _replayed(entry, variant, variant.name, what, report, "recordings", pinned, least, violated)


def _of_one(entry: ProtocolEntry, variant: Variant, simulator: str, place: Path, asked: dict[str, Any]) -> Found:
    manifest = generate(place, simulator, **asked)
    further = {CONFORMANCE: conformance_of(manifest)}
    report = _less(replay(place, further=further, count_dangers=True, excuses=predicted_of(manifest)), manifest)
    what = f"{asked['histories']} simulated histories"
    least, pinned = entry.followed.get(variant.name, FOLLOWED), entry.undecided.get(variant.name, ())
    yield from _replayed(entry, variant, variant.name, what, report, "histories", pinned, least)


def _of_several(entry: ProtocolEntry, name: str, simulator: str, place: Path, asked: dict[str, Any]) -> Found:
    """Yield the verdicts on one system that writes several vocabularies, each judged by its own protocol. The entry of
    the system lists, by protocol, the properties that are not decided and the share that the model must follow."""
    generate_set(place, simulator, **asked)
    for protocol, report in replay_set(place, count_dangers=True).items():
        manifest = Manifest.read(Location.of(place / protocol))
        of, variants = protocols()[protocol], {v.name: v for v in protocols()[protocol].variants}
        what = f"{asked['histories']} simulated histories" + (
            f" of {entry.name}/{name}" if of.name != entry.name else ""
        )
        least, pinned = entry.followed.get(protocol, FOLLOWED), entry.undecided.get(protocol, frozenset())
        variant = variants.get(manifest.variant)
        asked_of = _less(report, manifest)
        pinned |= entry.seldom.get(protocol, frozenset()) - {name for name, count in asked_of.judged.items() if count}
        yield from _replayed(of, variant, manifest.variant, what, asked_of, "histories", pinned, least)


def _less(report: ReplayReport, manifest: Manifest) -> ReplayReport:
    broken = properties_of(manifest.protocol).predicted(manifest)
    left = {name: why for name, why in broken.items() if name not in report.violations}
    return replace(
        report, not_promised={**report.not_promised, **left},
        judged={name: count for name, count in report.judged.items() if name not in left},
        unknown={name: why for name, why in report.unknown.items() if name not in left},
    )  # fmt: skip


def _replayed(
    entry: ProtocolEntry, variant: Variant | None, variant_name: str, what: str, report: ReplayReport,
    engine: Literal["histories", "recordings"], pinned: Collection[str], least: float,
    broken_there: Collection[str] = (),
) -> Found:  # fmt: skip
    """Yield the verdict on each history property. ``variant`` is None where the protocol has no model. ``pinned`` names
    the properties that the catalogue expects to be undecidable, ``broken_there`` those that the recorded system broke,
    and ``least`` is the share of the histories that the model must follow."""
    heading = f"{entry.name}/{variant_name}: {what}, {quantity(report.events, 'event')}"
    if left := max((sum(reasons.values()) for reasons in report.undecided.values()), default=0):
        heading += f", {quantity(left, 'history')} not followed to their end"
    spent = report.seconds / max(1, len(report.judged))
    spec = variant.spec if variant else None
    met = scope_of_counts(spec, engine, report.dangers, f"no event of {what} shows it").fields
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
            if seeded := found_violations(entry.name).get(name):
                evidence["killer"] = {"plant": seeded.name, "violations": seeded.violations}
            else:
                verdict, evidence["reason"] = "vacuous", "no seeded violation is known that it finds"
        found = replace(_result(entry, variant, variant_name, name, verdict, spent, evidence), **met)
        if engine == "recordings":  # one run of a variant need not break what the variant can break
            found = replace(found, expected="violated" if name in broken_there else "holds")
        yield heading, replace(found, expected="unknown") if name in pinned else found
    hidden = {name: reason for name, reason in report.unknown.items() if name not in report.judged}
    for name, reason in (*hidden.items(), *report.not_promised.items()):
        reported: dict[str, Any] = {"histories": what, "reason": reason}
        if name in report.not_promised:
            reported["not_promised"] = True
        found = _result(entry, variant, variant_name, name, "unknown", 0, reported)
        fine = name in pinned or name in report.not_promised
        yield heading, replace(found, expected="unknown") if fine else found


def _result(
    entry: ProtocolEntry, variant: Variant | None, variant_name: str, name: str, verdict: Verdict, seconds: float,
    evidence: dict[str, Any],
) -> Result:  # fmt: skip
    if variant is not None:
        return result(entry, variant, name, "history", "replay", verdict, seconds, None, evidence)
    rule = properties_of(entry.name).rules.get(name, "")
    return Result(
        entry.name, variant_name, name, "history", "replay", verdict, "holds", None, round(seconds, 4),
        {"rule": rule, **evidence},
    )  # fmt: skip


def recordings(protocol: str) -> list[Path]:
    """Return the folders of the recordings of real systems that ship with the package."""
    root = Path(str(files("fencepost.properties"))) / "recorded"
    return sorted(p.parent for p in root.glob("*/manifest.json") if p.parent.name.startswith(protocol))
