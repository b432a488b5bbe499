"""This module serves what was found in histories, in an implementation or by a proof, as a list and a page for each
finding."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fencepost.proofs.explorer.server import Explorer, guarded, serve
from fencepost.proofs.explorer.session import Start, link, place_of
from fencepost.proofs.pages.histories import is_readable, page_of_violation
from fencepost.proofs.pages.page import page, policy
from fencepost.proofs.pages.programs import pages_of
from fencepost.proofs.pages.stories import Story
from fencepost.proofs.readings.words import name_in_words
from fencepost.properties.catalogue import Variant
from fencepost.properties.history import HistoryDirectory
from fencepost.properties.history.checking import Violation
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.nearest import quantity, times
from flask import Flask, Response, abort
from jinja2 import Environment, StrictUndefined

if TYPE_CHECKING:
    from fencepost.proofs.engines.induction import Proof
    from fencepost.proofs.engines.induction_counterexamples import Reached
    from fencepost.proofs.engines.obligations import Obligation
    from fencepost.proofs.pages.stories import Story
    from fencepost.proofs.scale.replay import ReplayReport
    from fencepost.proofs.testing.engine import AgreementReport


# A page is made on request, and is the one that ``--html`` writes.

WALK = "walk"
STYLES = (("fencepost.proofs.pages", "page.css"), ("fencepost.proofs.explorer", "shelf.css"))


@dataclass(frozen=True)
class Found:
    """A `Found` is one finding, in words and with its page. ``walk`` is a `link` to walk on from it in the model."""

    says: str
    story: Callable[[], Story]
    walk: str = ""


@dataclass(frozen=True)
class Kind:
    """A `Kind` has what was found about one property, with its verdict in words, and the first findings."""

    name: str
    verdict: str
    good: bool
    says: str
    found: Sequence[Found] = ()


@dataclass(frozen=True)
class Shelf:
    """A `Shelf` has everything that was found in one place."""

    title: str
    about: Sequence[str]
    kinds: Sequence[Kind]


def application(shelves: Sequence[Shelf], token: str, hosts: frozenset[str], explorer: Explorer | None = None) -> Flask:
    """Return an application with the list at the address of the token, and under it the pages, numbered from 1 in the
    order of the list. The model is under ``walk/``, where findings lead to it."""
    app = guarded(token, hosts)
    if explorer is not None:
        serve(app, explorer, f"/{token}/{WALK}")
    items = [one for shelf in shelves for kind in shelf.kinds for one in kind.found]

    @app.get(f"/{token}/")
    def _list() -> str:
        return _list_of(shelves)

    def style(package: str, name: str) -> Response:
        return Response(files(package).joinpath(name).read_text(encoding="utf-8"), mimetype="text/css")

    for package, name in STYLES:
        app.add_url_rule(f"/{token}/{name}", name, partial(style, package, name))

    @app.get(f"/{token}/<int:number>")
    def _page(number: int) -> Response:
        if not 0 < number <= len(items):
            abort(404, f"there is nothing of number {number}; there are {len(items)}")
        answer = Response(page([items[number - 1].story()]), mimetype="text/html")
        answer.headers["Content-Security-Policy"] = f"{policy()}; frame-ancestors 'none'"
        return answer

    return app


def _list_of(shelves: Sequence[Shelf]) -> str:
    text = files(__package__).joinpath("shelf.html.jinja").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(text).render(shelves=shelves, walk=WALK)


# Shelves hold what a replay found in histories, what an implementation did against a model, and the steps that break a
# proof.

MOST = 200
"""At most this many violations of a property are listed, which is as many as are read, and the total is reported."""


def of_histories(
    where: str, opened: HistoryDirectory, report: "ReplayReport", rows: Any, kernels: Mapping[str, Any]
) -> Shelf:
    """Return what a report has on each property, and each violating row, which is a column table as of
    `violating_rows`. ``kernels`` has the judges of what is not a history property."""
    at = {name: rows[name].to_pylist() for name in ("property", "history", "step", "told", "explained_by")}
    found: dict[str, list[Found]] = {}
    for name, history, step, text, explained_by in zip(*at.values(), strict=True):
        mine = found.setdefault(name, [])
        broken = Violation(history, step, name, text, explained_by)
        if len(mine) < MOST and is_readable(opened, broken):
            story = partial(page_of_violation, opened, broken, kernels.get(name))
            mine.append(Found(f"history {history}, step {step}: {text}", story))
    properties = properties_of(opened.manifest.protocol).properties
    kinds = [
        _kind(name, report, properties[name].meaning if name in properties else "", found.get(name, []))
        for name in dict.fromkeys((*report.violations, *report.judged, *report.unknown, *report.not_promised))
    ]
    manifest = opened.manifest
    about = (
        f"{manifest.protocol}/{manifest.variant}: {quantity(report.histories, 'history')}, "
        f"{quantity(report.events, 'event')}.",
        *(
            f"{name_in_words(name)}: undecided in {quantity(count, 'history')}: {why}."
            for name, reasons in report.undecided.items()
            for why, count in reasons.items()
        ),
    )
    return Shelf(where, about, kinds)


def _kind(name: str, report: "ReplayReport", says: str, found: list[Found]) -> Kind:
    words, predicted = name_in_words(name), sum(report.predicted.get(name, {}).values())
    if name in report.violations:
        count = report.violations[name]["count"]
        listed = f", of which the first {len(found)} are here" if count > len(found) else ""
        return Kind(words, f"violated {times(count)}{listed}", False, says, found)
    if predicted:
        return Kind(words, f"violated as predicted, {times(predicted)}", True, says)
    for verdict, reasons in (("unknown", report.unknown), ("not promised", report.not_promised)):
        if name in reasons:
            return Kind(words, f"{verdict}: {reasons[name]}", False, says)
    return Kind(words, f"holds, {report.judged[name]:,} judged", True, says)


def of_implementation(report: "AgreementReport") -> Shelf:
    """Return the programs in which an implementation failed, differed, or broke what is predicted."""
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
        f"{quantity(report.examples, 'cluster')} driven, seed {report.seed}; the model followed {report.followed:.1%} "
        "of them to their ends.",
    )
    return Shelf(f"{report.implementation} against {report.protocol}/{report.variant}", about, kinds)


def of_proof(
    title: str, variant: Variant, proof: "Proof", stories: "Iterable[tuple[Obligation, Reached, Story]]"
) -> tuple[Shelf, list[Start]]:
    """Return the steps that break an attempt at a proof, and the states in which they begin, to walk on from.
    ``stories`` has the story of each step, and whether a run reaches its state."""
    starts, by_property = list[Start](), dict[str, list[Found]]()
    for failed, reached, story in stories:
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
        f"Proof by induction: {quantity(steps, 'step')}, {len(failing)} of which have a counterexample.",
        "A step that breaks the proof may begin in a state that no run reaches: then the properties are too weak.",
    )
    return Shelf(title, about, kinds), starts


def _found(story: "Story") -> Found:
    return Found(_says(story), partial(_same, story))


def _says(story: "Story") -> str:
    return f"{story.title}: {story.about[0] if story.about else story.verdict}"


def _same(story: "Story") -> "Story":
    return story
