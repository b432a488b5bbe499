"""Reports for scripts: JSON with the stable fields, and JUnit XML as CI systems read it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.proofs.readings.words import leaning
from fencepost.proofs.results import Result
from fencepost.properties.catalogue import Profile
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

if TYPE_CHECKING:
    from fencepost.proofs.schemas import Verify

SCHEMA = 1
"""The version of what ``--json`` writes; `schemas` has the types."""


def write_json(file: Path, document: Any) -> None:
    """Writes a document; keys in the order given, so that equal runs give equal files, timings aside."""
    file.write_text(json.dumps(document, indent=1, default=str) + "\n", encoding="utf-8")


def verify_document(seed: int, profile: Profile, results: Iterable[Result], sources: Mapping[str, str]) -> "Verify":
    """What ``verify --json`` writes.  ``sources``: the files that were judged, with their hashes."""
    return {
        "schema": SCHEMA,
        "version": version("fencepost"),
        "seed": seed,
        "profile": profile,
        "sources": dict(sources),
        "results": [r.as_dict() for r in results],
    }


def write_junit(file: Path, results: Sequence[Result], problems: Sequence[str] = ()) -> None:
    """One test suite per variant, one case per property and engine: what is not as expected is a failure, or an error
    if it is unknown; what is unknown as expected is skipped, with the reason."""
    report = JUnitXml("fencepost verify")
    suites: dict[str, TestSuite] = {}
    for r in results:
        name = f"{r.protocol}/{r.variant}"
        suite = suites.setdefault(name, TestSuite(name))
        what = f" of {r.evidence['histories']}" if "histories" in r.evidence else ""
        case = TestCase(r.property, f"{name}.{r.engine}{what}", r.seconds)
        if not r.as_expected:
            message = f"{r.verdict}{leaning(r)}, and {r.expected} was expected"
            case.result = [(Error if r.verdict == "unknown" else Failure)(message)]
            case.system_out = "\n".join(r.evidence.get("words", ()))
        elif r.verdict == "unknown":
            case.result = [Skipped(r.evidence.get("reason", "unknown"))]
        suite.add_testcase(case)
    if problems:
        suite = suites.setdefault("engines", TestSuite("engines"))
        for problem in problems:
            case = TestCase(problem, "engines.agreement", 0)
            case.result = [Failure(problem)]
            suite.add_testcase(case)
    for suite in suites.values():
        report.add_testsuite(suite)
    report.write(str(file))
