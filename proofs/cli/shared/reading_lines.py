"""This module prints what `prove --readings` found: a row for each action, with a column for each reading."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from fencepost.proofs.cli.shared.output import wrapped
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.results import Result
from fencepost.properties.nearest import quantity

READINGS = ("packed words", "columns", "plain Python")
WIDTHS = (34, 27, 27, 27)
WORDS = {"holds": "proved equal", "violated": "differs", "unknown": "not decided"}


def reading_lines(
    title: str, results: Sequence[Result], bound: Mapping[str, int], left: Mapping[str, str]
) -> Iterator[str]:
    """Yield the lines on one variant, asked within a bound. ``left`` has what is not covered, with the reason."""
    by_action: dict[str, dict[str, Result]] = {}
    properties = [r for r in results if r.evidence["of"] == "property"]
    for r in results:
        if r not in properties:
            reading = r.evidence["reading"]
            of = r.property.removesuffix(f"_in_{reading.lower().replace(' ', '_')}")
            by_action.setdefault(of, {})[reading] = r
    yield f"{title}, compared with its Z3 terms"
    yield _row("action", READINGS)
    for name, found in by_action.items():
        yield _row(name_in_words(name), [_cell(found.get(reading)) for reading in READINGS])
    for words, alike in groupby(sorted(properties, key=_words), _words):
        yield _row(quantity(len(list(alike)), "property"), [words])
    for r in results:
        if r.verdict != "holds":
            yield from wrapped(f"{name_in_words(r.property)}: {WORDS[r.verdict]}{_where(r)}", "    ", "        ")
    yield from wrapped(_within(results, bound), "    ", "    ")
    if asked := [r.evidence["second"] for r in results if "second" in r.evidence]:
        yield from wrapped(_second(asked), "    ", "    ")
    yield from left_out(left, "    ")


def left_out(left: Mapping[str, str], indent: str = "") -> Iterator[str]:
    for what, why in left.items():
        yield from wrapped(f"not covered: {what}: {why}", indent, f"{indent}    ")


def _row(name: str, cells: Sequence[str]) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip((f"    {name}", *cells), WIDTHS, strict=False))
    return "".join(padded).rstrip()


def _cell(r: Result | None) -> str:
    if r is None:
        return "not covered"
    if r.evidence["reading"] == "plain Python":
        steps = quantity(r.evidence["steps"], "step")
        return f"equal, {steps}" if r.verdict == "holds" else WORDS[r.verdict]
    return _words(r) + ("" if r.evidence["possible"] else ", never taken")


def _words(r: Result) -> str:
    """Return the verdict, with what a second solver came to if it was asked."""
    second = r.evidence.get("second")
    if second is None or r.verdict != "holds":
        return WORDS[r.verdict]
    if not second["rest"]:
        return "certified equal"
    agreed = all(one["standing"] in ("agreed", "refused") for one in second["rest"])
    return f"{WORDS[r.verdict]}, cvc5 agrees" if agreed else WORDS[r.verdict]


def _where(r: Result) -> str:
    event = f" {r.evidence['event']}" if "event" in r.evidence else ""
    state = r.evidence.get("state", {})
    held = ", ".join(f"{name} {value}" for name, value in state.items() if value)
    return f":{event} in a state with {held or 'zeros alone'}" if state else ""


def _second(asked: Sequence[Mapping[str, Any]]) -> str:
    """Return in a sentence how many questions are certified, and why some are not."""
    parts, rest = sum(each["parts"] for each in asked), [one for each in asked for one in each["rest"]]
    why = Counter(f"{one['standing']} ({one['why']})" for one in rest)
    not_so = "".join(f"; {number:,} {words}" for words, number in why.most_common(3))
    certified = f"Of {quantity(parts, 'question')}, {parts - len(rest):,} are certified"
    how = f"{asked[0]['solver']} proves what is certified, and Ethos finds the proof correct"
    return f"{certified}: {how}{not_so}."


def _within(results: Sequence[Result], bound: Mapping[str, int]) -> str:
    proved = [r for r in results if r.evidence["reading"] != "plain Python"]
    faults = sorted({name for r in proved for name, size in (r.bound or {}).items() if size != bound.get(name)})
    further = f"; of {', '.join(faults)}, one where an action needs it" if faults else ""
    plain = next(r for r in results if r.evidence["reading"] == "plain Python").evidence
    which = quantity(plain["states"], "state")
    drawn = f"{which}, drawn evenly from the {plain['drawn_from']:,} nearest to the start that are reachable there"
    run_in = f"all {which} that are reachable there" if plain["complete"] else drawn
    within = ", ".join(f"{name} {size}" for name, size in bound.items())
    also = ", with one of each fault" if faults else ""
    return f"Proved in all states, reachable or not, within {within}{further}. Plain Python is run in {run_in}{also}."
