"""This module renders a finding for those who would repair it: what happens, step by step in the terms of the system,
where it was seen, and what each repair is worth in the models.

The steps are a shortest run of a variant, computed when the text is made. The verdicts are computed too: each repair is
judged in the bounds within which the run exists without it, and proved without bounds where there is a proof."""

from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.model.rules import RULES
from fencepost.proofs.results import Trace
from fencepost.proofs.scope.findings import FINDINGS, Finding
from fencepost.proofs.scope.repairs import REPORTS, Repair, Report
from fencepost.proofs.scope.reproduced import rows
from fencepost.properties.catalogue import ProtocolEntry, Variant, bounds_of, find
from fencepost.properties.entries import CatalogueError
from fencepost.properties.nearest import instead

JUDGED = ("no_zombie", "all_covered", "covered")
"""These are the promises that the finding breaks, by property; the others are not what a repair is for."""


def report(name: str) -> str:
    """Return the text on the finding of a name as Markdown. Raise CatalogueError for one that has none."""
    if name not in REPORTS:
        raise CatalogueError(f"there is no report on {name!r}; {instead(name, list(REPORTS), 'fencepost findings')}")
    it, finding = REPORTS[name], next(each for each in FINDINGS if each.name == name)
    return "\n".join((*_head(finding, it), *_run(it), *_table(it), *(f"- {each}" for each in it.advice), ""))


def _head(finding: Finding, it: Report) -> Iterator[str]:
    yield f"# {finding.name[:1].upper()}{finding.name[1:]}\n\n{finding.what}\n\n{finding.where}; {finding.version}."
    for program in finding.programs:
        seen = [row.release for row in rows() if row.program == program and row.outcome == "seen"]
        yield f"Seen by `{program}` on {', '.join(seen)}."
    yield f"\nPublic record: {finding.note}.\n\n## What it breaks\n"
    for number in finding.breaks:
        yield f"- {number} ({RULES[number].kind}): {RULES[number].says}"
    yield f"\n## What it takes\n\n{it.conditions}\n"


def _run(it: Report) -> Iterator[str]:
    protocol, variant, prop = it.run.split("/")
    entry, found = _variant(f"{protocol}/{variant}")
    trace = _shortest(found, prop)
    assert trace is not None, it.run
    yield f"## A shortest run\n\nOf the model {it.run.rpartition('/')[0]}: {len(trace)} steps, and no run is shorter "
    yield f'(`fencepost show {entry.name}/{found.name} "{prop.replace("_", " ")}"`).\n'
    for n, (event, state) in enumerate(zip(trace.events, trace.states[1:], strict=True), 1):
        yield f"{n}. {it.steps[event.action].format(**event.parameters, task=_task(state, event.parameters))}"


def _task(state: Mapping[str, Any], parameters: Mapping[str, int]) -> int:
    """Return the task of the step's instance; maps leave out zeros."""
    tasks: Mapping[tuple[int, ...], int] = state["task"]
    return tasks.get((parameters.get("k", 0),), 0)


def _table(it: Report) -> Iterator[str]:
    yield "\n## What each repair is worth\n\n| repair | where | model | bounds | verdicts |\n|---|---|---|---|---|"
    for repair in (Repair("none", "as released", it.unrepaired), *it.repairs):
        for n, name in enumerate(repair.variants):
            what = (repair.name, repair.where) if n == 0 else ("", "")
            yield f"| {' | '.join((*what, *_verdicts(name)))} |"
    yield ""


def _verdicts(name: str) -> tuple[str, str, str]:
    _, variant = _variant(name)
    bounds = bounds_of(variant, "smoke")
    words = []
    for prop, item in variant.asked.items():
        if item.role == "promise" and prop in JUDGED:
            words.append(f"{item.rule} {_verdict(variant, prop)}")
    return name, ", ".join(f"{key} {value}" for key, value in bounds.items() if value), "; ".join(words)


def _verdict(variant: Variant, prop: str) -> str:
    from fencepost.proofs.engines.induction import prove

    trace = _shortest(variant, prop)
    if trace is not None:
        return f"broken in {len(trace)} steps"
    if not (variant.main and variant.is_proved_in("smoke")):
        return "holds in every state within these bounds"
    proof = prove(variant.spec, variant.promised)
    return "proved without bounds" if proof.verdict(prop) == "holds" else "holds within these bounds, not proved"


def _shortest(variant: Variant, prop: str) -> Trace | None:
    from fencepost.proofs.engines.explore import explore

    asked = {prop: variant.properties.properties[prop]}
    return explore(variant.spec, asked, bounds_of(variant, "smoke"), stop_when_violated=True).traces.get(prop)


def _variant(name: str) -> tuple[ProtocolEntry, Variant]:
    entry, variant = find(name)
    assert variant is not None, name
    return entry, variant
