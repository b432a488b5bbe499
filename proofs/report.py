"""This module writes reports for scripts: JSON with stable fields, and JUnit XML for CI systems."""

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fencepost.proofs.results import Result
from fencepost.properties.catalogue import Profile
from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

if TYPE_CHECKING:
    from fencepost.proofs.cases import Case
    from fencepost.proofs.schemas import VerdictRow, Verify

SCHEMA = 1
"""This is the version of the ``--json`` output; `schemas` has its types."""
INTERRUPTED = "interrupted: this is what was found up to there"


def write_json(file: Path, document: Any) -> None:
    """Write a document with its keys in the order given, so that equal runs write equal files except for timings. What
    was taken from the user's project is in its field ``configuration``, or, of a list, in each row's."""
    from fencepost.proofs.configuration import taken

    if taken and isinstance(document, dict):
        document = {**document, "configuration": taken}
    elif taken:
        document = [{**row, "configuration": taken} for row in document]
    write_text(file, json.dumps(document, indent=1, default=str) + "\n")


def cut_short(report: Any) -> Any:
    """Return a report of what was found until an interrupt, marked as interrupted. An object gets a field. A list of
    rows becomes the field ``found`` of an object, so that readers notice that rows are missing."""
    if isinstance(report, list):
        return {"schema": SCHEMA, "interrupted": True, "found": report}
    return {**report, "interrupted": True}


def write_text(file: Path, text: str) -> None:
    """Write a report completely or not at all, by renaming a temporary file next to it. Errors: OSError, with the name
    of the report, where there is no room for it."""
    if file.exists() and not file.is_file():  # a pipe, or a device, has nothing that could be stored
        with file.open("w", encoding="utf-8") as stream, _reported(file):
            stream.write(text)
            stream.flush()
        return
    place = file.resolve()  # the file that a link names, not the link, is replaced
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with _reported(file):
            draft.write_text(text, encoding="utf-8")
            if place.exists():
                draft.chmod(stat.S_IMODE(place.stat().st_mode))
            draft.replace(place)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def _reported(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = f"{error.strerror or error}; the report is not written, make room or name another file"
        raise OSError(error.errno, why, str(file)) from error


def verify_document(seed: int, profile: Profile, results: Iterable[Result], sources: Mapping[str, str]) -> "Verify":
    """Return what ``verify --json`` writes. ``sources`` maps the files that were judged to their hashes."""
    return {
        "schema": SCHEMA,
        "version": version("fencepost"),
        "seed": seed,
        "profile": profile,
        "sources": dict(sources),
        "results": [cast("VerdictRow", r.as_dict()) for r in results],
    }


def write_junit(
    file: Path, command: str, cases: Sequence["Case"], seconds: float, *, interrupted: bool = False
) -> None:
    """Write the cases of a command as JUnit, in their suites. What has failed is a failure, and what is undecided, or
    not asked, is skipped with the reason. The times of cases are `shares` of ``seconds``, the time of the command, and
    add up to it. An interrupted command has a failure `INTERRUPTED` at the end."""
    from fencepost.proofs.cases import shares

    report = JUnitXml(f"fencepost {command}")
    suites: dict[str, TestSuite] = {}
    for each, time in zip(cases, shares(cases, seconds), strict=True):
        suite = suites.setdefault(each.suite, TestSuite(each.suite))
        case = TestCase(_printable(each.name), _printable(each.by), round(time, 6))
        if each.outcome != "passed":
            case.result = [(Failure if each.outcome == "failed" else Skipped)(_printable(each.message or each.name))]
        if each.details:
            case.system_out = _printable(each.details)
        suite.add_testcase(case)
    if interrupted:
        suite = suites.setdefault("interrupt", TestSuite("interrupt"))
        case = TestCase(INTERRUPTED, "fencepost", 0)
        case.result = [Failure(INTERRUPTED)]
        suite.add_testcase(case)
    for suite in suites.values():
        report.add_testsuite(suite)
        suite.time = sum(case.time for case in suite)  # which it has rounded
    report.update_statistics()  # type: ignore[no-untyped-call]
    report.time = seconds
    text = report.tostring().decode()  # type: ignore[no-untyped-call]
    write_text(file, text if text.startswith("<?xml") else f'<?xml version="1.0" encoding="UTF-8"?>\n{text}')


def _printable(text: str) -> str:
    """Return a text without the control characters that XML cannot have."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in text)
