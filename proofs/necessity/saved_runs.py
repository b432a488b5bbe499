"""This module stores runs that break a property once rules are got wrong, as files that are replayed in milliseconds.

A run names the mutations of a protocol, the property that it breaks, and its steps. `replay` takes it again, step by
step, by the plain reading. Each step has to be enabled and to stay within the bounds, and the run has to end where the
property is broken, or, for progress, in a fair cycle without what was promised. `DoesNotFit` names the step that is no
longer possible, and why.
"""

import ast
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.derived.mutations import Mutation, mutated
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.types import BoolType, evaluate_bound
from fencepost.proofs.readings.ground.layout import Bounds, highest, plain
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.readings.words import say
from fencepost.proofs.results import Event, State, Trace
from fencepost.properties.nearest import quantity

EVENT = re.compile(r"([\w.]+)\((.*)\)")


class DoesNotFit(Exception):
    """This error names the step that a stored run cannot take, or the property that it does not break."""


@dataclass(frozen=True)
class KeptRun:
    """A `KeptRun` is a stored run. ``without`` has the mutations, each by rule and name, and ``feature`` names the
    variant's bounds (see `catalogue.features_of`, or ``progress N`` for the Nth bounds of progress). ``steps`` has
    events as they are printed. ``loop`` is, for progress, the number of steps before the part that repeats for ever."""

    property: str
    without: tuple[tuple[str, str], ...]
    feature: str
    steps: tuple[str, ...]
    loop: int | None = None

    def __str__(self) -> str:
        names = " and ".join(f"{rule} {name!r}" for rule, name in self.without)
        return f"{names} in {quantity(len(self.steps), 'step')}"

    def as_dict(self) -> dict[str, Any]:
        made = {"property": self.property, "without": self.without, "feature": self.feature, "steps": self.steps}
        return made if self.loop is None else {**made, "loop": self.loop}


def keep(name: str, without: Iterable[tuple[str, str]], feature: str, trace: Trace) -> KeptRun:
    return KeptRun(name, tuple(without), feature, tuple(map(str, trace.events)), trace.loop)


def read_runs(file: Path) -> list[KeptRun]:
    """Return the runs stored in a file, or none if there is no file."""
    if not file.exists():
        return []
    return [
        KeptRun(
            run["property"], tuple((rule, name) for rule, name in run["without"]), run["feature"], tuple(run["steps"]),
            run.get("loop"),
        )
        for run in json.loads(file.read_text(encoding="utf-8"))
    ]  # fmt: skip


def differ(file: Path, runs: Iterable[KeptRun]) -> bool:
    return {*read_runs(file)} != {*runs}


def write_runs(file: Path, runs: Iterable[KeptRun]) -> None:
    """Write a file of runs, one for each line, in an order that does not depend on how they were found. Nothing is
    written where the file has them already, and without any runs the file is removed."""
    runs = tuple(runs)
    if not differ(file, runs):
        return
    lines = sorted(json.dumps(run.as_dict()) for run in runs)
    if not lines:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(exist_ok=True)
    unfinished = file.with_suffix(".new")  # other processes may be reading the file
    unfinished.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    unfinished.replace(file)


def replay(
    run: KeptRun, raw: Spec, item: Property, bounds: Bounds, *, reading: Sequence[tuple[str, str]] = (),
    known: list[Mutation] | None = None,
) -> Trace:  # fmt: skip
    """Return the run's states. Errors: DoesNotFit if it is not a run, within these bounds, of ``raw`` with its
    mutations, or does not break ``item``. ``reading`` has what was got wrong already, and ``known`` the mutations of
    ``raw``, if they are listed already."""
    try:
        spec = mutated(raw, (*reading, *run.without), known)
    except ModelError as error:
        raise DoesNotFit(str(error)) from None
    return replay_of(run, spec, item, bounds)


def replay_of(run: KeptRun, spec: Spec, item: Property, bounds: Bounds) -> Trace:
    """Replay the run in a protocol that has been mutated already."""
    trace = _Replay(spec, bounds, run).trace()
    if item.kind == "eventually":
        _check_waits(spec, bounds, item, trace)
    elif not _is_broken(Plain(replace(spec, actions={}), _constants(spec, bounds), bounds), item, trace):
        raise DoesNotFit(f"{item.name} holds after the last step")
    return trace


def _constants(spec: Spec, bounds: Bounds) -> dict[str, int]:
    values = {name: evaluate_bound(name, bounds) for name in spec.constants}
    return {n: bool(v) if isinstance(spec.constants[n], BoolType) else v for n, v in values.items()}


def _is_broken(reading: Plain, item: Property, trace: Trace) -> bool:
    if item.kind == "step":
        return len(trace) > 0 and not reading.holds(item, trace.states[-2], trace.states[-1])
    return not reading.holds(item, trace.states[-1])


