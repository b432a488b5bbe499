"""A program that fails as a page: the calls that were made, and the events of the implementation that came of them.

Calls stand in a lane of their own, events in the lanes of the processes that they name.  The first event, or call, that
no state of the model explains, or that breaks a promise, is marked; what is false of the model's nearest step is told.
"""

from collections.abc import Iterator

from fencepost.proofs.pages.event_lanes import Filled, event_step, in_order, lanes_of
from fencepost.proofs.pages.stories import Step, Story
from fencepost.proofs.testing.engine import AgreementReport
from fencepost.proofs.testing.failures import Disagreement

DRIVER = "driver"
"""The lane of the calls."""


def pages_of(report: AgreementReport) -> list[Story]:
    """What failed, what differs, and what is broken as predicted."""
    found = [report.failure] if report.failure is not None else []
    stories = [_page(report, each, "disagrees") for each in (*found, *report.differences)]
    return stories + [_page(report, each, "breaks it, as predicted") for each in report.predicted.values()]


def _page(report: AgreementReport, failure: Disagreement, verdict: str) -> Story:
    bad = next((n for n, (*_, is_bad) in enumerate(_rows(failure), 1) if is_bad), len([*_rows(failure)]))
    lanes = [DRIVER, *in_order(lanes_of(filled) for _, filled, _ in _rows(failure) if filled is not None)]
    steps = tuple(_step(text, events, lanes) for text, events, _ in _rows(failure))[:bad]
    asked = f"{report.variant}, as {report.implementation} does it"
    return Story(
        f"{report.protocol}/{report.variant}: {failure.calls} calls", "", asked,
        failure.promise or "Every event is a step of the model, or of its hidden steps.", verdict, False,
        tuple(str(failure).splitlines()), (),
        tuple(lanes), steps, ((),) * (len(steps) + 1), (), len(steps), {}, None,
    )  # fmt: skip


def _rows(failure: Disagreement) -> Iterator[tuple[str, Filled | None, bool]]:
    """Calls and events in order: in words, with what an event fills, and whether it is the bad one."""
    for made in failure.run:
        yield made.call, None, made.bad == -1 and not made.events
        for place, (kind, filled) in enumerate(made.events):
            last = made.bad == -1 and place == len(made.events) - 1
            yield kind, filled, made.bad == place or last


def _step(text: str, filled: Filled | None, lanes: list[str]) -> Step:
    if filled is None:
        return Step(text, "", "A call of the driver.", lanes.index(DRIVER), (), (), (), ())
    return event_step(text, filled, lanes, "The implementation shows it.")
