"""This module writes programs as Python: failing ones as text to paste and run, runs of the model as calls, and the
runs that prove rules necessary as programs for any implementation."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any

from fencepost.proofs.necessity.saved_runs import EVENT, read_runs
from fencepost.proofs.results import Event
from fencepost.proofs.testing.failures import Evidence
from fencepost.properties.conformance_spec import Agreeing, FalseConjunct, driven
from fencepost.properties.driving import Made, Program, columns_of, read
from fencepost.properties.registry import PROTOCOLS

# A failing program as Python that can be pasted and run, without the model: it ends with the assertion that fails.


def paste(
    factory: str,
    config: Mapping[str, Any],
    made: Sequence[Made],
    evidence: Evidence,
    conjuncts: Sequence[FalseConjunct],
    ending: "Ending | None" = None,
    passed_over: Collection[int] = (),
    without: Collection[str] = (),
) -> str:
    """Return the text of the program. ``factory`` is ``module:name``, or empty if the caller must define ``factory``.
    ``ending`` replaces the assertion from the evidence. ``passed_over`` has the indices of calls that need not be
    possible, because what they name may not be pending. Columns in ``without`` are not compared."""
    lines = ["from contextlib import suppress"] if passed_over else []
    if factory:
        module, name = factory.split(":")
        lines.append(f"from {module} import {name} as factory")
    for helper in dict.fromkeys(m.needs for m in made if m.needs):
        lines.append("from {} import {}".format(*helper.split(":")))
    lines.append(f"system = factory({dict(config)!r})")
    start = len(lines)
    lines += [_may_fail(m.text) if at in passed_over else m.text for at, m in enumerate(made[:-1])]
    if made[-1].error is not None:
        return "\n".join([*lines, f"{made[-1].text}  # raises {made[-1].error!r}", ""])
    if ending is not None:
        lines.insert(start if ending.from_the_start else len(lines), "system.drain_events()")
        last = ending.lines(made[-1], because(evidence, conjuncts))
        return "\n".join([*lines, *_possible(last, len(made) - 1 in passed_over), ""])
    before = made[:-1] if evidence.event is not None else ()
    earlier = next((m for m in before if any(e is evidence.other for e in m.events)), None)
    lines.append("earlier = list(system.drain_events())" if earlier else "system.drain_events()")
    last = last_call(made[-1], evidence, because(evidence, conjuncts), earlier, without)
    lines += _possible(last, len(made) - 1 in passed_over)
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class Ending:
    """An `Ending` is a program's assertion over ``result``, and over ``events``, which are those of the last call or
    ``from_the_start`` of all calls. ``variables`` are lines that define further names in ``condition``."""

    condition: str
    variables: tuple[str, ...] = ()
    from_the_start: bool = False

    def lines(self, made: Made, reason: str) -> list[str]:
        events = "events = list(system.drain_events())"
        return [f"result = {made.text}", events, *self.variables, f"assert {self.condition}, {reason!r}"]


def _may_fail(call: str) -> str:
    return f"with suppress(KeyError): {call}"


def _possible(last: list[str], passed_over: bool) -> list[str]:
    return ["result = None", _may_fail(last[0]), *last[1:]] if passed_over else last


def because(evidence: Evidence, conjuncts: Sequence[FalseConjunct]) -> str:
    return "; ".join(map(str, conjuncts)) or f"the model has {' or '.join(evidence.expected)} here"


def last_call(
    made: Made, evidence: Evidence, reason: str, earlier: Made | None = None, without: Collection[str] = ()
) -> list[str]:  # fmt: skip
    """Return the call that reveals the disagreement, and the assertion. ``earlier`` is the call of the other event, if
    it is another call."""
    call, _, remark = made.text.partition("  # ")
    if evidence.event is None and evidence.check:
        return [f"result = {call}", f"assert {evidence.check}, {reason!r}"]
    if evidence.event is None and evidence.unseen:
        plain = tuple(made.result) if isinstance(made.result, tuple) else made.result  # a named one has to be imported
        return [f"result = {call}", f"assert result != {plain!r}, {reason!r}"]
    if evidence.event is None:
        return _something_missing(call, evidence, reason)
    if not any(e is evidence.event for e in made.events):  # known from the result of the call only
        return [f"result = {call}", f"assert tuple(result) != {tuple(made.result)!r}, {reason!r}"]
    names, values = compared(made, evidence.event, without)
    before = sum(compared(made, e, without) == (names, values) for e in _until(made.events, evidence.event))
    lines = [f"{call}{'  # ' + remark if remark else ''}", "events = list(system.drain_events())"]
    lines.append(seen_line("seen", evidence.event, names))
    if before:  # one more occurrence is wrong
        return [*lines, f"assert seen.count({values!r}) <= {before}, {reason!r}"]
    if not (earlier or any(e is evidence.other for e in _until(made.events, evidence.event))):
        return [*lines, f"assert {values!r} not in seen, {reason!r}"]
    # Each of the two would be right without the other.
    other_names, other = compared(earlier or made, evidence.other, without)
    lines.append(seen_line("others", evidence.other, other_names, "earlier" if earlier else "events"))
    return [*lines, f"assert {values!r} not in seen or {other!r} not in others, {reason!r}"]


def compared(made: Made, event: Any, without: Collection[str] = ()) -> tuple[list[str], tuple[Any, ...]]:
    """Return the columns by which a program identifies an event, and their values."""
    applying = columns_of(event, made.call.columns)
    names = [name for name in ("kind", *applying, *_left_empty(made, event, applying)) if name not in without]
    return names, tuple(read(event, name) for name in names)


def seen_line(variable: str, event: Any, names: Sequence[str], events: str = "events") -> str:
    """Return a line of Python that reads these columns of all events."""
    columns = ", ".join(f"e.get({n!r})" if isinstance(event, Mapping) else f"e.{n}" for n in names)
    return f"{variable} = [({columns}) for e in {events}]"


def _until(events: Sequence[Any], event: Any) -> Iterator[Any]:
    return takewhile(lambda each: each is not event, events)


def _left_empty(made: Made, event: Any, applying: Collection[str]) -> list[str]:
    """Return columns that do not apply to this event but to others of its kind, because their absence may be the
    mistake."""
    there = {*made.call.always_compared, *made.call.filled.get(read(event, "kind"), ())} - set(applying)
    return [n for n in made.call.columns if n in there and (isinstance(event, Mapping) or hasattr(event, n))]


def _something_missing(call: str, evidence: Evidence, reason: str) -> list[str]:
    kind = "e['kind']" if any(isinstance(e, Mapping) for e in evidence.made.events) else "e.kind"
    return [
        call,
        f"kinds = {{{kind} for e in system.drain_events()}}",
        f"assert kinds & {set_text(evidence.expected)}, {reason!r}",
    ]


def set_text(names: Sequence[str]) -> str:
    return f"{{{', '.join(map(repr, names))}}}"


# Prefixes: a run of the model, as an engine found it, turned into calls that lead an implementation to about the same
# place.
#
# A search of the model knows states that random calls seldom reach: two copies answered while a third request is under
# way, the last block granted and lost. Examples may start there, and go on at random.


def calls_from(events: Iterable[Event], protocol: str) -> list[Any]:
    """Return the calls for the steps of a run, in order; a step that no driver causes has none."""
    call_of = driven(protocol).call_of
    calls = [call_of(event.action, event.parameters) for event in events] if call_of else []
    return [call for call in calls if call is not None]


# Regressions: the runs of the model by which rules were found necessary, as programs for any implementation.
#
# Each saved run breaks a property of a model in which one rule is got wrong. Led along it, an implementation that gets
# the same rule wrong reaches the point where that has an effect; a correct one does not. A run is turned into calls
# step by step. A run that has a step without a call is left out, and counted by that step.

Steps = list[tuple[str, dict[str, Any]]]


@dataclass
class Regressions:
    """A `Regressions` counts stored runs in ``runs``, and in ``turned`` those that became ``programs``, some of which
    are equal. ``left`` counts, for each step without a call, the runs that were left out because of it."""

    runs: int = 0
    turned: int = 0
    programs: list[Program] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        why = ", ".join(f"{step} ({count} times)" for step, count in self.left.most_common())
        text = f"{self.turned} of {self.runs} kept runs are turned into {len(self.programs)} different programs"
        return text + (f"; there is no call for {why}" if why else "")

    @property
    def as_dict(self) -> dict[str, Any]:
        return {"runs": self.runs, "turned": self.turned, "programs": len(self.programs), "left": dict(self.left)}


def regressions(agreeing: Agreeing) -> Regressions:
    """Return all saved runs of a protocol as programs, the shortest first."""
    found, programs = Regressions(), dict[str, Program]()
    folder_of_runs = files(PROTOCOLS[agreeing.protocol]) / "kept"
    for file in sorted(Path(str(folder_of_runs)).glob("killers-*.json")):
        for run in read_runs(file):
            found.runs += 1
            config, calls, lacking = agreeing.turned([_step(text) for text in run.steps])
            if lacking or not calls:
                found.left[lacking or "any step of it"] += 1
                continue
            found.turned += 1
            program = Program({**agreeing.small, **config}, tuple(calls))
            programs[repr(program)] = program
    found.programs = sorted(programs.values(), key=lambda program: (len(program.calls), repr(program)))
    return found


def _step(text: str) -> tuple[str, dict[str, Any]]:
    matched = EVENT.fullmatch(text)
    if matched is None:
        raise ValueError(f"{text!r} is no step of a run")
    return matched[1], {name: ast.literal_eval(value) for name, value in re.findall(r"(\w+)=([^,]+)", matched[2])}
