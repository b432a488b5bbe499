"""This module defines what engines return: traces of states, and verdicts that scripts can rely on."""

import builtins
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from fencepost.model.rules import RULES
from fencepost.proofs.scope.cells import Scope

Verdict = Literal["holds", "violated", "unknown", "not proved", "vacuous"]
"""The verdict is ``not proved`` if the proof leans on a property that is not inductive itself, and ``vacuous`` if the
property holds but no mistake within the bounds would have broken it."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on several results taken together."""
    found = set(verdicts)
    order: tuple[Verdict, ...] = ("violated", "not proved", "unknown", "vacuous")
    return next((verdict for verdict in order if verdict in found), "holds")


WHOLE = ("explore", "progress")
"""Verdicts of these engines on a variant come from one search, and each carries the time of that whole search."""


State = dict[str, Any]
"""A `State` maps variable names to values. Numbers and members of sorts and enumerations are int, Bool is bool, an
Option is None or the value, a map is a dict from key tuples to values without its zero entries, and a sequence is a
tuple."""


@dataclass(frozen=True)
class Event:
    """An `Event` is one step of a trace: the action and its parameters by name."""

    action: str
    parameters: dict[str, int]

    def __str__(self) -> str:
        return f"{self.action}({', '.join(f'{k}={v}' for k, v in self.parameters.items())})"


@dataclass(frozen=True)
class Trace:
    """A `Trace` is a run: ``states[0]`` is initial, and ``events[i]`` leads from ``states[i]`` to ``states[i + 1]``.
    ``loop`` is the index of the state to which the last event returns, for an endless behaviour."""

    states: tuple[State, ...]
    events: tuple[Event, ...]
    loop: int | None = None

    def __len__(self) -> int:
        return len(self.events)


@dataclass(frozen=True)
class Result:
    """A `Result` is one verdict of one engine. ``bound`` is None where no bound was needed. ``evidence`` is
    engine-specific and goes to reports. ``scope`` names the dangers that the engine met (if it searches states, within
    bounds in which the property can be broken), ``out`` all others, and ``excused`` those met only under a condition,
    with that condition. ``within`` has the same with counts and reasons, and is not written into reports (see
    `fencepost.proofs.scope.scopes`). ``cached`` is the time at which an earlier run computed the verdict."""

    protocol: str
    variant: str
    property: str
    kind: str
    engine: str
    verdict: Verdict
    expected: Verdict
    bound: dict[str, int] | None
    seconds: float
    evidence: dict[str, Any] = field(default_factory=dict)
    scope: tuple[str, ...] = ()
    out: tuple[str, ...] = ()
    excused: dict[str, str] = field(default_factory=dict)
    within: Scope | None = field(default=None, compare=False, repr=False)
    cached: str | None = None

    @builtins.property  # the field of that name hides it from the type checker
    def as_expected(self) -> bool:
        return self.verdict == self.expected

    @builtins.property
    def is_claim(self) -> bool:
        """Return whether this is a claim of the documents, which rests on other verdicts and is named after a rule."""
        return self.property.partition(" ")[0] in RULES

    def as_dict(self) -> dict[str, Any]:
        leans_on = self.evidence.get("leans_on")
        row: dict[str, Any] = {
            name: value for name, value in asdict(replace(self, within=None)).items() if name != "within"
        }
        return row if leans_on is None else row | {"leans_on": leans_on}
