"""This module counts which actions, guards, rules, error codes and calls a run of agreement has reached.

A guard conjunct counts as seen true and seen false in the states visited, over all parameters, and as *decisive* where
it alone disabled its action."""

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.terms import variables
from fencepost.proofs.readings.words import say
from fencepost.proofs.results import State
from fencepost.properties.driving import Made, read

if TYPE_CHECKING:
    from fencepost.proofs.testing.stepping import Stepper

Conjunct = tuple[str, int]
"""A `Conjunct` is an action and the position of the guard in it."""

SAMPLED, SELDOM = 1_000, 8
"""Coverage examines the first `SAMPLED` states, then every eighth one until eight times as many have been seen, and
then every 64th, because most is learnt early."""


@dataclass(eq=False)
class _Open:
    """An `_Open` is an action about which something may still be learnt. ``outcomes`` has the outcomes of its guards so
    far."""

    action: Action
    outcomes: set[tuple[bool, ...]] = field(default_factory=set)
    seen: tuple[list[Any], Any] = ([], None)  # variables of the last state that guards read, and the values tried in it

    def __post_init__(self) -> None:
        self.places = [(self.action.name, i) for i in range(len(self.action.guards))]
        self.kinds = tuple(kind for _, kind in self.action.parameters)
        self.reads = sorted({name for guard in self.action.guards for name in variables(guard.condition)})

    def is_new(self, state: State, choices: list[tuple[Any, ...]]) -> bool:
        """Return whether the guards may have another outcome than in the state before. A step leaves unchanged values
        as the same objects."""
        read, (before, tried) = [state[name] for name in self.reads], self.seen
        self.seen = read, choices
        return tried != choices or any(a is not b for a, b in zip(read, before, strict=True))


