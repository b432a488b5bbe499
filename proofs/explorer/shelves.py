"""Shelves of what a replay has found in histories, of what an implementation did against a model, and of the steps that
break a proof."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from fencepost.proofs.explorer.session import Start, link, place_of
from fencepost.proofs.explorer.shelf import Found, Kind, Shelf
from fencepost.proofs.pages.histories import is_readable, page_of_violation
from fencepost.proofs.pages.programs import pages_of
from fencepost.proofs.readings.words import name_in_words
from fencepost.properties.catalogue import Variant
from fencepost.properties.history import HistoryDirectory
from fencepost.properties.history.checking import Violation
from fencepost.properties.history.properties_of import properties_of

if TYPE_CHECKING:
    from fencepost.proofs.engines.induction import Obligation, Proof
    from fencepost.proofs.engines.induction_counterexamples import Reached
    from fencepost.proofs.pages.stories import Story
    from fencepost.proofs.scale.replay import ReplayReport
    from fencepost.proofs.testing.engine import AgreementReport

MOST = 200
"""Violations of a property that are listed, as many as are read; how many there are is told."""


def of_histories(
    where: str, opened: HistoryDirectory, report: "ReplayReport", rows: Any, kernels: Mapping[str, Any]
) -> Shelf:
    """What a report says of each property, and each violating row, which is a column table as of `violating_rows`.
    ``kernels``: of what is no history property."""
    at = {name: rows[name].to_pylist() for name in ("property", "history", "step", "told", "explained_by")}
    found: dict[str, list[Found]] = {}
    for name, history, step, told, explained_by in zip(*at.values(), strict=True):
        mine = found.setdefault(name, [])
        broken = Violation(history, step, name, told, explained_by)
        if len(mine) < MOST and is_readable(opened, broken):
            story = partial(page_of_violation, opened, broken, kernels.get(name))
            mine.append(Found(f"history {history}, step {step}: {told}", story))
    properties = properties_of(opened.manifest.protocol).properties
    kinds = [
        _kind(name, report, properties[name].meaning if name in properties else "", found.get(name, []))
        for name in dict.fromkeys((*report.violations, *report.judged, *report.unknown, *report.not_promised))
    ]
    manifest = opened.manifest
    about = (
        f"{manifest.protocol}/{manifest.variant}: {report.histories:,} histories, {report.events:,} events.",
        *(
            f"{name_in_words(name)}: undecided in {count:,} histories: {why}."
            for name, reasons in report.undecided.items()
            for why, count in reasons.items()
        ),
    )
    return Shelf(where, about, kinds)


def _kind(name: str, report: "ReplayReport", says: str, found: list[Found]) -> Kind:
    """The verdict on a property, in words."""
    words, predicted = name_in_words(name), sum(report.predicted.get(name, {}).values())
    if name in report.violations:
        count = report.violations[name]["count"]
        listed = f", of which the first {len(found)} are here" if count > len(found) else ""
        return Kind(words, f"violated {count:,} times{listed}", False, says, found)
    if predicted:
        return Kind(words, f"violated as predicted, {predicted:,} times", True, says)
    for verdict, reasons in (("unknown", report.unknown), ("not promised", report.not_promised)):
        if name in reasons:
            return Kind(words, f"{verdict}: {reasons[name]}", False, says)
    return Kind(words, f"holds, {report.judged[name]:,} judged", True, says)


def of_implementation(report: "AgreementReport") -> Shelf:
    """The program in which an implementation failed, those of further differences, and what breaks as predicted."""
    pages = pages_of(report)
    failed = int(report.failure is not None)
    further = failed + len(report.differences)
    sorts = (
        ("the program that fails", "found", False, pages[:failed]),
        ("what differs and breaks no promise", "found", False, pages[failed:further]),
        ("what breaks as predicted", "found", True, pages[further:]),
    )
    kinds = [
        Kind(name, verdict if stories else "none", good or not stories, "", [_found(story) for story in stories])
        for name, verdict, good, stories in sorts
    ]
    about = (
        f"{report.examples} clusters driven, seed {report.seed}; the model followed {report.followed:.1%} of them to "
        "their ends.",
    )
    return Shelf(f"{report.implementation} against {report.protocol}/{report.variant}", about, kinds)


def of_proof(
    title: str, variant: Variant, proof: "Proof", told: "Iterable[tuple[Obligation, Reached, Story]]"
) -> tuple[Shelf, list[Start]]:
    """The steps that break an attempt at a proof, each with its story and from a state of which it is ``told`` whether
    a run reaches it; and these states, to walk on from."""
    starts, by_property = list[Start](), dict[str, list[Found]]()
    for failed, reached, story in told:
        example = failed.counterexample
        assert example is not None and example.before is not None and example.event is not None
        says = f"This begins in a state of an attempt at a proof: {name_in_words(failed.property)} is {story.verdict}."
        starts.append(Start(example.before, says))
        place = place_of(title, variant, reached.bound, len(starts))
        found = Found(_says(story), partial(_same, story), link(place, [example.event]))
        by_property.setdefault(failed.property, []).append(found)
    failing = [o for o in proof.failures if o.counterexample is not None]
    kinds = []
    for name, verdict in sorted(proof.verdicts.items(), key=lambda one: (one[1] == "holds", one[1])):
        words = name_in_words(name)
        says = "not inductive" if verdict == "violated" else verdict
        kinds.append(Kind(words, says, verdict == "holds", "", by_property.get(name, [])))
    steps = sum(o.kind in ("initial", "preserved", "step") for o in proof.obligations)
    about = (
        f"Proof by induction: {steps} steps, {len(failing)} of which have a counterexample.",
        "A step that breaks the proof may begin in a state that no run reaches: then the properties are too weak.",
    )
    return Shelf(title, about, kinds), starts


def _found(story: "Story") -> Found:
    return Found(_says(story), partial(_same, story))


def _says(story: "Story") -> str:
    return f"{story.title}: {story.about[0] if story.about else story.verdict}"


def _same(story: "Story") -> "Story":
    return story
