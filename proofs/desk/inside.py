"""This module is what the page's worker calls, in a Python without NumPy. Each function returns JSON.

Edited files are written over those of the package, and the protocols' modules are imported again. Verdicts, and their
words, are those of ``fencepost prove``. Runs are searched by the plain reading.
"""

import json
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib import import_module, invalidate_caches
from pathlib import Path
from traceback import extract_tb
from typing import Any

import fencepost
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.cli.prove import report_lines, whether_broken
from fencepost.proofs.cli.shared.output import bound_in_words
from fencepost.proofs.cli.shared.pages import attempted, story_of
from fencepost.proofs.engines.induction import number_of_obligations
from fencepost.proofs.engines.induction import prove as induction
from fencepost.proofs.engines.induction_counterexamples import Reached, Searched, reach
from fencepost.proofs.engines.obligation_cache import CachedSteps
from fencepost.proofs.engines.obligations import Obligation
from fencepost.proofs.engines.plain_search import PlainSearch, search
from fencepost.proofs.engines.run_engines import run_induction
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.readings.plain import PlainError
from fencepost.proofs.readings.solver.solving import RLIMIT
from fencepost.proofs.readings.words import name_in_words
from fencepost.properties.catalogue import ProtocolEntry, Variant, bounds_of, find
from fencepost.properties.nearest import quantity
from fencepost.properties.registry import PROTOCOLS
from rich.text import Text

ROOT = Path(fencepost.__file__).parent
NEED_NUMPY = ("source-offsets",)
"""The catalogues of these protocols import NumPy, so that they are not on the desk."""
OFTEN = 5
"""Progress of a proof is reported after so many obligations."""
Report = Callable[[str], None]
"""A `Report` takes progress as JSON."""
_written: dict[str, str] = {}
"""The edited files, as they were."""


def answer(wanted: str, report: Report) -> str:
    """Return what was asked for, or ``{"error": …}`` in one line. ``wanted`` has ``do`` (prove or show), ``name``,
    ``edits`` with texts by file, and for show the ``property``."""
    asked = json.loads(wanted)
    try:
        edit(asked["edits"])
        entry, variant = find(asked["name"])
        assert variant is not None, asked["name"]
        if asked["do"] == "prove":
            return json.dumps(_prove(entry, variant, report))
        return json.dumps(_show(entry, variant, asked["property"], report))
    except Exception as error:  # of edited text, which may raise anything
        return json.dumps(mistake(error, asked["edits"]))


def edit(edits: Mapping[str, str]) -> None:
    """Write edited files over those of the package, and the others back. Modules of protocols are then imported
    again."""
    new = {path: text for path, text in edits.items() if _text(path) != text}
    back = {path: text for path, text in _written.items() if path not in edits}
    if not new and not back:
        return
    sys.dont_write_bytecode = True  # which is looked up by a time in seconds, and edits may be quick
    for path in new:
        _written.setdefault(path, _text(path))
    for path, text in (new | back).items():
        _file(path).write_text(text, encoding="utf-8")
    for path in back:
        del _written[path]
    for name in [name for name in sys.modules if _is_of_protocol(name)]:
        del sys.modules[name]
    invalidate_caches()
    linecache.checkcache()


def _file(path: str) -> Path:
    file = (ROOT / path).resolve()
    if not file.is_relative_to((ROOT / path.partition("/")[0]).resolve()) or not file.is_file():
        raise InputError(f"there is no file {path!r} to edit")
    return file


def _text(path: str) -> str:
    return _file(path).read_text(encoding="utf-8")


def _is_of_protocol(module: str) -> bool:
    first, _, rest = module.removeprefix("fencepost.").partition(".")
    folder = rest.partition(".")[0]
    if first == "model":
        return folder not in ("", "language", "rules", "dangers", "sources")
    return first == "properties" and (ROOT / "properties" / folder / "__init__.py").is_file() and folder != "history"


def mistake(error: Exception, edits: Iterable[str]) -> dict[str, Any]:
    """Return one line on an error, with the file and the line of an edited text if it is of one."""
    text = " ".join(str(error).split()).replace(f"{ROOT}/", "") or type(error).__name__
    file, line = "", 0
    if isinstance(error, SyntaxError) and error.filename is not None:
        file, line, text = error.filename, error.lineno or 0, error.msg
    else:
        for frame in extract_tb(error.__traceback__):
            if any(frame.filename.endswith(f"/{path}") for path in edits):
                file, line = frame.filename, frame.lineno or 0
    path = next((path for path in edits if file.endswith(f"/{path}")), "")
    kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
    place = f"{path.rpartition('/')[2]}:{line}: " if path and f":{line}" not in text else ""
    return {"error": f"{place}{kind}{text}", "file": path, "line": line if path else 0}