@dataclass
class Coverage:
    """A `Coverage` has the counts of one run. The sum of two has those of both."""

    actions: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    beyond: Counter[str] = field(default_factory=Counter)  # why systems were followed no further
    systems: int = 0  # systems that were called at least once, and that the model has
    unfollowed: int = 0  # systems that the model did not follow to their end
    unmodelled: int = 0  # further systems, of a configuration that the model does not have
    comparable: int = 0  # calls that do not end a program
    compared: int = 0  # comparable calls that were compared with the model
    dangers: Counter[str] = field(default_factory=Counter)  # that the steps taken are
    true: set[Conjunct] = field(default_factory=set)
    false: set[Conjunct] = field(default_factory=set)
    decisive: set[Conjunct] = field(default_factory=set)
    spec: Spec | None = None
    observable: frozenset[str] = frozenset()  # actions that some event can be
    states: int = 0
    _sampled: State | None = field(default=None, repr=False, compare=False)  # the last state that was looked at
    _cited: dict[str, list[str]] = field(default_factory=dict, repr=False, compare=False)  # rules, by action
    _open: list[_Open] | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def none() -> "Coverage":
        """Return a coverage that counts nothing, for replays."""
        return _Blind()

    @staticmethod
    def of_steps() -> "Coverage":
        """Return a coverage that counts steps and examines no guard, which takes most of the time."""
        return _OfSteps()

    def called(self, name: str) -> None:
        self.calls[name] += 1

    def left(self, reason: str) -> None:
        """Count a system that is no longer followed."""
        self.beyond[reason] += 1

    def watched(self, made: Made) -> None:
        """Count a call without a model, with the events that it emitted."""
        self.called(made.call.table_name)
        for event in made.events:
            self.seen(read(event, "kind"), read(event, "error", 0), ())

    def seen(self, kind: str, error: int, taken: Iterable[Action]) -> None:
        """Count an event that these steps explain."""
        self.kinds[kind] += 1
        if error:
            self.errors[error] += 1
        self.guessed(taken)

    def guessed(self, taken: Iterable[Action]) -> None:
        for action in taken:
            if action.name not in self._cited:
                cited = {action.rule, *(g.rule for g in action.guards), *(u.rule for u in action.updates)}
                self._cited[action.name] = sorted(r for r in cited if r)
                self.true.update((action.name, i) for i in range(len(action.guards)))
            self.actions[action.name] += 1
            if action.dangers:
                self.dangers.update(action.dangers)
            self.rules.update(self._cited[action.name])

    def sample(self, stepper: "Stepper", state: State) -> None:
        """Examine the guards of every action in one state, for all parameters, as long as there is something to
        learn."""
        self.spec, self.states = stepper.reading.plain.spec, self.states + 1
        if self.states > SAMPLED and self.states % (SELDOM if self.states <= SAMPLED * SELDOM else SELDOM * SELDOM):
            return
        if state is self._sampled:
            return
        self._sampled = state
        if self._open is None:
            self._open = [_Open(action) for action in self.spec.actions.values()]
        some: dict[Any, list[tuple[Any, ...]]] = {}
        for each in list(self._open):
            if each.kinds not in some:
                some[each.kinds] = list(itertools.product(*(stepper.interpreter.some(k, state) for k in each.kinds)))
            if each.is_new(state, some[each.kinds]):
                self._learn(each, stepper.plain.outcomes(each.action, state, some[each.kinds]))

    def _learn(self, each: _Open, outcomes: set[tuple[bool, ...]]) -> None:
        assert self._open is not None
        new = outcomes - each.outcomes
        for holding in new:
            self._look(each.places, holding)
        each.outcomes |= new
        if new and all(p in self.true and p in self.false and p in self.decisive for p in each.places):
            self._open.remove(each)

    def _look(self, places: list[Conjunct], holding: tuple[bool, ...]) -> None:
        self.true.update(p for p, h in zip(places, holding, strict=True) if h)
        failing = [p for p, h in zip(places, holding, strict=True) if not h]
        self.false.update(failing)
        self.decisive.update(failing if len(failing) == 1 else [])

    @property
    def followed(self) -> float:
        """Return the share of the systems that were followed to their end."""
        return (self.systems - self.unfollowed) / self.systems if self.systems else 0.0

    @property
    def share_compared(self) -> float:
        """Return the share of the calls that were compared with the model, without those that end a program."""
        return self.compared / self.comparable if self.comparable else 0.0

    def unreached(self) -> list[str]:
        """Return the actions of the model that no step has taken, without those that the model declares dead."""
        every = {} if self.spec is None else self.spec.actions
        return [name for name, action in every.items() if not self.actions[name] and not action.dead]

    def never(self) -> dict[str, list[str]]:
        """Return the actions never taken, and the guards never true, never false, or never decisive. Actions that
        the model declares dead are left out, and those that no event can be are listed apart."""
        if self.spec is None:
            return {}
        live = (action for action in self.spec.actions.values() if not action.dead)
        places = {(a.name, i): g for a in live for i, g in enumerate(a.guards)}

        def missing(seen: set[Conjunct]) -> list[str]:
            return [f"{action}: {say(g.condition)}" for (action, i), g in places.items() if (action, i) not in seen]

        return {
            "actions": [name for name in self.unreached() if name in self.observable],
            "unobservable actions": [name for name in self.unreached() if name not in self.observable],
            "guards never true": missing(self.true),
            "guards never false": missing(self.false),
            "guards never decisive": missing(self.decisive),
        }

    def __add__(self, other: "Coverage") -> "Coverage":
        return Coverage(
            self.actions + other.actions, self.rules + other.rules, self.errors + other.errors,
            self.kinds + other.kinds,
            self.calls + other.calls, self.beyond + other.beyond, self.systems + other.systems,
            self.unfollowed + other.unfollowed, self.unmodelled + other.unmodelled,
            self.comparable + other.comparable, self.compared + other.compared,
            self.dangers + other.dangers,
            self.true | other.true, self.false | other.false, self.decisive | other.decisive,
            self.spec or other.spec, self.observable | other.observable, self.states + other.states,
        )  # fmt: skip


class _Blind(Coverage):
    def guessed(self, taken: Iterable[Action]) -> None:
        """Count no steps, because this coverage counts nothing."""

    def sample(self, stepper: "Stepper", state: State) -> None:
        """Examine no guards, because this coverage counts nothing."""


class _OfSteps(_Blind):
    def guessed(self, taken: Iterable[Action]) -> None:
        for action in taken:
            self.actions[action.name] += 1
            self.dangers.update(action.dangers)
