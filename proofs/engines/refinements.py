"""This module explains why a step breaks a refinement, by what it does to the core's variables, and what the core would
do instead."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import MapType, SeqType, bound_of
from fencepost.proofs.readings.plain import Plain, zero_value
from fencepost.proofs.readings.words import say, say_value
from fencepost.proofs.results import Event, State, Trace


def explain(item: Refinement, spec: Spec, bounds: Mapping[str, int], trace: Trace) -> Iterator[str]:
    """Explain the last step of a trace that breaks a refinement (or its initial state). The lines describe what the
    step does to the core's variables, and the nearest action of the core, with what it lacks."""
    views = [_Explained(item, spec, bounds, seen) for seen in _views(item, spec, bounds)]
    if not trace.events:
        yield from next((t for t in views if any(t.wrong_start(trace.states[0]))), views[0]).start(trace.states[0])
        return
    hints = item.hints.get(trace.events[-1].action, (trace.events[-1].action,))
    *_, old, new = trace.states
    view = next((t for t in views if not t.explains(old, new, hints)), views[0])
    before, after = view.mapped(old), view.mapped(new)
    name = item.core.name
    yield f"{trace.events[-1]} is no step of {name}{view.of_what}, of which it changes"
    yield from (f"       {line}" for line in view.changes(before, after))
    found = view.nearest(before, after, hints)
    if found is None:
        yield f"{name} has no actions"
        return
    event, guards, wrong = found
    yield f"the nearest of its steps is {event}, but"
    yield from (f"       it needs {guard}" for guard in guards)
    yield from (f"       {line}" for line in wrong)


def _views(item: Refinement, spec: Spec, bounds: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    full = Plain(spec, {n: bound_of(bounds, n) for n in spec.constants}, bounds)
    for values in itertools.product(*(full.domain(kind) for _, kind in item.each)):
        yield dict(zip((name for name, _ in item.each), values, strict=True))


class MappedState:
    """A `MappedState` maps states of the larger protocol to the core's. ``seen`` has the view's parameters."""

    def __init__(self, item: Refinement, full: Plain, seen: Mapping[str, Any] | None = None) -> None:
        self.item, self.full, self.seen = item, full, seen or {}

    def of(self, state: State) -> State:
        return {name: self._variable(name, state) for name in self.item.mapping}

    def _variable(self, name: str, state: State) -> object:
        kind, mapped = self.item.core.types[name], self.item.mapping[name]
        if not isinstance(kind, MapType):
            return self.full.evaluate(mapped.value, state, None, **self.seen)
        names, entries = [n for n, _ in mapped.bound], {}
        for key in itertools.product(*map(self.full.domain, kind.keys)):
            value = self.full.evaluate(mapped.value, state, None, **self.seen, **dict(zip(names, key, strict=True)))
            if value != zero_value(kind.value):
                entries[key] = value
        return entries


class _Explained:
    def __init__(self, item: Refinement, spec: Spec, bounds: Mapping[str, int], seen: Mapping[str, Any]) -> None:
        self.item = item
        text = ", ".join(f"{n} = {say_value(seen[n], kind)}" for n, kind in item.each)
        self.of_what = f" for {text}" if text else ""
        self.full = Plain(spec, {n: bound_of(bounds, n) for n in spec.constants}, bounds)
        self.core = Plain(item.core, {n: bound_of(bounds, n) for n in item.core.constants}, bounds)
        self.mapped = MappedState(item, self.full, seen).of

    def start(self, state: State) -> Iterator[str]:
        yield f"the initial state is none of {self.item.core.name}{self.of_what}"
        lines = list(self.wrong_start(state))
        yield from (f"       {line}" for line in lines or ["the constants do not satisfy its axioms"])

    def wrong_start(self, state: State) -> Iterator[str]:
        return self.wrong(self.core.initial(), self.mapped(state), "it starts as")

    def explains(self, before: State, after: State, hints: tuple[str, ...]) -> bool:
        """Return whether the step is one of the core's, in this view, or leaves the core unchanged."""
        old, new = self.mapped(before), self.mapped(after)
        if self._entries(old) == self._entries(new):
            return True
        found = self.nearest(old, new, hints)
        return found is not None and not found[1] and not found[2]

    def nearest(self, before: State, after: State, hints: tuple[str, ...]) -> tuple[Event, list[str], list[str]] | None:
        """Return the event of the core with the fewest false guards and wrong variables, preferring hinted actions."""
        best: tuple[tuple[int, bool], tuple[Event, list[str], list[str]]] | None = None
        for action in self.item.core.actions.values():
            for event in self.core.events(action.name):
                chosen, made = event.parameters, self.core.step(before, event)
                conditions = (g.condition for g in action.guards)
                guards = [say(c) for c in conditions if not self.core.holds(c, before, None, **chosen)]
                wrong = ["it leaves the bounds"] if made is None else list(self.wrong(made, after, "it makes"))
                score = (len(guards) + len(wrong), action.name not in hints)
                if best is None or score < best[0]:
                    best = score, (event, guards, wrong)
        return best and best[1]

    def changes(self, before: State, after: State) -> Iterator[str]:
        old, new = self._entries(before), self._entries(after)
        yield from (f"{place}: {old[place]} -> {new[place]}" for place in old if old[place] != new[place])

    def wrong(self, expected: State, found: State, makes: str) -> Iterator[str]:
        want, got = self._entries(expected), self._entries(found)
        yield from (f"{makes} {p} {want[p]}, not {got[p]}" for p in want if want[p] != got[p])

    def _entries(self, state: State) -> dict[str, str]:
        found = {}
        for name, kind in self.item.core.types.items():
            if isinstance(kind, SeqType):
                found[name] = f"({', '.join(say_value(v, kind.entry) for v in state[name])})"
            elif isinstance(kind, MapType):
                for key in itertools.product(*map(self.full.domain, kind.keys)):
                    value = state[name].get(key, zero_value(kind.value))
                    keys = ", ".join(say_value(k, sort) for k, sort in zip(key, kind.keys, strict=True))
                    found[f"{name}[{keys}]"] = say_value(value, kind.value)
            else:
                found[name] = say_value(state[name], kind)
        return found
