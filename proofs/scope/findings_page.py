"""This module renders the table of findings in third-party systems, and of the known bugs in the catalogue.

A known bug is a `Scenario` of the catalogue: a variant that has it and one in which it is fixed, and often a script of
the reference implementation that plays both. The row of a known bug is computed from its scenario."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from fencepost.proofs.scope.findings import FINDINGS, Finding
from fencepost.proofs.scope.reproduced import Reproduced, last
from fencepost.properties.catalogue import protocols
from fencepost.properties.entries import ProtocolEntry, Scenario

OLDEST_FIRST = ("3.3.2", "3.9.1", "3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0")
"""The summary has a column for each of these releases."""
SEEN, NOT_SEEN, NOT_TRIED = "x", "-", ""


@cache
def known_bugs() -> tuple[Finding, ...]:
    """Return a row for each scenario of the catalogue. Computing what the scenarios break takes some seconds."""
    return tuple(_known(entry, each) for entry in protocols().values() for each in entry.scenarios)


def _known(entry: ProtocolEntry, scenario: Scenario) -> Finding:
    variant = entry.variant(scenario.broken)
    violated = [variant.properties.properties[n] for n, verdict in variant.expected.items() if verdict == "violated"]
    issue = re.match(r"KAFKA-\d+", scenario.name)
    return Finding(
        name=scenario.name,
        what=f"{scenario.says[:1].upper()}{scenario.says[1:]}.",
        where=entry.name,
        version="the reference implementation and the model" if scenario.played else "the model",
        breaks=tuple(dict.fromkeys(each.rule for each in violated if each.rule)),
        status=f"confirmed by {issue[0]}" if issue else "known",
        program=f'fencepost show {entry.name}/{variant.name} "{violated[0].name.replace("_", " ")}"',
        note=f"mended in {entry.name}/{scenario.fixed}",
        variants=(f"{entry.name}/{variant.name}",),
        means="reference" if scenario.played else "model",
    )


def page(findings: Iterable[Finding] = FINDINGS) -> str:
    rows = "".join(f"| {' | '.join(_cells(each))} |\n" for each in findings)
    known = "".join(f"| {' | '.join(_known_cells(each))} |\n" for each in known_bugs())
    return (
        "# Findings\n\nWhat was found out about systems that others wrote. Each row was seen on the releases named, by "
        "the program named. The newest release is tried within three nights, and another one each night; what was not "
        "reproduced for a week fails there: [when, and at which commit](reproduced.json). "
        "Made by `fencepost findings --table`.\n\n"
        "| what | where | version | seen | not seen | breaks | status | program |\n"
        "|---|---|---|---|---|---|---|---|\n" + rows + "\n## Known bugs that the suite finds\n\n"
        "Each scenario of the catalogue: publicly known, or a hole in a proposal's argument; played in the model, or "
        "in the reference implementation too.\n\n"
        "| what | protocol | seen in | breaks | status | program |\n|---|---|---|---|---|---|\n" + known
    )


def _cells(each: Finding) -> Iterator[str]:
    note = f" ({each.note})" if each.note else ""
    yield f"**{each.name}**. {each.what}"
    yield each.where
    yield each.version
    yield ", ".join(each.seen)
    yield ", ".join(each.not_seen)
    yield ", ".join(each.breaks) or "nothing"
    yield f"{each.status}{note}"
    yield ", ".join(f"`{program}`" for program in each.programs)


def _known_cells(each: Finding) -> Iterator[str]:
    yield f"**{each.name}**. {each.what}"
    yield each.where
    yield each.version
    yield ", ".join(each.breaks) or "nothing"
    yield f"{each.status}; {each.note}"
    yield f"`{each.program}`"


def reproduced(each: Finding) -> str:
    """Return the date, the newest release tried on that day, and the commit at which a finding was last reproduced."""
    row = _newest(each)
    return f"{row.date} on {row.release} at {row.commit}" if row else "never"


def _newest(each: Finding) -> Reproduced | None:
    ran = [row for row in last(each).values() if row.outcome != "not run"]
    return max(ran, key=lambda row: (row.date, _place(row.release)), default=None)


def _place(release: str) -> int:
    return OLDEST_FIRST.index(release) if release in OLDEST_FIRST else -1


def summary(findings: Sequence[Finding] = FINDINGS) -> Iterator[str]:
    """Yield a heading, and one line per finding: on which releases it was seen and not seen, and when last."""
    yield " ".join(f"{release:>5}" for release in OLDEST_FIRST) + f"  last reproduced  {SEEN} seen, {NOT_SEEN} not seen"
    for each in findings:
        marks = (SEEN if r in each.seen else NOT_SEEN if r in each.not_seen else NOT_TRIED for r in OLDEST_FIRST)
        row = _newest(each)
        yield " ".join(f"{mark:>5}" for mark in marks) + f"  {row.date if row else 'never':<15}  {each.name}"


def document(findings: Iterable[Finding] = FINDINGS) -> list[Mapping[str, Any]]:
    return [each.as_dict() for each in (*findings, *known_bugs())]
