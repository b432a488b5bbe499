"""This module turns what a command has judged into cases, from which the reports for CI systems are made: JUnit
(`report`), SARIF and GitHub annotations (`sarif`)."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fencepost.model.language.properties import PropertyMethod
from fencepost.model.language.tracing.sources import attribute_line, line_of
from fencepost.model.rules import AREAS, LINKS, RULES
from fencepost.proofs.readings.words import leaning, name_in_words
from fencepost.proofs.results import WHOLE, Result
from fencepost.properties.catalogue import ProtocolEntry, Variant, protocols

NOWHERE = "", 1
"""The place of what is judged without a model."""
Outcome = Literal["passed", "failed", "undecided", "not asked"]
"""A command with a failed case ends with exit code 1. What is undecided, or not asked, does not change the code."""


@dataclass(frozen=True)
class Case:
    """A `Case` is one thing that a command has judged. ``suite`` groups cases, ``by`` names the engine or what was
    driven, ``message`` is one line (the reason, where nothing was decided) and ``details`` are further lines, such as a
    shortest run. ``work`` is in seconds, 0 for what this run has not computed. ``rule`` is a number of the ledger or
    another short name, and ``about`` describes it. ``file`` (empty if there is none) and ``line``, counted from 1, are
    where it is stated, or what was judged."""

    suite: str
    name: str
    by: str
    outcome: Outcome
    message: str = ""
    details: str = ""
    work: float = 0.0
    rule: str = ""
    about: str = ""
    file: str = ""
    line: int = 1

    @property
    def says(self) -> str:
        """Return the case in one sentence: ``id-blocks/kraft: no id twice is violated, and holds was expected``."""
        return f"{self.suite}: {self.name}{f' {self.message}' if self.message else ''}"

    @property
    def link(self) -> str:
        """Return the address of the document that states the rule, or an empty string if none is known."""
        return LINKS.get(self.rule.partition(".")[0], "")

    @property
    def description(self) -> str:
        known = RULES.get(self.rule)
        return self.about or self.name if known is None else f"{known.says} ({known.kind} of {AREAS[known.area]})"


def shares(cases: Sequence[Case], seconds: float) -> list[float]:
    """Return the seconds of a command divided among its cases in proportion to their work, which may have been done on
    several cores at once. Where nothing was computed, each case has the same share."""
    total = sum(case.work for case in cases)
    return [seconds * (case.work / total if total else 1 / len(cases)) for case in cases]


def cases_of(entries: Iterable[ProtocolEntry], results: Sequence[Result], problems: Iterable[str] = ()) -> list[Case]:
    """Return the cases of verdicts, in their order, followed by contradictions between engines."""
    known = {entry.name: entry for entry in entries}

    def called(name: str) -> ProtocolEntry:
        """Return an entry, which may be another protocol's, since that may judge a protocol's histories."""
        return known.get(name) or protocols()[name]

    searched = Counter((r.protocol, r.variant, r.engine) for r in results if r.engine in WHOLE and not r.is_claim)
    found = []
    for one in results:
        entry = called(one.protocol)
        variant = next((v for v in entry.variants if v.name == one.variant), next(iter(entry.variants), None))
        of = f" of {one.evidence['histories']}" if "histories" in one.evidence else ""
        suite = f"{one.protocol}/{one.variant}"
        rule = str(one.evidence.get("rule") or one.property)
        own = 0.0 if one.cached or one.is_claim else one.seconds
        work = own / searched.get((one.protocol, one.variant, one.engine), 1)
        details = "\n".join(one.evidence.get("words", ()))
        place = place_of(variant, one.property) if variant is not None else NOWHERE
        about = name_in_words(one.property)
        found.append(
            Case(suite, one.property, f"{suite}.{one.engine}{of}", *_outcome(one), details, work, rule, about, *place)
        )
    for problem in problems:  # its text begins with the protocol's name, see `contradictions`
        place = of_class(called(problem.partition("/")[0]).variants[0])
        by, about = "engines.agreement", "Engines that judge the same property must not contradict each other."
        found.append(Case("engines", problem, by, "failed", "", "", 0.0, "engines disagree", about, *place))
    return found


def _outcome(one: Result) -> tuple[Outcome, str]:
    why = f" ({one.evidence['reason']})" if "reason" in one.evidence else ""
    verdict = f"is {one.verdict}{leaning(one)}"
    if not one.as_expected:
        return "failed", f"{verdict}, and {one.expected} was expected{why}"
    if one.verdict == "unknown":
        return "not asked" if "not_promised" in one.evidence else "undecided", f"{verdict}{why}"
    return "passed", f"{verdict}, as expected"


def place_of(variant: Variant, prop: str) -> tuple[str, int]:
    """Return the file and line where a variant's property is stated, or its protocol if it is no property of these."""
    for cls in variant.properties.__mro__:
        method = vars(cls).get(prop)
        if isinstance(method, PropertyMethod) and inspect.isfunction(method.body):
            return line_of(method.body)
    return of_class(variant)


def of_class(variant: Variant) -> tuple[str, int]:
    file, line = attribute_line(variant.properties.protocol, "")
    return file, max(line, 1)


def of_factory(factory: Callable[..., Any] | None) -> tuple[str, int] | None:
    """Return the file and line of an implementation's factory, or None for one that is not a class or function."""
    try:
        made: Any = inspect.unwrap(factory) if factory is not None else None
        return str(inspect.getsourcefile(made)), max(inspect.getsourcelines(made)[1], 1)
    except (OSError, TypeError, ValueError):
        return None
