"""This module writes verdicts as SARIF 2.1.0, which code hosts display next to the lines of a change, and as GitHub
annotations.

The reports contain unexpected verdicts, and undecided ones that were asked for, each at the line of its model or
property."""

import inspect
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fencepost.model.language.properties import PropertyMethod
from fencepost.model.language.tracing.sources import attribute_line, line_of
from fencepost.proofs.readings.words import leaning, name_in_words
from fencepost.proofs.report import write_text
from fencepost.proofs.results import Result
from fencepost.properties.catalogue import ProtocolEntry, Variant, protocols

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class Remark:
    """A `Remark` is one finding for a reviewer. ``level`` is error or warning, ``file`` is relative to the working
    directory where possible, and ``line`` counts from 1."""

    level: str
    rule: str
    says: str
    file: str
    line: int


def remarks(entries: Iterable[ProtocolEntry], results: Iterable[Result], problems: Sequence[str]) -> list[Remark]:
    """Return what a reviewer has to see, in the order of the verdicts, followed by contradictions between engines.
    Where several engines report the same verdict, only the first one is returned."""
    known = protocols() | {entry.name: entry for entry in entries}  # another protocol may judge a protocol's histories
    found, remarked = [], set[tuple[str, ...]]()
    for one in results:
        what = (one.protocol, one.variant, one.property, one.verdict)
        if (one.as_expected and one.verdict != "unknown") or what in remarked:
            continue
        remarked.add(what)
        entry = known[one.protocol]
        names = {v.name for v in entry.variants}
        variant = entry.variant(one.variant) if one.variant in names else entry.variants[0]
        file, line = _place(variant, one)
        verdict = f"{one.verdict}{leaning(one)} by {one.engine}"
        text = f"{one.protocol}/{one.variant}: {name_in_words(one.property)} is {verdict}"
        text += "" if one.as_expected else f", and {one.expected} was expected"
        text += f" ({one.evidence['reason']})" if "reason" in one.evidence else ""
        words = "\n".join(one.evidence.get("words", ()))
        level = "warning" if one.verdict == "unknown" else "error"
        says = f"{text}\n{words}".rstrip()
        found.append(Remark(level, str(one.evidence.get("rule") or one.property), says, file, line))
    for problem in problems:  # its text begins with the protocol's name, see `contradictions`
        found.append(Remark("error", "engines disagree", problem, *_of_class(known[problem.partition("/")[0]])))
    return found


def _place(variant: Variant, result: Result) -> tuple[str, int]:
    for cls in variant.properties.__mro__:
        method = vars(cls).get(result.property)
        if isinstance(method, PropertyMethod) and inspect.isfunction(method.body):
            file, line = line_of(method.body)
            return _uri(file), line
    return _of_class(variant)


def _of_class(of: ProtocolEntry | Variant) -> tuple[str, int]:
    variant = of.variants[0] if isinstance(of, ProtocolEntry) else of
    file, line = attribute_line(variant.properties.protocol, "")
    return _uri(file), max(line, 1)


def _uri(file: str) -> str:
    place = Path(file).resolve()
    return str(place.relative_to(Path.cwd())) if place.is_relative_to(Path.cwd()) else str(place)


def write_sarif(file: Path, found: Sequence[Remark]) -> None:
    """Write the remarks as one run of one tool, with the rule names of this project as SARIF rules."""
    rules = list(dict.fromkeys(one.rule for one in found))
    results = [
        {
            "ruleId": one.rule, "ruleIndex": rules.index(one.rule), "level": one.level, "message": {"text": one.says},
            "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": Path(one.file).as_posix()}, "region": {"startLine": one.line},
            }}],
        }
        for one in found
    ]  # fmt: skip
    tool: Mapping[str, Any] = {
        "name": "fencepost", "version": version("fencepost"), "rules": [{"id": rule} for rule in rules],
    }  # fmt: skip
    document = {"$schema": SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": tool}, "results": results}]}
    write_text(file, json.dumps(document, indent=1) + "\n")


def annotations(found: Iterable[Remark], environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the annotation lines that GitHub reads from a run's output. Outside GitHub Actions there are no
    annotations."""
    if environment.get("GITHUB_ACTIONS") != "true":
        return []
    return [
        f"::{one.level} file={_escaped(one.file, more=True)},line={one.line},title={_escaped(one.rule, more=True)}"
        f"::{_escaped(one.says)}"
        for one in found
    ]


def _escaped(text: str, *, more: bool = False) -> str:
    """Escape a text for a GitHub annotation. ``more`` also escapes the colons and commas that separate the fields of an
    annotation."""
    for char, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")) + (((":", "%3A"), (",", "%2C")) if more else ()):
        text = text.replace(char, code)
    return text
