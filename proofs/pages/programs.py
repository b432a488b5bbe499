"""This module draws a failing program as a page, with the calls that were made, and the events of the implementation
that followed.

Calls are in a lane of their own, events are in the lanes of the processes that they name, and the model has a lane that
an event reaches if it is a step of the model. The first event or call that no state of the model explains, or that
breaks a promise, is marked, and does not reach that lane. What is false of the model's nearest step is reported.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fencepost.model.language.observations import Do
from fencepost.proofs.pages.stories import Filled, Step, Story, event_lanes_of, event_step, in_order
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.testing.engine import AgreementReport
from fencepost.proofs.testing.failures import Disagreement
from fencepost.properties.conformance_spec import DRIVEN, driven
from fencepost.properties.history.naming import Naming
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.nearest import quantity

DRIVER, MODEL = "driver", "model"
"""Calls are in the first of these lanes, and the model in the second."""
Taken = Mapping[str, Sequence[Do]]
"""A `Taken` has, by kind of event, the steps of the model that it stands for."""


def pages_of(report: AgreementReport) -> list[Story]:
    """Return pages of what failed, what differs, what is broken as predicted, and what is inconclusive."""
    found = [report.failure] if report.failure is not None else []
    stories = [_page(report, each, "disagrees") for each in (*found, *report.differences)]
    stories += [_page(report, each, "breaks it, as predicted") for each in report.predicted.values()]
    return stories + [_page(report, each, "inconclusive") for each in report.undecided]


def _page(report: AgreementReport, failure: Disagreement, verdict: str) -> Story:
    bad = next((n for n, (*_, is_bad) in enumerate(_rows(failure), 1) if is_bad), len([*_rows(failure)]))
    events = in_order(event_lanes_of(filled) for _, filled, _ in _rows(failure) if filled is not None)
    taken = _taken(report) if report.model != "none" else {}
    lanes = [DRIVER, *events, *([MODEL] if taken else [])]
    barred = not failure.promise or any(c.action != "promise" for c in failure.conjuncts)
    rows = list(_rows(failure))[:bad]
    of = properties_of(report.protocol)
    naming = Naming(of.vocabulary, {}, of.values)
    steps = tuple(_step(text, filled, lanes, naming, taken, is_bad and barred) for text, filled, is_bad in rows)
    asked = f"{report.variant}, as {report.implementation} does it"
    return Story(
        f"{report.protocol}/{report.variant}: {quantity(failure.calls, 'call')}", "", asked,
        failure.promise or "Every event is a step of the model, or of its hidden steps.", verdict, False,
        tuple(str(failure).splitlines()), (),
        tuple(lanes), steps, ((),) * (len(steps) + 1), (), len(steps), {}, None,
    )  # fmt: skip


def _rows(failure: Disagreement) -> Iterator[tuple[str, Filled | None, bool]]:
    for made in failure.run:
        yield made.call, None, made.bad == -1 and not made.events
        for place, (kind, filled) in enumerate(made.events):
            last = made.bad == -1 and place == len(made.events) - 1
            yield kind, filled, made.bad == place or last


def _taken(report: AgreementReport) -> Taken:
    agreeing = driven(report.protocol) if report.protocol in DRIVEN else None
    if agreeing is None or agreeing.follow is None:
        return {}
    followed = agreeing.follow(report.model, {**agreeing.small, "mode": report.model})
    return {seen.kind: seen.steps for seen in followed.observations}


def _step(text: str, filled: Filled | None, lanes: list[str], naming: Naming, taken: Taken, barred: bool) -> Step:
    """Return a call, or an event with its steps in the model. ``barred`` means that no state of the model fits."""
    if filled is None:
        return Step(text, "", "A call of the driver.", lanes.index(DRIVER), (), (), (), ())
    made = event_step(text, filled, lanes, naming, "The implementation shows it.")
    if MODEL not in lanes:
        return made
    if barred:
        return replace(made, says=f"{made.says} Here no state of the model fits any more.")
    if not (steps := taken.get(text, ())):
        says = "The model takes no step, and has to fit it" if text in taken else "The model says nothing of it"
        return replace(made, says=f"{made.says} {says}.")
    reported = ", ".join(_in_words(step, filled) for step in steps)
    return replace(
        made, says=f"{made.says} The model takes {reported}.", reaches=(*made.reaches, lanes.index(MODEL)),
        words=f"{made.words}; model: {reported}" if made.words else f"model: {reported}",
    )  # fmt: skip


def _in_words(step: Do, filled: Filled) -> str:
    given = (f"{name}={filled[column]}" for name, column in step.parameters.items() if column in filled)
    return f"{'perhaps ' * (step.when is not None)}{name_in_words(step.action)}({', '.join(given)})"
