"""This module writes cases as SARIF 2.1.0, which code hosts display next to the lines of a change, and as GitHub
annotations.

Both contain what has failed, and what is undecided, each at the line of its model, property or implementation."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fencepost.proofs
from fencepost.proofs.cases import Case
from fencepost.proofs.report import write_text

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"failed": ("error", "error"), "undecided": ("note", "notice")}
"""The level of an outcome in SARIF, and in GitHub's annotations. Other outcomes are in neither."""
INSTALLED = Path(fencepost.proofs.__path__[0]).resolve().parent
"""Files of an installed fencepost, which are not in the working directory, are named relative to this folder."""
BASE = "FENCEPOST"


def findings(cases: Iterable[Case]) -> list[Case]:
    """Return the cases that a reviewer has to see. Where several engines report the same, only the first is
    returned."""
    found: dict[tuple[str, ...], Case] = {}
    for case in cases:
        if case.outcome in LEVELS:
            found.setdefault((case.suite, case.name, case.outcome), case)
    return list(found.values())


def write_sarif(file: Path, cases: Iterable[Case]) -> None:
    """Write the findings as one run of one tool, with the rules of this project that they are about."""
    found = findings(cases)
    names = list(dict.fromkeys(case.rule for case in found))
    rules = [_rule(next(case for case in found if case.rule == name)) for name in names]
    results = [
        {
            "ruleId": one.rule, "ruleIndex": names.index(one.rule), "level": LEVELS[one.outcome][0],
            "message": {"text": _text(one)}, "locations": [_location(one)],
        }
        for one in found
    ]  # fmt: skip
    tool: Mapping[str, Any] = {"name": "fencepost", "version": version("fencepost"), "rules": rules}
    run = {
        "tool": {"driver": tool}, "originalUriBaseIds": {BASE: {"uri": f"{INSTALLED.as_uri()}/"}}, "results": results,
    }  # fmt: skip
    write_text(file, json.dumps({"$schema": SARIF, "version": "2.1.0", "runs": [run]}, indent=1) + "\n")


def _rule(of: Case) -> dict[str, Any]:
    text = {"text": of.description}
    rule: dict[str, Any] = {"id": of.rule, "shortDescription": text, "fullDescription": text, "help": text}
    return rule | ({"helpUri": of.link} if of.link else {})


def _text(case: Case) -> str:
    return f"{case.says}\n{case.details}".rstrip()


def _relative(file: str) -> tuple[str, str]:
    """Return a file as a relative path, and what it is relative to, which is empty for the working directory."""
    place = Path(file).resolve()
    for base, folder in (("", Path.cwd()), (BASE, INSTALLED)):
        if place.is_relative_to(folder):
            return place.relative_to(folder).as_posix(), base
    return Path(os.path.relpath(place)).as_posix(), ""


def _location(case: Case) -> dict[str, Any]:
    logical = {"logicalLocations": [{"fullyQualifiedName": f"{case.suite}.{case.name}"}]}
    if not case.file:
        return logical
    uri, base = _relative(case.file)
    artifact = {"uri": uri, **({"uriBaseId": base} if base else {})}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": case.line}}, **logical}


def annotations(cases: Iterable[Case], environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield the annotation lines that GitHub reads from a run's output. Outside GitHub Actions there are none. What is
    not stated in a file of the working directory has no line there."""
    if environment.get("GITHUB_ACTIONS") != "true":
        return
    for one in findings(cases):
        uri, base = _relative(one.file) if one.file else ("", BASE)
        place = "" if base or uri.startswith("..") else f"file={_escaped(uri, more=True)},line={one.line},"
        yield f"::{LEVELS[one.outcome][1]} {place}title={_escaped(one.rule, more=True)}::{_escaped(_text(one))}"


def _escaped(text: str, *, more: bool = False) -> str:
    """Escape a text for a GitHub annotation. ``more`` also escapes the colons and commas that separate the fields of an
    annotation."""
    for char, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")) + (((":", "%3A"), (",", "%2C")) if more else ()):
        text = text.replace(char, code)
    return text