class _Replay:
    def __init__(self, spec: Spec, bounds: Bounds, run: KeptRun) -> None:
        self.spec, self.bounds, self.run = spec, bounds, run
        self.events = [self._event(number, text) for number, text in enumerate(run.steps, 1)]
        # Only actions of the run are compiled.
        used = {event.action for event in self.events}
        few = replace(spec, actions={n: a for n, a in spec.actions.items() if n in used})
        self.reading = Plain(few, _constants(spec, bounds), bounds)

    def trace(self) -> Trace:
        states = [self.reading.initial()]
        spent: dict[str, int] = {}
        for number, event in enumerate(self.events, 1):
            action = self.spec.actions[event.action]
            if action.budget is not None:
                spent[action.budget] = spent.get(action.budget, 0) + 1
                if spent[action.budget] > evaluate_bound(action.budget, self.bounds):
                    raise self._misfit(number, event, f"there is no {action.budget} left")
            if not self.reading.enabled(states[-1], event):
                raise self._misfit(number, event, f"it is not enabled: {self._why_not(action, states[-1], event)}")
            after = self.reading.step(states[-1], event)
            if after is None:
                raise self._misfit(number, event, "it leads beyond the bounds")
            states.append(after)
        loop = self.run.loop
        if loop is not None and (loop > len(self.events) or states[loop] != states[-1]):
            raise DoesNotFit(f"the run does not come back to where it was after step {loop}")
        return Trace(tuple(states), tuple(self.events), loop)

    def _event(self, number: int, text: str) -> Event:
        matched = EVENT.fullmatch(text)
        if matched is None or matched[1] not in self.spec.actions:
            raise DoesNotFit(f"step {number}, {text}: there is no such action")
        named = re.findall(r"(\w+)=([^,]+)", matched[2])
        event = Event(matched[1], {name: ast.literal_eval(value) for name, value in named})
        kinds = dict(self.spec.actions[event.action].parameters)
        if list(event.parameters) != list(kinds):
            raise self._misfit(number, event, f"its parameters are {', '.join(kinds) or 'none'}")
        for name, kind in kinds.items():
            most = highest(kind, self.bounds, name)
            if event.parameters[name] not in [plain(value, kind) for value in range(most + 1)]:
                raise self._misfit(number, event, f"{name} is beyond the bounds")
        return event

    def _why_not(self, action: Action, state: State, event: Event) -> str:
        conditions = [(g.condition, g.rule) for g in action.guards] + [(t, None) for t in action.limits]
        for condition, rule in conditions:
            if not self.reading.evaluate(condition, state, None, **event.parameters):
                return f"{say(condition)} is false" + (f" [{rule}]" if rule else "")
        raise AssertionError("the reading refuses a step of which every guard holds")

    @staticmethod
    def _misfit(number: int, event: Event, why: str) -> DoesNotFit:
        return DoesNotFit(f"step {number}, {event}: {why}")


def _check_waits(spec: Spec, bounds: Bounds, item: Property, trace: Trace) -> None:
    """Raise DoesNotFit unless the run waits for ever, although all fairness obligations are met."""
    if trace.loop is None:
        raise DoesNotFit("a run that breaks a progress property goes on for ever, and this one ends")
    reading = Plain(replace(spec, actions={}), _constants(spec, bounds), bounds)
    if not any(_waits(reading, item, trace, chosen) for chosen in _choices(item, bounds)):
        raise DoesNotFit(f"what {item.name} promises comes, or nothing promises it")
    if ceased := [str(event) for event in trace.events[trace.loop :] if event.action in item.ceasing]:
        raise DoesNotFit(f"{ceased[0]} goes on for ever, and {item.name} is about what comes once it stops")
    if unfair := next(_unpaid(spec, item, reading, bounds, trace), None):
        raise DoesNotFit(f"it is not fair: {unfair}")


def _choices(item: Property, bounds: Bounds) -> Iterator[dict[str, Any]]:
    domains = [[plain(v, k) for v in range(highest(k, bounds, item.name) + 1)] for _, k in item.parameters]
    names = [name for name, _ in item.parameters]
    return (dict(zip(names, values, strict=True)) for values in itertools.product(*domains))


def _waits(reading: Plain, item: Property, trace: Trace, chosen: Mapping[str, Any]) -> bool:
    first, then = ([reading.evaluate(t, state, None, **chosen) for state in trace.states] for t in item.terms)
    assert trace.loop is not None
    # A wait that begins within the loop lasts through all of it.
    return any(now and not any(then[min(at, trace.loop) :]) for at, now in enumerate(first))


def _unpaid(spec: Spec, item: Property, reading: Plain, bounds: Bounds, trace: Trace) -> Iterator[str]:
    """Yield instances of fair actions that are owed in the repeated part, and not taken there. What only a bound stops
    is owed, so that the end of the bounds is no livelock. Actions that cease by themselves are not owed."""
    assert trace.loop is not None
    round_, taken = trace.states[trace.loop :], set(map(str, trace.events[trace.loop :]))
    fair = {name: action for name, action in spec.actions.items() if action.fair and name not in item.ceasing}
    steps = Plain(replace(spec, actions=fair), reading.constants, bounds)
    for action in fair.values():
        for event in steps.events(action.name):
            if str(event) in taken:
                continue
            guards = [g.condition for g in action.guards]
            allowed = [all(reading.evaluate(g, s, None, **event.parameters) for g in guards) for s in round_]
            idle = len(round_) == 1 and allowed[0] and _stays(steps, action, round_[0], event)
            if not idle and (all(allowed) or (action.fair == "strong" and any(allowed))):
                yield f"{event} stays enabled and is never taken"


def _stays(reading: Plain, action: Action, state: State, event: Event) -> bool:
    return reading.enabled(state, event) and reading.step(state, event) == state