def _prove(entry: ProtocolEntry, variant: Variant, report: Report) -> dict[str, Any]:
    of, done = number_of_obligations(variant.spec, variant.promised), 0

    def progress(_: Obligation) -> None:
        nonlocal done
        done += 1
        if done % OFTEN == 0:
            report(json.dumps({"words": f"{done} of {of} steps of the proof", "done": done, "of": of}))

    cache = CachedSteps.of(f"{entry.name}/{variant.name}", variant.spec, RLIMIT)
    proof = induction(variant.spec, variant.promised, rlimit=RLIMIT, progress=progress, cache=cache)
    if cache is not None:
        cache.write()
    results = run_induction(entry, variant, rlimit=RLIMIT, proof=proof)
    verdicts = {r.property: r.verdict for r in results}
    reached: list[tuple[Obligation, Reached | None]] = []
    if proof.failures:
        lines = list(_spans(report_lines(entry, variant, proof, results, reached)))
        report(json.dumps({"words": "looking for a run that breaks it", "decided": lines}))
        reached = _reached(variant, proof.failures, report)
    return {
        "lines": list(_spans(report_lines(entry, variant, proof, results, reached))),
        "verdicts": verdicts, "steps": done,
        "attempts": list(whether_broken(variant, proof, reached)),
        "stories": [asdict(story) for story in attempted(entry, variant, reached)],
        "broken": [r.property for r in results if r.verdict == "violated" and r.kind != "sometimes"],
    }  # fmt: skip


def _spans(lines: Iterable[str]) -> Iterator[list[list[str]]]:
    """Yield each line of the command as pieces of text with their colours."""
    for line in lines:
        yield [[piece.plain, str(piece.spans[0].style) if piece.spans else ""] for piece in _pieces(line)]


def _pieces(line: str) -> list[Text]:
    text = Text.from_markup(line)
    cuts = sorted({cut for span in text.spans for cut in (span.start, span.end)} - {0, len(text)})
    return list(text.divide(cuts))


def _reached(
    variant: Variant, failures: Iterable[Obligation], report: Report
) -> list[tuple[Obligation, Reached | None]]:  # fmt: skip
    def searched(spec: Any, properties: Any, within: Mapping[str, int]) -> Searched:
        return search(spec, properties, within, report=_searching(report))

    try:
        return list(reach(variant.spec, variant.promised, bounds_of(variant, "smoke"), failures, searched))
    except (KeyError, BoundsError, PlainError):  # as of the command, which then looks for no run
        return []


def _searching(report: Report) -> Callable[[int, int], None]:
    def searching(states: int, depth: int) -> None:
        report(json.dumps({"words": f"looking for a run: {states:,} states, {depth} steps deep"}))

    return searching


def _show(entry: ProtocolEntry, variant: Variant, name: str, report: Report) -> dict[str, Any]:
    asked, bounds = variant.asked[name], bounds_of(variant, "smoke")
    if asked.kind == "eventually":
        raise InputError(
            f"{name_in_words(name)} is about progress, which needs NumPy: {_command(entry, variant, name)}"
        )
    found = search(variant.spec, {name: asked}, bounds, report=_searching(report))
    stories = [asdict(story_of(entry, variant, variant.spec, asked, bounds, run)) for run in found.traces.values()]
    return {"says": _outcome(name, asked.kind == "sometimes", found), "stories": stories}


def _command(entry: ProtocolEntry, variant: Variant, name: str) -> str:
    return f'fencepost show {entry.name}/{variant.name} "{name_in_words(name)}"'


def _outcome(name: str, witness: bool, found: PlainSearch) -> str:
    searched = f"{quantity(found.distinct, 'state')} searched breadth first, within {bound_in_words(found.bounds)}"
    words = name_in_words(name)
    if found.traces:
        steps = quantity(len(next(iter(found.traces.values()))), "step")
        return f"{words}: {'reached' if witness else 'broken'} after {steps}, and not in fewer; {searched}"
    if not found.complete:
        first = f"the first {quantity(found.distinct, 'state')}, to {quantity(found.depth, 'step')}"
        return f"{words}: undecided. No run to it among {first}, within {bound_in_words(found.bounds)}"
    verdict = "not reached" if witness else "holds: no run breaks it"
    return f"{words}: {verdict}; all {searched}"


def ready() -> str:
    """Import what the first proof needs, and return the releases of what judges."""
    for protocol in NEED_NUMPY:  # others are looked up among all
        PROTOCOLS.pop(protocol, None)
    import_module("fencepost.properties.catalogue")
    z3 = import_module("z3")
    return json.dumps({"python": sys.version.split()[0], "z3": z3.get_version_string()})
