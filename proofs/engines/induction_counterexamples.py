"""This module prints failed attempts of a proof as a run of one step: the state before, the step in the action's words,
its changes and what they break, and whether a run from the start reaches it.

A counterexample to induction is a state that the lemmas allow, not one that a run has reached. So the same property is
explored within bounds. A run that breaks it is evidence that the property is wrong, and the lack of one suggests that a
lemma is missing which excludes the state before.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import (
    AtomsType,
    MapType,
    OptionType,
    ScalarType,
    SeqType,
    bound_of,
    evaluate_bound,
)
from fencepost.proofs.engines.obligations import Obligation
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.readings.solver.models import Counterexample
from fencepost.proofs.readings.words import differences, first_sentence, name_in_words, say_state
from fencepost.proofs.results import Trace
from fencepost.properties.nearest import quantity

MOST = 6_000_000
"""An exploration that looks for the state before visits at most this many states."""


def narrate(spec: Spec, properties: Mapping[str, Property], failed: Obligation) -> Iterator[str]:
    """Yield the words for one obligation that was not met."""
    action = spec.actions.get(failed.action)
    name = name_in_words(failed.property)
    if failed.kind == "antecedent":
        yield f"{name} says nothing: no state of the invariant is what it speaks of"
        return
    if failed.kind == "enabled":
        yield f"{failed.action} never happens: no state of the invariant enables it"
        return
    if failed.kind == "dead":
        yield f"{failed.action} can happen, as far as is proved; its author says it cannot: {action and action.dead}"
        return
    elsewhere = "a state of the invariant" if failed.kind == "follows" else "the initial state"
    example, where = failed.counterexample, failed.action if action else elsewhere
    if example is None:
        yield f"whether {where} breaks {name} was not decided; a larger --profile allows more to each obligation"
        return
    yield f"{where} breaks {name}: {' '.join(properties[failed.property].doc.split())}"
    sizes = [f"{sort} {count}" for sort, count in example.sizes.items()]
    yield f"  of     {', '.join(sizes + [f'{name} {value}' for name, value in example.constants.items()])}"
    if example.before is None or example.event is None:
        yield from _marked("state" if failed.kind == "follows" else "at first", say_state(spec, example.after))
        return
    yield from _marked("before", say_state(spec, example.before))
    assert action is not None
    yield f"  step   {example.event}   {first_sentence(action.doc)}".rstrip()
    yield from _marked("after", differences(spec, example.before, example.after))


def _marked(mark: str, lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(list(lines) or ["everything is zero"]):
        yield f"  {'' if number else mark:<6} {line}"


@dataclass(frozen=True)
class Reached:
    """A `Reached` states whether exploration within bounds breaks the property of a counterexample. ``steps`` is the
    length of the shortest run that does, whose last action is ``last``, or None if no run among ``states`` does."""

    bound: Mapping[str, int]
    states: int
    complete: bool
    steps: int | None = None
    last: str = ""
    events: tuple[str, ...] = ()

    def words(self, failed: Obligation) -> Iterator[str]:
        """Yield the lines that follow those of `narrate`."""
        if self.steps is not None:
            same = "by this very action" if self.last == failed.action else f"by {self.last}"
            steps = quantity(self.steps, "step")
            yield f"  a run from the start breaks it in {steps}, {same}: {', '.join(self.events)}"
            return
        within = ", ".join(f"{name} {size}" for name, size in self.bound.items() if size)
        first = "" if self.complete else "the first "
        yield f"  no explored state is like it, of {first}{self.states:,} within {within}:"
        yield "  unreachable as far as that goes, so that a lemma is missing which excludes it"


class Searched(Protocol):
    """A `Searched` is what a search within bounds found: the properties that are ``violated``, each with a shortest
    trace, and the number of ``distinct`` states, which are all of them if the search is ``complete``."""

    @property
    def violated(self) -> list[str]: ...
    @property
    def traces(self) -> Mapping[str, Trace]: ...
    @property
    def distinct(self) -> int: ...
    @property
    def complete(self) -> bool: ...


Search = Callable[[Spec, Mapping[str, Property], Mapping[str, int]], Searched]
"""A `Search` ends after the level that first breaks one of the properties."""


def reach(
    spec: Spec, properties: Mapping[str, Property], bound: Mapping[str, int], failures: Iterable[Obligation],
    search: Search | None = None,
) -> Iterator[tuple[Obligation, Reached | None]]:  # fmt: skip
    """Yield each counterexample to a step, with what exploration finds about it, or None outside the bounds. ``search``
    takes the place of the explorer."""
    found: dict[tuple[object, ...], Reached] = {}
    refuted = [o for o in failures if o.counterexample is not None and o.counterexample.before is not None]
    placed = [(o, _bounds(spec, properties[o.property], o.counterexample, bound)) for o in refuted if o.counterexample]
    for within in {tuple(w.items()): w for _, w in placed if w is not None}.values():
        names = dict.fromkeys(o.property for o, w in placed if w == within)
        for name, reached in _explore(search or _explorer, spec, {name: properties[name] for name in names}, within):
            found[name, *within.items()] = reached
    for failed, where in placed:
        yield failed, None if where is None else found[failed.property, *where.items()]


def _explorer(spec: Spec, properties: Mapping[str, Property], within: Mapping[str, int]) -> Searched:
    from fencepost.proofs.engines.explore import explore  # NumPy, which a browser's Python may lack

    return explore(spec, properties, within, max_states=MOST, stop_when_violated=True)


def _explore(
    search: Search, spec: Spec, properties: Mapping[str, Property], within: Mapping[str, int]
) -> Iterator[tuple[str, Reached]]:
    """Yield the result for each property, exploring again after each violation, since violations end a search early."""
    left = dict(properties)
    while left:
        made = search(spec, left, within)
        decided = made.violated or list(left)
        for name in decided:
            yield name, _reached(made, name, within)
            del left[name]


def _reached(found: Searched, name: str, within: Mapping[str, int]) -> Reached:
    if name not in found.violated:
        return Reached(within, found.distinct, found.complete)
    trace = found.traces[name]
    last = trace.events[-1].action if trace.events else "the initial state"
    return Reached(
        within, found.distinct, found.complete, len(trace), last, tuple(str(event) for event in trace.events)
    )


def _bounds(spec: Spec, broken: Property, example: Counterexample, bound: Mapping[str, int]) -> dict[str, int] | None:
    """Return the bounds with the fewest constants changed that include the counterexample, or None if none do."""
    changes = [{name: value} for name, value in example.constants.items() if value < bound.get(name, 0)]
    for count in range(len(changes) + 1):
        for chosen in itertools.combinations(changes, count):
            within = dict(bound) | {name: value for change in chosen for name, value in change.items()}
            if _lies_within(spec, broken, example, within):
                return within
    return None


def _lies_within(spec: Spec, broken: Property, example: Counterexample, within: Mapping[str, int]) -> bool:
    """Return whether the step is also one of the bounded model, and breaks the property there."""
    assert example.before is not None and example.event is not None
    sorts = {kind.name: kind.bound for kind in _scalars(spec) if isinstance(kind, AtomsType)}
    sizes = all(size <= evaluate_bound(sorts[name], within) for name, size in example.sizes.items())
    if not sizes:
        return False
    plain = Plain(spec, {name: bound_of(within, name) for name in spec.constants}, within)
    if not plain.within(example.before):
        return False
    if not plain.enabled(example.before, example.event) or plain.step(example.before, example.event) != example.after:
        return False
    states = (example.before, example.after) if broken.kind == "step" else (example.after,)
    return not plain.holds(broken, *states)


def _scalars(spec: Spec) -> Iterator[ScalarType]:
    kinds = [kind for action in spec.actions.values() for _, kind in action.parameters]
    for kind in spec.types.values():
        assert not isinstance(kind, SeqType)
        kinds += [*kind.keys, kind.value] if isinstance(kind, MapType) else [kind]
    for kind in itertools.chain(kinds, spec.constants.values()):
        of = kind
        while isinstance(of, OptionType):
            of = of.of
        yield of
